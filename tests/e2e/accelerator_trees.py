"""Captured trees of other makers' cards as the /sys of a machine, and a second reader of them.

A capture has one card's folder below /sys/class/drm, without symbolic links. Here it gets a place on
a bus, its driver's folder, and where it has one the KFD's topology. `expected()` is written from the
kernel's documentation (Documentation/gpu/amdgpu, the hwmon ABI, kgd_pp_interface.h) and shares
nothing with the program."""

import os
import pathlib
import re
import struct

FOLDER = pathlib.Path(
    os.environ.get("BERTH_CAPTURES") or pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "captures"
) / "accelerators"
WHY_SKIPPED = f"no captures of other accelerators in {FOLDER} (BERTH_CAPTURES names another folder)"


def files_of(capture):
    """{path: bytes} of a .tree file."""
    files, name, how, lines = {}, None, "", []

    def finish():
        if name is None or how.startswith("-> "):
            return
        if how == "hex":
            files[name] = bytes.fromhex("".join(lines))
        else:
            ends = b"" if how in ("no-newline", "empty") else b"\n"
            files[name] = "\n".join(lines).encode() + ends

    for line in capture.read_text(encoding="utf-8").split("\n"):
        if line.startswith("@ "):
            finish()
            name, _, how = line[2:].partition(" ")
            lines = []
        elif line.startswith("|"):
            lines.append(line[1:])
    finish()
    return files


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


class Sys:
    """A /sys and a /proc below a directory of the test's own."""

    def __init__(self, root):
        self.root = root
        self.sys = root / "sys"
        self.proc = root / "proc"
        (self.sys / "bus/pci/devices").mkdir(parents=True)
        (self.proc).mkdir()

    def folder(self, address):
        return self.sys / "bus/pci/devices" / address

    def add(self, capture, address=None, render=128):
        """Puts the captured card on the bus; its address."""
        files = {name.removeprefix("sys/class/drm/"): content for name, content in files_of(capture).items()}
        card = min(name.split("/")[0] for name in files if re.match(r"card\d+/device/", name))
        told = dict(
            line.split("=", 1) for line in files.get(f"{card}/device/uevent", b"").decode().splitlines() if "=" in line
        )
        address = address or told.get("PCI_SLOT_NAME", "0000:03:00.0")
        folder = self.folder(address)
        vendor, device = (told.get("PCI_ID") or "1002:740F").split(":")
        put(folder / "class", f"0x{int(told.get('PCI_CLASS', '38000'), 16):06x}\n")
        put(folder / "vendor", f"0x{vendor.lower()}\n")
        put(folder / "device", f"0x{device.lower()}\n")
        for name, content in files.items():
            if name.startswith(f"{card}/device/"):
                put(folder / name[len(card) + 8 :], content)
            elif name.startswith(f"{card}/"):
                put(folder / "drm" / name, content)
            elif name.startswith("kfd/"):
                put(self.sys / "class/kfd/kfd/topology" / name[4:], content)
        (folder / "drm" / card).mkdir(parents=True, exist_ok=True)
        (folder / f"drm/renderD{render}").mkdir(parents=True, exist_ok=True)
        driver = told.get("DRIVER", "amdgpu")
        self.bind(address, driver)
        return address

    def bind(self, address, driver):
        (self.sys / "bus/pci/drivers" / driver / address).mkdir(parents=True)
        (self.folder(address) / "driver").symlink_to(f"../../drivers/{driver}")

    def add_bare(self, address, vendor="0x1002", device="0x74a1", driver="amdgpu", pci_class="0x120000", render=128):
        folder = self.folder(address)
        for name, text in (("class", pci_class), ("vendor", vendor), ("device", device)):
            put(folder / name, text + "\n")
        if render is not None:
            (folder / f"drm/renderD{render}").mkdir(parents=True)
        if driver:
            self.bind(address, driver)
        return folder

    def add_process(self, pid, opened, fdinfo=None):
        """One with these files open, and what the kernel tells of each."""
        folder = self.proc / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "fdinfo").mkdir()
        for number, path in enumerate(opened, 3):
            (folder / "fd" / str(number)).symlink_to(path)
            if fdinfo:
                put(folder / "fdinfo" / str(number), fdinfo)

    def add_topology(self, capture):
        for name, content in files_of(capture).items():
            put(self.sys / "class/kfd/kfd/topology" / name, content)


# --- the second reader ---------------------------------------------------------------------------


def text_in(folder, name):
    try:
        return (folder / name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None


def number_in(folder, name):
    text = text_in(folder, name)
    return int(text) if text is not None and text.isdigit() else None


# Offsets of what is compared, by (format, content, size): kgd_pp_interface.h.
METRICS = {
    (1, 1, 96): {"<H gfx": 16, "<H umc": 18},
    (1, 3, 120): {"<H gfx": 16, "<H umc": 18, "<Q throttle": 112},
    (2, 1, 120): {"<H centigfx": 28},
    (2, 2, 128): {"<H centigfx": 28, "<Q throttle": 120},
    (2, 3, 152): {"<H centigfx": 28, "<Q throttle": 120},
}


def metrics_in(folder):
    try:
        block = (folder / "gpu_metrics").read_bytes()
    except OSError:
        return {}
    size, form, content = struct.unpack_from("<HBB", block)
    found = {"apu": form > 1} if (form, content, size) in METRICS else {}
    for key, offset in METRICS.get((form, content, size), {}).items():
        kind, name = key.split()
        [value] = struct.unpack_from(kind, block, offset)
        if value != (1 << 8 * struct.calcsize(kind)) - 1:
            found[name] = value
    return found


def expected(folder):
    """An amdgpu card's folder as field of the JSON -> value, None where there is none."""
    found = {
        "memory_total_bytes": number_in(folder, "mem_info_vram_total"),
        "memory_used_bytes": number_in(folder, "mem_info_vram_used"),
        "utilization_gpu_percent": number_in(folder, "gpu_busy_percent"),
        "utilization_memory_percent": number_in(folder, "mem_busy_percent"),
        "vbios_version": text_in(folder, "vbios_version") or None,
        "pcie_replays": number_in(folder, "pcie_replay_count"),
    }
    for hwmon in sorted((folder / "hwmon").glob("*")) if (folder / "hwmon").is_dir() else []:
        if text_in(hwmon, "name") != "amdgpu":
            continue
        watts = number_in(hwmon, "power1_average")
        if watts is None:
            watts = number_in(hwmon, "power1_input")
        found["power_draw_milliwatts"] = None if watts is None else watts // 1000
        for field, name in (("power_limit_milliwatts", "power1_cap"), ("power_limit_default_milliwatts", "power1_cap_default")):
            limit = number_in(hwmon, name)
            found[field] = None if limit is None else limit // 1000
        heat = {}
        for sensor in (1, 2, 3):
            label = text_in(hwmon, f"temp{sensor}_label") or ("edge" if sensor == 1 else None)
            degrees = number_in(hwmon, f"temp{sensor}_input")
            if label and degrees is not None:
                heat[label] = degrees // 1000
        found["temperature_celsius"] = heat.get("edge", heat.get("junction"))
        found["temperature_memory_celsius"] = heat.get("mem")
        for field, name in (("clock_graphics_megahertz", "freq1_input"), ("clock_memory_megahertz", "freq2_input")):
            hertz = number_in(hwmon, name)
            found[field] = None if hertz is None else hertz // 1000000
    metrics = metrics_in(folder)
    if found["utilization_gpu_percent"] is None and "gfx" in metrics and metrics["gfx"] <= 100:
        found["utilization_gpu_percent"] = metrics["gfx"]
    if found["utilization_memory_percent"] is None and "umc" in metrics and metrics["umc"] <= 100:
        found["utilization_memory_percent"] = metrics["umc"]
    found["integrated"] = metrics.get("apu", False)
    if "throttle" in metrics:
        bits = metrics["throttle"]
        found["throttle_power_cap"] = bits & 0xFFFFFFFF != 0
        found["throttle_hardware_thermal"] = bits >> 32 & 0xFFFFFF != 0
    return found
