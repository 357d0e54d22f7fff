#!/usr/bin/env python3
"""Writes the evaluation set of `berth explain` into a folder: make_series.py FOLDER.

Deterministic, standard library alone. Its author knew the rules' names, the sentence that doc/EXPLAIN.md says of each,
and the format. The rules and their thresholds were unknown to its author, and settled before.
"""

import os
import sys

from healthy import healthy
from positives import positives
from series import INDEX, PLACE


def index():
    with open(os.path.join(PLACE[0], "INDEX.md"), "w", encoding="utf-8") as f:
        f.write("# The blind set\n\nBefore `--` stands the right first answer; `healthy`: nothing is to be found. Each line: why that is right.\n\n"
                "| series | device | seconds | why |\n|---|---|---|---|\n")
        for name, why, device, seconds, _ in INDEX:
            f.write(f"| `{name}` | {device} | {seconds:g} | {why} |\n")


if __name__ == "__main__":
    PLACE[0] = sys.argv[1]
    os.makedirs(PLACE[0], exist_ok=True)
    positives()
    healthy()
    index()
    print(len(INDEX), "series", file=sys.stderr)
