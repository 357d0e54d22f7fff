"""Runs all benchmarks of a build folder and saves what they measured.

    bench.py BUILD [NAME…]

Two kinds: bench/bench_*.cc (Google Benchmark), and bench/bench_*.py, which time whole commands and print
one JSON object per line: {"name", "unit", "value", "floor", "limit", "low", "high", "runs"} with null for
what does not apply. BUILD/results.json holds everything, BUILD/results.md the table for
doc/BENCHMARKS.md. A value above its limit is named, and the exit code is 1.
"""

import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import repository


def machine() -> dict[str, str]:
    cpu = next(
        (line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")),
        platform.machine(),
    )
    return {
        "cpu": cpu,
        "processors": str(os.cpu_count()),
        "kernel": platform.release(),
        "glibc": platform.libc_ver()[1],
        "date": datetime.date.today().isoformat(),
    }


def middle_half(values: list[float]) -> tuple[float, float, float]:
    """Median and the 25th and 75th percentile."""
    ordered = sorted(values)
    at = [ordered[round((len(ordered) - 1) * share)] for share in (0.5, 0.25, 0.75)]
    return at[0], at[1], at[2]


def google_benchmark(program: Path) -> list[dict]:
    done = subprocess.run(
        [str(program), "--benchmark_format=json", "--benchmark_repetitions=9"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    runs: dict[str, list[dict]] = {}
    for run in json.loads(done.stdout)["benchmarks"]:
        if run["run_type"] == "iteration":
            runs.setdefault(run["run_name"], []).append(run)
    results = []
    for name, repeated in runs.items():
        # A promise of processor time is held whatever else computes beside us. What is no time is a
        # counter "measured", and its unit the label.
        clock = "cpu_time" if repeated[0].get("of_cpu") else "real_time"
        value, low, high = middle_half([run.get("measured", run[clock]) for run in repeated])
        results.append({
            "name": name,
            "unit": repeated[0]["label"] if "measured" in repeated[0] else repeated[0]["time_unit"],
            "value": value,
            "low": low,
            "high": high,
            "floor": None,
            "limit": repeated[0].get("limit"),
            "runs": sum(run["iterations"] for run in repeated),
        })
    return results


def script(path: Path, build: Path) -> list[dict]:
    with tempfile.TemporaryDirectory() as installed:
        # A copy, as an installed program is. What a linker has just written lies in the page cache in small pieces.
        # Mapping those costs each start 0.25 ms more.
        berth = shutil.copy(build / "berth", installed)
        done = subprocess.run(
            [sys.executable, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "BERTH": berth, "BERTH_BUILD": str(build)},
        )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def is_over(result: dict) -> bool:
    limit = result.get("limit")
    return limit is not None and result["value"] - (result.get("floor") or 0) > limit


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def table(results: list[dict], where: dict[str, str]) -> str:
    lines = [
        f"{where['cpu']}, {where['processors']} processors, Linux {where['kernel']}, "
        f"glibc {where['glibc']}, {where['date']}.",
        "",
        "| what | measured | middle half | floor | above the floor | at most |",
        "|---|---|---|---|---|---|",
    ]
    for result in results:
        unit = result["unit"]
        floor = result.get("floor")
        above = result["value"] - floor if floor is not None else None
        lines.append(
            f"| {result['name']} | {number(result['value'])} {unit} "
            f"| {number(result.get('low'))}–{number(result.get('high'))} | {number(floor)} "
            f"| {number(above)} | {number(result.get('limit'))}{' (missed)' if is_over(result) else ''} |"
        )
    return "\n".join(lines) + "\n"


def main(build: Path, wanted: list[str]) -> int:
    results: list[dict] = []
    sources = sorted((repository.ROOT / "bench").glob("bench_*"))
    for source in sources:
        if wanted and source.stem.removeprefix("bench_") not in wanted:
            continue
        print(f"bench: {source.stem}", file=sys.stderr, flush=True)
        if source.suffix == ".cc":
            results += google_benchmark(build / "bench" / source.stem)
        elif source.suffix == ".py":
            results += script(source, build)
    if not results:
        return repository.finish(["bench: nothing was measured"])
    where = machine()
    text = json.dumps({"machine": where, "results": results}, indent=2, ensure_ascii=False)
    (build / "results.json").write_text(text + "\n", encoding="utf-8")
    (build / "results.md").write_text(table(results, where), encoding="utf-8")
    print(table(results, where), end="")
    return repository.finish([f"{r['name']}: above its limit" for r in results if is_over(r)])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
