"""Finds the long sentences of the comments: a sentence has at most 20 words, as check_po wants it of texts.

A sentence ends with a mark (`.`, `:`, `;`) before a space, with a paragraph, or with a row of a table. What stands in
backquotes is one word. A list of names is no sentence. `check_comments.py ROOT [FOLDER…]` prints them:
file:line: words: sentence."""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import repository
from check_po import LONGEST_SENTENCE, words_in

NOT_OURS = ("tests", "data")
C_LIKE = {".cc", ".h", ".hpp", ".c", ".ts", ".mjs", ".css"}
HASHED = {".sh", ".cmake"}

# Strings and comments, of which the comments are wanted.
C_TOKENS = re.compile(
    r'R"(?P<mark>[^(\s"]*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])*'"
    r"|`(?:\\.|[^`\\])*`"
    r"|(?P<line>//[^\n]*)"
    r"|(?P<block>/\*.*?\*/)",
    re.S,
)
# A line that begins something: a point of a list, a row of a table, a key of a declaration's comment.
NEW_PIECE = re.compile(r"\s*(?:[-*•] |\d+[.)] |\S+(?: \S+){0,3} {2,}\S|@|#)")
END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<=[.!?:;])[\"')\]]*\s+|(?<=\S) {2,}")
CODE_WORD = re.compile(r"\w[_/:(){}<>=\d]|[a-z][A-Z]|^[A-Z_\d]+[,.]?$")

Line = tuple[int, int, bool, str]  # number, column, whether code stands before, what stands behind the mark


def c_lines(text: str) -> Iterator[Line]:
    for token in C_TOKENS.finditer(text):
        number = text.count("\n", 0, token.start()) + 1
        begin = text.rfind("\n", 0, token.start()) + 1
        column = token.start() - begin
        is_behind = column > 0 and not text[begin : token.start()].isspace()
        if token["line"]:
            yield number, column, is_behind, re.sub(r"^//+[!<]*", "", token["line"])
        elif token["block"]:
            for more, line in enumerate(token["block"][2:-2].split("\n")):
                said = re.sub(r"^\s*\*+", "", line)
                yield number + more, column, is_behind and more == 0, said.removeprefix(" " * (column + 2))


def python_lines(text: str) -> Iterator[Line]:
    begins_block = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        number, column = token.start
        if token.type == tokenize.COMMENT:
            is_behind = column > 0 and not token.line[:column].isspace()
            yield number, column, is_behind, token.string.lstrip("#")
        elif token.type == tokenize.STRING and begins_block:
            for more, line in enumerate(token.string.strip("rb\"'").split("\n")):
                yield number + more, column, False, line.removeprefix(" " * column)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins_block = token.type == tokenize.INDENT


def hashed_lines(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"(?:[^\"'#]|\"[^\"]*\"|'[^']*')*?(?:^|(?<=\s))#(?!!)(.*)", line)
        if comment:
            before = line[: comment.start(1) - 1]
            yield number, len(before), bool(before.strip()), comment[1]


def may_continue(first: str, line: str) -> bool:
    """Whether a line may belong to what `first` began: below an indented row, and there alone, it is indented."""
    is_row = bool(NEW_PIECE.match(first))
    hangs = line.startswith("   ")
    return hangs if is_row and first.startswith("   ") else is_row or not hangs


def pieces(lines: list[Line]) -> Iterator[tuple[int, str]]:
    """Paragraphs, points and rows, each with the number of its first line."""
    begin, column, said, first = 0, 0, [], ""
    previous = -1
    for number, where, is_behind, line in sorted(lines):
        goes_on = number == previous + 1 and where == column and not is_behind
        goes_on = goes_on and line.strip() and not NEW_PIECE.match(line)
        goes_on = goes_on and may_continue(first, line)
        if said and not goes_on:
            yield begin, " ".join(said)
            said = []
        if not said:
            begin, first = number, line
        said.append(line.strip())
        previous, column = number, where
    if said:
        yield begin, " ".join(said)


def is_sentence(text: str) -> bool:
    """And no list of names, no table."""
    words = text.split()
    return sum(bool(CODE_WORD.search(word)) for word in words) * 2 < len(words)


def long_sentences_in(text: str) -> list[tuple[int, str]]:
    """How many words each of them has. What stands in backquotes is one."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    counted = [(words_in(sentence), sentence.replace("\0", " ")) for sentence in END.split(whole)]
    return [(count, sentence) for count, sentence in counted if count > LONGEST_SENTENCE and is_sentence(sentence)]


def long_sentences(name: Path, text: str) -> list[tuple[int, int, str]]:
    """Of a file's comments: line, words, sentence."""
    if name.suffix in C_LIKE:
        lines = list(c_lines(text))
    elif name.suffix == ".py":
        lines = list(python_lines(text))
    else:
        lines = list(hashed_lines(text))
    return [(number, *found) for number, piece in pieces(lines) for found in long_sentences_in(piece)]


def all_long(root: Path, folders: tuple[str, ...] = ("",)) -> list[str]:
    found = []
    for name in repository.files(root):
        is_code = name.suffix in C_LIKE | HASHED | {".py"} or name.name in {"dev", "CMakeLists.txt"}
        if not is_code or name.parts[:2] == NOT_OURS or not name.as_posix().startswith(folders):
            continue
        text = (root / name).read_text(encoding="utf-8")
        if text.startswith("// Made by ./dev docs"):
            continue
        found += [f"{name}:{line}: {count}: {said}" for line, count, said in long_sentences(name, text)]
    return found


def findings(root: Path) -> list[str]:
    return [f"{long} (at most {LONGEST_SENTENCE} words)" for long in all_long(root)]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print("\n".join(all_long(Path(sys.argv[1]).resolve(), tuple(sys.argv[2:]) or ("",))))
    else:
        sys.exit(repository.finish(findings(repository.ROOT)))
