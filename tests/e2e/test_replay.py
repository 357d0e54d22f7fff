"""Any view of a dump: `--replay FILE` of what nvidia-smi wrote on another machine. Each verb that looks at devices
shows it. What a view must show is read from the dump itself."""

import json
import os
import pathlib
import re
import shutil
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import ROOT, Machine
from test_top import terminal_of  # noqa: F401  a fixture

CAPTURES = pathlib.Path(os.environ.get("BERTH_CAPTURES") or ROOT.parent / "shared" / "captures")

QUERY = """
==============NVSMI LOG==============

Timestamp                                 : Thu Nov 21 18:31:40 2024
Driver Version                            : 535.129.03
CUDA Version                              : 12.2

Attached GPUs                             : 2
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA A10
    GPU UUID                              : GPU-11111111-2222-3333-4444-555555555555
    FB Memory Usage
        Total                             : 23028 MiB
        Reserved                          : 512 MiB
        Used                              : 7077 MiB
        Free                              : 15439 MiB
    Utilization
        Gpu                               : 73 %
    Temperature
        GPU Current Temp                  : 67 C
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 31415
            Type                          : C
            Name                          : python3
            Used GPU Memory               : 7070 MiB
GPU 00000000:AF:00.0
    Product Name                          : NVIDIA A10
    GPU UUID                              : GPU-66666666-7777-8888-9999-000000000000
    FB Memory Usage
        Total                             : 23028 MiB
        Used                              : 4 MiB
    Temperature
        GPU Current Temp                  : 26 C
    Processes                             : None
"""

XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <timestamp>Thu Nov 21 18:31:40 2024</timestamp><driver_version>550.54.15</driver_version>
  <cuda_version>12.4</cuda_version><attached_gpus>1</attached_gpus>
  <gpu id="00000000:65:00.0"><product_name>NVIDIA RTX A6000</product_name>
    <uuid>GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee</uuid>
    <fb_memory_usage><total>49140 MiB</total><used>12345 MiB</used><free>36000 MiB</free></fb_memory_usage>
    <temperature><gpu_temp>81 C</gpu_temp></temperature>
    <processes><process_info><pid>27182</pid><type>C</type><process_name>/opt/train</process_name>
      <used_memory>12000 MiB</used_memory></process_info></processes>
  </gpu></nvidia_smi_log>
"""


class Dump:
    """A dump and what it says: of each card its name, temperature, memory used in MiB, of processes their pids."""

    def __init__(self, words, text):
        self.words = words
        if text.lstrip().startswith("<?xml"):
            self.cards, self.pids = self.of_xml(text)
        else:
            self.cards, self.pids = self.of_query(text)
        assert self.cards, "the dump names no card"

    @staticmethod
    def number(text, unit):
        found = re.fullmatch(rf"(\d+) {unit}", (text or "").strip())
        return int(found[1]) if found else None

    def of_xml(self, text):
        root = ElementTree.fromstring(text.encode())
        cards = [
            (
                gpu.findtext("product_name").strip(),
                self.number(gpu.findtext("temperature/gpu_temp"), "C"),
                self.number(gpu.findtext("fb_memory_usage/used"), "MiB"),
            )
            for gpu in root.iter("gpu")
        ]
        return cards, [int(pid.text) for pid in root.iter("pid")]

    def of_query(self, text):
        cards = []
        for gpu in re.split(r"^GPU [0-9A-F]{8}:.*$", text, flags=re.M)[1:]:

            def value(pattern, gpu=gpu):
                found = re.search(pattern, gpu, re.M)
                return found[1].strip() if found else None

            cards.append((
                value(r"^    Product Name +: (.*)$"),
                self.number(value(r"^        GPU Current Temp +: (.*)$"), "C"),
                self.number(value(r"^    FB Memory Usage\n(?:        (?:Total|Reserved).*\n)+        Used +: (.*)$"), "MiB"),
            ))  # fmt: skip
        return cards, [int(pid) for pid in re.findall(r"^        Process ID +: (\d+)$", text, re.M)]

    @property
    def is_well(self):
        return all(None not in card for card in self.cards)


def captured():
    """Each dump of the captures: a file, or a file and which of its phases."""
    cases = []
    for path in sorted(CAPTURES.glob("*__*.txt")):
        for phase in ("idle", "load"):
            if f"# {phase} :: query (-q)" in path.read_text(encoding="utf-8", errors="replace"):
                cases.append(f"{path.name}#{phase}")
    return cases + [path.name for path in sorted(CAPTURES.glob("qx-*.xml"))]


def text_of(name):
    file, _, phase = name.partition("#")
    text = (CAPTURES / file).read_text(encoding="utf-8", errors="replace")
    if not phase:
        return text
    parts = text.split("#" * 80 + "\n")
    at = next(i for i, part in enumerate(parts) if part.startswith(f"# {phase} :: query (-q)"))
    return parts[at + 1]


@pytest.fixture(params=["query", "xml", *captured()])
def dump(request, tmp_path):
    if request.param in ("query", "xml"):
        text = QUERY if request.param == "query" else XML
        file = tmp_path / "dump"
        file.write_text(text, encoding="utf-8")
        return Dump(file, text)
    return Dump(f"{CAPTURES}/{request.param}", text_of(request.param))


@pytest.fixture
def nowhere(tmp_path):
    """A machine that has nothing of its own: what is shown is the dump's."""
    return Machine(tmp_path, sim=None)


def shown(machine, dump, *words, columns="220", aside=()):
    """`aside`: what is to be said on stderr, line by line."""
    done = machine.run(*words, "--replay", dump.words, env={"COLUMNS": columns, "LC_ALL": "C.UTF-8"})
    assert done.stdout and done.stderr.splitlines() == list(aside), done.stderr
    return done.stdout


def short(name):
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ")


@pytest.mark.parametrize("form", [["-q"], ["-q", "-x"]], ids=" ".join)
def test_a_dump_of_a_simulated_server_has_its_power(tmp_path, form):
    machine = Machine(tmp_path, sim="server-8xh100")
    dump = tmp_path / "dump"
    dump.write_text(machine.run("smi", *form).stdout, encoding="utf-8")
    rows = machine.run("--csv", "power_draw_milliwatts", "--replay", dump, env={"BERTH_SIM": None}).stdout.split()[1:]
    assert len(rows) == 8 and all(0 < int(row) <= 700_000 for row in rows), rows


def test_there_are_captures_to_show():
    if not captured():
        pytest.skip(f"no captures of real machines in {CAPTURES} (BERTH_CAPTURES names another folder)")


def test_status_shows_it(nowhere, dump):
    lines = shown(nowhere, dump).splitlines()
    for index, (name, degrees, _) in enumerate(dump.cards):
        [row] = [line for line in lines if re.match(rf" {{1,2}}{index} \S", line)]
        if degrees is not None:
            assert short(name) in row and f" {degrees}°C " in row
        else:
            assert "no longer answers" in row
    for pid in dump.pids:
        assert any(f" {pid} " in line for line in lines), pid


def test_status_as_csv_has_its_numbers(nowhere, dump):
    lost = [index for index, (_, degrees, _) in enumerate(dump.cards) if degrees is None]
    aside = [f"berth: GPU {index} was lost when this was written down" for index in lost]
    columns = "index,name,temperature_celsius,memory_used_bytes"
    rows = shown(nowhere, dump, "--csv", columns, aside=aside).splitlines()
    cards = [row.split(",") for row in rows[1:] if row and row[0].isdigit() and ":" not in row.split(",")[0]]
    told = [card for card in cards if "MIG" not in card[1]]
    assert len(told) == len(dump.cards)
    for card, (name, degrees, used) in zip(told, dump.cards):
        if degrees is not None:
            assert card[1:] == [name, str(degrees), str(used << 20)]


def test_ps_shows_its_processes(nowhere, dump):
    text = shown(nowhere, dump, "ps")
    if not dump.pids:
        assert "No process is on any device." in text
    assert [int(line.split()[1]) for line in text.splitlines() if re.match(r"\d+(:\d+/\d+)? +\d+ ", line)] == dump.pids


def test_health_names_every_card_of_it(nowhere, dump):
    rows = [line for line in shown(nowhere, dump, "health").splitlines() if re.match(r"   \d+  \S", line)]
    assert [row.split()[0] for row in rows] == [str(index) for index in range(len(dump.cards))]
    for row, (name, degrees, _) in zip(rows, dump.cards):
        assert name in row if degrees is not None else " failed " in row
    answer = json.loads(shown(nowhere, dump, "health", "--json"))
    cards = [one for one in answer["devices"] if one.get("kind") != "nvidia_mig"]
    assert len(cards) >= len(dump.cards)


def test_gpustat_prints_it(nowhere, dump):
    lines = shown(nowhere, dump, "gpustat", "--no-color", "-p").splitlines()[1:]
    assert len(lines) == len(dump.cards)
    for index, (line, (name, degrees, used)) in enumerate(zip(lines, dump.cards)):
        if degrees is None:
            assert line.startswith(f"[{index}] ((GPU is lost))")
        else:
            assert line.startswith(f"[{index}] {name} ")
            assert re.search(rf"\| *{degrees}°C, ", line) and re.search(rf"\| *{used} / *\d+ MB", line)
    for pid in dump.pids:
        assert f"/{pid}(" in "\n".join(lines)


def test_smi_draws_it(nowhere, dump):
    table = shown(nowhere, dump, "smi")
    for _, degrees, used in dump.cards:
        if degrees is not None:
            assert re.search(rf" {degrees}C  .* {used}MiB / ", table)
    for pid in dump.pids:
        assert re.search(rf"\|    \d .* {pid} ", table), pid


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_top_shows_it(nowhere, dump, terminal_of):  # noqa: F811
    terminal = terminal_of(nowhere, 200, 50)
    terminal.top("--replay", f"'{dump.words}'")
    name, degrees, _ = dump.cards[0]
    terminal.until(short(name), f"{degrees}°C", *(f" {pid} " for pid in dump.pids))


@pytest.fixture
def memory_alone(tmp_path):
    """As -q -d MEMORY writes it: nothing says who is on the cards."""
    lines = QUERY.splitlines(keepends=True)
    begins = [i for i, line in enumerate(lines) if re.match(r" {4}\S", line)] + [len(lines)]
    sections = dict(zip(begins, begins[1:]))
    wanted = [i for i, line in enumerate(lines) if line.startswith("    FB Memory Usage")]
    kept = [line for i, line in enumerate(lines) if not line.startswith(" ") or any(a <= i < sections[a] for a in wanted)]
    file = tmp_path / "memory.txt"
    file.write_text("".join(kept))
    return file


def test_of_a_dump_without_processes_nobody_is_said_to_be_there_or_not(nowhere, memory_alone):
    def ask(*words):
        return nowhere.run(*words, "--replay", memory_alone, env={"COLUMNS": "120"}).stdout

    assert ask("status", "--csv", "process_count,memory_unexplained_bytes,state").splitlines()[1:] == [",,unknown"] * 2
    [first, _] = json.loads(ask("status", "--json"))["devices"]
    assert first["process_count"] is None and first["why"]["process_count"] == "failed"
    told = "who is on GPU 0, 1 is not known"
    for words in ([], ["ps"], ["health"]):
        text = ask(*words)
        assert told in text, words
        assert "visible process" not in text and "No process is" not in text and "held by no" not in text, words
    assert "No running processes found" not in ask("smi")
    assert ask("smi", "-q").count("    Processes                             : N/A\n") == 2
    assert "(Not Supported)" in ask("gpustat")


def test_health_of_a_dump_without_processes_counts_no_memory_of_nobody(nowhere, memory_alone):
    answer = json.loads(nowhere.run("health", "--json", "--replay", memory_alone).stdout)
    assert [card["findings"] for card in answer["devices"]] == [[], []]


def written(tmp_path, content):
    file = tmp_path / "made"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("text", [QUERY, XML], ids=["query", "xml"])
@pytest.mark.parametrize("before", ["", "$ nvidia-smi -q\n"], ids=["alone", "prompt"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
def test_dumps_of_windows_and_of_terminals_are_read(nowhere, tmp_path, text, before, encoding):
    mark = "" if encoding == "utf-8-sig" else "\ufeff"
    whole = nowhere.run("status", "--json", "--replay", written(tmp_path, text.encode())).stdout
    done = nowhere.run("status", "--json", "--replay", written(tmp_path, (mark + before + text).encode(encoding)))
    assert (done.returncode, done.stderr, done.stdout) == (0, "", whole)


def test_tabs_are_indentation_and_lines_without_any_are_refused(nowhere, tmp_path):
    whole = nowhere.run("status", "--json", "--replay", written(tmp_path, QUERY.encode())).stdout
    tabs = written(tmp_path, QUERY.replace("    ", "\t").encode())
    assert nowhere.run("status", "--json", "--replay", tabs).stdout == whole
    done = nowhere.run("--replay", written(tmp_path, re.sub("^ +", "", QUERY, flags=re.M).encode()))
    assert done.returncode != 0 and done.stdout == ""
    assert "its lines have lost the spaces they began with" in done.stderr
    assert "nvidia-smi -q > FILE" in done.stderr


@pytest.mark.parametrize("content", [b"hello\n", b"\x1f\x8b\x08\x00", "héllo".encode("utf-16")], ids=["text", "gzip", "utf-16"])
def test_a_file_of_no_kind_is_told_which_kinds_there_are(nowhere, tmp_path, content):
    for words in ([], ["smi"], ["health"], ["gpustat"]):
        done = nowhere.run(*words, "--replay", written(tmp_path, content))
        said = done.stdout + done.stderr
        assert done.returncode != 0
        assert "it is none of the files that --replay reads" in said and "nvidia-smi -q -x" in said
        assert "json.exception" not in said and "Failed to initialize NVML" not in said
