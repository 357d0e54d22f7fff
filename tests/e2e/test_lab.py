"""A lab's server. A job that was started by hand is taken into the ledger. A reservation gets more time, and things end
with it. Also hours that count, and a queue that tells its page what it tells people."""

import json
import os
import pathlib
import signal
import subprocess

import pytest
from aftermath import leases, poll, show
from conftest import BERTH, BUILD, ROOT, end, many_devices
from serving import serve_on  # noqa: F401  pylint: disable=unused-import
from test_queue import LONG, Lab, in_one_line

IS_ROOT = os.geteuid() == 0


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.close()


# --- berth claim ------------------------------------------------------------------------------------


@pytest.fixture
def by_hand(tmp_path):
    """A job that nobody has a lease for, on GPU 1 of two."""
    job = subprocess.Popen(["sleep", "300"])
    played = many_devices(2)
    played["gpu_processes"] = [{"pid": job.pid, "type": "C", "memory_used_bytes": 8 << 30, "device": played["devices"][1]["id"]}]
    played["devices"][1]["memory_used_bytes"] += 8 << 30
    made = Lab(tmp_path)
    pathlib.Path(made.env["BERTH_FAKE_NVML"]).write_text(json.dumps(played), encoding="utf-8")
    yield made, job
    end(job)
    made.close()


def test_a_job_by_hand_is_leased_its_devices_until_it_ends(by_hand):
    lab, job = by_hand
    assert lab.run("run", "--only", "1", "--", "true").returncode == 124, "a stranger is on it"
    done = lab.run("claim", job.pid)
    assert done.returncode == 0, done.stderr
    run = done.stdout.strip()
    [lease] = leases(lab)
    assert (lease["run"], lease["job"]["pid"], lease["uid"]) == (run, job.pid, os.geteuid())
    assert [one["promised_bytes"] for one in lease["devices"]] == [None]
    refused = lab.run("run", "--only", "1", "--", "true")
    assert refused.returncode == 124 and "leased to" in refused.stderr, refused.stderr
    listed = json.loads(lab.run("ps", "--json").stdout)
    assert run in json.dumps(listed), "ps says whose it is"
    assert show(lab, run)["command"] == ["sleep", "300"]
    end(job)
    poll(lambda: leases(lab), LONG, "it is still leased")
    poll(lambda: not show(lab, run).get("end"), LONG, "its record has no end")


def test_what_a_claimed_job_has_started_is_under_its_lease(lab):
    job = subprocess.Popen(["sh", "-c", "sleep 300 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    worker = int(job.stdout.readline())
    try:
        played = many_devices(1)
        played["gpu_processes"] = [{"pid": worker, "type": "C", "memory_used_bytes": 8 << 30, "device": played["devices"][0]["id"]}]
        pathlib.Path(lab.env["BERTH_FAKE_NVML"]).write_text(json.dumps(played), encoding="utf-8")
        claimed = lab.run("claim", job.pid)
        assert claimed.returncode == 0, claimed.stderr
        [row] = json.loads(lab.run("ps", "--json").stdout)["processes"]
        assert (row["pid"], row["run"]) == (worker, claimed.stdout.strip())
        library = {"PYTHONPATH": str(ROOT / "python"), "BERTH_LIBRARY": str(BUILD / "libberth.so.0"), "BERTH_HELPER": BERTH}
        told = subprocess.run(
            ["/usr/bin/python3", "-c", "import berth; print(*(one.run for one in berth.look().processes))"],
            env=lab.environment(library), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert told.stdout == claimed.stdout, told.stderr
        again = lab.run("claim", worker)
        assert again.returncode == 125 and "has a lease already" in in_one_line(again.stderr), again.stderr
    finally:
        os.kill(worker, signal.SIGKILL)
        end(job)


def test_a_claimed_job_counts_in_the_quota_and_may_have_a_share(by_hand):
    lab, job = by_hand
    lab.policy("[everybody]\ndevices_at_most = 1\n")
    assert lab.run("claim", "--memory", "10G", job.pid).returncode == 0
    [lease] = leases(lab)
    assert lease["devices"][0]["promised_bytes"] == 10 << 30
    refused = lab.run("run", "--only", "0", "--", "true")
    assert refused.returncode == 124 and "has 1 of the 1 devices" in in_one_line(refused.stderr), refused.stderr


def test_a_claim_beyond_the_quota_is_refused(by_hand):
    lab, job = by_hand
    lab.policy("[everybody]\ndevices_at_most = 1\n")
    lab.hold("other", "--only", "0")
    refused = lab.run("claim", job.pid)
    assert refused.returncode == 124 and "has 1 of the 1 devices" in in_one_line(refused.stderr), refused.stderr
    assert len(leases(lab)) == 1


def test_a_policy_that_is_broken_adopts_no_job(by_hand):
    lab, job = by_hand
    lab.policy("[everybody]\nnonsense = 1\n")
    refused = lab.run("claim", job.pid)
    assert refused.returncode == 125 and "berth.toml:2" in refused.stderr, refused.stderr
    assert leases(lab) == []
    lab.policy("[everybody]\n")
    assert lab.run("claim", job.pid).returncode == 0


def test_stop_ends_a_claimed_job(by_hand):
    lab, job = by_hand
    run = lab.run("claim", job.pid).stdout.strip()
    stopped = lab.start("stop", run)
    assert job.wait(LONG) == -15
    assert stopped.wait(LONG) == 0
    poll(lambda: leases(lab), LONG, "it is still leased")


def test_what_cannot_be_claimed_is_refused_with_its_reason(by_hand):
    lab, job = by_hand
    assert lab.run("claim", job.pid).returncode == 0
    again = lab.run("claim", job.pid)
    assert again.returncode == 125 and "has a lease already" in in_one_line(again.stderr), again.stderr
    elsewhere = subprocess.Popen(["sleep", "300"])
    try:
        idle = lab.run("claim", elsewhere.pid)
        assert idle.returncode == 125 and "computes on a device now" in in_one_line(idle.stderr), idle.stderr
    finally:
        end(elsewhere)
    for word in ("what", "0", "-1", "99999999999"):
        assert lab.run("claim", word).returncode in (2, 125)
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert lab.run("claim", gone.pid).returncode == 125


@pytest.mark.skipif(not IS_ROOT, reason="acting as another user: only root can")
def test_nobody_claims_for_another_users_job(tmp_path):
    job = subprocess.Popen(["sleep", "300"], user=65534, group=65534, extra_groups=[])
    try:
        played = many_devices(1)
        played["gpu_processes"] = [{"pid": job.pid, "type": "C", "memory_used_bytes": 1 << 30, "device": played["devices"][0]["id"]}]
        lab = Lab(tmp_path)
        pathlib.Path(lab.env["BERTH_FAKE_NVML"]).write_text(json.dumps(played), encoding="utf-8")
        refused = lab.run("claim", job.pid)
        assert refused.returncode == 125 and "another user's" in refused.stderr, refused.stderr
        assert leases(lab) == []
    finally:
        end(job)


# --- reservations -----------------------------------------------------------------------------------


def test_a_reservation_is_extended_and_who_waits_sees_the_new_end(lab):
    run = lab.run("reserve", "-n", "2", "--for", "30m").stdout.strip()
    [before] = leases(lab)
    lab.wait("waits", "--time", "5m")
    [expected] = [one["expected_start_unix_ms"] for one in lab.queue()]
    done = lab.run("extend", run, "--for", "2h")
    assert done.returncode == 0 and f"run {run} ends in 2h" in done.stderr, done.stderr
    [after] = leases(lab)
    assert abs(after["ends_unix_ms"] - before["ends_unix_ms"] - 7_200_000) < 5_000
    [later] = [one["expected_start_unix_ms"] for one in lab.queue()]
    assert later - expected > 7_000_000
    assert lab.run("stop", run).returncode == 0


def test_a_reservation_lives_beyond_the_end_it_had(lab):
    run = lab.run("reserve", "--for", "20s").stdout.strip()
    assert lab.run("extend", run, "--for", "10m").returncode == 0
    [lease] = leases(lab)
    old_end = lease["ends_unix_ms"] - 600_000
    poll(lambda: json.loads(lab.run("status", "--json").stdout)["taken_unix_ms"] < old_end + 3_000, LONG, "time stands still")
    assert len(leases(lab)) == 1, "it ended at its old end"
    assert lab.run("stop", run).returncode == 0


@pytest.mark.parametrize("time", ["0", "0s", "10ms", "-1h", "=-1h", "1e9", "400d", "999999999", "99999999999d", "4 hours", "ever"])
def test_a_time_that_nobody_means_holds_nothing(lab, time):
    words = [f"--for{time}"] if time.startswith("=") else ["--for", time]
    for verb in (["reserve"], ["extend", "nothing"]):
        refused = lab.run(*verb, *words)
        assert refused.returncode == 125, (verb, refused.stdout, refused.stderr)
        said = in_one_line(refused.stderr)
        assert "--for" in said and ("365d at most" in said or "needs a value" in said or "not an option" in said), said
    assert leases(lab) == []


def test_what_cannot_be_extended_is_said(lab):
    lab.hold("endless")
    [lease] = leases(lab)
    refused = lab.run("extend", lease["run"], "--for", "1h")
    assert refused.returncode == 125 and "has no time limit" in in_one_line(refused.stderr)
    assert lab.run("extend", "nothing", "--for", "1h").returncode == 125
    assert "--for 2h" in lab.run("extend", lease["run"]).stderr


def test_stopping_a_reservation_ends_what_was_begun_in_it(lab):
    run = lab.run("reserve", "--for", "30m").stdout.strip()
    job = lab.start("exec", run, "--", "sh", "-c", f"echo begun >>{lab.told}; exec sleep 300")
    lab.started.append(job)
    lab.await_start("begun")
    done = lab.run("stop", run, timeout=60)
    assert done.returncode == 0, done.stderr
    assert job.wait(LONG) in (-15, 128 + 15)
    poll(lambda: leases(lab), LONG, "it is still held")


def test_what_was_let_in_ahead_of_who_gathers_is_not_extended_beyond_that(lab):
    lab.hold("holder", "--only", "0", "--time", "2h")
    lab.wait("both", "-n", "2")
    poll(lambda: not lab.queue()[0]["gathered"], LONG, "nothing is gathered")
    lab.hold("short", "--time", "10m", "--wait")
    [short] = [one for one in leases(lab) if one["ends_unix_ms"] - one["since_unix_ms"] == 600_000]
    refused = lab.run("extend", short["run"], "--for", "2h")
    said = in_one_line(refused.stderr)
    assert refused.returncode == 125 and f"it would delay {lab.queue()[0]['user']}, who came first" in said, said
    assert short in leases(lab), "its end is what it was"
    chinese = lab.run("--lang", "zh_CN", "extend", short["run"], "--for", "2h").stderr
    assert "先来" in chinese and "would delay" not in chinese, chinese
    done = lab.run("extend", short["run"], "--for", "30m")
    assert done.returncode == 0, "it ends before the other device comes free"
    # A run that was there before anybody waited delays no promised start.
    [holder] = [one for one in leases(lab) if one["run"] != short["run"]]
    assert lab.run("extend", holder["run"], "--for", "1h").returncode == 0
    lab.let_end("holder", "short", "both")
    lab.await_start("both")


# --- hours ------------------------------------------------------------------------------------------


def test_hours_count_once_root_s_server_has_written_them_down(lab):
    lab.policy("[everybody]\nhours_at_most = 0\n")
    unheld = lab.run("run", "--", "true")
    assert unheld.returncode == 0 and "GPU-hours that the policy allows cannot be enforced" in in_one_line(unheld.stderr)
    hours = lab.directory / "etc/berth/hours"

    def used():
        done = lab.run("usage", "--json")
        rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
        return sum(row["gpu_hours"] for row in rows) > 2 / 3600

    def serve():
        return lab.start("serve", "--socket", lab.directory / "serve.socket", "--listen", "none",
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    holder = lab.hold("holder")
    first = serve()
    try:
        poll(lambda: not used(), LONG, "nobody has used anything")
    finally:
        first.terminate()
        first.wait(LONG)
    again = serve()
    try:
        poll(lambda: not hours.exists() or len(hours.read_text().splitlines()) < 2, LONG, "no hours are written down")
    finally:
        again.terminate()
        again.wait(LONG)
    assert hours.read_text().splitlines()[1].startswith(f"{os.geteuid()} ")
    refused = lab.run("run", "--", "true")
    assert refused.returncode == 124 and "of the 0 GPU-hours that the policy allows" in in_one_line(refused.stderr)
    lab.policy("[everybody]\n")
    held = lab.run("reserve", "--only", "1", "--for", "1h").stdout.strip()
    lab.policy("[everybody]\nhours_at_most = 0\n")
    refused = lab.run("extend", held, "--for", "1h")
    assert refused.returncode == 125 and "of the 0 GPU-hours that the policy allows" in in_one_line(refused.stderr)
    lab.policy("[everybody]\nhours_at_most = 1000000\n")
    assert lab.run("extend", held, "--for", "1h").returncode == 0
    lab.policy("[everybody]\nhours_at_most = 0\n")
    # Old figures hold nothing.
    lines = hours.read_text().splitlines()
    hours.write_text("\n".join(["berth-hours 1 1000", *lines[1:]]) + "\n")
    lab.policy("[everybody]\nhours_at_most = 0\n[user.nobody]\nhours_at_most = 1\n")
    assert "cannot be enforced" in in_one_line(lab.run("policy", "show").stdout)
    lab.let_end("holder")
    assert holder.wait(LONG) == 0


def test_a_fair_share_puts_who_has_used_most_further_back(lab):
    now = json.loads(lab.run("status", "--json").stdout)["taken_unix_ms"]
    lab.policy('[queue]\nfair_share = "8h"\n')
    hours = lab.directory / "etc/berth/hours"
    hours.write_text(f"berth-hours 1 {now}\n{os.geteuid()} 360000\n4242 720000\n")
    lab.hold("holder", "-n", "2")
    lab.wait("waits")
    said = in_one_line(lab.run("queue").stdout)
    assert "stands 4h00m further back: 100 GPU-hours within 30 days (fair share)" in said, said


# --- the queue, for the page ------------------------------------------------------------------------


def test_the_page_is_told_of_the_queue_what_people_are(lab, serve_on):  # noqa: F811
    lab.hold("holder", "-n", "2", "--time", "1h")
    lab.wait("first", "--time", "10m")
    lab.wait("second")
    server = serve_on(lab)
    told = lab.queue()
    poll(lambda: len(server.get("/api/v1/overview", over="unix").json["queue"]) < 2, LONG, "the server sees no queue")
    for rows in (server.get("/api/v1/overview", over="unix").json["queue"], server.get("/api/v1/queue", over="unix").json["queue"]):
        assert [row["position"] for row in rows] == [1, 2]
        assert [row["why_not_yet"] for row in rows] == [row["why_not_yet"] for row in told]
        assert rows[0]["why_not_yet"].startswith("leased by ")
        assert abs(rows[0]["expected_start_unix_ms"] - told[0]["expected_start_unix_ms"]) < 2_000


def test_the_page_says_of_who_waits_what_the_policy_says(lab, serve_on):  # noqa: F811
    lab.policy("[everybody]\ndevices_at_most = 1\n")
    lab.hold("holder", "--only", "0")
    lab.wait("second", "--only", "1")
    server = serve_on(lab)
    [told] = lab.queue()
    assert "has 1 of the 1 devices" in in_one_line(told["why_not_yet"]), told
    poll(lambda: not server.get("/api/v1/overview", over="unix").json["queue"], LONG, "the server sees no queue")
    for path in ("overview", "queue"):
        [row] = server.get(f"/api/v1/{path}", over="unix").json["queue"]
        assert row["why_not_yet"] == told["why_not_yet"], path
    free = server.get("/api/v1/overview", over="unix").json
    assert free["counts"].get("reserved", 0) == 0, "what the policy keeps from its waiter is kept for nobody"


# --- the policy's file ------------------------------------------------------------------------------


def test_config_checks_a_file_that_is_not_in_force(lab):
    file = lab.directory / "mine.toml"
    file.write_text("[user.nobdy]\ndevices_at_most = 1\n")
    done = lab.run("config", "--check", file)
    assert done.returncode == 0 and "is nobody meant?" in in_one_line(done.stderr), done.stderr
    assert "one device at once at most" in done.stdout
    assert not (lab.directory / "etc").exists(), "nothing is put anywhere"
    file.write_text("[everybody]\ndevice_at_most = 2\n")
    done = lab.run("config", "--check", file)
    assert done.returncode == 125 and "mine.toml:2" in done.stderr, done.stderr
