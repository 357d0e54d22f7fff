"""What the tests are run with, and what the quick check believes of a program that was built before."""

import os
import pathlib
import re
import subprocess

import pytest

import run_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_a_program_older_than_its_sources_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    program, source = tmp_path / "berth", tmp_path / "src" / "verb.cc"
    assert "./dev build" in run_tests.reason_to_distrust(program)
    program.touch()
    source.touch()
    os.utime(source, (1, 1))
    assert run_tests.reason_to_distrust(program) == ""
    os.utime(source, (program.stat().st_mtime + 5,) * 2)
    assert "src/verb.cc" in run_tests.reason_to_distrust(program)


def test_the_long_tests_are_those_that_know_of_it_and_run_alone(monkeypatch):
    ran = []
    for name in ("BERTH", "BERTH_BUILD", "BERTH_LONG"):
        monkeypatch.setenv(name, "")  # and so taken back afterwards
    monkeypatch.setattr(run_tests, "build", lambda report, folder: True)
    monkeypatch.setattr(
        run_tests.test_programs,
        "run_pytest",
        lambda report, tests, folder, **how: ran.append((tests.name, os.environ["BERTH_LONG"])),
    )
    run_tests.main(["--long"])
    own = pathlib.Path(__file__).name
    texts = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")}
    # Or what they skip says so: `./dev test --long` unpacks what they want.
    knowing = {name for name, text in texts.items() if "BERTH_LONG" in text or re.search(r"skip.*\./dev test --long", text)}
    assert sorted(ran) == sorted((name, "1") for name in knowing - {own})


@pytest.fixture
def framework_runs(monkeypatch):
    """framework_runs("torch"): the files that were run, each with the environments that its tests were told of."""
    parts = run_tests.frameworks.parts()
    for name in ("BERTH", "BERTH_BUILD", *(part.variable for part in parts.values())):
        monkeypatch.setenv(name, "somebody's")  # and so taken back afterwards
    made = {name: part._replace(make=lambda name=name: pathlib.Path("/made", name)) for name, part in parts.items()}
    monkeypatch.setattr(run_tests.frameworks, "parts", lambda: made)
    monkeypatch.setattr(run_tests, "build", lambda report, folder: True)

    def run(*names):
        ran = {}

        def take(report, tests, folder, **how):
            assert tests not in ran
            ran[tests] = {part.variable: os.environ.get(part.variable) for part in parts.values()}

        monkeypatch.setattr(run_tests.test_programs, "run_pytest", take)
        run_tests.main(["--frameworks", *names])
        return ran

    return run


def test_each_file_of_the_frameworks_is_run_once_in_its_own_environment(framework_runs):
    ran = framework_runs()
    files = [*(ROOT / "tests/frameworks").glob("test_*.py"), *(ROOT / "tests/jupyter").glob("test_*.py")]
    assert sorted(ran) == sorted(files)
    parts = run_tests.frameworks.parts()
    for name, part in parts.items():
        assert part.tests
        for file in part.tests:
            assert ran[file][part.variable] == f"/made/{name}"


def test_a_part_of_the_frameworks_is_made_and_run_alone(framework_runs):
    ran = framework_runs("jax")
    assert [file.name for file in ran] == ["test_jax.py"]
    assert ran.popitem()[1] == {
        "BERTH_FRAMEWORKS": None, "BERTH_JAX": "/made/jax", "BERTH_JUPYTER": None, "BERTH_JUPYTER_CLASSIC": None,
    }  # fmt: skip
    assert framework_runs("jaxx") == {}


def test_dev_knows_each_part_of_the_frameworks():
    (known,) = re.findall(r"=~ \^\(\|(.*)\)\$ ", (ROOT / "dev").read_text(encoding="utf-8"))
    assert known.split("|") == list(run_tests.frameworks.parts())


def test_each_end_to_end_file_is_run_once():
    files = sorted((ROOT / "tests" / "e2e").glob("test_*.py"))
    serial = [run_tests.IN_A_BROWSER, *run_tests.LOOK_AT_THE_CLOCK]
    rest = [part for parts in run_tests.the_rest() for part in parts]
    assert sorted([file for file in rest if file.is_file()] + serial) == files


def test_each_folder_of_tests_in_python_is_run_once():
    in_other_verbs = {"e2e", "frameworks", "gpu", "jupyter"}
    folders = {file.parent.name for file in (ROOT / "tests").glob("*/test_*.py")} - in_other_verbs
    # Each has a conftest.py of its own.
    alone = [first for first, *more in run_tests.the_rest() if not more]
    assert sorted(part.name for part in alone if part.is_dir()) == sorted(folders)


def test_dev_tells_of_the_long_tests_and_of_no_other_word():
    told = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^ +--long: ", told, re.M)
    refused = subprocess.run([ROOT / "dev", "test", "--longer"], capture_output=True, text=True)
    assert refused.returncode == 1 and "--long" in refused.stderr


def test_the_long_tests_are_in_the_rules_of_work():
    assert "./dev test --long" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
