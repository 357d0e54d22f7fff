"""The files of this repository, as the checks see them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Of a copy that is no git checkout: what git would ignore.
NOT_OURS = {"build", ".git", "__pycache__", ".pytest_cache", ".whl"}


def files(root: Path) -> list[Path]:
    """Every file that is tracked, or is new and not ignored. Sorted, relative to `root`."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0 and (root / ".git").exists():
        names = {Path(os.fsdecode(name)) for name in listing.stdout.split(b"\0") if name}
    else:
        names = set()
        for folder, subfolders, found in os.walk(root):
            subfolders[:] = [name for name in subfolders if name not in NOT_OURS]
            names.update((Path(folder) / name).relative_to(root) for name in found)
    return sorted(name for name in names if (root / name).is_file())


def sources(root: Path) -> list[Path]:
    """Our C and C++ files."""
    return [name for name in files(root) if name.suffix in {".cc", ".h", ".hpp", ".c"}]


def finish(findings: list[str]) -> int:
    """Prints what was found; the exit code of a check."""
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def root_from_arguments() -> Path:
    """A check's only argument: another folder to look at (its own tests use that)."""
    return Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
