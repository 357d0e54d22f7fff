"""The shim and MPS before a job's driver, on the stand-in runtime and the fake driver. The job is a program of the CUDA
runtime that knows nothing of either."""

import json
import pathlib
import re
import subprocess

import pytest
from aftermath import runs, show
from conftest import BUILD, FakeDriver, many_devices

GIB, MIB = 1 << 30, 1 << 20
FAKES = BUILD / "fakes"
# Takes memory in pieces until it is refused, gives it back, and takes it once more.
PROGRAM = """
import ctypes, json, os, sys, time
cuda = ctypes.CDLL(sys.argv[1])

def fill(piece=64 << 20):
    held, code = [], 0
    while code == 0:
        memory = ctypes.c_void_p()
        code = cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(piece))
        if code == 0: held.append(memory)
    return held, code

free, total = ctypes.c_size_t(), ctypes.c_size_t()
held, code = fill()
cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
told = {"first": len(held) * (64 << 20), "code": code, "free": free.value, "total": total.value}
for memory in held: assert cuda.cudaFree(memory) == 0
held, _ = fill()
told |= {"second": len(held) * (64 << 20), "preload": os.environ.get("LD_PRELOAD"),
         "limit": os.environ.get("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT")}
print(json.dumps(told))
"""


class Card(FakeDriver):
    """One card of 80 GiB whose CUDA is played, too."""

    def __init__(self, directory):
        snapshot = many_devices(1)
        super().__init__(directory, snapshot)
        [device] = snapshot["devices"]
        self.env |= {
            "BERTH_FAKE_CUDA": f"{device['uuid'][4:].replace('-', '')}={device['name']}={80 * GIB}"
                               f"={device['pci_address'][4:]}={device['compute_capability']}",
            "BERTH_FAKE_CUDA_MEMORY": str(directory / "memory"),
            "LD_LIBRARY_PATH": str(FAKES / "cuda"),
            "XDG_CACHE_HOME": str(directory / "cache"),
        }
        self.pipes = directory / "mps"
        self.program = directory / "program.py"
        self.program.write_text(PROGRAM, encoding="utf-8")

    def serve_mps(self):
        self.pipes.mkdir()
        (self.pipes / "control").touch()
        self.env["CUDA_MPS_PIPE_DIRECTORY"] = str(self.pipes)

    def take(self, *options, **how):
        """(what the program told, the run's record, what berth said)"""
        done = self.run("run", *options, "--", "/usr/bin/python3", self.program, FAKES / "cudart/libcudart.so.12",
                        timeout=60, **how)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), show(self), done.stderr


@pytest.fixture
def card(tmp_path):
    return Card(tmp_path)


def test_the_shim_refuses_what_goes_beyond_the_share_and_the_record_says_so(card):
    told, record, said = card.take("--memory", "2G")
    assert told["code"] == 2, "CUDA_ERROR_OUT_OF_MEMORY"
    assert 2 * GIB - 256 * MIB < told["first"] <= 2 * GIB
    assert (told["second"], told["total"]) == (told["first"], 2 * GIB) and told["free"] < 64 * MIB
    assert "limited by the shim" in said.splitlines()[0], said
    cap = record["cap"]
    assert cap["tier"] == "shim" and set(cap["not_held_by"]) == {"kernel", "mps"}
    [device] = cap["devices"]
    assert device["refusals"] == 2
    assert told["first"] <= device["highest_charge_bytes"] <= 2 * GIB
    assert re.search(r"refused allocations: 2", card.run("show", env={"COLUMNS": "200"}).stdout)
    names = dict(record["variables_set"])
    assert "LD_PRELOAD" in names and "LD_LIBRARY_PATH" in names


@pytest.mark.parametrize(("refused", "died_of"), [(True, "out of GPU memory"), (False, None)])
def test_a_job_that_was_refused_and_failed_died_of_it_without_a_word_in_a_log(card, refused, died_of):
    card.program.write_text(f"{PROGRAM if refused else ''}\nraise SystemExit(1)\n", encoding="utf-8")
    words = ["--", "/usr/bin/python3", card.program, FAKES / "cudart/libcudart.so.12"]
    assert card.run("run", "--memory", "2G", *words, timeout=60).returncode == 1
    assert show(card)["end"]["died_of"] == died_of
    # A job may end before the first look at its account: then the account alone has counted.
    for seen in pathlib.Path(card.env["XDG_STATE_HOME"]).glob("berth/runs/*/cap.json"):
        seen.unlink()
    assert ("refused allocations: 2" in card.run("explain", "last", env={"COLUMNS": "400"}).stdout) is refused


def test_what_a_context_took_before_is_charged_from_the_start(card):
    host = json.loads(card.run("status", "--json").stdout)
    size = {"device": host["devices"][0]["name"], "driver_version": host["host"]["driver_version"], "bytes": 516 * MIB}
    state = pathlib.Path(card.env["XDG_STATE_HOME"]) / "berth"
    state.mkdir(parents=True, exist_ok=True)
    (state / "contexts.json").write_text(json.dumps({"berth_contexts": 1, "contexts": [size]}), encoding="utf-8")
    told, _, _ = card.take("--memory", "2G")
    assert told["code"] == 2 and 2 * GIB - 580 * MIB < told["first"] <= 2 * GIB - 516 * MIB, told
    # A driver of another version may take more or less.
    size["driver_version"] = "1.2.3"
    (state / "contexts.json").write_text(json.dumps({"berth_contexts": 1, "contexts": [size]}), encoding="utf-8")
    assert card.take("--memory", "2G")[0]["first"] > 2 * GIB - 256 * MIB


def test_a_weaker_tier_by_name_sets_nothing_of_the_shim(card):
    told, record, said = card.take("--memory", "2G", "--cap", "watchdog")
    assert told["first"] > 70 * GIB and told["preload"] is None
    assert record["cap"]["tier"] == "watchdog" and "limited by the watchdog" in said


def test_a_job_may_switch_the_shim_off_for_all_of_it(card):
    told, record, _ = card.take("--memory", "2G", env={"BERTH_GUARD": "off"})
    assert told["first"] > 70 * GIB and told["preload"] is None
    assert record["cap"]["tier"] == "watchdog" and "BERTH_GUARD" in record["cap"]["not_held_by"]["shim"]


def test_whole_devices_have_no_cap(card):
    told, record, _ = card.take()
    assert told["first"] > 70 * GIB and told["preload"] is None and record["cap"] is None


def test_each_of_two_runs_on_a_card_has_its_own_share(card):
    first, _, _ = card.take("--memory", "2G")
    second, _, _ = card.take("--memory", "3G")
    assert 2 * GIB - 256 * MIB < first["first"] <= 2 * GIB < second["first"] <= 3 * GIB
    accounts = list(card.directory.glob("state/berth/runs/*/account"))
    assert len(accounts) == 2 and all(path.stat().st_mode & 0o777 == 0o600 for path in accounts)


def test_mps_holds_a_run_where_a_client_was_refused_first(card):
    card.serve_mps()
    told, record, said = card.take("--memory", "2G", "--cap", "mps")
    assert told["limit"] == "0=2048M" and told["preload"] is None
    assert told["code"] == 2 and 2 * GIB - 512 * MIB < told["first"] <= 2 * GIB
    assert record["cap"]["tier"] == "mps" and record["cap"]["proved"] == "unknown"
    assert "limited by MPS" in said, said


def test_a_server_of_mps_that_holds_nobody_is_not_believed(card):
    card.serve_mps()
    card.env["BERTH_FAKE_CUDA_FAULT"] = "mps"
    told, record, _ = card.take("--memory", "2G")
    assert record["cap"]["tier"] == "shim" and told["first"] <= 2 * GIB
    assert "given more memory than its limit" in record["cap"]["not_held_by"]["mps"]
    refused = card.run("run", "--memory", "2G", "--cap", "mps", "--", "true", timeout=60)
    assert refused.returncode == 125 and "given more memory than its limit" in refused.stderr
    assert runs(card)["runs"][0]["state"] != "running" and not list(card.ledger.glob("lease-*"))


def test_without_a_server_mps_is_refused_by_name(card):
    refused = card.run("run", "--memory", "2G", "--cap", "mps", "--", "true",
                       env={"CUDA_MPS_PIPE_DIRECTORY": str(card.directory / "none")})
    assert refused.returncode == 125 and "no server of MPS" in refused.stderr


def test_a_run_inside_a_share_stays_in_it(card):
    inner = [*card.command("run", "-q", "--memory", "2G", "--"), "/usr/bin/python3", str(card.program),
             str(FAKES / "cudart/libcudart.so.12")]  # fmt: skip
    done = card.run("run", "-q", "--memory", "2G", "--", *inner, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["first"] <= 2 * GIB
    records = {run["id"]: run["cap"]["tier"] for run in runs(card)["runs"]}
    assert sorted(records.values()) == ["shim", "watchdog"]


def test_the_account_is_its_owners_whatever_the_umask(card):
    words = card.command("run", "-q", "--memory", "2G", "--", "true")
    done = subprocess.run(["sh", "-c", f"umask 0777; exec {' '.join(words)}"], env=card.env, capture_output=True,
                          text=True, timeout=60, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    [account] = card.directory.glob("state/berth/runs/*/account")
    assert account.stat().st_mode & 0o777 == 0o600
