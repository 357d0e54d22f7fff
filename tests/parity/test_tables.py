"""The default table, -L, --version and pmon against what the vendor's tool printed on real machines.

Each capture has the table and, seconds later, the dump of -q. Readings that moved in between are set in the dump to
what the table shows. Everything else must follow from the dump, byte for byte."""

import re

import pytest
from captures import WHY_SKIPPED, capture_files, name_of, section, smi

PHASES = ["idle", "load"]


def each(test):
    """Runs `test` on every capture; one skip that says so where there are none."""
    files = capture_files()
    if not files:
        return pytest.mark.skip(reason=WHY_SKIPPED)(test)
    return pytest.mark.parametrize("capture", files, ids=name_of)(test)


def printed(capture, phase, title):
    """What the vendor's tool printed, without the empty lines behind it."""
    return section(capture, phase, title)[1].rstrip("\n") + "\n"


def answer(dump, *words, phase=None):
    done = smi(dump, *words, phase=phase)
    assert done.stdout, done.stderr
    return done.stdout


def replaced(dump, label, value):
    """The dump with the value behind `label` replaced wherever it is one."""
    pattern = rf"^(\s*{re.escape(label)}\s*: )(?!N/A).*$"
    return re.sub(pattern, lambda line: line[1] + value, dump, flags=re.M)


def with_readings_of(table, dump):
    """The dump as it would have been when the table was printed (machines with one card)."""
    lines = table.splitlines()
    sensors = next(line for line in lines if re.match(r"\|.{4}  .*/.*MiB /", line))
    power = re.search(r"(\d+)W /", sensors)[1]
    dump = replaced(dump, "Timestamp", lines[0].rstrip())
    dump = replaced(dump, "Average Power Draw", f"{power}.00 W")
    dump = replaced(dump, "Instantaneous Power Draw", f"{power}.00 W")
    dump = replaced(dump, "GPU Current Temp", re.search(r"(\d+)C", sensors)[1] + " C")
    dump = replaced(dump, "Performance State", re.search(r"P\d+", sensors)[0])
    fan = re.match(r"\|\s*(\d+)%", sensors)
    if fan:
        dump = replaced(dump, "Fan Speed", fan[1] + " %")
    load = re.search(r"\|\s+(\d+)%\s+\S+ \|$", sensors)
    if load:
        dump = re.sub(r"^(    Utilization\n        G[Pp][Uu]\s+: )\d+ %", rf"\g<1>{load[1]} %", dump, flags=re.M)
    return dump


@pytest.mark.parametrize("phase", PHASES)
@each
def test_the_table_is_drawn_byte_for_byte(capture, phase, tmp_path):
    table = printed(capture, phase, "nvidia-smi (default table)")
    dump = tmp_path / "dump.txt"
    wanted = with_readings_of(table, section(capture, phase, "query (-q)")[1])
    dump.write_text(wanted, encoding="utf-8")
    assert answer(dump) == table


@each
def test_cards_and_instances_are_listed_byte_for_byte(capture):
    listed = printed(capture, "capabilities", "list (-L)")
    drawn = answer(capture, "-L", phase="idle").splitlines()
    for ours, theirs in zip(drawn, listed.splitlines(), strict=False):
        # -q tells neither the UUID nor the profile of an instance.
        if not theirs.startswith("  MIG "):
            assert ours == theirs
    assert len(drawn) == listed.count("\n")


@each
def test_the_version_is_that_of_the_driver(capture):
    said = printed(capture, "capabilities", "version")
    keys = ["NVIDIA-SMI version", "DRIVER version", "CUDA Version"]
    drawn = answer(capture, "--version", phase="idle").splitlines()
    # The dump does not tell the library's own version.
    for key in keys:  # 610 writes "CUDA version"
        line = next(line for line in said.splitlines() if line.lower().startswith(key.lower()))
        assert line in drawn


@pytest.mark.parametrize("phase", PHASES)
@each
def test_pmon_is_its_own_first_round(capture, phase):
    theirs = printed(capture, phase, "pmon (per-process monitor)").splitlines()
    drawn = answer(capture, "pmon", "-c", "1", phase=phase).splitlines()
    assert len(drawn) > 2 and drawn == theirs[: len(drawn)]
    numbers = sum(cell.isdigit() for line in drawn[2:] for cell in line.split()[3:9])
    print(f"pmon of {name_of((capture, phase))}: {numbers} numbers alike")


@each
def test_nvlinks_and_affinities_are_the_real_ones(capture):
    assert answer(capture, "topo", "-m", phase="idle") == printed(
        capture, "capabilities", "topo -m"
    )
    links = printed(capture, "capabilities", "nvlink -s")
    assert answer(capture, "nvlink", "-s", phase="idle") == links


@pytest.mark.parametrize("phase", PHASES)
@each
def test_dmon_has_the_same_columns(capture, phase):
    theirs = printed(capture, phase, "dmon (per-device monitor").splitlines()
    drawn = answer(capture, "dmon", "-c", "1", phase=phase).splitlines()
    assert drawn[:2] == theirs[:2]
    assert len(drawn[2]) == len(theirs[2])
    # A column that the device does not have is "-" in both.
    absent = [column == "-" for column in theirs[2].split()]
    assert [column == "-" for column in drawn[2].split()] == absent
