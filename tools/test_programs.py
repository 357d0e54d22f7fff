"""Runs test programs of three kinds and reads what they report: GoogleTest, pytest, unittest.

A program that crashes, hangs, or reports nothing has failed: its silence is never success.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

from test_report import Report

UNIT_PATIENCE_S = 600
PATIENCE_IF_IT_GIVES_WAY_S = 1800  # beside end-to-end tests that keep both of two processors busy
PYTEST_PATIENCE_S = 1200
# How long a driver that hangs may hold up a look, a child an answer, git a record.
LOOK_AT_THE_CLOCK = {"base_tests", "probe_tests", "host_environment_tests"}

running: set[int] = set()  # process groups that are begun and not waited for
is_ending = False


def give_way(process: subprocess.Popen) -> None:
    """Lets everything else on the machine go before this process: a session of its own would have
    its own share of it, however nice it is."""
    try:
        os.setpriority(os.PRIO_PGRP, process.pid, 19)
        Path(f"/proc/{process.pid}/autogroup").write_text("19", encoding="ascii")
    except OSError:
        pass  # it takes its share then; nothing depends on it


def end_all() -> None:
    """Ends what runs, and lets nothing more begin."""
    global is_ending
    is_ending = True
    for group in list(running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGTERM)


def run_bounded(
    command: list[str],
    patience_s: float,
    environment: dict[str, str],
    folder: Path,
    *,
    gives_way: bool = False,
) -> tuple[int | None, str, float]:
    """Exit code (none: it did not end in time and was killed with its group), output, seconds of CPU."""
    if is_ending:
        return None, "interrupted", 0.0
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        running.add(process.pid)
        if gives_way:
            give_way(process)
        handle = os.pidfd_open(process.pid)
        try:
            in_time = bool(select.select([handle], [], [], patience_s)[0])
            if not in_time:
                os.killpg(process.pid, signal.SIGKILL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except KeyboardInterrupt:  # a session of its own would go on without us
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
        finally:
            os.close(handle)
            running.discard(process.pid)
        output.seek(0)
        text = output.read().decode(errors="replace")
        return process.returncode if in_time else None, text, used.ru_utime + used.ru_stime


def how_it_ended(code: int | None, patience_s: float) -> str:
    if code is None:
        return f"did not end within {patience_s:.0f} s"
    if code < 0:
        return f"was ended by signal {-code} ({signal.Signals(-code).name})"
    return f"exited with {code}"


def summary(name: str, report: Report, seconds: float, cpu_s: float) -> str:
    return f"{name}: {report.closing_line()} ({seconds:.1f} s, {cpu_s:.1f} s of CPU)"


def read_junit(text: str, prefix: str) -> Report:
    """GoogleTest's and pytest's XML are near enough to each other. What a test of pytest gives to
    `record_property("measured", …)` is kept: its output is not."""
    report = Report()
    for case in xml.fromstring(text).iter("testcase"):
        name = f"{prefix}:{case.get('classname', '')}.{case.get('name', '')}"
        bad = [child for child in case if child.tag in {"failure", "error"}]
        skipped = case.find("skipped")
        for found in case.iter("property"):
            if found.get("name") == "measured":
                report.measured.append(f"{prefix}: {found.get('value', '')}")
        if bad:
            texts = [f"{child.get('message') or ''}\n{child.text or ''}" for child in bad]
            report.failed.append((name, "\n".join(texts)))
        elif skipped is not None:
            message = skipped.get("message") or (skipped.text or "")
            report.skipped.append((name, message.strip().splitlines()[-1] if message.strip() else ""))
        elif case.get("status") == "notrun":
            report.skipped.append((name, "disabled: what it wishes for is not so yet"))
        else:
            report.passed += 1
    return report


def take(report: Report, part: Report, name: str, output: str, ended: str | None) -> None:
    """Adds a program's results to the whole; `ended` says what was wrong with the way it ended."""
    if ended and not part.failed:
        part.failed.append((name, f"{name} {ended}\n{output}"))
    elif part.passed + len(part.failed) + len(part.skipped) == 0:
        part.failed.append((name, f"{name} ran no test\n{output}"))
    for failed, text in part.failed:
        report.add_failed(failed, text)
    report.add_passed(part.passed)
    for skipped, reason in part.skipped:
        report.add_skipped(skipped, reason)
    for line in part.measured:
        report.add_measured(line)


def run_with_results(
    report: Report, name: str, command: list[str], results: Path, patience_s: float, folder: Path
) -> None:
    """Runs one program that writes `results` as XML."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "UBSAN_OPTIONS": "print_stacktrace=1"}
    # A fork copies what AddressSanitizer keeps back, 256 MB else: 10 s of the tests' 130 (AMD EPYC, 2026-11-28).
    environment["ASAN_OPTIONS"] = "quarantine_size_mb=16"
    environment["BERTH_TEST_PATIENCE_S"] = str(int(patience_s / 2))
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # no test wants this machine's plugins
    environment.pop("BERTH_SIM", None)
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    if name.endswith("_tests"):
        environment["HOME"] = "/nonexistent"  # a unit test that needs a home directory is wrong
    begin = time.monotonic()
    # Beside the end-to-end tests, which look at the clock, what does not can wait.
    gives_way = name.endswith("_tests") and name not in LOOK_AT_THE_CLOCK
    if gives_way:
        patience_s = max(patience_s, PATIENCE_IF_IT_GIVES_WAY_S)
    code, output, cpu_s = run_bounded(command, patience_s, environment, folder, gives_way=gives_way)
    ended = None if code == 0 else how_it_ended(code, patience_s)
    try:
        part = read_junit(results.read_text(encoding="utf-8", errors="replace"), name)
    except (OSError, xml.ParseError):
        part = Report(failed=[(name, f"{how_it_ended(code, patience_s)}, no results\n{output}")])
    take(report, part, name, output, ended)
    print(summary(name, part, time.monotonic() - begin, cpu_s), flush=True)


def run_googletest(report: Report, program: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results.xml"
        command = [str(program), f"--gtest_output=xml:{results}", "--gtest_brief=1"]
        run_with_results(report, program.name, command, results, UNIT_PATIENCE_S, folder)


def pytest_command(results: Path, *tests: str) -> list[str]:
    """A test that hangs is one failure, not its whole file's. Its folder is its own: where several share
    one, each new pytest closes that to other users, whom some tests let in."""
    program = str(Path(__file__).with_name("pytest_bounded.py"))
    words = [sys.executable, program, "-q", "-p", "no:cacheprovider", "-rs", "--continue-on-collection-errors"]
    return [*words, f"--basetemp={results.parent / 't'}", f"--junitxml={results}", *tests]


def files_without_a_test(results: Path, names: list[str]) -> list[str]:
    """Of files that one pytest ran those that told nothing. Without results the process has failed already."""
    try:
        cases = list(xml.fromstring(results.read_text(encoding="utf-8", errors="replace")).iter("testcase"))
    except (OSError, xml.ParseError):
        return []
    told = [f"{case.get('classname', '')}.{case.get('name', '')}." for case in cases]
    modules = {name: name.removesuffix(".py").replace("/", ".") + "." for name in names}
    return [name for name, module in modules.items() if not any(module in one for one in told)]


def run_pytest(
    report: Report,
    tests: Path,
    folder: Path,
    *further: Path,
    patience_s: float = PYTEST_PATIENCE_S,
) -> None:
    """`tests`: a folder or a file, `further`: files beside it, in the same process."""
    names = [str(one.relative_to(folder)) for one in (tests, *further)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        results = Path(scratch) / "results.xml"
        command = pytest_command(results, *names)
        name = names[0] if not further else f"{names[0]} and {len(further)} more"
        run_with_results(report, name, command, results, patience_s, folder)
        for name in files_without_a_test(results, names) if further else ():
            report.add_failed(name, f"{name} ran no test")


MOST_UNSTEADY = 8  # more than these are no accident of a loaded machine


def node_of(name: str, folder: Path) -> str | None:
    """pytest's own name for a test of the report: "tests/e2e:tests.e2e.test_a.Class.test_b[1]"."""
    words, bracket, parameters = name.partition(":")[2].partition("[")
    parts = words.split(".")
    for end in range(len(parts) - 1, 0, -1):
        file = Path(*parts[:end]).with_suffix(".py")
        if (folder / file).is_file():
            return "::".join([str(file), *parts[end:]]) + bracket + parameters
    return None


def again_alone(report: Report, folder: Path) -> None:
    """What failed beside other tests, once more, with nothing beside it."""
    nodes = {name: node_of(name, folder) for name, _ in report.failed}
    wanted = {name: node for name, node in nodes.items() if node}
    if not wanted or len(wanted) > MOST_UNSTEADY:
        return
    for name, node in wanted.items():
        part = Report()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            results = Path(scratch) / "results.xml"
            command = pytest_command(results, node)
            run_with_results(part, f"alone: {node}", command, results, PYTEST_PATIENCE_S, folder)
        if part.passed == 1 and not part.failed:
            report.passed_alone(name)


class ReportingResult(unittest.TextTestResult):
    """unittest's results, counted as the others are."""

    report: Report

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self.report.add_passed()

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self.report.add_skipped(test.id(), reason)

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        super().addFailure(test, err)
        self.report.add_failed(test.id(), self.failures[-1][1])

    def addError(self, test: unittest.TestCase, err: object) -> None:
        super().addError(test, err)
        self.report.add_failed(test.id(), self.errors[-1][1])


def run_unittest(report: Report, tests: Path) -> None:
    suite = unittest.defaultTestLoader.discover(str(tests), pattern="test_*.py")
    ReportingResult.report = report
    unittest.TextTestRunner(sys.stdout, verbosity=2, resultclass=ReportingResult).run(suite)
    if suite.countTestCases() == 0:
        report.add_failed(str(tests), "there is no test in it")
