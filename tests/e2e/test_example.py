"""The PyTorch example as somebody would run it here, where there is no GPU: under --or-cpu."""

import json
import subprocess
import sys

import pytest

from conftest import ROOT

PYTHON = "/usr/bin/python3"


def has_torch():
    return subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


@pytest.mark.skipif(not has_torch(), reason="python3-torch is not installed")
def test_the_training_runs_unchanged_on_the_cpu_and_its_record_proves_it(machine_of):
    machine = machine_of(None)
    machine.env["BERTH_NVML"] = "/nonexistent/libnvidia-ml.so.1"
    done = machine.run("run", "--or-cpu", "--", PYTHON, ROOT / "examples/train.py", timeout=300)
    assert done.returncode == 0, done.stderr
    assert "cpu" in done.stdout, done.stdout
    assert "running on the CPU" in done.stderr, done.stderr

    shown = machine.run("show", "last", "--json")
    record = json.loads(shown.stdout)
    text = json.dumps(record)
    assert record["cpu_only"] is True or record.get("manifest", {}).get("cpu_only") is True, text
    # What proves that it kept off: no GPU device file was open in any sample.
    assert '"device_files_open": 0' in text, text
    # The framework was learned without importing it, and the job's own marks are there.
    assert '"torch"' in text, text
    shown = machine.run("show", "last")
    assert "loss" in shown.stdout, shown.stdout
