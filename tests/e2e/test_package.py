"""What a release is made of: the same bytes twice. It is installed with and without root, and removed under a live
run."""

import gzip
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile

import pytest
from conftest import BERTH, ROOT, wait_until
from test_two_users import VIEWER, words_as

BUILD = pathlib.Path(BERTH).resolve().parent
LONG = bool(os.environ.get("BERTH_LONG"))
ROOTS = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "berth-test-roots"

pytestmark = pytest.mark.skipif(
    not (BUILD / "share" / "berth.1").is_file() or not shutil.which("dpkg-deb"),
    reason="needs dpkg-deb and a release built with its manual: ./dev build",
)


def run(*words, ok=True, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    assert not ok or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    # How small xz makes it is nothing that is looked at.
    environment = os.environ if LONG else os.environ | {"DPKG_DEB_COMPRESSOR_LEVEL": "0"}
    run(sys.executable, ROOT / "tools/make_package.py", BUILD, folder / "package", env=environment)
    return folder / "package"


def one(folder, pattern):
    [found] = folder.glob(pattern)
    return found


@pytest.mark.skipif(not LONG, reason="compiles everything: ./dev test --long does it in another folder")
@pytest.mark.parametrize(("preset", "more"), [("release", ["pages"]), ("release-arm64", [])])
def test_a_release_is_the_same_bytes_from_another_folder(request, tmp_path, preset, more):
    package = request.getfixturevalue("made") if more else request.getfixturevalue("for_arm64")[0]
    copy = tmp_path / "another folder"
    (copy / "build/peers").mkdir(parents=True)
    if not more:  # its manual and completions are those of the other build, its libraries Debian's
        (copy / "build/peers/arm64").symlink_to(ROOT / "build/peers/arm64")
    listed = run("git", "-C", ROOT, "ls-files").stdout.splitlines()
    run("tar", "-C", ROOT, "-cf", tmp_path / "tree.tar", *listed)
    # Another user builds it elsewhere: nobody else may read that user's files, and the zone of time is another.
    how = {"umask": 0o077, "env": {**os.environ, "CCACHE_DISABLE": "1", "TZ": "Asia/Shanghai", "LC_ALL": "C.UTF-8"}}
    run("tar", "-C", copy, "--no-same-permissions", "-xf", tmp_path / "tree.tar", **how)
    run("cmake", "--preset", preset, cwd=copy, **how)
    built = copy / "build" / preset
    run("ninja", "-C", built, "berth", "berth_shared", "berth_static", *more, **how)
    pages = [] if more else [BUILD]
    run(sys.executable, copy / "tools/make_package.py", built, tmp_path / "again", *pages, cwd="/", **how)
    for path in package.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_a_release_tells_its_sums_and_no_folder_or_builder(made):
    sums = dict(reversed(line.split()) for line in (made / "SHA256SUMS").read_text().splitlines())
    for name, digest in sums.items():
        assert hashlib.sha256((made / name).read_bytes()).hexdigest() == digest
    assert len(sums) == 3
    for member in tarfile.open(one(made, "*.tar.gz")).getmembers():
        assert (member.uid, member.gid, member.uname) == (0, 0, "")
    packed = gzip.decompress(one(made, "*.tar.gz").read_bytes())
    assert str(ROOT).encode() not in packed, "the folder that it was built in"


def test_what_it_is_called_is_what_the_program_says_and_the_changelog_tells_of(made):
    version = run(BERTH, "--version").stdout.split()[1]
    assert run(BERTH, "version").stdout == f"berth {version}\n"
    newest = re.search(r"^## \[(\S+)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert newest == version.removesuffix("-dev")
    debian = version.replace("-dev", "~dev")
    assert {path.name for path in made.iterdir()} == {
        f"berth-{debian}-linux-x86_64.tar.gz", f"berth_{debian}_amd64.deb", f"berth-{debian}-amd64.spdx.json", "SHA256SUMS"}
    for page in ("README.md", "README.zh-CN.md"):
        told = (ROOT / page).read_text(encoding="utf-8")
        assert f"berth-{newest}-linux-x86_64.tar.gz" in told and f"berth_{newest}_amd64.deb" in told, page
    assert f'appVersion: "{newest}"' in (ROOT / "deploy/helm/berth/Chart.yaml").read_text()
    with tarfile.open(one(made, "*.tar.gz")) as archive:
        [notes] = [name for name in archive.getnames() if name.endswith("/CHANGELOG.md")]
        assert f"## [{newest}] - " in archive.extractfile(notes).read().decode()


@pytest.fixture
def unpacked(made, tmp_path):
    tarfile.open(one(made, "*.tar.gz")).extractall(tmp_path)
    return one(tmp_path, "berth-*-linux-*")


def test_a_user_installs_it_without_root_and_removes_it(unpacked, tmp_path, machine):
    prefix = tmp_path / "a prefix"
    environment = {**os.environ, "PREFIX": str(prefix)}
    told = run(unpacked / "install.sh", env=environment).stdout
    assert "installed berth " in told and f'export PATH="{prefix}/bin:$PATH"' in told
    machine.env["PATH"] = f"{prefix}/bin:{machine.env.get('PATH', os.environ['PATH'])}"
    assert (prefix / "share/man/man1/berth.1").is_file()
    assert (prefix / "share/bash-completion/completions/berth").is_file()
    # Under a run that goes on: installed anew, and removed.
    begun = tmp_path / "begun"
    end = tmp_path / "end"
    script = f"touch {begun}; while [ ! -e {end} ]; do sleep 0.1; done; exit 7"
    job = subprocess.Popen([prefix / "bin/berth", "run", "--sim", "lab-4", "--", "sh", "-c", script], env=machine.env,
                           stderr=subprocess.PIPE, text=True)  # fmt: skip
    try:
        wait_until(begun.exists, "the job has begun", 60)
        run(unpacked / "install.sh", env=environment)
        run(unpacked / "install.sh", "--uninstall", env=environment)
        assert not list(prefix.rglob("*")), "nothing is left"
        assert job.poll() is None
    finally:
        end.touch()
        assert job.wait(60) == 7, job.stderr.read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
def test_another_user_has_it_in_his_own_folder(made):
    """A user who names no PREFIX, from somebody else's folder."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-installs-"))
    try:
        folder.chmod(0o755)
        with tarfile.open(one(made, "*.tar.gz")) as archive:
            archive.extractall(folder)
        home = folder / "home of nobody"
        home.mkdir()
        os.chown(home, VIEWER, VIEWER)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        install = [*words_as(VIEWER), one(folder, "berth-*-linux-*") / "install.sh"]
        told = run(*install, env=environment, cwd="/").stdout
        berth = home / ".local/bin/berth"
        assert f"into {home}/.local\n" in told and berth.stat().st_uid == VIEWER, told
        assert run(*words_as(VIEWER), berth, "version", env=environment).stdout == run(BERTH, "version").stdout
        run(*install, "--uninstall", env=environment, cwd="/")
        assert not [path for path in home.rglob("*") if path.is_file()], "nothing is left"
    finally:
        shutil.rmtree(folder)


def test_what_was_spoiled_on_the_way_is_not_installed(unpacked, tmp_path):
    with (unpacked / "bin/berth").open("ab") as program:
        program.write(b"x")
    done = run(unpacked / "install.sh", env={**os.environ, "PREFIX": str(tmp_path / "p")}, ok=False)
    assert done.returncode == 1 and "unpack the archive again" in done.stderr
    assert not (tmp_path / "p").exists()
    relative = run(unpacked / "install.sh", env={**os.environ, "PREFIX": "p"}, ok=False)
    assert relative.returncode == 2 and "absolute" in relative.stderr


def test_what_debians_package_brings(made, tmp_path):
    deb = one(made, "*.deb")
    fields = run("dpkg-deb", "-f", deb).stdout
    assert "Package: berth\n" in fields and "Depends: libc6 (>= 2.35)\n" in fields
    run("dpkg-deb", "-x", deb, tmp_path)
    there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    for name in ("usr/bin/berth", "usr/share/man/man1/berth.1.gz", "usr/share/zsh/vendor-completions/_berth",
                 "usr/share/bash-completion/completions/berth", "usr/share/fish/vendor_completions.d/berth.fish",
                 "usr/share/doc/berth/copyright", "usr/share/doc/berth/berth.spdx.json"):  # fmt: skip
        assert name in there, sorted(there)
    unit = (tmp_path / "usr/lib/systemd/system/berth.service").read_text()
    assert "\nExecStart=/usr/bin/berth serve\n" in unit and unit.rstrip().endswith("WantedBy=multi-user.target")
    assert "d /run/berth 1777 root root" in (tmp_path / "usr/lib/tmpfiles.d/berth.conf").read_text()
    assert "Where=/run/berth\n" in (tmp_path / "usr/lib/systemd/system/run-berth.mount").read_text()
    assert run(tmp_path / "usr/bin/berth", "--version").stdout == run(BERTH, "--version").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="dpkg is root's")
def test_dpkg_removes_it_under_a_run_that_goes_on(made, tmp_path, machine):
    root = tmp_path / "root"
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "run/berth"):
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg = ["dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends", f"--log={tmp_path}/log"]
    run(*dpkg, "--install", one(made, "*.deb"))
    machine.env["BERTH_LEDGER"] = str(root / "run/berth")
    begun, end = tmp_path / "begun", tmp_path / "end"
    script = f"touch {begun}; while [ ! -e {end} ]; do sleep 0.1; done; exit 7"
    job = subprocess.Popen([root / "usr/bin/berth", "run", "--name", "goes-on", "--", "sh", "-c", script],
                           env=machine.env, stderr=subprocess.PIPE, text=True)  # fmt: skip
    try:
        wait_until(begun.exists, "the job has begun", 60)
        held = machine.run("leases", "--json").stdout
        run(*dpkg, "--remove", "berth")
        assert not (root / "usr/bin/berth").exists() and job.poll() is None
        kept = json.loads(machine.run("leases", "--json").stdout)
        assert kept["leases"] and kept["leases"] == json.loads(held)["leases"], "its lease is kept"
    finally:
        end.touch()
        code = job.wait(60)
    assert code == 7, job.stderr.read()
    assert "ended with 7" in machine.run("runs").stdout, "the record is whole"


@pytest.mark.skipif(not shutil.which("lintian"), reason="needs lintian")
def test_lintian_finds_nothing(made):
    done = run("lintian", "--fail-on", "warning", "--display-info", "--allow-root", one(made, "*.deb"), ok=False)
    findings = [line for line in done.stdout.splitlines() if re.match(r"[EWI]: ", line)]
    assert not findings, done.stdout + done.stderr


def test_the_bill_of_materials_names_each_library_that_is_linked_in(made):
    document = json.loads(one(made, "*.spdx.json").read_text())
    assert document["spdxVersion"] == "SPDX-2.3" and document["documentNamespace"].startswith("https://")
    names = {package["name"]: package for package in document["packages"]}
    assert all(package["versionInfo"] and package["licenseConcluded"] for package in names.values())
    described = {end["relatedSpdxElement"] for end in document["relationships"]}
    assert described == {package["SPDXID"] for package in names.values()}
    with tarfile.open(one(made, "*.tar.gz")) as archive:
        [program] = [name for name in archive.getnames() if name.endswith("/bin/berth")]
        digest = hashlib.sha256(archive.extractfile(program).read()).hexdigest()
    assert names["berth"]["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest}]
    # Archives on the program's link line that are not ours.
    ninja = (BUILD / "build.ninja").read_text()
    [line] = re.findall(r"^build berth: .*?LINK_LIBRARIES = ([^\n]*)$", ninja, re.M | re.S)[:1]
    linked = {pathlib.Path(word).name for word in line.split() if re.match(r"/usr/\S+\.a$", word)}
    known = {"libsqlite3.a": "sqlite3", "libz.a": "zlib", "libssl.a": "openssl", "libcrypto.a": "openssl", "libyaml.a": "libyaml"}
    assert linked and {known[name] for name in linked} <= set(names)


@pytest.fixture(scope="module")
def for_arm64(tmp_path_factory):
    """What `./dev package arm64` built, packed, and unpacked."""
    built = ROOT / "build/release-arm64"
    emulator, libraries = shutil.which("qemu-aarch64-static"), pathlib.Path("/usr/aarch64-linux-gnu")
    if not (built / "berth").is_file() or not emulator or not libraries.is_dir():
        pytest.skip("needs ./dev package arm64 and qemu-user-static")
    folder = tmp_path_factory.mktemp("arm64")
    run(sys.executable, ROOT / "tools/make_package.py", built, folder / "package", BUILD)
    run("dpkg-deb", "-x", one(folder / "package", "*.deb"), folder / "root")
    return folder / "package", [emulator, "-L", libraries, folder / "root/usr/bin/berth"]


def test_the_release_for_arm64_is_one_and_runs_there(for_arm64, machine):
    package, berth = for_arm64
    assert "Architecture: arm64\n" in run("dpkg-deb", "-f", one(package, "*.deb")).stdout
    [name] = [path.name for path in package.glob("*.tar.gz")]
    assert name.endswith("-linux-aarch64.tar.gz")
    parts = json.loads(one(package, "*.spdx.json").read_text())["packages"]
    assert {part["externalRefs"][0]["referenceLocator"].rpartition("arch=")[2] for part in parts
            if part["name"] in ("berth", "sqlite3", "openssl")} == {"arm64"}  # fmt: skip
    assert run(*berth, "version").stdout == run(BERTH, "version").stdout
    told = run(*berth, "status", "--sim", "lab-4", env=machine.env, ok=False)
    assert told.returncode == 0 and "SIMULATED lab-4" in told.stdout, told.stderr


# --- a fresh system ---------------------------------------------------------------------------------------------

DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SYSTEMS = {"debian-12": ("bookworm", DEBIAN_KEYS, "Debian"), "debian-13": ("trixie", DEBIAN_KEYS, "Debian"),
           "ubuntu-24.04": ("noble", "/usr/share/keyrings/ubuntu-archive-keyring.gpg", "Ubuntu")}  # fmt: skip


def mirror_of(label):
    listed = run("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", ok=False).stdout
    found = [line.split()[1] for line in listed.splitlines() if line.startswith(f"{label} ")]
    return found[0] if found else None


@pytest.fixture(params=SYSTEMS)
def fresh(request, tmp_path):
    """A root as an installer leaves it, made once and copied."""
    release, key, label = SYSTEMS[request.param]
    if not LONG:
        pytest.skip(f"{request.param}: ./dev test --long installs it in a fresh root")
    mirror = mirror_of(label)
    if os.geteuid() != 0 or not shutil.which("mmdebstrap") or not pathlib.Path(key).is_file() or not mirror:
        pytest.skip(f"{request.param}: needs root, mmdebstrap, {key} and a mirror of {label}")
    archive = ROOTS / f"{request.param}.tar"
    if not archive.is_file():
        ROOTS.mkdir(parents=True, exist_ok=True)
        new = archive.with_suffix(".new.tar")
        run("mmdebstrap", "--variant=minbase", f"--keyring={key}", "--include=procps", release, new, mirror)
        new.rename(archive)
    root = tmp_path / "root"
    root.mkdir()
    run("tar", "-C", root, "-xf", archive, "--exclude=./dev/*")
    return root


def inside(root, script, **options):
    """In that root, with /proc and /dev of its own namespace."""
    prepared = f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && exec chroot {root} sh -c {shlex.quote(script)}"
    return run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", prepared,
               env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"}, **options)  # fmt: skip


def test_a_fresh_system_installs_it_shows_the_demo_and_removes_it_under_a_run(fresh, made):
    shutil.copy(one(made, "*.deb"), fresh / "root/berth.deb")
    script = """set -e
dpkg -i /root/berth.deb >&2
berth demo --sim lab-4
berth status --sim server-8xh100
berth run -q --sim lab-4 -- sh -c "touch /root/begun; while [ ! -e /root/end ]; do sleep 0.1; done; exit 7" &
job=$!
for _ in $(seq 600); do [ -e /root/begun ] && break; sleep 0.1; done
dpkg -r berth >&2
[ ! -e /usr/bin/berth ] && kill -0 $job && touch /root/end
code=0; wait $job || code=$?
echo "ended with $code"
"""
    done = inside(fresh, script)
    assert "That was a simulation." in done.stdout and "SIMULATED server-8xh100  5 of 8 free" in done.stdout
    assert done.stdout.rstrip().endswith("ended with 7"), done.stdout + done.stderr
