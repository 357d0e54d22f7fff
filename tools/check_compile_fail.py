"""Holds the types to what they must refuse.

Each tests/compile_fail/*.cc compiles as it is, and with -DBERTH_WRONG does not. The error then holds
the text of its first line's "// refused: TEXT".
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import repository


def compiled(root: Path, name: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["g++", "-std=c++23", "-fsyntax-only", "-D_GNU_SOURCE", "-Isrc"]
        + [*options, str(name)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )


def finding(root: Path, name: Path) -> str | None:
    first = (root / name).read_text(encoding="utf-8").partition("\n")[0]
    refused = first.removeprefix("// refused: ").strip()
    if refused == first.strip() or not refused:
        return f'{name}: its first line must be "// refused: TEXT OF THE ERROR"'
    good = compiled(root, name)
    if good.returncode != 0:
        return f"{name}: does not compile even without BERTH_WRONG:\n{good.stderr}"
    wrong = compiled(root, name, "-DBERTH_WRONG")
    if wrong.returncode == 0:
        return f"{name}: compiles with BERTH_WRONG, and must not"
    if refused not in wrong.stderr:
        return f'{name}: refused, but without saying "{refused}":\n{wrong.stderr}'
    return None


def findings(root: Path) -> list[str]:
    names = [n for n in repository.sources(root) if n.parts[:2] == ("tests", "compile_fail")]
    if not names:
        return ["tests/compile_fail: there is no test in it"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [text for text in pool.map(lambda name: finding(root, name), names) if text]


if __name__ == "__main__":
    sys.exit(repository.finish(findings(repository.root_from_arguments())))
