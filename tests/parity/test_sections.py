"""-q -d SECTION of each machine against its own -q: a section asked for alone is the same lines."""

import re

import captures
import pytest
from captures import name_of, phases, section, smi

needs_captures = pytest.mark.skipif(not captures.FOLDER.is_dir(), reason=captures.WHY_SKIPPED)

# What nvidia-smi's manual and published output of -d name under each section, in the order of -q.
BLOCKS = {
    "MEMORY": ["FB Memory Usage", "BAR1 Memory Usage", "Conf Compute Protected Memory Usage"],
    "UTILIZATION": ["Utilization"],
    "ECC": ["ECC Mode", "ECC Errors"],
    "TEMPERATURE": ["Temperature"],
    "POWER": [
        "Power Readings", "GPU Power Readings", "GPU Memory Power Readings", "Module Power Readings", "EDPp Multiplier",
    ],
    "CLOCK": [
        "Clocks", "Applications Clocks", "Default Applications Clocks", "Deferred Clocks", "Max Clocks",
        "Max Customer Boost Clocks", "Clock Policy",
    ],
    "COMPUTE": ["Compute Mode"],
    "PIDS": ["Processes"],
    "PERFORMANCE": [
        "Performance State", "Clocks Event Reasons", "Clocks Event Reasons Counters", "Sparse Operation Mode",
    ],
    "PAGE_RETIREMENT": ["Retired Pages"],
    "ACCOUNTING": ["Accounting Mode", "Accounting Mode Buffer Size"],
    "ENCODER_STATS": ["Encoder Stats"],
    "FBC_STATS": ["FBC Stats"],
    "VOLTAGE": ["Voltage"],
    "ROW_REMAPPER": ["Remapped Rows"],
    "RESET_STATUS": ["GPU Reset Status"],
    "GSP_FIRMWARE_VERSION": ["GSP Firmware Version"],
    "POWER_SMOOTHING": ["Power Smoothing"],
    "POWER_PROFILES": ["Workload Power Profiles"],
    "SUPPORTED_GPU_TARGET_TEMP": [],
    "SUPPORTED_CLOCKS": [],
}  # fmt: skip
# Lines that -q leaves out and -d adds.
ONLY_BY_SECTION = re.compile(r".* Samples|Supported (Clocks|GPU_TARGET_TEMP)|Accounted Processes")


def heading_and_blocks(text):
    """The lines before the first GPU, and of each GPU its blocks [(name, lines)]."""
    heading, gpus = [], []
    for line in text.rstrip("\n").splitlines():
        if re.match(r"GPU [0-9A-F]{8}:", line):
            gpus.append((line, []))
        elif not gpus:
            heading.append(line)
        elif re.match(r"    \S", line):
            gpus[-1][1].append((line.strip().partition(" :")[0].strip(), [line]))
        elif line.strip():
            gpus[-1][1][-1][1].append(line)
    return heading, gpus


@needs_captures
@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("case", phases(), ids=name_of)
def test_a_section_alone_is_its_lines_of_the_whole(case, name):
    path, phase = case
    heading, whole = heading_and_blocks(section(path, phase, "query (-q)")[1])
    answer = smi(path, "-q", "-d", name, phase=phase).stdout
    assert answer.endswith("\n\n")
    alone_heading, alone = heading_and_blocks(answer)
    assert alone_heading == heading
    assert [gpu for gpu, _ in alone] == [gpu for gpu, _ in whole]
    for (_, mine), (_, real) in zip(alone, whole):
        same = [(block, lines) for block, lines in mine if not ONLY_BY_SECTION.fullmatch(block)]
        assert same == [(block, lines) for block, lines in real if block in BLOCKS[name]]


@needs_captures
@pytest.mark.parametrize("case", phases(), ids=name_of)
def test_each_section_adds_the_samples_that_it_has(case):
    path, phase = case
    added = {
        name: [
            block
            for _, blocks in heading_and_blocks(smi(path, "-q", "-d", name, phase=phase).stdout)[1]
            for block, _ in blocks
            if ONLY_BY_SECTION.fullmatch(block)
        ]
        for name in BLOCKS
    }
    assert {name: blocks for name, blocks in added.items() if blocks} == {
        "UTILIZATION": [f"{what} Utilization Samples" for what in ("GPU", "Memory", "ENC", "DEC", "JPG", "OFA")],
        "POWER": ["Power Samples"],
        "CLOCK": ["SM Clock Samples", "Memory Clock Samples"],
        "SUPPORTED_GPU_TARGET_TEMP": ["Supported GPU_TARGET_TEMP"],
        "SUPPORTED_CLOCKS": ["Supported Clocks"],
        "ACCOUNTING": ["Accounted Processes"],
    }
