"""The recipes: copied out of the program by `berth recipes`, and run under `berth run` where there is no GPU. They are
held to the numbers that they print and mark."""

import json
import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT, Machine
from test_join import free_port

PYTHON = "/usr/bin/python3"
SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "examples/recipes").glob("*.py")}


def torch_version():
    """(1, 13), or None where python3-torch is not installed."""
    ask = [PYTHON, "-c", "import importlib.metadata as m; print(m.version('torch'))"]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    return tuple(int(part) for part in done.stdout.split(".")[:2]) if done.returncode == 0 else None


TORCH = torch_version()
needs_torch = pytest.mark.skipif(TORCH is None, reason="python3-torch is not installed")


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A folder with every recipe, as `berth recipes copy all` writes it."""
    machine = Machine(tmp_path_factory.mktemp("copying"))
    folder = tmp_path_factory.mktemp("work") / "recipes"
    done = machine.run("recipes", "copy", "all", folder)
    assert done.returncode == 0, done.stderr
    return folder


def play(machine, copied, name, how=("--cpu",), starter=(), words=(), code=0, variables=None):
    """(what it printed, its marks) of a recipe under berth run."""
    script = copied / f"{name}.py"
    # Small tensors: a second thread would mostly wait for the first, busily.
    done = machine.run(
        "run", *how, "--", PYTHON, *starter, script, *words,
        timeout=120, cwd=machine.directory, env={"OMP_NUM_THREADS": "1", **(variables or {})},
    )
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    record = json.loads(machine.run("show", "last", "--json").stdout)
    return done.stdout, [mark["text"] for mark in record["marks"]]


BY_HAND = """
import os, subprocess, sys
port, *program = sys.argv[1:]
meeting = {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
ranks = [subprocess.Popen([sys.executable, *program], env=os.environ | meeting | {"RANK": rank, "LOCAL_RANK": rank})
         for rank in "01"]
sys.exit(max(abs(rank.wait()) for rank in ranks))
"""


def number(text, name):
    found = re.search(rf"\b{re.escape(name)}[ =]([-+.0-9e]+)", text)
    assert found, f"no {name} in:\n{text}"
    return float(found[1])


@needs_torch
def test_accumulated_gradients_are_those_of_the_large_batch(machine, copied):
    text, marks = play(machine, copied, "accumulate")
    assert number(text, "gradient_difference in_pieces") < 1e-5
    assert number(text, "weight_difference after 20 steps") < 1e-4
    # The comparison can fail: the usual mistakes are seen by it.
    assert number(text, "gradient_difference without_division") > 1
    assert number(text, "gradient_difference mean_of_means") > 0.01
    assert number(marks[0], "gradient_difference") == number(text, "gradient_difference in_pieces")


@needs_torch
def test_mixed_precision_learns_as_float32_does_where_no_gpu_is(machine_of, copied):
    machine = machine_of(None)
    machine.env["BERTH_NVML"] = "/nonexistent/libnvidia-ml.so.1"
    text, marks = play(machine, copied, "mixed_precision", how=("--or-cpu",))
    assert "float16 holds 1e-08 as 0," in text, text
    assert "outputs torch.float32, weights {torch.float32}" in text, text
    assert "outputs torch.bfloat16, weights {torch.float32}" in text, text
    full, mixed = number(marks[0], "loss_float32"), number(marks[0], "loss_mixed")
    assert full < 2.0, "ten classes by chance are at 2.3: it did not learn"
    assert abs(mixed - full) / full < 0.1 and full != mixed


@needs_torch
def test_data_loader_settings_are_measured_and_deliver_the_same(machine, copied):
    text, marks = play(machine, copied, "data_loader")
    assert "all settings delivered the same 16 batches" in text, text
    assert re.search(r"pin_memory +left out: on the CPU nothing is copied", text), text
    rates = {mark.split()[1]: number(mark, "samples_per_s") for mark in marks}
    assert len(rates) == 4 and all(rate > 0 for rate in rates.values()), marks
    best = max(rates, key=rates.get).replace("+", "+ ")
    assert f"fastest here: {best}," in text, "what is called fastest is not what was measured"
    assert all(0 < number(mark, "waited") <= 1 for mark in marks), marks


@needs_torch
def test_memory_marks_show_the_leak_and_no_other(machine, copied):
    text, marks = play(machine, copied, "memory_marks")
    assert "memory is the resident size of the process" in text, text
    sizes = [number(mark, "process_rss_mib") for mark in marks]
    grown = [after - before for before, after in zip(sizes, sizes[1:])]
    assert len(sizes) == 6, marks
    assert max(grown[:2]) < 25, f"epochs that keep nothing grew: {sizes}"
    assert min(grown[3:]) > 35, f"epochs that keep their graphs did not grow: {sizes}"


@needs_torch
def test_checkpointed_activations_give_the_same_gradients_for_less_memory(machine, copied):
    text, marks = play(machine, copied, "activation_checkpointing")
    assert number(text, "gradient_difference") < 1e-5
    assert 0 < number(marks[0], "checkpointed_kept_mib") < number(marks[0], "kept_mib") / 2


@needs_torch
def test_remedies_for_an_idle_gpu_compute_the_same(machine, copied):
    text, marks = play(machine, copied, "busy_gpu")
    measured = {mark.split()[0]: number(mark, "samples_per_s") for mark in marks}
    assert {"remedy=plain", "remedy=larger_batch", "remedy=seldom_asked"} <= set(measured), marks
    assert all(rate > 0 for rate in measured.values())
    assert all(float(off) < 1e-4 for off in re.findall(r"sum_difference (\S+)", text))
    assert "pinned_copies  left out: on the CPU nothing is copied" in text, text
    if TORCH < (2, 0):
        assert "compiled       left out: torch.compile came with torch 2.0" in text, text


@needs_torch
def test_two_ranks_by_torchrun_equal_one_process_with_the_whole_batch(machine, copied):
    starter = ["-m", "torch.distributed.run", "--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0"]
    if TORCH < (2, 1) and sys.version_info >= (3, 11):
        starter += ["-r", "9:1", "-t", "9:1"]  # doc/RECIPES.md says why
    starter.append("--nproc_per_node=2")
    if TORCH >= (2, 4):  # Debian's is built without libuv, which torchrun insists on; doc/RECIPES.md says so
        starter = ["-c", BY_HAND, str(free_port())]
    text, marks = play(
        machine, copied, "distributed", how=("-n", "2"), starter=starter,
        variables={"USE_LIBUV": "0"},
    )
    assert "2 processes on cpu by gloo" in text, text
    assert number(text, "rank_difference") == 0
    assert number(text, "weight_difference from one process") < 1e-4
    assert len(marks) == 1 and number(marks[0], "loss") < 2.0, marks
    record = json.loads(machine.run("show", "last", "--json").stdout)
    assert len(record["given"]["devices"]) == 2, "berth run -n 2 gave two"


@needs_torch
def test_a_training_stopped_by_its_time_limit_goes_on_as_if_it_had_not_been(machine, copied):
    checkpoint = machine.directory / "resume.pt"
    words = ("--steps", "700", "--checkpoint", checkpoint)
    # The warning comes at 4.5 s. If torch was not imported by then, on a busy machine, it comes again at 13.5 s. 700
    # steps of 30 ms outlast both.
    for limit in ("5s", "15s"):
        text, marks = play(
            machine, copied, "resume", how=("--cpu", "--time", limit), words=[*words, "--pause", "0.03"], code=75
        )
        saved = number(marks[-1], "saved_at")
        assert marks[-1] == f"saved_at={saved:.0f} because=SIGTERM", text
        if saved > 0:
            break
    assert 0 < saved < 700 and not checkpoint.with_suffix(".pt.new").exists()

    text, marks = play(machine, copied, "resume", words=[*words, "--verify"])
    assert number(marks[0], "resumed_at") == saved
    assert "finished: step 700" in text, text
    assert number(text, "weight_difference from a training that was not stopped") == 0


FINISHED = """
import sys
from unittest.mock import MagicMock
torch = MagicMock(__version__="1.13.1")
torch.load.return_value = dict.fromkeys(("model", "optimizer", "schedule", "data", "random"), 0) | {
    "done": 400, "random_cuda": None}
sys.modules["torch"] = torch
"""


def test_a_finished_checkpoint_is_refused_with_the_way_on(copied, tmp_path):
    (tmp_path / "torch.py").write_text(FINISHED)
    (tmp_path / "resume.pt").write_bytes(b"whole")
    command = [PYTHON, copied / "resume.py", "--steps", "400"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, "not 75, which would start it again for ever"
    assert "resume.pt has all 400 steps: nothing to resume" in done.stderr
    assert "--steps 800" in done.stderr and "another --checkpoint" in done.stderr
    assert "resumed_at" not in done.stdout


NEWER = """
import runpy, sys, types, torch
asked, folder = [], sys.argv.pop()
class Scaler:
    def __init__(self, device, enabled=True):
        asked.append((device, enabled))
    def scale(self, loss): return loss
    def unscale_(self, optimizer): pass
    def step(self, optimizer): optimizer.step()
    def update(self): pass
class Deprecated:
    def __init__(self, *words, **named): raise SystemExit("torch.cuda.amp.GradScaler is deprecated")
torch.amp.GradScaler, torch.cuda.amp.GradScaler = Scaler, Deprecated
def run(name):
    try:
        runpy.run_path(f"{folder}/{name}.py", run_name="__main__")
    except SystemExit as end:
        assert not end.code, end.code
run("mixed_precision")
print("scalers", asked)
torch.compile = lambda model: model
run("busy_gpu")
def no_compiler(model): raise RuntimeError("no C++ compiler")
torch.compile = no_compiler
run("busy_gpu")

# What only a GPU does, with a stand-in for its streams and counters.
import contextlib
functions = lambda name: runpy.run_path(f"{folder}/{name}.py")
waits = []
stream = types.SimpleNamespace(wait_stream=waits.append)
torch.cuda.Stream, torch.cuda.current_stream, torch.cuda.stream = lambda: stream, lambda: stream, contextlib.nullcontext
torch.Tensor.record_stream = lambda tensor, stream: None
busy = functions("busy_gpu")
model, rows, cpu = busy["make_model"](torch.device("cpu")), torch.randn(200, busy["WIDTH"]), torch.device("cpu")
with torch.no_grad():
    sums = busy["pinned_copies"](model, rows, cpu), busy["plain"](model, rows, cpu)
print("pinned", abs(sums[0] / sums[1] - 1) < 1e-5, len(waits))
cuda, resets = torch.device("cuda"), []
torch.cuda.reset_peak_memory_stats = resets.append
torch.cuda.max_memory_allocated = lambda device: 3 << 20
torch.cuda.memory_reserved = lambda device: 5 << 20
print(functions("memory_marks")["memory"](cuda), "peak", functions("accumulate")["peak_of"](cuda, int), len(resets))
for major, known in ((8, "bfloat16"), (7, "float16")):
    torch.cuda.get_device_capability = lambda device: (major, 0)
    print(functions("mixed_precision")["best_dtype"](cuda), known)
"""


@needs_torch
def test_recipes_use_what_newer_torch_and_a_gpu_have(copied):
    done = subprocess.run(
        [PYTHON, "-c", NEWER, copied], capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": os.environ["PATH"], "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "scalers [('cpu', False), ('cpu', False)]" in done.stdout, done.stdout
    assert re.search(r"compiled +\d+ samples/s", done.stdout), done.stdout
    assert "compiled       left out: torch.compile failed here: no C++ compiler" in done.stdout, done.stdout
    assert "pinned True 4\n" in done.stdout, "200 rows are three batches of 64 and one of 8"
    assert "cuda_peak_mib=3.0 cuda_reserved_mib=5.0 peak 3.0 2\n" in done.stdout, done.stdout
    assert "torch.bfloat16 bfloat16\ntorch.float16 float16\n" in done.stdout, done.stdout


def test_the_program_lists_and_shows_what_examples_has(machine):
    done = machine.run("recipes")
    assert {line.split()[0] for line in done.stdout.splitlines()} == set(SOURCES)
    assert machine.run("recipes", "list").stdout == done.stdout
    for name, text in SOURCES.items():
        assert machine.run("recipes", "show", name).stdout == text
    assert machine.run("recipes", "show", "mixed-precision.py").stdout == SOURCES["mixed_precision"]


def test_copy_writes_here_says_how_to_run_it_and_never_overwrites(machine, tmp_path):
    here = tmp_path / "here"
    here.mkdir()

    def copy(*words):
        return machine.run("recipes", "copy", *words, cwd=here)

    done = copy("resume")
    assert (done.returncode, done.stdout) == (
        0, "wrote resume.py\n    berth run --or-cpu --time 8h -- python3 resume.py\n"
    )
    assert (here / "resume.py").read_text(encoding="utf-8") == SOURCES["resume"]
    assert copy("resume").stdout.startswith("resume.py was there already\n")

    (here / "resume.py").write_text("mine", encoding="utf-8")
    done = copy("all")
    assert done.returncode == 1 and "resume.py is there already" in done.stderr, done
    done = copy("all", "resume.py")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "resume.py is no directory" in done.stderr, done.stderr
    assert [path.name for path in here.iterdir()] == ["resume.py"], "all or none"
    assert (here / "resume.py").read_text(encoding="utf-8") == "mine"

    assert copy("resume", "--force").returncode == 0
    assert (here / "resume.py").read_text(encoding="utf-8") == SOURCES["resume"]


def test_copy_follows_no_symbolic_link(machine, tmp_path):
    other = tmp_path / "other.py"
    other.write_text("precious", encoding="utf-8")
    (tmp_path / "accumulate.py").symlink_to(other)
    assert machine.run("recipes", "copy", "accumulate", tmp_path).returncode == 1
    assert machine.run("recipes", "copy", "accumulate", tmp_path, "--force").returncode == 0
    assert other.read_text(encoding="utf-8") == "precious"
    assert (tmp_path / "accumulate.py").read_text(encoding="utf-8") == SOURCES["accumulate"]
    (tmp_path / "busy_gpu.py").symlink_to(tmp_path / "nowhere")
    assert machine.run("recipes", "copy", "busy_gpu", tmp_path).returncode == 1
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("words", [("show",), ("copy",), ("show", "cake"), ("copy", "cake"), ("bake", "resume"), ("list", "resume"), ("show", "resume", "here")])
def test_what_it_does_not_understand_does_nothing(machine, words):
    done = machine.run("recipes", *words)
    assert done.returncode == 2 and done.stdout == "" and "berth recipes" in done.stderr, done


def test_both_documents_tell_every_recipe_and_the_same_commands(machine, copied):
    english, chinese = ((ROOT / "doc" / name).read_text(encoding="utf-8") for name in ("RECIPES.md", "RECIPES.zh-CN.md"))
    blocks = [re.findall(r"^    (?:berth|torchrun|python3|while) .*", text, re.M) for text in (english, chinese)]
    # A remark behind "#" is in the document's language.
    assert [re.sub(r" +#.*", "", line) for line in blocks[0]] == [re.sub(r" +#.*", "", line) for line in blocks[1]]
    headings = [re.findall(r"^## .*`(\w+)`$", text, re.M) for text in (english, chinese)]
    listed = [line.split()[0] for line in machine.run("recipes").stdout.splitlines()]
    assert headings == [listed, listed]
    for line in {line for line in blocks[0] if line.lstrip().startswith("berth run ")}:
        words = line.split()[2:]
        done = machine.run("run", "--dry-run", *words)
        assert done.returncode == 0, f"doc/RECIPES.md: {line}: {done.stderr}"
    told = machine.run("recipes", "copy", "all", copied).stdout
    for name in listed:
        command = re.search(rf"^ +(berth run .*){re.escape(str(copied))}/{name}.py$", told, re.M)[1]
        assert f"    {command}{name}.py" in SOURCES[name], f"{name}.py does not open with how it is started"
        assert f"    {command}{name}.py" in english, f"doc/RECIPES.md does not say how {name} is started"
