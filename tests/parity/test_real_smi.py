"""The real nvidia-smi, of Debian's non-free packages, and `berth smi`, by turns on one fake libnvidia-ml: it
checks what the fake tells and how berth prints it together, with neither written by the other's author."""

import os
import pathlib
import re
import subprocess
from difflib import SequenceMatcher

import pytest
import real_machines
from captures import BERTH, BUILD, ROOT

PEERS = ROOT / "build" / "peers"
# The fake library that exports what the driver of the branch does.
SYMBOLS = {"535": "real-535.261.03", "550": "real-550.163.01", "555": "real-555.58.02"}


def tool_of(branch):
    found = sorted((PEERS / f"nvidia-smi-{branch}").glob("usr/lib/nvidia/*/nvidia-smi"))
    return found[0] if found else None


def each_branch():
    for branch in SYMBOLS:
        why = f"no nvidia-smi of {branch} in build/peers: ./dev test unpacks Debian's, where apt reaches it"
        yield pytest.param(branch, marks=pytest.mark.skipif(tool_of(branch) is None, reason=why))


class Both:
    """One machine, as the real nvidia-smi of a branch and as berth show it."""

    def __init__(self, branch, directory, machine):
        self.branch, self.tool = branch, str(tool_of(branch))
        library = BUILD / "fakes" / "nvml" / SYMBOLS[branch] / "libnvidia-ml.so.1"
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(directory), "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "BERTH_LEDGER": str(directory / "ledger"), "BERTH_NVML": str(library),
            "LD_LIBRARY_PATH": str(library.parent),
            "BERTH_FAKE_NVML": str(directory / "machine.json"),
            "BERTH_FAKE_NVML_NOW_MS": str(real_machines.NOW_MS),
        }  # fmt: skip
        version = re.search(r"Interface -- v([\d.]+)", self.real("-h")[1])[1]
        self.play(real_machines.MACHINES[machine](version))

    def play(self, snapshot):
        pathlib.Path(self.env["BERTH_FAKE_NVML"]).write_text(real_machines.as_json(snapshot), encoding="utf-8")

    def real(self, *words):
        return self._ended(self._start(self.tool, *words))

    def _start(self, *command):
        return subprocess.Popen(
            command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )

    @staticmethod
    def _ended(process):
        out, _ = process.communicate(timeout=60)
        return process.returncode, out

    def ask(self, *words):
        """((exit code, text) of the real one, of berth)."""
        real, ours = self._start(self.tool, *words), self._start(BERTH, "smi", *words)
        return self._ended(real), self._ended(ours)
