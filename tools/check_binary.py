"""Holds the release binary to what it promises: glibc 2.35, no other library, at most 13.25 MiB."""

import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

GLIBC_FLOOR = (2, 35)
GREATEST_SIZE = 53 << 18
# Ubuntu 24.04's OpenSSL, SQLite and C++ runtime, and its compiler's own hardening, take a tenth more .
GREATEST_SIZE_ELSEWHERE = 15 << 20
# The loader's name differs by processor: ld-linux-x86-64.so.2, ld-linux-aarch64.so.1.
LIBRARIES = re.compile(r"libc\.so\.6|libm\.so\.6|ld-linux[\w.-]*\.so\.\d+")


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def glibc_findings(symbols: str) -> list[str]:
    """`symbols`: what readelf --dyn-syms prints."""
    needs = re.findall(r"(\S+)@+GLIBC_([\d.]+)", symbols)
    return sorted(
        {
            f"{name} needs glibc {needed}, more than 2.35"
            for name, needed in needs
            if version(needed) > GLIBC_FLOOR
        }
    )


def runtime_findings(symbols: str) -> list[str]:
    names = re.findall(r"\sUND\s+(\S+)@+(?:GLIBCXX|CXXABI|GCC)_", symbols)
    return sorted({f"{name} comes from a C++ runtime that was to be linked in" for name in names})


def library_findings(dynamic: str) -> list[str]:
    """`dynamic`: what readelf --dynamic prints."""
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    return [f"it needs {name}" for name in needed if not LIBRARIES.fullmatch(name)]


def hardening_findings(dynamic: str, segments: str) -> list[str]:
    found = []
    if "BIND_NOW" not in dynamic and "NOW" not in dynamic:
        found.append("symbols are bound lazily (-z now is missing)")
    if "GNU_RELRO" not in segments:
        found.append("no GNU_RELRO segment (-z relro is missing)")
    stack = re.search(r"GNU_STACK\s+(?:\S+\s+){5}(R\w*)\s", segments.replace("\n", " "))
    if stack and "E" in stack[1]:
        found.append("its stack is executable")
    return found


def readelf(path: Path, *options: str) -> str:
    done = subprocess.run(
        ["readelf", "--wide", *options, str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout


def stripped_size(path: Path, strip: str = "strip") -> int:
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / "stripped"
        subprocess.run([strip, "-o", str(stripped), str(path)], check=True)
        return stripped.stat().st_size


def findings(path: Path, newer_glibc: bool = False, strip: str = "strip") -> list[str]:
    """`newer_glibc`: it was built on a newer system than the portable binary is. `strip`: of its processor."""
    dynamic = readelf(path, "--dynamic")
    symbols = readelf(path, "--dyn-syms")
    found = [] if newer_glibc else glibc_findings(symbols)
    found += runtime_findings(symbols)
    found += library_findings(dynamic)
    found += hardening_findings(dynamic, readelf(path, "--segments"))
    size = stripped_size(path, strip)
    greatest = GREATEST_SIZE_ELSEWHERE if newer_glibc else GREATEST_SIZE
    if size > greatest:
        found.append(f"{size} bytes stripped, at most {greatest}")
    return [f"{path}: {finding}" for finding in found]


def reason_to_allow_newer_glibc() -> str | None:
    """Where glibc is newer than Debian 12's, its headers redirect to symbols that are newer too."""
    name, found = platform.libc_ver(os.path.realpath(sys.executable))
    if name == "glibc" and version(found) > (2, 36):
        return f"built against glibc {found}; the portable binary is built on Debian 12"
    return None


if __name__ == "__main__":
    reason = reason_to_allow_newer_glibc()
    if reason:
        print(f"skipped its version of glibc: {reason}")
    problems = findings(Path(sys.argv[1]), newer_glibc=reason is not None)
    print("\n".join(problems) if problems else f"{stripped_size(Path(sys.argv[1]))} bytes stripped")
    sys.exit(1 if problems else 0)
