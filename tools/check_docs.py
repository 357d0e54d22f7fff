"""Holds the documents to the repository and the program.

Links resolve. Commands and options in the READMEs exist, and the two READMEs show the same ones.
Generated documents are what the program prints. Nothing speaks of the place where it was written.
What is written by hand stays short. With --write BERTH, rewrites the generated documents; with
--words, prints how many words each document has.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import check_comments
import list_accelerators
import list_wrappers
import repository
import score_corpus

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.M | re.S)
README = Path("README.md")
README_ZH = Path("README.zh-CN.md")


def phrase(words: str) -> re.Pattern[str]:
    """These words, also where a comment goes on in the next line."""
    return re.compile(r"(?i)\b" + r"(?:\s|//+|\*|#)+".join(words.split()) + r"\b")


# What means something in one tracker alone.
FORBIDDEN = [
    ("an issue by its number", re.compile(r"(?i)\bissue" + r"[ _#]*\d+")),
]
# Types of a vocabulary of our own: the field has words for what they are.
OLD_NAMES = (
    "Lookout Observer Desk Door Hall Places Sights Asker Insight Room Guest RoomTurns AlertBook AlertPost AlertCourier"
    " Parcel Sighting RollCall NameBook Teller World Wish HealthFinding MigPlace"
).split()
# In code, words for people and documents; names of tests and recorded words are none of them.
NOT_PLAIN = [
    ("a plain noun says it: the user, the caller, a reader", phrase("whoever")),
    ("say what repeats", phrase("looks? again and again")),
    ("say whose list, and what it lacks", phrase("seen to be lost")),
    ("call it an alert", phrase("what somebody should hear")),
    ("no number of tries among words", re.compile(r"\(looks: ")),
    ("the folder is probe/probe_process", re.compile(r"\bprobe/process\b")),
    (
        "take the field's word for it",
        re.compile(r"\b(?:class|struct|interface|type) (?:" + "|".join(OLD_NAMES) + r"|\w*(?:Surroundings|Wishes))\b"),
    ),
]
ABOUT_THE_TREE = {Path("doc/DESIGN.md"), Path("doc/TOUR.md")}
ABOUT_THE_CHECK = {Path("tools/check_docs.py"), Path("tests/tools/test_check_docs.py")}


def anchors(text: str) -> set[str]:
    """The fragments GitHub makes from headings."""
    found = set()
    for heading in re.findall(r"^#+\s+(.*)$", FENCE.sub("", text), re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(plain.replace(" ", "-"))
    return found


def link_findings(root: Path, name: Path) -> list[str]:
    text = (root / name).read_text(encoding="utf-8")
    found = []
    for match in LINK.finditer(FENCE.sub("", text)):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (root / name.parent / path) if path else root / name
        if not file.exists():
            found.append(f"{name}: the link {target} leads nowhere")
        elif fragment and file.suffix == ".md":
            if fragment not in anchors(file.read_text(encoding="utf-8")):
                found.append(f"{name}: {target}: there is no such heading")
    return found


def name_findings(root: Path, name: Path) -> list[str]:
    """Files of ours that a page names in backquotes, by their whole path, from src/ on, or alone."""
    text = FENCE.sub("", (root / name).read_text(encoding="utf-8"))
    known = repository.files(root)
    paths = {str(one) for one in known} | {str(one).removeprefix("src/") for one in known}
    alone = {one.name for one in known}
    found = []
    for said in sorted(set(re.findall(r"`([\w./-]+\.(?:cc|h|py|ts))`", text))):
        is_pattern = re.search(r"NAME|SUBJECT|VENDOR|CODE", said)
        is_there = said in paths or said in alone or any(path.endswith("/" + said) for path in paths)
        if not is_pattern and not is_there:
            found.append(f"{name}: there is no {said}")
    return found


def forbidden_findings(root: Path) -> list[str]:
    found = []
    for name in repository.files(root):
        if name in ABOUT_THE_CHECK or name.parts[:2] == ("tests", "data"):
            continue
        try:
            text = (root / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        is_test = "tests" in name.parts or name.stem.endswith("_test")
        for what, pattern in FORBIDDEN if is_test else FORBIDDEN + NOT_PLAIN:
            for hit in pattern.finditer(text):
                line = text.count("\n", 0, hit.start()) + 1
                found.append(f"{name}:{line}: {' '.join(hit[0].split())}: {what}")
    return found


def commands(text: str) -> list[str]:
    """What a reader is told to type: lines of sh blocks, after "$ " in console blocks, and code in
    running text that begins with berth or ./dev."""
    found = re.findall(r"`((?:sudo )?(?:berth|\./dev) [^`]+)`", FENCE.sub("", text))
    for language, body in FENCE.findall(text):
        body = body.replace("\\\n", " ")
        for line in body.splitlines():
            if language == "console" and line.startswith("$ "):
                found.append(line[2:].strip())
            elif language in {"sh", "bash"} and line.strip() and not line.startswith("#"):
                found.append(re.sub(r"\s+#.*$", "", line).strip())
    return found


def answer(berth: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(berth), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "BERTH_LANG": "en"},
    )


def verbs_of(berth: Path) -> list[str]:
    return re.findall(r"^  ([a-z]+)  ", answer(berth, "--help").stdout, re.M)


def help_of(berth: Path, verb: str) -> str:
    """With all options; smi and gpustat answer as the programs they stand for."""
    return answer(berth, verb, "--help" if verb in {"smi", "gpustat"} else "--help-all").stdout


class Commands:
    """Knows which verbs and options there are."""

    def __init__(self, root: Path, berth: Path) -> None:
        self.berth = berth
        self.verbs = verbs_of(berth)
        self.help: dict[str, str] = {}
        self.dev_verbs = set(re.findall(r"^  ([a-z]+)", (root / "dev").read_text(), re.M))

    def finding(self, command: str) -> str | None:
        words = command.split()
        while words and (words[0] == "sudo" or re.fullmatch(r"[A-Z_]+=\S*", words[0])):
            words = words[1:]
        if words[:1] == ["./dev"]:
            if len(words) > 1 and words[1] not in self.dev_verbs:
                return f"./dev has no verb {words[1]}"
            words = ["berth", *words[2:]] if words[1:2] == ["run"] else []
        if words[:1] not in (["berth"], ["build/release/berth"]):
            return None
        return self.berth_finding(words[1:])

    def berth_finding(self, words: list[str]) -> str | None:
        verb = "status"
        for word in words:
            if not word.startswith("-") and word in self.verbs:
                verb = word
                break
        if verb not in self.help:
            self.help[verb] = help_of(self.berth, verb)
        for word in words:
            if word in {"--", "|", ">", "&&", ";"}:
                break
            option = word.split("=")[0]
            if option.startswith("--") and option not in {"--help", "--version"}:
                if not re.search(re.escape(option) + r"(?![\w-])", self.help[verb]):
                    return f"berth {verb} has no option {option}"
        return None


def readme_findings(root: Path, berth: Path) -> list[str]:
    known = Commands(root, berth)
    found = []
    seen: dict[Path, list[str]] = {}
    for name in (README, README_ZH, Path("CONTRIBUTING.md"), Path("doc/TOUR.md")):
        if not (root / name).is_file():
            found.append(f"{name}: missing")
            continue
        seen[name] = commands((root / name).read_text(encoding="utf-8"))
        for command in seen[name]:
            if problem := known.finding(command):
                found.append(f"{name}: {command}: {problem}")
    only_one = set(seen.get(README, ())) ^ set(seen.get(README_ZH, ()))
    if README in seen and README_ZH in seen and only_one:
        found.append(f"{README} and {README_ZH} show different commands: {sorted(only_one)}")
    return found + run_findings(root, berth)


def run_findings(root: Path, berth: Path) -> list[str]:
    """Runs the berth commands of the README's console blocks on a simulated server."""
    if not (root / README).is_file():
        return []
    found = []
    text = (root / README).read_text(encoding="utf-8")
    blocks = "".join(f"```console\n{body}```\n" for kind, body in FENCE.findall(text) if kind == "console")
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": f"{berth.parent}:{os.environ.get('PATH', '')}",
            "HOME": home,
            "BERTH_LEDGER": f"{home}/ledger",
            "BERTH_SIM": "server-8xh100",
            "LC_ALL": "C.UTF-8",
        }
        if said := re.search(r"any of (\d+)\.", text):
            fit = [str(berth), "fit", "1B", "--all", "--json"]
            done = subprocess.run(fit, env=environment, capture_output=True, check=True)
            if int(said[1]) != (cards := len(json.loads(done.stdout)["cards"])):
                found.append(f"{README}: `berth fit --all` knows {cards} cards, not {said[1]}")
        for command in commands(blocks):
            if not command.startswith("berth"):
                continue
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            if done.returncode != 0:
                found.append(f"{README}: {command}: exit {done.returncode}: {done.stderr.strip()}")
    return found


def commands_page(berth: Path) -> str:
    page = (
        "# Commands\n\nMade by `./dev docs` from the program's own `--help-all`; do not edit.\n\n"
        f"```text\n{answer(berth, '--help').stdout.rstrip()}\n```\n"
    )
    for verb in [*verbs_of(berth), "completion", "version"]:
        page += f"\n## berth {verb}\n\n```text\n{help_of(berth, verb).rstrip()}\n```\n"
    return page


EXPLAIN = Path("doc/EXPLAIN.md")
# A table of rules, between the lines that name it.
OF_CORPUS = "<!-- made by ./dev docs: real programs' messages -->"
MADE = re.compile(r"^(<!-- made by \./dev docs: [^\n]* -->)\n.*?^<!-- end -->\n", re.M | re.S)


def explain_page(root: Path, berth: Path) -> str:
    """The page as it is written, with the program's own tables of its rules."""
    tables = {match[1]: match[0] for match in MADE.finditer(answer(berth, "--rules-doc").stdout)}
    page = (root / EXPLAIN).read_text(encoding="utf-8") if (root / EXPLAIN).is_file() else ""
    if OF_CORPUS in page:
        scored = score_corpus.table(score_corpus.score(root, berth), score_corpus.kept(root).get("date", ""))
        tables[OF_CORPUS] = f"{OF_CORPUS}\n\n{scored}\n<!-- end -->\n"
    marks = [match[1] for match in MADE.finditer(page)]
    if sorted(marks) != sorted(tables):
        raise SystemExit(f"{EXPLAIN}: its marks are {marks}, and berth --rules-doc makes {list(tables)}")
    return MADE.sub(lambda match: tables[match[1]], page)


CAPS = Path("doc/CAPS.md")
ACCELERATORS = [Path("doc/ACCELERATORS.md"), Path("doc/ACCELERATORS.zh-CN.md")]


def generated(root: Path, berth: Path) -> dict[Path, str]:
    made = {
        Path("doc/COMMANDS.md"): commands_page(berth),
        Path("doc/METRICS.md"): answer(berth, "--metrics-doc").stdout,
        EXPLAIN: explain_page(root, berth),
    }
    if (root / CAPS).is_file():
        made[CAPS] = list_wrappers.page(root, (root / CAPS).read_text(encoding="utf-8"))
    for name in ACCELERATORS:
        if (root / name).is_file():
            made[name] = list_accelerators.page(root, (root / name).read_text(encoding="utf-8"))
    return made


def generated_findings(root: Path, berth: Path) -> list[str]:
    found = []
    for name, wanted in generated(root, berth).items():
        path = root / name
        if not wanted.strip():
            found.append(f"{name}: the program prints nothing for it")
        elif not path.is_file() or path.read_text(encoding="utf-8") != wanted:
            found.append(f"{name}: not what the program prints now (./dev docs rewrites it)")
    return found


MOST_WORDS = 25_000
MADE_PAGES = {Path("doc/COMMANDS.md"), Path("doc/METRICS.md")}
LONGEST_LINE = 100
NAMES_OF_A_LIST = 4  # in backquotes: a list of keys is no sentence
# A newcomer reads them to their end.
MOST_LINES = {README: 160, README_ZH: 160, Path("doc/DESIGN.md"): 200}
# A log of releases, and twins whose letters are two columns wide.
LINES_AS_THEY_ARE = re.compile(r"CHANGELOG\.md|.*\.zh-CN\.md")


def written_by_hand(root: Path) -> list[Path]:
    """The documents outside of tests/, without those that the program prints whole."""
    found = [name for name in repository.files(root) if name.suffix == ".md" and name.parts[0] != "tests"]
    return [name for name in found if name not in MADE_PAGES]


def words(root: Path) -> dict[Path, int]:
    """Words of each document. A table's bars and rules are none; tables that the program prints do not count.
    Of a Chinese twin it is the number of pieces between blanks."""
    found = {}
    for name in written_by_hand(root):
        text = MADE.sub("", (root / name).read_text(encoding="utf-8"))
        found[name] = sum(1 for word in text.split() if re.search(r"\w", word))
    return found


def word_findings(root: Path) -> list[str]:
    """A twin repeats its original, so it is not counted."""
    counted = sum(count for name, count in words(root).items() if not name.name.endswith(".zh-CN.md"))
    if counted <= MOST_WORDS:
        return []
    return [f"the documents: {counted:,} words, at most {MOST_WORDS:,} are wanted: link to what stands elsewhere"]


def line_findings(root: Path, name: Path) -> list[str]:
    """Lines that are too long to read, but for what cannot be broken: rows of tables, commands, single words."""
    found = []
    for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > LONGEST_LINE and not line.startswith(("|", "    berth ")) and " " in line.strip():
            found.append(f"{name}:{number}: {len(line)} columns, at most {LONGEST_LINE}")
    return found


def pieces(text: str) -> list[tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables, each with its line; no code, no headings."""
    found: list[tuple[int, list[str]]] = []
    is_code = begins = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.startswith("```")
        plain = line.strip()
        begins |= plain == "" or plain.startswith(("#", "- ", "* ", "|", ">", "<", "```"))
        if is_code or plain == "" or plain.startswith(("#", "```", "<")) or line.startswith("    "):
            begins = True
            continue
        if plain.startswith("|"):
            found += [(number, [cell]) for cell in plain.replace("\\|", "/").split("|") if cell]
            begins = True
        elif begins or not found:
            found.append((number, [plain]))
            begins = False
        else:
            found[-1][1].append(plain)
    return [(number, " ".join(lines)) for number, lines in found]


def sentence_findings(root: Path, name: Path) -> list[str]:
    found = []
    text = MADE.sub(lambda made: "\n" * made[0].count("\n"), (root / name).read_text(encoding="utf-8"))
    for number, piece in pieces(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", piece).replace("**", "")
        for count, sentence in check_comments.long_sentences_in(plain):
            if sentence.count("`") // 2 >= NAMES_OF_A_LIST:
                continue
            found.append(f"{name}:{number}: {count} words in a sentence, at most 20: {sentence}")
    return found


def length_findings(root: Path) -> list[str]:
    found = []
    for name, most in MOST_LINES.items():
        lines = len((root / name).read_text(encoding="utf-8").splitlines()) if (root / name).is_file() else 0
        if lines > most:
            found.append(f"{name}: {lines} lines, at most {most}: a link says as much")
    return found


def unmerged_findings(root: Path, name: Path) -> list[str]:
    """What a merge leaves behind where nobody decided."""
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    left = [number for number, line in enumerate(lines, 1) if line.startswith(("<<<<<<< ", ">>>>>>> "))]
    return [f"{name}:{number}: a conflict of a merge" for number in left]


def picture_findings(root: Path) -> list[str]:
    """A picture that no document shows grows old unseen."""
    shown = set()
    for name in written_by_hand(root):
        for match in LINK.finditer((root / name).read_text(encoding="utf-8")):
            shown.add((root / name.parent / (match[1] or match[2])).resolve())
    pictures = [name for name in repository.files(root) if name.parts[:2] == ("doc", "pictures")]
    return [f"{name}: no document shows it" for name in pictures if (root / name).resolve() not in shown]


def findings(root: Path, berth: Path | None) -> list[str]:
    found = forbidden_findings(root) + word_findings(root) + length_findings(root)
    found += picture_findings(root)
    for name in written_by_hand(root):
        if not LINES_AS_THEY_ARE.fullmatch(str(name)):
            found += line_findings(root, name)
        if not name.name.endswith(".zh-CN.md"):
            found += sentence_findings(root, name)
    for name in repository.files(root):
        if name.suffix in (".md", ".py", ".cc", ".h", ".ts", ".po"):
            found += unmerged_findings(root, name)
        if name.suffix == ".md" and name.parts[:2] != ("tests", "data"):
            found += link_findings(root, name)
        if name in ABOUT_THE_TREE:
            found += name_findings(root, name)
    if berth:
        found += generated_findings(root, berth) + readme_findings(root, berth)
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        tool = Path(sys.argv[2]).resolve()
        score_corpus.keep(repository.ROOT, score_corpus.score(repository.ROOT, tool))
        for file, content in generated(repository.ROOT, Path(sys.argv[2]).resolve()).items():
            if content.strip():
                (repository.ROOT / file).write_text(content, encoding="utf-8")
        sys.exit(0)
    if sys.argv[1:2] == ["--words"]:
        counted = words(repository.ROOT)
        for file, count in [*counted.items(), (Path("all"), sum(counted.values()))]:
            print(f"{count:7,}  {file}")
        sys.exit(0)
    program = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    sys.exit(repository.finish(findings(repository.ROOT, program)))
