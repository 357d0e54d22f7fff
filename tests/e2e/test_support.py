"""`berth support`: nothing secret in it, nothing written unasked, nothing overwritten."""

import os
import re
import stat

import pytest
from conftest import end, wait_until, Terminal, scenario, without_escapes

SECRETS = {
    "HF_TOKEN": "hf_PlantedPlantedPlantedPlanted01",
    "WANDB_API_KEY": "0123456789abcdef0123456789abcdef01234567",
    "AWS_ACCESS_KEY_ID": "AKIAPLANTEDPLANTED01",
    "AWS_SECRET_ACCESS_KEY": "wJalrPlanted/K7MDENG/bPxRfiCYPLANTEDKEY",
    "BERTH_PASSWORD": "planted-password-1",
    "CUDA_PROXY": "http://planted-user:planted-password-2@proxy.example.org:3128/",
}
PLANTED_IN_FILES = [
    "https://hooks.slack.com/services/T0PLANTED/B0PLANTED/plantedwebhook",
    "planted-receiver-token",
    "planted-password-3",
    "planted-run-secret",
    "planted-git-password",
]


def support(machine, *words, **kwargs):
    return machine.run("support", *words, timeout=120, **kwargs)


@pytest.fixture
def prepared(machine, tmp_path):
    config = tmp_path / ".config/berth"
    config.mkdir(parents=True)
    (config / "serve.toml").write_text(
        "[[alert.webhook]]\n"
        f'url = "{PLANTED_IN_FILES[0]}"\n'
        'token = "planted-receiver-token"\n'
        'password = "planted-password-3"\n',
        encoding="utf-8",
    )
    done = machine.run(
        "run", "--", "true", "--password", "planted-run-secret", "https://me:planted-git-password@github.com/x.git"
    )
    assert done.returncode == 0, done.stderr
    return machine


def test_no_planted_secret_is_in_the_file(prepared, tmp_path):
    path = tmp_path / "report.txt"
    done = support(prepared, "-o", path, "--yes", env=SECRETS)
    assert done.returncode == 0, done.stderr
    text = path.read_text(encoding="utf-8")
    for name in SECRETS:
        assert name in text, f"{name} is a variable that matters"
    for secret in [*SECRETS.values(), *PLANTED_IN_FILES, "planted-password-2", "plantedwebhook"]:
        assert secret not in text
        assert secret not in done.stdout + done.stderr
    assert str(tmp_path) not in text, "the home directory is ~"
    host = os.uname().nodename
    assert len(host) < 3 or f" {host} " not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


OF_OTHER_MAKERS = {
    "HIP_VISIBLE_DEVICES": "1", "ROCR_VISIBLE_DEVICES": "3", "HSA_OVERRIDE_GFX_VERSION": "10.3.0", "AMD_LOG_LEVEL": "1",
    "GPU_MAX_HW_QUEUES": "2", "MIOPEN_FIND_MODE": "1", "ASCEND_RT_VISIBLE_DEVICES": "5", "HCCL_IF_IP": "10.0.0.1",
    "TASK_QUEUE_ENABLE": "1", "ZE_AFFINITY_MASK": "0", "ONEAPI_DEVICE_SELECTOR": "level_zero:1", "SYCL_CACHE_PERSISTENT": "1",
    "MLU_VISIBLE_DEVICES": "2",
}  # fmt: skip


def test_other_makers_variables_and_kernel_lines_are_in_it(driver_of, tmp_path):
    journal = tmp_path / "bin" / "journalctl"
    journal.parent.mkdir()
    journal.write_text('#!/bin/sh\nprintf "asked: %s\\n" "$*"\n', encoding="utf-8")
    journal.chmod(0o755)
    real = driver_of(scenario("lab-4"))
    done = support(real, "-o", "-", env={**OF_OTHER_MAKERS, "PATH": f"{journal.parent}:{real.env['PATH']}"})
    assert done.returncode == 0, done.stderr
    told = done.stdout.partition("\n==== variables: ")[2].partition("\n==== ")[0].splitlines()
    missing = [name for name in OF_OTHER_MAKERS if not any(line.startswith(f"{name}=") for line in told)]
    assert not missing, told
    [asked] = re.findall(r"asked: -k .*--grep=(\S+)", done.stdout)
    for line, is_one in (("amdgpu 0000:03:00.0: GPU reset begin!", True), ("xe 0000:03:00.0: [drm] GT0: reset", True),
                         ("NVRM: Xid (PCI:0000:3b:00): 79", True), ("drv_davinci_intf: open", True),
                         ("hycu 0000:05:00.0: GPU fault detected", True),
                         ("usb 1-1: new device executes", False)):  # fmt: skip
        assert bool(re.search(asked, line)) == is_one, line


def test_its_parts_are_there_and_marked_as_simulated(prepared, tmp_path):
    path = tmp_path / "report.txt"
    assert support(prepared, "-o", path, "--yes").returncode == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith("berth support file, version 1\nSIMULATED server-8xh100\n")
    for part in ["berth", "system", "doctor", "health", "snapshot", "leases", "processes", "variables", "settings", "runs", "run"]:
        assert f"\n==== {part}: " in text
    assert text.endswith("\n==== end\n")
    assert '"berth_snapshot": 1' in text


def test_a_dash_is_stdout(prepared, tmp_path):
    done = support(prepared, "-o", "-", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("berth support file, version 1\n"), done
    assert done.stdout.endswith("\n==== end\n") and not list(tmp_path.glob("-*"))


def test_others_keep_one_invented_name_each(prepared, tmp_path):
    path, named = tmp_path / "report.txt", tmp_path / "named.txt"
    assert support(prepared, "-o", path, "--yes").returncode == 0
    assert support(prepared, "-o", named, "--yes", "--names").returncode == 0
    users = {p["user"] for p in __import__("json").loads(prepared.run("status", "--json").stdout)["processes"]}
    users = {user for user in users if user and user != "root" and len(user) > 1}
    assert users, "the simulated server has users"
    text, with_names = path.read_text(encoding="utf-8"), named.read_text(encoding="utf-8")
    for user in users:
        assert f'"user": "{user}"' in with_names
        assert f'"user": "{user}"' not in text
    assert '"user": "user1"' in text


def test_without_a_terminal_nothing_is_written_unless_told(prepared, tmp_path):
    path = tmp_path / "report.txt"
    done = support(prepared, "-o", path)
    assert done.returncode == 1
    assert "snapshot" in done.stdout and "doctor" in done.stdout
    assert "--yes" in done.stderr
    assert not path.exists()
    assert not list(tmp_path.glob("*.unfinished*"))


def test_a_file_that_is_there_stays_as_it_is(prepared, tmp_path):
    path = tmp_path / "report.txt"
    path.write_text("mine", encoding="utf-8")
    dangling = tmp_path / "link.txt"
    dangling.symlink_to(tmp_path / "elsewhere")
    for target in (path, dangling):
        done = support(prepared, "-o", target, "--yes")
        assert done.returncode == 1
    assert path.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_cannot_be_written_leaves_no_half_file(prepared, tmp_path):
    done = support(prepared, "-o", tmp_path / "nowhere/report.txt", "--yes")
    assert done.returncode == 1
    assert "nowhere" in done.stderr


@pytest.mark.parametrize("answer, written", [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks_after_showing(prepared, tmp_path, answer, written):
    path = tmp_path / "report.txt"
    terminal = Terminal(100)
    process = prepared.start_on(terminal, "support", "-o", path)
    try:
        wait_until(lambda: b"[y/N]" in terminal.read(), "the question", timeout=90)
        assert "snapshot" in without_escapes(terminal.output.decode())
        assert not path.exists()
        terminal.type(answer.encode())
        wait_until(lambda: (terminal.read(), process.poll())[1] is not None, "its end", timeout=30)
        assert process.returncode == (0 if written else 1)
        assert path.exists() == written
    finally:
        end(process)
        terminal.close()


def test_a_driver_that_hangs_costs_one_part_each(driver_of, tmp_path):
    hanging = driver_of(scenario("server-8xh100"), faults="nvmlDeviceGetName@*=hang")
    path = tmp_path / "report.txt"
    done = support(hanging, "-o", path, "--yes")
    assert done.returncode == 0, done.stderr
    text = path.read_text(encoding="utf-8")
    assert "==== system: " in text and "==== variables: " in text
    assert "==== end" in text
    for part in ["doctor", "health", "snapshot"]:
        body = text.split(f"\n==== {part}: ", 1)[1].split("\n==== ", 1)[0]
        assert "no answer" in body or "did not answer" in body or "does not answer" in body, body[:900]
        assert "signal" not in body, body[:900]
