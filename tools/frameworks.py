"""A Python environment with a CUDA build of PyTorch on which tests run without a card: build/frameworks/torch-VERSION.

torch and NVIDIA's libraries come from PyPI as they are and stay in build/. In that environment alone,
libcudart.so.12 is our stand-in (tests/fakes/cudart): torch's own run path finds it before all others. The
real one lies beside it, as libcudart.so.12.real. doc/FAKES.md says what that plays.

    frameworks.py [VERSION]    makes it; build/release has the stand-in
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import repository

ROOT = repository.ROOT
FOLDER = ROOT / "build" / "frameworks"
STAND_INS = ROOT / "build" / "release" / "fakes"
TORCH = "2.6.0"  # of CUDA 12: the stand-in plays that runtime
RUNTIMES = ["12.4.127", "12.8.90"]  # whose names the stand-in has: tests/data/cudart-symbols


def packages(torch: str) -> list[str]:
    return [f"torch=={torch}", "numpy"]


def pip_install(prefix: Path, wanted: list[str]) -> None:
    pip = [str(prefix / "bin" / "python"), "-m", "pip", "install", "-q", "--no-cache-dir", "--no-compile"]
    subprocess.run([*pip, *wanted], check=True, stdout=sys.stderr)


def bring_runtimes(prefix: Path) -> None:
    """NVIDIA's own, to be read and compared with: never loaded by torch."""
    for version in RUNTIMES:
        folder = FOLDER / f"cudart-{version}"
        if not folder.exists():
            pip_install(prefix, ["--no-deps", "--target", str(folder), f"nvidia-cuda-runtime-cu12=={version}"])


def put_stand_in(prefix: Path) -> None:
    """Where pip put the runtime: the real one aside, ours in its place, anew each time."""
    place = next(prefix.glob("lib/python3*/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12"))
    real = place.with_name(place.name + ".real")
    if not real.exists():
        place.rename(real)
    shutil.copyfile(STAND_INS / "cudart" / place.name, place)


def make(torch: str = TORCH) -> Path:
    """The environment's folder. Made once; some GB to download."""
    prefix = FOLDER / f"torch-{torch}"
    wanted = packages(torch)
    made_with = prefix / "made_with.txt"
    if not made_with.exists() or made_with.read_text(encoding="utf-8").split() != wanted:
        print(f"making {prefix.relative_to(ROOT)}: {', '.join(wanted)} (some GB to download)", file=sys.stderr)
        subprocess.run(["/usr/bin/python3", "-m", "venv", str(prefix)], check=True)
        pip_install(prefix, wanted)
        made_with.write_text("\n".join(wanted) + "\n", encoding="utf-8")
    put_stand_in(prefix)
    bring_runtimes(prefix)
    return prefix


if __name__ == "__main__":
    os.umask(0o022)
    print(make(*sys.argv[1:2]))
