"""NVIDIA's own libcuda.so.1 of Debian's packages as an oracle. With the shim before it a program gets the same answers
as without. There is no GPU. The driver still knows its names, and which version of a function a program must get."""

import json
import pathlib
import subprocess
import sys

import pytest
from shims import BUILD, PLAIN, shimmed

BRANCHES = [535, 550]
HERE = pathlib.Path(__file__).resolve().parent


def library_of(branch):
    found = sorted((BUILD.parent / f"peers/libcuda1-{branch}").glob(f"usr/lib/**/libcuda.so.{branch}.*"))
    if not found:
        pytest.skip(f"Debian's libcuda1 {branch} is not in build/peers")
    return found[0]


@pytest.fixture(params=BRANCHES)
def driver(request, tmp_path):
    """A folder with that driver under its usual name."""
    folder = tmp_path / "driver"
    folder.mkdir()
    (folder / "libcuda.so.1").symlink_to(library_of(request.param))
    return folder


def ask(*what):
    return [sys.executable, "-S", HERE / "ask_driver.py", *what]


def plain(driver, *what):
    done = subprocess.run([str(word) for word in ask(*what)], env=PLAIN | {"LD_LIBRARY_PATH": str(driver)},
                          capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


def with_shim(driver, folder, *what):
    done = shimmed(folder, ask(*what), driver=driver)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def exported(library):
    """(function?, name, size) of all that a library shows, as binutils reads it."""
    done = subprocess.run(["readelf", "--dyn-syms", "--wide", library], capture_output=True, text=True, check=True)
    shown = set()
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) < 8 or words[6] in ("UND", "ABS", "Ndx") or words[4] not in ("GLOBAL", "WEAK"):
            continue
        kind, size, name = words[3], words[2], words[7].split("@")[0]
        if name in ("_init", "_fini", "_edata", "_end", "__bss_start"):
            continue
        shown.add((kind != "OBJECT", name, int(size, 0) if kind == "OBJECT" else 0))
    return shown


def test_the_shim_shows_exactly_what_the_driver_shows(driver, tmp_path):
    shimmed(tmp_path / "shims", ["/bin/true"], driver=driver)
    [image] = (tmp_path / "shims").glob("*/libcuda.so.1")
    of_driver = exported(driver / "libcuda.so.1")
    assert len(of_driver) > 600
    assert exported(image) == of_driver


def test_each_name_is_found(driver, tmp_path):
    names = [name if is_function else f"{name}={size}"
             for is_function, name, size in sorted(exported(driver / "libcuda.so.1"))]
    got = with_shim(driver, tmp_path / "shims", "names", *names)
    assert got["missing"] == []
    # Data is the shim's own, as the driver had it at first.
    assert len(got["data"]) == sum("=" in name for name in names) > 0
    assert got["data"] == plain(driver, "names", *names)["data"]


def test_each_question_for_a_function_gets_the_drivers_answer(driver, tmp_path):
    names = [name for is_function, name, _ in exported(driver / "libcuda.so.1") if is_function and name.startswith("cu")]
    without = plain(driver, "functions", *names)
    assert len(without["rows"]) > 30_000
    assert any(row[-2] == "found" for row in without["rows"]) and any(row[-2] == "null" for row in without["rows"])
    got = with_shim(driver, tmp_path / "shims", "functions", *names)
    different = [(a, b) for a, b in zip(without["rows"], got["rows"]) if a != b]
    assert len(without["rows"]) == len(got["rows"])
    assert different[:5] == []


def test_private_tables_are_the_drivers_own(driver, tmp_path):
    got = with_shim(driver, tmp_path / "shims", "tables")
    assert got["tables"] == plain(driver, "tables")["tables"]
    assert got["same"] is True


def test_first_calls_answer_the_same(driver, tmp_path):
    calls = plain(driver, "calls")
    assert calls["cuInit"] != 0  # no GPU here: the driver's own refusal
    assert with_shim(driver, tmp_path / "shims", "calls") == calls
