"""`./dev image` as it would call the engine: a docker or podman of the test's own says what it was given."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Nothing is built, nothing put together.
CALLED = """source ./dev help >/dev/null
build_release() { :; }; make_targets() { :; }; take_build_lock() { exec {build_lock}</dev/null; }
python=true; verb_image "$@" """


@pytest.mark.parametrize("engine", ["docker", "podman"])
@pytest.mark.parametrize(("words", "target", "tag"), [((), "lab", "berth-lab"), (("berth", "--no-cache"), "berth", "berth")])
def test_the_engine_is_told_target_name_and_the_users_number(tmp_path, engine, words, target, tag):
    for program in ("id", "dirname", "cat", "sh"):
        (tmp_path / program).symlink_to(f"/bin/{program}")
    (tmp_path / engine).write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    (tmp_path / engine).chmod(0o755)
    env = {"PATH": str(tmp_path), "SUDO_UID": "1234", "SUDO_GID": "1234"}
    done = subprocess.run(["/bin/bash", "-c", CALLED, "bash", *words], cwd=ROOT, env=env, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.split()
    number = os.getuid() or 1234
    assert told[0] == "build" and told[-1] == "build/image" and f"UID={number}" in told
    assert told[told.index("--target") + 1] == target and told[told.index("--tag") + 1] == tag
    assert ("--format" in told) is (engine == "podman") and set(words[1:]) <= set(told)
