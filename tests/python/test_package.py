"""The package as a whole: types, old Pythons, what importing it brings along, its docstrings' examples."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import E2E, PACKAGE, PYTHON, ROOT

import berth

MODULES = sorted(path.stem for path in (PACKAGE / "berth").glob("*.py"))
SUMMARIES = {path: ast.get_docstring(ast.parse(path.read_text())) for path in (PACKAGE / "berth").glob("*.py")}


def mypy():
    """Debian's, or the one of another Python."""
    if shutil.which("mypy"):
        return ["mypy"]
    return [PYTHON, "-m", "mypy"] if importlib.util.find_spec("mypy") else None


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """checked(file, …): what mypy says of it."""
    if mypy() is None:
        pytest.skip("mypy is not installed")
    folder = tmp_path_factory.mktemp("types")
    version = ["--python-version", "3.8"]

    def check(*words):
        command = [*mypy(), "--config-file", PACKAGE / "mypy.ini", "--cache-dir", folder, *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, "MYPYPATH": str(PACKAGE)}
        )

    refused = check(*version, "-c", "1")  # the newest know no 3.8
    return lambda *words: check(*([] if "not supported" in refused.stdout + refused.stderr else version), *words)


def test_types_are_strict(checked):
    done = checked(PACKAGE / "berth")
    assert done.returncode == 0, done.stdout


def test_a_users_program_is_checked_by_them(checked, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import berth\n"
        "with berth.lease(2, memory='10G', wait=True) as lease:\n"
        "    reveal_type(lease.devices[0].memory_total)\n"
        "    reveal_type(berth.find_batch_size)\n"
        "berth.lease(memory=1.5)\n"
    )
    done = checked(program)
    assert "Reading[builtins.int]" in done.stdout and "-> builtins.int" in done.stdout
    assert 'incompatible type "float"' in done.stdout


@pytest.mark.parametrize("module", MODULES)
def test_it_is_python_3_8(module):
    source = (PACKAGE / "berth" / f"{module}.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))
    assert "from __future__ import annotations" in source, "annotations are newer than 3.8"


def old_python():
    """One that is older than 3.11, which brought what a newer one need not be told."""
    named = [os.environ.get("BERTH_OLD_PYTHON"), *(shutil.which(f"python3.{minor}") for minor in (8, 9, 10))]
    for python in filter(None, named):
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python
    return None


@pytest.mark.skipif(old_python() is None, reason="no Python 3.8 to 3.10 is installed (BERTH_OLD_PYTHON names one)")
def test_it_runs_on_an_old_python(desk):
    program = """
        import berth, berth.callbacks, berth.magic
        with berth.lease(2) as lease:
            print(len(berth.look().devices), lease.devices[1])
        try:
            with berth.oom_guard(): raise MemoryError("full")
        except MemoryError as error:
            print("try: a smaller batch" in str(error))
    """
    assert desk.python(program, python=old_python()) == "8 GPU 4\nTrue\n"


def test_importing_it_is_light(desk):
    heavy = ("torch", "numpy", "asyncio", "typing", "dataclasses", "subprocess", "json", "logging", "enum")
    told = desk.told(f"print(json.dumps([name for name in {heavy} if name in sys.modules]))", "")
    bare = desk.python(f"import sys; print([name for name in {heavy} if name in sys.modules])")
    assert bare == "[]\n"
    assert set(told) <= {"json", "enum"}, "json is what this test itself asks for, and enum comes with it"


def test_starting_nothing(desk):
    """Importing starts no process, opens nothing, loads no library."""
    told = desk.told("""
        print(json.dumps([len(os.listdir("/proc/self/task")), "libberth" in open("/proc/self/maps").read()]))
    """)
    assert told == [1, False] and desk.helpers() == []


def test_lease_async_lease_and_pick_take_the_same():
    told = {str(inspect.signature(call)) for call in (berth.lease, berth.async_lease, berth.pick)}
    assert len(told) == 1 and "memory: 'Optional[Union[str, int]]' = None" in told.pop()
    assert berth.lease.__name__ == "lease" and "Claims n devices" in berth.lease.__doc__


def test_everything_named_is_there():
    for name in berth.__all__:
        assert getattr(berth, name) is not None, name
    assert set(berth.__all__) <= set(dir(berth))
    with pytest.raises(AttributeError, match="no attribute 'lese'"):
        berth.lese


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__main__"])
def test_examples_of_the_docstrings(module, here):
    found = importlib.import_module("berth" if module == "__init__" else f"berth.{module}")
    failed, _ = doctest.testmod(found, extraglobs={"os": os, "time": __import__("time")})
    assert failed == 0


def test_there_are_examples():
    texts = "".join(path.read_text() for path in (PACKAGE / "berth").glob("*.py"))
    for name in ("look", "devices", "pick", "watch", "lease", "find_batch_size"):
        assert f">>> {name}(" in texts or f"{name}(" in texts.partition(">>>")[2], name


def test_its_version_is_the_librarys(desk):
    version, loaded = desk.told("""
        before = "__version__" in vars(berth)
        print(json.dumps([berth.__version__, before or "libberth" not in open("/proc/self/maps").read()]))
    """)
    assert f"berth {version}" in desk.run("--version").stdout and loaded is False
    missing = desk.told("print(json.dumps(getattr(berth, '__version__', None)))", env={"BERTH_LIBRARY": "/nowhere"})
    assert missing is None


def test_python_m_berth_is_the_program(desk):
    done = subprocess.run(
        [PYTHON, "-m", "berth", "--version"], env=desk.environment({}), capture_output=True, text=True, check=False
    )
    assert done.stdout == desk.run("--version").stdout != ""
    done = subprocess.run(
        [PYTHON, "-m", "berth", "status"], text=True, capture_output=True, check=False,
        env=desk.environment({"BERTH_HELPER": None, "PATH": f"{desk.directory}:/usr/bin"}),
    )  # fmt: skip
    if shutil.which("berth", path="/usr/bin") is None:
        assert done.returncode == 127 and "BERTH_HELPER" in done.stderr


def test_python_m_berth_passes_over_a_script_of_its_own_name(desk):
    """The wheel's `berth` is such a script: it would start itself for ever."""
    first, second = desk.directory / "first", desk.directory / "second"
    for folder in (first, second):
        folder.mkdir()
    (first / "berth").write_text(f"#!{PYTHON}\nimport berth.__main__\nberth.__main__.main()\n")
    (first / "berth").chmod(0o755)
    (second / "berth").symlink_to(E2E.BERTH)
    done = subprocess.run(
        ["berth", "--version"], text=True, capture_output=True, check=False, timeout=60,
        env=desk.environment({"BERTH_HELPER": None, "PATH": f"{first}:{second}:/usr/bin"}),
    )  # fmt: skip
    assert done.stdout.startswith("berth "), done.stderr
