"""What tutorials get wrong (doc/HABITS.md). Each pasted file is run for real, and fails or misleads as the document
says. berth prints what the document's last column quotes, in both languages of the document.

What cannot be run here is quoted from elsewhere. nvprof's words are from logs of A100 and RTX 4070 owners, and its
removal from the packages of CUDA 13.0. TensorFlow's deprecation is from tensorflow/tensorflow#32862, the missing
ConfigProto from #33504 there. The quotes of an --env-file are from docker/cli#3630."""

import json
import os
import re
import subprocess

import pytest
from conftest import E2E, PASTED, two_cards

PYTHON = "/usr/bin/python3"
PAGES = [(E2E.ROOT / "doc" / name).read_text(encoding="utf-8") for name in ("HABITS.md", "HABITS.zh-CN.md")]
needs_torch = pytest.mark.skipif(
    subprocess.run([PYTHON, "-c", "import importlib.metadata as m; m.version('torch')"], capture_output=True).returncode != 0,
    reason="python3-torch is not installed",
)


def rows_of(page):
    """The table's rows as lists of cells, of which a code span may hold a "|"."""
    return [line.strip("| ").split(" | ") for line in page.splitlines() if re.match(r"\| `.*\|.*\|.*\|", line) and line.count(" | ") == 3]


def cell(name, column, row=0):
    """The code spans of a cell, the same in both documents."""
    found = []
    for page in PAGES:
        mine = [cells for cells in rows_of(page) if cells[0] == f"`{name}`"]
        assert len(mine) > row, f"{name} has no row in doc/HABITS.md or its twin"
        found.append([code for code in re.findall(r"`([^`]+)`", mine[row][column]) if not code.startswith("--")])
    assert found[0] == found[1], "the two documents quote different things"
    return found[0]


def says(name, text, column=3, row=0, only=None):
    """Holds what berth (or the framework) printed to what the document quotes."""
    quoted = cell(name, column, row)
    for words in quoted if only is None else [quoted[only]]:
        assert words in text, f'doc/HABITS.md says "{words}" of {name}; printed was:\n{text}'


def run(desk, *words, env=None):
    done = desk.driver.run("run", *words, cwd=desk.directory, timeout=180, env=env or {})  # torch is slow to come
    return done, done.stdout + done.stderr


def test_export_in_a_notebook_ends_with_its_line(desk):
    notebook = json.loads((PASTED / "notebook_export.ipynb").read_text(encoding="utf-8"))
    line = notebook["cells"][0]["source"][0]
    assert line.startswith("!")
    # As IPython runs what follows a "!": by the system's shell, whose environment ends with it.
    script = f"import os; os.system({line[1:]!r}); print(os.environ.get('CUDA_VISIBLE_DEVICES', 'unset'))"
    clean = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    done = subprocess.run([PYTHON, "-c", script], env=clean, capture_output=True, text=True, check=True)
    assert done.stdout == "unset\n"
    # berth run -- jupyter execute NOTEBOOK; the notebook's text is all that is looked at.
    _, text = run(desk, "--", "true", "execute", PASTED / "notebook_export.ipynb")
    says("notebook_export.ipynb", text)


@needs_torch
def test_set_device_cpu_fails_as_told(desk):
    done, text = run(desk, "--cpu", "--", PYTHON, PASTED / "set_device_cpu.py")
    assert done.returncode == 1
    says("set_device_cpu.py", text, column=1, only=1)
    says("set_device_cpu.py", text)


@needs_torch
def test_cudnn_off_leaves_the_gpu_on(desk):
    done, text = run(desk, "--cpu", "--", PYTHON, PASTED / "cudnn_off.py")
    assert done.returncode == 0 and "training on cpu" in text
    says("cudnn_off.py", text)
    # With a card that is there, as far as PyTorch asks: the line keeps nothing off it.
    script = f"import torch, runpy; torch._C._cuda_getDeviceCount = lambda: 1; runpy.run_path({str(PASTED / 'cudnn_off.py')!r})"
    done = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "training on cuda\n", done.stderr


def test_curly_quotes_are_part_of_the_value(desk):
    script = PASTED / "curly_quotes.sh"
    done = subprocess.run(
        ["bash", "-c", f". {script}; printf %s $CUDA_VISIBLE_DEVICES; exec {E2E.BERTH} pick"],
        env=desk.env, cwd=desk.directory, capture_output=True, text=True, check=False,
    )
    assert done.stdout.startswith("“1”") and done.returncode == 124, "no device is visible then"
    says("curly_quotes.sh", done.stderr, only=0)
    done, text = run(desk, "--", "bash", script)
    assert done.returncode == 0
    says("curly_quotes.sh", text, only=1)


def test_a_device_in_a_dockerfile_is_what_every_container_has(desk_of):
    free = two_cards()
    free["devices"][0] |= {name: free["devices"][1][name] for name in ("memory_used_bytes", "memory_free_bytes", "utilization_gpu_percent")}
    desk = desk_of(free)
    line = re.search(r"^ENV (\w+)=(.*)$", (PASTED / "Dockerfile").read_text(encoding="utf-8"), re.M)
    assert desk.driver.run("pick", "-n", "2").returncode == 0, "two cards are free"
    # Docker takes the quotes away in a Dockerfile …
    done = desk.driver.run("pick", "-n", "2", env={line[1]: line[2].strip('"')})
    assert done.returncode == 124
    says("Dockerfile", done.stderr + done.stdout)
    # … and leaves them in an --env-file.
    done = desk.driver.run("pick", env={line[1]: line[2]})
    assert done.returncode == 124
    says("Dockerfile", done.stderr + done.stdout, row=1)


def test_nvprof_that_is_not_there(desk):
    if subprocess.run(["which", "nvprof"], capture_output=True).returncode == 0:
        pytest.skip("nvprof is installed here")
    command = (PASTED / "nvprof.sh").read_text(encoding="utf-8").split()
    done, text = run(desk, "--", *command)
    assert done.returncode == 127
    says("nvprof.sh", text)


TENSORFLOW_2 = """
class test:
    @staticmethod
    def is_gpu_available():
        return False
"""


def test_calls_of_tensorflow_1_fail_as_told(desk):
    (desk.directory / "tensorflow.py").write_text(TENSORFLOW_2, encoding="utf-8")
    done, text = run(desk, "--cpu", "--", PYTHON, PASTED / "tf1.py", env={"PYTHONPATH": str(desk.directory)})
    assert done.returncode == 1
    says("tf1.py", text, column=1, only=1)
    says("tf1.py", text)


def test_every_row_of_the_table_has_its_file_and_its_cure():
    for page in PAGES:
        rows = rows_of(page)
        assert len(rows) == 8
        for cells in rows:
            assert (PASTED / cells[0].strip("`")).is_file(), cells[0]
            assert all(one.strip() for one in cells), cells


def answers_of(name):
    """What the second table says of a file: its last cell's code span, the same in both documents."""
    found = []
    for page in PAGES:
        lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(f"| `{name}`") and line.count(" | ") == 2]
        found.append([re.findall(r"`([^`]+)`", cells[2]) for cells in lines])
    assert found[0] and found[0] == found[1], f"{name}: {found}"
    return [spans[0] for spans in found[0] if spans]


def explained(desk, printed):
    done = desk.driver.run("explain", "--log", "-", cwd=desk.directory, input=printed)
    return done.stdout


@needs_torch
def test_explain_knows_what_the_cpu_as_a_cuda_device_comes_to(desk):
    done = subprocess.run([PYTHON, PASTED / "set_device_cpu.py"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert answers_of("set_device_cpu.py")[0] in explained(desk, done.stdout + done.stderr)


@needs_torch
def test_explain_sees_no_error_where_there_is_none(desk):
    done = subprocess.run([PYTHON, PASTED / "cudnn_off.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert answers_of("cudnn_off.py")[0] in explained(desk, done.stdout + done.stderr)


def test_explain_knows_calls_of_tensorflow_1(desk):
    (desk.directory / "tensorflow.py").write_text(TENSORFLOW_2, encoding="utf-8")
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(desk.directory)}
    done = subprocess.run([PYTHON, PASTED / "tf1.py"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert answers_of("tf1.py")[0] in explained(desk, done.stdout + done.stderr)


def test_explain_knows_that_nvprof_is_gone(desk):
    env = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", PASTED / "nvprof.sh"], env=env, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        pytest.skip("nvprof is installed here")
    assert answers_of("nvprof.sh")[0] in explained(desk, done.stdout + done.stderr)


def doctor(desk, **variables):
    env = {"PATH": "/usr/bin:/bin"} | variables
    return " ".join(desk.driver.run("doctor", "--no-import", cwd=desk.directory, env=env, timeout=60).stdout.split())


def test_doctor_says_what_curly_quotes_come_to(desk):
    value = subprocess.run(
        ["bash", "-c", f". {PASTED / 'curly_quotes.sh'}; printf %s $CUDA_VISIBLE_DEVICES"],
        capture_output=True, text=True, check=True,
    ).stdout
    assert answers_of("curly_quotes.sh")[0] in doctor(desk, CUDA_VISIBLE_DEVICES=value)
    assert answers_of("curly_quotes.sh")[0] not in doctor(desk)


def test_doctor_says_what_a_line_in_a_dockerfile_comes_to(desk):
    line = re.search(r"^ENV (\w+)=(.*)$", (PASTED / "Dockerfile").read_text(encoding="utf-8"), re.M)
    one, quoted = answers_of("Dockerfile")[0], answers_of("Dockerfile`, `--env-file")[0]
    inside = doctor(desk, CUDA_DEVICE_ORDER="PCI_BUS_ID", **{line[1]: line[2].strip('"')})
    assert one in inside and "cuda:1" not in inside
    assert quoted in doctor(desk, **{line[1]: line[2]})


def test_doctor_in_a_notebook_shows_that_the_export_did_nothing(desk):
    assert answers_of("notebook_export.ipynb") == []
    notebook = json.loads((PASTED / "notebook_export.ipynb").read_text(encoding="utf-8"))
    line = notebook["cells"][0]["source"][0]
    command = f"{line[1:].strip()}; {E2E.BERTH} doctor --no-import"
    in_its_shell = subprocess.run(["bash", "-c", command], env=desk.env, cwd=desk.directory, capture_output=True, text=True, check=False)
    assert "CUDA_VISIBLE_DEVICES=" in in_its_shell.stdout
    # The next line has a shell of its own.
    assert "CUDA_VISIBLE_DEVICES=" not in doctor(desk)
