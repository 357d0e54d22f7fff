"""doc/LIBRARY.md's programs and the README's, run exactly as they stand there."""

import json
import re

import pytest

from conftest import PYTHON, ROOT

pytest.importorskip("torch", reason="python3-torch is not installed")

PAGE = ROOT / "doc/LIBRARY.md"
TWIN = ROOT / "doc/LIBRARY.zh-CN.md"


def programs(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8").partition("\n## C")[0], re.M | re.S)


LOOK, LEASE, ASYNC, MARKS, BATCH, RANK = programs(PAGE)


@pytest.fixture
def played(desk):
    def play(program, *starter, **how):
        script = desk.directory / "program.py"
        script.write_text(program)
        if starter:
            done = desk.run(*starter, PYTHON, script, timeout=100)
            assert done.returncode == 0, done.stderr
            return done.stdout
        return desk.python(f"exec(open({str(script)!r}).read())", **how)

    return play


def test_both_languages_have_the_same_programs():
    assert programs(TWIN) == programs(PAGE)


def marks(desk):
    return [mark["text"] for mark in json.loads(desk.run("show", "last", "--json").stdout)["marks"]]


def test_the_readmes_program(played, desk):
    for name in ("README.md", "README.zh-CN.md"):
        [program] = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S)
        assert "loss" in played(program), name
        assert [mark.split()[0] for mark in marks(desk)] == ["epoch=0", "epoch=1", "epoch=2"], name
        assert desk.leases() == []


def test_who_is_where(played):
    text = played(LOOK)
    assert re.search(r"^GPU 0 NVIDIA H100 80GB HBM3 busy alice [0-9.]+ GiB$", text, re.M)
    assert "\n   alice 21871 python -u train.py" in text
    assert re.search(r"^GPU 7 .* free  0 MiB$", text, re.M)


def test_a_gpu_of_your_own(played, desk):
    assert re.search(r"on \[<berth\.Device GPU \d: .*>\] loss \d", played(LEASE))
    desk.holding("berth.lease(5)")
    impatient = LEASE.replace('wait="1h"', 'wait="100ms"').replace('memory="10G"', "n=1")
    assert "on the CPU loss" in played(impatient)
    assert "so this computes on the CPU" in desk.errors


def test_what_a_training_did(played, desk):
    without = MARKS.replace(", record=True", "")
    assert without != MARKS
    for program, *starter in ((MARKS,), (without, "run", "-q", "--")):
        played(program, *starter)
        assert [mark.split()[0] for mark in marks(desk)] == ["epoch=0", "epoch=1", "epoch=2"]
        assert all(re.fullmatch(r"epoch=\d loss=[0-9.e-]+", mark) for mark in marks(desk))


def test_asyncio(played):
    assert re.fullmatch(r"on \[<berth\.Device GPU \d: .*, leased, .*>\]\n", played(ASYNC))


def test_the_largest_batch(played):
    assert played(BATCH) == "batch 91\n"


def test_a_rank(played):
    assert played(RANK) == "rank on cpu\n"
