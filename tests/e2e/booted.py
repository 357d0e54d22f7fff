"""A real systemd as the first process of a machine of its own, for what only systemd can show.

Its root is an overlay of this machine's; the overlay's changes lie in memory. Its processes,
mounts, network and cgroups are its own. When its first process is killed all of it is gone."""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

from conftest import BERTH, children, wait_until

SYSTEMD = "/usr/lib/systemd/systemd"
TOOLS = ("unshare", "nsenter", "setpriv", "systemctl", "journalctl", "curl")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TARGET = "berth-test.target"

# $1: an empty directory, $2: a machine's id, $3: berth, $4: the fake driver. Parts of /proc and
# /sys that are the whole machine's are read-only, as in containers: this systemd sets nothing
# there. Of this machine's own units only those are started that something asks for.
BOOT = f"""
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
cd "$1/root"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
[ ! -e proc/sysrq-trigger ] || mount --bind /dev/null proc/sysrq-trigger
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty kmsg; do
  [ -e "/dev/$name" ] || continue
  touch "dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/shm dev/pts
mount -t tmpfs tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs var/tmp
mount -t tmpfs -o mode=755 tmpfs home
mount -t tmpfs -o mode=755 tmpfs var/lib
mount -t tmpfs -o mode=700 tmpfs root
rm -rf etc/berth etc/systemd/system etc/systemd/user etc/systemd/*-generators
rm -rf usr/lib/systemd/system/*.wants usr/lib/systemd/user/*.wants usr/lib/systemd/*-generators
echo >etc/fstab
mkdir -p etc/berth etc/systemd/system etc/systemd/journald.conf.d var/log/journal home/anna
chown 54301:54301 home/anna
printf '[Journal]\\nStorage=volatile\\nReadKMsg=no\\n' >etc/systemd/journald.conf.d/berth-test.conf
printf '[Unit]\\nRequires=systemd-journald.service\\n' >etc/systemd/system/{TARGET}
echo anna:x:54301:54301::/home/anna:/bin/sh >>etc/passwd
echo anna:x:54301: >>etc/group
echo "$2" >etc/machine-id
cp "$3" usr/local/bin/berth
cp "$4" usr/local/lib/libfake-nvml.so
chmod 755 usr/local/bin/berth usr/local/lib/libfake-nvml.so
mkdir old
pivot_root . old
umount -l old
exec env -i container=berth-test PATH={PATH} {SYSTEMD} --system --unit={TARGET} --show-status=0
"""


def own_cgroup():
    """The directory of this process in the unified hierarchy; None: there is none."""
    for line in pathlib.Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, where, kind, *_ = line.split()
        if kind != "cgroup2":
            continue
        for entry in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            if entry.startswith("0::/"):
                return pathlib.Path(where + entry[3:].rstrip("/"))
    return None


def why_not():
    """Why no systemd can be started here; None: it is worth trying."""
    if os.geteuid() != 0:
        return "starting a systemd of one's own: only root can"
    if not os.access(SYSTEMD, os.X_OK):
        return f"{SYSTEMD} is not installed"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]
    if missing:
        return f"not installed: {' '.join(missing)}"
    if own_cgroup() is None:
        return "there is no unified hierarchy of cgroups here"
    return None


class DidNotBoot(Exception):
    """With what was said about it."""


class Booted:
    """That machine, with berth in /usr/local/bin and a user anna."""

    uid = 54301

    def __init__(self, library):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-booted-"))
        self.log = (self.directory / "log").open("w+", encoding="utf-8")
        (self.directory / "root").mkdir()
        self.cgroup = pathlib.Path(tempfile.mkdtemp(prefix="berth-test-", dir=own_cgroup()))
        self.cgroup.chmod(0o755)  # its users' processes look for themselves there
        self.first = None  # the pid here of the first process there
        self.unshare = None
        try:
            self._start(library)
        except BaseException:
            self.close()
            raise

    def _start(self, library):
        berth = pathlib.Path(BERTH).resolve()
        boot = ["sh", "-c", BOOT, "sh", self.directory / "root", uuid.uuid4().hex, berth, library]
        enter = f"echo $$ >{shlex.quote(str(self.cgroup / 'cgroup.procs'))} && exec \"$@\""
        self.unshare = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "sh", "-c", enter, "sh",
             "unshare", "-m", "-p", "-u", "-i", "-n", "-C", "--fork", "--kill-child", *boot],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        deadline = time.monotonic() + 60
        while not self._is_up():
            if self.unshare.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise DidNotBoot(f"no systemd of its own came up: {self.log.read()[-600:].strip()}")
            time.sleep(0.05)

    def _is_up(self):
        self.first = next(iter(children(self.unshare.pid)), None)
        try:
            is_systemd = os.readlink(f"/proc/{self.first}/exe").endswith("/systemd")
        except OSError:
            return False
        return is_systemd and self.run("systemctl", "is-active", TARGET).returncode == 0

    def command(self, *words, uid=0, env=None):
        """The command line that runs these words there, as this user."""
        home = "/root" if uid == 0 else "/home/anna"
        variables = {"PATH": PATH, "HOME": home, "LANG": "C.UTF-8"} | (env or {})
        become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        return ["nsenter", "-t", str(self.first), "-m", "-p", "-u", "-i", "-n", "-C", "-r", "-w",
                *become, "env", "-i", *(f"{k}={v}" for k, v in variables.items()), *map(str, words)]

    def run(self, *words, timeout=60, **how):
        return subprocess.run(self.command(*words, **how), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=timeout, check=False)

    def succeed(self, *words, **how):
        done = self.run(*words, **how)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def path(self, name):
        """A file there, as seen from here."""
        return pathlib.Path(f"/proc/{self.first}/root{name}")

    def close(self):
        if self.first is not None:
            try:
                os.kill(self.first, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.unshare is not None:
            if self.first is None:
                self.unshare.kill()
            self.unshare.wait(60)
        self.log.close()
        wait_until(self._remove_cgroups, "its cgroups are empty", 60)
        shutil.rmtree(self.directory)

    def _remove_cgroups(self):
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                return False
        return True
