"""Comments' sentences are short, whatever the language they stand in."""

from pathlib import Path

import pytest

import check_comments

SHORT = " ".join(["word"] * 20)


def long_in(name: str, text: str) -> list[tuple[int, int]]:
    """Line and words of each long sentence."""
    return [(line, count) for line, count, _ in check_comments.long_sentences(Path(name), text)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cc", f"int a;\n// {SHORT}\n// and so on\n"),
        ("a.h", f"int a;\n/* {SHORT}\n   and so on */\n"),
        ("a.ts", f"const a = 1;\n  // {SHORT}\n  // and so on\n"),
        ("a.sh", f"a='# x'\n# {SHORT}\n# and so on\n"),
        ("a.cmake", f"a()\n# {SHORT}\n# and so on\n"),
        ("a.py", f"a = 1\n# {SHORT}\n# and so on\n"),
        ("a.py", f'def f():\n    """{SHORT}\n    and so on."""\n'),
    ],
)
def test_comments_finds_a_sentence_over_two_lines(name: str, text: str) -> None:
    assert long_in(name, text) == [(2, 23)], text


@pytest.mark.parametrize("end", [". And so on", ": and so on", "; and so on", " `and so on, and on`"])
def test_comments_ends_a_sentence_at_a_mark_and_takes_code_as_one_word(end: str) -> None:
    assert long_in("a.cc", f"// {SHORT.removesuffix(' word')}{end}\n") == []


@pytest.mark.parametrize(
    "more", ["\n//\n// ", "\n\n// ", "\n// - ", "\n//     ", "\nint a;  // ", "\n// Unit    ", "\n//   a b  c\n// "]
)
def test_comments_takes_rows_and_paragraphs_each_alone(more: str) -> None:
    assert long_in("a.cc", f"// {SHORT}{more}{SHORT}\n") == []


def test_comments_leaves_strings_and_lists_of_names_alone() -> None:
    assert long_in("a.cc", f'auto a = "// {SHORT} word"; auto b = R"(\n// {SHORT} word)"; int c = 1\'000;\n') == []
    assert long_in("a.py", f'a = 1\nb = """# {SHORT} word"""\n') == []
    assert long_in("a.cc", f"// {' '.join(['a_name,'] * 30)}\n") == []


def test_comments_refuses_a_long_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.cc").write_text(f"// {SHORT} word\n", encoding="utf-8")
    (tmp_path / "b.cc").write_text(f"// {SHORT}\n", encoding="utf-8")
    assert check_comments.findings(tmp_path) == [f"a.cc:1: 21: {SHORT} word (at most 20 words)"]
