"""The first release's program, for tests that run it beside this one on one machine. BERTH_0_1_0 names it. Else it is
build/berth-0.1.0/berth, which BERTH_LONG has built from the history."""

import os
import pathlib
import subprocess

from conftest import ROOT

COMMIT = "4fdc709"
FOLDER = ROOT / "build/berth-0.1.0"


def build():
    """Why it cannot be built; empty: it has been."""
    source, objects = FOLDER / "source", FOLDER / "objects"
    source.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "-C", ROOT, "archive", COMMIT], capture_output=True, check=False)
    if archive.returncode != 0:
        return f"the history here does not reach back to {COMMIT} (a shallow clone?)"
    subprocess.run(["tar", "-x", "-C", source], input=archive.stdout, check=True)
    configure = ["cmake", "-S", source, "-B", objects, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBERTH_TESTS=OFF",
                 "-DBERTH_UNIT_TESTS=OFF", "-DBERTH_UNITY=ON"]  # fmt: skip
    for command in (configure, ["ninja", "-C", objects, "berth"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"it does not build: {(done.stdout + done.stderr)[-2000:]}"
    os.replace(objects / "berth", FOLDER / "berth")
    return ""


def find():
    """(the program, why there is none)"""
    if named := os.environ.get("BERTH_0_1_0"):
        return (named, "") if pathlib.Path(named).exists() else (None, f"BERTH_0_1_0 names {named}, which is not there")
    program = FOLDER / "berth"
    if not program.exists():
        if not os.environ.get("BERTH_LONG"):
            return None, f"{program.relative_to(ROOT)} is not there: ./dev test --long builds it; or set BERTH_0_1_0"
        if why := build():
            return None, f"berth 0.1.0: {why}"
    return str(program), ""
