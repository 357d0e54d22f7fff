"""The real nvidia-smi, of Debian's non-free packages, and `berth smi`, by turns on one fake libnvidia-ml. It checks
what the fake tells and how berth prints it together. Neither was written by the other's author."""

import os
import pathlib
import re
import subprocess
from difflib import SequenceMatcher

import pytest
import real_machines
from captures import BERTH, BUILD, ROOT

PEERS = ROOT / "build" / "peers"
# The fake library that exports what the driver of the branch does.
SYMBOLS = {"535": "real-535.261.03", "550": "real-550.163.01", "555": "real-555.58.02"}


def tool_of(branch):
    found = sorted((PEERS / f"nvidia-smi-{branch}").glob("usr/lib/nvidia/*/nvidia-smi"))
    return found[0] if found else None


def each_branch():
    for branch in SYMBOLS:
        why = f"no nvidia-smi of {branch} in build/peers: ./dev test unpacks Debian's, where apt reaches it"
        yield pytest.param(branch, marks=pytest.mark.skipif(tool_of(branch) is None, reason=why))


class Both:
    """One machine, as the real nvidia-smi of a branch and as berth show it."""

    def __init__(self, branch, directory, machine):
        self.branch, self.tool = branch, str(tool_of(branch))
        library = BUILD / "fakes" / "nvml" / SYMBOLS[branch] / "libnvidia-ml.so.1"
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(directory), "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "BERTH_LEDGER": str(directory / "ledger"), "BERTH_NVML": str(library),
            "LD_LIBRARY_PATH": str(library.parent),
            "BERTH_FAKE_NVML": str(directory / "machine.json"),
            "BERTH_FAKE_NVML_NOW_MS": str(real_machines.NOW_MS),
        }  # fmt: skip
        version = re.search(r"Interface -- v([\d.]+)", self.real("-h")[1])[1]
        self.play(real_machines.MACHINES[machine](version))

    def play(self, snapshot):
        pathlib.Path(self.env["BERTH_FAKE_NVML"]).write_text(real_machines.as_json(snapshot), encoding="utf-8")

    def real(self, *words):
        return self._ended(self._start(self.tool, *words))

    def _start(self, *command):
        return subprocess.Popen(
            command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )

    @staticmethod
    def _ended(process):
        out, _ = process.communicate(timeout=60)
        return process.returncode, out

    def ask(self, *words):
        """((exit code, text) of the real one, of berth)."""
        real, ours = self._start(self.tool, *words), self._start(BERTH, "smi", *words)
        return self._ended(real), self._ended(ours)


PRIVATE = "nvidia-smi asks a private entry point, NVML has none (doc/FAKES.md)"
ONE_LOOK = "a rate is made of two looks, this is the first (doc/FAKES.md)"
LABELLED = "these drivers write the label into the cell, too"
HALF_A_MASK = "555.58 masks two bits with 0x11, so that Full is nothing to it"
# Lines and cells that may differ: what the line contains or the column is, and why.
ALLOWED = {
    r"T.Limit Temp +: (26 C|N/A)$|gpu_temp_tlimit|temperature\.gpu\.tlimit": PRIVATE,
    r"Reset Required|Drain and Reset|reset_required|drain_and_reset|reset_status": PRIVATE,
    r"[TR]x Throughput|[tr]x_util": ONE_LOOK,
    r"fabric\.(state|status)": LABELLED,
    r"Bandwidth +: |<bandwidth>": HALF_A_MASK,
    r"^timestamp$": "the time of the look",
}
LEAST_ALIKE = 0.97
DATE = re.compile(r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}")
SECTIONS = (
    "MEMORY UTILIZATION ECC TEMPERATURE POWER CLOCK COMPUTE PIDS PERFORMANCE SUPPORTED_CLOCKS PAGE_RETIREMENT "
    "ACCOUNTING ENCODER_STATS SUPPORTED_GPU_TARGET_TEMP VOLTAGE FBC_STATS ROW_REMAPPER RESET_STATUS"
).split()


def is_allowed(line):
    return any(re.search(pattern, line) for pattern in ALLOWED)


def held(real, ours):
    """(lines alike, lines in all); fails where others differ than those that may."""
    theirs, mine = ([DATE.sub("TIME", line.strip()) for line in text.splitlines()] for text in (real, ours))
    alike, wrong = 0, []
    for what, a, b, c, d in SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes():
        if what == "equal":
            alike += b - a
            continue
        wrong += [f"- {line}" for line in theirs[a:b] if not is_allowed(line)]
        wrong += [f"+ {line}" for line in mine[c:d] if not is_allowed(line)]
    assert wrong == []
    return alike, max(len(theirs), len(mine))


@pytest.fixture
def both(branch, machine, tmp_path):
    return Both(branch, tmp_path, machine)


each = pytest.mark.parametrize("branch", list(each_branch()))
every_machine = pytest.mark.parametrize(
    "machine", ["one card", "eight cards", "instances", "error counts", "old card"]
)


@each
@every_machine
def test_the_answers_of_both_are_alike(both, record_property):
    alike = lines = 0
    for words in ([], ["-L"], ["-q"], ["-q", "-x"]):
        (code, real), (own_code, ours) = both.ask(*words)
        assert (own_code, ours != "") == (code, True), words
        one, all_of_it = held(real, ours)
        alike, lines = alike + one, lines + all_of_it
    record_property("measured", f"{alike} of {lines} lines of nvidia-smi {both.branch}")
    assert alike >= LEAST_ALIKE * lines


@each
@pytest.mark.parametrize("machine", ["one card"])
def test_each_section_of_both_is_alike(both):
    for section in SECTIONS:
        (code, real), (own_code, ours) = both.ask("-q", "-d", section)
        assert own_code == code, section
        held(real, ours)


@each
@every_machine
def test_every_field_of_its_help_is_a_cell_that_is_alike(both):
    listed = re.findall(r'^("[^\n]*")$', both.real("--help-query-gpu")[1], re.M)
    names = [name for line in listed for name in re.findall(r'"([\w.]+)"', line)]
    (code, real), (own_code, ours) = both.ask(f"--query-gpu={','.join(names)}", "--format=csv")
    assert own_code == code == 0, ours
    rows = [[line.split(", ") for line in text.splitlines()] for text in (real, ours)]
    assert len(names) > 140 and [len(row) for row in rows[0]] == [len(row) for row in rows[1]]
    wrong = [
        (name, cell, own)
        for theirs, mine in zip(*rows)
        for name, cell, own in zip(names, theirs, mine)
        if cell != own and not is_allowed(name)
    ]
    assert wrong == []


LISTS = {
    "compute-apps": "gpu_name,gpu_bus_id,gpu_serial,gpu_uuid,pid,process_name,used_gpu_memory",
    "remapped-rows": "gpu_uuid,remapped_rows.correctable,remapped_rows.uncorrectable,remapped_rows.pending,"
    "remapped_rows.failure",
    "supported-clocks": "gpu_name,memory,graphics",
    "retired-pages": "gpu_uuid,retired_pages.address,retired_pages.timestamp,retired_pages.cause",
    "accounted-apps": "gpu_name,gpu_uuid,vgpu_instance,pid,gpu_utilization,mem_utilization,max_memory_usage,time",
}


@each
@every_machine
def test_the_lists_of_both_are_alike(both):
    for name, fields in LISTS.items():
        real, ours = both.ask(f"--query-{name}={fields}", "--format=csv")
        assert ours == real, name


# A card of which the driver gives no handle. It may give a handle and not even the name. Then nvidia-smi's exit code is
# 0 (--query-…), 15 (-L, -q) or 255 (the table). berth ends with 15 throughout.
WITHOUT_HANDLE = "nvmlDeviceGetHandleByIndex_v2@1=15"
# A card that is lost in use has a handle, and the driver still knows who it is.
WHO_IT_IS = {"HandleByIndex_v2", "HandleByIndex", "Name", "UUID", "Serial", "PciInfo_v3", "MinorNumber", "Brand"}
ALL_OF_IT = [
    [], ["-L"], ["-q"], ["-q", "-x"], ["-q", "-d", "POWER"], ["nvlink", "-s"],
    ["--query-gpu=index,name,power.draw", "--format=csv"],
    *[[f"--query-{name}={fields}", "--format=csv"] for name, fields in LISTS.items()],
]  # fmt: skip


@each
@pytest.mark.parametrize("machine", ["two cards"])
def test_a_lost_card_is_the_code_of_both_and_nothing_to_the_others(both):
    both.env["BERTH_FAKE_NVML_FAULTS"] = WITHOUT_HANDLE
    for words in ALL_OF_IT:
        (code, _), (own_code, ours) = both.ask(*words)
        assert (code, own_code) == (15, 15), (words, ours)
        if words == ["-L"]:
            continue  # it takes no -i
        (code, real), (own_code, ours) = both.ask(*words, "-i", "0")
        assert (code, own_code) == (0, 0), (words, ours)
        held(real, ours)


@each
@pytest.mark.parametrize("machine", ["two cards"])
def test_a_card_lost_in_use_is_the_code_of_neither(both):
    asked = re.findall(r"X\(nvmlDeviceGet(\w+)", (ROOT / "src/probe/nvml/api.h").read_text(encoding="utf-8"))
    lost = [f"nvmlDeviceGet{name}@1=15" for name in asked if name not in WHO_IT_IS]
    assert len(lost) > 100
    both.env["BERTH_FAKE_NVML_FAULTS"] = ";".join(lost)
    for words in ALL_OF_IT:
        (code, real), (own_code, ours) = both.ask(*words)
        assert (code, own_code) == (0, 0), (words, ours)
        if words == ["-L"] or words[:1] == ["nvlink"] or words[:1] and words[0].startswith("--query"):
            assert ours == real, words
        else:
            assert "GPU is lost" in real, words


# Between two cards topo asks a private table, as dmon and pmon do of every card. The real ones end with 255 there.
@each
@pytest.mark.parametrize(
    ("machine", "words"),
    [("one card", ["topo", "-m"]), ("instances", ["topo", "-m"]), ("one card", ["nvlink", "-s"]),
     ("eight cards", ["nvlink", "-s"])],
)  # fmt: skip
def test_the_affinity_and_the_links_of_both_are_the_same(both, words):
    real, ours = both.ask(*words)
    assert ours == real
    assert ("0-23,48-71" if words == ["topo", "-m"] else "Link 17: 26.562 GB/s") in ours[1]
