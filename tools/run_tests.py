"""What `./dev test` and `./dev check` run: checks, unit tests, replayed fuzz corpora, end-to-end tests.

    run_tests.py                everything; build/release and build/test are configured
    run_tests.py --quick        only the checks that take seconds
    run_tests.py --unit BUILD   only the unit tests, of another build
    run_tests.py --long         only what takes hours in full: a run killed at each of its system calls,
                                2,000 runs of three users killed and stopped at random; the image's JupyterLab on a
                                Debian, and the chart by helm; build/release is configured
    run_tests.py --frameworks [PART…]
                                only tests/frameworks and tests/jupyter, with what pip brings: torch (a CUDA build), jax,
                                jupyter (JupyterLab), jupyter-classic (Notebook 6.4), or some of these; build/release is
                                configured
    run_tests.py --gpu          only tests/gpu, on this machine's GPUs; needs the program and python3

The last line printed is "N passed, N failed, N skipped"; the exit code is 0 when nothing failed.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import check_binary
import check_compile_fail
import check_comments
import check_docs
import check_format
import check_layers
import check_lengths
import check_page
import check_po
import check_wire
import frameworks
import repository
import score_corpus
import test_programs
from test_report import Report

ROOT = repository.ROOT
RELEASE = ROOT / "build" / "release"
TEST = ROOT / "build" / "test"
BERTH = RELEASE / "berth"
MEMORY_PER_COMPILER = 1 << 30  # with sanitizers and JSON
BUILD_PATIENCE_S = 3600
BROWSER_PATIENCE_S = 3600
LONG_PATIENCE_S = 6 * 3600
FRAMEWORKS_PATIENCE_S = 2 * 3600


def check(report: Report, name: str, findings: list[str]) -> None:
    if findings:
        report.add_failed(f"check:{name}", "\n".join(findings))
    else:
        report.add_passed()
    print(f"check {name}: {'failed' if findings else 'ok'}", flush=True)


def quick_checks(report: Report) -> None:
    check(report, "layers", check_layers.findings(ROOT))
    check(report, "lengths", check_lengths.findings(ROOT))
    for warning in check_lengths.warnings(ROOT):
        print(f"note: {warning}")
    check(report, "format", check_format.findings(ROOT))
    check(report, "comments", check_comments.findings(ROOT))
    check(report, "po", check_po.findings(ROOT))
    check(report, "wire", check_wire.findings(ROOT))
    if check_page.are_there(ROOT):
        check(report, "page types", check_page.type_findings(ROOT / "web", check_page.modules(ROOT)))
    else:
        report.add_skipped("check:page types", "./dev test brings what they need, by npm")
    # What the program prints can only be held to the documents once it is built.
    check(report, "docs", check_docs.findings(ROOT, None))


def checks_of_the_program(report: Report) -> None:
    check(report, "generated documents", check_docs.generated_findings(ROOT, BERTH))
    check(report, "README's commands", check_docs.readme_findings(ROOT, BERTH))
    counts = score_corpus.score(ROOT, BERTH)
    print(score_corpus.table(counts, "Now"))
    check(report, "corpus", score_corpus.findings(ROOT, counts))
    reason = check_binary.reason_to_allow_newer_glibc()
    if reason:
        report.add_skipped("check:glibc of the binary", reason)
    check(report, "binary", check_binary.findings(BERTH, newer_glibc=reason is not None))


def jobs() -> int:
    """Compilers at once: as many as processors, fewer where memory is small."""
    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    available = int(facts["MemAvailable"].split()[0]) << 10
    return max(1, min(os.cpu_count() or 1, available // MEMORY_PER_COMPILER))


def build(report: Report, folder: Path, gives_way: bool = False) -> bool:
    begin = time.monotonic()
    command = ["ninja", "--quiet", "-C", str(folder), f"-j{jobs()}"]
    code, output, cpu_s = test_programs.run_bounded(
        command, BUILD_PATIENCE_S, dict(os.environ), ROOT, gives_way=gives_way
    )
    name = folder.relative_to(ROOT)
    if code != 0:
        ended = test_programs.how_it_ended(code, BUILD_PATIENCE_S)
        report.add_failed(f"build:{name}", f"ninja {ended}\n{output}")
    else:
        report.add_passed()
    print(f"built {name} ({time.monotonic() - begin:.0f} s, {cpu_s:.0f} s of CPU)", flush=True)
    return code == 0


def reason_to_distrust(program: Path) -> str:
    """Why what it prints may not be what the sources say; empty: it is as new as they are."""
    if not program.is_file():
        return "needs ./dev build first"
    built = program.stat().st_mtime
    sources = [*(ROOT / "src").rglob("*.[ch]*"), *(ROOT / "po").glob("*.po")]
    newer = [file for file in sources if file.stat().st_mtime > built and "_test." not in file.name]
    if newer:
        return f"the program is older than {newer[0].relative_to(ROOT)}: ./dev build"
    return ""


def unit_programs(folder: Path) -> list[Path]:
    names = (folder / "test_programs.txt").read_text(encoding="utf-8").split()
    return [folder / name for name in names]


# Faults of each function of a driver; weeks of queues; months of history.
LONGEST_UNITS = ("probe_tests", "place_tests", "record_tests")


def units_and_corpora(report: Report, folder: Path) -> None:
    """The unit tests of a build. Under the sanitizers also each parser, on its corpus and on hundreds of changed
    copies. As many at a time as there are processors."""
    programs = unit_programs(folder)
    built = [program for program in programs if program.is_file()]
    for program in set(programs) - set(built):
        report.add_failed(program.name, "it was not built")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # The longest first: the last should not be it. Of the others that is the largest, about.
        longest = sorted(built, key=lambda one: (one.name not in LONGEST_UNITS, -one.stat().st_size))
        ran = [
            pool.submit(test_programs.run_googletest, report, program, ROOT) for program in longest
        ]
        if folder == TEST:
            targets = sorted(path.stem for path in (ROOT / "fuzz").glob("fuzz_*.cc"))
            ran += [pool.submit(replay_corpus, report, folder / "fuzz/replay_fuzz", target) for target in targets]
    for one in ran:
        one.result()  # a mistake of this program's own must not pass as silence
    if folder == TEST:
        print(f"fuzz: {len(targets)} parsers replayed", flush=True)


def replay_corpus(report: Report, program: Path, target: str) -> None:
    corpus = ROOT / "tests/data/fuzz" / target.removeprefix("fuzz_")
    if not corpus.is_dir() or not any(corpus.iterdir()):
        report.add_failed(f"fuzz:{target}", f"it has no corpus: {corpus.relative_to(ROOT)}")
        return
    command = [str(program), target, str(corpus)]
    code, output, _ = test_programs.run_bounded(command, 600, dict(os.environ), ROOT, gives_way=True)
    if code == 0:
        report.add_passed()
    else:
        report.add_failed(f"fuzz:{target}", output)


E2E = ROOT / "tests" / "e2e"
IN_A_BROWSER = E2E / "test_page.py"
# Files that hold many bounds of a few seconds: one after the other. The rest waits for events, however long they
# take; what is marked `clock` there has a bound that holds beside other work.
LOOK_AT_THE_CLOCK = [
    E2E / f"test_{name}.py"
    for name in (
        *("bad_luck", "idle", "join", "pagers", "run_begins", "run_kill_points", "run_waiting"),
        *("serve_bad_input", "slow_directory", "smi", "top"),
    )
]
LANES_OF_THE_REST = 4  # they wait most of the time


# What is done in samples by ./dev test, and in full where BERTH_LONG is set.
LONG_TESTS = (
    *("apptainer", "image", "kubernetes", "package", "page", "ranks", "ranks_on_nodes", "run_kill_points"),
    *("run_chaos", "side_by_side", "slurm", "two_nodes"),
)
IN_FULL = [E2E / f"test_{name}.py" for name in LONG_TESTS]


def in_full(report: Report) -> None:
    if not build(report, RELEASE):
        report.add_skipped("the long tests", "not built")
        return
    os.environ.update({"BERTH": str(BERTH), "BERTH_BUILD": str(RELEASE), "BERTH_LONG": "1"})
    for tests in IN_FULL:
        test_programs.run_pytest(report, tests, ROOT, patience_s=LONG_PATIENCE_S)


def on_frameworks(report: Report, names: list[str]) -> None:
    """Real frameworks, on stand-ins where they want a card: an environment each, a process for each question."""
    parts = frameworks.parts()
    for name in names:
        if name not in parts:
            report.add_failed(name, f"there is no such part: {', '.join(parts)}")
            return
    if not build(report, RELEASE):
        report.add_skipped("tests/frameworks and tests/jupyter", "not built")
        return
    os.environ.update({"BERTH": str(BERTH), "BERTH_BUILD": str(RELEASE)})
    for part in parts.values():
        os.environ.pop(part.variable, None)
    for name in names or parts:
        part = parts[name]
        try:
            os.environ[part.variable] = str(part.make())
        except frameworks.CannotBeHad as why:
            report.add_skipped(f"the environment of {name}", str(why))
        for tests in part.tests:
            test_programs.run_pytest(report, tests, ROOT, patience_s=FRAMEWORKS_PATIENCE_S)


LINES_OF_A_PROCESS = 900  # pytest's own start is 0.3 s of CPU: too much for a file of few tests


def the_rest() -> list[list[Path]]:
    """What one pytest runs each. The longest first: the last should not be it. Of the files that is the largest, about;
    small ones share a process."""
    folders = [ROOT / "tests" / name for name in ("library", "python", "guard", "parity", "habits", "tools")]
    files = set(E2E.glob("test_*.py")) - {IN_A_BROWSER, *LOOK_AT_THE_CLOCK}
    parts = [[folder] for folder in folders]
    lines = LINES_OF_A_PROCESS
    for file in sorted(files, key=lambda file: -file.stat().st_size):
        count = file.read_text(encoding="utf-8").count("\n")
        if lines + count > LINES_OF_A_PROCESS:
            parts.append([])
            lines = 0
        parts[-1].append(file)
        lines += count
    return parts


def end_to_end(report: Report) -> None:
    # The browser first, while compilers are beside it: nothing should be beside tests that look at the clock.
    # All its tests are one fixture's, and each has a bound of its own: 460 s on a slow machine (AMD EPYC, 2026-11-28).
    test_programs.run_pytest(report, IN_A_BROWSER, ROOT, patience_s=BROWSER_PATIENCE_S)
    for tests in LOOK_AT_THE_CLOCK:
        test_programs.run_pytest(report, tests, ROOT)


def sanitized(report: Report) -> None:
    """Builds and runs the unit tests and replayed corpora, giving way to tests of the clock."""
    if build(report, TEST, gives_way=True):
        units_and_corpora(report, TEST)
    else:
        report.add_skipped("unit tests and fuzz corpora", "not built")


def page_tests(report: Report, reason_to_skip: str) -> None:
    if reason_to_skip:
        report.add_skipped("check:page units", reason_to_skip)
    else:
        check(report, "page units", check_page.test_findings(ROOT))


def everything(report: Report) -> None:
    no_page_tools = check_page.bring_tools(ROOT)
    os.environ.update({"BERTH": str(BERTH), "BERTH_BUILD": str(RELEASE)})
    # Serial work leaves processors idle, and end-to-end tests need the release alone. So the sanitized build and its
    # tests go on beside all of it, and give way.
    with ThreadPoolExecutor(1) as beside, ThreadPoolExecutor(LANES_OF_THE_REST) as lanes:
        others = [beside.submit(sanitized, report)]
        try:
            released = build(report, RELEASE)
            if released:
                for first, *more in the_rest():
                    others.append(lanes.submit(test_programs.run_pytest, report, first, ROOT, *more))
            quick_checks(report)
            if released:
                checks_of_the_program(report)
            else:
                report.add_skipped("generated documents, README's commands, binary", "not built")
            page_tests(report, no_page_tools)
            check(report, "what must not compile", check_compile_fail.findings(ROOT))
            if released:
                end_to_end(report)
            else:
                report.add_skipped(
                    "tests/e2e, tests/habits, tests/library, tests/parity, tests/python and tests/tools",
                    "not built",
                )
        except BaseException:
            test_programs.end_all()  # in sessions of their own they did not hear of it
            raise
    for other in others:
        other.result()  # a mistake of this program's own must not pass as silence
    test_programs.again_alone(report, ROOT)
    report.add_skipped("tests/frameworks", "needs CUDA builds of PyTorch: ./dev test --frameworks")
    report.add_skipped("tests/jupyter", "needs JupyterLab: ./dev test --frameworks")
    report.add_skipped("tests/gpu", "needs a GPU: ./dev test --gpu")


def main(arguments: list[str]) -> int:
    report = Report()
    if arguments == ["--quick"]:
        quick_checks(report)
        if reason := reason_to_distrust(BERTH):
            report.add_skipped("check:generated documents", reason)
        else:
            check(report, "generated documents", check_docs.generated_findings(ROOT, BERTH))
    elif arguments[:1] == ["--unit"]:
        folder = Path(arguments[1]).resolve()
        if build(report, folder):
            units_and_corpora(report, folder)
    elif arguments == ["--long"]:
        in_full(report)
    elif arguments[:1] == ["--frameworks"]:
        on_frameworks(report, arguments[1:])
    elif arguments == ["--gpu"]:
        os.environ["BERTH"] = str(BERTH)
        test_programs.run_unittest(report, ROOT / "tests" / "gpu")
    else:
        everything(report)
    return report.finish()


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        print("interrupted: what was begun is ended, nothing is reported", file=sys.stderr)
        code = 130
    sys.exit(code)
