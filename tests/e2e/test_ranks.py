"""`berth run --ddp`: the ranks meet, and none outlives its launcher. The first that fails is named, one that hangs is
found."""

import functools
import importlib.util
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from conftest import ROOT, FakeDriver, end, many_devices, wait_until

LONG = 120  # what is waited for at most; nothing here is to be quick

# Each rank tells rank 0 who it is, over the port that was chosen, and is told how many came.
MEET = """
import json, os, socket, sys
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(place)
    server.settimeout(100)
    others = [server.accept()[0] for _ in range(size - 1)]
    names = sorted(other.makefile().readline().strip() for other in others)
    for other in others:
        other.sendall(json.dumps(names).encode() + b"\\n")
else:
    for _ in range(2000):
        try:
            other = socket.create_connection(place)
            break
        except ConnectionRefusedError:
            import time
            time.sleep(0.05)
    other.sendall(f"{rank} of {size}\\n".encode())
    names = json.loads(other.makefile().readline())
print("met", names, os.environ["LOCAL_RANK"], os.environ["CUDA_VISIBLE_DEVICES"])
"""

# Waits for ever, and says so; a rank that is to fail does so once all others wait.
WAIT = """
import os, pathlib, signal, sys, time
folder, rank = pathlib.Path(sys.argv[1]), os.environ["RANK"]
def on_term(number, frame):
    with open(folder / f"term-{rank}", "a") as file:
        file.write("x")
    if not (folder / "stubborn").exists():
        sys.exit(3)
signal.signal(signal.SIGTERM, on_term)
(folder / f"pid-{rank}").write_text(str(os.getpid()))
if rank == os.environ.get("FAILS"):
    while len(list(folder.glob("pid-*"))) < int(os.environ["WORLD_SIZE"]):
        time.sleep(0.02)
    print("no such file as I need", flush=True)
    sys.exit(7)
while True:
    time.sleep(0.05)
"""


@pytest.fixture
def ranks(machine):
    folder = machine.directory / "ranks"
    folder.mkdir()
    (folder / "meet.py").write_text(MEET)
    (folder / "wait.py").write_text(WAIT)
    machine.folder = folder
    machine.wait = lambda *options: ["run", "--ddp", "-n", "3", *options, "--", "python3", folder / "wait.py", folder]
    machine.here = lambda: len([one for one in folder.glob("pid-*") if one.read_text()])
    return machine


def show(machine, run="last"):
    done = machine.run("show", run, "--json", timeout=LONG)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lives(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@functools.cache
def kernel_tells_what_is_waited_in():
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        until = time.monotonic() + 10
        told = "0"
        while told == "0" and time.monotonic() < until:
            told = pathlib.Path(f"/proc/{sleeper.pid}/wchan").read_text() or "0"
            time.sleep(0.02)
        sleeper.kill()
    return "nanosleep" in told


needs_wchan = pytest.mark.skipif(
    not kernel_tells_what_is_waited_in(), reason="this kernel does not tell what a process waits in (/proc/PID/wchan)"
)


def pids(machine):
    return [int(text) for one in machine.folder.glob("pid-*") if (text := one.read_text())]


def test_ranks_meet_and_the_record_has_a_table_of_them(ranks):
    done = ranks.run("run", "--ddp", "-n", "3", "--", ranks.folder / "meet.py", timeout=LONG)
    assert done.returncode == 0, done.stderr
    others = str([f"{rank} of 3" for rank in (1, 2)])
    lines = sorted(line for line in done.stdout.splitlines() if "met" in line)
    assert [line.split(" met ")[0] for line in lines] == ["[0]", "[1]", "[2]"]
    assert all(others in line for line in lines)
    devices = {line.rsplit(" ", 1)[1] for line in lines}
    assert len(devices) == 1 and len(devices.pop().split(",")) == 3, "each sees all of the run's devices"
    record = show(ranks)
    table = record["ranks"]
    assert [(one["rank"], one["exit_code"]) for one in table["ranks"]] == [(0, 0), (1, 0), (2, 0)]
    assert table["failed_first"] is None and table["master_port"] > 0
    assert record["command"] == ["python3", str(ranks.folder / "meet.py")] or record["command"][0] == "python"
    assert record["spec"]["ddp"] == "berth"
    text = ranks.run("show", "last").stdout
    assert "Ranks, which meet at 127.0.0.1:" in text and "ended with 0" in text
    of_one = ranks.run("logs", "last", "--rank", "1")
    assert of_one.returncode == 0 and of_one.stdout.startswith("met ")
    refused = ranks.run("logs", "last", "--rank", "3")
    assert refused.returncode == 2 and "ranks 0 to 2" in refused.stderr


def test_two_runs_at_the_same_moment_have_two_ports(ranks):
    both = [
        ranks.start("run", "--ddp", "-n", "2", "--", "python3", ranks.folder / "meet.py") for _ in range(2)
    ]
    for one in both:
        out, err = one.communicate(timeout=LONG)
        assert one.returncode == 0, err
        assert out.count("['1 of 2']") == 2, out


def test_nobody_else_gets_the_port_until_the_run_ends(ranks):
    run = ranks.start(*ranks.wait())
    try:
        wait_until(lambda: ranks.here() == 3, "three ranks", LONG)
        port = show(ranks)["ranks"]["master_port"]
        stranger = socket.socket()  # which does not say SO_REUSEADDR; no rank listens
        with stranger, pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", port))
    finally:
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=LONG)
        end(run)
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", port))


def test_each_rank_is_bound_to_the_cpus_near_its_card_and_counts_its_threads(tmp_path):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    snapshot = many_devices(2)
    for device, cpu in zip(snapshot["devices"], cpus):
        device |= {"cpu_affinity": str(cpu), "numa_node": 0}
    near = {device["id"]: [cpu] for device, cpu in zip(snapshot["devices"], cpus)}
    machine = FakeDriver(tmp_path, snapshot)
    tell = "import os; print(sorted(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'])"
    words = ("--ddp", "-n", "2", "--", sys.executable, "-c", tell)

    def told(*options, env=None):
        done = machine.run("run", *options, *words, env=env or {}, timeout=LONG)
        assert done.returncode == 0, done.stderr
        lines = sorted(done.stdout.splitlines())
        return [json.loads(line[4:line.index("]", 4) + 1]) for line in lines], {line.split()[-1] for line in lines}

    bound, threads = told()
    record = show(machine)
    assert bound == [near[device["id"]] for device in record["given"]["devices"]], record
    assert [one["cpus"] for one in record["ranks"]["ranks"]] == [str(one) for [one] in bound]
    assert threads == {str(max(len(cpus) // 2, 1))}
    free, threads = told("--no-bind", env={"OMP_NUM_THREADS": "7"})
    assert free == [cpus, cpus] and threads == {"7"}


def test_the_first_that_fails_is_named_and_the_others_are_ended(ranks):
    done = ranks.run(*ranks.wait(), env={"FAILS": "1"}, timeout=LONG)
    assert done.returncode == 7, done.stderr
    assert "rank 1 ended first, with exit code 7; the others are ended" in done.stderr
    log = re.search(r"Its output: (\S+)", done.stderr)[1]
    assert "no such file as I need" in pathlib.Path(log).read_text()
    assert "[1] no such file as I need" in done.stdout
    table = show(ranks)["ranks"]
    assert table["failed_first"] == 1
    assert [one["exit_code"] for one in table["ranks"]] == [3, 7, 3]
    assert {(ranks.folder / f"term-{rank}").read_text() for rank in (0, 2)} == {"x"}, "each is asked once"
    assert not any(map(lives, pids(ranks)))
    why = ranks.run("explain", "last", timeout=LONG)
    assert "rank 1 ended first, with exit code 7" in why.stdout
    assert "no such file as I need" in why.stdout, "the log that is read is that rank's"


def test_who_does_not_end_is_killed(ranks):
    (ranks.folder / "stubborn").touch()
    started = ranks.start(*ranks.wait("--detach"), env={"FAILS": "2"})
    run = started.communicate(timeout=LONG)[0].strip()
    assert ranks.run("wait", "-q", run, timeout=LONG).returncode == 7
    assert [one["signal"] for one in show(ranks, run)["ranks"]["ranks"]] == [signal.SIGKILL, signal.SIGKILL, None]
    assert "killed: 0, 1" in ranks.run("logs", run).stdout


def test_a_signal_reaches_each_rank_once(ranks):
    run = ranks.start(*ranks.wait())
    try:
        wait_until(lambda: ranks.here() == 3, "three ranks", LONG)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=LONG)
        assert run.returncode == 3
        assert [(ranks.folder / f"term-{rank}").read_text() for rank in range(3)] == ["x", "x", "x"]
        assert show(ranks)["ranks"]["failed_first"] is None, "its end was wanted"
    finally:
        end(run)


def test_no_rank_outlives_the_process_that_started_it(ranks):
    run = ranks.start(*ranks.wait())
    try:
        wait_until(lambda: ranks.here() == 3, "three ranks", LONG)
        of_ranks = pids(ranks)
        os.kill(show(ranks)["job"]["pid"], signal.SIGKILL)
        run.communicate(timeout=LONG)
        assert run.returncode == -signal.SIGKILL
        wait_until(lambda: not any(map(lives, of_ranks)), "the ranks' end", LONG)
    finally:
        end(run)


def test_stop_asks_each_rank_once(ranks):
    run = ranks.run(*ranks.wait("--detach"), timeout=LONG).stdout.strip()
    wait_until(lambda: ranks.here() == 3, "three ranks", LONG)
    stopped = ranks.run("stop", run, timeout=LONG)
    assert stopped.returncode == 0, stopped.stderr
    assert [(ranks.folder / f"term-{rank}").read_text() for rank in range(3)] == ["x", "x", "x"]
    record = show(ranks, run)
    assert record["end"]["because"] == "stopped" and record["ranks"]["failed_first"] is None


def test_a_port_that_is_taken_is_named(ranks):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = ranks.run(*ranks.wait(), env={"MASTER_PORT": str(port)}, timeout=LONG)
    assert done.returncode == 125, done.stderr
    assert f"TCP port {port} (MASTER_PORT) is taken" in done.stderr
    assert ranks.here() == 0


@needs_wchan
def test_a_rank_that_does_not_come_is_named(ranks):
    run = ranks.run(
        *("run", "--ddp", "-n", "3", "--detach", "--", "sh", "-c"),
        'test $RANK != 1 || exec sleep 1000; exec python3 "$0"',
        ranks.folder / "meet.py",
        timeout=LONG,
    ).stdout.strip()
    try:
        # Rank 2 waits for what rank 0 says, and that for rank 1. Rank 0 may be the last who comes there.
        told = "rank 1 has not come to where the ranks meet, and ranks 0, 2 are there"
        why = wait_until(
            lambda: told in (got := ranks.run("explain", run, "--seconds", "1", timeout=LONG)).stdout and got,
            "the rank that does not come",
            LONG,
        )
        assert f"berth logs {run} --rank 1" in why.stdout
        said = json.loads(ranks.run("explain", run, "--json", timeout=LONG).stdout)
        assert said["findings"][0]["rule"] == "rank_hang" and said["ended_well"] is None, "it has not ended"
    finally:
        ranks.run("stop", run, "--grace", "1s", timeout=LONG)


def test_cards_that_are_busy_and_draw_little_tell_who_waits(tmp_path):
    """As a rank that waits in a kernel of NCCL: its process tells nothing of it."""
    snapshot = many_devices(3)
    machine = FakeDriver(tmp_path, snapshot)
    machine.env["BERTH_FAKE_NVML_LIVE"] = "1"
    started = machine.run("run", "--ddp", "-n", "3", "--detach", "--", "sleep", "1000", timeout=LONG)
    run = started.stdout.strip()
    try:
        given = wait_until(lambda: (one := show(machine, run)).get("ranks") and one, "its ranks", LONG)["given"]
        of_rank = {device["id"]: rank for rank, device in enumerate(given["devices"])}
        for device in snapshot["devices"]:
            works = of_rank[device["id"]] == 1
            device |= {"utilization_gpu_percent": 100, "power_limit_milliwatts": 700000,
                       "power_draw_milliwatts": 630000 if works else 70000}
        (tmp_path / "new.json").write_text(json.dumps(snapshot), encoding="utf-8")
        (tmp_path / "new.json").rename(tmp_path / "played.json")
        why = machine.run("explain", run, timeout=LONG)
        assert "ranks 0, 2 wait, and rank 1 does not" in why.stdout, why.stdout + why.stderr
        assert "its card is busy at 100 % and draws 10 % of its limit" in " ".join(why.stdout.split())
    finally:
        machine.run("stop", run, "--grace", "1s", timeout=LONG)


GLOO = """
import os, sys, time, traceback
import torch, torch.distributed as dist
if os.environ["RANK"] == "1" and sys.argv[1:] == ["stay away"]:
    print("late", flush=True)
    time.sleep(1000)
dist.init_process_group("gloo")
ones = torch.ones(1)
dist.all_reduce(ones)
print("ranks", int(ones.item()), flush=True)
if dist.get_rank() == 1 and sys.argv[1:] == ["hang"]:
    time.sleep(1000)
if dist.get_rank() == 1 and sys.argv[1:] == ["die"]:
    try:
        raise ValueError("no such data as I need")
    except ValueError:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)  # with its sockets, not long after them: the others end by what they lose
dist.all_reduce(ones)
"""

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="python3-torch is not installed")


def gloo(ranks, *mode):
    (ranks.folder / "gloo.py").write_text(GLOO)
    return ["--ddp", "-n", "3", "--", sys.executable, ranks.folder / "gloo.py", *mode]


@needs_torch
def test_a_real_rank_of_pytorch_that_dies_is_named_before_those_that_lose_it(ranks):
    done = ranks.run("run", *gloo(ranks, "die"), timeout=LONG)
    assert done.returncode == 1, done.stderr
    # The others fail in all_reduce, which tells of a closed connection, or are ended.
    assert "rank 1 ended first, with exit code 1; the others are ended" in done.stderr
    assert "no such data as I need" in ranks.run("explain", "last", timeout=LONG).stdout


@needs_wchan
@needs_torch
def test_a_real_rank_of_pytorch_that_never_joins_is_named(ranks):
    run = ranks.run("run", "--detach", *gloo(ranks, "stay away"), timeout=LONG).stdout.strip()
    try:
        wait_until(lambda: "late" in ranks.run("logs", run).stdout, "the rank that stays away", LONG)
        wait_until(
            lambda: "rank 1 has not come to where the ranks meet, and ranks 0, 2 are there"
            in ranks.run("explain", run, timeout=LONG).stdout,
            "the rank that does not come",
            LONG,
        )
    finally:
        ranks.run("stop", run, "--grace", "1s", timeout=LONG)


@needs_wchan
@needs_torch
def test_real_ranks_of_pytorch_meet_and_the_one_that_hangs_is_named(ranks):
    words = gloo(ranks)
    done = ranks.run("run", *words, timeout=LONG)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] ranks 3" for rank in range(3)]
    run = ranks.run("run", "--detach", *words, "hang", timeout=LONG).stdout.strip()
    try:
        wait_until(lambda: ranks.run("logs", run).stdout.count("ranks 3") == 3, "three ranks that have met", LONG)
        wait_until(
            lambda: "ranks 0, 2 wait, and rank 1 does not" in ranks.run("explain", run, timeout=LONG).stdout,
            "the rank that sleeps",
            LONG,
        )
    finally:
        ranks.run("stop", run, "--grace", "1s", timeout=LONG)


def test_stop_shows_where_each_rank_stands(ranks):
    run = ranks.run(*ranks.wait("--detach"), timeout=LONG).stdout.strip()
    wait_until(lambda: ranks.here() == 3, "three ranks", LONG)
    stopped = ranks.run("stop", "--stacks", run, env={"PATH": "/usr/bin:/bin"}, timeout=LONG)
    assert stopped.returncode == 0, stopped.stderr
    for rank in range(3):
        assert f"rank {rank}, process " in stopped.stdout
        log = ranks.run("logs", run, "--rank", str(rank)).stdout
        assert "Fatal Python error: Aborted" in log and "wait.py" in log
    assert show(ranks, run)["end"]["because"] == "stopped"


def test_a_py_spy_that_is_there_shows_where_each_rank_stands_and_ends_none(ranks):
    spy = ROOT / "build/peers/python-tools/bin"
    if not (spy / "py-spy").exists():
        pytest.skip("no py-spy in build/peers/python-tools: ./dev test --long installs it")
    run = ranks.run(*ranks.wait("--detach"), timeout=LONG).stdout.strip()
    wait_until(lambda: ranks.here() == 3, "three ranks", LONG)
    stopped = ranks.run("stop", "--stacks", run, env={"PATH": f"{spy}:/usr/bin:/bin"}, timeout=LONG)
    assert stopped.returncode == 0, stopped.stderr
    if "waits in" in stopped.stdout:
        pytest.skip("py-spy may not look into other processes here")
    for rank in range(3):
        shown = stopped.stdout.partition(f"rank {rank}, process ")[2].partition("rank ")[0]
        assert "<module> (" in shown and "wait.py:" in shown, stopped.stdout
        assert "Fatal Python error" not in ranks.run("logs", run, "--rank", str(rank)).stdout
        assert (ranks.folder / f"term-{rank}").read_text() == "x", "it ended by TERM, as it pleased"


def test_the_recorders_dumps_name_who_is_behind(ranks):
    dumps = pathlib.Path(__file__).parents[1] / "data" / "fuzz" / "flight_recorder"
    job = (
        f'test $RANK = 1 && dump=behind_2 || dump=waiting_2; cp {dumps}/$dump "$TORCH_FR_DUMP_TEMP_FILE$RANK"; exit 1'
    )
    done = ranks.run("run", "--ddp", "-n", "2", "--", "sh", "-c", f"{job}", timeout=LONG)
    assert done.returncode == 1
    folder = pathlib.Path(show(ranks)["directory"])
    for rank, name in ((0, "waiting_2"), (1, "behind_2")):
        (folder / f"fr_{rank}").write_bytes((dumps / name).read_bytes())
    why = ranks.run("explain", "last", timeout=LONG).stdout
    assert "rank 1 has not entered the operation that the others wait in" in why
    assert "train.py:41 in step" in why
    (folder / "fr_0").write_bytes((dumps / "would_run").read_bytes())
    why = ranks.run("explain", "last", timeout=LONG)
    assert "the dump of rank 0 is not read" in why.stderr and "not for plain data" in why.stderr


def test_without_a_device_ranks_run_on_the_cpu(ranks):
    done = ranks.run("run", "--ddp", "--cpu", "-n", "2", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE", timeout=LONG)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[0] rank 0 of 2", "[1] rank 1 of 2"]


def test_only_the_first_rank_has_what_is_piped_in(ranks):
    done = subprocess.run(
        ranks.command("run", "--ddp", "-n", "2", "--", "sh", "-c", 'echo "got $(cat)"'),
        env=ranks.env, input="words", text=True, capture_output=True, timeout=LONG,
    )  # fmt: skip
    assert sorted(done.stdout.splitlines()) == ["[0] got words", "[1] got "], done.stderr


def test_torchrun_is_started_on_request(ranks):
    tools = ranks.directory / "tools"
    tools.mkdir()
    (tools / "torchrun").write_text("#!/bin/sh\necho torchrun \"$@\"\n")
    (tools / "torchrun").chmod(0o755)
    path = {"PATH": f"{tools}:{ranks.env['PATH']}"}
    done = ranks.run("run", "--ddp=torchrun", "-n", "2", "--", "python3", "-u", "train.py", "--lr", "1", env=path)
    assert done.stdout == "torchrun --standalone --nproc_per_node=2 train.py --lr 1\n", done.stderr


def test_a_container_is_refused(ranks):
    done = ranks.run("run", "--ddp", "-n", "2", "--", "docker", "run", "image")
    assert done.returncode == 125 and "--ddp cannot start ranks in a container" in done.stderr
