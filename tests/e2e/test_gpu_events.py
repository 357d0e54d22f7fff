"""Errors that the driver tells by events. An ordinary user hears them, who cannot read the kernel log."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from aftermath import runs, show
from conftest import BERTH, FakeDriver, fake_library, many_devices, wait_until
from serving import Server
from test_gpu_fault import events, said, started, waits_for
from test_two_users import IS_ROOT, VIEWER, words_as


class HeardByAUser(FakeDriver):
    """A machine of three cards, used by somebody who may not read the kernel log."""

    def __init__(self, directory):
        super().__init__(directory, many_devices(3))
        # An ordinary user may not reach what root has built where only root may go.
        self.berth = shutil.copy(BERTH, directory)
        self.env["BERTH_NVML"] = str(shutil.copy(fake_library(), directory))
        self.told = directory / "told"
        self.told.write_text("", encoding="utf-8")
        self.env["BERTH_FAKE_NVML_EVENTS"] = str(self.told)
        if IS_ROOT:
            for path in (directory, *directory.iterdir()):
                os.chown(path, VIEWER, VIEWER)

    def command(self, *words):
        return [*(words_as(VIEWER) if IS_ROOT else []), str(self.berth), *map(str, words)]

    def tell(self, device, xid):
        with open(self.told, "a", encoding="utf-8") as told:
            told.write(f"{device} {xid}\n")


@pytest.fixture
def user():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-heard-"))
    yield HeardByAUser(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _nobody_reads_the_kernel_log():
    words = words_as(VIEWER) if IS_ROOT else []
    read = subprocess.run([*words, "dd", "if=/dev/kmsg", "count=1", "iflag=nonblock"],
                          capture_output=True, check=False)
    if read.returncode == 0:
        pytest.skip("an ordinary user may read the kernel log of this machine")


def test_a_run_is_told_of_an_error_of_its_device_and_goes_on(user):
    done = user.directory / "done"
    run = started(user, "--only", "1", "--", *waits_for(done))
    user.tell(0, 79)  # somebody else's device
    user.tell(1, 79)
    wait_until(lambda: "GPU 1: XID 79: it has fallen off the bus" in said(user), "the error is said")
    assert run.poll() is None
    done.touch()
    assert run.wait(timeout=30) == 0
    assert events(show(user)) == ["gpu_error"]


def test_the_job_gets_the_signal_that_was_asked_for(user):
    script = "trap 'exit 5' USR1; while :; do sleep 0.02; done"
    run = started(user, "--only", "1", "--on-gpu-fault", "signal", "--", "sh", "-c", script)
    user.tell(1, 48)
    assert run.wait(timeout=30) == 5
    assert events(show(user)) == ["gpu_error", "on_gpu_fault"]


def test_the_job_is_started_again_on_another_device(user):
    again, over = user.directory / "again", user.directory / "over"
    script = (
        f"if test -e {again}; then exit 0; fi; touch {again}; "
        f"until test -e {over}; do sleep 0.02; done; exit 7"
    )
    run = started(user, "--prefer", "1", "--retry-on", "gpu-fault", "--", "sh", "-c", script)
    user.tell(1, 95)
    wait_until(lambda: "gpu_error" in events(show(user)), "the error is recorded")
    over.touch()
    assert run.wait(timeout=60) == 0
    second, first = runs(user)["runs"]
    assert first["end"]["exit_code"] == 7 and second["retry_of"] == first["id"]
    assert first["given"]["devices"][0]["index"] == 1
    assert second["given"]["devices"][0]["index"] != 1


def test_an_error_told_by_its_number_has_its_words_in_the_history(user):
    server = Server(user)
    try:
        wait_until(lambda: server.get("/api/v1/events-log").status == 200, "there is a history")
        user.tell(1, 79)

        def kept():
            events = server.get("/api/v1/events-log").json["events"]
            return [event for event in events if event["kind"] == "xid"]

        [event] = wait_until(kept, "the error is in the history", 20)
        assert (event["code"], event["text"]) == ("79", "it has fallen off the bus")
        assert event["advice"] == "reboot; if it comes back, look at seating, power and cooling"
        titles = [one["title"] for one in server.get("/api/v1/timeline").json["spans"] if one["state"] == "xid"]
        assert titles == ["it has fallen off the bus"]
        said = user.run("history", "--since", "1h")
        assert "GPU 1 xid 79: it has fallen off the bus" in said.stdout, said.stdout + said.stderr
        told = json.loads(user.run("history", "--since", "1h", "--json").stdout)["events"]
        assert [one["text"] for one in told if one["kind"] == "xid"] == ["it has fallen off the bus"]
    finally:
        server.close()


def test_an_error_of_the_jobs_own_making_is_recorded_as_that(user):
    done = user.directory / "done"
    run = started(user, "--only", "1", "--", *waits_for(done))
    user.tell(1, 31)
    wait_until(lambda: events(show(user)) == ["job_error"], "the error is recorded")
    done.touch()
    assert run.wait(timeout=30) == 0
