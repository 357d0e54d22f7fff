"""`cmake --install` puts the program, its manual and its completions where shells look for them."""

import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import BERTH, ROOT

BUILD = pathlib.Path(BERTH).resolve().parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    done = subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(prefix)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return prefix


def test_the_program_runs_from_where_it_was_installed(installed):
    done = subprocess.run([installed / "bin/berth", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("berth "), done


def test_the_manual_is_a_manual(installed):
    page = installed / "share/man/man1/berth.1"
    text = page.read_text()
    assert ".TH BERTH 1" in text and "berth run" in text, text[:300]
    if shutil.which("man"):
        done = subprocess.run(["man", "-l", str(page)], capture_output=True, text=True,
                              env=os.environ | {"MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        assert "EXIT STATUS" in done.stdout, done.stderr


def test_the_recipes_are_installed_as_they_are(installed):
    there = {path.name: path.read_bytes() for path in (installed / "share/berth/recipes").iterdir()}
    assert there == {path.name: path.read_bytes() for path in (ROOT / "examples/recipes").glob("*.py")}
    assert there


@pytest.mark.parametrize("shell, path", [
    ("bash", "share/bash-completion/completions/berth"),
    ("zsh", "share/zsh/site-functions/_berth"),
    ("fish", "share/fish/vendor_completions.d/berth.fish"),
])
def test_completions_parse_in_their_shell(installed, shell, path):
    script = installed / path
    assert "detach" in script.read_text(), f"{script} does not know berth run --detach"
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_bash_completes_verbs_and_options(installed):
    script = installed / "share/bash-completion/completions/berth"
    ask = (f"source {script}; COMP_WORDS=(berth run --det); COMP_CWORD=2; _berth; "
           "echo ${COMPREPLY[@]}; COMP_WORDS=(berth sta); COMP_CWORD=1; _berth; echo ${COMPREPLY[@]}")
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True)
    assert done.stdout.split() == ["--detach", "status"], done
