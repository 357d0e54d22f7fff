#!/usr/bin/python3
"""Holds po/zh_CN.po against the words in the source.

    tools/check_po.py            reports missing, empty and unused translations, and translations
                                 whose placeholders are not those of the English text; exit 1 if any
    tools/check_po.py --update   appends missing keys with an empty translation
    tools/check_po.py --keys     lists every key with where it stands

Keys are the literals inside tr() and trf() in src/**/*.cc and *.h (also `cond ? "a" : "b"` inside
them and adjacent literals), and texts that reach tr() through a table: see TABLES.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Files in which literals go to tr() by way of a table or a parameter: a pattern whose match begins
# the text, and which of the literals after it (until the closing bracket) are for people.
FIELD_HEADER, FIELD_HELP = 1, 4  # of {key, header, smi, metric, help}
TABLES = {
    "src/view/status_devices.cc": re.compile(r'^\s*\{"([^"]+)", Align::', re.M),
    "src/base/reading.h": re.compile(r'return "([^"]+)";'),  # tr(name_of(absent))
}
SAID = re.compile(r"\bsaid\s*\(")  # place's own name for std::string(tr(…))
CALL = re.compile(r"\btrf?\s*\(")
ROW = re.compile(r"(?:stored<&D::\w+>\(|^    \{)(?=\s*\")", re.M)

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'", "0": "\0"}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def unescaped(text):
    """The text that a C++ or .po literal stands for."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(1)), text)


def escaped(text):
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def without_comments(source):
    """Comments become spaces, so that positions and line numbers stay."""
    pattern = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/', re.S)

    def blank(match):
        text = match.group(0)
        if text.startswith("/"):
            return re.sub(r"[^\n]", " ", text)
        if text.startswith("'"):
            return "' '".ljust(len(text))
        return text

    return pattern.sub(blank, source)


def tokens(source, position):
    """Yields (kind, text, position) from just behind an opening bracket until it closes: literals
    (adjacent ones joined), commas and question marks at depth 0, everything else as "other"."""
    depth = 0
    joined = None
    while position < len(source):
        char = source[position]
        if char == '"':
            match = LITERAL.match(source, position)
            if match is None:
                return
            joined = (joined or "") + unescaped(match.group(1))
            position = match.end()
            continue
        if char.isspace():
            position += 1
            continue
        if joined is not None:
            yield "literal", joined, depth
            joined = None
        if char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                return
            depth -= 1
        yield ("comma" if char == "," else "other"), char, depth
        position += 1


def keys_of_call(source, position):
    """The literals that can be the first argument of a call: one, or those of a conditional."""
    found = []
    behind_question = False
    is_conditional = False
    for kind, text, depth in tokens(source, position):
        if depth == 0 and kind == "comma":
            break
        if kind == "other" and text == "?":
            behind_question = is_conditional = True
        if kind == "literal" and depth == 0:
            if behind_question or not is_conditional:
                found.append((text, behind_question))
    if is_conditional:
        return [text for text, behind in found if behind]
    return [text for text, _ in found][:1]


def keys_of_row(source, position):
    """Header and help of a row of the field table."""
    literals = [text for kind, text, depth in tokens(source, position) if kind == "literal"]
    if len(literals) <= FIELD_HELP:
        return []
    return [literals[FIELD_HEADER], literals[FIELD_HELP]]


def line_of(source, position):
    return source.count("\n", 0, position) + 1


def source_keys():
    """{key: "file:line" of its first use}, in the order of files and lines."""
    keys = {}

    def add(text, name, source, position):
        if text.strip():
            keys.setdefault(text, f"{name}:{line_of(source, position)}")

    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".cc", ".h") or path.name.endswith("_test.cc"):
            continue
        name = path.relative_to(ROOT).as_posix()
        raw = path.read_text(encoding="utf-8", errors="replace")
        has_words = "tr(" in raw or "trf(" in raw
        if not has_words and name not in TABLES and name != "src/snapshot/fields.cc":
            continue
        source = without_comments(raw)
        if name == "src/snapshot/fields.cc":
            for match in ROW.finditer(source):
                for text in keys_of_row(source, match.end()):
                    add(text, name, source, match.start())
        patterns = [CALL] if "/base/tr." not in name else []
        if "std::string said(std::string_view" in source:
            patterns.append(SAID)
        for pattern in patterns:
            for match in pattern.finditer(source):
                for text in keys_of_call(source, match.end()):
                    add(text, name, source, match.start())
        if name in TABLES:
            for match in TABLES[name].finditer(source):
                add(unescaped(match.group(1)), name, source, match.start())
    return keys


def read_po(path):
    """[(msgid, msgstr, line)] without the header."""
    entries = []
    entry = None
    field = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        match = re.match(r'(msgid|msgstr)\s+"(.*)"$', line)
        if match and match.group(1) == "msgid":
            entry = {"msgid": unescaped(match.group(2)), "msgstr": "", "line": number}
            entries.append(entry)
            field = "msgid"
        elif match and entry is not None:
            entry["msgstr"] = unescaped(match.group(2))
            field = "msgstr"
        elif line.startswith('"') and entry is not None:
            entry[field] += unescaped(line[1:-1])
        elif line.startswith(("msgctxt", "msgid_plural", "msgstr[")):
            sys.exit(f"{path.name}:{number}: berth's catalogue has no contexts and no plurals")
    return [e for e in entries if e["msgid"]]


def placeholders(text):
    """How often each placeholder occurs, by name: {} and {:.0f} both have none."""
    text = text.replace("{{", "").replace("}}", "")
    return sorted(match.group(1) for match in re.finditer(r"\{([^{}:]*)(?::[^{}]*)?\}", text))


def fits(english, translated):
    """The translation uses the same arguments, in any order ({1} for the second where it must)."""
    wanted, got = placeholders(english), placeholders(translated)
    if wanted == got:
        return True
    by_number = [str(i) for i in range(len(wanted))]
    return all(name == "" for name in wanted) and got == by_number


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--update", action="store_true", help="append missing keys, untranslated")
    parser.add_argument("--keys", action="store_true", help="list every key and where it stands")
    parser.add_argument("--po", type=pathlib.Path, default=ROOT / "po" / "zh_CN.po")
    arguments = parser.parse_args()

    keys = source_keys()
    if arguments.keys:
        for key, where in keys.items():
            print(f"{where}: {escaped(key)}")
        return 0

    entries = read_po(arguments.po)
    known = {entry["msgid"] for entry in entries}
    missing = {key: where for key, where in keys.items() if key not in known}
    if arguments.update and missing:
        with arguments.po.open("a", encoding="utf-8") as po:
            for key, where in missing.items():
                po.write(f'\n#: {where}\nmsgid "{escaped(key)}"\nmsgstr ""\n')
        print(f"{len(missing)} keys appended to {arguments.po}; translate them")
        return 0

    name = arguments.po.name
    complaints = [f'{where}: no translation of "{escaped(key)}"' for key, where in missing.items()]
    seen = {}
    for entry in entries:
        place = f"{name}:{entry['line']}"
        shown = escaped(entry["msgid"])
        if entry["msgid"] in seen:
            complaints.append(f'{place}: a second time (first in line {seen[entry["msgid"]]}): "{shown}"')
        seen.setdefault(entry["msgid"], entry["line"])
        if entry["msgid"] not in keys:
            complaints.append(f'{place}: nothing says this any more: "{shown}"')
        if not entry["msgstr"]:
            complaints.append(f'{place}: empty translation of "{shown}"')
        elif not fits(entry["msgid"], entry["msgstr"]):
            complaints.append(f'{place}: other placeholders than in "{shown}"')
    for complaint in complaints:
        print(complaint)
    if complaints:
        print(f"{len(complaints)} complaints; `tools/check_po.py --update` appends what is missing")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
