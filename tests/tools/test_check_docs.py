"""The check of the documents can fail."""

from pathlib import Path

import check_docs
import pytest

BERTH = """#!/bin/sh
case "$*" in
  --help) echo '  status  every device'; echo '  run  a job' ;;
  *--metrics-doc*) echo '# Metrics' ;;
  *--rules-doc*) printf '%s\\n' '<!-- made by ./dev docs: rules -->' '| `told` | error |' '<!-- end -->' ;;
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
    (root / "doc" / "EXPLAIN.md").write_text("")
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


def test_each_picture_is_shown_by_a_document(tmp_path: Path) -> None:
    house(tmp_path, "![a picture](doc/pictures/shown.png)\n")
    pictures = tmp_path / "doc" / "pictures"
    pictures.mkdir()
    for name in ("shown.png", "forgotten.png"):
        (pictures / name).write_bytes(b"")
    assert check_docs.picture_findings(tmp_path) == ["doc/pictures/forgotten.png: no document shows it"]


def test_a_document_has_no_sentence_of_more_than_20_words(tmp_path: Path) -> None:
    twenty = " ".join(["word"] * 20)
    keys = ", ".join(f"`k{number}`" for number in range(4))
    (tmp_path / "a.md").write_text(
        f"# {twenty} more\n\n{twenty}. {twenty}:\nmore\n\n- {twenty}\n- more\n\n```\n{twenty} more\n```\n"
        f"    berth {twenty} more\n\n| {twenty} | `a b` {twenty} |\n|---|---|\n\n{keys} {twenty} more\n\n"
        f"{twenty}\nmore [of it](b.md).\n"
    )
    found = check_docs.sentence_findings(tmp_path, Path("a.md"))
    assert [one.split(" words")[0] for one in found] == ["a.md:14: 21", "a.md:19: 23"], found


def test_files_named_in_the_tour_exist(tmp_path: Path) -> None:
    house(tmp_path, "")
    (tmp_path / "src" / "view").mkdir(parents=True)
    (tmp_path / "src" / "view" / "style.h").write_text("")
    (tmp_path / "doc" / "TOUR.md").write_text("`src/view/style.h`, `view/style.h`, `style.h`, `src/view/NAME.cc`, `gone.cc`")
    assert [one for one in check_docs.findings(tmp_path, None) if "there is no" in one] == ["doc/TOUR.md: there is no gone.cc"]


def test_what_no_plain_english_is_stands_nowhere(tmp_path: Path) -> None:
    house(tmp_path, "For Whoever reads.\n")
    code = tmp_path / "src" / "a.h"
    code.parent.mkdir()
    code.write_text("/// It looks\n/// again and again.\n/// A reader looks again.\n")
    (tmp_path / "src" / "a_test.cc").write_text("// Whoever\n")
    found = [f for f in check_docs.forbidden_findings(tmp_path) if "zh-CN" not in f]
    assert found == [
        "README.md:1: Whoever: a plain noun says it: the user, the caller, a reader",
        "src/a.h:1: looks /// again and again: say what repeats",
    ]


@pytest.mark.parametrize(
    ("name", "line"),
    [("src/a.h", "struct Room {"), ("src/a.h", "struct OomSurroundings;"), ("web/src/a.ts", "export interface World {"),
     ("python/a.py", "class Teller:"), ("src/a.h", "// See probe/process.")],
)  # fmt: skip
def test_names_of_a_vocabulary_of_our_own_do_not_come_back(tmp_path: Path, name: str, line: str) -> None:
    house(tmp_path, "A Room, a World, probe/process_files.h\n")
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(f"{line}\nstruct Rooms; class WorldTime;\n")
    found = check_docs.forbidden_findings(tmp_path)
    assert len(found) == 1 and found[0].startswith(f"{name}:1: "), found


def test_nothing_speaks_of_an_issue_by_its_number(tmp_path: Path) -> None:
    house(tmp_path, "see issue #12\n")
    found = [f for f in check_docs.forbidden_findings(tmp_path) if f.startswith("README.md")]
    assert len(found) == 1


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


MARKED = "# Rules\n\n<!-- made by ./dev docs: rules -->\n{}<!-- end -->\n\nProse.\n"


def test_generated_documents_are_what_the_program_prints(tmp_path: Path) -> None:
    berth = house(tmp_path, "")
    (tmp_path / check_docs.EXPLAIN).write_text(MARKED.format("| `of_old` | hint |\n"))
    assert len(check_docs.generated_findings(tmp_path, berth)) == 3
    for name, text in check_docs.generated(tmp_path, berth).items():
        (tmp_path / name).write_text(text)
    assert check_docs.generated_findings(tmp_path, berth) == []
    assert (tmp_path / check_docs.EXPLAIN).read_text() == MARKED.format("| `told` | error |\n")


def test_a_table_of_rules_that_the_page_has_no_place_for_is_found(tmp_path: Path) -> None:
    berth = house(tmp_path, "")
    with pytest.raises(SystemExit, match="EXPLAIN.md: its marks are"):
        check_docs.generated(tmp_path, berth)


def test_more_words_than_are_wanted_are_found(tmp_path: Path) -> None:
    house(tmp_path, "| a | b |\n|---|---|\n", "")
    (tmp_path / check_docs.EXPLAIN).write_text(MARKED.format("| `told` | error |\n") + "two words\n")
    (tmp_path / "doc" / "METRICS.md").write_text("made " * check_docs.MOST_WORDS)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "README.md").write_text("word " * check_docs.MOST_WORDS)
    (tmp_path / "doc" / "HABITS.zh-CN.md").write_text("a twin " * check_docs.MOST_WORDS)
    marks = check_docs.words(tmp_path)[check_docs.EXPLAIN]
    assert check_docs.words(tmp_path)[Path("README.md")] == 2, "bars and rules are no words"
    assert check_docs.word_findings(tmp_path) == []
    (tmp_path / "doc" / "TOUR.md").write_text("word " * (check_docs.MOST_WORDS - 2 - marks))
    assert check_docs.word_findings(tmp_path) == []
    for other in ("CONTRIBUTING.md", "doc/CLUSTER.md"):
        (tmp_path / other).write_text("one")
        assert "25,001 words" in check_docs.word_findings(tmp_path)[0], "a guide counts as any other"
        (tmp_path / other).unlink()


def test_what_a_newcomer_reads_is_read_to_its_end(tmp_path: Path) -> None:
    house(tmp_path, "a\n" * 160, "a\n" * 160)
    (tmp_path / "doc" / "DESIGN.md").write_text("a\n" * 200)
    assert check_docs.length_findings(tmp_path) == []
    (tmp_path / "README.md").write_text("a\n" * 161)
    (tmp_path / "README.zh-CN.md").write_text("a\n" * 162)
    (tmp_path / "doc" / "DESIGN.md").write_text("a\n" * 201)
    assert [found.split(" lines")[0] for found in check_docs.length_findings(tmp_path)] == [
        "README.md: 161", "README.zh-CN.md: 162", "doc/DESIGN.md: 201"]  # fmt: skip


def test_lines_are_short_but_for_tables_and_single_words(tmp_path: Path) -> None:
    of_100, of_101 = "ab " * 33 + "c", "ab " * 33 + "cd"
    house(tmp_path, f"{of_100}\n|{of_101}|\n  {'a' * 101}\n{of_101}\n")
    assert check_docs.line_findings(tmp_path, Path("README.md")) == ["README.md:4: 101 columns, at most 100"]
