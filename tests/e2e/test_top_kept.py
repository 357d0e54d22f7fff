"""What `berth top` remembers from one time to the next, what it tells of the host, and other servers beside it."""

import json
import os
import re
import shutil

import pytest
from conftest import BERTH, FakeDriver, many_devices, wait_until
from serving import Server
from test_join import free_port
from test_top import PROMPT, busy_machine, terminal_of  # noqa: F401  (terminal_of is a fixture)
from test_top_shown import head, left, pids_in

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

BY_DEVICE = "GPU▲"


def file_of(machine):
    return machine.directory / "state" / "berth" / "top"


def sorted_by_device(screen):
    return BY_DEVICE in head(screen)


def not_by_device(screen):
    return "COMMAND" in screen and not sorted_by_device(screen)


def test_what_was_changed_is_so_the_next_time(machine, terminal_of):  # noqa: F811
    terminal = terminal_of(machine, 120, 40)
    terminal.top()
    terminal.until("alice", BY_DEVICE)
    terminal.type("s")
    terminal.until(not_by_device)
    left(terminal)
    text = wait_until(lambda: file_of(machine).exists() and file_of(machine).read_text(), "it is written down")
    assert re.search(r"^sort = utilization\b", text, re.MULTILINE) and "theme" not in text
    assert file_of(machine).stat().st_mode & 0o777 == 0o600
    terminal.top()
    assert not sorted_by_device(terminal.until("alice", "COMMAND"))
    left(terminal)
    terminal.top("-s", "device")
    assert sorted_by_device(terminal.until("alice", "COMMAND")), "what is typed counts before"
    left(terminal)
    assert file_of(machine).read_text() == text, "what was typed once is remembered"


@pytest.mark.parametrize("text", [b"sort = nosuch\ntheme = pink\n\xff\xfe\x00", b"", b"x" * 100_000])
def test_a_broken_file_is_as_if_there_were_none(machine, terminal_of, text):  # noqa: F811
    file_of(machine).parent.mkdir(parents=True)
    file_of(machine).write_bytes(text)
    terminal = terminal_of(machine, 120, 40)
    terminal.top()
    assert sorted_by_device(terminal.until("alice", "COMMAND"))
    left(terminal)
    assert file_of(machine).read_bytes() == text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_anothers_settings_are_neither_read_nor_written(machine, terminal_of):  # noqa: F811
    somebody = 4711
    file_of(machine).parent.mkdir(parents=True)
    file_of(machine).write_text("sort = pid\n")
    for path in (file_of(machine).parent, file_of(machine)):
        os.chown(path, somebody, somebody)
    terminal = terminal_of(machine, 120, 40)
    terminal.top()
    assert sorted_by_device(terminal.until("alice", "COMMAND"))
    terminal.type("t")
    terminal.type("s")
    terminal.until(not_by_device)
    left(terminal)
    assert file_of(machine).read_text() == "sort = pid\n"
    assert file_of(machine).stat().st_uid == somebody


def test_the_first_line_tells_of_the_host(tmp_path, terminal_of):  # noqa: F811
    terminal = terminal_of(FakeDriver(tmp_path, many_devices(2)), 200, 40)
    terminal.top()
    screen = terminal.until(lambda text: re.search(r"CPU +\d+%", text), "load ")
    first = screen.splitlines()[next(at for at, line in enumerate(screen.splitlines()) if "load " in line)]
    assert re.search(r"memory +[\d.]+/[\d.]+[GT]  load \d+\.\d", first), first


def test_a_simulated_server_has_no_host_of_its_own(machine, terminal_of):  # noqa: F811
    terminal = terminal_of(machine, 200, 40)
    terminal.top()
    assert "load " not in terminal.until("SIMULATED", "alice").splitlines()[0]


def test_the_host_and_the_mean_of_its_devices_have_charts(tmp_path, machine, terminal_of):  # noqa: F811
    terminal = terminal_of(FakeDriver(tmp_path, many_devices(2)), 140, 40)
    terminal.top()
    terminal.until(lambda text: re.search(r"CPU +\d+%", text))
    terminal.type("H")
    terminal.until("all devices, busy", "all devices, memory", "host memory", "host load",
                   lambda text: re.search(r"host CPU +\d+%", text))  # fmt: skip
    terminal.press("Escape")
    assert "host CPU" not in terminal.until("COMMAND")
    simulated = terminal_of(machine, 140, 40)
    simulated.top()
    simulated.until("SIMULATED", "alice")
    simulated.type("H")
    assert "host CPU" not in simulated.until("all devices, busy", "nothing is known of this host")


def test_fahrenheit_is_kept(machine, terminal_of):  # noqa: F811
    terminal = terminal_of(machine, 120, 40)
    terminal.top()
    terminal.until("°C", "alice")
    terminal.type("F")
    terminal.until("°F", lambda text: "°C" not in text)
    left(terminal)
    terminal.top()
    assert "°C" not in terminal.until("°F", "alice")


@pytest.mark.parametrize(("presses", "title"), [(5, "encoder"), (6, "decoder"), (7, "fan"), (8, "SM clock")])
def test_each_reading_can_be_charted(machine, terminal_of, presses, title):  # noqa: F811
    terminal = terminal_of(machine, 120, 50)
    terminal.top()
    terminal.until("alice", "temp")
    terminal.type("m" * presses)
    terminal.until(lambda text: len(re.findall(rf"\b{title}\b", text)) >= 4)


def test_all_readings_of_a_device_are_in_its_panel(machine, terminal_of):  # noqa: F811
    [first, second] = json.loads(machine.run("status", "--json").stdout)["devices"][:2]
    terminal = terminal_of(machine, 120, 90)
    terminal.top()
    terminal.until("COMMAND")
    terminal.type("d")
    screen = terminal.until("All readings of the device", first["uuid"])
    for key in ("performance_state", "compute_mode", "persistence_mode", "clock_memory_megahertz", "vbios_version"):
        assert re.search(rf"^{key} +\S", screen, re.MULTILINE), key
    terminal.press("Right")
    terminal.until(second["uuid"])


def test_to_read_only_ends_nothing(tmp_path, terminal_of):  # noqa: F811
    terminal = terminal_of(FakeDriver(tmp_path, busy_machine([os.getpid()])), 120, 40)
    terminal.top("--read-only")
    terminal.until(f" {os.getpid()} ")
    for keys in ("kt", "z"):
        terminal.type(keys)
        assert "y/n" not in terminal.until("--read-only: nothing is changed")


def test_a_column_is_sorted_by_that_others_sort_by_too(machine, terminal_of):  # noqa: F811
    terminal = terminal_of(machine, 160, 40)
    terminal.top("-s", "host-memory,encoder")
    assert {"MEM▼", "ENC%▼"} <= set(head(terminal.until("COMMAND", "ENC%▼")).split())


def test_processes_are_filtered_by_what_they_do(machine, terminal_of):  # noqa: F811
    snapshot = json.loads(machine.run("status", "--json").stdout)
    snapshot["gpu_processes"][0]["type"] = "G"
    draws = snapshot["gpu_processes"][0]["pid"]
    file = machine.directory / "seen.json"
    file.write_text(json.dumps(snapshot), encoding="utf-8")
    terminal = terminal_of(machine, 120, 40)
    terminal.top("--replay", file)
    everybody = pids_in(terminal.until("COMMAND", lambda text: pids_in(text)))
    terminal.type("T")
    assert pids_in(terminal.until("compute only")) == [pid for pid in everybody if pid != draws]
    terminal.type("T")
    assert pids_in(terminal.until("graphics only")) == [draws]
    terminal.press("Escape")
    assert pids_in(terminal.until(lambda text: "graphics only" not in text)) == everybody


def test_join_shows_several_servers_a_line_each(tmp_path, machine, machine_of, terminal_of):  # noqa: F811
    other = Server(machine_of("lab-4"))
    try:
        terminal = terminal_of(machine, 120, 40)
        nobody = free_port()
        joined = f"there=http://127.0.0.1:{other.port},gone=http://127.0.0.1:{nobody}"
        terminal.shell(f"{BERTH} top -d 500ms --join {joined}")
        lines = [re.compile(rf"^{name}\b", re.MULTILINE).search for name in ("there", "gone")]
        screen = terminal.until(*lines, "FREE")
        assert "refused" in screen, "why one is missing is not said"
        terminal.press("q")
        terminal.until(lambda text: text.rstrip().endswith(PROMPT))
    finally:
        other.close()
    assert "--join" in machine.run("top", "--help").stdout
