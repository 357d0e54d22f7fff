"""Puts together what deploy/image/Containerfile is built from, in a folder of its own: the repository is too large.

    make_image.py BUILD FOLDER     BUILD: a release; FOLDER is made anew
"""

import shutil
import subprocess
import sys
from pathlib import Path

import make_wheel
import repository

IMAGE = repository.ROOT / "deploy" / "image"


def make(build: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(IMAGE, folder)
    subprocess.run(["strip", "--strip-unneeded", "-o", folder / "berth", build / "berth"], check=True)
    make_wheel.make(build, folder)
    shutil.copytree(repository.ROOT / "examples", folder / "examples")


if __name__ == "__main__":
    make(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
