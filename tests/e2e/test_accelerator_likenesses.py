"""Makers whose driver was made of another's: Hygon's has amdgpu's files, Iluvatar's library has NVML's functions."""

import json
import shutil
import subprocess

import pytest
from accelerator_trees import Sys, put
from conftest import BUILD, ROOT, Machine, many_devices

LOOK = BUILD / "tests/accelerators/look_at_tree"
FAKE_NVML = BUILD / "fakes/nvml/all/libnvidia-ml.so.1"
DCU = ROOT / "tests/data/amdgpu/vega10.tree"
SYSTEM_CALL_FAILED = 9  # driver_not_loaded


def looks_at(tree, **env):
    done = subprocess.run([LOOK, tree.sys, tree.proc], env=env, text=True, capture_output=True, timeout=60, check=True)
    return json.loads(done.stdout)


class Iluvatar:
    """A machine whose bus has two of its cards, and whose library plays a snapshot of NVIDIA's."""

    ADDRESSES = ["0000:21:00.0", "0000:a1:00.0"]

    def __init__(self, directory, library=FAKE_NVML):
        self.directory = directory
        self.tree = Sys(directory / "root")
        for address in self.ADDRESSES:
            self.tree.add_bare(address, "0x1e3e", "0x0002", "iluvatar", "0x120000", render=None)
        self.snapshot = many_devices(2)
        for number, device in enumerate(self.snapshot["devices"]):
            device |= {"name": "Iluvatar BI-V150", "pci_address": f"0000{self.ADDRESSES[number]}", "minor_number": number,
                       "memory_total_bytes": 32 << 30, "power_draw_milliwatts": 123}  # fmt: skip
        one = self.snapshot["devices"][1]
        self.snapshot["gpu_processes"] = [{"device": one["id"], "pid": 4321, "type": "compute", "memory_used_bytes": 5 << 30}]
        if library:
            place = self.tree.sys / "usr/local/corex/lib64/libixml.so"
            place.parent.mkdir(parents=True)
            shutil.copy(library, place)

    def looks(self, faults=""):
        played = self.directory / "played.json"
        played.write_text(json.dumps(self.snapshot), encoding="utf-8")
        self.seen = looks_at(self.tree, BERTH_FAKE_NVML=str(played), BERTH_FAKE_NVML_FAULTS=faults)
        return [one for one in self.seen["devices"] if one["pci_address"][4:] in self.ADDRESSES]


def test_iluvatars_library_is_read_by_nvmls_functions(tmp_path):
    server = Iluvatar(tmp_path)
    cards = server.looks()
    assert [one["kind"] for one in cards] == ["iluvatar-gpu"] * 2
    assert [one["id"] for one in cards] == [f"0000{address}" for address in server.ADDRESSES]
    assert [(one["name"], one["memory_total_bytes"], one["minor_number"]) for one in cards] == [
        ("Iluvatar BI-V150", 32 << 30, 0), ("Iluvatar BI-V150", 32 << 30, 1)]  # fmt: skip
    assert [one["power_draw_milliwatts"] for one in cards] == [123_000] * 2, "its library tells watts"
    [process] = server.seen["gpu_processes"]
    assert (process["device"], process["pid"], process["memory_used_bytes"]) == (cards[1]["id"], 4321, 5 << 30)
    assert [one["process_count"] for one in cards] == [0, 1]
    assert "nvml" not in [one["source"] for one in server.seen["sources"]], "no card of NVIDIA's is missed"
    # A job is given what is read like any card, by the variable that its CUDA reads.
    (tmp_path / "seen.json").write_text(json.dumps(server.seen), encoding="utf-8")
    machine = Machine(tmp_path, sim=str(tmp_path / "seen.json"))
    given = machine.run("run", "-q", "--kind", "iluvatar", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert (given.returncode, given.stdout) == (0, "0\n"), given.stderr


@pytest.mark.parametrize("why", ["missing", "silent", "another"])
def test_without_iluvatars_library_or_its_answer_that_is_said(tmp_path, why):
    # libupnp has a library of this name, and nothing of NVML's in it.
    another = BUILD / "fakes/dcmi/all/libdcmi.so"
    server = Iluvatar(tmp_path, library={"missing": None, "silent": FAKE_NVML, "another": another}[why])
    cards = server.looks(faults=f"nvmlInit_v2={SYSTEM_CALL_FAILED}" if why == "silent" else "")
    assert len(cards) == 2
    assert all(one["memory_total_bytes"] is None and one["power_draw_milliwatts"] is None for one in cards)
    said = [one for one in server.seen["problems"] if one["source"] == "ixml"]
    if why == "missing":
        assert [one["kind"] for one in cards] == ["iluvatar-gpu"] * 2 and said == []
        (tmp_path / "seen.json").write_text(json.dumps(server.seen), encoding="utf-8")
        refused = Machine(tmp_path, sim=str(tmp_path / "seen.json")).run("pick")
        assert refused.returncode != 0 and "only its presence is known" in refused.stderr
        return
    [problem] = said
    assert problem["code"] == {"silent": "driver_not_loaded", "another": "library_unusable"}[why]
    assert "Iluvatar" in problem["message"] and "NVIDIA" not in problem["message"] + problem["remedy"]
    assert all(one["unusable_because"] for one in cards)


def dcu(tree, address, render):
    tree.add(DCU, address=address, render=render)
    folder = tree.folder(address)
    put(folder / "vendor", "0x1d94\n")
    put(folder / "unique_id", f"TRFU34000405{render}\n")
    shutil.rmtree(tree.sys / "bus/pci/drivers/amdgpu")
    (folder / "driver").unlink()
    tree.bind(address, "hycu")
    # As somebody read them there with cat.
    for name, text in (("name", "hycu"), ("temp1_input", "57000"), ("power1_average", "356000000"), ("freq1_input", "592000000")):
        put(folder / "hwmon/hwmon3" / name, text + "\n")
    return folder


def test_hygons_cards_are_read_by_amdgpus_files_where_they_are_there(tmp_path):
    tree = Sys(tmp_path)
    folder = dcu(tree, "0000:33:00.0", 130)
    tree.add_process(91, ["/dev/kfd", "/dev/dri/renderD130"])
    seen = looks_at(tree)
    [card] = seen["devices"]
    assert (card["kind"], card["id"], card["minor_number"]) == ("hygon-dcu", "00000000:33:00.0", 130)
    assert card["memory_total_bytes"] == int((folder / "mem_info_vram_total").read_text())
    assert card["utilization_gpu_percent"] == int((folder / "gpu_busy_percent").read_text())
    assert (card["power_draw_milliwatts"], card["temperature_celsius"], card["clock_graphics_megahertz"]) == (356_000, 57, 592)
    assert [one["pid"] for one in seen["gpu_processes"]] == [91], "its fdinfo tells nothing, and it has the card open"
    assert [one["source"] for one in seen["sources"] if one["succeeded"]].count("hycu") == 1
    (folder / "mem_info_vram_total").unlink()
    [card] = looks_at(tree)["devices"]
    assert (card["kind"], card["id"]) == ("hygon-dcu", "00000000:33:00.0"), "the same card to a lease"
    assert card["utilization_gpu_percent"] is None and card["process_count"] == 1
