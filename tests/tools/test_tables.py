"""Rows that no compiler misses."""

import re
from pathlib import Path

import check_po

ROOT = Path(__file__).resolve().parent.parent.parent


def test_each_verb_has_its_row():
    made = set(re.findall(r"\bmake_(\w+)\(\);", (ROOT / "src/app/verb.h").read_text()))
    rows = set(re.findall(r"\bmake_(\w+)[,}]", (ROOT / "src/app/main.cc").read_text()))
    assert made and made == rows


def test_each_flag_of_a_run_goes_with_the_job_or_belongs_to_who_asks():
    code = (ROOT / "src/app/run_options.cc").read_text()
    bodies = {name: code.split(f"{name} {{\n")[1].split("\n}\n")[0] for name in (
        "RunFlags::declare(Options& options)", "RequestOptions::declare(Options& options, MayWait may_wait)",
        "RunFlags::words() const", "RequestOptions::words() const")}  # fmt: skip
    declared = {name for body in bodies.values() for name in re.findall(r'options\.\w+\(\s*"(?:-\w,)?(--[\w-]+)', body)}
    sent = {name for body in bodies.values() for name in re.findall(r'emplace_back\(\s*"(--[\w-]+)"', body)}
    of_who_asks = {"--json", "--quiet", "--verbose", "--detach", "--log", "--dry-run"}
    of_pick = {"--wait", "--or-cpu"}  # rows of job_keys.cc, declared anew
    assert sent and declared - of_pick == sent | of_who_asks


def test_each_table_of_cards_is_among_all_cards():
    declared = re.findall(r"std::span<const Card> (\w+_\w+)\(\);", (ROOT / "src/cards/card.h").read_text())
    gathered = re.findall(r"\b(\w+_(?:cards|chips))\(\)", (ROOT / "src/cards/card.cc").read_text())
    assert sorted(declared) == sorted(gathered)
    assert len(declared) - 1 == len(list((ROOT / "src/cards").glob("table_*.cc")))  # beside all_cards()


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
    commands = {said for said, (shown, _) in catalogue.items() if said == shown}
    assert advice_given() - commands == of_the_page.keys()


def arguments(code, start):
    """The arguments of a call, from behind its bracket on; of a statement, what stands before its end."""
    depth, begin, found = 0, start, []
    for piece in re.compile(rf"{check_po.LITERAL.pattern}|[()\[\]{{}},;]").finditer(code, start):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(piece[0], 0)
        if depth < 0 or (depth == 0 and piece[0] in ",;"):
            found.append(code[begin : piece.start()])
            begin = piece.end()
        if depth < 0 or (depth == 0 and piece[0] == ";"):
            return found
    raise AssertionError(f"no end of {code[start : start + 80]}")


def advice_given():
    """What the rules of health and of alerts advise, and the rows that they take it from."""
    literal, rest = check_po.LITERAL.pattern, rf"(?:{check_po.LITERAL.pattern}|[^;\"])*"
    marked = re.compile(rf"\b(?:sentence|as_key)\(\s*({literal})")
    told, named = [], []
    for path in [*(ROOT / "src/health").glob("*.cc"), *(ROOT / "src/alert").glob("rules_*.cc")]:
        code = path.read_text()
        told += [call[3] for m in re.finditer(r"\bfound\(", code) if len(call := arguments(code, m.end())) == 4]
        told += [arguments(code, m.end())[0] for m in re.finditer(r"\.advice =", code)]
        named += re.findall(rf"\b(?:\w*advice|silent)\b(?:\([^)]*\))?\s*(?:=|\{{){rest};", code)
        named += re.findall(rf"as_key\(\s*{literal}\)\}}", code)
        named += re.findall(rf"case XidAction::\w+:\s*return {rest};", code)
        assert code.count("steps.push_back(") == (path.name == "health.cc"), path
    # Where a rule gives no literal, it names what is read here by its name.
    unread = [one for one in told if not marked.search(one) and not re.search(r"advice|\bsilent\b", one)]
    assert told and not unread, unread
    kinds = (ROOT / "src/snapshot/device_kind_rows.h").read_text()
    by_kind = re.findall(rf"\blog_advice\s*=\s*as_key\(\s*{literal}", kinds)
    assert len(by_kind) == len(re.findall(r"\blog_advice\s*=", kinds))
    return {check_po.unquoted(one) for given in told + named + by_kind for one in marked.findall(given)}


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
