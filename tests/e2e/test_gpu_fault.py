"""A run whose device goes wrong under it. It tests what is said and recorded, what the job feels, and when it is
started again."""

import json
import os
import pathlib
import signal
import time

import pytest
from aftermath import leases, poll, processes, runs, show, waits_for
from conftest import FakeDriver, Terminal, many_devices, side_by_side, wait_until

LOST = "it fell off the bus and answers nobody"


class Losing(FakeDriver):
    """A machine whose devices get lost when a test, or the job itself, says so."""

    def __init__(self, directory, devices=3):
        self.faults = directory / "faults"
        self.faults.write_text("", encoding="utf-8")
        super().__init__(directory, many_devices(devices), faults=f"@{self.faults}")

    def lose(self, device):
        self.faults.write_text(f"*@{device}=15", encoding="utf-8")

    def job(self, *then):
        """A job that loses its first device under itself, and ends well on any other."""
        mark = self.directory / "lost"
        script = (
            f"if test -e {mark}; then {'; '.join(then) or 'echo well'}; exit 0; fi; "
            f'echo "*@$CUDA_VISIBLE_DEVICES=15" > {self.faults}; touch {mark}; exit 7'
        )
        return ["sh", "-c", script]


@pytest.fixture
def losing(tmp_path):
    return Losing(tmp_path)


def samples_of(record):
    file = pathlib.Path(record["directory"], "samples")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line)["t"] for line in lines if line.startswith('{"t"')]


def started(machine, *words, **how):
    """A run that has been sampled, with its stderr in a file."""
    said = open(machine.directory / "said", "w", encoding="utf-8")
    run = machine.start("run", *words, stderr=said, **how)
    wait_until(lambda: any(samples_of(one) for one in runs(machine)["runs"]), "a first sample")
    return run


def wait_for_samples(machine, further, timeout=60):
    """Waits for so many more than there are; how many there were."""
    seen = len(samples_of(show(machine)))
    wait_until(lambda: len(samples_of(show(machine))) >= seen + further, f"{further} further samples", timeout)
    return seen


def said(machine):
    return " ".join((machine.directory / "said").read_text(encoding="utf-8").split())


def events(record):
    return [event["kind"] for event in record["events"]]


def test_a_lost_device_is_said_once_within_two_samples_and_recorded(losing):
    done = losing.directory / "done"
    run = started(losing, "--only", "1", "--", *waits_for(done))
    lost_at = time.time() * 1000
    losing.lose(1)
    wait_until(lambda: f"GPU 1: {LOST}" in said(losing), "the loss is said")
    wait_for_samples(losing, 2)
    assert run.poll() is None, "the job feels nothing of it"
    done.touch()
    assert run.wait(timeout=30) == 0
    record = show(losing)
    assert events(record) == ["gpu_lost"]
    told_at = record["events"][0]["at_unix_ms"]
    assert len([at for at in samples_of(record) if lost_at <= at <= told_at]) <= 2
    assert said(losing).count(LOST) == 1
    assert f"GPU 1: {LOST}" in losing.run("show").stdout


def test_a_device_that_the_driver_lists_no_longer_is_lost(losing):
    done = losing.directory / "done"
    run = started(losing, "--only", "2", "--", *waits_for(done))
    losing.faults.write_text("nvmlDeviceGetCount_v2=lie:2", encoding="utf-8")
    wait_until(lambda: "GPU 2: the driver lists it no longer" in said(losing), "the loss is said")
    assert run.poll() is None
    done.touch()
    assert run.wait(timeout=30) == 0
    assert events(show(losing)) == ["gpu_lost"]


def test_a_device_that_nobody_was_given_may_get_lost(losing):
    done = losing.directory / "done"
    run = started(losing, "--only", "1", "--on-gpu-fault", "stop", "--", *waits_for(done))
    losing.lose(0)
    wait_for_samples(losing, 2)
    done.touch()
    assert run.wait(timeout=30) == 0
    assert events(show(losing)) == []


def test_a_device_that_hangs_is_told_and_the_others_are_sampled_on(losing):
    """The driver answers nobody for one of two cards, for ten seconds and more."""
    done = losing.directory / "done"
    run = started(losing, "--only", "0,1", "-n", "2", "--", *waits_for(done))
    losing.faults.write_text("*@0=hang", encoding="utf-8")
    wait_until(lambda: "GPU 0: it does not answer" in said(losing), "the silence is said", 30)
    seen = wait_for_samples(losing, 3)
    assert run.poll() is None, "the job feels nothing of it"
    done.touch()
    assert run.wait(timeout=60) == 0
    record = show(losing)
    assert events(record) == ["gpu_failed"]
    samples = pathlib.Path(record["directory"], "samples").read_text(encoding="utf-8").splitlines()
    hung, well = [json.loads(line)["d"] for line in samples if line.startswith('{"t"')][seen + 1]
    assert set(hung) == {"failed"} and "failed" not in well


# --- the whole driver ------------------------------------------------------------------------------


def silent_driver(machine, what="*@*=999"):
    """The library answers nothing but errors from now on, also at its start."""
    machine.faults.write_text(what, encoding="utf-8")


def a_driver_fails_for_a_while(folder, devices, code):
    machine = Losing(folder, devices)
    done = machine.directory / "done"
    run = started(machine, "--only", "0", "--on-gpu-fault", "stop", "--", *waits_for(done))
    silent_driver(machine, f"*@*={code}")
    wait_until(lambda: "the driver no longer answers for GPU 0: " in said(machine), "it is said")
    wait_for_samples(machine, 3)
    silent_driver(machine, "")
    wait_until(lambda: "the driver answers again, after" in said(machine), "its return is said")
    assert run.poll() is None, "a few looks prove nothing: the job feels nothing of it"
    done.touch()
    assert run.wait(timeout=60) == 0
    record = show(machine)
    assert events(record) == ["driver_silent", "driver_answers"]
    assert said(machine).count("no longer answers") == 1
    missing = record["end"]["summary"]["devices"][0]["not_read_milliseconds"]
    assert 2000 <= missing <= 30_000
    assert f"; for {missing // 1000}s of that the devices were not read" in said(machine)
    assert f"for {missing // 1000}s: no figure here is of that time" in machine.run("show").stdout


def test_a_driver_that_fails_is_told_at_once_and_what_was_not_read_is_said(tmp_path):
    cases = [(devices, code) for devices in (1, 3) for code in (999, 15)]
    side_by_side(a_driver_fails_for_a_while, tmp_path, cases)


def a_driver_fails_for_good(folder, is_stopped):
    losing = Losing(folder)
    done = losing.directory / "done"
    wish = ("--on-gpu-fault", "stop", "--retry-on", "gpu-lost") if is_stopped else ()
    run = started(losing, "--only", "1", *wish, "--", *waits_for(done))
    silent_driver(losing)
    if is_stopped:
        assert run.wait(timeout=30) == -signal.SIGTERM
    else:
        wait_until(lambda: "nothing but errors" in said(losing), "it is sure", 30)
        assert run.poll() is None
        done.touch()
        assert run.wait(timeout=60) == 0
    record = show(losing)
    assert events(record) == ["driver_silent", "gpu_failed", *(["on_gpu_fault"] if is_stopped else [])]
    assert "GPU 1: the driver has told nothing but errors for" in record["events"][1]["text"]
    assert record["end"]["because"] == ("GPU fault" if is_stopped else "")
    assert len(runs(losing)["runs"]) == 1, "no device was seen to be lost"
    poll(lambda: processes(losing), 5, "processes of a run that is over")


def test_a_driver_that_fails_for_good_ends_the_job_only_where_that_is_wanted(tmp_path):
    side_by_side(a_driver_fails_for_good, tmp_path, [(True,), (False,)])


ANOTHER_VERSION, NOT_LOADED = (f"nvmlInit_v2={code};nvmlDeviceGetCount_v2={code}" for code in (18, 9))


def a_driver_is_being_exchanged(folder, what):
    losing = Losing(folder)
    done = losing.directory / "done"
    run = started(losing, "--only", "1", "--on-gpu-fault", "stop", "--", *waits_for(done))
    silent_driver(losing, what)
    wait_until(lambda: "the driver no longer answers for GPU 1: " in said(losing), "it is said")
    wait_for_samples(losing, 12, timeout=30)
    assert run.poll() is None, "its job may go on through that"
    done.touch()
    assert run.wait(timeout=60) == 0
    assert events(show(losing)) == ["driver_silent"]


def test_a_driver_that_is_being_exchanged_ends_nothing(tmp_path):
    side_by_side(a_driver_is_being_exchanged, tmp_path, [(ANOTHER_VERSION,), (NOT_LOADED,)])


def test_a_driver_that_says_nothing_at_all_is_told(losing):
    done = losing.directory / "done"
    run = started(losing, "--only", "1", "--on-gpu-fault", "stop", "--", *waits_for(done))
    silent_driver(losing, "*@*=hang")
    wait_until(lambda: "the driver no longer answers for GPU 1: " in said(losing), "it is said", 20)
    assert run.poll() is None, "once is not enough: it is asked anew"
    done.touch()
    assert run.wait(timeout=30) == 0
    assert "of that the devices were not read" in said(losing)


@pytest.mark.parametrize(("how", "name"), [("signal", "USR1"), ("signal=TERM", "TERM")])
def test_the_job_gets_the_signal_that_was_asked_for(losing, how, name):
    script = f"trap 'exit 5' {name}; while :; do sleep 0.02; done"
    run = started(losing, "--only", "1", "--on-gpu-fault", how, "--", "sh", "-c", script)
    losing.lose(1)
    assert run.wait(timeout=30) == 5
    assert events(show(losing)) == ["gpu_lost", "on_gpu_fault"]
    assert "the job got a signal for it" in said(losing)
    assert show(losing)["end"]["because"] == ""


def test_stop_ends_the_whole_tree_and_says_why(losing):
    run = started(losing, "--only", "1", "--on-gpu-fault", "stop", "--", "sh", "-c", "sleep 300 & wait")
    losing.lose(1)
    assert run.wait(timeout=30) == -signal.SIGTERM
    assert "by berth: GPU fault after" in said(losing)
    assert show(losing)["end"]["because"] == "GPU fault"
    poll(lambda: processes(losing), 5, "processes of a stopped run")


def test_a_lost_device_is_said_in_the_users_language(losing):
    words = ("run", "--prefer", "1", "--retry-on", "gpu-lost", "--", *losing.job())
    chinese = losing.run(*words, env={"BERTH_LANG": "zh_CN", "LC_ALL": "C.UTF-8"}).stderr
    assert "已从总线掉线" in chinese and "fell off" not in chinese
    assert "starting" not in chinese


# --- starting again --------------------------------------------------------------------------------


def test_a_job_whose_device_was_lost_is_started_again_on_another(losing):
    done = losing.run("run", "--prefer", "1,0", "--retry-on", "gpu-lost", "--", *losing.job())
    assert done.returncode == 0, done.stderr
    assert done.stdout == "well\n"
    second, first = runs(losing)["runs"]
    assert first["end"]["exit_code"] == 7 and events(first) == ["gpu_lost"]
    assert first["retry_of"] is None and second["retry_of"] == first["id"]
    assert [one["given"]["devices"][0]["index"] for one in (first, second)] == [1, 0]
    assert first["lease"] != second["lease"]
    assert f"run {first['id']} ended badly after its device went wrong" in " ".join(done.stderr.split())
    shown = " ".join(losing.run("show", second["id"]).stdout.split())
    assert f"{first['id']}, whose device went wrong" in shown
    assert f"again after {first['id'][-6:]}" in losing.run("runs", env={"COLUMNS": "200"}).stdout
    assert leases(losing) == []


def test_a_job_stopped_for_its_device_is_started_again(losing):
    mark = losing.directory / "second"
    script = f"if test -e {mark}; then exit 0; fi; touch {mark}; sleep 300"
    words = ("--prefer", "1", "--on-gpu-fault", "stop", "--retry-on", "gpu-fault", "--", "sh", "-c", script)
    run = started(losing, *words)
    losing.lose(1)
    assert run.wait(timeout=60) == 0
    second, first = runs(losing)["runs"]
    assert first["end"]["because"] == "GPU fault"
    assert second["retry_of"] == first["id"]


def test_it_is_started_again_so_often_and_no_more(losing):
    script = f'echo "*@$CUDA_VISIBLE_DEVICES=15" >> {losing.faults}; exit 7'
    words = ("--retry-on", "gpu-lost", "--retries", "1", "--", "sh", "-c", script)
    assert losing.run("run", *words).returncode == 7
    assert len(runs(losing)["runs"]) == 2


def test_without_another_device_it_ends_as_the_job_did(tmp_path):
    only_one = Losing(tmp_path, devices=1)
    done = only_one.run("run", "--retry-on", "gpu-lost", "--", *only_one.job())
    assert done.returncode == 7
    assert "no other device for the job: it is not started again" in " ".join(done.stderr.split())
    assert len(runs(only_one)["runs"]) == 1


@pytest.mark.parametrize("job", ["exit 0", "exit 7"])
def test_a_job_that_ended_well_or_on_a_well_device_is_not_started_again(losing, job):
    if job == "exit 0":
        job = f'echo "*@$CUDA_VISIBLE_DEVICES=15" > {losing.faults}; exit 0'
    done = losing.run("run", "--retry-on", "gpu-fault", "--", "sh", "-c", job)
    assert done.returncode == (0 if "echo" in job else 7)
    assert len(runs(losing)["runs"]) == 1


@pytest.mark.parametrize("how", ["stop", "signal", "time"])
def test_a_job_that_its_user_ended_is_not_started_again(losing, how):
    limit = ("--time", "6s") if how == "time" else ()  # the loss is to be said before
    run = started(losing, "--only", "1,0", "--prefer", "1", *limit, "--retry-on", "gpu-lost", "--",
                  "sh", "-c", "trap 'exit 9' TERM INT; while :; do sleep 0.02; done")
    losing.lose(1)
    wait_until(lambda: LOST in said(losing), "the loss is said")
    if how == "stop":
        assert losing.run("stop", "last").returncode == 0
    elif how == "signal":
        os.kill(run.pid, signal.SIGINT)
    assert run.wait(timeout=60) == 9
    assert len(runs(losing)["runs"]) == 1
    assert "why:" not in said(losing), "the loss did not end it"


def test_a_job_that_waits_for_its_second_start_can_be_stopped_by_its_first(losing):
    gate = losing.directory / "gate"
    holder = losing.start("run", "-q", "--only", "0", "--", *waits_for(gate))
    wait_until(lambda: leases(losing), "the holder's lease")
    run = losing.start("run", "--only", "1,0", "--prefer", "1", "--retry-on", "gpu-lost", "--wait", "--",
                       *losing.job("touch never"))
    wait_until(lambda: json.loads(losing.run("leases", "--json").stdout)["queue"], "it waits again")
    first = next(one for one in runs(losing)["runs"] if one["state"] == "ended")
    stopped = losing.run("stop", first["id"])
    assert stopped.returncode == 0 and "it is not started again" in stopped.stderr
    gate.touch()
    assert run.wait(timeout=60) == 7, "it ends as its only start did"
    assert holder.wait(timeout=60) == 0
    assert len(runs(losing)["runs"]) == 2
    assert leases(losing) == []


def test_a_wish_to_stop_that_cannot_be_noted_is_no_stop(losing):
    done = losing.directory / "done"
    run = started(losing, "--prefer", "1", "--retry-on", "gpu-lost", "--", *waits_for(done))
    losing.lose(1)
    wait_until(lambda: "gpu_lost" in events(show(losing)), "the loss is recorded")
    [record] = runs(losing)["runs"]
    in_the_way = pathlib.Path(record["directory"], "stop")
    in_the_way.mkdir()
    refused = losing.run("stop", "last")
    assert refused.returncode == 1 and "cannot be noted" in " ".join(refused.stderr.split())
    assert run.poll() is None
    in_the_way.rmdir()
    done.touch()
    assert run.wait(timeout=60) == 0


def test_the_first_starts_name_stops_the_second(losing):
    done = losing.directory / "done"
    run = losing.start("run", "--prefer", "1,0", "--retry-on", "gpu-lost", "--",
                       *losing.job(" ".join(["until", "test", "-e", str(done)]) + "; do sleep 0.02; done"))
    wait_until(lambda: len(runs(losing)["runs"]) == 2 and runs(losing)["runs"][0]["state"] == "running",
               "the second start")
    second, first = runs(losing)["runs"]
    stopped = losing.run("stop", first["id"])
    assert stopped.returncode == 0 and second["id"] in stopped.stderr, stopped.stderr
    assert run.wait(timeout=60) == -signal.SIGTERM
    assert len(runs(losing)["runs"]) == 2


def test_ctrl_c_on_the_terminal_is_an_end_that_was_wanted(losing):
    terminal = Terminal(100)
    try:
        words = ("run", "--prefer", "1", "--retry-on", "gpu-lost", "--", "sleep", "300")
        run = losing.start_on(terminal, *words)
        wait_until(lambda: any(samples_of(one) for one in runs(losing)["runs"]), "a first sample")
        losing.lose(1)
        wait_until(lambda: b"fell off the bus" in terminal.read(), "the loss is said")
        terminal.type(b"\x03")
        assert run.wait(timeout=30) == -signal.SIGINT
        assert len(runs(losing)["runs"]) == 1
        assert b"why:" not in terminal.read()
        explained = json.loads(losing.run("explain", "last", "--json").stdout)
        assert [one["rule"] for one in explained["findings"]] == ["interrupted", "device_lost"]
    finally:
        terminal.close()


def test_the_second_start_has_the_whole_input_of_a_file(losing):
    text = losing.directory / "input"
    text.write_text("head\ntail\n", encoding="utf-8")
    job = losing.job("cat")
    job[2] = "read first; " + job[2]
    with open(text, encoding="utf-8") as stdin:
        done = losing.run("run", "--retry-on", "gpu-lost", "--", *job, stdin=stdin)
    assert done.returncode == 0
    assert done.stdout == "tail\n"
    assert "through a pipe" not in done.stderr


def test_input_that_was_read_from_a_pipe_is_said_to_be_gone(losing):
    job = losing.job("cat")
    job[2] = "cat > /dev/null; " + job[2]
    done = losing.run("run", "--retry-on", "gpu-lost", "--", *job, input="once\n")
    assert done.returncode == 0 and done.stdout == ""
    assert "its input comes through a pipe" in " ".join(done.stderr.split())


def test_a_second_start_is_as_open_to_signals_as_the_first(losing):
    job = losing.job("kill -TERM $$", "sleep 5")
    done = losing.run("run", "--retry-on", "gpu-lost", "--", *job)
    assert done.returncode == -signal.SIGTERM


def test_a_detached_job_is_started_again_with_nobody_there(losing):
    done = losing.run("run", "-q", "-d", "--prefer", "1", "--retry-on", "gpu-lost", "--", *losing.job())
    assert done.returncode == 0, done.stderr
    first = done.stdout.strip()
    assert losing.run("wait", first).returncode == 7

    def follower():
        return [one for one in runs(losing)["runs"] if one["retry_of"] == first]

    [second] = wait_until(follower, "the job is started again", timeout=60)
    assert losing.run("wait", second["id"]).returncode == 0
    assert losing.run("logs", second["id"]).stdout == "well\n"
    assert second["given"]["devices"][0]["index"] != 1
    poll(lambda: processes(losing), 5, "processes of a run that is over")
    assert leases(losing) == []


def test_a_detached_job_that_cannot_be_started_says_so_also_where_it_would_be_followed(losing):
    script = losing.directory / "no-interpreter"
    script.write_text("#!/nonexistent/python\n", encoding="utf-8")
    script.chmod(0o755)
    done = losing.run("run", "-d", "--retry-on", "gpu-lost", "--", script)
    assert done.returncode == 127, done.stderr
    assert done.stdout == ""
    poll(lambda: processes(losing), 5, "processes of a run that never was")


@pytest.mark.parametrize(
    "words",
    [
        ("--on-gpu-fault", "panic"),
        ("--on-gpu-fault", "signal=NONE"),
        ("--retry-on", "everything"),
        ("--retries", "2"),
        ("--retry-on", "gpu-lost", "--retries", "0"),
        ("--retry-on", "gpu-lost", "--retries", "many"),
    ],
    ids=" ".join,
)
def test_a_mistake_in_the_options_is_named_and_starts_nothing(losing, words):
    done = losing.run("run", *words, "--", "true")
    assert done.returncode == 125
    assert words[0] in done.stderr or words[-2] in done.stderr
    assert runs(losing)["runs"] == []
