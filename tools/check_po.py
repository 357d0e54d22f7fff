"""Holds po/zh_CN.po against the words for people in the sources.

Words are the arguments of tr(), trf(), sentence(), fail() and of the local helpers that pass text on to
them. Words are also the columns of a few constant tables, and the sentences of the simulated servers.
Each must have a translation that uses the same placeholders; a translation of words that are gone is an
error as well. One thing has one Chinese word, on the command line, on the page and in the documents: a
word that NOTIONS replaces is an error in any of them. What is noticed below view/, top/ and app/ is a
Sentence: tr() and trf() there are an error, but for the files of TRANSLATE_HERE. Sentences are short.
With --update, adds empty entries for new words and drops those that are gone; with --keys, lists the
words.
"""

import ast
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import repository

CATALOGUE = Path("po/zh_CN.po")
OPTIONS = ["flag", "value", "filled_value", "repeated", "number", "choice", "word", "words", "required_word", "required_words"]
KEYWORDS = ["tr", "trf", "as_key", "sentence", "fail:2", "Error:2", "begin_group", *(f"{name}:3" for name in OPTIONS)]
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*')
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")

# English notion: its Chinese word, and the words it replaces, as one regular expression.
NOTIONS = {
    "job": ("任务", "作业"),
    "held idle": ("占而不用", "空占|闲占"),
    "allocate to": ("分配到", "(?<![切划平部])分到|(?<!部)分给"),
    "reserve": ("预留", "预约"),
    "lease": ("租约", "租赁|租借|租期"),
    "ledger": ("台账", "账本|总账"),
    "token": ("令牌", "凭证|口令|词元"),
    "recording": ("录制文件", "录像"),
    "replay": ("回放", "重放"),
    "probe": ("探测", "探针|探查"),
    "queue": ("队列", "等待队列|等候队列"),
    "keeper": ("看护进程", "守护进程|保管进程|看守进程"),
    "worker": ("工作进程", "(?:数据)?加载进程|[一-鿿“，] ?worker(?!_)|worker(?!_) ?[一-鿿”，]"),
    "throttle": ("降频", "降速|限频"),
    "clock": ("频率", "时钟"),
    "utilisation": ("利用率", "使用率|带宽率"),
    "power": ("功率", "功耗"),
    "power limit": ("功率上限", "(?<!受)功率限制|功率墙"),
    "energy": ("能耗", "电能"),
    "GPU memory": ("显存", "设备内存|GPU 内存"),
    "host memory": ("内存", "主内存|主存|主机内存"),
    "driver": ("驱动", "驱动程序"),
    "persistence mode": ("持久模式", "常驻模式|持续模式|持久化模式"),
    "Tensor Core": ("Tensor Core", "张量核心?|张量内核"),
    "kernel of CUDA": ("核函数", "内核函数|(?:CUDA|小|个|单个) ?内核(?!日志|模块)"),
    "NVLink fabric": ("NVLink 互连", "(?<!相)互联|互连网络|互连结构|NVLink 网络"),
    "one card, one GPU": ("一张卡、一块 GPU", "块(?:显卡|卡)|[张个] ?GPU(?! ?任务)"),
    "fall off the bus": ("掉线", "失联|脱落|掉卡"),
    "reset": ("重置", "复位"),
    "divide by MIG": ("划分", "MIG 切分|切分 MIG|切分后的卡"),
    "cannot read": ("无法读取", "读不到|读不出|不能读取|未能读取"),
    "answer": ("响应", "应答|回应"),
    "since the last sample": ("自上次采样以来", "上次查看|上次观测"),
    "over its life": ("出厂以来", "一生"),
    "index": ("编号", "序号"),
    "batch": ("批次", "批量|批大小"),
    "copy": ("复制", "拷贝"),
    "alert": ("告警", "警报|报警"),
    "cgroup": ("cgroup", "控制组"),
    "notebook": ("notebook", "笔记本(?!电脑)"),
    "you": ("你", "您"),
    "a device": ("个设备", "台设备|整台(?![机服])"),
}
# English notion: the Chinese word that is its alone, and the notion for which it is easily written.
PAIRED = {r"\brules?\b": ("规则", r"\bpolic(?:y|ies)\b"), r"\bpolic(?:y|ies)\b": ("策略", r"\brules?\b")}
# Between Chinese characters a sentence has its own marks; what is spelled as its format is no sentence.
HALF_WIDTH = re.compile(r"(?<=[一-鿿])[,:;?!()]|[,;?!](?=[一-鿿])")
SPELLED = re.compile(r"域:总线:设备|`[^`]*`|https?://\S+|\]\([^)]*\)")
CHINESE = ["po/zh_CN.po", "web/src/words/*.ts", "*.zh-CN.md"]


@dataclass(frozen=True)
class Table:
    """A constant table whose rows hold words that reach tr() at run time."""

    file: str
    begin: str  # a regular expression; the table ends at the next "});" or "}};"
    texts_per_row: int
    words: tuple[int, ...]  # which of a row's texts are words


TABLES = [
    Table("src/snapshot/fields.cc", r"constexpr auto table\b", 5, (1, 4)),
    Table("src/snapshot/fields_board.h", r"constexpr auto board_details\b", 4, (2,)),
    Table("src/snapshot/fields_load.h", r"constexpr auto load_details\b", 4, (2,)),
    Table("src/snapshot/fields_power.h", r"constexpr auto power_details\b", 4, (2,)),
    Table("src/snapshot/fields_clocks.h", r"constexpr auto clock_details\b", 4, (2,)),
    Table("src/snapshot/fields_window.h", r"constexpr auto window_details\b", 4, (2,)),
    Table("src/app/main.cc", r"constexpr auto all_verbs\b", 3, (1,)),
    Table("src/app/recipes.cc", r"constexpr Recipe table\b", 3, (1,)),
    Table("src/probe/sim/scenario.cc", r"constexpr .*\bbuiltins\b", 2, (1,)),
    Table("src/view/history_text.cc", r"constexpr auto metric_words\b", 2, (1,)),
    Table("src/health/xid.cc", r"constexpr auto catalogue\b", 1, (0,)),
    Table("src/diagnose/doctor/rules/cuda.cc", r"constexpr auto codes\b", 3, (0, 1)),
    Table("src/base/reading.h", r"string_view reason_of\(Absent", 1, (0,)),
]

LONGEST_SENTENCE = 20  # words; what stands in backquotes is one
SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n")

# Where words are shown, and so translated: what is below passes sentences on.
SHOWING = ("view", "top", "app")
TRANSLATE_HERE = {  # and why
    "src/base/tr.h": "tr() itself",
    "src/base/tr.cc": "tr() itself",
    "src/base/sentence_shown.cc": "how a sentence is shown",
    "src/base/memory_limit.cc": "says so itself where no memory is left for a sentence",
}
TRANSLATION = re.compile(r"\btrf?\(")
COMMENT = re.compile(r"//[^\n]*")

# The calls whose words the catalogue has as a part of longer ones, and what that is.
PARTS = {
    "cannot {}: {{}}": ["fail_system:2", "system_error:2"],
    "{}: {{}}": ["because:1"],
}
LIBRARY = {  # CLI11's words about a mistake on the command line
    "Could not convert: {} = {}",
    "The following argument was not expected: {}",
    "The following arguments were not expected: {}",
    "{} is required",
    "{}: {} required {} missing",
}
SCENARIO = re.compile(r'"(?:message|remedy|unusable_because)": ("(?:\\.|[^"\\\n])+")')


def unquoted(literals: str) -> str:
    """The text of one or more adjacent C string literals."""
    return "".join(ast.literal_eval(piece) for piece in re.findall(r'"(?:\\.|[^"\\\n])*"', literals))


def table_words(root: Path, table: Table) -> set[str]:
    path = root / table.file
    if not path.is_file():
        return set()
    text = path.read_text(encoding="utf-8")
    begin = re.search(table.begin, text)
    if not begin:
        return set()
    end = re.compile(r"^\}[)}];", re.M).search(text, begin.end())
    body = text[begin.end() : end.start() if end else len(text)]
    texts = [unquoted(literal[0]) for literal in LITERAL.finditer(body)]
    return {text for i, text in enumerate(texts) if i % table.texts_per_row in table.words and text}


def parse_po(text: str) -> dict[str, tuple[str, bool]]:
    """msgid → (msgstr, is fuzzy), without the header."""
    entries = {}
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if not line.startswith("#~")]
        fuzzy = any(line.startswith("#,") and "fuzzy" in line for line in lines)
        fields = {"msgid": "", "msgstr": ""}
        current = None
        for line in lines:
            start = re.match(r"(msgid|msgstr)\s+(\".*\")$", line)
            if start:
                current = start[1]
                fields[current] = unquoted(start[2])
            elif line.startswith('"') and current:
                fields[current] += unquoted(line)
        if fields["msgid"]:
            entries[fields["msgid"]] = (fields["msgstr"], fuzzy)
    return entries


def called_words(root: Path, keywords: list[str]) -> set[str]:
    names = [
        str(name)
        for name in repository.sources(root)
        if name.parts[0] == "src" and not name.stem.endswith("_test")
    ]
    if not names:
        return set()
    done = subprocess.run(
        ["xgettext", "--language=C++", "--from-code=UTF-8", "--no-location"]
        + ["--no-wrap", "-k", *(f"--keyword={name}" for name in keywords), "-o", "-", *names],
        cwd=root,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(parse_po(done.stdout))


def words(root: Path) -> set[str]:
    found = called_words(root, KEYWORDS)
    for whole, keywords in PARTS.items():
        found |= {whole.replace("{}", part, 1).replace("{{}}", "{}") for part in called_words(root, keywords)}
    for path in sorted((root / "src/probe/sim/scenarios").glob("*.json")):
        found |= {unquoted(text) for text in SCENARIO.findall(path.read_text(encoding="utf-8"))}
    for table in TABLES:
        found |= table_words(root, table)
    if (root / "src/app/command_line.cc").is_file():
        found |= LIBRARY
    return found - {""}


def other_notion(english: str, chinese: str) -> list[str]:
    """Where a Chinese word stands for another notion of the English than the one that it is kept for."""
    said = re.sub(r"`[^`]*`", "", english)
    return [f"{word!r} is {notion}" for notion, (word, beside) in PAIRED.items()
            if word in chinese and re.search(beside, said, re.I) and not re.search(notion, said, re.I)]


def placeholders(text: str) -> list[str]:
    """What fmt would fill in, numbered, in a fixed order: "{} {}" and "{1} {0}" are the same."""
    found = []
    count = 0
    for match in PLACEHOLDER.finditer(text):
        if match[0] in ("{{", "}}"):
            continue
        position, _, style = match[1].partition(":")
        found.append(f"{position or count}:{style}")
        count += 1
    return sorted(found)


def replaced_words(root: Path) -> list[str]:
    found = []
    names = [name for name in repository.files(root) if any(name.match(glob) for glob in CHINESE)]
    for name in names:
        lines = (root / name).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            for notion, (word, replaced) in NOTIONS.items():
                for match in re.finditer(replaced, line):
                    found.append(f"{name}:{number}: {match[0]!r}: write {word!r} ({notion})")
            sentence = SPELLED.sub("", line)
            for match in HALF_WIDTH.finditer(sentence):
                beside = sentence[max(0, match.start() - 6) : match.end() + 6]
                found.append(f"{name}:{number}: {match[0]!r} in {beside!r}: a Chinese sentence has full-width marks")
    return found


def translated_early(root: Path) -> list[str]:
    """Words that lose their values and their English before they are shown."""
    found = []
    for name in repository.sources(root):
        is_below = name.parts[0] == "src" and name.parts[1] not in SHOWING
        if not is_below or name.stem.endswith("_test") or name.as_posix() in TRANSLATE_HERE:
            continue
        text = COMMENT.sub("", (root / name).read_text(encoding="utf-8"))
        for match in TRANSLATION.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{name}:{line}: {match[0]}…) below view/, top/ and app/: pass on sentence(…) or fail(…)")
    return found


def words_in(sentence: str) -> int:
    return len([word for word in sentence.split() if re.search(r"[\w{]", word)])


def longest_sentence(text: str) -> int:
    """Its words, of the English."""
    return max(words_in(one) for one in SENTENCE_END.split(re.sub(r"`[^`]*`", "x", text)))


def long_texts(wanted: set[str]) -> list[str]:
    long = sorted(text for text in wanted if longest_sentence(text) > LONGEST_SENTENCE)
    return [f"{CATALOGUE}: a sentence of more than {LONGEST_SENTENCE} words: {text!r}" for text in long]


def findings(root: Path) -> list[str]:
    wanted = words(root)
    have = parse_po((root / CATALOGUE).read_text(encoding="utf-8"))
    found = []
    for word in sorted(wanted):
        translation, fuzzy = have.get(word, ("", False))
        if not translation:
            found.append(f"{CATALOGUE}: no translation of {word!r}")
        elif fuzzy:
            found.append(f"{CATALOGUE}: still fuzzy: {word!r}")
        elif placeholders(word) != placeholders(translation):
            found.append(f"{CATALOGUE}: other placeholders than the English: {word!r}")
        elif wrong := other_notion(word, translation):
            found.append(f"{CATALOGUE}: {wrong[0]}: {word!r}")
        elif word.endswith("\n") != translation.endswith("\n"):
            found.append(f"{CATALOGUE}: one ends the line, the other does not: {word!r}")
    found += [f"{CATALOGUE}: nothing says this any more: {word!r}" for word in sorted(have.keys() - wanted)]
    return found + translated_early(root) + replaced_words(root) + long_texts(wanted)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def update(root: Path) -> None:
    path = root / CATALOGUE
    text = path.read_text(encoding="utf-8")
    have = parse_po(text)
    header = re.split(r"\n\s*\n", text)[0]
    blocks = [header]
    for word in sorted(words(root)):
        blocks.append(f"msgid {quoted(word)}\nmsgstr {quoted(have.get(word, ('', False))[0])}")
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update(repository.ROOT)
        sys.exit(0)
    if sys.argv[1:] == ["--keys"]:
        print("\n".join(quoted(word) for word in sorted(words(repository.ROOT))))
        sys.exit(0)
    sys.exit(repository.finish(findings(repository.root_from_arguments())))
