"""Captures of real machines: where they are, what is in them, and nvidia-smi's answers from them.

BERTH_CAPTURES names the folder (the default is beside the repository). The project does not ship
them: without the folder the tests that need it are skipped, and say so.
"""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ.get("BERTH_CAPTURES") or ROOT.parent / "shared" / "captures")
BUILD = pathlib.Path(os.environ.get("BERTH_BUILD") or ROOT / "build" / "release")
SMI_OF_DUMP = BUILD / "tests" / "parity" / "smi_of_dump"
RULE = "#" * 80

WHY_SKIPPED = f"no captures of real machines in {FOLDER} (BERTH_CAPTURES names another folder)"


def capture_files():
    return sorted(FOLDER.glob("*__*.txt"))


def xml_files():
    return sorted(FOLDER.glob("qx-*.xml"))


def sections(path):
    """{heading: (command, output)} of a capture file."""
    parts = path.read_text(encoding="utf-8", errors="replace").split(RULE + "\n")
    found = {}
    for heading, output in zip(parts[1::2], parts[2::2]):
        lines = heading.splitlines()
        found[lines[0][2:]] = (lines[1][4:] if len(lines) > 1 else "", output)
    return found


def section(path, phase, title):
    for heading, (command, output) in sections(path).items():
        if heading.startswith(phase + " ::") and title in heading:
            return command, output
    return None


def phases():
    """Every (file, phase) that has a -q."""
    return [
        (path, phase)
        for path in capture_files()
        for phase in ("idle", "load")
        if section(path, phase, "query (-q)")
    ]


def name_of(case):
    path, *rest = case if isinstance(case, tuple) else (case,)
    model = re.sub(r"^(linux-x86_64__|qx-)|\.(txt|xml)$", "", path.name)
    return "-".join([model, *rest])


def smi(path, *arguments, phase=None):
    command = [str(SMI_OF_DUMP), str(path), *([phase] if phase else []), "--", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def csv_rows(text):
    """The lines of cells, the header among them."""
    return [line.split(", ") for line in text.splitlines() if line.strip()]
