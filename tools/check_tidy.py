"""clang-tidy over every source of a build folder, as many at once as there are processors. The folder need
not be built. Several sources compiled together are read together, and their headers once."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import repository

PROGRAM = "clang-tidy-19"
MOST_CHECKS = 20


def too_many_checks(root: Path) -> list[str]:
    listing = subprocess.run(
        [PROGRAM, "--list-checks"], cwd=root, capture_output=True, text=True, check=True
    )
    checks = [line for line in listing.stdout.splitlines()[1:] if line.strip()]
    if len(checks) > MOST_CHECKS:
        return [f".clang-tidy: {len(checks)} checks, at most {MOST_CHECKS}"]
    return []


def complaints(root: Path, build: Path, source: str) -> str:
    done = subprocess.run(
        [PROGRAM, "--quiet", "-p", str(build), source],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = re.findall(r"^.*(?:error|warning): .*$", done.stdout, re.M)
    if done.returncode != 0 and not errors:
        return f"{source}: clang-tidy failed: {done.stderr.strip()}"
    return "\n".join(errors)


def findings(root: Path, build: Path) -> list[str]:
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    ours = sorted({c["file"] for c in commands if c["file"].endswith((".cc", ".cxx"))})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = pool.map(lambda source: complaints(root, build, source), ours)
    found = sorted({line for text in texts for line in text.splitlines()})
    return too_many_checks(root) + found


if __name__ == "__main__":
    sys.exit(repository.finish(findings(repository.ROOT, Path(sys.argv[1]).resolve())))
