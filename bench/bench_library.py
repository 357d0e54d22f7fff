"""What the Python package costs a program: importing it, looking, leasing, marking, Ctrl-C, asyncio's loop.

On 8 cards of the fake NVML. Beside it what others take for the same on the same library, where they are
installed: nvitop, gpustat and pynvml, in the Python that BERTH_BENCH_PEERS names (build/peers/python/bin/python),
and torch.cuda where `./dev test --frameworks torch` has made it. Each number is taken in a process of its own."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from bench_commands import BERTH, BUILD, LIBRARY, machine_json, tell

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The system's Python alone, without what its user's .pth files import.
PYTHON = ["/usr/bin/python3", "-I", "-S"]
PEERS = os.environ.get("BERTH_BENCH_PEERS") or str(BUILD.parent / "peers/python/bin/python")
TORCH = sorted(BUILD.parent.glob("frameworks/torch-*/bin/python"))
NOBODY = 65534
HUNG = "*@3=hang"
NOT_BACK_S = 15  # berth gives a card that hangs 5 s
PATH = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r})\n"


def timed(function, times):
    """Microseconds of each call."""
    found = []
    for _ in range(times):
        began = time.perf_counter_ns()
        function()
        found.append((time.perf_counter_ns() - began) / 1000)
    return found


# --- inside: a process that imports berth ------------------------------------------------------------------


def devices():
    import berth

    def look():
        assert len(berth.devices()) == 8

    look()
    return timed(look, 200)


def first_look():
    import berth

    return timed(berth.devices, 1)


def leases():
    import berth

    looks, claims, releases = [], [], []
    for _ in range(30):
        looks += timed(lambda: berth.look(max_age=0), 1)
        held = []
        claims += timed(lambda: held.append(berth.lease()), 1)
        releases += timed(held[0].release, 1)
    return [looks, claims, releases]


def marks():
    import berth

    return timed(lambda: berth.mark(epoch=3, loss=0.125), 2000)


def memory():
    """With a torch whose statistics cost nothing: what is measured is ours."""
    import types

    import berth

    one = {"all": {"current": 1 << 30, "peak": 1 << 30}}
    numbers = dict.fromkeys(("allocated_bytes", "reserved_bytes", "inactive_split_bytes"), one)
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(
        is_initialized=lambda: True, reset_peak_memory_stats=lambda: None,
        memory_stats_as_nested_dict=lambda: {**numbers, "num_alloc_retries": 0, "num_ooms": 0},
    )  # fmt: skip
    sys.modules["torch"] = torch
    return timed(lambda: berth.log_memory("epoch=3"), 1000)


def interrupted():
    """Waits in the queue; says when Ctrl-C arrived in Python."""
    import berth

    try:
        berth.lease(8, wait=True, on_news=lambda news: print("waits", flush=True))
    except KeyboardInterrupt:
        print(time.monotonic_ns(), flush=True)


def loop():
    """The longest that asyncio's loop stood still while others looked and leased."""
    import asyncio

    import berth

    async def main():
        longest, done = 0.0, False

        async def tick():
            nonlocal longest
            while not done:
                began = time.perf_counter()
                await asyncio.sleep(0.001)
                longest = max(longest, time.perf_counter() - began - 0.001)

        ticking = asyncio.ensure_future(tick())
        count = 0
        async for _ in berth.watch(0.01):
            count += 1
            if count == 100:
                break
        for _ in range(10):
            async with berth.async_lease():
                pass
        done = True
        await ticking
        return longest

    berth.look(max_age=0)
    return [asyncio.run(main()) * 1e6]


# --- beside: what others do ------------------------------------------------------------------------------------

THEIRS = {
    "pynvml": """
import pynvml
pynvml.nvmlInit()
def ask():
    for i in range(pynvml.nvmlDeviceGetCount()):
        card = pynvml.nvmlDeviceGetHandleByIndex(i)
        pynvml.nvmlDeviceGetMemoryInfo(card); pynvml.nvmlDeviceGetUtilizationRates(card)
        pynvml.nvmlDeviceGetComputeRunningProcesses(card)
""",
    "nvitop": """
import nvitop
def ask():
    for card in nvitop.Device.all():
        card.as_snapshot(); card.processes()
""",
    "gpustat": """
import gpustat
def ask():
    gpustat.new_query()
""",
}
TIMED = """
import json, time
ask()
found = []
for _ in range(20):
    began = time.perf_counter(); ask(); found.append((time.perf_counter() - began) * 1e3)
print(json.dumps(found))
"""


OWN = PATH + """
import berth
def ask():
    assert sum(card.memory_used.value is not None for card in berth.look(max_age=0).devices) == 7
"""
OF_TORCH = """
import torch
def ask():
    return [torch.cuda.mem_get_info(i) for i in range(torch.cuda.device_count())]
"""


def inside(name, env, **how):
    done = subprocess.run([*PYTHON, "-c", f"{PATH}sys.path.insert(0, {str(ROOT / 'bench')!r})\n"
                           f"import bench_library, json; print(json.dumps(bench_library.{name}()))"],
                          env=env, stdout=subprocess.PIPE, text=True, check=True, **how)
    return json.loads(done.stdout.splitlines()[-1])


def starts(code, env, times=30, python=PYTHON):
    """Milliseconds from start to end of a Python, by turns with one that does nothing: both."""
    def once(program):
        subprocess.run([*python, "-c", program], env=env, check=True)

    once(code)
    bare, whole = [], []
    for _ in range(times):
        bare += timed(lambda: once("pass"), 1)
        whole += timed(lambda: once(code), 1)
    return [one / 1000 for one in bare], [one / 1000 for one in whole]


def imports(env):
    bare, ours = starts(PATH + "import berth", env)
    tell("`import berth`: start of a Python that does, by turns with a bare one", "ms", ours, sorted(bare)[15], 15)
    for name in THEIRS:
        if has(name, env):
            bare, theirs = starts(f"import {name}", env, 10, [PEERS])
            tell(f"`import {name}`, the same", "ms", theirs, sorted(bare)[5], None)


def torch_cuda(env):
    """It knows memory and count of what CUDA shows to its own process."""
    if not TORCH:
        return tell_not_installed("torch.cuda", "build/frameworks: ./dev test --frameworks torch")
    cards = json.loads(pathlib.Path(env["BERTH_FAKE_NVML"]).read_text(encoding="utf-8"))["devices"]
    shown = ";".join(f"{one['uuid'][4:].replace('-', '')}={one['name']}={one['memory_total_bytes']}"
                     f"={one['pci_address'][4:]}={one['compute_capability']}" for one in cards)
    env = env | {"BERTH_FAKE_CUDA": shown, "LD_LIBRARY_PATH": f"{BUILD / 'fakes/cuda'}:{LIBRARY.parent}"}
    bare, theirs = starts("import torch", env, 5, [TORCH[-1]])
    tell("`import torch`, the same", "ms", theirs, sorted(bare)[2], None)
    done = subprocess.run([TORCH[-1], "-c", OF_TORCH + TIMED], env=env, stdout=subprocess.PIPE, text=True, check=True)
    tell("torch.cuda: free memory of the 8 devices, CUDA started", "ms", json.loads(done.stdout), None, None)


def with_a_hung_card(env):
    """Seconds until who asks has an answer; one that has none by then is ended."""
    asked = {"`berth.look()`, with the other 7": (OWN, PYTHON), **{name: (code, [PEERS]) for name, code in THEIRS.items()}}
    env = env | {"BERTH_FAKE_NVML_FAULTS": HUNG, "LD_LIBRARY_PATH": str(LIBRARY.parent)}
    for name, (code, python) in asked.items():
        if name in THEIRS and not has(name, env):
            continue
        began = time.monotonic()
        try:
            subprocess.run([*python, "-c", code + "\nask()"], env=env, check=True, timeout=NOT_BACK_S)
            tell(f"one card hangs: {name}", "s", [time.monotonic() - began] * 2, None, 6 if python == PYTHON else None)
        except subprocess.TimeoutExpired:
            print(json.dumps({"name": f"one card hangs: {name} had not returned after {NOT_BACK_S} s", "unit": "",
                              "value": None, "limit": None}), flush=True)


def tell_not_installed(name, where):
    print(json.dumps({"name": f"{name}: not installed in {where}", "unit": "", "value": None, "limit": None}))


def has(name, env):
    try:
        return subprocess.run([PEERS, "-c", f"import {name}"], env=env, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def looks(env):
    tell("`berth.devices()`, 8 GPUs, 16 processes, by a warm helper", "ms",
         [us / 1000 for us in inside("devices", env)], None, 1)
    tell("the first of a process, with the helper's start and the driver's opening", "ms",
         [us / 1000 for _ in range(15) for us in inside("first_look", env)], None, None)
    for name, code in THEIRS.items():
        if not has(name, env):
            tell_not_installed(name, PEERS)
            continue
        done = subprocess.run([PEERS, "-c", code + TIMED], env=env | {"LD_LIBRARY_PATH": str(LIBRARY.parent)},
                              stdout=subprocess.PIPE, text=True, check=True)
        tell(f"{name}: the same devices, memory, load and processes", "ms", json.loads(done.stdout), None, None)


def by_serve(env, scratch):
    """As an ordinary user: root's server has its socket where the machine's own may be."""
    folder = scratch / "serve"
    folder.mkdir(mode=0o755)
    scratch.chmod(0o755)
    as_user = {}
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        as_user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    env = env | {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder / "state"),
                 "BERTH_LEDGER": str(folder / "ledger")}
    server = subprocess.Popen([BUILD / "berth", "serve", "--listen", "none"], env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user)
    try:
        while not (folder / "berth/serve.sock").exists():
            time.sleep(0.05)
            assert server.poll() is None, "berth serve has ended"
        time.sleep(1.5)  # its first look
        # Without a helper nobody but the server can have answered.
        asked = inside("devices", env | {"BERTH_HELPER": "/nonexistent"}, **as_user)
        tell("`berth.devices()`, the same, by `berth serve`", "ms", [us / 1000 for us in asked], None, 0.5)
    finally:
        server.terminate()
        server.wait()


def claims(env):
    looked, claimed, released = inside("leases", env)
    tell("`berth.lease()` of a free GPU; floor: a look", "ms", [us / 1000 for us in claimed],
         sorted(looked)[15] / 1000, 15)
    tell("its `release()`", "ms", [us / 1000 for us in released], None, 5)


def ctrl_c(env):
    found = []
    holder = subprocess.Popen([BERTH, "run", "-q", "--", "sleep", "600"], env=env, stdin=subprocess.DEVNULL)
    try:
        for _ in range(10):
            waiting = subprocess.Popen([*PYTHON, "-c", f"{PATH}sys.path.insert(0, {str(ROOT / 'bench')!r})\n"
                                        "import bench_library; bench_library.interrupted()"],
                                       env=env, stdout=subprocess.PIPE, text=True)
            waiting.stdout.readline()
            sent = time.monotonic_ns()
            waiting.send_signal(signal.SIGINT)
            found.append((int(waiting.stdout.readline()) - sent) / 1e6)
            waiting.wait()
    finally:
        holder.send_signal(signal.SIGTERM)
        holder.wait()
    tell("Ctrl-C while `berth.lease(wait=True)` waits, until Python has it", "ms", found, None, 50)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        sleepers = [subprocess.Popen(["sleep", "600"]) for _ in range(16)]
        machine, marked = pathlib.Path(scratch, "machine.json"), pathlib.Path(scratch, "marks")
        marked.touch()
        env = {
            "PATH": os.environ["PATH"], "HOME": scratch, "LANG": "C.UTF-8", "XDG_STATE_HOME": scratch + "/state",
            "XDG_RUNTIME_DIR": scratch, "BERTH_LEDGER": scratch + "/ledger", "BERTH_NVML": str(LIBRARY),
            "BERTH_FAKE_NVML": str(machine), "BERTH_LIBRARY": str(BUILD / "libberth.so.0"),
            # Root runs no program that lies in /tmp, where BERTH is.
            "BERTH_HELPER": str(BUILD / "berth"), "BERTH": BERTH, "BERTH_BUILD": str(BUILD),
        }  # fmt: skip
        try:
            machine.write_text(machine_json([p.pid for p in sleepers]), encoding="utf-8")
            imports(env)
            looks(env)
            torch_cuda(env)
            with_a_hung_card(env)
            by_serve(env, pathlib.Path(scratch))
            machine.write_text(machine_json([]), encoding="utf-8")
            claims(env)
            ctrl_c(env)
            tell("asyncio's loop while it looks 100 times and leases 10 times: its longest standstill", "ms",
                 [us / 1000 for _ in range(5) for us in inside("loop", env)], None, 20)
            env["BERTH_MARKS"] = str(marked)
            tell("`berth.mark(epoch=3, loss=0.125)`", "µs", inside("marks", env), None, 20)
            tell("`berth.log_memory()`, less what torch takes for its statistics", "µs", inside("memory", env), None, 100)
        finally:
            for sleeper in sleepers:
                sleeper.kill()


if __name__ == "__main__":
    sys.exit(main())
