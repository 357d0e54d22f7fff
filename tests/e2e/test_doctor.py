"""`berth doctor` on machines made by hand: the fake drivers, fake roots and fake Python environments."""

import json
import os
import pathlib
import subprocess

import pytest
from conftest import BERTH, BUILD, scenario

CUDA = BUILD / "fakes/cuda/libcuda.so.1"


def put(path, text="", mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def healthy_root(directory, devices):
    """A root with what a well machine's kernel shows."""
    root = directory / "root"
    put(
        root / "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  590.48.01  Mon Jan  1 00:00:00 UTC 2026\n",
    )
    put(root / "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")
    put(root / "lib/modules/6.1.0-18-amd64/modules.dep", "updates/dkms/nvidia.ko:\n")
    put(root / "proc/self/status", "Name:\tberth\nCpus_allowed_list:\t0-15\n")
    put(root / "proc/self/limits", "Max open files            1024                 1048576              files\n")
    put(root / "proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
    put(root / "proc/self/cgroup", "0::/user.slice\n")
    put(root / "sys/devices/system/cpu/online", "0-15\n")
    put(root / "sys/class/net/eth0")
    for name in ["nvidiactl", "nvidia-uvm", *(f"nvidia{i}" for i in range(devices))]:
        put(root / "dev" / name)
    return root


def environment_with(directory, files, python="3.11", said=None):
    """A virtual environment of files alone. Its interpreter tells where its packages lie, and prints
    `said` when it is to import something."""
    prefix = directory / "venv"
    site = prefix / f"lib/python{python}/site-packages"
    put(prefix / "pyvenv.cfg", f"home = /usr/bin\nversion = {python}.2\n")
    site.mkdir(parents=True)
    for name, text in files.items():
        put(site / name, text)
    put(prefix / "said", "\n".join(said or []) + "\n")
    put(
        prefix / "bin/python",
        f"""#!/bin/sh
if [ $# -eq 2 ]; then
    printf 'version\\t{python}\\nprefix\\t{prefix}\\nfolder\\t{site}\\n'
    exit 0
fi
case "$(cat {prefix}/said)" in
    crash*) kill -SEGV $$ ;;
esac
cat {prefix}/said
""",
        0o755,
    )
    return prefix


def torch(version, cuda):
    value = f"'{cuda}'" if cuda else "None"
    return {
        f"torch-{version}.dist-info/INSTALLER": "pip\n",
        "torch/version.py": f"__version__ = '{version}'\ncuda: Optional[str] = {value}\nhip = None\n",
    }


def said_of_torch(version, sees, devices, architectures="sm_80 sm_90"):
    return [
        "torch\tbegin\t",
        f"torch\tversion\t{version}",
        f"torch\tarchitectures\t{architectures}",
        f"torch\tsees\t{sees}",
        f"torch\tdevices\t{devices}",
        "torch\tthreads\t8",
    ]


def plain(count=2, **changes):
    """The first cards of the 8-GPU server, well and with nobody on them."""
    snapshot = scenario("server-8xh100")
    snapshot["devices"] = [d | changes for d in snapshot["devices"][7:8]] * count
    for index, _ in enumerate(snapshot["devices"]):
        uuid = f"GPU-{index:08x}-0000-4000-8000-000000000000"
        snapshot["devices"][index] = snapshot["devices"][index] | {
            "index": index, "id": uuid, "uuid": uuid, "minor_number": index,
            "pci_address": f"00000000:{index + 1:02x}:00.0",
        }  # fmt: skip
    for others in ("gpu_processes", "processes", "leases", "queue", "moves", "problems"):
        snapshot.pop(others, None)
    return snapshot


def cuda_list(snapshot, order):
    return ";".join(
        f"{snapshot['devices'][i]['uuid'][4:].replace('-', '')}={snapshot['devices'][i]['name']}"
        for i in order
    )


@pytest.fixture
def host(driver_of, tmp_path):
    """host(snapshot, …): a machine that is well but for what the test changes."""

    def make(snapshot=None, cuda=None, faults=None, env=None):
        snapshot = snapshot or plain()
        machine = driver_of(snapshot, faults=faults)
        count = len(snapshot["devices"])
        machine.env |= {
            "BERTH_ROOT": str(healthy_root(tmp_path, count)),
            "BERTH_CUDA": str(CUDA),
            "BERTH_FAKE_CUDA": cuda_list(snapshot, range(count)) if cuda is None else cuda,
            "COLUMNS": "100",
            "PATH": "/usr/bin:/bin",
        } | (env or {})
        return machine

    return make


def doctor(machine, *words):
    done = machine.run("doctor", "--json", *words, timeout=60)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def rules(answer):
    """Kernel-log events are this machine's own: no test depends on them."""
    return [one["rule"] for one in answer["findings"] if not one["rule"].startswith("health_xid_")]


def test_a_well_machine_with_a_fitting_torch_has_no_finding(host, tmp_path):
    machine = host()
    prefix = environment_with(tmp_path, torch("2.9.1+cu128", "12.8"), said=said_of_torch("2.9.1+cu128", True, 2))
    code, answer = doctor(machine, "--python", prefix)
    assert rules(answer) == []
    assert code == 0
    [framework] = answer["python"]["frameworks"]
    assert framework["cuda"] == "12.8" and framework["sees_gpu"] is True
    assert framework["threads"] == 8
    text = machine.run("doctor", "--python", prefix).stdout
    assert text.splitlines()[0].startswith("SIMULATED BERTH_"), "these are not this machine's paths"
    assert text.splitlines()[1].startswith("Driver 590.48.01: 2 × NVIDIA H100")
    words = " ".join(text.split())  # a long path moves where lines end
    assert "CUDA up to 13.1" in words and "sees 2 GPUs" in words, text
    assert "cuda:0 is nvidia-smi's 0, cuda:1 is nvidia-smi's 1" in text
    assert "Free now: 2 of 2 (0, 1)" in text
    assert "Nothing found to be wrong." in text


def test_a_newer_minor_of_the_same_major_is_well(host, tmp_path):
    snapshot = plain()
    snapshot["host"] |= {"driver_version": "535.183.01", "cuda_version_supported": "12.2"}
    prefix = environment_with(tmp_path, torch("2.9.1+cu128", "12.8"), said=said_of_torch("2.9.1+cu128", True, 2))
    code, answer = doctor(host(snapshot), "--python", prefix)
    assert (code, rules(answer)) == (0, [])


def test_a_build_without_cuda_is_named_with_the_command_that_replaces_it(host, tmp_path):
    machine = host()
    prefix = environment_with(tmp_path, torch("2.9.1+cpu", None), said=said_of_torch("2.9.1+cpu", False, 0, ""))
    code, answer = doctor(machine, "--python", prefix)
    assert code == 2 and rules(answer) == ["torch_cpu_only"]
    [finding] = answer["findings"]
    assert finding["steps"][0]["command"] == (
        f"{prefix}/bin/python -m pip uninstall -y torch && {prefix}/bin/python -m pip install 'torch==2.9.*'"
        " --index-url https://download.pytorch.org/whl/cu130"
    )
    fix = machine.run("doctor", "--fix", "--python", prefix)
    assert finding["steps"][0]["command"] in fix.stdout.splitlines()
    assert fix.stdout.startswith("# error: ")
    chinese = machine.run("doctor", "--lang", "zh_CN", "--python", prefix).stdout
    assert "这个 torch 无法使用 GPU" in chinese and "cannot" not in chinese


def test_the_users_own_mirror_is_kept(host, tmp_path):
    machine = host(env={"PIP_INDEX_URL": "https://mirror.example/simple"})
    prefix = environment_with(tmp_path, torch("2.9.1+cpu", None))
    _, answer = doctor(machine, "--no-import", "--python", prefix)
    first, second = answer["findings"][0]["steps"]
    assert "index-url" not in first["command"] and "torch==2.9.*" in first["command"]
    assert "download.pytorch.org/whl/cu128" in second["command"]


def test_condas_own_channels_are_kept(host, tmp_path):
    machine = host()
    prefix = environment_with(tmp_path, torch("2.5.1", None) | {"torch-2.5.1.dist-info/INSTALLER": "conda\n"})
    put(prefix / "conda-meta/history")
    put(tmp_path / ".condarc", "channels:\n  - https://mirror.example/conda\n")
    _, answer = doctor(machine, "--no-import", "--python", prefix)
    [step] = answer["findings"][0]["steps"]
    assert step["command"] == f"conda install -p {prefix} 'pytorch=*=*cuda*'"
    assert str(tmp_path / ".condarc") in step["what"]


def test_what_only_those_who_build_extensions_meet_is_a_hint(host, tmp_path):
    put(tmp_path / "cuda-11.8/bin/nvcc", "#!/bin/sh\n", 0o755)
    put(tmp_path / "cuda-11.8/version.json", '{"cuda": {"version": "11.8.0"}}')
    prefix = environment_with(tmp_path, torch("2.9.1+cu128", "12.8"))
    path = f"{tmp_path}/cuda-11.8/bin:/usr/bin:/bin"
    code, answer = doctor(host(env={"PATH": path}), "--no-import", "--python", prefix)
    assert (code, rules(answer)) == (0, ["toolkit_of_another_major"])
    gone = {"PATH": path, "CUDA_HOME": str(tmp_path / "gone")}
    _, answer = doctor(host(env=gone), "--no-import", "--python", prefix)
    assert "cuda_home_missing" in rules(answer)


def test_mig_that_waits_for_a_reset_is_told(host):
    _, answer = doctor(host(plain(1, mig_mode=False, mig_mode_pending=True)), "--no-import")
    assert "mig_mode_pending" in rules(answer)


def test_an_old_driver_and_an_old_card_get_a_build_that_fits_both(host, tmp_path):
    snapshot = plain(1, compute_capability="6.1", name="NVIDIA GeForce GTX 1080")
    snapshot["host"] |= {"driver_version": "535.183.01", "cuda_version_supported": "12.2"}
    prefix = environment_with(tmp_path, torch("2.11.0+cu130", "13.0"), said=said_of_torch("2.11.0", False, 0, "sm_75"))
    code, answer = doctor(host(snapshot), "--python", prefix)
    assert code == 2 and set(rules(answer)) >= {"driver_too_old", "architecture_missing"}
    for finding in answer["findings"]:
        if finding["rule"] in {"driver_too_old", "architecture_missing"}:
            assert "whl/cu126" in finding["steps"][0]["command"]


def test_cudas_order_is_shown_beside_the_drivers(host):
    snapshot = plain(3)
    machine = host(snapshot, cuda=cuda_list(snapshot, [2, 0, 1]))
    code, answer = doctor(machine, "--no-import")
    assert "cuda_order_differs" in rules(answer)
    assert [one["index"] for one in answer["cuda"]["devices"]] == [2, 0, 1]
    assert "cuda:0 is nvidia-smi's 2" in machine.run("doctor", "--no-import").stdout


@pytest.mark.parametrize(
    ("cuda", "rule", "words"),
    [
        ("error:999", "cuda_refuses", "nvidia_uvm"),
        ("error:802", "cuda_refuses", "fabric manager"),
        ("crash", "cuda_refuses", "crashed"),
    ],
)
def test_what_libcuda_answers_is_explained(host, cuda, rule, words):
    code, answer = doctor(host(cuda=cuda), "--no-import")
    [finding] = [one for one in answer["findings"] if one["rule"] == rule]
    assert code == 2 and words in json.dumps(finding)


def test_a_libcuda_that_hangs_is_given_up(host):
    _, answer = doctor(host(cuda="hang"), "--no-import")
    assert answer["cuda"]["problem"] == "libcuda did not answer in time"


def test_a_framework_that_crashes_the_child_is_said_as_such(host, tmp_path):
    """One that hangs has its time limit in the unit tests: here it would take all of its 20 s."""
    prefix = environment_with(tmp_path, torch("2.9.1+cu128", "12.8"), said=["crash"])
    _, answer = doctor(host(), "--python", prefix)
    [finding] = [one for one in answer["findings"] if one["rule"] == "import_failed"]
    assert finding["severity"] == "error" and "signal 11" in finding["evidence"][0]


@pytest.mark.parametrize(
    ("value", "rule", "meaning", "command"),
    [
        ("", "visible_devices_none", None, "unset CUDA_VISIBLE_DEVICES"),
        ("-1", "visible_devices_none", "negative", "unset CUDA_VISIBLE_DEVICES"),
        ("0,9", "visible_devices_broken", "beyond the last device", "export CUDA_VISIBLE_DEVICES=0"),
        ("1,-1,0", "visible_devices_broken", "negative", "export CUDA_VISIBLE_DEVICES=1,0"),
        ("0 1", "visible_devices_broken", None, "export CUDA_VISIBLE_DEVICES=0,1"),
        ("“0”", "visible_devices_none", "neither a number nor a UUID", "export CUDA_VISIBLE_DEVICES=0"),
    ],
)
def test_visible_devices_are_explained_entry_by_entry(host, value, rule, meaning, command):
    machine = host(env={"CUDA_VISIBLE_DEVICES": value}, cuda="error:100")
    _, answer = doctor(machine, "--no-import")
    [finding] = [one for one in answer["findings"] if one["rule"] == rule]
    assert [step["command"] for step in finding["steps"]] == [command]
    if meaning:
        assert any(meaning in token["meaning"] for token in answer["visible_devices"]["tokens"])
    assert 'CUDA_VISIBLE_DEVICES="' in machine.run("doctor", "--no-import").stdout


@pytest.mark.parametrize("unlike", [False, True])
def test_what_stands_behind_the_entry_that_ends_the_list_is_not_read(host, unlike):
    cards = plain()
    if unlike:
        cards["devices"][1]["name"] = "NVIDIA Other"
    machine = host(cards, env={"CUDA_VISIBLE_DEVICES": "0,９,1"}, cuda="error:100")
    said = [one["meaning"] for one in doctor(machine, "--no-import")[1]["visible_devices"]["tokens"]]
    assert said[0].startswith("not to be told" if unlike else "GPU 0")
    assert said[1] == 'entry 2 ("９") is neither a number nor a UUID: CUDA stops there'
    assert said[2:] == ["not read: the list had ended"]
    machine.env["CUDA_VISIBLE_DEVICES"] = "1,1"
    said = [one["meaning"] for one in doctor(machine, "--no-import")[1]["visible_devices"]["tokens"]]
    assert said[1] == 'entry 2 ("1") names a device twice: CUDA then shows none'


def test_what_a_container_was_given_is_explained_entry_by_entry(host):
    uuid = plain()["devices"][0]["uuid"]
    machine = host(env={"NVIDIA_VISIBLE_DEVICES": f"2,1:0,{uuid},MIG-gone,two"})
    assert doctor(machine, "--no-import")[1]["container_devices"] is None, "it is no container"
    root = pathlib.Path(machine.env["BERTH_ROOT"])
    put(root / "proc/self/cgroup", f"0::/system.slice/docker-{'4f' * 32}.scope\n")
    _, answer = doctor(machine, "--no-import")
    told = [one["meaning"] for one in answer["container_devices"]["tokens"]]
    wanted = ["the host's GPU 2", "MIG instance 0 of the host's GPU 1", uuid, "no device that is shown", "neither"]
    assert len(told) == 5 and all(word in meaning for word, meaning in zip(wanted, told)), told
    text = machine.run("doctor", "--no-import").stdout
    assert 'NVIDIA_VISIBLE_DEVICES="2,1:0,' in text and '"2": the host\'s GPU 2' in text
    machine.env["NVIDIA_VISIBLE_DEVICES"] = "all"
    assert "NVIDIA_VISIBLE_DEVICES" not in machine.run("doctor", "--no-import").stdout


def test_what_is_missing_in_the_kernels_folders_is_found(host, tmp_path):
    machine = host(faults=None)
    machine.env["BERTH_NVML"] = "/nonexistent/libnvidia-ml.so.1"
    root = pathlib.Path(machine.env["BERTH_ROOT"])
    for file in root.glob("dev/nvidia*"):
        file.unlink()
    _, answer = doctor(machine, "--no-import")
    assert "device_files_missing" in rules(answer)
    container = "docker-" + "4f" * 32
    put(root / "proc/self/cgroup", f"0::/system.slice/{container}.scope\n")
    _, answer = doctor(machine, "--no-import")
    assert "container_without_devices" in rules(answer)
    assert "device_files_missing" not in rules(answer)


def test_containers_without_the_toolkit_are_told_and_with_it_not(host, tmp_path):
    (tmp_path / "empty").mkdir()
    machine = host(env={"PATH": str(tmp_path / "empty")})
    root = pathlib.Path(machine.env["BERTH_ROOT"])
    rule = "container_toolkit_missing_here"
    assert rule not in rules(doctor(machine, "--no-import")[1]), "no containers here"
    put(root / "run/docker.sock")
    put(root / "etc/docker/daemon.json", "{}")
    _, answer = doctor(machine, "--no-import")
    assert rule in rules(answer)
    assert "--runtime=docker" in machine.run("doctor", "--no-import", "--fix").stdout
    put(root / "etc/cdi/nvidia.yaml", "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\n")
    assert rule not in rules(doctor(machine, "--no-import")[1]), "a CDI description is enough"
    (root / "etc/cdi/nvidia.yaml").unlink()
    put(root / "usr/bin/nvidia-container-runtime")
    assert rule not in rules(doctor(machine, "--no-import")[1]), "the toolkit is there"


def test_the_field_for_which_engines_refuse_a_file_of_devices_is_named(host):
    machine = host()
    spec = pathlib.Path(machine.env["BERTH_ROOT"]) / "etc/cdi/x.yaml"
    text = ("kind: nvidia.com/gpu\ncontainerEdits:\n  additionalGids: [44]\ndevices:\n"
            "- name: \"0\"\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n")
    put(spec, "cdiVersion: 0.5.0\n" + text)
    _, answer = doctor(machine, "--no-import")
    [found] = [one for one in answer["findings"] if one["rule"] == "cdi_file_refused"]
    said = " ".join(found["evidence"])
    assert "/etc/cdi/x.yaml: cdiVersion says 0.5.0" in said, said
    assert "the field containerEdits.additionalGids needs 0.7.0" in said, said
    put(spec, "cdiVersion: 0.7.0\n" + text)
    assert "cdi_file_refused" not in rules(doctor(machine, "--no-import")[1])


def test_an_image_that_bakes_in_its_cards_is_named(driver_of, tmp_path):
    images = [
        {"Id": "sha256:1", "RepoTags": ["lab/train:2"], "Config": {"Env": ["PATH=/bin", "CUDA_VISIBLE_DEVICES=0"]}},
        {"Id": "sha256:2", "RepoTags": ["lab/other:1"], "Config": {"Env": ["PATH=/bin"]}},
    ]
    put(
        tmp_path / "bin/docker",
        f"""#!/bin/sh
case "$*" in
    --version) echo "Docker version 26.1.5+dfsg1, build a72d7cd" ;;
    "image ls -q") printf '1\\n2\\n1\\n' ;;
    "image inspect 1 2") echo '{json.dumps(images)}' ;;
    *) exit 1 ;;
esac
""",
        0o755,
    )
    # Engines are asked of this machine alone, never of a root made by hand.
    machine = driver_of(plain())
    machine.env |= {"BERTH_CUDA": str(CUDA), "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    _, answer = doctor(machine, "--no-import")
    [found] = [one for one in answer["findings"] if one["rule"] == "image_sets_devices"]
    assert found["evidence"] == ['docker: image lab/train:2 has CUDA_VISIBLE_DEVICES="0"'], found


def test_a_file_is_read_only_where_asked_for(host, tmp_path):
    work = tmp_path / "work"
    put(work / "data.bin", "x" * 5_000_000)
    machine = host()
    words = ("doctor", "--json", "--no-import")
    assert json.loads(machine.run(*words, cwd=work).stdout)["read_test"] is None
    read = json.loads(machine.run(*words, "--read-test", cwd=work).stdout)["read_test"]
    assert read["file"] == "data.bin" and 0 < read["bytes"] <= 5_000_000 and read["why"] is None
    assert read["bytes_per_second"] > 0 and 0 <= read["cached_ratio"] <= 1
    assert "of data.bin at " in machine.run("doctor", "--no-import", "--read-test", cwd=work).stdout
    assert machine.run("doctor", "--read-test", "--sim").returncode == 3


def test_the_cpus_side_is_looked_at(host):
    machine = host(env={"OMP_NUM_THREADS": "64", "NCCL_SOCKET_IFNAME": "ib0", "CUDA_LAUNCH_BLOCKING": "1"})
    root = pathlib.Path(machine.env["BERTH_ROOT"])
    put(root / "proc/self/limits", "Max open files            256                 4096              files\n")
    put(root / "proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 1000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
    _, answer = doctor(machine, "--no-import")
    wanted = {"threads_over_cores", "nccl_interface_missing", "launch_blocking", "open_files_low", "memory_low"}
    assert wanted <= set(rules(answer))


def test_a_warning_alone_is_1(host, tmp_path):
    machine = host()
    prefix = environment_with(tmp_path, torch("2.9.1+cu128", "12.8"))
    root = pathlib.Path(machine.env["BERTH_ROOT"])
    put(root / "proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 1000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
    code, answer = doctor(machine, "--no-import", "--python", prefix)
    assert (code, answer["worst"], rules(answer)) == (1, "warning", ["memory_low"])
    assert machine.run("doctor", "--no-import", "--python", prefix).returncode == 1


def test_debians_torch_is_cpu_only_with_a_gpu_and_no_finding_without(host, machine_of):
    if not os.path.exists("/usr/lib/python3/dist-packages/torch/version.py"):
        pytest.skip("python3-torch is not installed")
    code, answer = doctor(host(), "--python", "/usr/bin/python3", "--no-import")
    assert "torch_cpu_only" in rules(answer)
    step = next(one for one in answer["findings"] if one["rule"] == "torch_cpu_only")["steps"][0]
    assert step["command"].startswith("/usr/bin/python3 -m venv ")
    without = host()
    without.env["BERTH_NVML"] = "/nonexistent/libnvidia-ml.so.1"
    without.env["BERTH_ROOT"] = str(pathlib.Path(without.env["BERTH_ROOT"]).parent / "empty")
    code, answer = doctor(without, "--python", "/usr/bin/python3")
    assert "torch_cpu_only" not in rules(answer)
    assert answer["python"]["import"] == "answered", answer["python"]
    [framework] = [one for one in answer["python"]["frameworks"] if one["name"] == "torch"]
    assert framework["built_without_cuda"] is True and framework["sees_gpu"] is False


def test_free_mig_instances_are_named_as_ps_names_them(machine_of):
    text = machine_of("h100-mig").run("doctor").stdout
    busy = machine_of("h100-mig").run("ps").stdout
    assert "Free now: 3 of 4 (0:2/0, 0:9/0, 0:10/0)." in text
    assert "0:3/0" in busy and "0:3/0" not in text


@pytest.mark.parametrize("name", ["server-8xh100", "lab-4", "no-history", "h100-mig"])
def test_a_well_simulated_server_has_no_error_or_warning(machine_of, name):
    code, answer = doctor(machine_of(name))
    assert answer["simulated"]
    assert [f["rule"] for f in answer["findings"] if f["severity"] != "hint"] == []
    assert code == 0
    mark, *lines = machine_of(name).run("doctor").stdout.split("\n\n")[0].splitlines()
    assert mark.startswith("SIMULATED")
    assert len(lines) == 5 and max(map(len, lines)) <= 80, lines


def test_it_opens_with_five_lines_also_where_there_is_no_gpu(machine_of):
    machine = machine_of(None)
    machine.env |= {"BERTH_NVML": "/nonexistent/libnvidia-ml.so.1", "BERTH_CUDA": "/nonexistent/libcuda.so.1"}
    machine.env |= {"BERTH_ROOT": str(machine.directory / "empty"), "PATH": "/usr/bin:/bin"}
    mark, *lines = machine.run("doctor", "--no-import").stdout.split("\n\n")[0].splitlines()
    assert mark.startswith("SIMULATED")
    assert len(lines) == 5, lines
    assert lines[0].startswith("No NVIDIA card")


def test_a_simulated_server_with_faults_tells_them(machine_of):
    code, answer = doctor(machine_of("faults"))
    assert code == 2
    assert {"health_lost", "health_ecc_uncorrected"} <= {f["rule"] for f in answer["findings"]}
    code, answer = doctor(machine_of("driver-mismatch"))
    assert code == 2 and rules(answer)[0] == "driver_versions_differ"


def test_wrong_options_and_a_python_that_is_none_are_3(host, tmp_path):
    machine = host()
    assert machine.run("doctor", "now").returncode == 3
    assert machine.run("doctor", "--no-such").returncode == 3
    done = machine.run("doctor", "--python", tmp_path / "nowhere")
    assert done.returncode == 3 and "nowhere" in done.stderr


@pytest.mark.parametrize(
    ("script", "end"),
    [
        ("", "not_python"),
        ("#!/no/such/interpreter\n", "failed"),
        ("#!/bin/sh\nkill -SEGV $$\n", "crashed"),
        ("#!/bin/sh\necho 3.11\n", "not_python"),
        ("#!/bin/sh\nexec sleep 60\n", "took_too_long"),
    ],
)
def test_what_does_not_answer_as_python_is_no_all_clear(host, tmp_path, script, end):
    put(tmp_path / "python", script, 0o755)
    machine = host()
    code, answer = doctor(machine, "--python", tmp_path / "python")
    [finding] = [one for one in answer["findings"] if one["rule"] == "interpreter_silent"]
    assert code == 2 and finding["severity"] == "error" and str(tmp_path) in finding["title"]
    assert answer["python"]["interpreter_answer"] == end
    assert answer["python"]["version"] is None and answer["python"]["frameworks"] is None
    if end != "took_too_long":
        assert "no torch" not in machine.run("doctor", "--python", tmp_path / "python").stdout


def test_a_framework_that_leaves_a_child_has_answered_all_the_same(host, tmp_path):
    said = said_of_torch("2.9.1+cu128", "True", 8)
    prefix = environment_with(tmp_path, torch("2.9.1+cu128", "12.8"), said=said)
    python = prefix / "bin/python"
    python.write_text(python.read_text().replace("#!/bin/sh\n", "#!/bin/sh\nsetsid sleep 25 &\n"))
    _, answer = doctor(host(), "--python", prefix)
    assert answer["python"]["interpreter_answer"] == "answered" and answer["python"]["import"] == "answered"
    assert "import_failed" not in rules(answer)


def test_a_program_of_the_system_is_not_given_the_systems_python(host):
    code, answer = doctor(host(), "--python", "/bin/ls")
    assert code == 2 and "interpreter_silent" in rules(answer)
    assert answer["python"]["version"] is None and answer["python"]["frameworks"] is None


def test_colours_on_a_terminal_and_none_in_a_pipe(host):
    machine = host(cuda="error:999")
    _, shown = machine.on_terminal(80, "doctor", "--no-import", timeout=60)
    assert "\x1b[31m" in shown
    assert "\x1b" not in machine.run("doctor", "--no-import").stdout


def test_a_machine_that_could_not_be_looked_at_is_not_called_well(host):
    machine = host()
    done = subprocess.run(
        ["sh", "-c", f"ulimit -n 8; exec {BERTH} doctor --no-import"],
        env=machine.environment({}), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode != 0, done.stdout
    assert "Nothing found to be wrong" not in done.stdout
    assert "No NVIDIA card" not in done.stdout
