"""What makers' own tools printed, and what the program says of a machine with just those readings.

No capture has a tool's output together with the files of the same machine. So the files are made from the output. They
have the units of the kernel and the libraries, which the tools convert. The captures are not shipped: BERTH_CAPTURES
names their folder, as for tests/parity."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from accelerator_trees import FOLDER, WHY_SKIPPED, Sys, put
from conftest import scenario
from test_accelerator_captures import looks_at
from test_ascend_library import Ascend

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=WHY_SKIPPED)
AMD = FOLDER / "amd-tools"
ROCM_SMI = sorted(AMD.glob("rocm-smi-*.json"))


def text_of(path):
    return (FOLDER / path).read_text(encoding="utf-8")


def number(text):
    """The number in "45.0", "(500Mhz)", "144.0". None for "N/A" and for nothing."""
    match = re.search(r"-?\d+(\.\d+)?", text or "")
    return float(match[0]) if match else None


def add_amd(tree, address, render, files, sensors):
    """A card of amdgpu's with these files, and these of its hwmon."""
    folder = tree.add_bare(address, render=render)
    for name, value in files.items():
        if value is not None:
            put(folder / name, f"{value}\n")
    for name, value in {"name": "amdgpu", **sensors}.items():
        if value is not None:
            put(folder / "hwmon/hwmon3" / name, f"{value}\n")


def whole(value, times=1):
    return None if value is None else int(value * times)


def told_of(tree):
    return {one["pci_address"][4:].lower(): one for one in looks_at(tree)[-1]["devices"]}


@pytest.mark.parametrize("capture", ROCM_SMI, ids=lambda path: path.stem)
def test_a_card_reads_as_rocm_smi_printed_it(tmp_path, capture):
    tree = Sys(tmp_path)
    cards = {key: one for key, one in json.loads(capture.read_text()).items() if key.startswith("card")}
    for place, card in enumerate(cards.values()):
        files = {
            "vbios_version": card.get("VBIOS version"),
            "gpu_busy_percent": whole(number(card.get("GPU use (%)"))),
            "mem_busy_percent": whole(number(card.get("GPU memory use (%)"))),
            "mem_info_vram_total": card.get("VRAM Total Memory (B)"),
            "mem_info_vram_used": card.get("VRAM Total Used Memory (B)"),
            "pcie_replay_count": card.get("PCIe Replay Count"),
            "unique_id": card["Unique ID"][2:].rjust(16, "0") if card["Unique ID"] != "N/A" else None,
        }
        sensors = {"power1_cap": whole(number(card["Max Graphics Package Power (W)"]), 10**6)}
        sensors["power1_average"] = whole(number(card["Average Graphics Package Power (W)"]), 10**6)
        sensors["freq1_input"] = whole(number(card["sclk clock speed:"]), 10**6)
        sensors["freq2_input"] = whole(number(card["mclk clock speed:"]), 10**6)
        for sensor, label in (("1", "edge"), ("2", "junction"), ("3", "memory")):
            sensors[f"temp{sensor}_input"] = whole(number(card[f"Temperature (Sensor {label}) (C)"]), 1000)
            sensors[f"temp{sensor}_label"] = "mem" if label == "memory" else label
        add_amd(tree, card["PCI Bus"].lower(), 128 + place, files, sensors)
    told = told_of(tree)
    assert len(told) == len(cards)
    for card in cards.values():
        one = told[card["PCI Bus"].lower()]
        printed = {
            "temperature_celsius": card["Temperature (Sensor edge) (C)"],
            "temperature_memory_celsius": card["Temperature (Sensor memory) (C)"],
            "utilization_gpu_percent": card["GPU use (%)"],
            "utilization_memory_percent": card.get("GPU memory use (%)"),
            "memory_total_bytes": card.get("VRAM Total Memory (B)"),
            "memory_used_bytes": card.get("VRAM Total Used Memory (B)"),
            "clock_graphics_megahertz": card["sclk clock speed:"],
            "clock_memory_megahertz": card["mclk clock speed:"],
        }
        assert {key: one[key] for key in printed} == {key: number(text) for key, text in printed.items()}
        for key, text in (
            ("power_draw_milliwatts", card["Average Graphics Package Power (W)"]),
            ("power_limit_milliwatts", card["Max Graphics Package Power (W)"]),
        ):
            assert one[key] == whole(number(text), 1000), key
            assert one[key] is not None or one["why"][key] == "unsupported"
        assert one["vbios_version"] == card["VBIOS version"]
        unique = card["Unique ID"]
        assert one["uuid"] == (None if unique == "N/A" else "GPU-" + unique[2:].rjust(16, "0"))


def test_who_only_opened_the_kfd_is_on_no_card(tmp_path):
    """ROCm's own tool lists this process with no card and 0 bytes."""
    [(pid, name, cards, vram)] = re.findall(
        r"^(\d+)\s+(\S+)\s+(\d+)\s+(\d+)\s", text_of("amd-tools/rocm-smi-showpids-kfd-opener.txt"), re.M
    )
    assert (cards, vram) == ("0", "0") and name
    tree = Sys(tmp_path)
    add_amd(tree, "0000:03:00.0", 128, {"mem_info_vram_total": 1 << 34, "mem_info_vram_used": 1 << 24}, {})
    node = tree.sys / "class/kfd/kfd/topology/nodes/1"
    put(node / "properties", "simd_count 256\nsimd_per_cu 4\nlocation_id 768\ndomain 0\n")
    put(node / "gpu_id", "77\n")
    put(tree.sys / f"class/kfd/kfd/proc/{pid}/vram_77", "0\n")
    [card] = told_of(tree).values()
    assert card["process_count"] == 0
    put(tree.sys / f"class/kfd/kfd/proc/{pid}/vram_77", f"{1 << 30}\n")
    [card] = told_of(tree).values()
    assert card["process_count"] == 1, "and who holds memory is"


@pytest.mark.parametrize("name", ["amd_mi300x", "amd_rx7800xt"])
def test_a_card_reads_as_amds_library_told(tmp_path, name):
    tree = Sys(tmp_path)
    cards = json.loads(text_of(f"amd-tools/gpustack-detect-{name}.json"))
    for card in cards:
        files = {
            "unique_id": card["uuid"][4:],
            "mem_info_vram_total": card["memory"] << 20,
            "mem_info_vram_used": card["memory_used"] << 20,
            "gpu_busy_percent": card["cores_utilization"],
            "product_name": card["name"],
        }
        sensors = {"power1_cap": card["power"] * 10**6, "power1_average": card["power_used"] * 10**6}
        # The library tells the hot spot's on Instinct, which has no edge.
        sensors |= {"temp2_label": "junction", "temp2_input": card["temperature"] * 1000}
        add_amd(tree, card["appendix"]["bdf"], card["appendix"]["renderd_id"], files, sensors)
    put(tree.sys / "module/amdgpu/version", cards[0]["driver_version"] + "\n")
    put(tree.sys / "opt/rocm/.info/version", cards[0]["runtime_version_original"] + "\n")
    seen = looks_at(tree)[-1]
    for card, one in zip(cards, seen["devices"], strict=True):
        assert (one["name"], one["id"], one["minor_number"]) == (card["name"], card["uuid"], card["appendix"]["renderd_id"])
        assert (one["memory_total_bytes"], one["memory_used_bytes"]) == (card["memory"] << 20, card["memory_used"] << 20)
        assert (one["power_draw_milliwatts"], one["power_limit_milliwatts"]) == (card["power_used"] * 1000, card["power"] * 1000)
        assert (one["temperature_celsius"], one["utilization_gpu_percent"]) == (card["temperature"], card["cores_utilization"])
    [amd] = seen["host"]["other_vendors"]
    assert (amd["driver_version"], amd["runtime_version"]) == (cards[0]["driver_version"], cards[0]["runtime_version_original"])


@pytest.mark.parametrize("name", ["hwloc-mi300a-spx", "hwloc-mi300a-cpx", "hwloc-mi50"])
def test_cards_without_numbers_of_their_own_keep_apart(tmp_path, name):
    """MI300A's AMDUUID is 0 on every card and partition; MI50's are their own."""
    tree = Sys(tmp_path)
    told = json.loads(text_of(f"amd-tools/{name}.json"))
    parts = {}
    for number_of_node, one in enumerate(told, 4):
        address = one["pci_busid"]
        if address not in parts:
            uuid = one["info"]["AMDUUID"]
            add_amd(tree, address, None, {"unique_id": uuid if int(uuid, 16) else "0"}, {})
        part = parts[address] = parts.get(address, -1) + 1
        domain, bus, _ = address.split(":")
        put(
            tree.sys / f"class/kfd/kfd/topology/nodes/{number_of_node}/properties",
            f"simd_count 152\nsimd_per_cu 4\nlocation_id {int(bus, 16) << 8 | part}\ndomain {int(domain, 16)}\n"
            f"unique_id {int(one['info']['AMDUUID'], 16)}\ndrm_render_minor {124 + number_of_node}\n",
        )
    devices = looks_at(tree)[-1]["devices"]
    given = [one for one in devices if one["state"] != "divided"]
    assert len(given) == len(told)
    assert len({one["id"] for one in devices}) == len(devices), "each has an id of its own"
    assert sorted(one["runtime_index"] if "runtime_index" in one else one["index"] for one in given) == list(range(len(told)))
    for one in devices:
        assert one["uuid"] is None or int(one["uuid"][4:].split("-")[0], 16), "0 is no UUID"
    if name == "hwloc-mi50":
        assert {one["uuid"] for one in devices} == {f"GPU-{one['info']['AMDUUID']}" for one in told}


def test_an_apu_reads_as_amdgpu_top_printed_it(tmp_path):
    [printed] = json.loads(text_of("amd-tools/amdgpu_top-sample.json"))["devices"][:1]
    tree = Sys(tmp_path)
    metrics = printed["gpu_metrics"]
    head = metrics["header"]
    block = bytearray(b"\xff" * head["structure_size"])
    block[:4] = head["structure_size"].to_bytes(2, "little") + bytes([head["format_revision"], head["content_revision"]])
    address = printed["Info"]["DevicePath"]["pci"]
    add_amd(
        tree,
        address,
        129,
        {
            "mem_info_vram_total": printed["Info"]["VRAM Size"],
            "mem_info_vram_used": printed["VRAM"]["Total VRAM Usage"]["value"] << 20,
            "gpu_busy_percent": printed["gpu_activity"]["GFX"]["value"],
        },
        {
            "temp1_label": "edge",
            "temp1_input": printed["Sensors"]["Edge Temperature"]["value"] * 1000,
            "power1_input": printed["Sensors"]["Input Power"]["value"] * 10**6,
            "freq1_input": printed["Sensors"]["GFX_SCLK"]["value"] * 10**6,
        },
    )
    put(tree.folder(address) / "gpu_metrics", bytes(block))
    [card] = told_of(tree).values()
    assert card["integrated"]
    assert card["memory_used_bytes"] == 460 << 20
    assert (card["temperature_celsius"], card["power_draw_milliwatts"]) == (43, 27000)
    assert (card["utilization_gpu_percent"], card["clock_graphics_megahertz"]) == (0, 600)
    for key in ("temperature_memory_celsius", "power_limit_milliwatts", "utilization_memory_percent", "fan_speed_percent"):
        assert card[key] is None and card["why"][key] == "unsupported", f"{key}: all ones is nothing"


def chips_of(rows):
    """A snapshot with Ascend chips that say this."""
    snapshot = scenario("ascend-910b-8")
    model = snapshot["devices"][7]
    snapshot["gpu_processes"], snapshot["processes"] = [], []
    snapshot["devices"] = []
    for place, row in enumerate(rows):
        device = model | {"index": place, "minor_number": place} | row
        device["id"] = device["pci_address"]
        device["why"] = {key: why for key, why in model["why"].items() if device.get(key) is None}
        device["why"] |= {key: "unsupported" for key, value in row.items() if value is None}
        snapshot["devices"].append(device)
    return snapshot


def rows_of_npu_smi(text):
    """Each chip of the tables that npu-smi prints: its two lines."""
    cells = [[cell.split() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    pairs = [pair for pair in zip(cells, cells[1:]) if len(pair[0]) == 3 and len(pair[1]) == 3]
    for (name, _, upper), (chip, bus, lower) in pairs:
        if not bus or not re.fullmatch(r"[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]", bus[0]):
            continue
        used, total = re.findall(r"(\d+)\s*/\s*(\d+)", " ".join(lower))[-1]
        yield {
            "name": "Ascend " + name[1],
            "pci_address": "0000" + bus[0].lower(),
            "power_draw_milliwatts": None if upper[0] == "-" else round(float(upper[0]) * 1000),
            "temperature_celsius": int(upper[1]),
            "utilization_gpu_percent": float(lower[0]),
            "memory_total_bytes": int(total) << 20,
            "memory_used_bytes": int(used) << 20,
            "memory_free_bytes": int(total) - int(used) << 20,
            "minor_number": int(chip[1]) if len(chip) > 1 else int(name[0]),
        }


@pytest.mark.parametrize(
    ("capture", "chips", "chips_of_card"),
    [("npu-smi-info-910b3-excerpt", 4, 1), ("npu-smi-info-a3-two-chips-excerpt", 3, 2), ("npu-smi-info-processes-excerpt", 1, 1)],
)
def test_a_chip_reads_as_npu_smi_printed_it(tmp_path, capture, chips, chips_of_card):
    rows = list(rows_of_npu_smi(text_of(f"ascend/{capture}.txt")))
    assert len(rows) == chips
    server = Ascend(tmp_path, chips_of(rows))
    told = server.looks(chips=chips_of_card)
    assert [{key: one[key] for key in row} for one, row in zip(told, rows, strict=True)] == rows
    for one in told:
        assert one["power_draw_milliwatts"] is not None or one["why"]["power_draw_milliwatts"] == "unsupported"


def test_a_process_is_as_large_as_npu_smi_printed_it(tmp_path):
    text = text_of("ascend/npu-smi-info-processes-excerpt.txt")
    [(pid, megabytes)] = re.findall(r"^\| 0 +0 +\| (\d+) +\| \S+ +\| (\d+) +\| NA", text, re.M)
    [row] = rows_of_npu_smi(text)
    snapshot = chips_of([row])
    snapshot["gpu_processes"] = [{"device": row["pci_address"], "pid": int(pid), "type": "C", "memory_used_bytes": int(megabytes) << 20}]
    server = Ascend(tmp_path, snapshot)
    [chip] = server.looks()
    [process] = server.seen["gpu_processes"]
    assert (process["pid"], process["memory_used_bytes"]) == (632268, 197 << 20)
    assert chip["memory_used_bytes"] == 31877 << 20, "what nobody in the list holds is still used"
    refused = server.machine.run("pick")
    assert refused.returncode != 0, "so it is not free"


def test_chips_read_as_dcmi_told_of_a_910b2(tmp_path):
    printed = json.loads(text_of("ascend/gpustack-detect-ascend_910b2.json"))
    rows = [
        {
            "name": "Ascend " + one["name"],
            "uuid": "NPU-" + "-".join(part.lower().rjust(8, "0") for part in one["uuid"].split()),
            "pci_address": "0000" + one["appendix"]["bdf"],
            "memory_total_bytes": one["memory"] << 20,
            "memory_used_bytes": one["memory_used"] << 20,
            "memory_free_bytes": one["memory"] - one["memory_used"] << 20,
            "power_draw_milliwatts": round(one["power_used"] * 1000),
            "temperature_celsius": one["temperature"],
            "utilization_gpu_percent": float(one["cores_utilization"]),
            "minor_number": one["appendix"]["physical_id"],
        }
        for one in printed
    ]
    server = Ascend(tmp_path, chips_of(rows))
    put(server.tree.sys / "usr/local/Ascend/driver/version.info", f"Version={printed[0]['driver_version']}\n")
    told = server.looks()
    assert [{key: one[key] for key in row} for one, row in zip(told, rows, strict=True)] == rows
    assert {one["id"] for one in told} == {row["uuid"] for row in rows}
    assert server.seen["host"]["other_vendors"][0]["driver_version"] == printed[0]["driver_version"]
    # 3.4 GB of a chip are used when nobody is on it.
    assert server.machine.run("pick", "-n", str(len(rows))).returncode == 0


def test_a_chip_that_left_the_bus_is_missed(tmp_path):
    """lspci before and after: 61:00.0 is gone, and npu-smi says "Invalid card id"."""
    before, after = (
        ["0000:" + address for address in re.findall(r"^(\S+) Processing accelerators", text_of(f"ascend/{name}"), re.M)]
        for name in ("npu-info-910a-before.txt", "npu-info-910a-after-card-lost.txt")
    )
    [lost] = set(before) - set(after)
    assert lost == "0000:61:00.0" and "Invalid card id" in text_of("ascend/npu-info-910a-after-card-lost.txt")
    text = text_of("ascend/npu-info-910a-before.txt")
    total = int(re.search(r"HBM Capacity\(MB\)\s*: (\d+)", text)[1])
    rows = [{"name": "Ascend 910A", "pci_address": "0000" + one, "memory_total_bytes": total << 20} for one in before]
    logic = re.findall(r"^\t(\d+)\s+0\s+(\d+)\s+Ascend 910A", text, re.M)
    server = Ascend(tmp_path, chips_of(rows))
    assert [str(one["index"]) for one in server.looks()] == [number for _, number in logic]
    server.snapshot = chips_of([row for row in rows if row["pci_address"] != "0000" + lost])
    told = server.looks()  # the bus has it for a moment longer than the library
    assert [one["pci_address"][4:] for one in told if one["unusable_because"]] == [lost]
    shutil.rmtree(server.tree.folder(lost))
    assert {one["pci_address"][4:] for one in server.looks()} == set(after)


def test_a_card_of_intels_clocks_as_intel_gpu_top_printed_it(tmp_path):
    printed = json.loads(text_of("intel-tools/intel_gpu_top-i915.json"))
    tree = Sys(tmp_path)
    folder = tree.add_bare("0000:00:02.0", "0x8086", "0x9a49", "i915", "0x030000")
    put(folder / "drm/card0/gt/gt0/rps_act_freq_mhz", f"{round(printed['frequency']['actual'])}\n")
    put(folder / "drm/card0/gt/gt0/rps_cur_freq_mhz", f"{round(printed['frequency']['requested'])}\n")
    put(folder / "drm/card0/gt/gt0/rc6_residency_ms", "1000\n")  # it never rested: 0 %
    [client] = printed["clients"].values()
    engines = {"render": "Render/3D", "video": "Video"}
    busy = "".join(f"drm-engine-{key}:\t{int(1e7 * float(client['engine-classes'][name]['busy']))} ns\n" for key, name in engines.items())
    tree.add_process(int(client["pid"]), ["/dev/dri/renderD128"], f"drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t0000:00:02.0\n{busy}")
    seen = looks_at(tree, 2)[-1]
    [card] = seen["devices"]
    assert card["clock_graphics_megahertz"] == 1253 and card["integrated"]
    assert printed["rc6"]["value"] == 0 and card["utilization_gpu_percent"] == 100
    assert [one["pid"] for one in seen["gpu_processes"]] == [int(client["pid"])]


def test_memory_that_is_not_on_the_card_is_nobodys_share_of_it(tmp_path):
    """xpu-smi: 3642 MiB of 16288 in use, while one client's total was 7692 MiB."""
    used, _ = map(int, re.search(r"(\d+)MiB / (\d+)MiB", text_of("intel-tools/xpu-smi-2.0-a770-excerpt.txt")).groups())
    tree = Sys(tmp_path)
    tree.add_bare("0000:03:00.0", "0x8086", "0x56a0", "xe", "0x030000")
    told = f"drm-total-vram0:\t{7692 << 10} KiB\ndrm-resident-vram0:\t{used << 10} KiB\n"
    tree.add_process(90, ["/dev/dri/renderD128"], f"drm-driver:\txe\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\n{told}")
    seen = looks_at(tree)[-1]
    assert [one["memory_used_bytes"] for one in seen["gpu_processes"]] == [used << 20]


def presence(tmp_path, devices):
    """{address: (vendor, device id, class, file of it or None)}, all held by one process."""
    tree = Sys(tmp_path)
    for address, (vendor, device, pci_class, extra) in devices.items():
        folder = tree.add_bare(address, vendor, device, None, pci_class, render=extra.get("render"))
        if "group" in extra:
            (folder / "driver").symlink_to("../../drivers/vfio-pci")
            (folder / "iommu_group").symlink_to(f"../../../kernel/iommu_groups/{extra['group']}")
    return tree


def test_a_tpu_is_busy_as_tpu_info_printed_it(tmp_path):
    chips = re.findall(r"^\| /dev/vfio/(\d+) \| TPU v6e chip \| 1 +\| (\d+) ", text_of("others/tpu-info.txt"), re.M)
    assert len(chips) == 4
    tree = presence(tmp_path, {f"0000:00:0{4 + place}.0": ("0x1ae0", "0x006f", "0x120000", {"group": group}) for place, (group, _) in enumerate(chips)})
    tree.add_process(int(chips[0][1]), [f"/dev/vfio/{group}" for group, _ in chips])
    seen = looks_at(tree)[-1]
    assert {one["kind"] for one in seen["devices"]} == {"google-tpu"}
    assert [(one["process_count"], one["minor_number"]) for one in seen["devices"]] == [(1, int(group)) for group, _ in chips]
    assert {one["pid"] for one in seen["gpu_processes"]} == {int(chips[0][1])}
    assert all(one["memory_used_bytes"] is None and one["why"]["memory_used_bytes"] == "unsupported" for one in seen["devices"])


@pytest.mark.parametrize(("capture", "vendor", "kind"), [("hygon_k100ai", "0x1d94", "hygon-dcu"), ("metax_c500", "0x9999", "metax-gpu")])
def test_who_has_a_render_node_open_is_on_that_device(tmp_path, capture, vendor, kind):
    printed = json.loads(text_of(f"others/gpustack-detect-{capture}.json"))
    devices = {one["appendix"]["bdf"]: (vendor, "0x0001", "0x038000", {"render": one["appendix"]["renderd_id"]}) for one in printed}
    tree = presence(tmp_path, devices)
    tree.add_process(81, [f"/dev/dri/renderD{printed[1]['appendix']['renderd_id']}"])
    told = {one["pci_address"][4:]: one for one in looks_at(tree)[-1]["devices"]}
    for place, one in enumerate(printed):
        device = told[one["appendix"]["bdf"]]
        assert (device["kind"], device["minor_number"]) == (kind, one["appendix"]["renderd_id"])
        assert device["process_count"] == (1 if place == 1 else 0)


def test_a_gaudi_is_numbered_by_its_module(tmp_path):
    """hl-smi: index 3 is module 6; the variable takes modules."""
    pairs = [tuple(map(int, line.split(","))) for line in text_of("others/hl-smi-index-module.csv").splitlines()[1:]]
    assert any(index != module for index, module in pairs)
    tree = presence(tmp_path, {f"0000:{16 + index:02x}:00.0": ("0x1da3", "0x1060", "0x120000", {}) for index, _ in pairs})
    for index, module in pairs:
        put(tree.folder(f"0000:{16 + index:02x}:00.0") / "module_id", f"{module}\n")
    told = {one["pci_address"]: one.get("runtime_index") for one in looks_at(tree)[-1]["devices"]}
    assert told == {f"00000000:{16 + index:02x}:00.0": module for index, module in pairs}
    named = text_of("others/hl-smi-gaudi3.csv").splitlines()
    assert len(named) == 2, "its memory and power are hl-smi's alone: only presence is known here"


def test_neuron_devices_are_not_numbered_by_the_bus(tmp_path):
    table = re.findall(r"^ +\| (\d+) +\| 4 +\| [\d-]+ +\| 96 GB +\| [\d, ]+\| (0000:\S+) \|", text_of("others/neuron-ls.txt"), re.M)[:16]
    assert len(table) == 16
    by_bus = [address for _, address in sorted(table, key=lambda one: one[1])]
    assert by_bus != [address for _, address in table], "so an address does not tell a file"
    tree = presence(tmp_path, {address: ("0x1d0f", "0x7364", "0x088000", {}) for address in by_bus})
    told = looks_at(tree)[-1]["devices"]
    assert {one["kind"] for one in told} == {"aws-neuron"} and len(told) == 16
    assert {one["minor_number"] for one in told} == {None}


def test_a_server_of_mi300a_reads_as_amd_smi_printed_it(tmp_path):
    tree = Sys(tmp_path)
    text = text_of("amd-tools/amd-smi-cli.txt")
    printed = {}
    for block in re.split(r"^GPU: \d+$", text, flags=re.M)[1:]:
        told = dict(re.findall(r"^ {8}([A-Z_]+): +(.+)$", block, re.M))
        printed[told["BDF"]] = told
    assert len(printed) == 4
    for number_of_card, (address, told) in enumerate(printed.items()):
        files = {
            "product_name": told["PRODUCT_NAME"],
            "unique_id": told["ASIC_SERIAL"][2:].lower(),
            "mem_info_vram_total": whole(number(told["SIZE"]), 1 << 20),
            "current_compute_partition": told["COMPUTE_PARTITION"],
            "current_memory_partition": told["MEMORY_PARTITION"],
            "numa_node": told["NODE"],
            "max_link_speed": told["MAX_PCIE_SPEED"].replace(" GT/s", ".0 GT/s PCIe"),
            "max_link_width": told["MAX_PCIE_WIDTH"],
        }
        sensors = {
            "power1_cap": whole(number(told["SOCKET_POWER"]), 10**6),
            "temp2_label": "junction",
            "temp2_crit": whole(number(told["SLOWDOWN_HOTSPOT_TEMPERATURE"]), 1000),
        }
        add_amd(tree, address, 128 + number_of_card, files, sensors)
    for address, one in told_of(tree).items():
        told = printed[address]
        assert (one["name"], one["uuid"]) == (told["PRODUCT_NAME"], "GPU-" + told["ASIC_SERIAL"][2:].lower())
        assert one["partition_mode"] == f"{told['COMPUTE_PARTITION']} {told['MEMORY_PARTITION']}"
        assert one["memory_total_bytes"] == whole(number(told["SIZE"]), 1 << 20)
        assert one["power_limit_milliwatts"] == whole(number(told["SOCKET_POWER"]), 1000)
        assert one["numa_node"] == int(told["NODE"])
        assert f"Gen {one['pcie_generation_max']}" == told["PCIE_INTERFACE_VERSION"]
        assert one["pcie_width_max"] == int(told["MAX_PCIE_WIDTH"])
        assert one["temperature_slowdown_celsius"] == number(told["SLOWDOWN_HOTSPOT_TEMPERATURE"])


@pytest.mark.parametrize("capture", sorted(AMD.glob("rocprofiler-sysinfo-*.csv")), ids=lambda path: path.stem)
def test_a_chip_is_called_and_divided_as_rocprofiler_wrote_it(tmp_path, capture):
    with capture.open(encoding="utf-8") as lines:
        [told] = csv.DictReader(lines)
    tree = Sys(tmp_path)
    compute, memory = (None if told[key] == "NA" else told[key] for key in ("compute_partition", "memory_partition"))
    files = {
        "vbios_version": None if told["vbios"] == "N/A" else told["vbios"],
        "current_compute_partition": compute,
        "current_memory_partition": memory,
        "pp_dpm_sclk": f"0: 500Mhz\n1: {told['max_sclk']}Mhz *",
        "pp_dpm_mclk": f"0: 400Mhz\n1: {told['max_mclk']}Mhz *",
    }
    add_amd(tree, "0000:03:00.0", 128, files, {})
    major, minor, step = re.fullmatch(r"gfx(\d+)(\w)(\w)", told["gpu_arch"]).groups()
    node = tree.sys / "class/kfd/kfd/topology/nodes/1/properties"
    version = int(major) * 10000 + int(minor, 16) * 100 + int(step, 16)
    put(node, f"simd_count {int(told['cu_per_gpu']) * int(told['simd_per_cu'])}\nsimd_per_cu {told['simd_per_cu']}\n"
              f"location_id 768\ndomain 0\ngfx_target_version {version}\n")  # fmt: skip
    put(tree.sys / "opt/rocm/.info/version", told["rocm_version"] + "\n")
    seen = looks_at(tree)[-1]
    [one] = seen["devices"]
    assert one["architecture"] == told["gpu_arch"]
    assert one["partition_mode"] == (f"{compute} {memory}" if compute else None)
    assert one["vbios_version"] == files["vbios_version"]
    assert one["clock_graphics_max_megahertz"] == int(told["max_sclk"])
    assert one["clock_memory_max_megahertz"] == int(told["max_mclk"])
    assert seen["host"]["other_vendors"][0]["runtime_version"] == told["rocm_version"]


VENDORS = {"amd": ("0x1002", "amdgpu"), "ascend": ("0x19e5", "devdrv_device_driver"), "hygon": ("0x1d94", "hycu"),
           "metax": ("0x9999", "metax"), "mthreads": ("0x1ed5", "mtgpu")}  # fmt: skip


@pytest.mark.parametrize("capture", sorted(FOLDER.glob("*/gpustack-topology-*.json")), ids=lambda path: path.stem[18:])
def test_a_device_is_near_the_memory_that_its_library_told(tmp_path, capture):
    [told] = json.loads(capture.read_text(encoding="utf-8"))
    vendor, driver = VENDORS[told["manufacturer"]]
    nodes = {}
    tree = Sys(tmp_path)
    for place, node in enumerate(told["devices_numa_affinities"]):
        address = f"0000:{place + 1:02x}:00.0"
        nodes[address] = int(node)
        put(tree.add_bare(address, vendor, driver=driver, render=128 + place) / "numa_node", node + "\n")
    assert {address: one["numa_node"] for address, one in told_of(tree).items()} == nodes


def test_a_model_in_the_memory_of_an_apus_host_is_its_process_s(tmp_path):
    """5 MB of VRAM, 24 GB of GTT: nvtop's pull request 492."""
    text = text_of("fdinfo/amdgpu-apu-llama-gtt.txt")
    tree = Sys(tmp_path)
    add_amd(tree, "0000:03:00.0", 128, {"mem_info_vram_total": 1 << 29, "mem_info_vram_used": 1 << 27}, {})
    node = tree.sys / "class/kfd/kfd/topology/nodes/0/properties"
    put(node, "cpu_cores_count 16\nsimd_count 32\nsimd_per_cu 2\nlocation_id 768\ndomain 0\n")
    tree.add_process(60, ["/dev/dri/renderD128"], "drm-driver:\tamdgpu\ndrm-client-id:\t5\n" + text)
    [process] = looks_at(tree)[-1]["gpu_processes"]
    assert process["memory_used_bytes"] == sum(int(size) for size in re.findall(r"(\d+) KiB", text)) << 10


def test_who_is_on_amds_npu_is_on_no_gpu(tmp_path):
    """Its fdinfo names the NPU's own function; berth has no such device."""
    tree = Sys(tmp_path)
    add_amd(tree, "0000:03:00.0", 128, {"mem_info_vram_total": 1 << 29, "mem_info_vram_used": 1 << 27}, {})
    tree.add_process(61, ["/dev/accel/accel0"], text_of("fdinfo/amdxdna-not-actual.txt"))
    seen = looks_at(tree)[-1]
    assert seen["gpu_processes"] == [] and seen["devices"][0]["process_count"] == 0


def test_each_capture_has_its_test():
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("test_accelerator*.py")))
    listed = [*ROCM_SMI, *AMD.glob("rocprofiler-sysinfo-*.csv"), *FOLDER.glob("*/gpustack-topology-*.json")]
    others = [path for path in FOLDER.glob("*/*") if path.suffix != ".tree" and path not in listed]
    assert [path.name for path in others if path.stem.removeprefix("gpustack-detect-") not in text] == []
