"""What the library's tests share: programs compiled against it, and a simulated server to run them on.

BERTH_BUILD is the build directory with libberth.so.0, libberth.a and the program beside them."""

import atexit
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("BERTH_BUILD", ROOT / "build/release")).resolve()
INCLUDE = ROOT / "include"


def is_roots_alone(folder):
    """As root the library runs no program that somebody else could change."""
    return all(one.stat().st_uid == 0 and not one.stat().st_mode & 0o022 for one in (folder, *folder.parents))


def made_for_root():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-library-tests-", dir="/var/lib"))
    atexit.register(shutil.rmtree, folder)
    return folder


def place_of_binaries():
    """Where the program and the libraries are: copied where the checkout is not root's, and root tests it."""
    if os.geteuid() != 0 or is_roots_alone(BUILD):
        return BUILD
    folder = made_for_root()
    for name in ("berth", "libberth.a", "libberth.so.0"):
        if (BUILD / name).exists():
            shutil.copy(BUILD / name, folder / name)
    (folder / "libberth.so").symlink_to("libberth.so.0")
    return folder


PLACE = place_of_binaries()
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def run(command, **kwargs):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, **kwargs)


def compiler(name):
    """Its path; the test is skipped, naming it, where it is not installed."""
    for found in (name, f"{name}-19"):
        if shutil.which(found):
            return found
    pytest.skip(f"{name} is not installed")


def compiled(output, source, *options, compiler="gcc"):
    """Compiles one file against the headers; fails with what the compiler said."""
    done = run([compiler, "-D_GNU_SOURCE", *STRICT, f"-I{INCLUDE}", "-o", output, source, *options])
    assert done.returncode == 0, f"{done.args}\n{done.stderr}"
    return output


def shared(folder=PLACE):
    """How a program is linked with the shared library of a folder."""
    return [f"-L{folder}", "-lberth", f"-Wl,-rpath,{folder}"]


class Server:
    """A simulated server of a test's own: nothing of this machine is seen or touched."""

    def __init__(self, directory, sim="server-8xh100"):
        self.directory = directory
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "XDG_STATE_HOME": str(directory / "state"),
            "BERTH_LEDGER": str(directory / "ledger"),
            "BERTH_HOMES": str(directory / "nobodys-home"),
            "BERTH_ETC": str(directory / "etc"),
            "BERTH_SERVE_SOCKET": str(directory / "serve.sock"),  # root's own `berth serve` is not asked
            "BERTH_SIM": sim,
        }

    def environment(self, changes):
        return {name: value for name, value in (self.env | changes).items() if value is not None}

    def run(self, *command, env=None, timeout=120, **kwargs):
        return run(command, env=self.environment(env or {}), timeout=timeout,
                   stdin=subprocess.DEVNULL, **kwargs)

    def start(self, *command, env=None, **kwargs):
        return subprocess.Popen([str(word) for word in command], env=self.environment(env or {}),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **kwargs)

    def helpers(self):
        """The pids of the helper processes of this server's programs: their environment has its ledger."""
        mine = f"BERTH_LEDGER={self.env['BERTH_LEDGER']}".encode()
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                if b"helper" in words[1:3] and mine in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
            except OSError:
                continue  # it has ended, or is somebody else's
        return found


@pytest.fixture
def server(tmp_path):
    return Server(tmp_path)


@pytest.fixture(scope="session")
def library():
    """The shared library that was built."""
    path = PLACE / "libberth.so.0"
    assert path.exists(), f"{path} is missing: ninja berth_shared"
    return path


@pytest.fixture(scope="session")
def trusted(tmp_path_factory):
    """A folder whose programs root runs, too: nobody else can write above it."""
    return made_for_root() if os.geteuid() == 0 else tmp_path_factory.mktemp("trusted")


@pytest.fixture(scope="session")
def installed(trusted):
    """Where everything was installed."""
    prefix = trusted / "prefix"
    done = run(["cmake", "--install", BUILD, "--prefix", prefix])
    assert done.returncode == 0, done.stdout + done.stderr
    return prefix


@pytest.fixture(scope="session")
def host(library, tmp_path_factory):
    """tests/library/host.c with the shared library."""
    return compiled(tmp_path_factory.mktemp("host") / "host", HERE / "host.c", "-std=c99", *shared())


def checked(done):
    """A host that did all it had to: a check of its own that fails ends it with a sentence."""
    assert done.returncode == 0 and not done.stderr, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
