"""The functions of the CUDA driver that the memory cap's shim stands in for, as a table: from the one list of them,
src/guard/shim/wrappers.h.

    list_wrappers.py    prints it; ./dev docs writes it into doc/CAPS.md
"""

import re
from pathlib import Path

import repository

LIST = Path("src/guard/shim/wrappers.h")
MARK = "<!-- made by ./dev docs: functions of the driver -->"
END = "<!-- end -->"
ROW = re.compile(r"X\((cu\w+), \(.*\), \"(.+)\"\)")


def rows(root: Path) -> list[tuple[str, str]]:
    """Each function, and what it charges."""
    wrapped = (root / LIST).read_text(encoding="utf-8").split("#define GUARD_CALLED")[0]
    return ROW.findall(wrapped)


def table(root: Path) -> str:
    """A row per charge; variants of a function (`_v2`, `_ptsz`) stand behind its name."""
    by_charge: dict[str, dict[str, list[str]]] = {}
    for name, charge in rows(root):
        base, variant = re.fullmatch(r"(\w+?)((?:_v\d)?(?:_ptsz)?)", name).groups()
        by_charge.setdefault(charge, {}).setdefault(base, []).append(variant)
    lines = ["| functions | charged |", "|---|---|"]
    for charge, functions in by_charge.items():
        cells = []
        for base, variants in functions.items():
            others = [f"`{variant}`" for variant in variants if variant]
            first = [] if "" in variants else [variants[0]]
            cells.append(" ".join([f"`{base}{''.join(first)}`", *others[len(first):]]))
        lines.append(f"| {', '.join(cells)} | {charge} |")
    return "\n".join([MARK, "", *lines, "", END, ""])


def page(root: Path, text: str) -> str:
    """The page with the table of today in its place."""
    place = re.compile(rf"^{re.escape(MARK)}\n.*?^{END}\n|^<!-- intercepted -->\n", re.M | re.S)
    if not place.search(text):
        raise SystemExit(f"doc/CAPS.md: it has no place for the table: {MARK}")
    return place.sub(lambda _: table(root), text, count=1)


if __name__ == "__main__":
    print(table(repository.ROOT), end="")
