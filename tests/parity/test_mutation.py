"""Nothing is copied through. One reading of a dump is changed, and exactly its cells change in every form that is
printed of it."""

import json
import re
import xml.etree.ElementTree as ElementTree

import captures
import pytest
from captures import all_columns, csv_rows, lines_with_paths, name_of, phases, section, smi, xml_files
from columns import ELEMENTS, held_against_xml

needs_captures = pytest.mark.skipif(not captures.FOLDER.is_dir(), reason=captures.WHY_SKIPPED)

# A line of -q by section and label, its element of -q -x, and the columns of --query-gpu for it.
READINGS = [
    ("Persistence Mode", "persistence_mode", {"persistence_mode"}),
    ("Serial Number", "serial", {"serial"}),
    ("VBIOS Version", "vbios_version", {"vbios_version"}),
    ("FB Memory Usage/Total", "fb_memory_usage/total", {"memory.total"}),
    ("FB Memory Usage/Used", "fb_memory_usage/used", {"memory.used"}),
    ("FB Memory Usage/Free", "fb_memory_usage/free", {"memory.free"}),
    ("FB Memory Usage/Reserved", "fb_memory_usage/reserved", {"memory.reserved"}),
    ("Utilization/GPU", "utilization/gpu_util", {"utilization.gpu"}),
    ("Utilization/Memory", "utilization/memory_util", {"utilization.memory"}),
    ("Temperature/GPU Current Temp", "temperature/gpu_temp", {"temperature.gpu"}),
    ("Temperature/Memory Current Temp", "temperature/memory_temp", {"temperature.memory"}),
    ("GPU Power Readings/Average Power Draw", "gpu_power_readings/average_power_draw", {
        "power.draw", "power.draw.average"}),
    ("GPU Power Readings/Instantaneous Power Draw", "gpu_power_readings/instant_power_draw", {
        "power.draw.instant"}),
    ("GPU Power Readings/Current Power Limit", "gpu_power_readings/current_power_limit", {"enforced.power.limit"}),
    ("GPU Power Readings/Requested Power Limit", "gpu_power_readings/requested_power_limit", {"power.limit"}),
    ("GPU Power Readings/Max Power Limit", "gpu_power_readings/max_power_limit", {"power.max_limit"}),
    ("Clocks/Graphics", "clocks/graphics_clock", {"clocks.current.graphics"}),
    ("Clocks/Memory", "clocks/mem_clock", {"clocks.current.memory"}),
    ("Max Clocks/SM", "max_clocks/sm_clock", {"clocks.max.sm"}),
    ("ECC Errors/Volatile/DRAM Correctable", "ecc_errors/volatile/dram_correctable", {
        "ecc.errors.corrected.volatile.dram", "ecc.errors.corrected.volatile.device_memory",
        "ecc.errors.corrected.volatile.total"}),
    ("ECC Errors/Aggregate/SRAM Uncorrectable Parity", "ecc_errors/aggregate/sram_uncorrectable_parity", {
        "ecc.errors.uncorrected.aggregate.sram.parity", "ecc.errors.uncorrected.aggregate.sram",
        "ecc.errors.uncorrected.aggregate.total"}),
    ("Remapped Rows/Correctable Error", "remapped_rows/remapped_row_corr", {"remapped_rows.correctable"}),
    ("Remapped Rows/Bank Remap Availability Histogram/Max", "remapped_rows/row_remapper_histogram/"
        "row_remapper_histogram_max", {"remapped_rows.histogram.max"}),
    ("Clocks Event Reasons Counters/SW Power Capping", "clocks_event_reasons_counters/"
        "clocks_event_reasons_counters_sw_power_cap", {"clocks_event_reasons_counters.sw_power_cap"}),
    ("PCI/GPU Link Info/Link Width/Current", "pci/pci_gpu_link_info/link_widths/current_link_width", {
        "pcie.link.width.current"}),
    ("Clocks Event Reasons/SW Thermal Slowdown",
        "clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown", {
        "clocks_event_reasons.sw_thermal_slowdown", "clocks_event_reasons.active"}),
    ("Performance State", "performance_state", {"pstate"}),
    ("Fan Speed", "fan_speed", {"fan.speed"}),
]  # fmt: skip
# What stands in the default table; the others must change nothing there.
IN_TABLE = {
    "FB Memory Usage/Used", "FB Memory Usage/Total", "Utilization/GPU", "Temperature/GPU Current Temp",
    "Performance State", "Persistence Mode", "Fan Speed", "GPU Power Readings/Current Power Limit",
}  # fmt: skip
OPPOSITES = {"Enabled": "Disabled", "Disabled": "Enabled", "Not Active": "Active", "Active": "Not Active",
             "Yes": "No", "No": "Yes"}  # fmt: skip
# Two lines of one reading, or a line that others are made from.
COUPLED = {"Current": "Device Current", "Device Current": "Current"}
SHAPES_OTHERS = {"Bus", "Device", "Domain", "Bus Id", "Product Architecture", "Index"}


def changed_value(value):
    """Another value of the same kind, or none where nothing in it can be counted up."""
    if value in OPPOSITES:
        return OPPOSITES[value]
    digits = list(re.finditer(r"\d", value))
    if not digits or value.startswith("Requested"):
        return None
    at = digits[-1].start() if "." not in value else digits[0].start()
    return value[:at] + str(int(value[at]) % 9 + 1) + value[at + 1 :]


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
    """What is printed of one dump, the cells of the first GPU."""

    def __init__(self, path, fields):
        self.query = smi(path, "-q").stdout.splitlines()
        self.table = smi(path).stdout
        self.xml = flat(ElementTree.fromstring(smi(path, "-q", "-x").stdout))
        self.json = leaves(json.loads(smi(path, "-q", "-j").stdout))
        header, first, *self.others = csv_rows(smi(path, f"--query-gpu={fields}", "--format=csv").stdout)
        assert len(header) == len(fields.split(",")), "a column is not known"
        self.csv = dict(zip(fields.split(","), first))


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


def assert_cells_change(before, after, columns, where):
    """That `columns` changed, and one line, element, value and (where the table has it) word of the first GPU."""
    assert difference(before.csv, after.csv) == columns & before.csv.keys(), where
    assert before.others == after.others, where
    assert len(difference(before.xml, after.xml)) == 1, where
    assert len(difference(before.json, after.json)) == 1, where
    assert sum(a != b for a, b in zip(before.query, after.query, strict=True)) == 1, where
    drawn = [(old, new) for old, new in zip(cells(before.table), cells(after.table), strict=True) if old != new]
    assert len(drawn) == (where in IN_TABLE or "power.draw" in columns), (where, drawn)


def columns_that_read(where, columns, average_power):
    """Those that a reading changes, on a chip with this average power."""
    if average_power == "N/A" and "Instant" in where:
        return columns | {"power.draw"}  # a chip that has no average shows the instant
    return columns


def fields_of(path, phase):
    return re.search(r"--query-gpu=(\S+)", section(path, phase, "query-gpu (csv")[0])[1]


@needs_captures
@pytest.mark.parametrize("case", phases(), ids=name_of)
def test_changed_reading_changes_exactly_its_cells_everywhere(case, tmp_path):
    text = whole_query(case)
    dump = tmp_path / "dump.txt"
    dump.write_text(text, encoding="utf-8")
    before = Forms(dump, fields_of(*case))
    lines = {where: (number, value) for number, where, value in lines_with_paths(text)}
    _, average_power = lines.get("GPU Power Readings/Average Power Draw", (0, "N/A"))
    tried = 0
    for where, _, columns in READINGS:
        number, value = lines.get(where, (0, ""))
        other = changed_value(value)
        if other is None:  # this machine has no such reading
            continue
        dump.write_text(with_line(text, number, other), encoding="utf-8")
        columns = columns_that_read(where, columns, average_power)
        assert_cells_change(before, Forms(dump, fields_of(*case)), columns, where)
        tried += 1
    assert tried >= 15


def sums_that_lack_a_part(gpu, element, columns):
    """Those of `columns` that stay unknown, another part of the sum being so: no sum of a part is shown."""
    other_part = element.replace("/dram_correctable", "/sram_correctable")
    if gpu.findtext(other_part) != "N/A":
        return set()
    return {name for name in columns if name.endswith(".total")}


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_changed_element_changes_exactly_its_cells_everywhere(path, tmp_path):
    tree = ElementTree.parse(path)
    first = next(tree.getroot().iter("gpu"))
    dump = tmp_path / "dump.xml"
    fields = max((fields_of(*case) for case in phases()), key=len)

    def forms():
        tree.write(dump, encoding="utf-8", xml_declaration=True)
        return Forms(dump, fields)

    before = forms()
    average_power = first.findtext("gpu_power_readings/average_power_draw", "N/A")
    tried = 0
    for where, element, columns in READINGS:
        value = first.findtext(element, "N/A")
        other = changed_value(value)
        if other is None:  # this machine has no such reading
            continue
        first.find(element).text = other
        columns = columns_that_read(where, columns, average_power) - sums_that_lack_a_part(first, element, columns)
        assert_cells_change(before, forms(), columns, where)
        first.find(element).text = value
        tried += 1
    assert tried >= 15


# Not readings but names and addresses, some of which others are made from.
IDENTITY = re.compile(r"/|pci/(?!pci_gpu_link_info)|platformInfo/|inforom_version/|serial|uuid|vbios_version")


def with_no_number_twice(gpu):
    """Gives each reading a number of its own: of two zeros, or two limits alike, nobody sees which was read."""
    places = sorted({where for where in ELEMENTS.values() if not IDENTITY.match(where)})
    for number, where in enumerate(places, start=1):
        element = gpu.find(where)
        text = "" if element is None else element.text or ""
        if re.fullmatch(r"\d+(\.\d+)?( ?\D+)?", text):
            element.text = re.sub(r"^\d+", str(number), text)
        elif text == "N/A" and where.startswith("module_power_readings/"):  # no capture has a module's power
            element.text = f"{number}.00 W"
    # Two lines of one reading (COUPLED, above).
    of_link = gpu.find("pci/pci_gpu_link_info/pcie_gen")
    of_link.find("current_link_gen").text = of_link.findtext("device_current_link_gen")


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_no_number_is_taken_for_another(path, tmp_path):
    tree = ElementTree.parse(path)
    for gpu in tree.getroot().iter("gpu"):
        with_no_number_twice(gpu)
    dump = tmp_path / "dump.xml"
    tree.write(dump, encoding="utf-8", xml_declaration=True)
    names = all_columns()
    rows = csv_rows(smi(dump, f"--query-gpu={','.join(names)}", "--format=csv,noheader").stdout)
    held, wrong = held_against_xml(dump, names, rows)
    assert wrong == []
    assert held == held_against_xml(path, names, rows)[0]


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_each_word_turned_round_is_the_cells_that_it_tells(path, tmp_path):
    """One element at a time: of two that say "No" nobody sees which was read."""
    tree = ElementTree.parse(path)
    first = tree.getroot().find("gpu")
    dump = tmp_path / "dump.xml"
    names = all_columns()
    tried = 0
    of_each_card = {where for where in ELEMENTS.values() if not where.startswith("/")}
    for where in sorted(of_each_card | {"clocks_event_reasons/clocks_event_reason_display_clocks_setting"}):
        value = first.findtext(where, "")
        if value not in OPPOSITES:
            continue
        first.find(where).text = OPPOSITES[value]
        tree.write(dump, encoding="utf-8", xml_declaration=True)
        rows = csv_rows(smi(dump, f"--query-gpu={','.join(names)}", "--format=csv,noheader").stdout)
        assert held_against_xml(dump, names, rows)[1] == [], where
        first.find(where).text = value
        tried += 1
    assert tried >= 10
