"""Nothing is copied through: one reading of a dump is changed, and exactly its cells change in every
form that is printed of it."""

import json
import re
import xml.etree.ElementTree as ElementTree

import captures
import pytest
from captures import csv_rows, name_of, phases, section, smi

needs_captures = pytest.mark.skipif(not captures.FOLDER.is_dir(), reason=captures.WHY_SKIPPED)

# A line of -q by section and label, and the columns of --query-gpu that read it.
READINGS = [
    ("Persistence Mode", {"persistence_mode"}),
    ("Serial Number", {"serial"}),
    ("VBIOS Version", {"vbios_version"}),
    ("FB Memory Usage/Total", {"memory.total"}),
    ("FB Memory Usage/Used", {"memory.used"}),
    ("FB Memory Usage/Free", {"memory.free"}),
    ("FB Memory Usage/Reserved", {"memory.reserved"}),
    ("Utilization/GPU", {"utilization.gpu"}),
    ("Utilization/Memory", {"utilization.memory"}),
    ("Temperature/GPU Current Temp", {"temperature.gpu"}),
    ("Temperature/Memory Current Temp", {"temperature.memory"}),
    ("GPU Power Readings/Average Power Draw", {"power.draw", "power.draw.average"}),
    ("GPU Power Readings/Instantaneous Power Draw", {"power.draw.instant"}),
    ("GPU Power Readings/Current Power Limit", {"enforced.power.limit"}),
    ("GPU Power Readings/Requested Power Limit", {"power.limit"}),
    ("GPU Power Readings/Max Power Limit", {"power.max_limit"}),
    ("Clocks/Graphics", {"clocks.current.graphics"}),
    ("Clocks/Memory", {"clocks.current.memory"}),
    ("Max Clocks/SM", {"clocks.max.sm"}),
    ("ECC Errors/Volatile/DRAM Correctable", {
        "ecc.errors.corrected.volatile.dram", "ecc.errors.corrected.volatile.device_memory",
        "ecc.errors.corrected.volatile.total"}),
    ("ECC Errors/Aggregate/SRAM Uncorrectable Parity", {
        "ecc.errors.uncorrected.aggregate.sram.parity", "ecc.errors.uncorrected.aggregate.sram",
        "ecc.errors.uncorrected.aggregate.total"}),
    ("Remapped Rows/Correctable Error", {"remapped_rows.correctable"}),
    ("Remapped Rows/Bank Remap Availability Histogram/Max", {"remapped_rows.histogram.max"}),
    ("Clocks Event Reasons Counters/SW Power Capping", {"clocks_event_reasons_counters.sw_power_cap"}),
    ("PCI/GPU Link Info/Link Width/Current", {"pcie.link.width.current"}),
    ("Clocks Event Reasons/SW Thermal Slowdown", {
        "clocks_event_reasons.sw_thermal_slowdown", "clocks_event_reasons.active"}),
    ("Performance State", {"pstate"}),
    ("Fan Speed", {"fan.speed"}),
]  # fmt: skip
# What stands in the default table; the others must change nothing there.
IN_TABLE = {
    "FB Memory Usage/Used", "FB Memory Usage/Total", "Utilization/GPU", "Temperature/GPU Current Temp",
    "Performance State", "Persistence Mode", "Fan Speed", "GPU Power Readings/Current Power Limit",
}  # fmt: skip
# Two lines of one reading, or a line that others are made from.
COUPLED = {"Current": "Device Current", "Device Current": "Current"}
SHAPES_OTHERS = {"Bus", "Device", "Domain", "Bus Id", "Product Architecture", "Index"}


def changed_value(value):
    """Another value of the same kind, or none where nothing in it can be counted up."""
    words = {"Enabled": "Disabled", "Disabled": "Enabled", "Not Active": "Active", "Active": "Not Active",
             "Yes": "No", "No": "Yes"}  # fmt: skip
    if value in words:
        return words[value]
    digits = list(re.finditer(r"\d", value))
    if not digits or value.startswith("Requested"):
        return None
    at = digits[-1].start() if "." not in value else digits[0].start()
    return value[:at] + str(int(value[at]) % 9 + 1) + value[at + 1 :]


def lines_with_paths(text):
    """[(line number, path, value)] of the first GPU's lines."""
    open_names, found, inside = [], [], False
    for number, line in enumerate(text.splitlines()):
        if line.startswith("GPU 0"):
            inside = not found
            continue
        if not inside or not line.strip():
            continue
        depth = (len(line) - len(line.lstrip())) // 4
        label, colon, value = line.partition(":")
        del open_names[depth - 1 :]
        open_names.append(label.strip())
        if colon:
            found.append((number, "/".join(open_names), value.strip()))
    return found


def label_says_nothing(lines, where):
    return lines.get(where, (0, "N/A"))[1] == "N/A"


def with_line(text, number, value):
    lines = text.splitlines(keepends=True)
    label, _, _ = lines[number].partition(":")
    lines[number] = f"{label}: {value}\n"
    return "".join(lines)


def flat(element, path=""):
    found = {}
    for position, child in enumerate(element):
        here = f"{path}/{child.tag}[{position}]"
        found[here] = (child.text or "").strip()
        found.update(flat(child, here))
    return found


def leaves(value, path=""):
    if isinstance(value, dict):
        return {k: v for key, inner in value.items() for k, v in leaves(inner, f"{path}/{key}").items()}
    if isinstance(value, list):
        return {k: v for i, inner in enumerate(value) for k, v in leaves(inner, f"{path}[{i}]").items()}
    return {path: value}


def difference(before, after):
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


class Forms:
    """What is printed of one dump."""

    def __init__(self, path, fields):
        self.query = smi(path, "-q").stdout.splitlines()
        self.table = smi(path).stdout
        self.xml = flat(ElementTree.fromstring(smi(path, "-q", "-x").stdout))
        self.json = leaves(json.loads(smi(path, "-q", "-j").stdout))
        rows = csv_rows(smi(path, f"--query-gpu={fields}", "--format=csv").stdout)
        self.csv = dict(zip(fields.split(","), rows[1]))


def whole_query(case):
    path, phase = case
    return section(path, phase, "query (-q)")[1]


@needs_captures
@pytest.mark.parametrize("case", phases(), ids=name_of)
def test_changed_line_of_the_dump_is_the_changed_line_of_the_print(case, tmp_path):
    text = whole_query(case)
    dump = tmp_path / "dump.txt"
    tried = 0
    for number, path, value in lines_with_paths(text):
        label = path.split("/")[-1]
        other = changed_value(value)
        if other is None or label in SHAPES_OTHERS or path.startswith("Processes"):
            continue
        dump.write_text(with_line(text, number, other), encoding="utf-8")
        printed = smi(dump, "-q").stdout.splitlines()
        changed = [new.strip() for old, new in zip(text.splitlines(), printed) if old != new]
        names = {line.partition(":")[0].strip() for line in changed}
        assert names <= {label, COUPLED.get(label, label)}, path
        if label not in COUPLED:  # of two lines for one reading the first may hide the second
            assert [line.partition(":")[2].strip() for line in changed] == [other], path
        tried += 1
    assert tried > 80


def cells(table):
    """Each word of the default table between its lines; the date above it is none."""
    return re.findall(r"[^\s|/+]+", table.partition("\n")[2])


@needs_captures
@pytest.mark.parametrize("case", phases()[:4], ids=name_of)
def test_changed_reading_changes_exactly_its_cells_everywhere(case, tmp_path):
    path, phase = case
    fields = re.search(r"--query-gpu=(\S+)", section(path, phase, "query-gpu (csv")[0])[1]
    text = whole_query(case)
    dump = tmp_path / "dump.txt"
    dump.write_text(text, encoding="utf-8")
    before = Forms(dump, fields)
    lines = {where: (number, value) for number, where, value in lines_with_paths(text)}
    tried = 0
    for where, columns in READINGS:
        number, value = lines.get(where, (0, ""))
        other = changed_value(value)
        if other is None:  # this machine has no such reading
            continue
        dump.write_text(with_line(text, number, other), encoding="utf-8")
        after = Forms(dump, fields)
        if label_says_nothing(lines, "GPU Power Readings/Average Power Draw") and "Instant" in where:
            columns = columns | {"power.draw"}  # a chip that has no average shows the instant
        assert difference(before.csv, after.csv) == columns & before.csv.keys(), where
        assert len(difference(before.xml, after.xml)) == 1, where
        assert len(difference(before.json, after.json)) == 1, where
        assert sum(a != b for a, b in zip(before.query, after.query)) == 1, where
        drawn = [(old, new) for old, new in zip(cells(before.table), cells(after.table)) if old != new]
        assert len(cells(before.table)) == len(cells(after.table)), where
        assert len(drawn) == (where in IN_TABLE or "power.draw" in columns), (where, drawn)
        tried += 1
    assert tried >= 15
