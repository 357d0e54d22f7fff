"""What the workloads share: the simulated GPU, work for a CPU, and workers that are forked. They leave nothing behind
at their end."""

import ctypes
import mmap
import os
import random
import signal
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.environ.get("SIMULATED_GPU", os.path.join(HERE, "..", "..")))

from simulated_gpu import Gpu  # noqa: E402, F401


def begin(seconds):
    """The process ends by itself after `seconds`, and so do the children forked from it."""
    die = lambda *_: os._exit(0)  # noqa: E731
    signal.signal(signal.SIGTERM, die)
    signal.signal(signal.SIGALRM, die)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def with_parent(seconds=120):
    """In a forked child: ends when its parent does (PR_SET_PDEATHSIG), or after a while."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, seconds)


def burn(seconds):
    """Python's own work: what tokenising, parsing and augmenting in Python look like from outside."""
    end = time.perf_counter() + seconds
    words = {}
    while time.perf_counter() < end:
        for i in range(300):
            words[str(i % 97)] = words.get(str(i % 89), 0) + i
    return words


def burn_cpu(seconds):
    """A certain amount of CPU time, however long it takes to get it."""
    end = time.thread_time() + seconds
    x = 0
    while time.thread_time() < end:
        for i in range(300):
            x += i * i
    return x


def name(text):
    ctypes.CDLL(None).prctl(15, text.encode()[:15])


def workers(n, make, depth=2):
    """`n` forked workers; each puts a byte in its own pipe per batch that `make(number)` has made, `depth` batches ahead.
    Gives a function that waits for the next batch, the workers in turn, as PyTorch's loader does."""
    pipes = []
    for number in range(n):
        ready, done = os.pipe(), os.pipe()
        if os.fork() == 0:
            with_parent()
            name("pt_data_worker")
            random.seed(number)
            ahead = 0
            while True:
                make(number)
                os.write(ready[1], b"b")
                ahead += 1
                if ahead >= depth:
                    os.read(done[0], 1)
                    ahead -= 1
        pipes.append((ready[0], done[1]))
    turn = [0]

    def batch():
        out, back = pipes[turn[0] % n]
        turn[0] += 1
        os.read(out, 1)
        os.write(back, b"d")

    return batch


class Disk:
    """A file on a real disk, read past the cache (O_DIRECT, else with posix_fadvise DONTNEED)."""

    def __init__(self, folder, megabytes=192):
        self.path = os.path.join(folder, f"data-{os.getpid()}")
        self.size = megabytes << 20
        block = os.urandom(1 << 20)
        with open(self.path, "wb") as f:
            for _ in range(megabytes):
                f.write(block)
            f.flush()
            os.fsync(f.fileno())
        try:
            self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECT)
        except OSError:
            self.fd = os.open(self.path, os.O_RDONLY)
        os.unlink(self.path)

    def read(self, count, size=65536):
        buffer = mmap.mmap(-1, size)
        for _ in range(count):
            at = random.randrange(self.size // size) * size
            os.posix_fadvise(self.fd, at, size, os.POSIX_FADV_DONTNEED)
            os.preadv(self.fd, [buffer], at)
        buffer.close()

    def pages(self, count):
        """The same by page faults of a mapped file."""
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(self.fd, self.size, prot=mmap.PROT_READ) as m:
            m.madvise(mmap.MADV_RANDOM)
            return sum(m[random.randrange(self.size)] for _ in range(count))


class SlowDisk:
    """State D for a while, as a slow disk gives it. The caller of vfork(2) stands in it until its child has gone on.
    posix_spawn(3) is such a caller, and its child here must first open a FIFO. A process beside the job opens the other
    end after `seconds`."""

    def __init__(self, folder, seconds):
        self.path = os.path.join(folder, f"fifo-{os.getpid()}-{random.randrange(10**9)}")
        os.mkfifo(self.path)
        started = os.fork()
        if started == 0:  # its child is no descendant of the job any more
            os.setsid()
            if os.fork() == 0:
                self._open_late(seconds)
            os._exit(0)
        os.waitpid(started, 0)

    def _open_late(self, seconds):
        name("slow_disk")
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, 120)
        while True:
            time.sleep(seconds)
            try:
                fd = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except FileNotFoundError:
                os._exit(0)
            except OSError:
                continue  # nobody waits just now
            os.close(fd)

    def wait(self):
        try:
            pid = os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 3, self.path, os.O_RDONLY, 0)])
            os.waitpid(pid, 0)
        except OSError:
            time.sleep(0.01)


def thread(what, *args):
    t = threading.Thread(target=what, args=args, daemon=True)
    t.start()
    return t
