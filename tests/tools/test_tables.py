"""Rows that no compiler misses."""

import re
from pathlib import Path

import check_po

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


def test_the_page_gives_advice_in_the_words_of_the_catalogue():
    text = (ROOT / "web/src/words/findings.ts").read_text(encoding="utf-8")
    block = text.split("export const advices: ")[1].split("\n};")[0]
    rows = re.findall(r"""^  (["'])(.+)\1:\s+"([^"]+)",$""", block, re.M)
    of_the_page = {said: shown for _, said, shown in rows}
    catalogue = check_po.parse_po((ROOT / check_po.CATALOGUE).read_text(encoding="utf-8"))
    assert len(of_the_page) == len(re.findall(r"""["']:\s""", block)) and of_the_page
    assert of_the_page == {said: catalogue.get(said, ("nothing says this",))[0] for said in of_the_page}
    kinds = (ROOT / "src/snapshot/device_kind_rows.h").read_text()
    advised = re.findall(rf"\.log_advice = as_key\(({check_po.LITERAL.pattern})\)", kinds)
    assert len(advised) == kinds.count(".log_advice = ")
    assert {check_po.unquoted(one) for one in advised} <= of_the_page.keys()


def test_each_alert_rule_stands_in_a_test():
    files = [*(ROOT / "src/alert").glob("*_test.cc"), *(ROOT / "tests/e2e").glob("test_alert*.py")]
    tests = "".join(path.read_text() for path in files)
    untested = [name for name in words_of_the_page("alert_titles") if not re.search(rf"\b{name}\b", tests)]
    assert not untested, untested


def test_each_subject_of_doctor_is_asked():
    declared = re.findall(r"\b(\w+_rules)\(\);", (ROOT / "src/diagnose/doctor/doctor.h").read_text())
    gathered = (ROOT / "src/diagnose/doctor/doctor.cc").read_text().split("rows_of<DoctorRule>(")[1].split(";")[0]
    assert declared and set(declared) - {"all_rules"} == set(re.findall(r"\w+_rules", gathered))


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
