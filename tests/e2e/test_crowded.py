"""A thousand processes on eight cards: every surface that lists processes lists them all, in time."""

import json
import re
import shutil
import time

import pytest
from conftest import many_devices
from test_bad_luck import run_within
from test_top import terminal_of  # noqa: F401 - a fixture

PROCESSES = 1000
FIRST_PID = 3_000_000  # above what Linux gives out by itself: nobody's
PIDS = [str(pid) for pid in range(FIRST_PID, FIRST_PID + PROCESSES)]


@pytest.fixture
def crowded(driver_of):
    snapshot = many_devices(8)
    each = PROCESSES // len(snapshot["devices"])
    memory = 64 << 20
    for card in snapshot["devices"]:
        first = FIRST_PID + card["index"] * each
        snapshot["gpu_processes"] += [
            {"device": card["id"], "pid": pid, "type": "C", "memory_used_bytes": memory}
            for pid in range(first, first + each)
        ]
        card["memory_used_bytes"] = each * memory
        card["memory_free_bytes"] = card["memory_total_bytes"] - each * memory
        card["process_count"] = each
    return driver_of(snapshot)


def answered(machine, *words):
    done = run_within(machine, *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def pids_in(text):
    return sorted(re.findall(r"(?<!\d)300\d{4}(?!\d)", text))


def test_ps_has_a_row_for_each(crowded):
    assert pids_in(answered(crowded, "ps")) == PIDS
    rows = json.loads(answered(crowded, "ps", "--json"))["processes"]
    assert sorted(str(row["pid"] if "pid" in row else row["process"]["pid"]) for row in rows) == PIDS


def test_nvidia_smi_has_a_row_for_each(crowded):
    table = answered(crowded, "smi")
    assert pids_in(table) == PIDS
    rows = [line for line in table.splitlines() if pids_in(line)]
    assert len({len(row) for row in rows}) == 1, "the rows are of one width"
    cells = answered(crowded, "smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader")
    assert sorted(cells.splitlines()) == [f"{pid}, 64 MiB" for pid in PIDS]
    assert pids_in(answered(crowded, "smi", "pmon", "-c", "1")) == PIDS
    assert len(pids_in(answered(crowded, "smi", "-q", "-x"))) == PROCESSES


def test_status_counts_them_on_their_cards(crowded):
    seen = json.loads(answered(crowded, "status", "--json"))
    assert [card["process_count"] for card in seen["devices"]] == [PROCESSES // 8] * 8
    assert sorted(str(process["pid"]) for process in seen["gpu_processes"]) == PIDS


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_top_scrolls_to_the_last_of_them_and_back(crowded, terminal_of):  # noqa: F811
    terminal = terminal_of(crowded, 110, 40)
    terminal.top()
    first = set(pids_in(terminal.until(lambda screen: pids_in(screen))))
    assert 0 < len(first) < PROCESSES
    terminal.press("End")
    last = set(pids_in(terminal.until(lambda screen: pids_in(screen) and not first & set(pids_in(screen)))))
    terminal.press("Home")
    terminal.until(lambda screen: set(pids_in(screen)) == first)
    seen = set(first)
    deadline = time.monotonic() + 20
    while not last <= seen and time.monotonic() < deadline:
        shown = terminal.screen()
        terminal.press("PageDown")
        terminal.until(lambda screen, before=shown: screen != before)
        seen |= set(pids_in(terminal.screen()))
    assert seen == set(map(str, PIDS)), f"{PROCESSES - len(seen)} were never on the screen"
    terminal.type("q")
