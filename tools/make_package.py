"""Makes a release of a build: a tarball, Debian's package, an SBOM and their sums, the same bytes each time.

    make_package.py BUILD FOLDER [HOST_BUILD]

BUILD is what was built for the machine of the package; HOST_BUILD has the program that runs here and
writes manual, completions and units (BUILD itself). FOLDER gets berth-VERSION-linux-MACHINE.tar.gz,
berth_VERSION_ARCHITECTURE.deb, berth-VERSION-ARCHITECTURE.spdx.json and their SHA256SUMS.
"""

import email.utils
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import check_binary
import make_sbom
import repository

DEPLOY = repository.ROOT / "deploy"
MAINTAINER = "The berth developers <berth@example.org>"
ARCHITECTURES = {"X86-64": ("amd64", "x86_64", ""), "AArch64": ("arm64", "aarch64", "aarch64-linux-gnu-")}
CONTROL = """Package: berth
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {kibibytes}
Depends: libc6 (>= {glibc})
Section: admin
Priority: optional
Description: see every GPU, put each job on the right one, keep the record
 For people who share GPU servers. It shows what every GPU does and for whom,
 gives each job a GPU of its own that nobody else is given, and records what the
 job was given and used. It serves browsers and Prometheus. It needs no server,
 no database, no root, and no GPU to try it: berth demo.
"""
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: berth

Files: *
Copyright: 2026 The berth developers
License: Apache-2.0
 On Debian systems the licence is in /usr/share/common-licenses/Apache-2.0.
Comment: Linked in are the libraries that /usr/share/doc/berth/berth.spdx.json
 lists, each with its version and licence.
"""


def printed(*words: object, **environment: str) -> str:
    settled = {key: value for key, value in os.environ.items() if not key.startswith("BERTH_")}
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=False,
        env=settled | {"LC_ALL": "C.UTF-8", **environment},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


class Release:
    """One build, and what is known of it."""

    def __init__(self, build: Path, host: Path) -> None:
        self.build, self.host = build, host / "berth"
        said = printed(self.host, "--version").split()[1]
        released = said.removesuffix("-dev")
        # Of a build on the way to it: before that release in Debian's order.
        self.version = released if said == released else f"{released}~dev"
        header = check_binary.readelf(build / "berth", "--file-header")
        machine = re.search(r"Machine:.*?(X86-64|AArch64)", header)
        if not machine:
            raise SystemExit(f"{build}/berth is for neither amd64 nor arm64")
        self.architecture, self.machine, self.tools = ARCHITECTURES[machine[1]]
        notes = (repository.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        dated = re.search(rf"^## \[{re.escape(released)}\] - (\d+)-(\d+)-(\d+)$", notes, re.MULTILINE)
        if not dated:
            raise SystemExit(f"CHANGELOG.md has no day for {released}")
        # The day of the release, not of the build.
        year, month, day = map(int, dated.groups())
        self.time = int(email.utils.mktime_tz((year, month, day, 0, 0, 0, 0, 1, 0, 0)))

    def binary_of(self, name: str) -> bytes:
        """Without symbols and what else no start needs."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "stripped"
            options = ["-R", ".comment", "-R", ".note"]
            options += ["--strip-debug"] if name.endswith(".a") else ["--strip-unneeded"]
            printed(f"{self.tools}strip", *options, "-o", out, self.build / name)
            return out.read_bytes()


def installed(release: Release, prefix: str, *components: str) -> dict[str, bytes]:
    """What `cmake --install` puts under the prefix. Other machines' programs write no manual: this one's does."""
    with tempfile.TemporaryDirectory() as folder:
        builds = dict.fromkeys([release.host.parent, release.build])
        for build in builds:
            for component in components:
                command = ["cmake", "--install", build, "--prefix", prefix, "--component", component]
                printed(*command, DESTDIR=folder)
        root = Path(folder) / prefix.lstrip("/")
        files = {str(path.relative_to(root)): path for path in root.rglob("*") if not path.is_dir()}
        found = {name: path.read_bytes() for name, path in sorted(files.items()) if not path.is_symlink()}
    found["bin/berth"] = release.binary_of("berth")
    for name in found:
        if name.endswith((".so.0", ".a")):
            found[name] = release.binary_of(Path(name).name)
    return found


def said_would_be(text: str) -> dict[str, str]:
    """What `--dry-run` says it would write: path → content."""
    parts = re.split(r"^\+ (\S+) would be:\n", text, flags=re.MULTILINE)[1:]
    return {path: re.sub(r"^[$=] .*\n", "", part, flags=re.MULTILINE) for path, part in zip(parts[::2], parts[1::2])}


def units(release: Release) -> dict[str, bytes]:
    """The service, and the ledger of all users, in the program's own words."""
    english = {"BERTH_LANG": "en"}
    [service] = said_would_be(printed(release.host, "service", "install", "--dry-run", **english)).values()
    service = re.sub(r'^ExecStart="[^"]*"', "ExecStart=/usr/bin/berth", service, flags=re.MULTILINE)
    # The package brings the manual.
    service = re.sub(r"^(Description=.*\n)", r"\1Documentation=man:berth(1)\n", service, count=1, flags=re.MULTILINE)
    setup = said_would_be(printed(release.host, "setup", "--dry-run", **english))
    [tmpfiles] = [text for path, text in setup.items() if path.endswith(".conf")]
    [mount] = [text for path, text in setup.items() if path.endswith(".mount")]
    return {
        "usr/lib/systemd/system/berth.service": service.encode(),
        "usr/lib/systemd/system/run-berth.mount": mount.encode(),
        "usr/lib/tmpfiles.d/berth.conf": tmpfiles.encode(),
    }


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=9, mtime=0)


def is_program(name: str) -> bool:
    return name.startswith(("bin/", "usr/bin/")) or name.endswith((".sh", "postinst", "prerm", "postrm"))


def tarball(release: Release, sbom: bytes) -> tuple[str, bytes]:
    folder = f"berth-{release.version}-linux-{release.machine}"
    files = installed(release, "/opt/berth", "program", "library")
    files |= {name: (repository.ROOT / name).read_bytes() for name in ("README.md", "CHANGELOG.md", "LICENSE")}
    files["install.sh"] = (DEPLOY / "install.sh").read_bytes()
    files["berth.spdx.json"] = sbom
    files["RELEASE"] = f"berth {release.version}\nmachine {release.machine}\nglibc 2.35\n".encode()
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    files["SHA256SUMS"] = sums.encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(files.items()):
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mtime = len(data), release.time
            member.mode = 0o755 if is_program(name) else 0o644
            archive.addfile(member, io.BytesIO(data))
    return f"{folder}.tar.gz", zipped(out.getvalue())


def debian_files(release: Release, sbom: bytes) -> dict[str, bytes]:
    files = {f"usr/{name}": data for name, data in installed(release, "/usr", "program").items()}
    moved = {"usr/share/zsh/site-functions/_berth": "usr/share/zsh/vendor-completions/_berth"}
    files = {moved.get(name, name): data for name, data in files.items() if not name.endswith("LICENSE")}
    files |= units(release)
    manual = "usr/share/man/man1/berth.1"
    files[f"{manual}.gz"] = zipped(files.pop(manual))
    about = "usr/share/doc/berth"
    files[f"{about}/copyright"] = COPYRIGHT.encode()
    files[f"{about}/berth.spdx.json"] = sbom
    day = email.utils.formatdate(release.time)
    entry = f"berth ({release.version}) unstable; urgency=medium\n\n  * Release; CHANGELOG.md has what is new.\n\n -- {MAINTAINER}  {day}\n"
    files[f"{about}/changelog.gz"] = zipped(entry.encode())
    files["usr/share/lintian/overrides/berth"] = (DEPLOY / "debian" / "lintian-overrides").read_bytes()
    return files


def debian_package(release: Release, sbom: bytes) -> tuple[str, bytes]:
    files = debian_files(release, sbom)
    sums = "".join(f"{hashlib.md5(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    control = CONTROL.format(
        version=release.version, architecture=release.architecture, maintainer=MAINTAINER,
        kibibytes=sum(-(-len(data) // 1024) for data in files.values()),
        glibc=".".join(map(str, check_binary.GLIBC_FLOOR)),
    )  # fmt: skip
    files |= {"DEBIAN/control": control.encode(), "DEBIAN/md5sums": sums.encode()}
    for script in ("postinst", "prerm", "postrm"):
        files[f"DEBIAN/{script}"] = (DEPLOY / "debian" / script).read_bytes()
    name = f"berth_{release.version}_{release.architecture}.deb"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        for path, data in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            file.chmod(0o755 if is_program(path) else 0o644)
        for path in [root, *root.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
            os.utime(path, (release.time, release.time))
        out = Path(folder) / name
        printed("dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, out,
                SOURCE_DATE_EPOCH=str(release.time))  # fmt: skip
        return name, out.read_bytes()


def make(build: Path, folder: Path, host: Path) -> list[Path]:
    release = Release(build, host)
    newer = check_binary.reason_to_allow_newer_glibc() is not None
    wrong = check_binary.findings(build / "berth", newer_glibc=newer, strip=f"{release.tools}strip")
    if wrong:
        raise SystemExit("\n".join(wrong))
    sbom = make_sbom.text(release.version, release.architecture, release.time, release.binary_of("berth"))
    files = dict([tarball(release, sbom), debian_package(release, sbom)])
    files[f"berth-{release.version}-{release.architecture}.spdx.json"] = sbom
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    for name, data in {**files, "SHA256SUMS": sums.encode()}.items():
        (folder / name).write_bytes(data)
    return sorted(folder.iterdir())


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        raise SystemExit(__doc__)
    built = Path(sys.argv[1]).resolve()
    for made in make(built, Path(sys.argv[2]), Path(sys.argv[-1]).resolve() if len(sys.argv) == 4 else built):
        print(made)
