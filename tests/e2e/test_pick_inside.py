"""Inside a lease `berth pick` and `berth run --dry-run` say what `berth run` would do there."""

import json
import shlex

import pytest

INSIDE = ["run", "-q", "--only", "5,6", "-n", "2", "--"]


def inside(machine, script):
    """What that says inside a lease of GPU 5 and 6; BERTH stands for the program."""
    program = shlex.join(machine.command())
    done = machine.run(*INSIDE, "sh", "-c", script.replace("BERTH", program), timeout=60)
    return done.stdout.split("\n")[:-1], done.stderr


@pytest.mark.parametrize("variable", ["", "unset CUDA_VISIBLE_DEVICES; ", "export CUDA_VISIBLE_DEVICES=5; "])
def test_inside_a_lease_pick_and_a_dry_run_answer_as_run_does(machine, variable):
    ran = "BERTH run -q -- sh -c 'echo $CUDA_VISIBLE_DEVICES'"
    dry = "BERTH run --dry-run --json -- true | tr -d '\\n'"
    said, err = inside(machine, f"{variable}{ran}; BERTH pick; {dry}; echo")
    assert len(said) == 3, (said, err)
    assert said[0] == said[1] and said[0] in ("5", "6"), (said, err)
    assert [str(one["index"]) for one in json.loads(said[2])["chosen"]] == [said[0]], said[2]


def test_inside_a_lease_a_share_that_runs_there_have_is_not_picked_again(machine):
    gate, begun = machine.directory / "gate", machine.directory / "begun"
    waits = f"touch {begun}; until test -e {gate}; do sleep 0.02; done"
    script = (f"BERTH run -q --only 5 -- sh -c '{waits}' & until test -e {begun}; do sleep 0.02; done;"
              f" BERTH pick; BERTH pick --only 5; echo $?; touch {gate}; wait")
    said, err = inside(machine, script)
    assert said == ["6", "124"], (said, err)


@pytest.mark.parametrize("words", ["run -- true", "run --dry-run -- true", "pick"])
def test_a_variable_that_hides_the_leases_devices_is_told_as_that(machine, words):
    ids = {str(one["index"]): one["id"] for one in json.loads(machine.run("status", "--json").stdout)["devices"]}
    said, err = inside(machine, f"CUDA_VISIBLE_DEVICES=3 BERTH {words}; echo $?")
    assert said == [{"pick": "2"}.get(words, "125")], (said, err)
    assert f"inside a lease of {ids['5']}, {ids['6']}, and its own variables show none of them" in err, err
    assert "unset them" in err and "a lease of 0" not in err
