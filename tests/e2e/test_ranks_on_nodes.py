"""`berth run --ddp --nodes 2 --on slurm`: the ranks of two nodes of a real Slurm meet, fail and end as one job's."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from aftermath import show
from conftest import Machine
from engines import need_root
from slurm_site import LONG, NODES, RELEASES, Slurm, wait_until
from test_ranks import GLOO, MEET, WAIT, lives, needs_torch, pids


# The newer one takes minutes more: ./dev test --long has both.
@pytest.fixture(scope="module", params=list(RELEASES) if os.environ.get("BERTH_LONG") else ["22.05"])
def site(request):
    made = Slurm(request.param)
    yield made
    made.close()


@pytest.fixture
def machine(tmp_path, site):
    made = Machine(tmp_path)
    folder = tmp_path / "ranks"
    for name in ("", *NODES):
        (tmp_path / "ledgers" / name).mkdir(exist_ok=True, parents=True)
    folder.mkdir()
    (folder / "meet.py").write_text(MEET)
    (folder / "wait.py").write_text(WAIT)
    made.folder = folder
    made.env |= site.env | {"LEDGER_OF_EACH_NODE": str(tmp_path / "ledgers"), "MASTER_ADDR": "127.0.0.1"}
    made.patience = LONG
    yield made
    site.cancel_all()
    wait_until(site.is_up, "the nodes are idle again")


def whole_run(machine):
    """Not what it started on the other node, which is named after it."""
    all_of_them = json.loads(machine.run("runs", "--json").stdout)["runs"]
    whole = [one["id"] for one in all_of_them if " node " not in one["spec"].get("name", "")]
    assert len(whole) == 1 and len(all_of_them) == 2, [one["spec"] for one in all_of_them]
    return whole[0]


def ledger_of(machine, node):
    return {"BERTH_LEDGER": str(machine.directory / "ledgers" / node)}


def table(machine, run="last"):
    return show(machine, run)["ranks"]


def run_ranks(machine, *command, env=None, options=()):
    return machine.run("run", "--on", "slurm", "--ddp", "-n", "2", "--nodes", "2", *options, "--", sys.executable, *command,
                       env=env or {}, timeout=4 * LONG)


def test_ranks_of_two_nodes_meet_and_stand_in_one_table(machine):
    done = run_ranks(machine, machine.folder / "meet.py")
    assert done.returncode == 0, done.stderr + done.stdout
    others = str([f"{rank} of 4" for rank in (1, 2, 3)])
    lines = sorted(line for line in done.stdout.splitlines() if " met " in line)
    assert [line.split(" met ")[0] for line in lines] == ["[0]", "[1]", "[2]", "[3]"], done.stdout
    assert all(others in line for line in lines)
    assert [line.split("] ")[-1].split()[0] for line in lines] == ["0", "1", "0", "1"], "LOCAL_RANK, on each node from 0"
    run = whole_run(machine)
    of_all = table(machine, run)
    assert [(one["rank"], one["node"], one["exit_code"]) for one in of_all["ranks"]] == [
        (0, None, 0), (1, None, 0), (2, "n2", 0), (3, "n2", 0)]
    shown = machine.run("show", run).stdout
    assert "n2" in shown.partition("Ranks, which meet at 127.0.0.1:")[2]
    of_one = machine.run("logs", run, "--rank", "3")
    assert of_one.stdout.startswith("met "), of_one.stderr


@needs_torch
def test_real_ranks_of_pytorch_meet_on_two_nodes(machine):
    (machine.folder / "gloo.py").write_text(GLOO)
    done = run_ranks(machine, machine.folder / "gloo.py")
    assert done.returncode == 0, done.stderr + done.stdout
    assert sorted(line for line in done.stdout.splitlines() if " ranks " in line) == [
        f"[{rank}] ranks 4" for rank in range(4)]


def torchrun(machine, program, *words, **env):
    """Debian 12's reads its own defaults for `-r` and `-t` under Python 3.11 as nothing."""
    (machine.folder / "program.py").write_text(program)
    return machine.run("run", "--on", "slurm", "--ddp=torchrun", "-n", "2", "--nodes", "2", "--", sys.executable,
                       machine.folder / "program.py", *words, timeout=4 * LONG,
                       env={"PET_REDIRECTS": "9:1", "PET_TEE": "9:1"} | env)


@needs_torch
def test_torchrun_of_each_node_starts_its_ranks_and_they_meet(machine):
    # In one write: the ranks of a node have one pipe, and torchrun has Python write unbuffered.
    place = 'os.write(1, " ".join([*map(os.environ.get, ["RANK", "LOCAL_RANK", "GROUP_RANK"]), "ranks", '
    told = GLOO.replace('print("ranks", int(ones.item()), flush=True)', place + 'f"{int(ones.item())}\\n"]).encode())')
    done = torchrun(machine, told)
    assert done.returncode == 0, done.stderr + done.stdout
    assert sorted(line for line in done.stdout.splitlines() if " ranks " in line) == [
        "0 0 0 ranks 4", "1 1 0 ranks 4", "2 0 1 ranks 4", "3 1 1 ranks 4"], done.stdout
    run = show(machine, whole_run(machine))
    assert run.get("ranks") is None, "they are torchrun's"
    assert run["spec"]["ddp"] == "torchrun" and run["command"][-1].endswith("program.py")


@needs_torch
def test_torchrun_whose_rank_fails_on_the_other_node_is_named_and_all_are_ended(machine):
    """One that waits in silence would wait for 300 s: torchrun itself waits for the other nodes' so long."""
    program = GLOO.replace("dist.get_rank() == 1", "dist.get_rank() == 3")
    done = torchrun(machine, program, "die")
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert re.search("torchrun of node [01] ended first, with exit code 1; the others are ended", said), said
    assert "no such data as I need" in said
    why = machine.run("explain", whole_run(machine), timeout=LONG).stdout
    assert "no such data as I need" in why, why


@pytest.mark.parametrize("failing", ["1", "3"])
def test_the_first_that_fails_is_named_on_whichever_node_and_all_are_ended(machine, failing):
    done = run_ranks(machine, machine.folder / "wait.py", machine.folder, env={"FAILS": failing})
    assert done.returncode == 7, done.stderr + done.stdout
    assert f"rank {failing} ended first, with exit code 7; the others are ended" in done.stdout + done.stderr
    run = whole_run(machine)
    of_all = table(machine, run)
    assert of_all["failed_first"] == int(failing)
    assert sorted(one["exit_code"] for one in of_all["ranks"]) == [3, 3, 3, 7]
    terms = {rank: (machine.folder / f"term-{rank}").read_text() for rank in "0123" if rank != failing}
    assert set(terms.values()) == {"x"}, terms
    assert not any(map(lives, pids(machine)))
    why = machine.run("explain", run, timeout=LONG).stdout
    assert f"rank {failing} ended first" in why and "no such file as I need" in why


def test_stop_asks_the_ranks_of_both_nodes(machine):
    run = machine.run("submit", "--ddp", "-n", "2", "--nodes", "2", "--", "python3", machine.folder / "wait.py",
                      machine.folder).stdout.strip()
    wait_until(lambda: len(pids(machine)) == 4, "all four ranks wait")
    for node in NODES:
        held = json.loads(machine.run("leases", "--json", env=ledger_of(machine, node)).stdout)["leases"]
        assert len(held) == 1 and len(held[0]["devices"]) == 2, "the cards of each node are claimed in its own ledger"
    assert machine.run("stop", run, timeout=LONG).returncode == 0
    machine.run("wait", "-q", run, timeout=LONG)
    assert [one["exit_code"] for one in table(machine, run)["ranks"]] == [3, 3, 3, 3]
    assert not any(map(lives, pids(machine)))


# At TERM it takes its time, and leaves a mark. Slurm asks each process itself, so that berth's word is the second.
SAVES = """
import os, pathlib, signal, sys, time
folder, rank = pathlib.Path(sys.argv[1]), os.environ["RANK"]
def on_term(number, frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1.5)
    (folder / f"term-{rank}").touch()
    sys.exit(3)
signal.signal(signal.SIGTERM, on_term)
(folder / f"pid-{rank}").write_text(str(os.getpid()))
while True:
    time.sleep(0.05)
"""


@pytest.mark.parametrize("words", [(), ("--batch", "--signal=TERM")], ids=["all of it", "the batch step"])
def test_slurms_own_cancel_leaves_the_ranks_of_both_nodes_time(machine, site, words):
    (machine.folder / "saves.py").write_text(SAVES)
    run = machine.run("submit", "--ddp", "-n", "2", "--nodes", "2", "--", "python3", machine.folder / "saves.py",
                      machine.folder).stdout.strip()
    wait_until(lambda: len(pids(machine)) == 4, "all four ranks wait")
    job = json.loads(pathlib.Path(show(machine, run)["directory"], "slurm.json").read_text())["job"]
    site("scancel", *words, job)
    machine.run("wait", "-q", run, timeout=LONG)
    assert [one["exit_code"] for one in table(machine, run)["ranks"]] == [3, 3, 3, 3], machine.run("logs", run).stdout
    assert len(list(machine.folder.glob("term-*"))) == 4, "each could end in its own time"
    assert not any(map(lives, pids(machine)))


def test_stop_from_another_machine_asks_the_ranks_of_both_nodes(machine):
    need_root()
    run = machine.run("submit", "--ddp", "-n", "2", "--nodes", "2", "--", "python3", machine.folder / "wait.py",
                      machine.folder).stdout.strip()
    wait_until(lambda: len(pids(machine)) == 4, "all four ranks wait")
    # By these two it is told that a record is another machine's.
    (machine.folder / "other").write_text("0" * 8 + "-0000-0000-0000-" + "0" * 12 + "\n")
    elsewhere = f"""mount --bind {machine.folder}/other /proc/sys/kernel/random/boot_id &&
        for file in /etc/machine-id /var/lib/dbus/machine-id; do
          [ ! -s $file ] || mount --bind {machine.folder}/other $file || exit; done; exec "$@" """
    words = ["unshare", "--mount", "sh", "-c", elsewhere, "sh", *machine.command("stop", run)]
    stopped = subprocess.run(words, env=machine.env, text=True, capture_output=True, timeout=LONG, check=False)
    assert stopped.returncode == 0, stopped.stderr
    machine.run("wait", "-q", run, timeout=LONG)
    assert [one["exit_code"] for one in table(machine, run)["ranks"]] == [3, 3, 3, 3], "each could end in its own time"
    assert {(machine.folder / f"term-{rank}").read_text() for rank in "0123"} == {"x"}, "it is asked once"
    assert not any(map(lives, pids(machine)))


def test_a_node_whose_cards_somebody_has_is_named(machine):
    there = ledger_of(machine, "n2") | {"SLURM_JOB_ID": "9", "SLURM_STEP_GPUS": "0,1", "SLURMD_NODENAME": "n2"}
    held = machine.run("run", "-d", "-n", "2", "--", "sleep", "600", env=there)
    assert held.returncode == 0, held.stderr
    done = run_ranks(machine, machine.folder / "wait.py", machine.folder)
    assert done.returncode == 124, done.stderr + done.stdout
    assert "node 1 ended first, with exit code 124" in done.stdout + done.stderr
    assert "leased to" in done.stdout + done.stderr and "sleep 600" in done.stdout + done.stderr, done.stdout
    assert not any(map(lives, pids(machine)))
    assert machine.run("stop", held.stdout.strip()).returncode == 0


@pytest.mark.parametrize("words, why", [
    (("--ddp", "--nodes", "2"), "add --on slurm"),
    (("--nodes", "2", "--on", "slurm"), "add --ddp"),
    (("--ddp", "--nodes", "0"), "number of nodes"),
])
def test_what_cannot_be_spread_is_refused(machine, words, why):
    done = machine.run("run", *words, "--", "true")
    assert done.returncode == 125 and why in done.stderr, done.stderr
