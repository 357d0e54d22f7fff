"""A directory service (LDAP, NIS) that does not answer must hold nobody up. The number is shown instead of the name,
and that is said."""

import os
import subprocess

import pytest

from conftest import BUILD, children, end, ends_within_patience, many_devices, wait_until

LIBRARY = BUILD / "fakes/preload/libslow_directory.so"
STRANGER = 54321  # in no /etc/passwd

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="a process of a user who is in no /etc/passwd: only root can make one"
)


@pytest.fixture
def stranger():
    as_stranger = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
    process = subprocess.Popen([*as_stranger, "sleep", "60"])
    wait_until(lambda: os.stat(f"/proc/{process.pid}").st_uid == STRANGER, "it has become a stranger")
    yield process
    end(process)


def behind_a_slow_directory(driver_of, stranger):
    played = many_devices(2)
    played["gpu_processes"] = [
        {"device": played["devices"][1]["id"], "pid": stranger.pid, "type": "C", "memory_bytes": 1 << 30}
    ]
    driver = driver_of(played)
    driver.env |= {"LD_PRELOAD": str(LIBRARY), "BERTH_FAKE_ASKED": str(driver.directory / "asked")}
    return driver


@needs_root
def test_status_shows_the_number_in_time_and_says_why(driver_of, stranger):
    driver = behind_a_slow_directory(driver_of, stranger)
    with ends_within_patience("the directory never answers"):
        done = driver.run("status")
    assert (driver.directory / "asked").exists(), "nobody asked the directory: nothing was tested"
    assert done.returncode == 0, done.stderr
    assert str(STRANGER) in done.stdout and "sleep 60" in done.stdout, done.stdout
    assert "name" in done.stdout and "no answer" in " ".join(done.stdout.split()), done.stdout
    assert driver.run("pick", timeout=30).stdout == "0\n"
    seen = driver.status_json()
    assert any(f"user {STRANGER}" in problem["message"] for problem in seen["problems"]), seen["problems"]


@needs_root
def test_one_that_cannot_even_be_killed_holds_nobody_up(driver_of, stranger):
    driver = behind_a_slow_directory(driver_of, stranger)
    driver.env["BERTH_FAKE_UNKILLABLE"] = "1"
    process = driver.start("status")
    try:
        probe = wait_until(lambda: children(process.pid), "the probe process has started", 3)[0]
        with ends_within_patience("the directory never answers, and who asks it cannot be ended"):
            out, _ = process.communicate(timeout=60)
        assert os.path.exists(f"/proc/{probe}"), "the probe was ended: nothing was tested"
        assert str(STRANGER) in out, out
    finally:
        end(process)
        for pid in stuck_probes(driver):
            os.kill(pid, 9)


def stuck_probes(driver):
    mark = f"BERTH_FAKE_ASKED={driver.env['BERTH_FAKE_ASKED']}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as environment:
                if mark in environment.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            continue
    return found
