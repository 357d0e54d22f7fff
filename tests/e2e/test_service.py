"""`berth service` of a user's own: installed, shown and taken away. In place of the real systemctl one writes down what
it is asked."""

import subprocess

import pytest
from conftest import Machine

NAME = "berth-serve.service"
SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$HOME/asked"
case "$*" in *"$(cat "$HOME/fails" 2>/dev/null || echo nothing)"*) echo "it failed" >&2; exit 1;; esac
case "$*" in *show*) echo ActiveState=active;; esac
"""
# sd_booted(3): whether systemd runs is whether this folder is there.
BOOTED = ["unshare", "--mount", "sh", "-c",
          'mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec "$@"', "sh"]
NOT_BOOTED = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"]


class Home(Machine):
    """A user's home on a machine where systemd runs, or does not."""

    def __init__(self, directory, booted):
        super().__init__(directory)
        self.booted = booted
        folder = directory / "bin"
        folder.mkdir()
        (folder / "systemctl").write_text(SYSTEMCTL, encoding="ascii")
        (folder / "systemctl").chmod(0o755)
        self.env["PATH"] = f"{folder}:{self.env['PATH']}"
        self.unit = directory / ".config/systemd/user" / NAME

    def command(self, *words):
        return [*(BOOTED if self.booted else NOT_BOOTED), *super().command(*words)]

    def does(self, action, *words):
        return self.run("service", action, "--user", *words)

    def asked(self):
        """What systemctl has been asked since the last time."""
        told = self.directory / "asked"
        lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
        told.unlink(missing_ok=True)
        return lines


@pytest.fixture(params=["systemd runs", "systemd does not run"])
def home(request, tmp_path):
    if subprocess.run([*BOOTED, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("whoever runs this may not mount")
    return Home(tmp_path, request.param == "systemd runs")


def test_a_users_own_service_comes_and_goes(home):
    done = home.does("install")
    assert done.returncode == 0, done.stderr
    text = home.unit.read_text(encoding="utf-8")
    assert "ExecStart=" in text and home.unit.stat().st_mode & 0o777 == 0o644
    begun = ["--user daemon-reload", f"--user enable --now {NAME}"]
    assert home.asked() == (begun if home.booted else [])
    assert ("= not run: systemd does not run here" in done.stdout) == (not home.booted)
    shown = home.does("status")
    assert shown.returncode == 0 and ("ActiveState=active" in shown.stdout) == home.booted
    home.asked()

    tried = home.does("uninstall", "--dry-run")
    assert tried.returncode == 0 and f"$ systemctl --user disable --now {NAME}\n" in tried.stdout
    assert home.unit.read_text(encoding="utf-8") == text and home.asked() == [], "nothing is done"

    gone = home.does("uninstall")
    assert gone.returncode == 0, gone.stderr
    assert not home.unit.exists() and f"- {home.unit}\n" in gone.stdout
    # It is stopped while systemd still knows how, and forgotten when its file has gone.
    ended = [f"--user disable --now {NAME}", "--user daemon-reload"]
    assert home.asked() == (ended if home.booted else [])
    assert [line.removeprefix("$ systemctl ") for line in gone.stdout.splitlines() if line.startswith("$")] == ended
    # Nothing else of the user's was there, and nothing is left.
    assert not list(home.unit.parent.iterdir())

    again = home.does("uninstall")
    assert again.returncode == 0 and again.stdout == f"= {home.unit} is not there\n" and home.asked() == []


@pytest.mark.parametrize("home", ["systemd runs"], indirect=True)
def test_a_service_that_cannot_be_stopped_keeps_its_file(home):
    assert home.does("install").returncode == 0
    home.asked()
    (home.directory / "fails").write_text("disable", encoding="ascii")
    refused = home.does("uninstall")
    assert refused.returncode == 1 and "systemctl --user disable" in refused.stderr, refused.stderr
    assert home.unit.exists() and home.asked() == [f"--user disable --now {NAME}"]
    (home.directory / "fails").unlink()
    assert home.does("uninstall").returncode == 0 and not home.unit.exists()


def test_another_service_of_that_name_in_his_files_is_left_alone(home):
    home.unit.parent.mkdir(parents=True)
    home.unit.write_text("[Service]\nExecStart=/bin/true\n", encoding="utf-8")
    for action in ("install", "uninstall"):
        refused = home.does(action)
        assert refused.returncode == 1 and "not berth's" in refused.stderr, refused.stderr
    assert "/bin/true" in home.unit.read_text(encoding="utf-8") and home.asked() == []
