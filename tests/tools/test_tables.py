"""Rows that no compiler misses."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_each_verb_has_its_row():
    made = set(re.findall(r"\bmake_(\w+)\(\);", (ROOT / "src/app/verb.h").read_text()))
    rows = set(re.findall(r"\bmake_(\w+)[,}]", (ROOT / "src/app/main.cc").read_text()))
    assert made and made == rows


def words_of_the_page(table):
    text = (ROOT / "web/src/words/findings.ts").read_text()
    block = text.split(f"export const {table}: ")[1].split("\n};")[0]
    return set(re.findall(r"^  (\w+):", block, re.M))


def test_each_alert_rule_has_its_title_on_the_page():
    rules = set()
    for path in (ROOT / "src/alert").glob("rules_*.cc"):
        rules.update(re.findall(r'\.name = "(\w+)"', path.read_text()))
    assert rules and rules == words_of_the_page("alert_titles")


def findings_of(rules):
    """The names in a table of doc/EXPLAIN.md, which the rules' rows make."""
    made = (ROOT / "doc/EXPLAIN.md").read_text().split(f"<!-- made by ./dev docs: {rules} -->")[1]
    first_cells = [line.split("|")[1] for line in made.split("<!-- end -->")[0].splitlines() if line.startswith("| `")]
    return {name for cell in first_cells for name in re.findall(r"`(\w+…?)`", cell)}


def test_each_finding_of_doctor_stands_in_a_test_of_its_rule():
    tests = "".join(path.read_text() for path in (ROOT / "src/diagnose/doctor/rules").glob("*_test.cc"))
    names = findings_of("rules of doctor")
    untested = [name for name in names if not re.search(rf"\b{name.removesuffix('…')}" + r"\b" * (name[-1] != "…"), tests)]
    assert names and not untested, untested


def test_each_finding_of_health_has_its_title_on_the_page():
    rules = {name for name in findings_of("rules of health") if not name.endswith("…")}
    assert rules and rules == words_of_the_page("titles")
