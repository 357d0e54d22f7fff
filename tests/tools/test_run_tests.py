"""What the tests are run with, and what the quick check believes of a program that was built before."""

import os
import pathlib
import re
import subprocess

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
    knowing = {file.name for file in (ROOT / "tests").rglob("test_*.py") if "BERTH_LONG" in file.read_text()}
    assert sorted(ran) == sorted((name, "1") for name in knowing - {own})


def test_frameworks_are_tested_in_their_own_environment_file_by_file(monkeypatch):
    ran = []
    for name in ("BERTH", "BERTH_BUILD", *run_tests.frameworks.ENVIRONMENTS):
        monkeypatch.setenv(name, "")  # and so taken back afterwards
    monkeypatch.setattr(run_tests, "build", lambda report, folder: True)
    made = {name: (lambda name=name: pathlib.Path("/made", name)) for name in run_tests.frameworks.ENVIRONMENTS}
    monkeypatch.setattr(run_tests.frameworks, "ENVIRONMENTS", made)
    monkeypatch.setattr(
        run_tests.test_programs,
        "run_pytest",
        lambda report, tests, folder, **how: ran.append(
            (tests.name, os.environ["BERTH_FRAMEWORKS"], os.environ["BERTH_JUPYTER"])
        ),
    )
    run_tests.main(["--frameworks"])
    files = [*sorted((ROOT / "tests" / "frameworks").glob("test_*.py")), *sorted((ROOT / "tests" / "jupyter").glob("test_*.py"))]
    assert ran == [(file.name, "/made/BERTH_FRAMEWORKS", "/made/BERTH_JUPYTER") for file in files]


def test_each_end_to_end_file_is_run_once():
    files = sorted((ROOT / "tests" / "e2e").glob("test_*.py"))
    serial = [run_tests.IN_A_BROWSER, *run_tests.LOOK_AT_THE_CLOCK]
    assert sorted(run_tests.the_rest() + serial) == files


def test_dev_tells_of_the_long_tests_and_of_no_other_word():
    told = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^ +--long: ", told, re.M)
    refused = subprocess.run([ROOT / "dev", "test", "--longer"], capture_output=True, text=True)
    assert refused.returncode == 1 and "--long" in refused.stderr


def test_the_long_tests_are_in_the_rules_of_work():
    assert "./dev test --long" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
