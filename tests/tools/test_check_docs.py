"""The check of the documents can fail."""

from pathlib import Path

import check_docs
import pytest

BERTH = """#!/bin/sh
case "$*" in
  --help) echo '  status  every device'; echo '  run  a job' ;;
  *--metrics-doc*) echo '# Metrics' ;;
  *run*) echo '  --wait  wait' ;;
  *) echo '  --json  as JSON' ;;
esac
"""
DEV = "  run [arguments]\n  test\n"


def house(root: Path, readme: str, translated: str | None = None) -> Path:
    """A repository with these READMEs, and a program that knows status and run."""
    (root / "doc").mkdir()
    (root / "README.md").write_text(readme)
    (root / "README.zh-CN.md").write_text(readme if translated is None else translated)
    (root / "CONTRIBUTING.md").write_text("")
    (root / "doc" / "TOUR.md").write_text("")
    (root / "dev").write_text(DEV)
    berth = root / "bin" / "berth"
    berth.parent.mkdir()
    berth.write_text(BERTH)
    berth.chmod(0o755)
    return berth


def sh(*lines: str) -> str:
    return "```sh\n" + "\n".join(lines) + "\n```\n"


def test_links_lead_somewhere(tmp_path: Path) -> None:
    house(tmp_path, "[a](doc/TOUR.md) [b](doc/NO.md) [c](#here) [d](https://example.org)\n\n# Here\n")
    assert check_docs.link_findings(tmp_path, Path("README.md")) == [
        "README.md: the link doc/NO.md leads nowhere"
    ]


def test_links_lead_to_headings_that_exist(tmp_path: Path) -> None:
    house(tmp_path, "[a](#there)\n\n# Here\n")
    assert "no such heading" in check_docs.link_findings(tmp_path, Path("README.md"))[0]


def test_nothing_speaks_of_an_issue_by_its_number(tmp_path: Path) -> None:
    house(tmp_path, "see issue #12\n")
    found = [f for f in check_docs.forbidden_findings(tmp_path) if f.startswith("README.md")]
    assert len(found) == 1


@pytest.mark.parametrize("name", check_docs.RULES)
def test_a_rule_that_is_explained_nowhere_is_found(tmp_path: Path, name: Path) -> None:
    house(tmp_path, "")
    source = tmp_path / name
    source.parent.mkdir(parents=True)
    source.write_text('constexpr auto rule_names = to_array({\n "too_old",\n "told",\n});\n')
    table = f"{check_docs.RULES[name]}\n\n| `told` | error |\n\n"
    (tmp_path / check_docs.EXPLAIN).write_text(f"{table}## Another part\n\n| `too_old` | error |\n")
    assert check_docs.explain_findings(tmp_path) == ["doc/EXPLAIN.md: too_old: not there"]


@pytest.mark.parametrize("name", check_docs.RULES)
def test_a_name_of_a_finding_that_its_part_does_not_list_is_found(tmp_path: Path, name: Path) -> None:
    house(tmp_path, "")
    rules = (tmp_path / name).parent / "rules"
    rules.mkdir(parents=True)
    (tmp_path / name).write_text(
        'constexpr auto rule_names = to_array({\n "told",\n "heard",\n});\n'
        'return finding.rule == "told" || finding.rule == "misspelt";\n'
    )
    (rules / "one.cc").write_text(
        'return {{.rule = "told", .title = "word"}};\nfinding->rule = hung ? "heard"\n  : "hung";\n'
        'return {.rule = "health_" + found.code,\n  .title = "word"};\nreturn {.rule = "forgotten"};\n'
    )
    (rules / "one_test.cc").write_text('Finding{.rule = "nothing"}')
    assert check_docs.name_findings(tmp_path) == [
        f"{name}: misspelt: not in the list of {name}",
        f"{rules.relative_to(tmp_path)}/one.cc: hung: not in the list of {name}",
        f"{rules.relative_to(tmp_path)}/one.cc: forgotten: not in the list of {name}",
    ]


@pytest.mark.parametrize("folder", check_docs.RULE_FOLDERS)
@pytest.mark.parametrize("returned", ["Findings", "[[nodiscard]] Findings", "std::optional<Cause>"])
def test_a_rule_without_its_file_or_test_is_found(tmp_path: Path, folder: Path, returned: str) -> None:
    house(tmp_path, "")
    rules = tmp_path / folder
    rules.mkdir(parents=True)
    rules.with_suffix(".h").write_text(
        f"{returned} one(const Seen&);\n{returned} two(const Seen&);\n{returned} perhaps_one(const Seen&);\n"
    )
    for name in ("one.cc", "one_test.cc", "two.cc", "gone.cc"):
        (rules / name).write_text("")
    assert check_docs.rule_findings(tmp_path) == [
        f"{folder}/two_test.cc: not there",
        f"{folder}/gone.cc: rules.h has no such rule",
    ]


def test_the_table_of_health_holds_each_code_of_its_rules_and_no_other(tmp_path: Path) -> None:
    house(tmp_path, "")
    (tmp_path / "src/health").mkdir(parents=True)
    (tmp_path / "src/health/rules_state.cc").write_text(
        'f.push_back({HealthState::failed, "lost",\n  "it fell off"});\n'
        '{flag ? HealthState::degraded : HealthState::notice,\n  "pages_retired", fmt::format("{} pages", 3)}\n'
        '{Detail::heat, Detail::window_heat, 60,\n "time_lost", "look at fans"},\n'
    )
    page = "## berth health\n\n| `lost` | failed |\n| `xid_N` | by the error |\n| `old` | notice |\n\n## Next\n\n| `time_lost` | x |\n"
    assert check_docs.health_findings(tmp_path, page) == [
        "doc/EXPLAIN.md: pages_retired: not in the table of berth health",
        "doc/EXPLAIN.md: time_lost: not in the table of berth health",
        "doc/EXPLAIN.md: old: no rule of src/health says so",
    ]


def test_the_page_counts_the_rules_of_alerts(tmp_path: Path) -> None:
    house(tmp_path, "")
    (tmp_path / "src/alert").mkdir(parents=True)
    (tmp_path / check_docs.ALERTS).write_text('    {AlertRule::xid, "xid", x},\n    {AlertRule::lost, "lost", x},\n')
    page = tmp_path / check_docs.SERVING
    page.write_text("`berth alert rules` shows the two rules with")
    assert check_docs.alert_findings(tmp_path) == []
    page.write_text("`berth alert rules` shows the nine rules with")
    assert check_docs.alert_findings(tmp_path) == [
        "doc/SERVING.md: nine rules of alerts, and src/alert/rules.cc has two"
    ]
    page.write_text("`berth alert rules` shows the rules with")
    assert "no number of rules" in check_docs.alert_findings(tmp_path)[0]


def test_ordinary_words_are_allowed(tmp_path: Path) -> None:
    house(tmp_path, "./src/home/x, an issue, `Fixes #12`, /proc/1\n")
    assert check_docs.forbidden_findings(tmp_path) == []


def test_commands_that_exist_are_accepted(tmp_path: Path) -> None:
    text = sh("./dev run status --json  # look", "sudo berth run --wait=2h -- python x --fast")
    assert check_docs.readme_findings(tmp_path, house(tmp_path, text)) == []


def test_an_option_that_does_not_exist_is_found(tmp_path: Path) -> None:
    found = check_docs.readme_findings(tmp_path, house(tmp_path, "use `berth run --soon` now"))
    assert "berth run has no option --soon" in found[0]


def test_a_verb_of_dev_that_does_not_exist_is_found(tmp_path: Path) -> None:
    found = check_docs.readme_findings(tmp_path, house(tmp_path, sh("./dev fly")))
    assert "./dev has no verb fly" in found[0]


def test_both_readmes_show_the_same_commands(tmp_path: Path) -> None:
    berth = house(tmp_path, sh("berth run -- a"), sh("berth run -- b"))
    assert "different commands" in check_docs.readme_findings(tmp_path, berth)[0]


def test_commands_after_a_dollar_are_run(tmp_path: Path) -> None:
    berth = house(tmp_path, "```console\n$ berth status && false\nanswer\n```\n")
    assert "exit 1" in check_docs.readme_findings(tmp_path, berth)[0]


def test_generated_documents_are_what_the_program_prints(tmp_path: Path) -> None:
    berth = house(tmp_path, "")
    assert len(check_docs.generated_findings(tmp_path, berth)) == 2
    for name, text in check_docs.generated(berth).items():
        (tmp_path / name).write_text(text)
    assert check_docs.generated_findings(tmp_path, berth) == []
