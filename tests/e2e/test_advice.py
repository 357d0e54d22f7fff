"""What an error advises can be done. Each flag that it names is one of the verb that prints it. Or it stands in a whole
command that berth takes."""

import re

import pytest
from conftest import FakeDriver, end, many_devices
from test_queue import Lab

FLAG = re.compile(r"(?<![\w=-])--[a-z][a-z-]+")
VERBS = {
    "run": ["run", "--", "true"],
    "pick": ["pick"],
    "topo": ["topo"],
    "reserve": ["reserve", "--for", "1h"],
    "sweep": ["sweep", "--set", "a=1", "--no-wait", "--", "echo", "{a}"],
    "submit": ["submit", "--", "true"],
}


@pytest.fixture(name="flags_of")
def flags_of_each(machine):
    known = {}

    def flags_of(verb):
        if verb not in known:
            known[verb] = set(FLAG.findall(machine.run(verb, "--help-all").stdout))
            assert known[verb], verb
        return known[verb]

    return flags_of


def check(said, verb, flags_of):
    """Fails where it advises what does not exist. Commands of other people's processes advise nothing."""
    whole = re.sub(r"\([^()]*pid \d+\)", "", " ".join(said.split()))
    for command in re.findall(r"`(?:sudo )?berth ([^`]*)`", whole):
        of, *words = command.split()
        assert set(FLAG.findall(" ".join(words))) <= flags_of(of), f"`berth {command}` of: {whole}"
    bare = set(FLAG.findall(re.sub(r"`[^`]*`", "", whole)))
    assert bare <= flags_of(verb), f"{verb} has no {bare - flags_of(verb)}: {whole}"


def in_front(verb, *options):
    words = VERBS[verb]
    return [words[0], *options, *words[1:]]


@pytest.mark.parametrize("verb", VERBS)
def test_of_a_request_that_cannot_be_met(verb, machine_of, flags_of):
    for sim in ("server-8xh100", "faults", "lab-4"):
        for options in (["-n", "99"], ["--only", "77"], ["--min-compute", "99.0"], ["-n", "2", "--together", "nvlink"],
                        ["--memory", "900G"], ["--kind", "ascend"]):
            machine = machine_of(sim)
            done = machine.run(*in_front(verb, *options))
            if verb == "reserve" and done.returncode == 0:  # two with NVLink there may be
                machine.run("stop", "--all", "-q")
            check(done.stderr, verb, flags_of)


@pytest.mark.parametrize("verb", VERBS)
def test_of_a_machine_without_a_device_that_may_be_used(verb, tmp_path, flags_of):
    (tmp_path / "none").mkdir()
    for count, variables in ((0, {}), (0, {"CUDA_VISIBLE_DEVICES": ""}), (2, {"CUDA_VISIBLE_DEVICES": ""}),
                             (2, {"CUDA_VISIBLE_DEVICES": "7"}), (2, {"CUDA_VISIBLE_DEVICES": "GPU-none"})):
        machine = FakeDriver(tmp_path, many_devices(count))
        done = machine.run(*VERBS[verb], env=variables)
        assert verb in ("topo", "submit", "sweep") or done.returncode != 0, done.stdout
        check(done.stderr, verb, flags_of)


@pytest.mark.parametrize("verb", VERBS)
def test_of_a_machine_whose_devices_are_taken(verb, tmp_path, flags_of):
    lab = Lab(tmp_path)
    holder = lab.hold("holder", "-n", "2")
    try:
        done = lab.run(*VERBS[verb])
        assert verb in ("topo", "submit") or done.returncode == 124 or verb == "pick", done
        check(done.stderr, verb, flags_of)
    finally:
        lab.let_end("holder")
        end(holder)


def test_of_a_lease_whose_devices_are_taken_or_too_few(tmp_path, flags_of):
    lab = Lab(tmp_path)
    run = lab.run("reserve", "--for", "30m").stdout.strip()
    inner = lab.start("exec", run, "--", "sh", "-c", f"echo inside >>{lab.told}; exec sleep 600")
    try:
        lab.await_start("inside")
        for words in (["exec", run, "--", "true"], ["exec", "-n", "9", run, "--", "true"], ["exec", "none", "--", "true"]):
            done = lab.run(*words)
            assert done.returncode not in (0, 127), done
            check(done.stderr, "exec", flags_of)
    finally:
        lab.run("stop", run)
        end(inner)


@pytest.mark.parametrize("verb", ["run", "reserve", "sweep"])
def test_of_a_run_that_cannot_be_recorded(verb, machine, flags_of):
    (machine.directory / "state").write_text("no folder")
    options = ["-d"] if verb == "run" else []
    done = machine.run(*in_front(verb, *options))
    assert done.returncode == 125, done
    check(done.stderr, verb, flags_of)
