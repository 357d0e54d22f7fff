"""Holds every C and C++ file to .clang-format. With --fix, rewrites those that differ."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import repository

PROGRAM = "clang-format-19"


def run_on(root: Path, names: list[Path], options: list[str]) -> str:
    done = subprocess.run(
        [PROGRAM, *options, *map(str, names)], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode != 0 else ""


def findings(root: Path, fix: bool = False) -> list[str]:
    names = repository.sources(root)
    options = ["-i"] if fix else ["--dry-run", "-Werror", "--ferror-limit=1"]
    at_once = os.cpu_count() or 1
    shares = [names[i::at_once] for i in range(at_once)]
    with ThreadPoolExecutor(at_once) as pool:
        texts = pool.map(lambda share: run_on(root, share, options) if share else "", shares)
    found = [
        line.split(": error:")[0] + ": not formatted (./dev format does it)"
        for text in texts
        for line in text.splitlines()
        if ": error:" in line
    ]
    return sorted(set(found))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    fix = "--fix" in arguments
    where = [Path(argument) for argument in arguments if argument != "--fix"]
    sys.exit(repository.finish(findings(where[0] if where else repository.ROOT, fix)))
