"""Runs every libFuzzer program of a build folder for so many seconds, on copies of the corpora.

    fuzz.py BUILD SECONDS

What crashes a parser is kept under BUILD/findings and named; new inputs stay in BUILD/corpus.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import repository


def fuzz(build: Path, program: Path, seconds: int) -> str | None:
    name = program.name.removeprefix("fuzz_")
    grown = build / "corpus" / name
    findings = build / "findings"
    grown.mkdir(parents=True, exist_ok=True)
    findings.mkdir(exist_ok=True)
    seeds = repository.ROOT / "tests" / "data" / "fuzz" / name
    done = subprocess.run(
        [str(program), f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048"]
        + [f"-artifact_prefix={findings}/{name}-", "-print_final_stats=1", str(grown), str(seeds)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    executed = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line]
    print(f"{name}: {executed[0].split()[-1] if executed else 'no'} inputs", flush=True)
    return None if done.returncode == 0 else f"{name}:\n{done.stderr[-4000:]}"


def main(build: Path, seconds: int) -> int:
    programs = sorted(path for path in (build / "fuzz").glob("fuzz_*") if os.access(path, os.X_OK))
    programs = [path for path in programs if path.is_file()]
    if not programs:
        return repository.finish([f"{build}: there is no fuzz target in it"])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda program: fuzz(build, program, seconds), programs)
    return repository.finish([result for result in results if result])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), int(sys.argv[2])))
