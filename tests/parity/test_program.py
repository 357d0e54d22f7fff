"""The program itself, `berth smi --replay CAPTURE`, against what the real machine's own CSV or XML says. The other
tests here ask the library behind it."""

import re
import xml.etree.ElementTree as ElementTree

import captures
import pytest
from captures import (
    all_columns, asked_columns, csv_rows, lines_by_path, name_of, phases, program, section, share, smi, xml_files,
)  # fmt: skip
from columns import ABSENCES, held_against_xml, unlike_the_real

needs_captures = pytest.mark.skipif(not captures.FOLDER.is_dir(), reason=captures.WHY_SKIPPED)
# The share of cells that are the real ones to the letter. The others moved, or -q has no line for them.
LEAST_ALIKE = 0.85
LEAST_READ_OF_XML = 0.25  # of the cells, those that hold a reading: much of a lost GPU is absent


def is_reading(cell):
    return cell.strip("[]") not in ABSENCES


@needs_captures
@pytest.mark.parametrize("case", phases(), ids=name_of)
def test_program_prints_the_cells_of_the_capture_s_own_csv(case, record_property):
    path, phase = case
    names, real = asked_columns(path, phase)
    done = program(path, f"--query-gpu={','.join(names)}", "--format=csv", phase=phase)
    assert (done.returncode, done.stderr) == (0, "")
    printed = csv_rows(done.stdout)
    assert printed[0] == real[0]
    assert len(printed) == len(real)
    unknown = set(smi(path, "--undetermined", ",".join(names), phase=phase).stdout.split())
    wrong, alike, readings = [], 0, 0
    for gpu, (ours, theirs) in enumerate(zip(printed[1:], real[1:])):
        wrong += unlike_the_real(names, ours, theirs, unknown, lines_by_path(path, phase, gpu))
        alike += sum(mine == right for mine, right in zip(ours, theirs, strict=True))
        readings += sum(map(is_reading, ours))
    cells = len(names) * (len(real) - 1)
    measured = f"{share(alike, cells)} cells alike, {readings} readings"
    record_property("measured", f"the program's --query-gpu of {name_of(case)}: {measured}")
    assert wrong == []
    assert alike >= LEAST_ALIKE * cells


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_program_prints_the_cells_that_the_xml_tells(path, record_property):
    names = all_columns()
    done = program(path, f"--query-gpu={','.join(names)}", "--format=csv")
    assert done.returncode == 0  # also of a card lost in use: the dump has its UUID
    assert done.stderr == ""
    header, *rows = csv_rows(done.stdout)
    assert [re.sub(r" \[.*", "", cell) for cell in header] == names
    held, wrong = held_against_xml(path, names, rows)
    readings, cells = sum(is_reading(cell) for row in rows for cell in row), len(names) * len(rows)
    measured = f"{share(held, cells)} cells are what its XML says, {readings} readings"
    record_property("measured", f"the program's --query-gpu of {name_of(path)}: {measured}")
    assert wrong == []
    assert readings >= LEAST_READ_OF_XML * cells


@needs_captures
@pytest.mark.parametrize("case", phases(), ids=name_of)
def test_program_lists_the_capture_s_own_compute_apps(case):
    path, phase = case
    command, output = section(path, phase, "query-compute-apps")
    fields = re.search(r"--query-compute-apps=(\S+)", command)[1]
    done = program(path, f"--query-compute-apps={fields}", "--format=csv", phase=phase)
    assert (done.returncode, done.stderr) == (0, "")
    real, printed = csv_rows(output), csv_rows(done.stdout)
    assert fields.startswith("timestamp,"), "each command prints when it was run itself: it is left out below"
    assert printed[0] == real[0]
    assert [row[1:] for row in printed[1:]] == [row[1:] for row in real[1:]]


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_program_lists_the_compute_apps_of_the_xml(path):
    done = program(path, "--query-compute-apps=gpu_uuid,pid,process_name,used_memory", "--format=csv")
    assert done.stderr == ""
    header, *printed = csv_rows(done.stdout)
    assert header == ["gpu_uuid", "pid", "process_name", "used_gpu_memory [MiB]"]
    assert printed == [
        [gpu.findtext("uuid"), *(process.findtext(tag) for tag in ("pid", "process_name", "used_memory"))]
        for gpu in ElementTree.parse(path).getroot().findall("gpu")
        for process in gpu.findall("processes/process_info")
        if "C" in process.findtext("type", "")
    ]
