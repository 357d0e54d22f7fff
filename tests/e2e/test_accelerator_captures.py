"""Each captured card of another maker's, read by the program and by a second reader.

The captures are not shipped: BERTH_CAPTURES names their folder, as for tests/parity."""

import json
import pathlib
import subprocess

import pytest
from accelerator_trees import FOLDER, WHY_SKIPPED, Sys, expected, files_of
from conftest import BUILD

LOOK = BUILD / "tests/accelerators/look_at_tree"
AMD = sorted((FOLDER / "amd-sysfs").glob("*.tree"))
INTEL = sorted((FOLDER / "intel-sysfs").glob("*.tree"))
KFD = sorted((FOLDER / "amd-kfd").glob("*.tree"))

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=WHY_SKIPPED)


def looks_at(tree, looks=1):
    done = subprocess.run(
        [LOOK, tree.sys, tree.proc, str(looks)], text=True, capture_output=True, timeout=120, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def card_at(tree, address, looks=1):
    seen = looks_at(tree, looks)[-1]
    [card] = [one for one in seen["devices"] if one["pci_address"] == f"0000{address}" and not one["parent"]]
    return card, seen


def name_of(path):
    return path.stem


@pytest.mark.parametrize("capture", AMD, ids=name_of)
def test_a_card_of_amds_reads_as_the_second_reader_has_it(tmp_path, capture):
    tree = Sys(tmp_path)
    address = tree.add(capture)
    driver = next((tree.sys / "bus/pci/drivers").iterdir()).name
    card, _ = card_at(tree, address)
    assert card["kind"] == "amd-gpu"
    if driver != "amdgpu":  # radeon, of 2012: nobody asks it
        assert card["unusable_because"] == "another kernel driver has it"
        return
    wanted = expected(tree.folder(address))
    got = {field: card.get(field) for field in wanted}
    got["integrated"] = card.get("integrated", False)
    assert got == wanted
    for field, value in wanted.items():
        if value is None:
            assert card["why"][field], f"{field} says why it is absent"


@pytest.mark.parametrize("capture", INTEL, ids=name_of)
def test_a_card_of_intels_says_what_its_files_say(tmp_path, capture):
    tree = Sys(tmp_path)
    address = tree.add(capture)
    card, _ = card_at(tree, address, looks=2)
    files = {name.split("/", 1)[1]: content.decode(errors="replace").strip() for name, content in files_of(capture).items()}
    assert card["kind"] == "intel-gpu"
    assert card.get("integrated", False) == (address == "0000:00:02.0")

    def first(*names):
        return next((int(files[name]) for name in names if files.get(name, "").isdigit()), None)

    assert card["clock_graphics_megahertz"] == first(
        "device/tile0/gt0/freq0/act_freq", "gt/gt0/rps_act_freq_mhz", "gt_act_freq_mhz"
    )
    assert card["clock_graphics_max_megahertz"] == first(
        "device/tile0/gt0/freq0/rp0_freq", "gt/gt0/rps_RP0_freq_mhz", "gt_RP0_freq_mhz"
    )
    energies = [int(files[name]) for name in sorted(files) if name.endswith("_input") and "/energy" in name]
    moving = next((one for one in energies if one > 0), None)
    assert card["energy_millijoules"] == (moving // 1000 if moving else None)
    idle = [name for name in files if name.endswith(("idle_residency_ms", "rc6_residency_ms")) and "gt/gt" in name or name.endswith("gtidle/idle_residency_ms")]
    assert card["utilization_gpu_percent"] == (100.0 if idle else None), "the captured counter stands still"
    assert card["memory_used_bytes"] is None or card["memory_used_bytes"] == 0


@pytest.mark.parametrize("capture", KFD, ids=name_of)
def test_a_topology_numbers_its_cards_as_rocm_does(tmp_path, capture):
    tree = Sys(tmp_path)
    tree.add_topology(capture)
    nodes = []
    for name, content in files_of(capture).items():
        if name.endswith("/properties") and name.count("/") == 2:
            told = dict(line.split() for line in content.decode().splitlines() if len(line.split()) == 2)
            if int(told.get("simd_count", 0)) > 0:
                nodes.append((int(name.split("/")[1]), told))
    nodes.sort(key=lambda node: node[0])
    wanted, cards = {}, set()
    for number, (_, told) in enumerate(nodes):
        location = int(told["location_id"])
        address = f"{int(told['domain']):04x}:{location >> 8 & 255:02x}:{location >> 3 & 31:02x}.0"
        cards.add(address)
        wanted[(address, location & 7)] = (number, int(told["drm_render_minor"]))
    for address in cards:
        tree.add_bare(address, render=None)
    seen = looks_at(tree)[-1]
    got = {}
    parents = [card for card in seen["devices"] if not card["parent"]]
    assert len(parents) == len(cards)
    ids = [device["id"] for device in seen["devices"]]
    assert len(ids) == len(set(ids)), "each has an id of its own"
    divided = len(nodes) > len(cards)
    for device in seen["devices"]:
        if device["parent"] or not divided:
            part = device["mig"]["gpu_instance"] if device["parent"] else 0
            got[(device["pci_address"][4:], part)] = (device["runtime_index"] if "runtime_index" in device else device["index"], device["minor_number"])
    assert got == wanted
    if divided:
        assert {card["state"] for card in parents} == {"divided"}
        assert {device["kind"] for device in seen["devices"] if device["parent"]} == {"amd-partition"}
    else:
        links = {card["pci_address"]: {link["remote_pci_address"] for link in card["nvlinks"]} for card in parents}
        assert {len(peers) for peers in links.values()} == {3}, "islands of four"
        assert all(address in links[peer] for address, peers in links.items() for peer in peers)


def captured_fdinfo(name, folder="fdinfo"):
    return (FOLDER / folder / name).read_text(encoding="utf-8")


def test_a_client_of_the_compute_engine_is_counted_once(tmp_path):
    tree = Sys(tmp_path)
    address = tree.add(FOLDER / "amd-sysfs/procfs-vega10-card0.tree", address="0000:04:00.0")
    text = captured_fdinfo("amdgpu-compute-client.txt")
    # A descriptor that was duplicated, and one that a child has inherited.
    tree.add_process(71, ["/dev/dri/renderD128", "/dev/dri/renderD128"], text)
    tree.add_process(72, ["/dev/dri/renderD128"], text)
    _, seen = card_at(tree, address)
    [process] = seen["gpu_processes"]
    assert (process["pid"], process["memory_used_bytes"], process["type"]) == (71, 44564 * 1024, "C")


@pytest.mark.parametrize(
    ("text", "memory"), [("xe-dg2.txt", 23992), ("xe-pvc-two-tiles.txt", 65072580 + 63753540)], ids=["dg2", "two tiles"]
)
def test_what_clients_of_xe_hold_is_the_sum_of_their_tiles(tmp_path, text, memory):
    tree = Sys(tmp_path)
    address = tree.add(FOLDER / "intel-sysfs/a380-xe.tree", address="0000:03:00.0")
    tree.add_process(80, ["/dev/dri/renderD128"], captured_fdinfo(text))
    card, seen = card_at(tree, address)
    [process] = seen["gpu_processes"]
    assert process["memory_used_bytes"] == memory * 1024
    assert card["memory_used_bytes"] == memory * 1024


def test_the_tree_reader_has_all_captures():
    named = {path.name for path in AMD + INTEL + KFD}
    assert named == {path.name for path in pathlib.Path(FOLDER).glob("*/*.tree")}
