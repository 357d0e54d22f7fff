"""What holds a share, where something changes between the asking and the job's start, and how its files lie."""

import json
import os
import shutil
import stat
import subprocess

import pytest
from aftermath import leases, poll, queue, runs, show
from conftest import end
from test_cap_tiers import FAKES, GIB, Card

LONG = 60  # what is waited for at most
RUNTIME = FAKES / "cudart/libcudart.so.12"


class OwnFolders(Card):
    """Its shims lie where no other test's do: root's are in /var/tmp."""

    def __init__(self, directory):
        super().__init__(directory)
        (directory / "var").mkdir()
        self.driver_folder = directory / "driver"
        self.driver_folder.mkdir()
        shutil.copy(FAKES / "cuda/libcuda.so.1", self.driver_folder)
        self.env["LD_LIBRARY_PATH"] = str(self.driver_folder)

    def command(self, *words):
        if os.geteuid() != 0:
            return super().command(*words)
        own = f'mount --bind {self.directory / "var"} /var/tmp && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", own, "sh", *super().command(*words)]

    @property
    def shims(self):
        home = self.directory / ("var/berth-guard-0" if os.geteuid() == 0 else "cache/berth/guard")
        return sorted(home.glob("*"))

    def words(self, *options):
        return ["run", "--memory", "2G", *options, "--", "/usr/bin/python3", str(self.program), str(RUNTIME)]


@pytest.fixture
def card(tmp_path):
    return OwnFolders(tmp_path)


@pytest.fixture
def held(card):
    """The card, whose only device another run has until `held.free()`."""
    gate = card.directory / "gate"
    holder = card.start("run", "-q", "--", "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done")
    poll(lambda: len(leases(card)) != 1, LONG, "no run holds the card")
    card.free = gate.touch
    yield card
    gate.touch()
    end(holder)


def waits(card, *options):
    started = card.start(*card.words("--wait", *options))
    poll(lambda: len(queue(card)) != 1, LONG, "no run waits")
    return started


def is_held(card, run):
    card.free()
    out, said = run.communicate(timeout=LONG)
    told = json.loads(out)
    assert told["code"] == 2 and told["first"] <= 2 * GIB, said
    assert show(card)["cap"]["tier"] == "shim"


def test_a_shim_whose_folder_went_while_the_run_waited_is_there_when_the_job_starts(held):
    run = waits(held)
    [shim] = held.shims
    shutil.rmtree(shim.parent)
    is_held(held, run)
    assert held.shims == [shim]


def test_a_driver_that_changed_while_the_run_waited_has_a_shim_of_its_own(held):
    other = held.directory / "other"
    held.env["LD_LIBRARY_PATH"] += f":{other}"
    run = waits(held)
    [shim] = held.shims
    held.driver_folder.rename(other)
    is_held(held, run)
    assert len(held.shims) == 2 and shim in held.shims
    opened = [str(other).encode() in (one / "libcuda.so.1").read_bytes() for one in held.shims]
    assert sorted(opened) == [False, True], "each opens the driver that was there"


def test_a_run_whose_tier_went_while_it_waited_was_never_started_and_its_record_ends(held):
    started = held.run(*held.words("--wait", "--detach", "--cap", "shim"), timeout=LONG)
    run = started.stdout.strip()
    poll(lambda: len(queue(held)) != 1, LONG, "no run waits")
    shutil.rmtree(held.driver_folder)
    held.free()
    assert held.run("wait", run, timeout=LONG).returncode == 125
    record = show(held, run)
    assert (record["state"], record["end"]["because"]) == ("ended", "not started"), record["end"]
    assert record["end"]["released_unix_ms"] is not None and leases(held) == []
    assert "never started" in held.run("show", run).stdout
    assert "there is no libcuda.so.1 here" in held.run("logs", run).stdout


def test_a_lease_says_which_tier_holds_once_a_stronger_one_could_not(card):
    card.serve_mps()
    card.env["BERTH_FAKE_CUDA_FAULT"] = "mps"  # its server holds nobody, as a client finds when it is tried
    gate = card.directory / "gate"
    holder = card.start("run", "-q", "--memory", "2G", "--", "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done")
    try:
        poll(lambda: [one["held_by"] for one in leases(card)] != ["shim"], LONG, "the lease does not say the shim")
        [claim] = json.loads(card.run("status", "--json").stdout)["leases"]
        assert claim["held_by"] == show(card)["cap"]["tier"] == "shim"
    finally:
        gate.touch()
        end(holder)
    assert [run["cap"]["tier"] for run in runs(card)["runs"]] == ["shim"]


@pytest.mark.parametrize("asked", [(), ("--cap", "shim")], ids=["strongest", "by name"])
def test_what_the_shim_had_to_mend_is_said_and_recorded(card, asked):
    card.take("--memory", "2G")
    assert "said" not in show(card)["cap"]
    [shim] = card.shims
    (shim / "libcuda.so.1").chmod(0o644)
    (shim / "libcuda.so.1").write_bytes(b"somebody's own")
    told, record, said = card.take("-v", "--memory", "2G", *asked)
    assert told["code"] == 2 and told["first"] <= 2 * GIB
    [sentence] = record["cap"]["said"]
    assert sentence.endswith("had been changed; it was written anew") and sentence in " ".join(said.split())
    assert "it was written anew" in card.run("show", env={"COLUMNS": "250"}).stdout


def test_a_dry_run_that_mends_the_shim_says_so(card):
    words = ("run", "--memory", "2G", "--cap", "shim", "--dry-run", "--", "true")
    assert "written anew" not in card.run(*words).stderr
    [shim] = card.shims
    (shim / "libcuda.so").unlink()
    (shim / "libcuda.so").symlink_to("/elsewhere")
    assert "had been changed; it was written anew" in " ".join(card.run(*words).stderr.split())


def test_the_shims_folders_are_their_owners_whatever_the_umask(card):
    line = " ".join(f"'{word}'" for word in card.command(*card.words("-q")))
    done = subprocess.run(["sh", "-c", f"umask 0777; exec {line}"], env=card.env, capture_output=True, text=True,
                          timeout=LONG, check=False)  # fmt: skip
    assert done.returncode == 0 and json.loads(done.stdout)["first"] <= 2 * GIB, done.stderr
    [shim] = card.shims
    folder, file = (0o755, 0o444) if os.geteuid() == 0 else (0o700, 0o400)  # root's jobs may go on as somebody else
    for path in [shim.parent, shim, *shim.rglob("*")]:
        wanted = folder if path.is_dir() else file
        assert path.is_symlink() or stat.S_IMODE(path.stat().st_mode) == wanted, f"{path}: {path.stat()}"
