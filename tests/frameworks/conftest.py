"""Real frameworks on stand-ins: a CUDA build of PyTorch, unmodified, where there is no card; and JAX.

./dev test --frameworks makes the environments (tools/frameworks.py) and names them in BERTH_FRAMEWORKS and
BERTH_JAX; else all here is skipped. Memory, devices and errors are as torch's own code has them. Kernels compute
nothing: no test asks for a result."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


def load_e2e():
    """The end-to-end tests' conftest, under a name of its own: two cannot be called conftest."""
    place = HERE.parent / "e2e" / "conftest.py"
    spec = importlib.util.spec_from_file_location("e2e_conftest", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["e2e_conftest"] = module
    spec.loader.exec_module(module)
    return module


E2E = load_e2e()
ENVIRONMENT = os.environ.get("BERTH_FRAMEWORKS", "")
JAX = os.environ.get("BERTH_JAX", "")
FAKES = E2E.BUILD / "fakes"
PATIENCE = 900  # a machine that compiles beside imports PyTorch in half a minute

# What every program here may use: what the driver says without being woken.
PRELUDE = """
import ctypes, json, os, sys, warnings
warnings.simplefilter("ignore")

def cuda():
    "None: no libcuda.so.1 is loaded. 'not begun', or how many devices it began with."
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None
    count = ctypes.c_int()
    code = driver.cuDeviceGetCount(ctypes.byref(count))
    return {0: count.value, 3: "not begun"}.get(code, f"error {code}")

def tell(**what):
    print(json.dumps(what))
"""


def pytest_collection_modifyitems(items):
    for item in items:
        is_jax = item.path.name == "test_jax.py"
        if not (JAX if is_jax else ENVIRONMENT):
            wanted = "JAX" if is_jax else "a CUDA build of PyTorch"
            item.add_marker(pytest.mark.skip(reason=f"needs {wanted}: ./dev test --frameworks"))


def played_cards(count, memory_gib, model=None):
    """A machine with `count` equal cards that nobody uses, as a snapshot."""
    snapshot = E2E.scenario("server-8xh100")
    card = model or snapshot["devices"][7]
    snapshot["devices"] = []
    for index in range(count):
        uuid = f"GPU-{index:08x}-0000-4000-8000-000000000000"
        snapshot["devices"].append(
            card | {
                "index": index, "id": uuid, "uuid": uuid, "minor_number": index,
                "pci_address": f"00000000:{index + 1:02x}:00.0",
                "memory_total_bytes": memory_gib << 30, "memory_free_bytes": memory_gib << 30,
                "memory_used_bytes": 0,
            }
        )  # fmt: skip
    for others in ("gpu_processes", "processes", "leases", "queue", "moves", "problems"):
        snapshot.pop(others, None)
    return snapshot


def cuda_cards(snapshot):
    """The same cards as the fake libcuda.so.1 is told of them."""
    return ";".join(
        f"{one['uuid'][4:].replace('-', '')}={one['name']}={one['memory_total_bytes']}"
        f"={one['pci_address'][4:]}={one['compute_capability']}"
        for one in snapshot["devices"]
    )


class Bed(E2E.FakeDriver):
    """A machine whose NVML and CUDA are played, with the environment's python."""

    python = pathlib.Path(ENVIRONMENT) / "bin/python"

    def __init__(self, directory, snapshot):
        super().__init__(directory, snapshot)
        self.cards = snapshot["devices"]
        self.env |= {
            "BERTH_CUDA": str(FAKES / "cuda/libcuda.so.1"),
            "BERTH_FAKE_CUDA": cuda_cards(snapshot),
            "LD_LIBRARY_PATH": f"{FAKES / 'cuda'}:{FAKES / 'nvml/all'}",
            "PATH": "/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def with_berth(self):
        """Programs can import berth: this checkout's, on the library that was built."""
        self.env |= {
            "PYTHONPATH": str(E2E.ROOT / "python"),
            "BERTH_LIBRARY": os.environ.get("BERTH_LIBRARY") or str(E2E.BUILD / "libberth.so.0"),
            "BERTH_HELPER": E2E.BERTH,
        }
        return self

    def without_nvml(self):
        self.env["LD_LIBRARY_PATH"] = str(FAKES / "cuda")
        return self

    def run_python(self, code, *arguments, timeout=PATIENCE, **env):
        """(exit code, what it told, all that it wrote) of a program."""
        script = self.directory / "program.py"
        script.write_text(PRELUDE + code, encoding="utf-8")
        done = subprocess.run(
            [self.python, script, *map(str, arguments)], env=self.environment(env), cwd=self.directory,
            timeout=timeout, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
        return done.returncode, told, done.stdout + done.stderr

    def told_by(self, code, *arguments, **how):
        """What a program told that ended well, one dictionary."""
        ended, told, output = self.run_python(code, *arguments, **how)
        assert ended == 0 and told, output
        return {name: value for one in told for name, value in one.items()}


@pytest.fixture
def bed(tmp_path):
    """bed(count, memory_gib): a machine of that many cards."""
    return lambda count=2, memory_gib=4: Bed(tmp_path, played_cards(count, memory_gib))
