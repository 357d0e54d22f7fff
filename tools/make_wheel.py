"""Makes the Python wheel of a build: package, library and program in one file, for every Python from 3.8 on.

    make_wheel.py BUILD FOLDER     writes FOLDER/berth-VERSION-py3-none-manylinux_2_35_x86_64.whl, and prints its path

The library is loaded by ctypes, so no Python's own ABI counts; check_binary.py holds program and library to the
glibc that the name says.
"""

import base64
import hashlib
import json
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import repository

LIBRARY = "libberth.so.0"
METADATA = """Metadata-Version: 2.1
Name: berth
Version: {version}
Summary: See every GPU, claim one that nobody else is given, keep the record
License: Apache-2.0
Requires-Python: >=3.8
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{description}"""


def version_of(berth: Path) -> str:
    """As Python writes versions: 0.2.0-dev is 0.2.0.dev0."""
    printed = subprocess.run([str(berth), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"berth (\d+\.\d+\.\d+)(-dev)?", printed)
    if not found:
        raise SystemExit(f"{berth} --version printed {printed!r}")
    return found[1] + (".dev0" if found[2] else "")


def jupyter_members(build: Path, version: str) -> dict[str, tuple[bytes, int]]:
    """What lies in a Jupyter's prefix: the file that switches the server extension on, and the panel where it is built."""
    config = {"ServerApp": {"jpserver_extensions": {"berth.jupyter": True}}}
    found = {"etc/jupyter/jupyter_server_config.d/berth.json": (json.dumps(config).encode() + b"\n", 0o644)}
    panel = build / "page" / "dist" / "lab"
    for path in sorted(panel.rglob("*")) if (panel / "package.json").is_file() else []:
        data = path.read_bytes() if path.is_file() else None
        if path.name == "package.json":
            data = json.dumps({**json.loads(path.read_bytes()), "version": version}).encode() + b"\n"
        if data is not None:
            found[f"share/jupyter/labextensions/@berth/lab/{path.relative_to(panel)}"] = (data, 0o644)
    return found


def members(build: Path, version: str) -> dict[str, tuple[bytes, int]]:
    """Path in the wheel → content and mode."""
    package = repository.ROOT / "python" / "berth"
    found = {
        f"berth/{path.relative_to(package)}": (path.read_bytes(), 0o644)
        for path in sorted([*package.rglob("*.py"), package / "py.typed"])
    }
    found[f"berth/_lib/{LIBRARY}"] = ((build / LIBRARY).read_bytes(), 0o755)
    found["berth/_bin/berth"] = ((build / "berth").read_bytes(), 0o755)
    for name, member in jupyter_members(build, version).items():
        found[f"berth-{version}.data/data/{name}"] = member
    description = (repository.ROOT / "doc" / "LIBRARY.md").read_text(encoding="utf-8")
    tag = f"py3-none-manylinux_2_35_{platform.machine()}"
    about = f"berth-{version}.dist-info"
    for name, text in {
        "METADATA": METADATA.format(version=version, description=description),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: berth\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "[console_scripts]\nberth = berth.__main__:main\n",
        "LICENSE": (repository.ROOT / "LICENSE").read_text(encoding="utf-8"),
    }.items():
        found[f"{about}/{name}"] = (text.encode(), 0o644)
    return found


def make(build: Path, folder: Path) -> Path:
    version = version_of(build / "berth")
    content = members(build, version)
    record = f"berth-{version}.dist-info/RECORD"
    lines = []
    for name, (data, _) in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    content[record] = ("".join(lines + [f"{record},,\n"]).encode(), 0o644)
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"berth-{version}-py3-none-manylinux_2_35_{platform.machine()}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, mode) in content.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same build, the same wheel
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


if __name__ == "__main__":
    if not (Path(sys.argv[1]) / "page/dist/lab/package.json").is_file():
        print("without Jupyter's panel: the build had no npm", file=sys.stderr)
    print(make(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
