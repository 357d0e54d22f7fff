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
BERTH = os.environ.get("BERTH_BIN") or os.environ.get("BERTH") or str(BUILD / "berth")
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


def program(path, *arguments, phase=None):
    """The program itself, as a person calls it, without what the environment would tell it."""
    dump = f"{path}#{phase}" if phase else str(path)
    env = {name: value for name, value in os.environ.items() if not name.startswith("BERTH")}
    command = [BERTH, "smi", "--replay", dump, *arguments]
    return subprocess.run(
        command, env=env | {"LC_ALL": "C.UTF-8"}, capture_output=True, text=True, timeout=60, check=False
    )


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)"


def asked_columns(path, phase):
    """The columns of --query-gpu that a capture asked for, and the rows of cells it got, the header first."""
    command, output = section(path, phase, "query-gpu (csv")
    return re.search(r"--query-gpu=(\S+)", command)[1].split(","), csv_rows(output)


def all_columns():
    """All columns that the vendor's tool was asked for on the captured machines."""
    return sorted({name for case in phases() for name in asked_columns(*case)[0]})


def lines_with_paths(text, gpu=0):
    """[(line number, path, value)] of one GPU's lines of -q."""
    open_names, found, at = [], [], -1
    for number, line in enumerate(text.splitlines()):
        if line.startswith("GPU 0"):
            at += 1
            continue
        if at != gpu or not line.strip():
            continue
        depth = (len(line) - len(line.lstrip())) // 4
        label, colon, value = line.partition(":")
        del open_names[depth - 1 :]
        open_names.append(label.strip())
        if colon:
            found.append((number, "/".join(open_names), value.strip()))
    return found


def lines_by_path(path, phase, gpu):
    """{path: value} of one GPU's lines of a capture's -q, and the time above them all."""
    text = section(path, phase, "query (-q)")[1]
    when = re.search(r"^Timestamp +: (.*)", text, flags=re.M)[1]
    return {"Timestamp": when} | {where: value for _, where, value in lines_with_paths(text, gpu)}


def csv_rows(text):
    """The lines of cells, the header among them."""
    return [line.split(", ") for line in text.splitlines() if line.strip()]
