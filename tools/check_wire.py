"""The page's types of the server's answers: web/src/model/wire.ts is what src/serve/openapi.json says.
That has the kinds of devices from src/snapshot/device.h. It has the options of a job from their rows in
src/place/: a new one as text or as a switch. What it says closer of one is kept.

    check_wire.py           tells where the one is not what the other says
    check_wire.py --write   writes both anew (./dev docs does)

What is not exact is refused: a schema that does not say what it is; an object that neither names
its members nor says that it has others; a member that may be missing without a word on when.
"""

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import repository

DOCUMENT = Path("src/serve/openapi.json")
TYPES = Path("web/src/model/wire.ts")
DEVICE = Path("src/snapshot/device.h")
STALE = f"{TYPES}: not what {DOCUMENT} says (./dev docs rewrites it)"
KEYS = (Path("src/place/request_keys.cc"), Path("src/place/job_keys.cc"))
OTHER_KINDS = f"{DOCUMENT}: DeviceKind: not what {DEVICE} says (./dev docs rewrites it)"
OTHER_OPTIONS = f"{DOCUMENT}: /api/v1/compose: not the options that {KEYS[0]} and {KEYS[1].name} have (./dev docs)"
JOB_KEY = re.compile(
    r'\{JobPart::\w+,\s*"(\w+)",\s*"[^"]*",\s*"([^"]*)",\s*as_key\(.*?,\s*(true|false),\s*(?:parse_\w+|\[)', re.S
)
OPTIONS = re.compile(r'(?<="/api/v1/compose": \{)(.*?"properties": \{\n)(.*?)( *"command":)', re.S)
KINDS = re.compile(r'"DeviceKind": \{.*?\}', re.S)
SWITCH = '["boolean", "null"]'
WIDEST = 100
HEAD = """\
// Made by ./dev docs from src/serve/openapi.json; do not edit. What the server says, as types: the
// JSON of /api/v1. An absent reading is null, and `why` beside it has the reason under its key.
"""
WORDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

Schema = dict[str, Any]


class Loose(Exception):
    """What a schema leaves open."""


def comment(schema: Schema, indent: str) -> str:
    """Its description above it, as a reader of the page's code wants it."""
    lead = f"{indent}/// "
    lines = textwrap.wrap(schema.get("description", ""), WIDEST - len(lead), break_long_words=False)
    return "".join(f"{lead}{line}\n" for line in lines)


def union(types: list[str], room: int, indent: str) -> str:
    """One of them, on one line where it fits: its own, or the next."""
    line = " | ".join(types)
    if len(types) == 1 or len(line) <= room:
        return line
    if len(indent) + len(line) + 3 <= WIDEST:
        return f"\n{indent}  {line}"
    return "".join(f"\n{indent}  | {one}" for one in types)


def after(head: str, kind: str) -> str:
    return f"{head}{kind}" if kind.startswith("\n") else f"{head} {kind}"


def is_union(schema: Schema) -> bool:
    return len(schema.get("oneOf") or schema.get("enum") or [schema.get("type")]) > 1 or isinstance(
        schema.get("type"), list
    )


def list_of(schema: Schema, where: str, indent: str) -> str:
    items = schema.get("items")
    if items is None:
        raise Loose(f"{where}: a list of what?")
    places = [type_of(one, f"{where}[]", WIDEST, indent) for one in schema.get("prefixItems", [])]
    if schema.get("minItems", 0) != len(places):
        raise Loose(f"{where}: minItems is not how many places are named")
    if items is False:
        return f"[{', '.join(places)}]"
    item = type_of(items, f"{where}[]", WIDEST, indent)
    rest = f"({item})[]" if is_union(items) else f"{item}[]"
    return f"[{', '.join([*places, f'...{rest}'])}]" if places else rest


def object_of(schema: Schema, where: str, indent: str) -> str:
    others = schema.get("additionalProperties")
    if "properties" not in schema:
        if not isinstance(others, dict):
            raise Loose(f"{where}: an object with which members?")
        return f"Record<string, {type_of(others, f'{where}.*', WIDEST, indent)}>"
    text = "{\n"
    required = schema.get("required", [])
    for unknown in set(required) - set(schema["properties"]):
        raise Loose(f"{where}: {unknown} is required and not described")
    for name, member in schema["properties"].items():
        own = f"{where}.{name}"
        if name not in required and "issing" not in member.get("description", ""):
            raise Loose(f"{own}: may be missing, and does not say when")
        head = f"{indent}  {name}{'' if name in required else '?'}:"
        kind = after(head, type_of(member, own, WIDEST - len(head) - 2, indent + "  "))
        text += f"{comment(member, indent + '  ')}{kind};\n"
    if others is True:
        text += f"{indent}  [other: string]: unknown;\n"
    return text + indent + "}"


def type_of(schema: Schema, where: str, room: int, indent: str) -> str:
    """Its type; `room`: how many columns its line has left for it."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return union([json.dumps(one) for one in schema["enum"]], room, indent)
    if "oneOf" in schema:
        return union([type_of(one, where, room, indent) for one in schema["oneOf"]], room, indent)
    told = schema.get("type")
    if told is None:
        raise Loose(f"{where}: says no type")
    types = []
    for one in told if isinstance(told, list) else [told]:
        if one == "array":
            types.append(list_of(schema, where, indent))
        elif one == "object":
            types.append(object_of(schema, where, indent))
        else:
            types.append(WORDS[one])
    return union(types, room, indent)


def types_of(document: Schema) -> str:
    text = HEAD
    for name, schema in document["components"]["schemas"].items():
        is_interface = schema.get("type") == "object" and "properties" in schema
        head = f"export interface {name}" if is_interface else f"export type {name} ="
        kind = after(head, type_of(schema, name, WIDEST - len(head) - 2, ""))
        text += f"\n{comment(schema, '')}{kind}{'' if is_interface else ';'}\n"
    return text


def kinds(root: Path) -> list[str]:
    """Of devices, as JSON calls them: a test holds their rows' names against it."""
    code = re.sub(r"//[^\n]*", "", (root / DEVICE).read_text(encoding="utf-8"))
    names = re.search(r"enum class DeviceKind \{(.*?)\}", code, re.S)
    if not names:
        raise Loose(f"{DEVICE} has no DeviceKind")
    return [name.replace("_", "-") for name in re.findall(r"\w+", names[1])]


def options(root: Path) -> dict[str, str]:
    """Those of a job that the API takes, each with its type as text."""
    code = "".join((root / path).read_text(encoding="utf-8") for path in KEYS)
    rows = JOB_KEY.findall(code)
    if len(rows) != code.count("{JobPart::"):
        raise Loose(f"{KEYS[0]} and {KEYS[1].name}: {len(rows)} rows are read, and they have others")
    words = {name: '["string", "null"]' if value else SWITCH for name, value, _ in rows}
    return {name: words[name] for name, _, is_for_all in rows if is_for_all == "true"}


def told_switches(document: Schema) -> dict[str, bool]:
    """The options that it tells of, and which it calls a switch."""
    body = document["paths"]["/api/v1/compose"]["post"]["requestBody"]
    members = body["content"]["application/json"]["schema"]["properties"]
    return {name: member.get("type") == json.loads(SWITCH) for name, member in members.items() if name != "command"}


def with_options(root: Path, text: str) -> str:
    wanted = options(root)

    def made(told: re.Match[str]) -> str:
        members = re.findall(r'^ +"\w+": \{.*?\},\n(?= +")', told[2] + ' "', re.M | re.S)
        by_name = {member.split('"', 2)[1]: member for member in members}
        by_name = {name: one for name, one in by_name.items() if (SWITCH in one) == (wanted.get(name) == SWITCH)}
        kept = [member for name, member in by_name.items() if name in wanted]
        added = [f'         "{name}": {{"type": {kind}}},\n' for name, kind in wanted.items() if name not in by_name]
        return told[1] + "".join(kept + added) + told[3]

    return OPTIONS.sub(made, text, count=1)


def with_kinds(root: Path) -> str:
    """The document, with the kinds of devices of today."""
    lines = textwrap.wrap(", ".join(f'"{one}"' for one in kinds(root)), WIDEST - 5, break_on_hyphens=False)
    made = '"DeviceKind": {\n    "enum": [\n     ' + "\n     ".join(lines) + "\n    ]\n   }"
    return KINDS.sub(lambda _: made, (root / DOCUMENT).read_text(encoding="utf-8"), count=1)


def wanted(root: Path) -> str:
    return types_of(json.loads((root / DOCUMENT).read_text(encoding="utf-8")))


def findings(root: Path) -> list[str]:
    try:
        document = json.loads((root / DOCUMENT).read_text(encoding="utf-8"))
        told = document["components"]["schemas"]["DeviceKind"]["enum"]
        found = [] if told == kinds(root) else [OTHER_KINDS]
        switches = {name: kind == SWITCH for name, kind in options(root).items()}
        found += [] if told_switches(document) == switches else [OTHER_OPTIONS]
        text = types_of(document)
    except Loose as what:
        return [f"{DOCUMENT}: {what}"]
    return found + ([STALE] if (root / TYPES).read_text(encoding="utf-8") != text else [])


def write(root: Path) -> None:
    (root / DOCUMENT).write_text(with_options(root, with_kinds(root)), encoding="utf-8")
    (root / TYPES).write_text(wanted(root), encoding="utf-8")


def main(arguments: list[str]) -> int:
    found = findings(repository.ROOT)
    if "--write" in arguments and set(found) <= {OTHER_KINDS, OTHER_OPTIONS, STALE}:
        write(repository.ROOT)
        found = findings(repository.ROOT)
    return repository.finish(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
