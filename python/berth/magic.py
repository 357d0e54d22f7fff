"""In notebooks: `%load_ext berth`, then `%berth` and `%%berth_memory`."""

from __future__ import annotations

import re
import shlex

from ._context import program
from .errors import CudaStarted, Error
from .explanations import explain
from .leases import current_lease, lease
from .looks import look
from .memory import memory, memory_table
from .reading import gib
from .torch_backends import started_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

USAGE = """%berth                                  the devices and who is on them; this kernel's rows are marked
%berth lease [N] [--memory 10G] [--wait [2h]] [--or-cpu] [--only 0,2]
%berth release                          gives back what this kernel has
%berth explain [GPU|PID|RUN]            why it is slow: this kernel, watched for ten seconds
%berth memory                           this kernel's memory, others' beside it, what to try"""


def register(shell: Any) -> None:
    def berth(line: str) -> None:
        _run(shell, line)

    def berth_memory(line: str, cell: str) -> None:
        """Runs the cell, then says what it allocated at the peak and what it left."""
        _cell_memory(shell, line, cell)

    berth.__doc__ = f"Who is on the GPUs, and a lease for this kernel.\n\n{USAGE}"
    shell.register_magic_function(berth, "line", "berth")
    shell.register_magic_function(berth_memory, "cell", "berth_memory")


def _run(shell: Any, line: str) -> None:
    verb, *words = shlex.split(line) or ["status"]
    acts = {"status": _status, "lease": _lease, "release": _release, "explain": _explain, "memory": _memory}
    try:
        if verb not in acts:
            raise Error(f'%berth knows no "{verb}"', remedy=f"it knows\n{USAGE}")
        print(acts[verb](words))
    except CudaStarted as error:
        print(f"{error.args[0]}: restart the kernel, and call `%berth lease` first")
    except Error as error:
        print(error)


def _status(words: List[str]) -> str:
    import subprocess

    done = subprocess.run(
        [program(), "status", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    mine = {process.pid for process in look().processes if process.mine}
    return "\n".join(
        f"{line}  ◄ this kernel" if any(re.search(rf"^\s+\S+\s+{pid}\b", line) for pid in mine) else line
        for line in done.stdout.decode("utf-8", "replace").rstrip().splitlines()
    )


def _lease(words: List[str]) -> str:
    count, how = 1, {}  # type: int, Dict[str, Any]
    while words:
        word = words.pop(0)
        value: Optional[str] = words.pop(0) if words and not words[0].startswith("--") else None
        if word.isdigit():
            count = int(word)
            if value is not None:
                words.insert(0, value)
        elif word == "--wait":
            how["wait"] = value if value is not None else True
        elif word == "--or-cpu" and value is None:
            how["or_cpu"] = True
        elif word in ("--memory", "--only", "--prefer", "--need", "--name") and value is not None:
            how[word[2:]] = value
        else:
            raise Error(f'%berth lease does not understand "{word}"', remedy=f"it knows\n{USAGE}")
    taken = lease(count, **how)
    names = ", ".join(f"{device} ({device.name})" for device in taken.devices)
    return f"{names or 'the CPU'}: this kernel's until `%berth release` or its end"


def _release(words: List[str]) -> str:
    held = current_lease()
    if held is None:
        return "this kernel holds no lease"
    named = ", ".join(map(str, held.devices)) or "the CPU"
    held.release()
    return f"released: {named}"


def _explain(words: List[str]) -> str:
    return explain(words[0] if words else None).text


def _memory(words: List[str]) -> str:
    return memory_table()


def _cell_memory(shell: Any, line: str, cell: str) -> None:
    before = memory()
    started = started_backend()
    if before.peak.value is not None and started is not None:
        started[1].reset_peak_memory_stats()
    shell.run_cell(cell)
    after = memory()
    if after.peak.value is None:
        why = "torch has started on no device" if after.peak.why == "not sampled" else after.peak.why
        print(f"berth: this kernel's GPU memory is not known: {why}")
        return
    left = (after.allocated.value or 0) - (before.allocated.value or 0)
    sign = "-" if left < 0 else "+"
    kept = f"left behind {sign}{gib(abs(left))}, reserved {gib(after.reserved.value)}"
    print(f"berth: peak {gib(after.peak.value)}, {kept}")
