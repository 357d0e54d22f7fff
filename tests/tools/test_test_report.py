"""The runner counts everything, and takes silence for failure."""

from pathlib import Path

import pytest

import test_programs
from test_report import Report

GTEST = """<?xml version="1.0"?>
<testsuites><testsuite name="Place">
<testcase name="Works" classname="Place" status="run" result="completed"/>
<testcase name="Wish" classname="Place" status="notrun" result="suppressed"/>
<testcase name="NoRoot" classname="Place" status="run" result="skipped"><skipped message="a.cc:1&#x0A;needs root"/></testcase>
<testcase name="Broken" classname="Place" status="run" result="completed"><failure message="1 != 2"/></testcase>
</testsuite></testsuites>"""


def program(folder: Path, body: str) -> Path:
    path = folder / "place_tests"
    path.write_text(f'#!/bin/bash\nfile="${{1#--gtest_output=xml:}}"\n{body}\n')
    path.chmod(0o755)
    return path


def results_of(folder: Path, body: str) -> Report:
    report = Report()
    test_programs.run_googletest(report, program(folder, body), folder)
    return report


def writing(xml: str) -> str:
    return f"cat > \"$file\" <<'XML'\n{xml}\nXML"


def test_results_are_read_one_by_one(tmp_path: Path) -> None:
    report = results_of(tmp_path, writing(GTEST) + "\nexit 1")
    assert report.closing_line() == "1 passed, 1 failed, 2 skipped"
    assert ("place_tests:Place.NoRoot", "needs root") in report.skipped


def test_a_program_that_crashes_has_failed(tmp_path: Path) -> None:
    report = results_of(tmp_path, "kill -SEGV $$")
    assert report.closing_line() == "0 passed, 1 failed, 0 skipped"
    assert "SIGSEGV" in report.failed[0][1]


def test_a_program_that_crashes_after_its_report_has_failed(tmp_path: Path) -> None:
    good = '<testsuites><testsuite><testcase name="A" status="run"/></testsuite></testsuites>'
    report = results_of(tmp_path, writing(good) + "\nkill -ABRT $$")
    assert report.closing_line() == "1 passed, 1 failed, 0 skipped"


def test_a_program_without_results_has_failed(tmp_path: Path) -> None:
    assert results_of(tmp_path, "exit 0").closing_line() == "0 passed, 1 failed, 0 skipped"


def test_a_program_without_tests_has_failed(tmp_path: Path) -> None:
    report = results_of(tmp_path, writing("<testsuites/>"))
    assert "ran no test" in report.failed[0][1]


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    code, _, _ = test_programs.run_bounded(["sleep", "60"], 0.2, {"PATH": "/usr/bin:/bin"}, tmp_path)
    assert code is None


def test_unit_tests_get_no_home_directory(tmp_path: Path) -> None:
    report = results_of(tmp_path, 'echo "home is $HOME"; exit 3')
    assert "home is /nonexistent" in report.failed[0][1]


def test_pytest_is_counted_in_the_same_way(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_a.py").write_text(
        "import pytest\ndef test_a(): pass\ndef test_b(): assert 0\n"
        "def test_c(): pytest.skip('needs root')\n"
    )
    report = Report()
    test_programs.run_pytest(report, tests, tmp_path)
    assert report.closing_line() == "1 passed, 1 failed, 1 skipped"
    assert report.skipped[0][1] == "needs root"


def test_a_file_without_a_test_is_named_beside_others(tmp_path: Path) -> None:
    texts = {
        "test_a.py": "def test_a(): pass\n",
        "test_a_b.py": "import pytest\npytest.skip('needs root', allow_module_level=True)\n",
        "test_none.py": "def nothing(): pass\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    report = Report()
    first, *further = (tmp_path / name for name in texts)
    test_programs.run_pytest(report, first, tmp_path, *further)
    assert report.closing_line() == "1 passed, 1 failed, 1 skipped"
    assert report.failed == [("test_none.py", "test_none.py ran no test")]
    assert [name for name, _ in report.skipped] == ["test_a.py and 2 more:.test_a_b"]


def test_a_test_that_hangs_fails_alone_and_tells_what_hung(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_a.py").write_text(
        "import subprocess\ndef test_a(): subprocess.run(['sh', '-c', 'sleep 77; true'])\ndef test_b(): pass\n"
    )
    report = Report()
    test_programs.run_pytest(report, tests, tmp_path, patience_s=20)
    assert report.closing_line() == "1 passed, 1 failed, 0 skipped"
    name, said = report.failed[0]
    assert name.endswith("test_a") and "test_a did not end within 10 s" in said and "sleep 77" in said


def test_what_a_test_measured_stands_in_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_a.py").write_text(
        "def test_a(record_property): record_property('measured', '19 of 20 (95.0 %) cells')\n"
        "def test_b(record_property): record_property('other', 'nothing to know')\n"
    )
    report = Report()
    test_programs.run_pytest(report, tests, tmp_path)
    assert report.finish() == 0
    lines = capsys.readouterr().out.splitlines()
    assert "measured tests: 19 of 20 (95.0 %) cells" in lines
    assert not [line for line in lines if "nothing to know" in line]
    assert lines[-1] == "2 passed, 0 failed, 0 skipped"


def test_the_closing_line_is_the_last_and_names_come_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report(passed=412)
    report.add_skipped("tests/gpu", "needs a GPU")
    assert report.finish() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["skipped tests/gpu: needs a GPU", "412 passed, 0 failed, 1 skipped"]


def test_a_failure_or_nothing_at_all_is_not_success() -> None:
    failed = Report(passed=5)
    failed.add_failed("a", "because")
    assert failed.finish() == 1
    assert Report().finish() == 1


def test_what_failed_beside_others_runs_once_more_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_it.py").write_text(
        "import pathlib\n"
        "class TestIt:\n"
        "    def test_second_time(self):\n"
        "        seen = pathlib.Path(__file__).with_name('seen')\n"
        "        was = seen.exists()\n"
        "        seen.touch()\n"
        "        assert was\n"
        "def test_never():\n"
        "    assert False\n"
    )
    report = Report()
    test_programs.run_pytest(report, tests, tmp_path)
    assert len(report.failed) == 2
    test_programs.again_alone(report, tmp_path)
    assert (report.passed, [name for name, _ in report.failed]) == (1, ["tests:tests.test_it.test_never"])
    assert report.finish() == 1
    out = capfd.readouterr().out
    assert "unsteady tests:tests.test_it.TestIt.test_second_time: it failed beside other tests" in out


def test_many_failures_are_no_accident(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_it.py").write_text(
        "import pathlib, pytest\n"
        "@pytest.mark.parametrize('at', range(9))\n"
        "def test_second_time(at):\n"
        "    seen = pathlib.Path(__file__).with_name(f'seen{at}')\n"
        "    was = seen.exists()\n"
        "    seen.touch()\n"
        "    assert was\n"
    )
    report = Report()
    test_programs.run_pytest(report, tests, tmp_path)
    test_programs.again_alone(report, tmp_path)
    assert len(report.failed) == 9
