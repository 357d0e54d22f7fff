"""`berth run --bind` on a kernel with two NUMA nodes: a machine of QEMU's, in software, with the kernel of Debian's package.

Most machines that build berth have one node, where a bound job cannot be told from one that is not."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import BERTH, scenario

QEMU = shutil.which("qemu-system-x86_64")
PATIENCE = 900  # a processor in software, beside compilers
PROGRAMS = ("sh", "cat", "cut", "dd", "grep", "mkdir", "mount", "sort", "uname")

# Says in lines of "KEY: …" what a job of each kind is allowed, and where its memory lies.
INIT = """#!/bin/sh
export PATH=/bin HOME=/tmp LANG=C.UTF-8 BERTH_SIM=/devices.json BERTH_LEDGER=/tmp/ledger
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir /tmp/ledger
say() { while read line; do echo "$1: $line"; done; }
cat /sys/devices/system/node/online | say nodes
for node in 0 1; do cat /sys/devices/system/node/node$node/cpulist | say cpus$node; done
for card in 0 1 2; do
  for how in --bind --no-bind; do
    [ $card = 2 ] && only="0,1 -n 2" || only=$card
    berth run -q --only $only $how -- sh -c '
      grep -E "^(Cpus_allowed_list|Mems_allowed_list)" /proc/self/status
      cut -d" " -f2 /proc/self/numa_maps | sort -u
      before() { grep Shmem: /sys/devices/system/node/node*/meminfo; }
      before; dd if=/dev/zero of=/tmp/block bs=1M count=32 2>/dev/null; before
      : >/tmp/block' 2>&1 | say "job $card $how"
  done
done
echo "over: $(uname -r)"
echo o >/proc/sysrq-trigger
while :; do :; done
"""


def missing():
    if not os.environ.get("BERTH_LONG"):
        return "a machine in software takes minutes: ./dev test --long starts one"
    return "" if QEMU else "no qemu-system-x86_64 (apt-get install qemu-system-x86)"


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


def kernel(folder):
    """From Debian's package, which is unpacked and not installed."""
    def apt(*words):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    package = re.search(r"Depends: (linux-image-\S+)", apt("apt-cache", "depends", "linux-image-cloud-amd64"))
    if package and (folder / "kernel").mkdir() is None and apt("apt-get", "download", package[1]) is not None:
        for archive in folder.glob("linux-image-*.deb"):
            apt("dpkg-deb", "-x", str(archive), "kernel")
    found = sorted((folder / "kernel/boot").glob("vmlinuz-*")) if package else []
    if not found:
        pytest.skip("no kernel: apt gives no linux-image-cloud-amd64 here")
    return found[-1]


def libraries_of(program):
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", told)


def entry(name, mode, content=b""):
    """One file of an archive in cpio's format "newc"."""
    fields = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)


def disk_of(files):
    """All of a machine: {path: (mode, content)}, with the folders that they lie in."""
    folders = {str(parent) for path in files for parent in pathlib.PurePath(path).parents if str(parent) not in ("/", ".")}
    folders |= {"/proc", "/sys", "/dev", "/tmp"}
    told = [entry(folder[1:], 0o40755) for folder in sorted(folders, key=len)]
    told += [entry(path[1:], 0o100000 | mode, content) for path, (mode, content) in files.items()]
    return gzip.compress(b"".join([*told, entry("TRAILER!!!", 0)]), 1)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What that machine said: {key: lines}."""
    folder = tmp_path_factory.mktemp("machine")
    devices = scenario("lab-4")
    devices["devices"] = [
        one | {"index": i, "numa_node": i, "cpu_affinity": ("0-1", "2-3")[i]} for i, one in enumerate(devices["devices"][:2])
    ]
    devices |= {"gpu_processes": [], "processes": [], "leases": [], "queue": []}
    programs = {name: shutil.which(name) for name in PROGRAMS} | {"berth": BERTH}
    files = {"/init": (0o755, INIT.encode()), "/devices.json": (0o644, json.dumps(devices).encode())}
    for name, path in programs.items():
        files[f"/bin/{name}"] = (0o755, pathlib.Path(path).read_bytes())
        for library in libraries_of(path):
            files[library] = (0o755, pathlib.Path(library).read_bytes())
    (folder / "disk").write_bytes(disk_of(files))
    node = [f"-object memory-backend-ram,id=m{i},size=384M -numa node,nodeid={i},memdev=m{i},cpus={2 * i}-{2 * i + 1}" for i in (0, 1)]
    words = [QEMU, "-accel", "tcg", "-m", "768M", "-smp", "4", *" ".join(node).split(), "-nographic", "-no-reboot", "-nodefaults",
             "-serial", "stdio", "-kernel", str(kernel(folder)), "-initrd", str(folder / "disk"),
             "-append", "console=ttyS0 panic=-1 quiet sysrq_always_enabled"]  # fmt: skip
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)
    found = {}
    for line in done.stdout.splitlines():
        if parts := re.match(r"(nodes|cpus\d|job \d \S+|over): (.*)", line.strip()):
            found.setdefault(parts[1], []).append(parts[2])
    assert "over" in found, done.stdout[-4000:] + done.stderr[-2000:]
    return found


def job(told, card, how):
    lines = told[f"job {card} {how}"]
    allowed = {key: value.strip() for key, _, value in (line.partition(":") for line in lines) if key.endswith("allowed_list")}
    policies = [line for line in lines if re.fullmatch(r"(default|prefer|bind|local|interleave)\S*(\s.*)?", line)]
    shared = [int(kib) for kib in re.findall(r"Shmem:\s+(\d+) kB", "\n".join(lines))]
    grown = [after - before for before, after in zip(shared[:2], shared[2:])]
    return allowed["Cpus_allowed_list"], policies, grown


def test_it_has_two_nodes(told):
    assert told["nodes"] == ["0-1"] and (told["cpus0"], told["cpus1"]) == (["0-1"], ["2-3"])


@pytest.mark.parametrize("card", [0, 1])
def test_a_bound_job_computes_and_has_its_memory_beside_its_device(told, card):
    cpus, policies, grown = job(told, card, "--bind")
    assert cpus == ("0-1", "2-3")[card]
    assert f"prefer:{card}" in policies and "default" not in policies, policies
    assert grown[card] >= 32 * 1024 - 256 and grown[1 - card] < 1024, f"its 32 MiB lie elsewhere: {grown}"


@pytest.mark.parametrize("card", [0, 1, 2])
def test_who_is_not_bound_may_be_anywhere(told, card):
    cpus, policies, _ = job(told, card, "--no-bind")
    assert cpus == "0-3" and not [one for one in policies if one.startswith("prefer")]


def test_with_devices_of_both_nodes_the_memory_is_nobodys(told):
    cpus, policies, _ = job(told, 2, "--bind")
    assert cpus == "0-3" and not [one for one in policies if one.startswith("prefer")]
