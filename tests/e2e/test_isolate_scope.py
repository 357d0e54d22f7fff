"""`sudo berth run --isolate` on a kernel without Landlock: a real systemd holds the job by its device rules."""

import json
import os
import shutil
import signal

import booted
import pytest
from conftest import BUILD, fake_library, many_devices, wait_until
from test_isolate import CARDS, LOOK

NO_LANDLOCK = BUILD / "fakes/preload/libno_landlock.so"
# Device rules go by number: each card has its own, as real ones do, and nothing else has it.
NODES = """
cd /dev && mkdir infiniband || exit 99
for one in zero full random urandom; do umount $one && rm $one || exit 99; done
for one in nvidiactl:3 nvidia-uvm:3 infiniband/uverbs0:3 nvidia0:5 nvidia1:7 nvidia2:8 nvidia3:9; do
  mknod -m 666 ${one%:*} c 1 ${one#*:} || exit 99
done
"""


class Server(booted.Booted):
    """Four cards, whose minor numbers run against their indices."""

    def __init__(self):
        super().__init__(fake_library())
        self.succeed("sh", "-c", NODES)
        snapshot = many_devices(CARDS)
        for device in snapshot["devices"]:
            device["minor_number"] = CARDS - 1 - device["index"]
        self.path("/root/played.json").write_text(json.dumps(snapshot), encoding="utf-8")
        shutil.copy(NO_LANDLOCK, self.path("/usr/local/lib/no_landlock.so"))
        self.env = {"BERTH_NVML": "/usr/local/lib/libfake-nvml.so", "BERTH_FAKE_NVML": "/root/played.json",
                    "BERTH_FAKE_NVML_FILES": "1", "LD_PRELOAD": "/usr/local/lib/no_landlock.so"}  # fmt: skip

    def berth(self, *words, **changes):
        return self.run("berth", *words, env=self.env | changes)


@pytest.fixture(scope="module")
def server():
    if reason := booted.why_not():
        pytest.skip(reason)
    if not NO_LANDLOCK.exists():
        pytest.fail(f"{NO_LANDLOCK} is missing: ninja preload_no_landlock")
    try:
        made = Server()
    except booted.DidNotBoot as why:
        pytest.skip(str(why))
    tried = made.run("systemd-run", "--scope", "-q", "-p", "DevicePolicy=strict", "sh", "-c", ": </dev/nvidia0")
    if tried.returncode == 0:
        made.close()
        pytest.skip("this kernel lets no systemd set device rules (CONFIG_CGROUP_BPF)")
    yield made
    made.close()


def test_roots_job_opens_its_own_card_and_no_other(server):
    done = server.berth("run", "--isolate", "--only", "1", "--", "/usr/bin/python3", "-c", LOOK)
    assert done.returncode == 0, done
    *files, visible = done.stdout.splitlines()
    found = dict(line.split(" ", 1) for line in files)
    assert found.pop("nvidia2") == found.pop("nvidiactl") == found.pop("nvidia-uvm") == "opens", done.stdout
    assert found == dict.fromkeys(["nvidia0", "nvidia1", "nvidia3"], "Operation not permitted"), done.stdout
    assert visible == "0" and "isolated by systemd" in done.stderr, done.stderr
    assert json.loads(server.berth("show", "--json", "last").stdout)["isolated_by"] == "systemd"
    plain = server.berth("run", "-q", "--only", "1", "--", "/usr/bin/python3", "-c", LOOK)
    assert "not permitted" not in plain.stdout and plain.stdout.splitlines()[-1] == "1", plain


def test_it_holds_where_the_devices_are_that_systemd_opens_by_itself(server):
    # DevicePolicy= but strict does so where there is a /dev/zero, and berth's trial of the rules tells.
    server.succeed("mknod", "-m", "666", "/dev/zero", "c", "1", "5")
    try:
        done = server.berth("run", "--isolate", "--", "true")
        assert done.returncode == 0 and "isolated by systemd" in done.stderr, done
    finally:
        server.succeed("rm", "/dev/zero")


def test_all_else_is_as_without_it(server):
    job = "read line; : </dev/infiniband/uverbs0 && : </dev/null && echo $line $PPID $(berth leases --json); exit 7"
    done = server.run("sh", "-c", f"echo typed | berth run -q --isolate -- sh -c '{job}'", env=server.env)
    assert done.returncode == 7, done
    word, parent, leases = done.stdout.split(None, 2)
    [lease] = json.loads(leases)["leases"]
    assert (word, lease["isolated_by"]) == ("typed", "systemd") and int(parent) == lease["keeper"]["pid"]
    assert json.loads(server.berth("leases", "--json").stdout)["leases"] == []


def test_a_signal_ends_it_and_its_scope(server):
    server.berth("run", "--isolate", "--detach", "--", "sleep", "300")
    wait_until(lambda: "sleep" in server.run("systemctl", "list-units", "--type=scope", "--no-legend").stdout, "a scope")
    assert server.berth("stop", "last").returncode == 0
    assert json.loads(server.berth("show", "--json", "last").stdout)["end"]["signal"] == signal.SIGTERM
    wait_until(lambda: "sleep" not in server.run("systemctl", "list-units", "--type=scope", "--no-legend").stdout, "none")


def test_who_is_not_root_or_has_no_systemd_is_refused_with_the_reason(server):
    refused = server.run("berth", "run", "--isolate", "--", "true", uid=server.uid, env=server.env | {"XDG_STATE_HOME": "/tmp/anna"})
    assert refused.returncode == 125 and "the kernel has no Landlock" in refused.stderr, refused
    assert "systemd" not in refused.stderr
    hidden = "mount -t tmpfs none /run/systemd && exec berth run --isolate -- true"
    none = server.run("unshare", "-m", "sh", "-c", hidden, env=server.env)
    said = " ".join(none.stderr.split())
    assert none.returncode == 125 and "nor does a systemd run here" in said, none


def test_rules_that_do_not_hold_are_found_before_the_job_waits(server):
    # As where a container's systemd may set none: it makes the scope, and all can be opened in it.
    fake = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'
    path = server.path("/usr/local/bin/systemd-run")
    path.write_text(fake, encoding="utf-8")
    path.chmod(0o755)
    server.succeed("mknod", "-m", "666", "/dev/zero", "c", "1", "5")
    try:
        refused = server.berth("run", "--isolate", "--", "touch", "/root/ran")
        said = " ".join(refused.stderr.split())
        assert refused.returncode == 125 and "device rules of systemd do not hold here" in said, refused
        assert not os.path.exists(server.path("/root/ran"))
    finally:
        path.unlink()
        server.succeed("rm", "/dev/zero")


def test_the_check_says_what_holds_it(server):
    done = server.berth("isolate", "--check")
    assert done.returncode == 0 and "be restricted, by device rules of systemd: yes" in done.stdout, done
    assert "another control group" in done.stdout
