"""`berth run --isolate`: a job opens no other card's device file, and everything else goes on as before.

Each test has a /dev of its own in a mount namespace, where each card is one more /dev/null. The fake driver passes over
a card whose file it may not open, as NVIDIA's does."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import tempfile
import time

import pytest
from conftest import BERTH, FakeDriver, fake_library, many_devices

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="making a /dev of one's own: only root can")

NOBODY = 65534
CARDS = 4
PRIVATE_DEV = """
mount -t tmpfs -o mode=755 dev /dev && cd /dev || exit 99
for one in null:3 zero:5 full:7 random:8 urandom:9 nvidiactl:3 nvidia-uvm:3 $(seq -f 'nvidia%g:3' 0 3); do
  mknod -m 666 ${one%:*} c 1 ${one#*:} || exit 99
done
mkdir -m 1777 shm && mount -t tmpfs -o mode=1777 shm shm && cd "$BEGIN_IN" && exec "$@"
"""
# What a job finds: a line for each card's file, then what it was given.
LOOK = """
import os
for name in sorted(os.listdir("/dev")):
    if name.startswith("nvidia"):
        try:
            os.close(os.open("/dev/" + name, os.O_RDWR))
            print(name, "opens")
        except OSError as error:
            print(name, error.strerror)
print(os.environ["CUDA_VISIBLE_DEVICES"])
"""


class Isolated(FakeDriver):
    """A machine of four cards whose minor numbers run against their indices."""

    def __init__(self, folder, uid=0):
        snapshot = many_devices(CARDS)
        for device in snapshot["devices"]:
            device["minor_number"] = CARDS - 1 - device["index"]
        super().__init__(folder, snapshot)
        self.uid = uid
        self.berth = shutil.copy(BERTH, folder / "berth")
        self.env["BERTH_NVML"] = str(shutil.copy(fake_library(), folder))
        self.env["BERTH_FAKE_NVML_FILES"] = "1"
        self.env["BEGIN_IN"] = str(folder)
        for path in (folder, *folder.iterdir()):
            os.chown(path, uid, uid)

    def command(self, *words):
        rights = [] if self.uid == 0 else ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        before = getattr(self, "before", "")
        return ["unshare", "-m", "sh", "-c", PRIVATE_DEV.replace("mkdir -m", before + "\nmkdir -m"), "sh", *rights, self.berth, *map(str, words)]

    def job(self, *words, options=(), **how):
        return self.run("run", "--isolate", "--only", "1", *options, "--", *words, **how)

    def leases(self):
        return [one for one in json.loads(self.run("leases", "--json").stdout)["leases"]]


def running_in(folder):
    """Pids of the programs that lie in this folder: the test's own alone."""
    found = []
    for exe in pathlib.Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if os.readlink(exe).startswith(f"{folder}/"):
                found.append(int(exe.parent.name))
    return found


@pytest.fixture(params=[0, NOBODY], ids=["root", "nobody"])
def machine(request):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-isolate-"))
    folder.chmod(0o755)
    yield Isolated(folder, request.param)
    shutil.rmtree(folder, ignore_errors=True)


def test_a_job_opens_its_own_card_and_no_other(machine):
    done = machine.job("/usr/bin/python3", "-c", LOOK)
    assert done.returncode == 0, done
    *files, visible = done.stdout.splitlines()
    found = dict(line.split(" ", 1) for line in files)
    # Card 1 has minor number 2; it is the only one that CUDA counts inside.
    assert found.pop("nvidia2") == found.pop("nvidiactl") == found.pop("nvidia-uvm") == "opens", done.stdout
    assert found == dict.fromkeys(["nvidia0", "nvidia1", "nvidia3"], "Permission denied"), done.stdout
    assert visible == "0"
    assert "isolated by Landlock" in done.stderr and ("sudo" in done.stderr) == (machine.uid != 0), done.stderr
    shown = json.loads(machine.run("show", "--json", "last").stdout)
    assert shown["isolated_by"] == "landlock" and shown["spec"]["isolate"] == "true"
    plain = machine.run("run", "-q", "--only", "1", "--", "/usr/bin/python3", "-c", LOOK)
    assert "denied" not in plain.stdout and plain.stdout.splitlines()[-1] == "1", plain
    assert json.loads(machine.run("show", "--json", "last").stdout)["isolated_by"] is None


def test_the_lease_says_to_everybody_that_its_job_is_isolated(machine):
    for words in (["leases", "--json"], ["status", "--json"]):
        inside = machine.job(BERTH, *words)
        assert [one["isolated_by"] for one in json.loads(inside.stdout)["leases"]] == ["landlock"], inside
        plain = machine.run("run", "-q", "--only", "1", "--", BERTH, *words)
        assert [one["isolated_by"] for one in json.loads(plain.stdout)["leases"]] == [None], plain


def test_what_jobs_do_with_files_works_inside(machine):
    script = (
        "mkdir a b && echo 1 > a/x && mv a/x b/y && ln b/y a/z && printf '#!/bin/sh\\necho ran' > prog && chmod +x prog"
        " && ./prog && echo 2 > $(mktemp) && echo 3 > /dev/shm/x && cat /dev/shm/x && (sleep 0 & wait)"
    )
    done = machine.job("sh", "-c", script, options=["-q"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n3\n", ""), done


def test_a_run_inside_has_the_same_card_and_leaves_nothing(machine):
    inner = f"{machine.berth} run -q -- sh -c 'echo $CUDA_VISIBLE_DEVICES' && {machine.berth} status --json"
    done = machine.job("sh", "-c", inner, options=["-q"])
    assert done.returncode == 0, done
    visible, status = done.stdout.split("\n", 1)
    seen = json.loads(status)
    assert visible == "0" and [one["minor_number"] for one in seen["devices"]] == [2], done
    assert not [one for one in seen["devices"] if one["lost"] or one["unusable_because"]], seen
    deeper = machine.job(machine.berth, "run", "-q", "--isolate", "--", "/usr/bin/python3", "-c", LOOK, options=["-q"])
    assert deeper.returncode == 0 and "nvidia2 opens" in deeper.stdout and "nvidia3 Permission" in deeper.stdout, deeper
    assert machine.leases() == []


def test_a_setuid_program_gains_nothing_and_sudo_is_refused_with_what_to_write(machine):
    if machine.uid == 0:
        pytest.skip("root has nothing to gain")
    setuid = shutil.copy(shutil.which("id"), machine.directory / "id")
    os.chmod(setuid, 0o4755)
    assert machine.run("run", "-q", "--", setuid, "-u").stdout == "0\n", "it is no setuid program here"
    assert machine.job(setuid, "-u", options=["-q"]).stdout == f"{NOBODY}\n"
    sudo = machine.directory / "sudo"
    sudo.write_text("#!/bin/sh\n")
    sudo.chmod(0o755)
    done = machine.job(sudo, "true")
    assert done.returncode == 125 and "sudo berth run --isolate" in done.stderr, done
    assert machine.leases() == []


def test_what_could_not_be_made_inside_is_asked_for_before(machine):
    machine.before = "rm nvidia-uvm"
    done = machine.job("true")
    assert done.returncode == 125 and "nvidia-modprobe -u -c=2" in done.stderr, done
    assert machine.leases() == []


def test_a_simulated_server_cannot_isolate(machine):
    done = machine.run("run", "--isolate", "--", "true", env={"BERTH_SIM": "desktop"})
    assert done.returncode == 125 and "simulated" in done.stderr, done


def test_killed_at_any_moment_it_leaves_no_lease(machine):
    """Each kill hits all of a run's processes at once; the next card is then free again."""
    sleeper = shutil.copy(shutil.which("sleep"), machine.directory / "sleeper")
    for delay in range(0, 120, 8):
        started = machine.start("run", "-q", "--isolate", "--only", "1", "--", sleeper, "600")
        time.sleep(delay / 1000)
        started.kill()  # which may not have become berth yet
        started.wait()
        while pids := running_in(machine.directory):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    done = machine.run("run", "--isolate", "--wait=20s", "--only", "1", "--", "true")
    assert done.returncode == 0, done


def test_the_check_says_what_works_here(machine):
    done = machine.run("isolate", "--check", "--json")
    report = json.loads(done.stdout)
    answers = {one["name"]: one["answer"] for one in report["checks"]}
    assert done.returncode == 0 and report["is_well"], report
    assert answers.pop("cuda_count") == "unknown", "there is no CUDA here"
    assert set(answers) == {"restricted", "new_files", "move_files", "link_files", "run_programs", "workers",
                            "own_devices", "others_closed", "all_closed", "nvml_count"}  # fmt: skip
    assert set(answers.values()) == {"yes"}, report
    # A driver that goes on to count closed cards is noticed.
    done = machine.run("isolate", "--check", "--json", env={"BERTH_FAKE_NVML_FILES": None})
    counted = next(one for one in json.loads(done.stdout)["checks"] if one["name"] == "nvml_count")
    assert done.returncode == 1 and counted["answer"] == "no", done
    assert not list(machine.directory.glob(".berth-isolate-*"))


def test_the_machines_file_isolates_each_job_only_after_the_check(machine):
    etc = machine.directory / "etc" / "berth"
    etc.mkdir(parents=True)
    (etc / "config.toml").write_text("[request]\nisolate = true\n")
    for path in (etc.parent, etc, etc / "config.toml"):
        os.chown(path, machine.uid, machine.uid)

    def isolated_by():
        done = machine.run("run", "--only", "1", "--", "true")
        assert done.returncode == 0, done.stderr
        return json.loads(machine.run("show", "--json", "last").stdout)["isolated_by"], " ".join(done.stderr.split())

    by, said = isolated_by()
    assert by is None and "isolate = true is not in force: `sudo berth isolate --check` has not run" in said
    assert "not in force" in machine.run("config").stdout
    assert machine.run("isolate", "--check").returncode == 0
    by, said = isolated_by()
    assert by == "landlock" and "not in force" not in said
    # A driver that goes on to count closed cards.
    assert machine.run("isolate", "--check", env={"BERTH_FAKE_NVML_FILES": None}).returncode == 1
    by, said = isolated_by()
    assert by is None and "found what does not work" in said
