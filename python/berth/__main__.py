"""`python -m berth …` and the wheel's `berth`: becomes the berth program."""

from __future__ import annotations

import os
import sys

from ._abi import HERE
from .errors import Error


def find_program() -> str:
    """The wheel's own; else what BERTH_HELPER names; else the first in PATH that is not this script."""
    candidates = [os.path.join(HERE, "_bin", "berth"), os.environ.get("BERTH_HELPER", "")]
    candidates += [os.path.join(folder, "berth") for folder in os.get_exec_path()]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK) and os.path.isfile(candidate) and _is_binary(candidate):
            return candidate
    raise Error(
        "no berth program was found: not in this package, in BERTH_HELPER, or in PATH",
        code="not_found",
        remedy="install berth's wheel, or name the program in BERTH_HELPER",
    )


def _is_binary(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def main() -> None:
    try:
        program = find_program()
        os.execv(program, ["berth", *sys.argv[1:]])
    except (Error, OSError) as error:
        print(f"berth: {error}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
