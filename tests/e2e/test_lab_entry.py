"""deploy/image/lab by itself: the script that the image starts, with programs that stand for its services."""

import os
import re
import shutil
import signal
import subprocess

import pytest
from conftest import ROOT, end, wait_until

TOKEN = "berth_" + "a" * 43
NAMES = ("jupyter", "serve")
# Notes its words, its variables and what it was given for a token, and stays.
SERVICE = """#!/bin/sh
{{ echo "$0 $*"; env; }} > {here}/asked-$(basename $0)
cat "${{JUPYTER_TOKEN_FILE:-$BERTH_TOKEN_FILE}}" > {here}/token-$(basename $0)
exec sleep 300
"""

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")


class Entry:
    """The script with folders of this test in place of the container's."""

    def __init__(self, directory):
        self.directory = directory
        for name in ("work", "secrets", "bin"):
            (directory / name).mkdir()
        self.secrets, self.own = directory / "secrets", directory / "work/.lab"
        self.mounts = directory / "mounts"
        self.mounts.write_text("1 0 0:1 / /work rw - ext4 x rw\n".replace("/work", str(directory / "work")))
        text = (ROOT / "deploy/image/lab").read_text(encoding="utf-8")
        for before, after in (("/proc/self/mountinfo", self.mounts), ("/work", directory / "work")):
            assert before in text
            text = text.replace(before, str(after))
        self.script = directory / "lab"
        self.script.write_text(text, encoding="utf-8")
        for name in NAMES:
            service = directory / "bin" / name
            service.write_text(SERVICE.format(here=directory), encoding="utf-8")
            service.chmod(0o755)
        self.env = {"PATH": f"{directory}/bin:/usr/bin:/bin", "LAB_SECRETS": str(self.secrets),
                    "XDG_RUNTIME_DIR": str(directory / "run"), "HOME": str(directory / "work")}

    def start(self):
        for name in NAMES:
            (self.directory / f"token-{name}").unlink(missing_ok=True)
        return subprocess.Popen(["bash", self.script], env=self.env, text=True, stderr=subprocess.PIPE)

    def token_of(self, name):
        file = self.directory / f"token-{name}"
        return file.read_text() if file.exists() else ""

    def up_and_stopped(self):
        """What it said until both services had begun and it was asked to end."""
        lab = self.start()
        try:
            wait_until(lambda: all(map(self.token_of, NAMES)) or lab.poll() is not None, "both services have begun")
            lab.send_signal(signal.SIGTERM)
            said = lab.communicate(timeout=60)[1]
            assert lab.returncode == 143, said
            return said
        finally:
            end(lab)

    def refused(self):
        done = subprocess.run(["bash", self.script], env=self.env, text=True, capture_output=True, timeout=60, check=False)
        assert done.returncode == 64, done.stderr
        assert not list(self.directory.glob("asked-*")), "something was started"
        return done.stderr


@pytest.fixture
def entry(tmp_path):
    return Entry(tmp_path)


def test_a_token_that_was_given_is_a_file_to_all_and_a_word_or_variable_to_none(entry):
    (entry.secrets / "token").write_text(TOKEN + "\n")
    said = entry.up_and_stopped()
    assert entry.token_of("jupyter") == TOKEN, "without the line feed"
    assert entry.token_of("serve") == TOKEN + "\n"
    for name in NAMES:
        assert TOKEN not in (entry.directory / f"asked-{name}").read_text(), name
    assert TOKEN not in said and not (entry.own / "token").exists()


def test_without_one_a_token_is_made_and_printed_once_and_kept(entry):
    [token] = re.findall(r"berth_[\w-]{43}", entry.up_and_stopped())
    assert entry.token_of("jupyter") == token and entry.token_of("serve").strip() == token
    assert os.stat(entry.own / "token").st_mode & 0o077 == 0
    assert token not in entry.up_and_stopped()
    assert entry.token_of("jupyter") == token


@pytest.mark.parametrize("text", ["", "\n", "berth_", "hunter2", "berth_" + "a" * 31, TOKEN + '"', f"{TOKEN}\n{TOKEN}"])
def test_a_file_without_a_token_starts_nothing(entry, text):
    (entry.secrets / "token").write_text(text)
    said = entry.refused()
    assert f"{entry.secrets}/token holds no token: write" in said and "or mount none: then one is made" in said


def test_a_token_whose_file_is_missing_on_the_host_starts_nothing(entry):
    (entry.secrets / "token").mkdir()  # as docker does
    assert "is a folder: docker makes one where there is no file to mount" in entry.refused()
    assert not (entry.own / "token").exists(), "none is made in its place"


def test_a_kept_token_that_others_can_read_starts_nothing(entry):
    entry.own.mkdir()
    (entry.own / "token").write_text(TOKEN)
    (entry.own / "token").chmod(0o644)
    assert "others can read the token" in (said := entry.refused()) and "chmod 600" in said
    (entry.own / "token").chmod(0o600)
    assert TOKEN not in entry.up_and_stopped()


def test_without_a_volume_nothing_starts(entry):
    entry.mounts.write_text("1 0 0:1 / / rw - ext4 x rw\n")
    assert "-v $PWD/" in entry.refused()


@pytest.mark.parametrize("name", NAMES)
def test_a_service_that_ends_takes_the_others_along(entry, name):
    (entry.directory / "bin" / name).write_text("#!/bin/sh\nexit 9\n")
    done = subprocess.run(["bash", entry.script], env=entry.env, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 9 and "a service ended with 9" in done.stderr
