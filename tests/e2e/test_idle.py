"""How long a device has been idle, by the strongest evidence. That is the driver's history, its utilisation now, or its
process list. A window longer than the history is watched from now on."""

import json
import subprocess
import time

import pytest

from conftest import end, ends_within_patience, many_devices, scenario


def with_history(history, busy=0.0):
    """One card whose driver remembers this: pairs of age in milliseconds and percent; None: nothing
    can be asked of it."""
    played = many_devices(1)
    device = played["devices"][0]
    device["utilization_gpu_percent"] = busy
    device["utilization_history_ms_percent"] = history
    if history is None:
        device.setdefault("why", {})["utilization_history_ms_percent"] = "unsupported"
    return played


SHORT = [[age, 0.0] for age in range(100, 2600, 100)]
LONG = [[age, 0.0] for age in range(1000, 20_000, 1000)]


@pytest.fixture
def computing():
    """A process that is on the card and does nothing there."""
    process = subprocess.Popen(["sleep", "60"])
    yield {"pid": process.pid, "type": "C", "memory_bytes": 1 << 20}
    end(process)


def use(played, process):
    played["gpu_processes"] = [process | {"device": played["devices"][0]["id"]}]
    return played


def said(done):
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize(
    ("history", "evidence"),
    [
        (LONG, "idle by the driver's samples"),
        ([], "idle: no process, nothing in the driver's history"),
        (None, "idle by its utilisation now"),
    ],
    ids=["long history", "empty history", "no history"],
)
def test_an_idle_machine_costs_no_wait_and_the_evidence_is_named(driver_of, history, evidence):
    driver = driver_of(with_history(history))
    # `pick` does not wait: what has to be watched first is refused.
    picked = driver.run("pick", "--idle-for", "5s")
    assert (picked.stdout, picked.returncode) == ("0\n", 0), picked.stderr
    assert evidence in said(driver.run("pick", "--idle-for", "5s", "--dry-run"))


def test_a_history_too_short_is_said_with_how_long_it_reaches(driver_of):
    done = driver_of(with_history(SHORT)).run("pick", "--idle-for", "5s")
    assert done.returncode == 124
    assert "idle, but watched for 2s of the 5s asked for" in said(done)


def test_a_history_too_short_is_watched_from_now_on_for_as_long_as_asked(driver_of):
    driver = driver_of(with_history(SHORT))
    begin = time.monotonic()
    done = driver.run("run", "--wait=40s", "--idle-for", "4s", "--", "echo", "ran", timeout=60)
    took = time.monotonic() - begin
    assert (done.stdout, done.returncode) == ("ran\n", 0), done.stderr
    assert took >= 3.9, f"{took:.1f} s"
    assert "idle, but watched for 2s of the 4s asked for" in said(done)


def test_without_history_a_process_on_the_card_is_watched_from_nothing(driver_of, computing):
    driver = driver_of(use(with_history(None), computing))
    refused = driver.run("pick", "--memory", "1G", "--idle-for", "3s")
    assert refused.returncode == 124
    assert "idle, but watched for 0s of the 3s asked for" in said(refused)
    begin = time.monotonic()
    done = driver.run("run", "--wait=40s", "--memory", "1G", "--idle-for", "3s", "--", "echo", "ran",
                      timeout=60)
    assert done.stdout == "ran\n", done.stderr
    assert time.monotonic() - begin >= 2.9


def used_devices(snapshot):
    return {process["device"] for process in snapshot["gpu_processes"]}


@pytest.mark.parametrize("played", [False, True], ids=["simulated", "fake driver"])
def test_instances_without_a_process_are_idle_by_their_process_list(machine_of, driver_of, played):
    """The driver tells neither utilisation nor history of an instance."""
    host = scenario("h100-mig")
    instances = {device["id"]: device for device in host["devices"] if device["kind"] == "nvidia-mig"}
    assert not [one for one in instances.values() if one["utilization_history_ms_percent"]]
    idle = set(instances) - used_devices(host)
    assert 2 <= len(idle) < len(instances)
    machine = driver_of(host) if played else machine_of("h100-mig")
    answer = json.loads(machine.run("pick", "--idle-for", "5s", "--json").stdout)
    [chosen] = answer["chosen"]
    others = answer["available"]
    assert chosen["id"] in idle and answer["satisfied"]
    assert {chosen["id"], *(one["id"] for one in others)} == idle
    for one in [chosen, *others]:
        assert "idle by its process list" in one["reason"], one
    refused = {one["id"]: one["rule"] for one in answer["refused"]}
    assert refused == {device["id"]: "divided" if device["id"] not in instances else "in_use"
                       for device in host["devices"] if device["id"] not in idle}  # fmt: skip
    picked = machine.run("pick", "--idle-for", "5s")
    assert (picked.stdout, picked.returncode) == (chosen["id"] + "\n", 0), picked.stderr


@pytest.mark.parametrize("played", [False, True], ids=["simulated", "fake driver"])
def test_cards_without_history_are_idle_by_their_utilisation_now(machine_of, driver_of, played):
    host = scenario("no-history")
    why = [device["why"]["utilization_history_ms_percent"] for device in host["devices"]]
    assert set(why) == {"unsupported"}
    machine = driver_of(host) if played else machine_of("no-history")
    answer = json.loads(machine.run("pick", "--idle-for", "5s", "--json").stdout)
    [idle] = [device for device in host["devices"] if device["id"] not in used_devices(host)]
    [chosen] = answer["chosen"]
    assert (chosen["id"], answer["available"]) == (idle["id"], [])
    assert "idle by its utilisation now" in chosen["reason"]
    assert [one["rule"] for one in answer["refused"]] == ["in_use"]
    assert machine.run("pick", "--idle-for", "5s").stdout == f"{idle['index']}\n"


def test_a_busy_moment_inside_the_window_refuses_and_one_before_it_does_not(driver_of):
    driver = driver_of(with_history([*LONG[:3], [3500, 60.0], *LONG[3:]]))
    done = driver.run("pick", "--idle-for", "5s")
    assert done.returncode == 124
    assert "60 % busy 3s ago, asked to be idle for 5s" in said(done)
    assert driver.run("pick", "--idle-for", "2s").stdout == "0\n"


def test_busy_now_without_history_refuses(driver_of, computing):
    driver = driver_of(use(with_history(None, busy=40.0), computing))
    done = driver.run("pick", "--memory", "1G", "--idle-for", "5s")
    assert done.returncode == 124
    assert "40 % busy now" in said(done)


def test_a_history_that_cannot_be_read_is_no_evidence_of_anything(driver_of):
    driver = driver_of(with_history(LONG), faults="nvmlDeviceGetSamples=999")
    done = driver.run("pick", "--idle-for", "5s")
    assert done.returncode == 124
    assert "reading its utilisation history failed" in said(done)


def test_it_gives_up_when_the_patience_is_shorter_than_the_window(driver_of):
    driver = driver_of(with_history(SHORT))
    with ends_within_patience("the window is an hour"):
        done = driver.run("run", "--wait=1s", "--idle-for", "1h", "--", "true")
    assert done.returncode == 124
    assert "of the 1h" in said(done)
