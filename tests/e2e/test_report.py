"""`berth report` and `berth manifest` as a user would use them. The example training becomes one file, looked at in
headless Chromium. A GPU run stands beside a CPU run, and two manifests differ."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

from browser import CHROMIUM, why_no_browser
from conftest import BERTH, ROOT, Machine, wait_until

sys.path.insert(0, str(ROOT / "tools"))
import check_page  # noqa: E402
from test_example import PYTHON, has_torch  # noqa: E402

TRAIN = ROOT / "examples/train.py"
# The same marks where there is no torch.
WITHOUT_TORCH = """
import os, time
for epoch in range(1, 5):
    time.sleep(0.7)
    with open(os.environ["BERTH_MARKS"], "a") as marks:
        marks.write(f"epoch={epoch} loss={1 / epoch:.3f}\\n")
"""
HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>"


def training():
    if has_torch():
        return [PYTHON, TRAIN, "--epochs", "6", "--points", "16384"]
    return [PYTHON, "-c", WITHOUT_TORCH]


def ids(machine):
    return [run["id"] for run in json.loads(machine.run("runs", "--json").stdout)["runs"]]


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """A simulated GPU run and a CPU run of the example, newest last."""
    machine = Machine(tmp_path_factory.mktemp("runs"))
    on_gpu = machine.run("run", "-n", "1", "--memory", "20G", "--", *training(), timeout=300)
    assert on_gpu.returncode == 0, on_gpu.stderr
    on_cpu = machine.run("run", "--cpu", "--", *training(), timeout=300)
    assert on_cpu.returncode == 0, on_cpu.stderr
    newest, older = ids(machine)
    return machine, older, newest


@pytest.fixture(scope="module")
def three_runs(two_runs):
    """A third beside the two, on two GPUs, that died: their ids, oldest first."""
    machine, on_gpu, on_cpu = two_runs
    assert machine.run("run", "-n", "2", "--", "sh", "-c", "sleep 0.3; kill -SEGV $$").returncode == -11
    return machine, [on_gpu, on_cpu, ids(machine)[0]]


# Four words of small letters in a row: no product, no unit and no name has as many.
ENGLISH = re.compile(r"(?:\b[a-z]{2,}\b[ ,;:]+){3,}[a-z]{2,}\b")


def texts_of(markdown):
    """The cells and lines of a Markdown page but for code and what the job's command was."""
    prose = re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S)
    for line in re.sub(r"`[^`]*`", "", prose).splitlines():
        if not line.startswith(("| 命令 |", "| Command |")):
            yield from line.split(" | ")


def seen(path):
    """The file as a browser shows it."""
    if why_no_browser():
        pytest.skip(why_no_browser())
    if reason := check_page.bring_tools(ROOT):
        pytest.skip(reason)
    done = subprocess.run(
        ["node", ROOT / "web/tests/browser/report.mjs", check_page.modules(ROOT), path],
        env=os.environ | {"BERTH_CHROMIUM": CHROMIUM},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def chart(page, name):
    return next(one for one in page["charts"] if one["name"] == name)


def test_a_report_of_the_training_is_whole_in_a_browser(two_runs, tmp_path):
    machine, on_gpu, _ = two_runs
    path = tmp_path / "f.html"
    done = machine.run("report", on_gpu, "-o", path, "--price", "0.30", "--currency", "EUR")
    assert (done.returncode, done.stdout) == (0, f"{path}\n"), done.stderr
    page = seen(path)
    assert page["said"] == [] and page["scripts"] == 0
    assert page["violations"] == []
    assert page["language"] == "en" and on_gpu in page["heading"]
    assert page["simulated"] == "SIMULATED server-8xh100"
    assert not page["wider"] and not page["wider_on_phone"]
    assert page["background"] != page["dark_background"]
    marks = len(json.loads(machine.run("show", on_gpu, "--json").stdout)["marks"])
    assert marks >= 4
    # Marks that would stand on one another are left out, in each chart the same.
    drawn = chart(page, "utilization")["marks"]
    assert 1 <= drawn <= marks
    for name in ("utilization", "memory", "power", "temperature", "clock", "cpu", "main_memory"):
        assert chart(page, name)["marks"] == drawn, name
        assert len(chart(page, name)["lines"]) == 1 and chart(page, name)["lines"][0] > 20, name
    titles = [one["title"] for one in page["charts"]]
    assert any(title.startswith("Marked: loss") for title in titles), titles  # perhaps over powers of ten
    assert "of 20.0 GiB promised" in page["text"] and "EUR" in page["text"]


def test_a_gpu_run_and_a_cpu_run_stand_side_by_side(two_runs, tmp_path):
    machine, on_gpu, on_cpu = two_runs
    path = tmp_path / "two.html"
    done = machine.run("report", on_gpu, on_cpu, "-o", path)
    assert done.returncode == 0, done.stderr
    page = seen(path)
    assert page["said"] == [] and page["violations"] == []
    assert len(chart(page, "utilization")["lines"]) == 1
    both = chart(page, "main_memory")
    assert both["legend"] == ["A", "B"]
    assert both["dashes"][0] != both["dashes"][1], "told apart without colours"
    assert "What differed in the environment" in page["sections"]
    assert "B was given no device" in page["text"]
    assert "computed on" in page["text"]


def test_three_runs_are_the_columns_a_b_and_c(three_runs, tmp_path):
    machine, names = three_runs
    markdown = machine.run("report", "--md", *names).stdout
    header = " | ".join(f"{letter}: {name}" for letter, name in zip("ABC", names, strict=True))
    assert f"| Figure | {header} |" in markdown, markdown[:2000]
    (state,) = [line for line in markdown.splitlines() if line.startswith("| State |")]
    assert [cell.strip() for cell in state.split("|")[2:5]] == ["ended with 0", "ended with 0", "killed by SIGSEGV (11)"]
    for other in "BC":
        assert f"| What | A | {other} |" in markdown, "what differed from the first"
    path = tmp_path / "three.html"
    assert machine.run("report", *names, "-o", path).returncode == 0
    html = path.read_text(encoding="utf-8")
    places = [html.index(f"{letter}: {name}") for letter, name in zip("ABC", names, strict=True)]
    assert places == sorted(places)
    report = json.loads(machine.run("report", "--json", *names).stdout)
    assert [run["id"] for run in report["runs"]] == names


def test_chinese_markdown_has_no_english_sentence(three_runs):
    machine, names = three_runs
    for what in (names, names[:1], names[1:2], names[2:]):
        english = machine.run("report", "--md", *what).stdout
        assert any(ENGLISH.search(text) for text in texts_of(english)), "the rule finds English"
        chinese = machine.run("--lang", "zh_CN", "report", "--md", *what).stdout
        assert "硬件与软件" in chinese
        assert [text for text in texts_of(chinese) if ENGLISH.search(text)] == []


def test_it_speaks_chinese(two_runs, tmp_path):
    machine, on_gpu, _ = two_runs
    path = tmp_path / "zh.html"
    assert machine.run("--lang", "zh_CN", "report", on_gpu, "-o", path).returncode == 0
    page = seen(path)
    assert page["language"] == "zh-Hans"
    assert "图表" in page["sections"]
    assert page["violations"] == []
    # JSON is the same in every language.
    chinese = json.loads(machine.run("--lang", "zh_CN", "report", "--json", on_gpu).stdout)
    english = json.loads(machine.run("report", "--json", on_gpu).stdout)
    assert chinese | {"written_unix_ms": 0} == english | {"written_unix_ms": 0}


def test_what_a_job_marks_stays_text(machine, tmp_path):
    done = machine.run("run", "--", "sh", "-c", f"printf '%s\\n' '{HOSTILE}' >> $BERTH_MARKS; : '{HOSTILE}'")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "f.html"
    assert machine.run("report", "last", "-o", path).returncode == 0
    html = path.read_text(encoding="utf-8")
    assert "<script" not in html and "<img" not in html
    assert "&lt;script&gt;alert(1)" in html
    page = seen(path)
    assert page["scripts"] == 0 and page["images"] == 0 and page["said"] == []
    assert HOSTILE in page["text"]


def test_markdown_and_json_go_to_stdout(two_runs):
    machine, on_gpu, _ = two_runs
    markdown = machine.run("report", "--md", on_gpu)
    assert markdown.stdout.startswith("# Run "), markdown.stderr
    assert "**SIMULATED server-8xh100**" in markdown.stdout
    report = json.loads(machine.run("report", "--json", on_gpu).stdout)
    assert report["berth_report"] == 1
    run = report["runs"][0]
    assert run["id"] == on_gpu and run["record"]["given"]["simulated"] == "server-8xh100"
    loss = next(one for one in run["marked_numbers"] if one["name"] == "loss")
    said = [mark["text"] for mark in run["record"]["marks"] if "loss=" in mark["text"]]
    assert loss["last"] == float(said[-1].split("loss=")[1])
    assert max(loss["curve"]["most"]) == float(said[0].split("loss=")[1])
    assert run["figures"]["memory_peak_bytes"] > 0


def test_a_file_that_is_there_is_not_replaced_unasked(two_runs, tmp_path):
    machine, on_gpu, _ = two_runs
    path = tmp_path / "f.html"
    path.write_text("mine", encoding="utf-8")
    refused = machine.run("report", on_gpu, "-o", path)
    assert refused.returncode == 1 and "--force" in refused.stderr
    assert path.read_text(encoding="utf-8") == "mine"
    assert machine.run("report", on_gpu, "-o", path, "--force").returncode == 0
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_without_a_name_it_is_named_after_the_run(two_runs, tmp_path):
    machine, on_gpu, _ = two_runs
    done = machine.run("report", on_gpu, cwd=tmp_path)
    assert done.stdout == f"report-{on_gpu}.html\n"
    assert [path.name for path in tmp_path.iterdir()] == [f"report-{on_gpu}.html"]


def test_what_cannot_be_written_leaves_nothing_behind(two_runs, tmp_path):
    machine, on_gpu, _ = two_runs
    done = machine.run("report", on_gpu, "-o", tmp_path / "no/such/folder.html")
    assert done.returncode == 1 and "No such file" in done.stderr
    # A file of at most 4 KiB, as on a disk that fills up.
    limited = subprocess.run(
        ["sh", "-c", f"trap '' XFSZ; ulimit -f 8; exec {BERTH} report {on_gpu} -o {tmp_path}/f.html"],
        env=machine.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert limited.returncode == 1 and "File too large" in limited.stderr, limited.stderr
    assert list(tmp_path.iterdir()) == []
    full = subprocess.run(
        f"{BERTH} report {on_gpu} -o - > /dev/full", shell=True, env=machine.env, capture_output=True, text=True
    )
    assert full.returncode == 1, full.stderr


def test_of_a_failed_run_the_report_says_why(machine):
    assert machine.run("run", "--", "sh", "-c", "kill -9 $$").returncode == -9
    report = json.loads(machine.run("report", "--json", "last").stdout)
    assert report["runs"][0]["findings"], "why it died"
    assert "Findings" in machine.run("report", "--md", "last").stdout


def test_of_a_run_that_goes_on_it_says_so(machine):
    process = machine.start("run", "--", "sleep", "60")
    try:
        wait_until(lambda: "running" in machine.run("runs").stdout, "the run is there")
        samples = machine.directory / "state/berth/last/samples"
        wait_until(lambda: samples.exists() and samples.read_text(encoding="utf-8").count('{"t"') > 1, "it was looked at twice")
        done = machine.run("report", "last", "-o", "-")
        assert "still running when this was written" in done.stdout, done.stderr
    finally:
        machine.run("stop", "last", timeout=60)
        process.wait(timeout=30)


def test_wrong_words_are_refused(machine):
    assert machine.run("report").returncode == 2
    assert machine.run("report", "--json", "--md", "last").returncode == 2
    assert machine.run("report", "--price", "cheap", "last").returncode == 2
    missing = machine.run("report", "20990101")
    assert missing.returncode == 1 and "berth runs" in missing.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become somebody else")
def test_another_users_run_cannot_be_read(two_runs, tmp_path):
    machine, on_gpu, _ = two_runs
    os.chmod(machine.directory, 0o711)
    for parent in machine.directory.parents:
        if str(parent).startswith("/tmp/"):
            os.chmod(parent, 0o711)
    done = subprocess.run(
        [BERTH, "report", on_gpu, "-o", "-"],
        env=machine.env,
        user=65534,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout[:200]
    assert done.stdout == "" and done.stderr.startswith("berth: "), done.stderr


# --- manifest ---------------------------------------------------------------------------------------------


def test_the_manifest_of_here_and_now(machine):
    text = machine.run("manifest").stdout
    assert text.startswith("SIMULATED server-8xh100\n")
    assert "NVIDIA H100 80GB HBM3" in text
    manifest = json.loads(machine.run("manifest", "--json", env={"HF_TOKEN": "geheim"}).stdout)
    assert manifest["format"] == "berth-manifest" and manifest["simulated"] == "server-8xh100"
    assert len(manifest["given"]["devices"]) == 8
    assert manifest["given"].get("gpu_processes", []) == []
    assert manifest["variables"]["HF_TOKEN"] == "***"


def test_a_manifest_kept_in_a_file_compares_with_now(machine, tmp_path):
    path = tmp_path / "then.json"
    assert machine.run("manifest", "--json", "-o", path).returncode == 0
    assert machine.run("manifest", "--json", "-o", path).returncode == 1, "not replaced unasked"
    same = machine.run("manifest", "diff", path, "now")
    assert same.returncode in (0, 3), same.stdout
    assert "Nothing was found that could explain other results." in same.stdout
    other = machine.run("manifest", "diff", path, "now", env={"NVIDIA_TF32_OVERRIDE": "1"})
    assert other.returncode == 1 and "NVIDIA_TF32_OVERRIDE" in other.stdout
    speed = machine.run("manifest", "diff", "--json", path, "now", env={"NCCL_DEBUG": "INFO"})
    found = json.loads(speed.stdout)["differences"]
    assert [(one["rule"], one["explains"]) for one in found] == [("variable", "speed")]
    assert speed.returncode in (0, 3)


def test_a_gpu_run_and_a_cpu_run_differ_in_what_computed(two_runs):
    machine, on_gpu, on_cpu = two_runs
    done = machine.run("manifest", "diff", "--json", on_gpu, on_cpu)
    assert done.returncode == 1
    rules = [one["rule"] for one in json.loads(done.stdout)["differences"]]
    assert rules.index("cpu_or_gpu") < 3, rules
    directory = json.loads(machine.run("show", on_gpu, "--json").stdout)["directory"]
    equal = machine.run("manifest", "diff", "--json", directory, on_gpu)
    assert json.loads(equal.stdout)["differences"] == []


def test_wrong_words_of_manifest_are_refused(machine, tmp_path):
    assert machine.run("manifest", "difference").returncode == 2
    assert machine.run("manifest", "diff", "now").returncode == 2
    assert machine.run("manifest", "diff", "now", "no-such-run").returncode == 2
    junk = tmp_path / "junk.json"
    junk.write_text("{}", encoding="utf-8")
    done = machine.run("manifest", "diff", "now", junk)
    assert done.returncode == 2 and str(junk) in done.stderr
    assert machine.run("manifest", "--python", "/no/such/python").returncode == 1
    assert pathlib.Path(junk).read_text(encoding="utf-8") == "{}"
