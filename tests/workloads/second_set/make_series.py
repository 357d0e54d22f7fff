#!/usr/bin/env python3
"""Writes the made series into FOLDER and, beside this file, their part of INDEX.md: make_series.py FOLDER.
The same source writes the same bytes."""

import argparse
import json
from pathlib import Path

import rules_device
import rules_idle
import rules_loading
from check_series import problems
from recordings import RECORDINGS
from render import lines
from vary import varied

HERE = Path(__file__).resolve().parent
RULES = {
    "nothing_running": rules_idle, "memory_held_idle": rules_idle, "computes_on_cpu": rules_idle,
    "loader_cpu_bound": rules_loading, "loader_too_few_workers": rules_loading, "loader_storage_bound": rules_loading,
    "serial_python": rules_loading, "host_device_copies": rules_loading, "small_kernels": rules_device,
    "memory_bound": rules_device, "throttled_power": rules_device, "throttled_heat": rules_device,
    "waiting_for_ranks": rules_device, "periodic_pauses": rules_device, "too_few_cpus": rules_loading,
    "shared_with_others": rules_device, "swapping": rules_idle,
}


def named(name, scene):
    """A series' name and its scene."""
    return name, varied(name, scene)


def scenes():
    """Every made series: its name and its scene."""
    for rule, module in RULES.items():
        for variant, scene in getattr(module, rule)():
            yield named(f"{rule}--{variant}", scene)
        for number, scene in enumerate(getattr(module, f"near_{rule}")(), 1):
            yield named(f"healthy--near_{rule}-{number}", scene)


def write(folder, name, scene):
    """One series; says what is wrong with it."""
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines(name, scene))
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return problems(text)


def index(folder, made):
    """INDEX.md: per series why its answer is right."""
    recorded = sorted(path.name.removesuffix(".jsonl.gz") for path in (HERE / "recorded").glob("*.jsonl.gz"))
    out = ["# Why each answer is right", "", "The answer is what stands before `--`.", "", "## Made", ""]
    out += [f"- `{name}`: {scene.why} ({scene.card.name}, {scene.by})." for name, scene in made]
    out += ["", "## Recorded", ""]
    out += [f"- `{name}`: {RECORDINGS[name].why}." for name in recorded]
    (folder / "INDEX.md").write_text("\n".join(out) + "\n", encoding="utf-8")


def main():
    """Writes all series and the index."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    made = list(scenes())
    wrong = [f"{name}: {problem}" for name, scene in made for problem in write(folder, name, scene)]
    index(folder, made)
    print(f"{len(made)} series", *wrong, sep="\n")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
