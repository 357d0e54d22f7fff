"""Dumps of real machines with something wrong with them, as every surface tells them.

They are not shipped: BERTH_CAPTURES names their folder, as for tests/parity.
"""

import json
import os
import pathlib

import pytest

FOLDER = pathlib.Path(
    os.environ.get("BERTH_CAPTURES") or pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "captures"
)
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no captures of real machines in {FOLDER} (BERTH_CAPTURES names another folder)"
)


def asked(machine, capture, *words):
    return machine.run(*words, "--replay", str(FOLDER / capture), env={"COLUMNS": "120", "BERTH_NVML": "/nonexistent"})


def codes(done):
    """Each card's state and findings."""
    cards = json.loads(done.stdout)["devices"]
    return [(card["state"], [finding["code"] for finding in card["findings"]]) for card in cards]


ROW_AND_ERRORS = ("failed", ["row_remap_failed", "ecc_uncorrected", "rows_remapped"])


@pytest.mark.parametrize(
    ("capture", "code", "found"),
    [
        ("qx-gb200-ecc-injected.xml", 2, [ROW_AND_ERRORS, ("ok", [])]),
        ("qx-gb200-lost.xml", 2, [ROW_AND_ERRORS, ("failed", ["lost"])]),
        ("qx-gb200-throttle-counters.xml", 0, [("ok", []), ("ok", [])]),
        ("qx-t4.xml", 0, [("notice", ["pcie_width"])]),  # an idle card may narrow its link
    ],
)
def test_health_finds_what_is_wrong_and_nothing_else(machine, capture, code, found):
    done = asked(machine, capture, "health", "--json")
    assert done.returncode == code, done.stdout + done.stderr
    assert codes(done) == found


def test_errors_without_a_total_are_told_as_at_least(machine):
    text = asked(machine, "qx-gb200-ecc-injected.xml", "health").stdout
    assert "at least 5 memory errors were not corrected" in text


@pytest.mark.parametrize(
    ("capture", "lines"),
    [
        ("qx-gb200-ecc-injected.xml", ["failed (first of 2): a broken row of memory could not be replaced"]),
        ("qx-gb200-lost.xml", ["failed (first of 2): a broken row", "no longer answers the driver"]),
        ("qx-gb200-throttle-counters.xml", ["0 GB200", "1 GB200"]),
    ],
)
def test_status_says_it_under_the_card(machine, capture, lines):
    done = asked(machine, capture, "status")
    assert done.returncode == 0, done.stderr
    for line in lines:
        assert line in done.stdout
    assert ("failed" in done.stdout) == ("throttle" not in capture)


@pytest.mark.parametrize(
    ("capture", "rows", "code"),
    [
        ("qx-gb200-ecc-injected.xml", ["63C P0 618W / 1000W", "63C P0 618W / 1000W"], 0),
        ("qx-gb200-lost.xml", ["63C P0 618W / 1000W", "ERR! P0 ERR! / 1000W"], 0),
        ("qx-gb200-throttle-counters.xml", ["36C P0 145W / 1000W", "36C P0 145W / 1000W"], 0),
    ],
)
def test_the_table_of_nvidia_smi_has_its_row(machine, capture, rows, code):
    done = asked(machine, capture, "smi")
    assert done.returncode == code, done.stdout
    printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert [line.split(" | ")[0].removeprefix("| N/A ") for line in printed if line.startswith("| N/A")] == rows
