"""%berth and %%berth_memory: on a stand-in of IPython's shell, and in IPython itself where there is one."""

import os
import subprocess
import sys

import pytest

import berth

from test_memory import Allocator, allocator  # noqa: F401 (a fixture)


class Shell:
    def __init__(self):
        self.magics, self.ran = {}, []

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function

    def run_cell(self, cell):
        self.ran.append(cell)


@pytest.fixture
def shell(here):
    made = Shell()
    berth.load_ipython_extension(made)
    yield made
    held = berth.leases.current_lease()
    if held:
        held.release()


@pytest.fixture
def typed(shell, capsys):
    def run(line):
        shell.magics["line", "berth"](line)
        return capsys.readouterr().out

    return run


def test_the_table_marks_this_kernels_rows(typed, monkeypatch):
    assert "◄" not in typed("")
    table = typed("")
    assert "H100" in table and "21871" in table
    mine = berth.look()
    mine.processes[1].mine = True
    monkeypatch.setattr("berth.magic.look", lambda: mine)
    marked = [line for line in typed("").splitlines() if "◄ this kernel" in line]
    assert len(marked) == 1 and " 21872 " in marked[0]


def test_lease_and_release(typed, here):
    assert typed("lease 2 --memory 10G --only 4,5").startswith("GPU 4 (NVIDIA H100 80GB HBM3), GPU 5")
    assert here.leased() == [4, 5]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,5"
    assert typed("release") == "released: GPU 4, GPU 5\n"
    assert here.leases() == []
    assert typed("release") == "this kernel holds no lease\n"


def test_errors_are_told_and_not_raised(typed, monkeypatch):
    assert "alice" in typed("lease --only 0")
    assert "does not understand" in typed("lease --memry 10G") and "%berth release" in typed("lease --memry 10G")
    assert 'knows no "lese"' in typed("lese")
    monkeypatch.setattr("berth.leases.cuda_state", lambda: "started")
    assert "restart the kernel" in typed("lease")


def test_words_of_a_lease(typed, monkeypatch):
    asked = []
    monkeypatch.setattr("berth.magic.lease", lambda n, **how: asked.append((n, how)) or berth.leases._held.append)
    for line in ("lease", "lease 3 --or-cpu --wait", "lease --wait 60 2 --need bf16"):
        try:
            typed(line)
        except AttributeError:
            pass  # what the stand-in returns is no lease
    assert asked == [
        (1, {}), (3, {"or_cpu": True, "wait": True}), (2, {"wait": "60", "need": "bf16"}),
    ]  # fmt: skip


def test_a_question_mark_tells_its_words(shell):
    assert "%berth lease [N] [--memory 10G]" in shell.magics["line", "berth"].__doc__
    assert "peak" in shell.magics["cell", "berth_memory"].__doc__


def test_memory_and_a_cells_peak(typed, shell, allocator, capsys):  # noqa: F811
    assert "5.0 GiB at the peak" in typed("memory")
    allocator.numbers["current"] = 1 << 30
    shell.run_cell = lambda cell: allocator.numbers.update(current=2 << 30)
    shell.magics["cell", "berth_memory"]("", "x = 1")
    assert capsys.readouterr().out == "berth: peak 5.0 GiB, left behind +1.0 GiB, reserved 8.0 GiB\n"
    assert allocator.resets == 1
    allocator.started = False
    shell.magics["cell", "berth_memory"]("", "x = 1")
    assert "torch has started on no device" in capsys.readouterr().out


def test_explain(typed, monkeypatch):
    monkeypatch.setattr("berth.magic.explain", lambda what: berth.explain(what or "2", seconds=1))
    assert "memory of the GPU is held, and nothing computes" in typed("explain")


def test_in_ipython_itself(here):
    ipython = os.environ.get("BERTH_IPYTHON_PYTHON", sys.executable)
    if subprocess.run([ipython, "-c", "import IPython"], capture_output=True, check=False).returncode != 0:
        pytest.skip("IPython is not installed")
    code = "%load_ext berth\n%berth lease --only 4\n%berth\n%%berth_memory\nx = 1\n"
    script = here.directory / "cells.ipy"
    script.write_text(code.replace("%%berth_memory\nx = 1\n", "get_ipython().run_cell_magic('berth_memory', '', 'x = 1')\n"))
    done = subprocess.run(
        [ipython, "-m", "IPython", "--no-banner", script], env=here.environment({}), capture_output=True, text=True,
        cwd=here.directory, check=False, timeout=100,
    )  # fmt: skip
    assert "GPU 4 (NVIDIA H100 80GB HBM3): this kernel's until" in done.stdout, done.stdout + done.stderr
    assert "21871" in done.stdout and "torch has started on no device" in done.stdout
