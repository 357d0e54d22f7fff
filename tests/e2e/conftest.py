"""What the end-to-end tests share: the program as a user starts it, on a machine of its own.

Every test gets a ledger, a state directory and a home below its own temporary directory, so nothing
of the machine it runs on is seen or touched. BERTH names the binary, BERTH_BUILD its build."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BERTH_BUILD", ROOT / "build/release"))
BERTH = os.environ.get("BERTH", str(BUILD / "berth"))


class Machine:
    """A machine (simulated by default) with its own ledger and records."""

    def __init__(self, directory, sim="server-8xh100"):
        self.directory = directory
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "XDG_STATE_HOME": str(directory / "state"),
            "BERTH_LEDGER": str(directory / "ledger"),
        }
        if sim:
            self.env["BERTH_SIM"] = sim

    def command(self, *words):
        return [BERTH, *map(str, words)]

    def run(self, *words, timeout=30, **kwargs):
        env = self.env | kwargs.pop("env", {})
        env = {name: value for name, value in env.items() if value is not None}
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            self.command(*words), env=env, timeout=timeout, text=True, capture_output=True, **kwargs
        )

    def start(self, *words, **kwargs):
        env = self.env | kwargs.pop("env", {})
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.command(*words), env=env, text=True, **kwargs)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def machine_of(tmp_path):
    """machine_of("desktop"), machine_of(None) for the real one."""
    return lambda sim: Machine(tmp_path, sim)


@pytest.fixture
def berth_binary():
    return BERTH
