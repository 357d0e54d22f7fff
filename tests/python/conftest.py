"""Programs in Python that use berth, each started as a user would start it. Each has a process of its own, on a
simulated server, with a ledger of the test's."""

import atexit
import compileall
import gc
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = ROOT / "python"
sys.path.insert(0, str(PACKAGE))


def load_e2e():
    """The end-to-end tests' conftest, under a name of its own: two cannot be called conftest."""
    place = HERE.parent / "e2e" / "conftest.py"
    spec = importlib.util.spec_from_file_location("e2e_conftest", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["e2e_conftest"] = module
    spec.loader.exec_module(module)
    return module


E2E = load_e2e()
PYTHON = "/usr/bin/python3"
LIBRARY = os.environ.get("BERTH_LIBRARY") or str(E2E.BUILD / "libberth.so.0")


def compiled(package):
    """A copy with its bytecode, which nobody writes into the sources' folder: hundreds of programs begin with it."""
    folder = tempfile.mkdtemp(prefix="berth-python-tests-")
    atexit.register(shutil.rmtree, folder)
    shutil.copytree(package, folder, dirs_exist_ok=True)
    assert compileall.compile_dir(folder, quiet=1)
    return folder


WITH_LIBRARY = {"PYTHONPATH": compiled(PACKAGE), "BERTH_LIBRARY": LIBRARY, "BERTH_HELPER": E2E.BERTH}
if not pathlib.Path(LIBRARY).exists():
    pytest.exit(f"{LIBRARY} is missing: ./dev build", returncode=1)


class Desk(E2E.Machine):
    """A machine on which people run Python."""

    def __init__(self, directory, sim="server-8xh100"):
        super().__init__(directory, sim)
        self.env |= WITH_LIBRARY | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        self.begun = []

    def start_python(self, code, *words, env=None, python=PYTHON, **how):
        how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | how
        process = subprocess.Popen(
            [python, "-c", textwrap.dedent(code), *map(str, words)], env=self.environment(env or {}),
            cwd=self.directory, **how,
        )
        self.begun.append(process)
        return process

    def python(self, code, *words, code_wanted=0, timeout=60, **how):
        """Its output. It must end with `code_wanted` (None: any code)."""
        process = self.start_python(code, *words, **how)
        output, errors = process.communicate(timeout=timeout)
        assert code_wanted in (None, process.returncode), f"exit {process.returncode}\n{output}\n{errors}"
        self.errors = errors
        return output

    def told(self, code, *words, **how):
        """The JSON that it printed last."""
        return json.loads(self.python("import json, os, sys\nimport berth\n" + textwrap.dedent(code), *words, **how).splitlines()[-1])

    def holding(self, call="berth.lease()", **how):
        """A process that holds a lease until its stdin is closed."""
        process = self.start_python(
            f"import sys, berth\nlease = {call}\nprint(lease.id, flush=True)\nsys.stdin.read()\n", **how
        )
        process.lease_id = process.stdout.readline().strip()
        assert process.lease_id, process.stderr.read()
        return process

    def leases(self):
        return json.loads(self.run("leases", "--json").stdout)["leases"]

    def queue(self):
        return json.loads(self.run("leases", "--json").stdout)["queue"]

    def leased(self):
        """The devices' indices."""
        by_id = {one["id"]: one["index"] for one in self.status()["devices"]}
        return sorted(by_id[one["device"]] for lease in self.leases() for one in lease["devices"])

    def status(self, *words):
        return json.loads(self.run("status", "--json", *words).stdout)

    def helpers(self):
        """The processes of `berth helper` that work for this machine."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                variables = (process / "environ").read_bytes()
            except OSError:
                continue
            if b"helper" in words[1:2] and str(self.directory).encode() in variables:
                found.append(int(process.name))
        return found

    def end(self):
        for process in self.begun:
            E2E.end(process)


@pytest.fixture(scope="session", autouse=True)
def pytests_own_objects_are_no_garbage():
    """berth.batch collects after each of its tries, here among all that pytest has."""
    gc.freeze()


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.end()


@pytest.fixture
def desk_of(tmp_path):
    """desk_of("lab-4")"""
    made = []

    def make(sim):
        made.append(Desk(tmp_path, sim))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """This very process at a desk, for what needs stand-ins of a framework."""
    machine = Desk(tmp_path)
    for name in ("HOME", "XDG_STATE_HOME", "BERTH_LEDGER", "BERTH_HOMES", "BERTH_ETC", "BERTH_SERVE_SOCKET", "BERTH_SIM", *WITH_LIBRARY):
        if name != "PYTHONPATH":
            monkeypatch.setenv(name, machine.env[name])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield machine
    machine.end()


wait_until = E2E.wait_until
