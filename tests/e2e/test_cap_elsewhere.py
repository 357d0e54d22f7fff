"""A share of memory where a command has its programs started elsewhere. A container's engine may start them, a step of
Slurm, or a service. The cap goes along, or the run says that it does not."""

import json
import re
import subprocess

import pytest
from aftermath import show
from test_cap_tiers import FAKES, GIB, Card

RUNTIME = FAKES / "cudart/libcudart.so.12"
FOLLOWED = "docker starts a container, and no cap goes along: the watchdog alone looks at it"
ENGINE = """#!/bin/sh
case "$1" in run) while [ "$1" != --cidfile ]; do shift; done; printf %064d 1 > "$2";; info) echo '{}';; *) echo "Error: No such container" >&2; exit 1;; esac
"""
PRINTS = '#!/bin/sh\nprintf %s "$LD_PRELOAD"\n'
NAMES = "docker podman apptainer kubectl srun sbatch systemd-run".split()


def unseen(name, advice):
    return f"what {name} starts is not seen by this run: nothing limits its memory. {advice}"


def alone(name):
    return unseen(name, f"Start a container by itself: berth run -- {name} run …")


def inside(name):
    return unseen(name, f"Let it start berth: {name} berth run …")


@pytest.fixture
def card(tmp_path):
    made = Card(tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text(PRINTS, encoding="utf-8")
        (folder / name).chmod(0o755)
    made.env["PATH"] = f"{folder}:/usr/bin:/bin"
    return made


SAID = [
    (["apptainer", "exec", "--nv", "image", "python"],
     "apptainer starts a container, and no cap goes along: the watchdog alone looks at it"),
    (["docker", "compose", "up"], alone("docker")),
    (["sh", "-c", "echo begun >&2; podman start it"], alone("podman")),
    (["kubectl", "exec", "pod", "--", "python"], inside("kubectl")),
    (["srun", "-n2", "python"], inside("srun")),
    (["env", "A=1", "sbatch", "job.sh"], inside("sbatch")),
    (["nice", "systemd-run", "--user", "python"], inside("systemd-run")),
]  # fmt: skip


@pytest.mark.parametrize(("words", "sentence"), SAID, ids=[words[0] + "-" + words[1] for words, _ in SAID])
def test_a_run_says_that_its_cap_does_not_go_along(card, words, sentence):
    done = card.run("run", "--memory", "2G", "--", *words, timeout=60)
    assert done.returncode == 0 and not re.search("libcuda|berth-shim", done.stdout), "the shim is but noise of ld.so there"
    lines = " ".join(done.stderr.split())
    assert lines.count(sentence) == 1 and lines.index("limited by the watchdog") < lines.index(sentence), done.stderr
    cap = show(card)["cap"]
    assert (cap["tier"], cap["said"]) == ("watchdog", [sentence])
    assert "it does not go along" in cap["not_held_by"]["shim"] and "it does not go along" in cap["not_held_by"]["mps"]
    assert sentence in card.run("show", env={"COLUMNS": "250"}).stdout


def test_it_is_said_once_and_where_something_was_to_hold_it(card):
    words = ("--", "srun", "python")
    assert " ".join(card.run("run", "-v", "--memory", "2G", *words).stderr.split()).count(inside("srun")) == 1
    assert inside("srun") in " ".join(card.run("run", "--memory", "2G", "--cap", "watchdog", *words).stderr.split())
    assert "nothing limits its memory" not in card.run("run", "--memory", "2G", "--cap", "none", *words).stderr
    assert "nothing limits its memory" not in card.run("run", *words).stderr
    refused = card.run("run", "--memory", "2G", "--cap", "shim", *words)
    assert refused.returncode == 125
    assert "--cap shim: srun starts programs elsewhere, and it does not go along" in " ".join(refused.stderr.split())


def test_a_container_that_the_run_follows_is_the_watchdogs(card):
    (card.directory / "bin/docker").write_text(ENGINE, encoding="utf-8")
    for name in ("nvidia-ctk", "nvidia-container-runtime-hook"):
        (card.directory / "bin" / name).symlink_to("/bin/true")
    done = card.run("run", "--memory", "2G", "--", "docker", "run", "image", "python", timeout=60)
    assert FOLLOWED in " ".join(done.stderr.split()), done.stderr
    assert show(card)["cap"]["said"] == [FOLLOWED]


STEP = """#!/bin/sh
# What srun leaves of its caller and sets for the first task of a step.
export SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_STEP_GPUS=0 CUDA_VISIBLE_DEVICES=0
exec setsid --wait "$@"
"""


def test_in_a_step_of_slurm_the_cap_goes_along(card):
    (card.directory / "bin/srun").write_text(STEP, encoding="utf-8")
    words = card.command("run", "-q", "--memory", "2G", "--", "/usr/bin/python3", str(card.program), str(RUNTIME))
    step = [card.directory / "bin/srun", *words]
    done = subprocess.run(step, env=card.env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got["code"] == 2 and got["first"] <= 2 * GIB
    assert show(card)["cap"]["tier"] == "shim"
