"""Python environments with frameworks as pip brings them, below build/frameworks. torch-VERSION is a CUDA build of
PyTorch on which tests run without a card, jax a CUDA build of JAX; jupyter and jupyter-classic play nothing.

torch and NVIDIA's libraries come from PyPI as they are and stay in build/. In that environment alone,
libcudart.so.12, libcublas and libcublasLt are our stand-ins (tests/fakes/cudart): torch's own run path finds
them before all others. The real ones lie beside them, as NAME.real. doc/FAKES.md says what is played.

    frameworks.py [VERSION]    makes it; build/release has the stand-in
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import repository

ROOT = repository.ROOT
FOLDER = ROOT / "build" / "frameworks"
STAND_INS = ROOT / "build" / "release" / "fakes"
TESTS = ROOT / "tests"
BLAS = ROOT / "tests" / "fakes" / "cudart" / "blas.c"
TORCH = "2.6.0"  # of CUDA 12: the stand-in plays that runtime
# What trains with it; as they were when their tests were written.
ON_TORCH = ["lightning==2.6.6", "accelerate==1.15.0", "transformers==5.24.0", "keras==3.15.1"]
JUPYTER = ["jupyterlab==4.6.6", "notebook==7.6.5", "jupyter_server==2.21.1", "ipykernel"]
# As Debian 12 has them.
JUPYTER_CLASSIC = ["notebook==6.4.12", "jupyter_server==1.23.3", "jupyter_client==7.4.9", "ipykernel==6.17.0",
                   "nbconvert==6.5.3", "traitlets==5.5.0", "tornado==6.2", "pyzmq==24.0.1",
                   "lxml_html_clean"]  # fmt: skip
JAX = ["jax==0.10.2", "numpy"]
# Its CUDA part, without NVIDIA's libraries: of them it wants the runtime alone, and takes our stand-in.
JAX_ON_CUDA = ["jax-cuda12-plugin==0.10.2", "jax-cuda12-pjrt==0.10.2"]
RUNTIMES = ["12.4.127", "12.8.90"]  # whose names the stand-in has: tests/data/cudart-symbols


def packages(torch: str) -> list[str]:
    return [f"torch=={torch}", "numpy", *ON_TORCH]


class CannotBeHad(Exception):
    """An environment, and why not; what needs it is skipped."""


def run(command: list[str], what: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stdout + done.stderr)
    if done.returncode != 0:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        last = next((line for line in reversed(said) if "ERROR" in line), said[-1] if said else "no reason given")
        raise CannotBeHad(f"{what}: {last}")


def pip_install(prefix: Path, wanted: list[str]) -> None:
    pip = [str(prefix / "bin" / "python"), "-m", "pip", "install", "-q", "--no-cache-dir", "--no-compile"]
    run([*pip, *wanted], "pip did not bring what it needs")


def bring_runtimes(prefix: Path) -> None:
    """NVIDIA's own, to be read and compared with: never loaded by torch."""
    for version in RUNTIMES:
        folder = FOLDER / f"cudart-{version}"
        if folder.exists():
            continue
        with contextlib.suppress(CannotBeHad):  # its tests say so
            pip_install(prefix, ["--no-deps", "--target", str(folder), f"nvidia-cuda-runtime-cu12=={version}"])


def put_aside(place: Path) -> Path:
    """Where pip put a library of NVIDIA's, ours will be: the real one lies beside it then."""
    real = place.with_name(place.name + ".real")
    if not real.exists():
        place.rename(real)
    return real


@contextlib.contextmanager
def put_in_place(place: Path) -> Iterator[Path]:
    """Who has the old file mapped keeps it."""
    new = place.with_name(place.name + ".new")
    yield new
    new.replace(place)


def put_stand_ins(prefix: Path) -> None:
    """Anew each time: the runtime that was built, and the linear algebra with the names of the real one."""
    nvidia = next(prefix.glob("lib/python3*/site-packages/nvidia"))
    runtime = nvidia / "cuda_runtime" / "lib" / "libcudart.so.12"
    put_aside(runtime)
    with put_in_place(runtime) as new:
        shutil.copyfile(STAND_INS / "cudart" / runtime.name, new)
    for name in ("libcublas.so.12", "libcublasLt.so.12"):
        place = nvidia / "cublas" / "lib" / name
        names = names_of(put_aside(place))
        with put_in_place(place) as new:
            compile_blas(names, place.name, new)


def names_of(library: Path) -> list[str]:
    done = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    return [line.split()[2].partition("@")[0] for line in done.stdout.splitlines() if line.split()[1] == "T"]


def compile_blas(names: list[str], soname: str, place: Path) -> None:
    """tests/fakes/cudart/blas.c, and success for every other name."""
    with tempfile.TemporaryDirectory() as scratch:
        stubs, versions = Path(scratch, "stubs.c"), Path(scratch, "names.map")
        stubs.write_text(
            "".join(f"__attribute__((weak)) int {name}() {{ return 0; }}\n" for name in names), encoding="ascii"
        )
        versions.write_text(f"{soname} {{ global: {'; '.join(names)}; local: *; }};\n", encoding="ascii")
        command = ["gcc", "-shared", "-fPIC", "-O1", f"-Wl,-soname,{soname}", f"-Wl,--version-script={versions}"]
        subprocess.run([*command, "-o", str(place), str(stubs), str(BLAS)], check=True)


def environment(name: str, wanted: list[str], alone: list[str] | None = None) -> Path:
    """build/frameworks/NAME with these packages, and with others `alone`, without what they want; made once."""
    prefix = FOLDER / name
    made_with = prefix / "made_with.txt"
    everything = [*wanted, *(alone or [])]
    if not made_with.exists() or made_with.read_text(encoding="utf-8").split() != everything:
        print(f"making {prefix.relative_to(ROOT)}: {', '.join(everything)}", file=sys.stderr)
        run(["/usr/bin/python3", "-m", "venv", "--clear", str(prefix)], "python3 made no environment")
        pip_install(prefix, wanted)
        if alone:
            pip_install(prefix, ["--no-deps", *alone])
        made_with.write_text("\n".join(everything) + "\n", encoding="utf-8")
    return prefix


def make(torch: str = TORCH) -> Path:
    """The environment's folder; some GB to download."""
    prefix = environment(f"torch-{torch}", packages(torch))
    put_stand_ins(prefix)
    bring_runtimes(prefix)
    return prefix


class Part(NamedTuple):
    """What is tested together: in an environment that a variable names to its tests."""

    variable: str
    make: Callable[[], Path]
    tests: list[Path]


def parts() -> dict[str, Part]:
    frameworks, jupyter = sorted((TESTS / "frameworks").glob("test_*.py")), sorted((TESTS / "jupyter").glob("test_*.py"))
    alone = [TESTS / "frameworks/test_jax.py", TESTS / "jupyter/test_classic.py"]
    return {
        "torch": Part("BERTH_FRAMEWORKS", make, [file for file in frameworks if file not in alone]),
        "jax": Part("BERTH_JAX", lambda: environment("jax", JAX, JAX_ON_CUDA), alone[:1]),
        "jupyter": Part("BERTH_JUPYTER", lambda: environment("jupyter", JUPYTER), [file for file in jupyter if file not in alone]),
        "jupyter-classic": Part(
            "BERTH_JUPYTER_CLASSIC", lambda: environment("jupyter-classic", JUPYTER_CLASSIC), alone[1:]
        ),
    }


if __name__ == "__main__":
    os.umask(0o022)
    print(make(*sys.argv[1:2]))
