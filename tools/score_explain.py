#!/usr/bin/python3
"""Scores the rules of `berth explain` for what runs now against series whose answer is known.

    tools/score_explain.py [--tool PATH] [--markdown] [--list] DIR...

A file's name says the right answer: RULE--VARIANT.jsonl[.gz], or healthy--near_RULE-N.jsonl[.gz]
where nothing is to be found. Prints the confusion matrix and the share right. Prints the same with the
thresholds (src/diagnose/bottleneck/thresholds.h) moved by 30 %, all together and each alone. The exit
code is 1 where fewer than 90 % of the series with a cause have it said first; where anything is said
of a healthy one; where fewer than 90 % of all are right, or fewer than 85 % with thresholds moved.
"""

import argparse
import collections
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import repository

HEALTHY = "healthy"
WANTED = 0.90
WANTED_MOVED = 0.85


def expected_of(path: Path) -> str:
    return path.name.split("--")[0]


def series_in(folders: list[Path]) -> list[Path]:
    found = []
    for folder in folders:
        if folder.is_file():
            found.append(folder)
        else:
            found += [path for path in folder.rglob("*") if path.name.endswith((".jsonl", ".jsonl.gz"))]
    return sorted(path for path in found if "--" in path.name)


def unpacked(files: list[Path], into: Path) -> list[Path]:
    """The same files as plain text, numbered: two folders may have the same name."""
    plain = []
    for number, path in enumerate(files):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        plain.append(into / f"{number}.jsonl")
        plain[-1].write_bytes(text)
    return plain


def answers(tool: Path, files: list[Path]) -> dict[str, list[list[str]]]:
    """Per setting of the thresholds, the rules found in each file, the answer first."""
    done = subprocess.run(
        [str(tool), *map(str, files)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{tool}: {done.stderr.strip() or done.returncode}")
    found: dict[str, list[list[str]]] = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        row = json.loads(line)
        found[row["thresholds"]].append(row["rules"])
    return found


def first(rules: list[str]) -> str:
    return rules[0] if rules else HEALTHY


def share_right(expected: list[str], found: list[list[str]]) -> float:
    right = sum(first(rules) == name for name, rules in zip(expected, found, strict=True))
    return right / len(expected)


def matrix(expected: list[str], found: list[list[str]], markdown: bool) -> str:
    """Rows: what it is; columns: what is said first. Only columns that somebody is in."""
    counts = collections.Counter(
        (name, first(rules)) for name, rules in zip(expected, found, strict=True)
    )
    rows = sorted(set(expected) - {HEALTHY}) + ([HEALTHY] if HEALTHY in expected else [])
    said = {column for _, column in counts}
    columns = [name for name in rows if name in said] + sorted(said - set(rows))
    lines = []
    if markdown:
        lines.append("| is \\ said | " + " | ".join(columns) + " |")
        lines.append("|---" * (len(columns) + 1) + "|")
        for row in rows:
            cells = [str(counts[row, column] or "") for column in columns]
            lines.append(f"| {row} | " + " | ".join(cells) + " |")
        return "\n".join(lines)
    lines += [f"  {chr(ord('a') + at)}  {name}" for at, name in enumerate(columns)]
    width = max(map(len, rows))
    lines.append(" " * width + "".join(f"{chr(ord('a') + at):>4}" for at in range(len(columns))))
    for row in rows:
        cells = "".join(f"{counts[row, column] or '.':>4}" for column in columns)
        lines.append(f"{row:<{width}}{cells}")
    return "\n".join(lines)


def report(files: list[Path], found: dict[str, list[list[str]]], markdown: bool) -> bool:
    """Prints what was found; whether that is good enough."""
    expected = [expected_of(path) for path in files]
    base = found["as they are"]
    print(matrix(expected, base, markdown) + "\n")
    healthy = [rules for name, rules in zip(expected, base, strict=True) if name == HEALTHY]
    ill = [(name, rules) for name, rules in zip(expected, base, strict=True) if name != HEALTHY]
    ok = True
    if ill:
        right = sum(first(rules) == name for name, rules in ill)
        ok = right / len(ill) >= WANTED
        anywhere = sum(name in rules for name, rules in ill)
        print(f"right first: {right} of {len(ill)} ({right / len(ill):.1%}); among all: {anywhere}")
    if healthy:
        alarms = sum(bool(rules) for rules in healthy)
        ok = ok and alarms == 0
        print(f"false alarms: {alarms} of {len(healthy)} healthy series")
    whole = share_right(expected, base)
    print(f"all series: {whole:.1%} of {len(expected)} right")
    together = {name: share_right(expected, rules) for name, rules in found.items() if name.startswith("all ")}
    alone = {
        name: share_right(expected, rules)
        for name, rules in found.items()
        if not name.startswith("all ") and name != "as they are"
    }
    for name, share in together.items():
        print(f"thresholds {name}: {share:.1%}")
    ok = ok and whole >= WANTED and all(share >= WANTED_MOVED for share in together.values())
    if alone:
        worst = sorted(alone, key=alone.__getitem__)[:3]
        print("each threshold alone, the worst: " + ", ".join(f"{name} {alone[name]:.1%}" for name in worst))
        ok = ok and min(alone.values()) >= WANTED_MOVED
    return ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--tool", type=Path, default=repository.ROOT / "build/release/explain_series")
    parser.add_argument("--markdown", action="store_true", help="the matrix as a table of Markdown")
    parser.add_argument("--list", action="store_true", help="name each series that is answered wrongly")
    words = parser.parse_args()
    files = series_in(words.folders)
    if not files:
        sys.exit("no series whose name says its answer (RULE--VARIANT.jsonl)")
    with tempfile.TemporaryDirectory() as folder:
        found = answers(words.tool, unpacked(files, Path(folder)))
    ok = report(files, found, words.markdown)
    if words.list:
        for path, rules in zip(files, found["as they are"], strict=True):
            if first(rules) != expected_of(path):
                print(f"{path}: said {', '.join(rules) or 'nothing'}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
