"""The default table, -L, --version and pmon against what the vendor's tool printed on real machines.

Each capture has the table and, seconds later, the dump of -q. The readings that moved in between are
set in the dump to what the table shows; everything else must follow from the dump, byte for byte."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BERTH_BUILD", ROOT / "build/release")).resolve()
CAPTURES = pathlib.Path(os.environ.get("BERTH_CAPTURES", ROOT.parent / "shared/captures"))
FILES = sorted(CAPTURES.glob("linux-*.txt"))
PHASES = ["idle", "load"]
RULE = "#" * 80


def section(text, phase, title):
    """The output of the command whose heading is "# PHASE :: TITLE…"; nothing where there is none."""
    found = re.search(rf"^# {phase} :: {re.escape(title)}.*?\n# \$.*?\n{RULE}\n(.*?)(?:\n\n\n|\Z)",
                      text, re.S | re.M)
    return found[1] + "\n" if found else None


def each(test):
    """Runs `test` on every capture; one skip that says so where there are none."""
    if not FILES:
        return pytest.mark.skip(reason=f"no captures in {CAPTURES}")(test)
    return pytest.mark.parametrize("capture", FILES, ids=lambda path: path.stem)(test)


def answer(dump, phase, *words):
    done = subprocess.run(
        [BUILD / "tests/parity/smi_of_dump", dump, phase, "--", *words],
        capture_output=True, text=True, check=False,
    )
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
    text = capture.read_text(encoding="utf-8")
    table = section(text, phase, "nvidia-smi (default table)")
    dump = tmp_path / "dump.txt"
    dump.write_text(with_readings_of(table, section(text, phase, "query (-q)")), encoding="utf-8")
    drawn = answer(dump, "")
    # A capture ends each output without its last empty line.
    assert drawn.rstrip("\n") == table.rstrip("\n")


@each
def test_cards_and_instances_are_listed_byte_for_byte(capture):
    listed = section(capture.read_text(encoding="utf-8"), "capabilities", "list (-L)")
    drawn = answer(capture, "idle", "-L").splitlines()
    for ours, theirs in zip(drawn, listed.splitlines(), strict=False):
        # -q tells neither the UUID nor the profile of an instance.
        if not theirs.startswith("  MIG "):
            assert ours == theirs
    assert len(drawn) == listed.strip().count("\n") + 1


@each
def test_the_version_is_that_of_the_driver(capture):
    said = section(capture.read_text(encoding="utf-8"), "capabilities", "version")
    keys = ["NVIDIA-SMI version", "DRIVER version", "CUDA Version"]
    drawn = answer(capture, "idle", "--version").splitlines()
    # The dump does not tell the library's own version.
    for key in keys:
        line = next(line for line in said.splitlines() if line.startswith(key))
        assert line in drawn


@pytest.mark.parametrize("phase", PHASES)
@each
def test_pmon_has_the_same_processes(capture, phase):
    """Its utilisation columns are not in the dump; the rest of each line is."""

    def without_numbers(text):
        lines = text.splitlines()
        return lines[:2] + [line[:22] + line[64:] for line in lines[2:]]

    printed = section(capture.read_text(encoding="utf-8"), phase, "pmon (per-process monitor)")
    drawn = without_numbers(answer(capture, phase, "pmon", "-c", "1"))
    once = without_numbers(printed)[: len(drawn)]
    assert drawn == once


@pytest.mark.parametrize("phase", PHASES)
@each
def test_dmon_has_the_same_columns(capture, phase):
    printed = section(capture.read_text(encoding="utf-8"), phase, "dmon (per-device monitor").splitlines()
    drawn = answer(capture, phase, "dmon", "-c", "1").splitlines()
    assert drawn[:2] == printed[:2]
    assert len(drawn[2]) == len(printed[2])
    # A column that the device does not have is "-" in both.
    absent = [column == "-" for column in printed[2].split()]
    assert [column == "-" for column in drawn[2].split()] == absent
