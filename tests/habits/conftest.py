"""What people paste, run with berth's links first on PATH, before the fake driver library."""

import contextlib
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PASTED = HERE / "pasted"


def load_e2e():
    """The end-to-end tests' conftest, under a name of its own: two cannot be called conftest."""
    place = HERE.parent / "e2e" / "conftest.py"
    spec = importlib.util.spec_from_file_location("e2e_conftest", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["e2e_conftest"] = module
    spec.loader.exec_module(module)
    return module


E2E = load_e2e()


class Desk:
    """A directory with links to berth in bin/, where pasted files are run as they are."""

    def __init__(self, directory, snapshot):
        self.directory = directory
        self.driver = E2E.FakeDriver(directory, snapshot)
        links = directory / "bin"
        links.mkdir()
        for name in ("nvidia-smi", "gpustat"):
            (links / name).symlink_to(pathlib.Path(E2E.BERTH).resolve())
        self.env = self.driver.env | {"PATH": f"{links}:/usr/bin:/bin:{self.driver.env['PATH']}"}

    def command(self, name):
        interpreter = "/usr/bin/python3" if name.endswith(".py") else shutil.which("bash")
        return [interpreter, str(PASTED / name)]

    def paste(self, name, timeout=30):
        """Runs the file to its end."""
        return subprocess.run(
            self.command(name), cwd=self.directory, env=self.env, timeout=timeout,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )

    def paste_until(self, name, enough, timeout=20):
        """Runs what never ends until its output satisfies `enough`, then presses Ctrl-C.

        As at a keyboard it may take more than one. The command that bash waits for may end by itself in the moment of
        the key. Then bash goes on with its loop.
        """
        with open(self.directory / "output.txt", "w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                self.command(name), cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )
            try:
                E2E.wait_until(lambda: enough(self.written()), f"output of {name}", timeout)
                self.interrupt(process)
            finally:
                # What bash started as well: an unmet wish must leave no loop behind.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                E2E.end(process)
        assert process.returncode in (0, -signal.SIGINT, 130), process.returncode
        return self.written()

    def interrupt(self, process, times=10):
        for _ in range(times):
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(timeout=2)
                return
            except subprocess.TimeoutExpired:
                pass
        raise AssertionError(f"{process.args} went on after Ctrl-C, {times} times")

    def written(self):
        return (self.directory / "output.txt").read_text(encoding="utf-8")


def two_cards():
    """A busy card with two jobs and an empty one."""
    snapshot = E2E.many_devices(2)
    busy, empty = snapshot["devices"]
    busy |= {"memory_used_bytes": 40_000 << 20, "utilization_gpu_percent": 91}
    busy["memory_free_bytes"] = busy["memory_total_bytes"] - busy["memory_used_bytes"]
    empty |= {"memory_used_bytes": 0, "utilization_gpu_percent": 0}
    empty["memory_free_bytes"] = empty["memory_total_bytes"]
    snapshot["host"] |= {"driver_version": "580.95.05", "cuda_version_supported": "13.0"}
    return snapshot


@pytest.fixture
def desk_of(tmp_path):
    """desk_of(): two cards; desk_of(snapshot): that machine."""
    return lambda snapshot=None: Desk(tmp_path, snapshot or two_cards())


@pytest.fixture
def desk(desk_of):
    return desk_of()
