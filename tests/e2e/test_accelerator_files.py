"""What a look at AMD's cards opens, and what it makes of processes: on an injected /sys and /proc."""

import json
import os
import shutil
import subprocess

import pytest
from accelerator_trees import Sys, put
from conftest import BERTH, BUILD, ROOT, Machine

LOOK = BUILD / "tests/accelerators/look_at_tree"
NEVER_OPENED = ("/dev/kfd", "/dev/mkfd", "/dev/dri", "/dev/accel", "/dev/vfio", "/dev/davinci")
CARD = ROOT / "tests/data/amdgpu/vega10.tree"


def cards(tree, count):
    for number in range(count):
        tree.add(CARD, address=f"0000:{5 + number:02x}:00.0", render=128 + number)
        node = tree.sys / f"class/kfd/kfd/topology/nodes/{2 + number}"
        put(node / "properties", f"simd_count 256\nsimd_per_cu 4\nlocation_id {(5 + number) << 8}\ndomain 0\n")
        put(node / "gpu_id", f"{100 + number}\n")


INTEL = {
    "gt/gt0/rc6_residency_ms": "5", "hwmon/hwmon4/name": "xe", "hwmon/hwmon4/energy1_input": "7000000",
    "hwmon/hwmon4/temp2_input": "41000", "tile0/gt0/freq0/act_freq": "2400", "tile0/gt0/gtidle/idle_residency_ms": "9",
    "current_link_speed": "16.0 GT/s PCIe", "numa_node": "0", "power/runtime_status": "active",
}  # fmt: skip


def others(tree):
    """A card of Intel's, a DCU, a TPU and a Gaudi."""
    folder = tree.add_bare("0000:41:00.0", "0x8086", "0xe20b", "xe", "0x030000", render=140)
    for name, text in INTEL.items():
        put(folder / name, text + "\n")
    tree.add_bare("0000:42:00.0", "0x1d94", "0x6210", "hycu", "0x120000", render=141)
    tree.add_bare("0000:43:00.0", "0x1ae0", "0x0063", "", "0x120000", render=None)
    put(tree.add_bare("0000:44:00.0", "0x1da3", "0x1060", "habanalabs", "0x120000", render=None) / "module_id", "3\n")


def test_files_that_never_answer_cost_their_readings_alone(tmp_path):
    tree = Sys(tmp_path)
    cards(tree, 1)
    others(tree)
    for path in sorted(tree.sys.rglob("*")):
        if path.is_file() and path.name not in ("class", "vendor", "device"):
            path.unlink()
            os.mkfifo(path)
    done = subprocess.run([LOOK, tree.sys, tree.proc, "2"], text=True, capture_output=True, timeout=120, check=True)
    devices = json.loads(done.stdout.splitlines()[-1])["devices"]
    assert sorted(one["kind"] for one in devices) == ["amd-gpu", "google-tpu", "habana-gaudi", "hygon-dcu", "intel-gpu"]
    for one in devices:
        for field in ("memory_total_bytes", "utilization_gpu_percent", "temperature_celsius", "energy_millijoules"):
            assert one[field] is None and one["why"][field], f"{one['kind']}: {field}"


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_no_look_opens_a_device_file(tmp_path):
    tree = Sys(tmp_path)
    cards(tree, 2)
    others(tree)
    tree.add_process(50, ["/dev/kfd", "/dev/dri/renderD128"], "drm-driver:\tamdgpu\ndrm-client-id:\t1\n")
    tree.add_process(51, ["/dev/dri/renderD140", "/dev/dri/renderD141", "/dev/accel0", "/dev/vfio/7", "/dev/accel/accel0"])
    calls = tmp_path / "calls"
    subprocess.run(
        ["strace", "-f", "-e", "trace=open,openat,openat2", "-o", calls, LOOK, tree.sys, tree.proc, "2"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    opened = [line.split('"')[1] for line in calls.read_text().splitlines() if '"' in line]
    assert any(path.endswith("gpu_busy_percent") for path in opened) and any(path.endswith("act_freq") for path in opened)
    assert [path for path in opened if path.startswith(NEVER_OPENED)] == []


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("status", ["suspended", "active"])
def test_what_would_wake_a_card_of_intels_is_opened_only_while_it_is_awake(tmp_path, status):
    tree = Sys(tmp_path)
    folder = tree.add_bare("0000:41:00.0", "0x8086", "0xe20b", "xe", "0x030000", render=140)
    for name, text in INTEL.items():
        put(folder / name, text + "\n")
    put(folder / "tile0/physical_vram_size_bytes", f"{12 << 30}\n")
    put(folder / "power/runtime_status", status + "\n")
    calls = tmp_path / "calls"
    traced = ["strace", "-f", "-e", "trace=open,openat,openat2", "-o", calls, LOOK, tree.sys, tree.proc, "2"]
    done = subprocess.run(traced, check=True, text=True, capture_output=True, timeout=120)
    opened = [line.split('"')[1] for line in calls.read_text().splitlines() if '"' in line]
    wakes = [path for path in opened if str(folder) in path and any(part in path for part in ("hwmon4/", "/gt0/", "tile0/physical"))]
    [card] = json.loads(done.stdout.splitlines()[-1])["devices"]
    if status == "active":
        assert wakes and card["memory_total_bytes"] == 12 << 30
    else:
        assert wakes == [] and card["unusable_because"].startswith("it sleeps") and card["memory_total_bytes"] is None


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_doctor_looks_at_permissions_without_opening(tmp_path):
    """A process that opens the KFD is a process of it from then on. A render node wakes its card up."""
    root = tmp_path / "root"
    for name in ("kfd", "davinci_manager", "dri/renderD128"):
        put(root / "dev" / name, "")
    calls = tmp_path / "calls"
    env = Machine(tmp_path, sim=None).env | {"BERTH_ROOT": str(root)}
    done = subprocess.run(
        ["strace", "-f", "-e", "trace=open,openat,openat2,faccessat,faccessat2,access", "-o", calls, BERTH, "doctor", "--no-import"],
        env=env,
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert done.stdout, done.stderr
    lines = [line for line in calls.read_text().splitlines() if str(root / "dev") + "/" in line]
    names = ("/kfd", "/davinci_manager", "/renderD128")
    assert all(any(name in line and "access" in line for line in lines) for name in names), "it looks at each"
    assert [line for line in lines if "open" in line and any(name + '"' in line for name in names)] == []


def test_a_file_that_changes_between_reads_is_read_or_absent(tmp_path):
    tree = Sys(tmp_path)
    cards(tree, 1)
    busy = tree.folder("0000:05:00.0") / "gpu_busy_percent"
    looks = subprocess.Popen([LOOK, tree.sys, tree.proc, "40"], stdout=subprocess.PIPE, text=True)
    contents = ["7\n", "", "99999\n", "\xff\xfe\n", "12\n"]
    for number in range(200):
        busy.write_text(contents[number % len(contents)], encoding="latin-1")
        if looks.poll() is not None:
            break
    lines = looks.communicate(timeout=120)[0].splitlines()
    assert len(lines) == 40 and looks.returncode == 0
    for line in lines:
        [card] = json.loads(line)["devices"]
        assert card["utilization_gpu_percent"] in (4.0, 7.0, 12.0, None)


def test_intels_files_that_change_between_reads_are_read_or_absent(tmp_path):
    tree = Sys(tmp_path)
    others(tree)
    folder = tree.folder("0000:41:00.0")
    tree.add_process(51, ["/dev/dri/renderD140"], "drm-driver: xe\ndrm-client-id: 1\ndrm-resident-vram0: 64 MiB\n")
    changing = [folder / path for path in ("tile0/gt0/freq0/act_freq", "hwmon/hwmon4/temp2_input", "tile0/gt0/gtidle/idle_residency_ms")]
    changing += [tree.proc / "51/fdinfo/3"]
    contents = ["7\n", "", "99999999999999999999\n", "\xff\xfe\n", "-4\n", "41000\n", "drm-driver: xe\ndrm-client-id: x\n"]
    looks = subprocess.Popen([LOOK, tree.sys, tree.proc, "40"], stdout=subprocess.PIPE, text=True)
    for number in range(400):
        for place, path in enumerate(changing):
            path.write_text(contents[(number + place) % len(contents)], encoding="latin-1")
        if looks.poll() is not None:
            break
    lines = looks.communicate(timeout=120)[0].splitlines()
    assert len(lines) == 40 and looks.returncode == 0
    for line in lines:
        [card] = [one for one in json.loads(line)["devices"] if one["kind"] == "intel-gpu"]
        assert card["clock_graphics_megahertz"] in (7, 2400, 41000, None)
        assert card["temperature_celsius"] in (0, 41, None), "no absurd one"
        assert card["utilization_gpu_percent"] is None or 0 <= card["utilization_gpu_percent"] <= 100
        assert card["memory_used_bytes"] in (0, 64 << 20, None)


def test_files_of_presence_that_change_between_reads_make_nobody_known(tmp_path):
    tree = Sys(tmp_path)
    others(tree)
    tree.add_process(51, ["/dev/accel/accel0"])
    module = tree.folder("0000:44:00.0") / "module_id"
    link = tree.sys / "class/accel/accel0"
    link.mkdir(parents=True)
    contents = ["3\n", "", "99999\n", "\xff\n", "5\n"]
    looks = subprocess.Popen([LOOK, tree.sys, tree.proc, "40"], stdout=subprocess.PIPE, text=True)
    for number in range(400):
        module.write_text(contents[number % len(contents)], encoding="latin-1")
        if number % 2:
            (link / "device").unlink()
        else:
            (link / "device").symlink_to("../../../bus/pci/devices/0000:44:00.0")
        if looks.poll() is not None:
            break
    lines = looks.communicate(timeout=120)[0].splitlines()
    assert len(lines) == 40 and looks.returncode == 0
    for line in lines:
        [card] = [one for one in json.loads(line)["devices"] if one["kind"] == "habana-gaudi"]
        told = card.get("runtime_index", card["index"])
        assert told in (3, 5) or "module id" in card["unusable_because"], card
        assert card["process_count"] in (1, None), "unread is not nobody"


@pytest.mark.parametrize(
    ("address", "driver"),
    [("0000:06:00.0", "amdgpu"), ("0000:41:00.0", "xe"), ("0000:43:00.0", None), ("0000:44:00.0", "habanalabs")],
    ids=["amd", "intel", "tpu", "gaudi"],
)
def test_a_card_that_is_pulled_out_is_lost(tmp_path, address, driver):
    tree = Sys(tmp_path)
    cards(tree, 2)
    others(tree)
    looks = subprocess.Popen([LOOK, tree.sys, tree.proc, "30"], stdout=subprocess.PIPE, text=True)
    first = json.loads(looks.stdout.readline())
    assert len(first["devices"]) == 6
    if driver:
        shutil.rmtree(tree.sys / f"bus/pci/drivers/{driver}/{address}")
    shutil.rmtree(tree.folder(address))
    last = json.loads(looks.communicate(timeout=120)[0].splitlines()[-1])
    [gone] = [one for one in last["devices"] if one["pci_address"] == f"0000{address}"]
    assert gone["state"] == "lost" and gone["lost"]
    there = [one["state"] for one in last["devices"] if one is not gone]
    assert len(there) == 5 and "lost" not in there
