"""Which tests depend on who runs when: a dozen at most, each marked.

A loaded machine fails them though nothing is wrong. So a test waits for a fact, by wait_until or the like. It compares
no time that passed with a bound. What must end by itself does so within a patience (`ends_within_patience` of
tests/e2e/conftest.py). A pure plan and a clock that is set prove how long something may take. What remains is
`@pytest.mark.clock`, in C++ the comment "By the clock." above the bound."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 12
LONG_SLEEP_S = 0.3  # shorter ones are of loops that ask again
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
SLEEPS = {"sleep", "pause"}
BOUND = re.compile(r"\b(?:EXPECT|ASSERT)_L[TE]\([^;]*\bnow\(\) - ")
MARK = "// By the clock."


def is_clock(node):
    return isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in CLOCKS


def is_time_that_passed(node, names):
    return any(
        (isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub) and any(map(is_clock, ast.walk(one))))
        or (isinstance(one, ast.Name) and one.id in names)
        for one in ast.walk(node)
    )


def names_of_time_that_passed(function):
    return {
        target.id
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and is_time_that_passed(one.value, set())
        for target in one.targets
        if isinstance(target, ast.Name)
    }


def bounds_from_above(function):
    """Asserts with time that passed on the smaller side."""
    names = names_of_time_that_passed(function)
    for test in (one.test for one in ast.walk(function) if isinstance(one, ast.Assert)):
        for compared in (one for one in ast.walk(test) if isinstance(one, ast.Compare)):
            sides = [compared.left, *compared.comparators]
            for left, how, right in zip(sides, compared.ops, sides[1:]):
                smaller = left if isinstance(how, (ast.Lt, ast.LtE)) else right if isinstance(how, (ast.Gt, ast.GtE)) else None
                if smaller is not None and is_time_that_passed(smaller, names):
                    yield compared.lineno, "compares the time that passed with a bound"


def long_sleeps(function):
    for one in ast.walk(function):
        if isinstance(one, ast.Call) and one.args and getattr(one.func, "attr", getattr(one.func, "id", "")) in SLEEPS:
            length = one.args[0]
            if isinstance(length, ast.Constant) and length.value >= LONG_SLEEP_S:
                yield one.lineno, f"sleeps {length.value} s"


def is_marked(function):
    return any(ast.unparse(one) == "pytest.mark.clock" for one in function.decorator_list)


def look(source):
    """The marked tests of a Python file, and (line, what) of the others that look at the clock."""
    outermost = [one for top in ast.parse(source).body for one in (top.body if isinstance(top, ast.ClassDef) else [top])]
    functions = [one for one in outermost if isinstance(one, ast.FunctionDef)]
    marked = [one.name for one in functions if is_marked(one)]
    found = {mistake for one in functions if not is_marked(one) for mistake in (*bounds_from_above(one), *long_sleeps(one))}
    return marked, sorted(found)


def look_at_cpp(source):
    """How many bounds are marked, and the lines of the others."""
    lines, marked, found = source.splitlines(), 0, []
    for number, line in enumerate(lines):
        if BOUND.search(line):
            if number and lines[number - 1].strip() == MARK:
                marked += 1
            else:
                found.append((number + 1, "compares the time that passed with a bound"))
    return marked, found


def python_files():
    """All that pytest runs, and the helpers beside it. The files in workloads/ are programs."""
    return sorted(file for file in (ROOT / "tests").glob("*/*.py") if file.parent.name not in ("workloads", "gpu"))


def test_at_most_a_dozen_tests_depend_on_who_runs_when():
    marked, found = [], []
    for file in python_files():
        own, others = look(file.read_text(encoding="utf-8"))
        name = str(file.relative_to(ROOT))
        marked += [f"{name}::{one}" for one in own]
        found += [f"{name}:{line} {what}" for line, what in others]
    for file in sorted((ROOT / "src").rglob("*_test.cc")):
        own, others = look_at_cpp(file.read_text(encoding="utf-8"))
        name = str(file.relative_to(ROOT))
        marked += [name] * own
        found += [f"{name}:{line} {what}" for line, what in others]
    assert not found, "wait for a fact, or mark them:\n" + "\n".join(found)
    assert 0 < len(marked) <= MOST, "\n".join(marked)


@pytest.mark.parametrize(
    "line",
    [
        "assert time.monotonic() - began < 5",
        "assert 1 <= monotonic() - began < 5, 'late'",
        "assert 5 > time.perf_counter() - began",
        "took = time.monotonic() - began; assert got and took < 5",
        "assert (time.monotonic_ns() - began) / 1e9 <= 5",
        "time.sleep(0.3)",
        "pause(1)",
    ],
)
def test_what_looks_at_the_clock_is_found_unless_it_is_marked(line):
    test = f"def test_a():\n    began = time.monotonic()\n    {line}\n"
    assert look(test) == ([], [(3, look(test)[1][0][1])])
    assert look(f"@pytest.mark.clock\n{test}") == (["test_a"], [])
    assert look(f"class TestA:\n    " + test.replace("\n", "\n    ").rstrip() + "\n")[1]


@pytest.mark.parametrize(
    "line",
    [
        "assert time.monotonic() - began > 5",
        "assert began < 5",
        "time.sleep(0.05)",
        "with ends_within_patience('it hangs'): pass",
        "subprocess.run(['python3', '-c', 'time.sleep(60)'])",
    ],
)
def test_what_holds_on_a_loaded_machine_is_not(line):
    assert look(f"def test_a():\n    began = time.monotonic()\n    {line}\n") == ([], [])


def test_a_bound_in_cpp_is_found_unless_it_is_marked():
    bound = "  EXPECT_LT(clock.now() - began, seconds(3)) << \"late\";"
    assert look_at_cpp(f"\n{bound}\n") == (0, [(2, "compares the time that passed with a bound")])
    assert look_at_cpp(f"  {MARK}\n{bound}\n") == (1, [])
    assert look_at_cpp("  EXPECT_LE(now, began + seconds(3));\n") == (0, [])
