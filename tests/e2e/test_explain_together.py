"""Why did it die, where others had a part in it: who shared its GPU, and the other ranks."""

import json
import pathlib
import subprocess

import pytest
from aftermath import runs
from conftest import FakeDriver, end, many_devices, wait_until
from test_explain import detached, explained, rules
from test_top import play
from test_two_users import IS_ROOT, words_as

GIB = 1 << 30
OTHER = 54321
SHORT = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which "
    "1.00 GiB is free. Including non-PyTorch memory, this process has 3.00 GiB memory in use. Of the allocated memory 2.50 GiB "
    "is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated."
)


class Shared(FakeDriver):
    """A card of 24 GiB on which a job of ours and somebody else's process are."""

    def __init__(self, directory):
        self.snapshot = many_devices(1)
        super().__init__(directory, self.snapshot)
        self.env["BERTH_FAKE_NVML_LIVE"] = "1"
        self.job = self.record = None

    def use(self, theirs, their_gib, our_gib=3):
        device = self.snapshot["devices"][0]
        used = (their_gib + our_gib) * GIB
        device |= {"memory_total_bytes": 24 * GIB, "memory_used_bytes": used, "memory_free_bytes": 24 * GIB - used,
                   "memory_reserved_bytes": 0}
        pids = {theirs: their_gib} | ({self.job: our_gib} if self.job else {})
        self.snapshot["gpu_processes"] = [
            {"device": device["id"], "pid": pid, "type": "C", "memory_used_bytes": gib * GIB} for pid, gib in pids.items()]
        play(self, self.snapshot)

    def samples(self):
        if not self.record:
            [record] = runs(self)["runs"]
            self.record = pathlib.Path(record["directory"])
        file = self.record / "samples"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return sum(line.startswith('{"t"') for line in lines)

    def sampled(self, count):
        until = self.samples() + count
        wait_until(lambda: self.samples() >= until, "it has been sampled some more", 60)


@pytest.fixture
def shared(tmp_path):
    return Shared(tmp_path)


@pytest.fixture
def theirs():
    process = subprocess.Popen([*(words_as(OTHER) if IS_ROOT else []), "sleep", "600"])
    yield process.pid
    end(process)


def died_of_memory(shared, theirs, before, after):
    """A run on a card where the other process held so much, and in the end so much (GiB)."""
    word, pid = shared.directory / "die", shared.directory / "pid"
    script = f"echo $$ > {pid}; while ! test -e {word}; do sleep 0.1; done; echo '{SHORT}' >&2; exit 1"
    shared.use(theirs, before, 0)
    started = shared.run("run", "-d", "--memory", "10G", "--max-utilization", "100", "--", "sh", "-c", script)
    assert started.returncode == 0, started.stderr
    wait_until(lambda: pid.exists() and pid.read_text().strip(), "the job runs", 20)
    shared.job = int(pid.read_text())
    shared.use(theirs, before)
    shared.sampled(6)
    shared.use(theirs, after)
    shared.sampled(6)
    word.touch()
    run = started.stdout.strip()
    assert shared.run("wait", run).returncode == 1
    return explained(shared, run)[1]


def test_the_neighbour_who_grew_is_named(shared, theirs):
    answer = died_of_memory(shared, theirs, 4, 20)
    assert "neighbour_grew" in rules(answer), answer
    found = next(one for one in answer["findings"] if one["rule"] == "neighbour_grew")
    evidence = " ".join(found["evidence"])
    assert "GPU 0 grew from 4.0 GiB to 20.0 GiB" in evidence, evidence
    if IS_ROOT:
        assert f"processes of {OTHER} there: from 4.0 GiB to 20.0 GiB" in evidence, evidence


def test_a_neighbour_who_was_there_all_the_time_is_not_blamed(shared, theirs):
    answer = died_of_memory(shared, theirs, 12, 12)
    assert "neighbour_grew" not in rules(answer) and rules(answer), answer


# -------------------------------------------------------------------------------------- ranks

WATCHDOG = (
    "[rank{rank}]:[E1120 10:00:01.000 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out."
)


def rank(machine, number, port, script):
    env = {"RANK": str(number), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    started = machine.run("run", "-d", "--cpu", "--", "sh", "-c", script, env=env)
    assert started.returncode == 0, started.stderr
    return started.stdout.strip()


def ranks_of(machine, ports):
    """The second of two ranks ended by itself at once. The first gave up waiting for it 4 s later."""
    gone = machine.directory / "gone"
    waits = f"while ! test -e {gone}; do sleep 0.1; done; sleep 4; echo '{WATCHDOG.format(rank=0)}' >&2; exit 1"
    first = rank(machine, 0, ports[0], waits)
    second = rank(machine, 1, ports[1], "sleep 1; kill -SEGV $$")
    machine.run("wait", second)
    gone.touch()
    machine.run("wait", first, timeout=60)
    return first, second


def test_the_rank_that_ended_first_is_found_among_the_other_records(machine):
    first, second = ranks_of(machine, (29511, 29511))
    answer = explained(machine, first)[1]
    assert rules(answer) == ["nccl_timeout", "rank_ended_first"], json.dumps(answer["findings"], indent=1)
    found = answer["findings"][1]
    assert found["title"] == "another rank of the job ended first: rank 1" and found["doubt"] is None
    assert f"rank 1 (run {second}) was ended by SIGSEGV (11)" in found["evidence"][0], found
    assert found["steps"][0]["command"] == f"berth explain {second}"
    assert "rank_ended_first" not in rules(explained(machine, second)[1]), "it was the first itself"


def test_ranks_of_another_job_are_not_its_own(machine):
    first, second = ranks_of(machine, (29512, 29513))
    answer = explained(machine, first)[1]
    assert "rank_ended_first" not in rules(answer) and second not in json.dumps(answer["findings"]), answer


def test_a_start_script_that_asked_for_a_gpu_in_vain_is_not_the_cause(machine):
    said = ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nrunning on the CPU\n"
            "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\nRuntimeError: size mismatch\n")
    run = machine.run("run", "-d", "--cpu", "--", "sh", "-c", f"cat <<'EOF'\n{said}EOF\nexit 1").stdout.strip()
    waited = machine.run("wait", run)
    assert waited.returncode == 1 and "nvidia-smi" not in waited.stderr, waited.stderr
    answer = explained(machine, run)[1]
    assert rules(answer) == ["driver_unreachable", "last_lines"] and answer["findings"][0]["severity"] == "warning", answer
    assert "RuntimeError: size mismatch" in json.dumps(answer["findings"]), answer


def test_a_log_of_another_systems_editor_is_read(machine):
    log = machine.directory / "log.txt"
    for encoding in ("utf-16", "utf-16-be", "utf-16-le"):
        mark = {"utf-16-be": b"\xfe\xff", "utf-16-le": b"\xff\xfe"}.get(encoding, b"")
        log.write_bytes(mark + f"step 1\r\n{SHORT}\r\n".encode(encoding))
        assert any("oom" in rule or "memory" in rule for rule in rules(explained(machine, "--log", log)[1])), encoding
