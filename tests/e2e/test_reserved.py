"""A device that the queue keeps is shown as reserved, and for which user. Also whose queue it is."""

import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile

import pytest
from conftest import BERTH, Machine, end, wait_until
from serving import serve_on  # noqa: F401  pylint: disable=unused-import

ME = pwd.getpwuid(os.geteuid()).pw_name
IS_ROOT = os.geteuid() == 0


def devices_of(machine, **kwargs):
    return json.loads(machine.run("status", "--json", **kwargs).stdout)["devices"]


@contextlib.contextmanager
def a_queue(machine):
    """GPU 3 is leased. A waiter for five of the free ones gathers the four that are left (0 to 2 are in use)."""
    gate = machine.directory / "gate"
    job = ["sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.1; done"]
    holder = machine.start("run", "-q", "--only", "3", "--", *job)
    waiter = None
    try:
        wait_until(lambda: devices_of(machine)[3]["state"] == "leased", "GPU 3 is leased", 30)
        waiter = machine.start("run", "-q", "-n", "5", "--wait", "--", "true")
        wait_until(lambda: any(d["state"] == "reserved" for d in devices_of(machine)), "cards are gathered", 30)
        yield waiter
        gate.touch()
        assert waiter.wait(60) == 0 and holder.wait(60) == 0, "who waits was given them in the end"
    finally:
        gate.touch()
        for process in filter(None, (waiter, holder)):
            end(process)


def test_a_card_kept_for_a_waiter_is_reserved_for_whom_wherever_it_is_shown(machine, serve_on):  # noqa: F811
    with a_queue(machine):
        devices = devices_of(machine)
        assert [d["state"] for d in devices] == ["busy", "busy", "held", "leased"] + ["reserved"] * 4
        assert [d["reserved_for"] for d in devices] == [""] * 4 + [ME] * 4
        assert [d["users"] for d in devices][4:] == [""] * 4, "nobody is on it"

        refused = machine.run("run", "--", "true")
        assert refused.returncode == 124
        assert f"reserved for an earlier request in the queue: {ME}" in refused.stderr, refused.stderr
        for words in (["pick"], ["run", "--dry-run", "--", "true"], ["pick", "--memory", "10G", "--only", "4"]):
            done = machine.run(*words)
            assert done.returncode == 124, words
            assert f"reserved for an earlier request in the queue: {ME}" in done.stdout + done.stderr, words

        status = machine.run("status", env={"COLUMNS": "132"}).stdout
        assert "0 of 8 free" in status and "4 reserved" in status, status
        rows = [line for line in status.splitlines() if re.match(r" *[4-7] ", line)]
        assert len(rows) == 4 and all("reserved" in row and ME in row for row in rows), status
        assert [row.split(",")[1:] for row in
                machine.run("status", "--csv", "index,state,reserved_for").stdout.splitlines()[5:]] \
            == [["reserved", ME]] * 4

        server = serve_on(machine)
        seen = server.get("/api/v1/overview").json
        assert seen["counts"]["reserved"] == 4 and seen["counts"]["free"] == 0
        assert [d["state"] for d in seen["devices"]][4:] == ["reserved"] * 4
        [waiting] = seen["queue"]
        assert [part["device"] for part in waiting["reserved"]] == [d["id"] for d in seen["devices"][4:]]
        text = server.get("/metrics").body.decode()
        assert 'berth_devices{state="reserved"} 4' in text and 'berth_devices{state="free"} 0' in text
        composed = server.post("/api/v1/compose", {"command": ["true"]}, over="unix").json
        assert (composed["does"], composed["exit_code"]) == ("ends", 124)
        assert composed["command"] == "berth run -n 1 -- true"
        waits = server.post("/api/v1/compose", {"command": ["true"], "wait": "2h"}, over="unix").json
        assert (waits["does"], waits["exit_code"], waits["command"]) == ("waits", None, "berth run -n 1 --wait=2h -- true")
    assert [d["state"] for d in devices_of(machine)][3:] == ["free"] * 5


def test_names_of_those_for_whom_it_is_reserved_are_shown_by_the_usual_policy(machine, serve_on):  # noqa: F811
    config = machine.directory / "serve.toml"
    config.write_text('[policy]\nothers = "owner"\n', encoding="utf-8")
    with a_queue(machine):
        server = serve_on(machine, "--config", config)
        seen = server.get("/api/v1/overview").json  # over TCP: nobody knows who asks
        assert [d["state"] for d in seen["devices"]][4:] == ["reserved"] * 4
        assert [d["reserved_for"] for d in seen["devices"]] == [[]] * 8
        shown = server.get("/gpu-status").json["devices"]
        assert {d["reserved_for"] for d in shown} == {""}


def test_doctor_calls_no_reserved_card_free(machine):
    with a_queue(machine):
        told = machine.run("doctor").stdout
        assert "Free now: none of 8" in told, told
        assert f"Reserved for earlier requests in the queue: GPU 4, 5, 6, 7 (for {ME})." in told, told


def test_a_card_that_is_leased_or_reserved_is_not_too_small(machine):
    with a_queue(machine):
        rows = re.findall(r"^  GPU (\d) +(\w+(?: small)?) .*", machine.run("fit", "7B").stdout, re.M)
        assert rows[3:] == [("3", "leased")] + [(str(index), "reserved") for index in range(4, 8)], rows
        here = json.loads(machine.run("fit", "7B", "--json").stdout)["here"]
        assert [row["state"] for row in here][3:] == ["leased"] + ["reserved"] * 4
        assert [row["now"] for row in here][3:] == ["too_small"] * 5, "of what is left of it"
        large = machine.run("fit", "700B").stdout
        assert re.findall(r"^  GPU \d +too small", large, re.M) == [f"  GPU {index}   too small" for index in range(8)]


def test_the_queue_of_leases_names_the_run_and_what_is_reserved_for_it(machine):
    with a_queue(machine):
        told = machine.run("leases").stdout
        [waiting] = json.loads(machine.run("leases", "--json").stdout)["queue"]
        assert re.fullmatch(r"\d{8}-\d{6}-\w{6}", waiting["run"]), waiting
        head, row = told.split("\n\n")[1].splitlines()[:2]
        assert head.split() == ["Place", "User", "Wants", "Waited", "Reserved", "GPUs", "Run", "Command"]
        assert row.split()[-3:] == ["4,5,6,7", waiting["run"], "true"], row
        assert "Gathers" not in told


def test_how_many_wait_survives_eighty_columns(machine):
    with a_queue(machine):
        first = machine.run("status", env={"COLUMNS": "80"}).stdout.splitlines()[0]
        assert len(first) <= 80 and "0 of 8 free  1 waiting" in first and "4 reserved" in first, first


def test_a_replay_shows_the_leases_of_the_recording_alone(machine):
    with a_queue(machine):
        recording = machine.directory / "recording.json"
        recording.write_text(machine.run("status", "--json").stdout)
        empty = machine.directory / "empty.json"
        empty.write_text(machine.run("status", "--json", env={"BERTH_LEDGER": str(machine.directory / "other")}).stdout)
        for file, says in ((recording, "From the recording"), (empty, "The recording holds no leases.")):
            told = machine.run("leases", "--replay", file)
            assert told.returncode == 0 and says in told.stdout, told
            assert machine.env["BERTH_LEDGER"] not in told.stdout and "Ledger" not in told.stdout, told.stdout
            answer = json.loads(machine.run("leases", "--replay", file, "--json").stdout)
            assert (answer["ledger"], answer["ledger_kind"]) == (None, None)
            assert len(answer["leases"]) == len(answer["queue"]) == (file == recording)
        assert machine.run("leases").stdout.rstrip().endswith("(BERTH_LEDGER), its part for this simulated server.")


def test_help_says_what_the_states_mean(machine):
    told = " ".join(machine.run("status", "--help").stdout.split())
    assert "reserved: free, but for somebody in the queue." in told and "held: memory taken, nothing running." in told


def test_what_is_left_of_a_card_is_free_for_a_share(machine):
    """A waiter for 30 GiB of each of five cards leaves 49 GiB of those that it gathers."""
    gate = machine.directory / "gate"
    job = ["sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.1; done"]
    holder = machine.start("run", "-q", "--only", "3", "--", *job)
    waiter = None
    try:
        wait_until(lambda: devices_of(machine)[3]["state"] == "leased", "GPU 3 is leased", 30)
        waiter = machine.start("run", "-q", "-n", "5", "--memory", "30G", "--only", "3,4,5,6,7", "--wait", "--", "true")
        wait_until(lambda: devices_of(machine)[4]["state"] == "reserved", "cards are gathered", 30)
        assert machine.run("pick", "--only", "4", "--memory", "40G").returncode == 0
        assert machine.run("run", "-q", "--only", "4", "--memory", "40G", "--", "true").returncode == 0
        assert machine.run("pick", "--only", "4", "--memory", "60G").returncode == 124
        assert machine.run("pick", "--only", "4").returncode == 124
    finally:
        gate.touch()
        for process in filter(None, (waiter, holder)):
            end(process)


# --- whose queue it is ----------------------------------------------------------------------------


def test_leases_and_waiters_of_a_simulated_server_are_its_own(machine):
    with a_queue(machine):
        for elsewhere in ({"BERTH_SIM": None, "BERTH_NVML": "/nonexistent/libnvidia-ml.so.1"}, {"BERTH_SIM": "lab-4"}):
            told = json.loads(machine.run("leases", "--json", env=elsewhere).stdout)
            assert (told["leases"], told["queue"]) == ([], []), elsewhere
            assert "waiting" not in machine.run("status", env=elsewhere).stdout, elsewhere
            assert "foreign_file" not in machine.run("status", "--json", env=elsewhere).stdout
        assert machine.ledger.parent == pathlib.Path(machine.env["BERTH_LEDGER"])


def test_a_scenario_file_has_a_part_of_its_own_below_the_ledger(machine):
    scenario = machine.directory / "a b;$(x).json"
    shutil.copy(pathlib.Path(__file__).resolve().parents[2] / "src/probe/sim/scenarios/lab-4.json", scenario)
    assert machine.run("run", "-q", "--", "true", env={"BERTH_SIM": str(scenario)}).returncode == 0
    [part] = [one for one in pathlib.Path(machine.env["BERTH_LEDGER"]).iterdir() if one.is_dir()]
    assert re.fullmatch(r"\.new-sim-[\w.-]+a_b___x_\.json", part.name), part


@pytest.mark.skipif(not IS_ROOT, reason="only root can be several users")
def test_a_shared_ledger_is_shared_in_its_parts():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        berth = shutil.copy(BERTH, folder / "berth")
        ledger = folder / "ledger"
        ledger.mkdir()
        ledger.chmod(0o1777)
        users = []
        for uid in (30_001, 30_002, 30_003):
            home = folder / str(uid)
            home.mkdir()
            os.chown(home, uid, uid)
            user = Machine(home)
            user.env["BERTH_LEDGER"] = str(ledger)
            as_user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
            user.command = lambda *words, prefix=as_user: [*prefix, berth, *map(str, words)]
            users.append(user)
        # All at once, so that each may be the one who makes the part.
        jobs = [user.start("run", "-q", "--wait", "--", "cat", stdin=subprocess.PIPE) for user in users]
        try:
            def leases(user):
                return {one["uid"] for one in json.loads(user.run("leases", "--json").stdout)["leases"]}

            for user in users:
                wait_until(lambda user=user: len(leases(user)) == 3, "each sees the leases of all", 60)
            for job in jobs:
                _, err = job.communicate(timeout=60)
                assert job.returncode == 0, err
        finally:
            for job in jobs:
                end(job)
