"""`berth reserve --at`: root's `berth serve` starts it when it is time, as its owner, and nobody gets more by it."""

import json
import os
import shutil
import subprocess

import pytest
from aftermath import leases, poll, runs
from conftest import end, many_devices, wait_until
from serving import UnixConnection
from test_queue import Lab, in_one_line
from test_reap import OTHER, OWNER, Shared

LONG = 60  # what is waited for at most; nothing here is to be quick
IS_ROOT = os.geteuid() == 0


def serve(lab):
    made = lab.start("serve", "--socket", lab.directory / "serve.socket", "--listen", "none", stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)
    # Its lock is there a moment before it is held.
    asked = ("reserve", "--at", "2h", "--for", "1h", "--dry-run")
    wait_until(lambda: lab.run(*asked).returncode == 0 and made.poll() is None, "the service looks")
    return made


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    made.service = serve(made)
    yield made
    end(made.service)
    made.close()


def planned(lab):
    return json.loads(lab.run("queue", "--json").stdout)["planned"]


def shown_by_the_server(lab):
    connection = UnixConnection(str(lab.directory / "serve.socket"))
    try:
        connection.request("GET", "/api/v1/overview")
        return json.loads(connection.getresponse().read())["planned"]
    finally:
        connection.close()


def reserve(lab, *words):
    done = lab.run("reserve", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_roots_service_it_is_refused_with_what_is_needed(tmp_path):
    lab = Lab(tmp_path)
    done = lab.run("reserve", "--at", "2h", "--for", "1h")
    said = in_one_line(done.stderr)
    assert done.returncode == 125 and done.stdout == "", done
    assert "a `berth serve` of root's" in said and "sudo berth service install" in said, said
    service = serve(lab)
    end(service)
    assert lab.run("reserve", "--at", "2h", "--for", "1h").returncode == 125, "one that has ended starts nothing"


def test_it_is_shown_with_its_times_begins_then_and_ends_as_planned(lab):
    name = reserve(lab, "-n", "2", "--at", "3s", "--for", "30m")
    [row] = planned(lab)
    assert (row["id"], row["uid"], row["wants"]) == (name, os.geteuid(), "--devices=2"), row
    assert row["ends_unix_ms"] - row["starts_unix_ms"] == 1_800_000
    told = in_one_line(lab.run("queue").stdout)
    assert "Reserved by" in told and name in told, told
    told = in_one_line(lab.run("status").stdout)
    assert "Reserved by" in told and name in told, told
    poll(lambda: shown_by_the_server(lab) != [row], LONG, "the page is not told of it")
    assert leases(lab) == [], "not before its time"
    poll(lambda: not leases(lab), LONG, "it does not begin")
    [lease] = leases(lab)
    assert len(lease["devices"]) == 2 and abs(lease["ends_unix_ms"] - row["ends_unix_ms"]) < 10_000
    poll(lambda: planned(lab), LONG, "it is still to begin")
    assert lab.run("run", "--", "true").returncode == 124
    assert lab.run("exec", lease["run"], "--", "true").returncode == 0
    assert lab.run("release", lease["run"]).returncode == 0
    poll(lambda: leases(lab), LONG, "it is still held")


def test_it_outlives_the_service_before_and_after_its_start(lab):
    reserve(lab, "--at", "4s", "--for", "30m")
    lab.service.kill()
    lab.service.wait(LONG)
    [row] = planned(lab)
    assert "does not run" in row["failed"], row
    wait_until(lambda: json.loads(lab.run("status", "--json").stdout)["taken_unix_ms"] > row["starts_unix_ms"], "its time")
    assert leases(lab) == []
    lab.service = serve(lab)
    poll(lambda: not leases(lab), LONG, "it does not begin")
    poll(lambda: planned(lab), LONG, "it is still to begin")
    end(lab.service)
    lab.service = serve(lab)
    assert len(leases(lab)) == 1 and len(runs(lab)["runs"]) == 1, "once, and still there"


def test_it_waits_for_its_turn_where_nothing_is_free(lab):
    lab.hold("holder", "-n", "2")
    reserve(lab, "--at", "1s", "--for", "30m")
    poll(lambda: not lab.queue(), LONG, "it does not wait")
    lab.let_end("holder")
    poll(lambda: len(leases(lab)) != 1 or lab.queue(), LONG, "it is not given what came free")


def test_what_the_policy_forbids_is_not_had_so(lab):
    lab.policy('[everybody]\ndevices = ["1"]\n')
    reserve(lab, "-n", "2", "--at", "1s", "--for", "30m")
    poll(lambda: not planned(lab)[0]["failed"], LONG, "it is not refused")
    assert leases(lab) == [] and lab.queue() == []
    assert "It does not begin:" in in_one_line(lab.run("queue").stdout)


def test_its_owner_takes_it_back(lab):
    name = reserve(lab, "--at", "23h", "--for", "1h")
    assert lab.run("release", "at-00000000").returncode != 0
    done = lab.run("release", name)
    assert done.returncode == 0 and "does not begin any more" in done.stderr, done
    assert planned(lab) == []


@pytest.mark.parametrize("words", [["--at", "yesterday"], ["--at", "2020-01-01"], ["--at", "now"], ["--at", "0"], ["--at", "500d"],
                                   ["--at", "25:00"], ["--at", "2026-02-31"]])
def test_a_time_that_does_not_come_is_refused(lab, words):
    done = lab.run("reserve", *words, "--for", "1h")
    assert done.returncode == 125 and "--at" in done.stderr, done
    assert planned(lab) == []


def test_nobody_plans_without_bound(lab):
    for _ in range(16):
        reserve(lab, "--at", "23h", "--for", "1h")
    done = lab.run("reserve", "--at", "23h", "--for", "1h")
    assert done.returncode == 125 and "berth release" in done.stderr, done


# --- other users ------------------------------------------------------------------------------------


@pytest.fixture
def machine():
    made = Shared()
    made.service = None
    yield made
    for uid in (OWNER, OTHER):
        subprocess.run(["pkill", "-KILL", "-u", str(uid)], check=False)
    if made.service:
        end(made.service)
    shutil.rmtree(made.folder, ignore_errors=True)


def write_as(uid, path, text, mode=0o644):
    """A file that this user writes, with what is no right of theirs refused by the kernel."""
    script = 'umask 0; cat >"$1" && chmod "$2" "$1"'
    return subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "sh", "-c", script, "sh", path,
                           f"{mode:o}"], input=text, text=True, capture_output=True, check=False)


def content(machine, uid, *words, at=1, lasts=1_800_000, more=""):
    home = machine.folder / f"home{uid}"
    if not home.exists():
        home.mkdir()
        os.chown(home, uid, uid)
    lines = [f"berth-planned 1 {at} {lasts}", *(f"word={word}" for word in words), f"home=HOME={home}",
             f"home=XDG_STATE_HOME={home}/state"]
    return "\n".join(lines) + "\n" + more


@pytest.mark.skipif(not IS_ROOT, reason="acting as several users: only root can")
def test_what_others_write_is_theirs_alone_and_no_command(machine):
    now = json.loads(machine.run("status", "--json").stdout)["taken_unix_ms"]
    # Somebody was there before the service.
    theirs = machine.folder / "ledger/.new-planned"
    theirs.mkdir()
    os.chown(theirs, OTHER, OTHER)
    (theirs / "at-11111111").write_text(content(machine, OTHER, at=now))
    machine.directory = machine.folder
    machine.service = serve(machine)
    wait_until(lambda: theirs.stat().st_uid == 0 and theirs.stat().st_mode & 0o7777 == 0o1777, "root's own is there")
    assert not (theirs / "at-11111111").exists()
    mark = machine.folder / "told.d/mark"
    # Its owner's name is the kernel's word, whatever it says; none of these words is a request.
    good = content(machine, OWNER, "--devices=1", at=now, more="uid=0\nhome=LD_PRELOAD=/tmp/x.so\nhome=PATH=/tmp\n")
    assert write_as(OWNER, theirs / "at-22222222", good).returncode == 0
    for number, words in enumerate((["--", "touch", mark], ["--hold"], [f"--log={mark}"], ["--begin=at-22222222"], ["; touch", mark])):
        assert write_as(OTHER, theirs / f"at-3333333{number}", content(machine, OTHER, *words, at=now)).returncode == 0
    # Files that another user could have made so: open to others, a link, no end.
    write_as(OTHER, theirs / "at-44444444", content(machine, OTHER, at=now), 0o666)
    (machine.folder / "elsewhere").write_text(content(machine, OTHER, at=now))
    os.symlink(machine.folder / "elsewhere", theirs / "at-55555555")
    os.link(machine.folder / "elsewhere", theirs / "at-66666666")
    os.mkfifo(theirs / "at-77777777")
    write_as(OTHER, theirs / "at-88888888", "berth-planned 1 " + "9" * 70_000)
    wait_until(lambda: machine.lease_of(OWNER), "what is right begins")
    listed = json.loads(machine.run("queue", "--json").stdout)["planned"]
    wait_until(lambda: all(one["failed"] for one in json.loads(machine.run("queue", "--json").stdout)["planned"]),
               "what is no request is refused")
    assert {one["uid"] for one in listed} <= {OWNER, OTHER}
    every = json.loads(machine.run("leases", "--json").stdout)["leases"]
    assert [one["uid"] for one in every] == [OWNER] and not mark.exists()
    keeper = every[0]["keeper"]["pid"]
    status = open(f"/proc/{keeper}/status", encoding="utf-8").read()
    assert f"Uid:\t{OWNER}\t{OWNER}\t{OWNER}\t{OWNER}\n" in status
    assert "\nGroups:\t0" not in status
    environ = open(f"/proc/{keeper}/environ", encoding="utf-8").read()
    assert "LD_PRELOAD" not in environ and "PATH=/tmp" not in environ
    # Nobody takes another's away, or writes it anew.
    assert write_as(OWNER, theirs / "at-99999999", content(machine, OWNER, at=now + 3_600_000)).returncode == 0
    assert write_as(OTHER, theirs / "at-99999999", "x").returncode != 0
    gone = subprocess.run(["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "rm", "-f",
                           theirs / "at-99999999", theirs / "service.lock"], capture_output=True, check=False)
    assert gone.returncode != 0 and (theirs / "at-99999999").exists() and (theirs / "service.lock").exists()
