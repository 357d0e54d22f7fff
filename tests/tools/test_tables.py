"""Rows that no compiler misses."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_each_verb_has_its_row():
    made = set(re.findall(r"\bmake_(\w+)\(\);", (ROOT / "src/app/verb.h").read_text()))
    rows = set(re.findall(r"\bmake_(\w+)[,}]", (ROOT / "src/app/main.cc").read_text()))
    assert made and made == rows
