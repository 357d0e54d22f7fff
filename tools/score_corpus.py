#!/usr/bin/python3
"""Scores `berth explain --log` on messages that real programs printed: tests/data/corpus.

    tools/score_corpus.py BERTH           prints the table, and what fell
    tools/score_corpus.py --write BERTH   also keeps the counts, where nothing fell

Of each case the cause was written down before any rule was tried. `right`: it is the first finding.
`vague`: it is another. `wrong`: it is none of them. `silent`: there is none. Of a healthy log only
silence is right. Rules are made by the open half; of the sealed one nothing but counts is seen.
"""

import collections
import datetime
import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import repository

CORPUS = Path("tests/data/corpus")
KEPT = CORPUS / "score.json"
HALVES = ("open", "sealed")
VERDICTS = ("right", "vague", "wrong", "silent")
HEALTHY = "healthy"
# Words for one cause: which library noticed it is a detail.
SAME = (
    {"cuda_out_of_memory", "cuda_out_of_memory_plain", "tensorflow_out_of_memory", "xla_out_of_memory"},
    {"kernel_out_of_memory", "host_out_of_memory"},
    {"illegal_address", "rocm_memory_fault"},
    {"no_cuda_gpus", "no_rocm_gpus", "no_xpu_devices"},
)
WANTED_RIGHT = {"open": 0.90, "sealed": 0.80}
MOST_WRONG = 0.02
MOST_APART = 0.10

Counts = dict[str, dict[str, collections.Counter]]


def cases(root: Path, half: str) -> list[dict]:
    return [json.loads(line) for line in (root / CORPUS / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()]


def is_cause(rule: str, wanted: list[str]) -> bool:
    return any(rule == one or any({rule, one} <= same for same in SAME) for one in wanted)


def verdict(berth: Path, case: dict) -> str:
    done = subprocess.run(
        [str(berth), "explain", "--log", "-", "--json"], input=case["log"].encode(), capture_output=True, check=False
    )
    rules = [one["rule"] for one in json.loads(done.stdout)["findings"] if one["rule"] != "last_lines"]
    if case["family"] == HEALTHY:
        return "wrong" if rules else "right"
    wanted = [case["expect"], *case["also"]]
    if not rules:
        return "silent"
    if is_cause(rules[0], wanted):
        return "right"
    return "vague" if any(is_cause(rule, wanted) for rule in rules) else "wrong"


def score(root: Path, berth: Path) -> Counts:
    counts: Counts = {}
    with ThreadPoolExecutor(4) as pool:
        for half in HALVES:
            all_of_it = cases(root, half)
            counts[half] = collections.defaultdict(collections.Counter)
            for case, said in zip(all_of_it, pool.map(lambda one: verdict(berth, one), all_of_it)):
                counts[half][case["family"]][said] += 1
    return counts


def total(families: dict[str, collections.Counter]) -> collections.Counter:
    """Of all failures; healthy logs apart."""
    return sum((count for family, count in families.items() if family != HEALTHY), collections.Counter())


def share(count: collections.Counter, word: str) -> float:
    return count[word] / max(1, sum(count.values()))


def table(counts: Counts, date: str) -> str:
    names = sorted({family for half in HALVES for family in counts[half]} - {HEALTHY})
    rows = [
        f"{date}, cases by what `explain --log` says first: right / vague / wrong / silent.",
        "",
        "| family | open half | sealed half |",
        "|---|---|---|",
    ]

    def cell(count: collections.Counter) -> str:
        return " / ".join(str(count[word]) for word in VERDICTS)

    rows += [f"| {name} | {cell(counts['open'][name])} | {cell(counts['sealed'][name])} |" for name in names]
    sums = {half: total(counts[half]) for half in HALVES}
    rows.append("| all | " + " | ".join(f"{cell(sums[half])}: {share(sums[half], 'right'):.1%} right" for half in HALVES) + " |")
    rows.append("| healthy logs: false alarms | " + " | ".join(
        f"{counts[half][HEALTHY]['wrong']} of {sum(counts[half][HEALTHY].values())}" for half in HALVES) + " |")
    return "\n".join(rows) + "\n"


def kept(root: Path) -> dict:
    return json.loads((root / KEPT).read_text(encoding="utf-8")) if (root / KEPT).is_file() else {}


def to_keep(counts: Counts) -> dict:
    return {half: {word: total(counts[half])[word] for word in VERDICTS} for half in HALVES}


def keep(root: Path, counts: Counts) -> None:
    """Where nothing fell, with the day on which they changed."""
    before, now = kept(root), to_keep(counts)
    if findings(root, counts) or {half: before.get(half) for half in HALVES} == now:
        return
    today = datetime.date.today().isoformat()
    (root / KEPT).write_text(json.dumps({"date": today, **now}, indent=1) + "\n", encoding="utf-8")


def corpus_findings(root: Path) -> list[str]:
    """What a case must have, and that each stands in the half that its hash says, once."""
    found, seen = [], set()
    for half in HALVES:
        for number, case in enumerate(cases(root, half), 1):
            place = f"{CORPUS}/{half}.jsonl:{number}"
            if set(case) != {"address", "split", "framework", "family", "expect", "also", "log"}:
                found.append(f"{place}: other members than a case has")
            elif HALVES[int(case["split"][:2], 16) % 2] != half:
                found.append(f"{place}: stands in the wrong half")
            elif case["address"] and hashlib.sha256(case["address"].encode()).hexdigest() != case["split"]:
                found.append(f"{place}: is not split by its address")
            elif case["log"] in seen:
                found.append(f"{place}: stands there twice")
            seen.add(case.get("log"))
    return found


def findings(root: Path, counts: Counts) -> list[str]:
    found = corpus_findings(root)
    right = {}
    for half in HALVES if kept(root) else ():
        before, now = kept(root)[half], to_keep(counts)[half]
        if now["right"] < before["right"]:
            found.append(f"corpus, {half} half: {now['right']} right, {before['right']} before")
        if now["wrong"] > before["wrong"]:
            found.append(f"corpus, {half} half: {now['wrong']} wrong, {before['wrong']} before")
    for half in HALVES:
        sums = total(counts[half])
        right[half] = share(sums, "right")
        if right[half] < WANTED_RIGHT[half]:
            found.append(f"corpus, {half} half: {right[half]:.1%} right, {WANTED_RIGHT[half]:.0%} are wanted")
        if share(sums, "wrong") > MOST_WRONG:
            found.append(f"corpus, {half} half: {share(sums, 'wrong'):.1%} wrong, at most {MOST_WRONG:.0%} are allowed")
        if counts[half][HEALTHY]["wrong"]:
            found.append(f"corpus, {half} half: {counts[half][HEALTHY]['wrong']} false alarms")
    if right["open"] - right["sealed"] > MOST_APART:
        found.append("corpus: the sealed half is more than 10 points behind the open one")
    return found


if __name__ == "__main__":
    tool = Path(sys.argv[-1]).resolve()
    scored = score(repository.ROOT, tool)
    print(table(scored, datetime.date.today().isoformat()))
    fell = findings(repository.ROOT, scored)
    if "--write" in sys.argv:
        keep(repository.ROOT, scored)
    sys.exit(repository.finish(fell))
