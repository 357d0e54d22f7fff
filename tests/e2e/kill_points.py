"""Runs a command and everything it starts under ptrace. Kills one of its processes at its N-th system call, before the
kernel performs that.

strace cannot do it. It counts for each process alone, so its N kills every process at its own N-th call. These tests
ask what the other processes do when one of them is gone.

A process is named by its place in the tree. () is the command, (1,) its second child, (1, 0) that child's first."""

import ctypes
import os
import pathlib
import signal
import subprocess

PTRACE_TRACEME, PTRACE_CONT, PTRACE_SYSCALL = 0, 7, 24
PTRACE_SETOPTIONS, PTRACE_GETEVENTMSG = 0x4200, 0x4201
SYSGOOD, FORK, VFORK, CLONE, EXEC, EXITKILL = 1, 2, 4, 8, 0x10, 0x100000
NEW_PROCESS_EVENTS = (1, 2, 3)  # fork, vfork, clone
EXEC_EVENT = 4
WALL = 0x40000000
PATIENCE = 30  # seconds for a run and the one after it
SYSCALL_STOP = signal.SIGTRAP | 0x80
ORPHAN = "of a killed parent"

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def reason_to_skip():
    """Containers and hardened kernels forbid ptrace."""
    child = os.fork()
    if child == 0:
        os._exit(0 if libc.ptrace(PTRACE_TRACEME, 0, None, None) == 0 else 1)
    _, status = os.waitpid(child, 0)
    return "" if status == 0 else "ptrace is not permitted here"


def status_of(pid):
    """/proc/PID/status by its keys; nothing where the process is gone."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def parent_of(pid):
    return int(status_of(pid).get("PPid", 0))


def traced():
    """The processes that are traced by this one."""
    pids = [one.name for one in pathlib.Path("/proc").glob("[0-9]*")]
    return [int(pid) for pid in pids if status_of(pid).get("TracerPid") == str(os.getpid())]


class Tree:
    """One run of the command in its home. Afterwards `calls` has each process's number of system calls. A process that the command
    forked counts up to its first exec: later calls are another program's."""

    def __init__(self, command, env, victim=None, at=0, on_killed=None):
        self.victim, self.at, self.on_killed = victim, at, on_killed
        self.calls = {(): 0}
        self.executed = set()
        self.was_killed = False
        self._others = []
        self._places, self._born, self._inside, self._fresh, self._early = {}, {}, {}, set(), {}
        self.command = subprocess.Popen(
            command, env=env, cwd=env["HOME"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=lambda: libc.ptrace(PTRACE_TRACEME, 0, None, None),
        )
        before = signal.signal(signal.SIGALRM, self._give_up)
        signal.alarm(PATIENCE)
        try:
            self._begin()
            while self._places or traced():
                try:
                    self._take(*os.waitpid(-1, WALL))
                except ChildProcessError:
                    # The kernel knows of none any more: all have gone. One's end may have been told before its parent
                    # told of its beginning.
                    if traced():
                        raise
                    self._places.clear()
                    break
            for other in self._others:
                other.wait()
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    def start_other(self, command, env):
        """A process beside the tree, which is not traced."""
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self._others.append(subprocess.Popen(command, env=env, cwd=env["HOME"], **streams))
        return self._others[-1]

    def _give_up(self, *_):
        left = {place: pid for pid, place in self._places.items()}
        for pid in [*left.values(), *(other.pid for other in self._others)]:
            os.kill(pid, signal.SIGKILL)
        where = f"{self.victim} killed at its system call {self.at}"
        raise AssertionError(f"{where}: after {PATIENCE} s these still run: {left}")

    def _begin(self):
        pid = self.command.pid
        os.waitpid(pid, WALL)  # stopped at its own exec
        options = SYSGOOD | FORK | VFORK | CLONE | EXEC | EXITKILL
        libc.ptrace(PTRACE_SETOPTIONS, pid, None, options)
        self._places[pid] = ()
        self._resume(pid)

    def _resume(self, pid, number=0):
        # Once the victim is gone, and after a child's exec, calls no longer matter.
        counted = not self.was_killed and self._places[pid] not in self.executed
        libc.ptrace(PTRACE_SYSCALL if counted else PTRACE_CONT, pid, None, number)

    def _take(self, pid, status):
        if not os.WIFSTOPPED(status):
            self._end(pid, status)
        elif pid not in self._places:
            self._early[pid] = parent_of(pid)  # heard of before its parent has told
            self._adopt_orphans()
        elif status >> 16:
            self._on_event(pid, status >> 16)
        elif os.WSTOPSIG(status) == SYSCALL_STOP:
            self._on_call(pid)
        elif pid in self._fresh:
            self._fresh.discard(pid)  # the SIGSTOP with which tracing begins
            self._resume(pid)
        else:
            self._resume(pid, os.WSTOPSIG(status))

    def _end(self, pid, status):
        for known in [self.command, *self._others]:
            if known.pid == pid:
                known.returncode = os.waitstatus_to_exitcode(status)
        place = self._places.pop(pid, None)
        self._early.pop(pid, None)
        if place == self.victim and self.was_killed and self.on_killed:
            self.on_killed(self)
        self._adopt_orphans()

    def _adopt_orphans(self):
        """A parent that is killed within its fork never tells of the child, which would stay stopped
        for ever. By then its parent is another: one that has told of all its own, or will."""
        for pid, parent in list(self._early.items()):
            if parent not in self._places or parent != parent_of(pid):
                del self._early[pid]
                self._places[pid] = (ORPHAN, pid)
                self.calls[self._places[pid]] = 0
                self._resume(pid)

    def _on_event(self, pid, event):
        place = self._places[pid]
        if event in NEW_PROCESS_EVENTS:
            message = ctypes.c_ulong()
            libc.ptrace(PTRACE_GETEVENTMSG, pid, None, ctypes.addressof(message))
            child = message.value
            number = self._born[pid] = self._born.get(pid, -1) + 1
            self._places[child] = (*place, number)
            foreign = place in self.executed
            if foreign:
                self.executed.add(self._places[child])
            else:
                self.calls[self._places[child]] = 0
            if child in self._early:
                del self._early[child]
                self._resume(child)
            else:
                self._fresh.add(child)
        elif event == EXEC_EVENT:
            self.executed.add(place)
        self._resume(pid)

    def _on_call(self, pid):
        place = self._places[pid]
        inside = self._inside[pid] = not self._inside.get(pid, False)
        if inside:
            self.calls[place] += 1
            if place == self.victim and self.calls[place] == self.at:
                self.was_killed = True
                os.kill(pid, signal.SIGKILL)
                return
        self._resume(pid)
