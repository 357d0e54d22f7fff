"""`cmake --install` puts the program, its manual and its completions where shells look for them."""

import os
import pathlib
import pty
import select
import shutil
import subprocess

import pytest

from conftest import BERTH, ROOT, end, wait_until

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


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_fish_completes_verbs_and_options(installed, tmp_path):
    script = installed / "share/fish/vendor_completions.d/berth.fish"
    ask = f"source {script}; complete -C 'berth run --det'; complete -C 'berth sta'"
    done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})  # fmt: skip
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["--detach", "status"], done


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
@pytest.mark.parametrize("typed, whole", [("berth run --det", "berth run --detach"), ("berth sta", "berth status")])
def test_zsh_completes_verbs_and_options(installed, tmp_path, typed, whole):
    """As somebody presses Tab in a terminal."""
    ours, its = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm"}
    shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=its, stdout=its, stderr=its, env=environment, start_new_session=True)
    os.close(its)
    said = ""

    def has_said(words):
        nonlocal said
        if select.select([ours], [], [], 0.1)[0]:
            said += os.read(ours, 4096).decode(errors="replace")
        return words in said

    try:
        folder = installed / "share/zsh/site-functions"
        os.write(ours, f"PS1=; fpath=({folder} $fpath); autoload -U compinit; compinit -D -u; print re''ady\n".encode())
        wait_until(lambda: has_said("ready\r\n"), "zsh knows its completions")
        os.write(ours, f"{typed}\t".encode())
        # The line as it would be run; a name that is typed whole needs no more than the Tab.
        os.write(ours, b"\x01print -r -- :\x05:\n")
        wait_until(lambda: has_said(f":{whole}"), f"zsh completes {typed}")
    finally:
        end(shell)
        os.close(ours)
