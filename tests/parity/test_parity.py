"""Our nvidia-smi against the real one: a dump is read, and what is printed from it is compared with
what the real one printed on the same machine."""

import difflib
import json
import re
import xml.etree.ElementTree as ElementTree

import captures
import pytest
from captures import capture_files, csv_rows, name_of, phases, section, smi, xml_files

needs_captures = pytest.mark.skipif(not captures.FOLDER.is_dir(), reason=captures.WHY_SKIPPED)
LEAST_COVERED = 0.93
LEAST_COVERED_OF_XML = 0.85  # older drivers among them, which print less than they answer

# The dump and the CSV beside it were taken a moment apart: these may have moved in between.
MOVING = re.compile(
    r"timestamp|utilization\.|temperature\.(gpu|memory)|power\.draw|clocks\.current\.|memory\.(used|free)"
    r"|clocks_event_reasons\.(active|gpu_idle|sw_power_cap)|clocks_event_reasons_counters\."
    r"|encoder\.stats\.|pstate|fan\.speed|pcie\.link\.gen\.(gpu)?current"
)


def shape(cell):
    """What stays of a cell when its numbers move."""
    return re.sub(r"\d+(\.\d+)?|Not Active|Active", "#", cell)


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)"


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
    command, output = section(path, phase, "query-gpu (csv")
    fields = re.search(r"--query-gpu=(\S+)", command)[1]
    real = csv_rows(output)
    printed = csv_rows(smi(path, f"--query-gpu={fields}", "--format=csv", phase=phase).stdout)
    assert printed[0] == real[0]
    assert len(printed) == len(real)
    unknown = set(smi(path, "--undetermined", fields, phase=phase).stdout.split())
    names = fields.split(",")
    record_property("measured", f"--query-gpu of {name_of(case)}: {share(len(names) - len(unknown), len(names))} cells")
    assert len(names) - len(unknown) >= LEAST_COVERED * len(names)
    wrong = []
    for ours, theirs in zip(printed[1:], real[1:]):
        for name, mine, right in zip(names, ours, theirs):
            moved = MOVING.match(name) and shape(mine) == shape(right)
            if mine != right and name not in unknown and not moved:
                wrong.append(f"{name}: {mine}, real: {right}")
    assert wrong == []


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_xml_of_a_node_determines_most_cells(path, record_property):
    """Of all columns that the vendor's tool was asked for on the machines that were captured."""
    asked = [re.search(r"--query-gpu=(\S+)", section(*case, "query-gpu (csv")[0])[1] for case in phases()]
    names = sorted({name for fields in asked for name in fields.split(",")})
    fields = ",".join(names)
    header, *rows = csv_rows(smi(path, f"--query-gpu={fields}", "--format=csv,nounits").stdout)
    assert [re.sub(r" \[.*", "", cell) for cell in header] == names, "what is not known is not determined"
    assert rows
    unknown = set(smi(path, "--undetermined", fields).stdout.split())
    assert unknown < set(names)
    covered = len(names) - len(unknown)
    record_property("measured", f"--query-gpu of {name_of(path)}: {share(covered, len(names))} cells")
    assert covered >= LEAST_COVERED_OF_XML * len(names), sorted(unknown)


# Where in -q -x stands what a column of --query-gpu prints.
ELEMENTS = {
    "name": "product_name",
    "display_active": "display_active",
    "persistence_mode": "persistence_mode",
    "accounting.mode": "accounting_mode",
    "accounting.buffer_size": "accounting_mode_buffer_size",
    "mig.mode.current": "mig_mode/current_mig",
    "mig.mode.pending": "mig_mode/pending_mig",
    "serial": "serial",
    "uuid": "uuid",
    "vbios_version": "vbios_version",
    "inforom.img": "inforom_version/img_version",
    "inforom.ecc": "inforom_version/ecc_object",
    "pci.bus_id": "pci/pci_bus_id",
    "pcie.link.gen.max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "pcie.link.gen.current": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "pcie.link.width.max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "pcie.link.width.current": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "fan.speed": "fan_speed",
    "pstate": "performance_state",
    "clocks_event_reasons.gpu_idle": "clocks_event_reasons/clocks_event_reason_gpu_idle",
    "clocks_event_reasons.sw_power_cap": "clocks_event_reasons/clocks_event_reason_sw_power_cap",
    "clocks_event_reasons.hw_slowdown": "clocks_event_reasons/clocks_event_reason_hw_slowdown",
    "clocks_event_reasons.sw_thermal_slowdown": "clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown",
    "memory.total": "fb_memory_usage/total",
    "memory.reserved": "fb_memory_usage/reserved",
    "memory.used": "fb_memory_usage/used",
    "memory.free": "fb_memory_usage/free",
    "compute_mode": "compute_mode",
    "utilization.gpu": "utilization/gpu_util",
    "utilization.memory": "utilization/memory_util",
    "utilization.encoder": "utilization/encoder_util",
    "utilization.decoder": "utilization/decoder_util",
    "utilization.jpeg": "utilization/jpeg_util",
    "utilization.ofa": "utilization/ofa_util",
    "encoder.stats.sessionCount": "encoder_stats/session_count",
    "ecc.mode.current": "ecc_mode/current_ecc",
    "ecc.mode.pending": "ecc_mode/pending_ecc",
    "ecc.errors.corrected.volatile.dram": "ecc_errors/volatile/dram_correctable",
    "ecc.errors.uncorrected.volatile.dram": "ecc_errors/volatile/dram_uncorrectable",
    "ecc.errors.corrected.aggregate.dram": "ecc_errors/aggregate/dram_correctable",
    "ecc.errors.uncorrected.aggregate.dram": "ecc_errors/aggregate/dram_uncorrectable",
    "remapped_rows.correctable": "remapped_rows/remapped_row_corr",
    "remapped_rows.uncorrectable": "remapped_rows/remapped_row_unc",
    "remapped_rows.pending": "remapped_rows/remapped_row_pending",
    "remapped_rows.failure": "remapped_rows/remapped_row_failure",
    "temperature.gpu": "temperature/gpu_temp",
    "temperature.gpu.tlimit": "temperature/gpu_temp_tlimit",
    "temperature.memory": "temperature/memory_temp",
    "power.draw.average": "gpu_power_readings/average_power_draw",
    "power.draw.instant": "gpu_power_readings/instant_power_draw",
    "power.limit": "gpu_power_readings/requested_power_limit",
    "enforced.power.limit": "gpu_power_readings/current_power_limit",
    "power.default_limit": "gpu_power_readings/default_power_limit",
    "power.min_limit": "gpu_power_readings/min_power_limit",
    "power.max_limit": "gpu_power_readings/max_power_limit",
    "clocks.current.graphics": "clocks/graphics_clock",
    "clocks.current.sm": "clocks/sm_clock",
    "clocks.current.memory": "clocks/mem_clock",
    "clocks.current.video": "clocks/video_clock",
    "clocks.max.graphics": "max_clocks/graphics_clock",
    "clocks.max.sm": "max_clocks/sm_clock",
    "clocks.max.memory": "max_clocks/mem_clock",
}


def same_value(cell, text):
    """Whether a cell says what an element says: CSV leaves some units out and puts absence in brackets."""
    text = text.strip()
    bare = re.sub(r"^(\d+)x$| C$", r"\1", text)
    return cell in (text, bare, f"[{text}]")


@needs_captures
@pytest.mark.parametrize("path", xml_files(), ids=name_of)
def test_every_cell_of_a_node_is_its_element_of_the_xml(path, record_property):
    answer = smi(path, f"--query-gpu={','.join(ELEMENTS)}", "--format=csv,noheader")
    gpus = list(ElementTree.parse(path).getroot().iter("gpu"))
    rows = csv_rows(answer.stdout)
    assert len(rows) == len(gpus)
    checked, wrong = 0, []
    for gpu, row in zip(gpus, rows):
        for (column, where), cell in zip(ELEMENTS.items(), row, strict=True):
            text = gpu.findtext(where)
            if column == "pci.bus_id":  # the collectors cut the domain to four digits
                text = re.sub(r"^0000:", "00000000:", text)
            if text is None:  # an older driver's dump: nothing to hold it to
                continue
            checked += 1
            if not same_value(cell, text):
                wrong.append(f"{gpu.get('id')} {column}: {cell}, the element: {text}")
    record_property("measured", f"--query-gpu of {name_of(path)}: {checked} cells are their elements of the XML")
    assert wrong == []
    assert checked >= 50 * len(gpus)


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
    assert answer.returncode == 15


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
