"""Our nvidia-smi against the real one. A dump is read, and what is printed from it is compared. The other side is what
the real one printed on the same machine."""

import difflib
import json
import re
import xml.etree.ElementTree as ElementTree

import captures
import pytest
from captures import (
    all_columns, asked_columns, capture_files, csv_rows, lines_by_path, name_of, phases, section, share, smi, xml_files,
)  # fmt: skip
from columns import held_against_xml, is_not_in_xml, is_told_by_xml, unlike_the_real

needs_captures = pytest.mark.skipif(not captures.FOLDER.is_dir(), reason=captures.WHY_SKIPPED)
LEAST_COVERED = 0.93
LEAST_COVERED_OF_XML = 0.85  # older drivers among them, which print less than they answer
LEAST_HELD_OF_XML = 0.8  # a lost GPU and older drivers among them


def differing_lines(expected, printed):
    diff = difflib.unified_diff(expected, printed, lineterm="", n=0)
    return [line for line in diff if not line.startswith(("---", "+++", "@@"))]


@needs_captures
def test_there_are_captures_to_hold_against():
    assert len(phases()) >= 2
    assert len(xml_files()) >= 1


@needs_captures
@pytest.mark.parametrize("case", phases(), ids=name_of)
def test_query_is_printed_back_byte_for_byte(case, record_property):
    path, phase = case
    real = section(path, phase, "query (-q)")[1].rstrip("\n").splitlines()
    printed = smi(path, "-q", phase=phase).stdout.rstrip("\n").splitlines()
    wrong = differing_lines(real, printed)
    record_property("measured", f"-q of {name_of(case)}: {share(len(real) - len(wrong), len(real))} lines alike")
    assert wrong == []


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_xml_is_printed_back(path, record_property):
    """Byte for byte, but for what the collectors themselves changed: the domain's four digits and the
    empty lines between GPUs."""
    as_printed = path.read_text(encoding="utf-8")
    real = re.sub(r"(?<=[\">])0000:", "00000000:", as_printed).splitlines()
    printed = smi(path, "-q", "-x").stdout.splitlines()
    wrong = differing_lines([x for x in real if x], [x for x in printed if x])
    record_property("measured", f"-q -x of {name_of(path)}: {share(len(real) - len(wrong), len(real))} lines alike")
    assert wrong == []


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_json_is_the_tree_of_the_xml(path):
    def tree(element):
        if len(element) == 0:
            text = element.text or ""
            return text.strip() if "\n" in text else text
        found = {}
        for child in element:
            found.setdefault(child.tag, []).append(tree(child))
        return {tag: values for tag, values in found.items()}

    def plain(value):
        if isinstance(value, dict):
            return {
                key: [plain(one) for one in (inner if isinstance(inner, list) else [inner])]
                for key, inner in value.items()
                if key != "id"
            }
        return value

    of_xml = tree(ElementTree.fromstring(smi(path, "-q", "-x").stdout))
    of_json = plain(json.loads(smi(path, "-q", "-j").stdout)["nvidia_smi_log"])
    assert json.dumps(of_json).replace("{}", '""') == json.dumps(of_xml)


@needs_captures
@pytest.mark.parametrize("case", phases(), ids=name_of)
def test_every_cell_that_the_dump_determines_is_the_real_one(case, record_property):
    path, phase = case
    names, real = asked_columns(path, phase)
    fields = ",".join(names)
    printed = csv_rows(smi(path, f"--query-gpu={fields}", "--format=csv", phase=phase).stdout)
    assert printed[0] == real[0]
    assert len(printed) == len(real)
    unknown = set(smi(path, "--undetermined", fields, phase=phase).stdout.split())
    record_property("measured", f"--query-gpu of {name_of(case)}: {share(len(names) - len(unknown), len(names))} cells")
    assert len(names) - len(unknown) >= LEAST_COVERED * len(names)
    wrong = []
    for gpu, (ours, theirs) in enumerate(zip(printed[1:], real[1:])):
        wrong += unlike_the_real(names, ours, theirs, unknown, lines_by_path(path, phase, gpu))
    assert wrong == []


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_xml_of_a_node_determines_most_cells(path, record_property):
    names = all_columns()
    fields = ",".join(names)
    header, *rows = csv_rows(smi(path, f"--query-gpu={fields}", "--format=csv,nounits").stdout)
    assert [re.sub(r" \[.*", "", cell) for cell in header] == names, "what is not known is not determined"
    assert rows
    unknown = set(smi(path, "--undetermined", fields).stdout.split())
    assert unknown < set(names)
    covered = len(names) - len(unknown)
    record_property("measured", f"--query-gpu of {name_of(path)}: {share(covered, len(names))} cells")
    assert covered >= LEAST_COVERED_OF_XML * len(names), sorted(unknown)


@needs_captures
def test_each_column_is_told_by_the_xml_or_it_is_said_why_not():
    told = {name for name in all_columns() if is_told_by_xml(name)}
    untold = {name for name in all_columns() if is_not_in_xml(name)}
    assert told & untold == set()
    assert told | untold == set(all_columns())


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_every_cell_of_a_node_is_its_element_of_the_xml(path, record_property):
    names = all_columns()
    rows = csv_rows(smi(path, f"--query-gpu={','.join(names)}", "--format=csv,noheader").stdout)
    held, wrong = held_against_xml(path, names, rows)
    cells = len(names) * len(rows)
    record_property("measured", f"--query-gpu of {name_of(path)}: {share(held, cells)} cells are what its XML says")
    assert wrong == []
    assert held >= LEAST_HELD_OF_XML * cells


@needs_captures
@pytest.mark.parametrize("case", phases(), ids=name_of)
def test_compute_apps_are_the_real_ones(case):
    path, phase = case
    command, output = section(path, phase, "query-compute-apps")
    fields = re.search(r"--query-compute-apps=(\S+)", command)[1]
    real = csv_rows(output)
    printed = csv_rows(smi(path, f"--query-compute-apps={fields}", "--format=csv", phase=phase).stdout)
    assert printed[0] == real[0]
    # The timestamp has moved.
    assert [row[1:] for row in printed[1:]] == [row[1:] for row in real[1:]]


@needs_captures
@pytest.mark.parametrize("case", phases(), ids=name_of)
@pytest.mark.parametrize("query", ["query-retired-pages", "query-accounted-apps"])
def test_lists_are_the_real_ones(query, case):
    path, phase = case
    found = section(path, phase, query)
    if found is None:
        pytest.skip("the capture has no such query")
    fields = re.search(rf"--{query}=(\S+)", found[0])[1]
    real = csv_rows(found[1])
    printed = csv_rows(smi(path, f"--{query}={fields}", "--format=csv", phase=phase).stdout)
    assert printed[0] == real[0]
    assert [row[1:] for row in printed[1:]] == [row[1:] for row in real[1:]]
    print(f"--{query} of {name_of(case)}: {len(real) - 1} rows alike")


@needs_captures
@pytest.mark.parametrize("path", capture_files(), ids=name_of)
def test_help_has_every_field_of_the_real_one(path):
    real = captures.sections(path)["capabilities :: help-query-gpu"][1]
    ours = smi(path, "--help-query-gpu").stdout.splitlines()
    missing = [
        line
        for line in real.splitlines()
        if re.fullmatch(r'"[\w.]+"( or "[\w.]+")?', line)
        and line not in ours
        and 'clocks.max.sm" or "clocks.max.sm' not in line  # its own alias
        and "clocks_throttle_reasons" not in line
    ]
    assert missing == []


# --- faults --------------------------------------------------------------------------------------


def fault(name):
    path = captures.FOLDER / f"qx-{name}.xml"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    return path


@needs_captures
def test_lost_gpu_shows_in_its_row_alone():
    path = fault("gb200-lost")
    answer = smi(path, "--query-gpu=index,memory.used,utilization.gpu,temperature.gpu", "--format=csv,noheader")
    first, second = csv_rows(answer.stdout)
    assert second == ["1"] + ["[GPU is lost]"] * 3
    assert "lost" not in "".join(first)
    assert answer.returncode == 0  # the dump has its UUID: the driver still knew the card


@needs_captures
def test_ecc_errors_show():
    rows = csv_rows(
        smi(
            fault("gb200-ecc-injected"),
            "--query-gpu=ecc.errors.uncorrected.volatile.dram,ecc.errors.uncorrected.aggregate.dram,"
            "remapped_rows.uncorrectable,remapped_rows.failure",
            "--format=csv,noheader",
        ).stdout
    )
    assert rows[0] == ["5", "8", "1", "Yes"]
    assert len(rows) == 2


@needs_captures
def test_time_lost_to_throttling_shows():
    rows = csv_rows(
        smi(
            fault("gb200-throttle-counters"),
            "--query-gpu=clocks_event_reasons_counters.sw_power_cap",
            "--format=csv,noheader,nounits",
        ).stdout
    )
    assert rows[0] == ["39595"]
