"""A lease keeps a device for this process: as `berth leases` shows it, across forks, kills and exits."""

import json
import os
import signal
import subprocess

import pytest

from conftest import PYTHON, wait_until


def test_a_lease_is_seen_and_ends_with_its_block(desk):
    told = desk.told("""
        import subprocess
        def leases():
            return json.loads(subprocess.run([os.environ["BERTH_HELPER"], "leases", "--json"],
                                             stdout=subprocess.PIPE).stdout)["leases"]
        names = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "BERTH_LEASE", "PYTORCH_NVML_BASED_CUDA_CHECK")
        seen = lambda: {name: os.environ.get(name) for name in names}
        before = seen()
        with berth.lease(2) as lease:
            inside = [seen(), leases(), lease.id, lease.run, [[d.index, d.id, d.ordinal] for d in lease.devices]]
            shell = os.popen("echo $CUDA_VISIBLE_DEVICES").read().strip()
        print(json.dumps([before, inside, shell, seen(), leases(), lease.released, lease.id]))
    """)
    before, (variables, listed, id, run, devices), shell, after, left, released, id_after = told
    assert before == after == dict.fromkeys(variables)
    assert variables["CUDA_VISIBLE_DEVICES"] == shell == "4,5"
    assert variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert variables["PYTORCH_NVML_BASED_CUDA_CHECK"] == "1"
    assert [[one["id"], one["run"]] for one in listed] == [[id, run]]
    assert [one["device"] for one in listed[0]["devices"]] == [device for _, device, _ in devices]
    assert all(one["exclusive"] for one in listed[0]["devices"])
    assert [[index, ordinal] for index, _, ordinal in devices] == [[4, 0], [5, 1]]
    assert left == [] and released and id_after == id


def test_of_several_makers_one_is_said(desk):
    told = desk.told("""
        try: berth.lease(sim="arc-mixed")
        except berth.Error as error: refused = str(error)
        kinds = [device.kind for device in berth.look(sim="arc-mixed").devices]
        with berth.lease(kind="amd", sim="arc-mixed") as lease:
            seen = os.environ.get("ROCR_VISIBLE_DEVICES")
            print(json.dumps([refused, kinds, [device.kind for device in lease.devices], seen]))
    """)
    refused, kinds, given, seen = told
    assert "--kind" in refused or "kind=" in refused
    assert (kinds, given, seen) == (["nvidia-gpu", "amd-gpu", "intel-gpu"], ["amd-gpu"], "0")


def test_without_a_device_the_same_is_hidden_as_by_berth_run(desk):
    told = desk.run("run", "-q", "--cpu", "--", "env").stdout.splitlines()
    hidden = {name: value for name, _, value in (line.partition("=") for line in told)
              if "_VISIBLE_" in name or name in ("ZE_AFFINITY_MASK", "JAX_PLATFORMS")}
    assert desk.told("from berth.leases import _variables_of\nprint(json.dumps(_variables_of(None)))") == hidden


def test_nobody_else_is_given_a_leased_device(desk):
    desk.holding("berth.lease(5)")
    assert desk.leased() == [3, 4, 5, 6, 7]
    text = desk.python("import berth\ntry: berth.lease()\nexcept berth.NoneFree as error: print(error)")
    assert "GPU 7" in text and "leased" in text
    assert desk.run("run", "--", "true").returncode == 124


def test_a_share_is_promised(desk):
    desk.holding('berth.lease(memory="10G", only=5)')
    [lease] = desk.leases()
    assert lease["devices"][0]["promised_bytes"] == 10 << 30
    desk.holding("berth.lease(memory=20 << 30, only=5)")
    assert desk.leased() == [5, 5]


@pytest.mark.parametrize(
    ("source", "name"),
    [("XLA_CLIENT_MEM_FRACTION XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"),
     ("XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"), (None, None)],
    ids=["new", "old", "no JAX"],
)  # fmt: skip
def test_a_jax_that_is_there_is_told_its_share(desk, source, name):
    if source:
        (desk.directory / "jaxlib").mkdir()
        (desk.directory / "jaxlib/__init__.py").write_text("raise RuntimeError('nobody imports it')")
        (desk.directory / "jaxlib/xla_client.py").write_text(f"# {source}")
    told = desk.told("""
        sys.path.insert(0, os.getcwd())
        def said():
            return {name: value for name, value in os.environ.items() if name.endswith("MEM_FRACTION")}
        seen = [said()]
        for how in ({"memory": "50%"}, {"memory": None}):
            with berth.lease(**how) as lease:
                seen += [said(), {name for name in lease.environment() if name.endswith("MEM_FRACTION")} == set(said())]
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        with berth.lease(memory="50%"):
            seen.append(said())
        print(json.dumps(seen))
    """)
    assert told == [{}, {name: "0.5000"} if name else {}, True, {}, True, {}]


def test_who_waits_gets_it_when_it_is_released(desk):
    first = desk.holding("berth.lease(only=5)")
    second = desk.start_python("""
        import berth
        news = []
        with berth.lease(only=5, wait=60, on_news=news.append) as lease:
            print(lease.devices[0].index, news[0].position, news[0].placement.refused[5]["rule"], news[-1].waited >= 0)
    """)
    wait_until(lambda: len(desk.queue()) == 1, "it stands in the queue")
    first.stdin.close()
    output, errors = second.communicate(timeout=30)
    assert output.split() == ["5", "1", "leased", "True"], errors
    assert desk.queue() == []


def test_waiting_says_so_on_stderr_where_nobody_listens(desk):
    desk.holding("berth.lease(only=5)")
    second = desk.start_python("import berth; berth.lease(only=5, wait=60)")
    assert "number 1 in the queue" in second.stderr.readline()


def test_the_time_to_wait_ends(desk):
    desk.holding("berth.lease(only=5)")
    kind, rule = desk.told("""
        try: berth.lease(only=5, wait=0.2)
        except berth.NoneFree as error:
            print(json.dumps([type(error).__name__, error.placement.refused[5]["rule"]]))
    """)
    assert [kind, rule] == ["NoneFree", "leased"]
    assert desk.queue() == []


def test_who_has_left_the_queue_stands_in_nobodys_way(desk):
    """Least of all in its own: four devices are free, and the fifth is what it waited for."""
    desk.holding("berth.lease(only=5)")
    told = desk.told("""
        import asyncio, signal, threading
        news = []
        try: berth.lease(5, wait=0.3)
        except berth.NoneFree: pass
        with berth.lease() as lease: news.append(lease.devices[0].index)
        def tell(_): signal.raise_signal(signal.SIGINT)
        try: berth.lease(5, wait=True, on_news=tell)
        except KeyboardInterrupt: pass
        with berth.lease() as lease: news.append(lease.devices[0].index)
        try: berth.lease(5, wait=True, on_news=lambda _: threading.Timer(0.1, os.kill, (os.getpid(), 2)).start())
        except KeyboardInterrupt: pass
        with berth.lease() as lease: news.append(lease.devices[0].index)
        async def main():
            try: await asyncio.wait_for(berth.async_lease(5, wait=True).__aenter__(), 0.7)
            except asyncio.TimeoutError: pass
            async with berth.async_lease() as lease: news.append(lease.devices[0].index)
        asyncio.run(main())
        print(json.dumps(news))
    """)
    assert told == [3, 3, 3, 3]
    assert desk.queue() == []


def test_a_lease_of_ones_own_is_leased(desk):
    states = desk.told("""
        with berth.lease(only=5) as lease: print(json.dumps([[lease.devices[0].state, lease.devices[0].holder],
            [[one.state, one.holder] for one in berth.look(max_age=0).devices][5]]))
    """)
    assert states[0] == states[1] and states[0][0] == "leased"


def test_ctrl_c_leaves_the_queue(desk):
    desk.holding("berth.lease(only=5)")
    waiting = desk.start_python("""
        import sys, berth
        try:
            berth.lease(only=5, wait=True, on_news=lambda news: None)
        except KeyboardInterrupt:
            print("left", flush=True)
            sys.stdin.read()
    """)
    wait_until(lambda: len(desk.queue()) == 1, "it stands in the queue")
    waiting.send_signal(signal.SIGINT)
    assert waiting.stdout.readline() == "left\n"
    wait_until(lambda: desk.queue() == [], "it has left the queue", 30)
    assert waiting.poll() is None


def test_a_killed_owner_leaves_nothing(desk):
    holder = desk.holding()
    assert desk.leased() == [3]
    holder.kill()
    holder.wait()
    wait_until(lambda: desk.leases() == [], "the kernel has released it")


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "raise ValueError('over')"])
def test_the_interpreters_end_releases(desk, end):
    code = 1 if "raise" in end else 0
    desk.python(f"import sys, berth\nlease = berth.lease()\n{end}", code_wanted=code)
    assert desk.leases() == []


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("is_forked", [True, False])
def test_who_inherited_it_keeps_it_after_the_interpreters_end(desk, is_forked, record):
    held, release = os.pipe()
    desk.python(
        """
        import os, subprocess, sys, berth
        lease = berth.lease(record=sys.argv[3] == "True")
        held = int(sys.argv[1])
        if sys.argv[2] == "True":
            if os.fork() == 0:
                os.close(1); os.close(2)
                os.read(held, 1)
                os._exit(0)
        else:
            null = subprocess.DEVNULL
            subprocess.Popen(
                ["sh", "-c", "read line"], stdin=held, stdout=null, stderr=null,
                pass_fds=[lease.fileno()], env=lease.environment(),
            )
        """,
        held, is_forked, record, pass_fds=[held],
    )  # fmt: skip
    assert desk.leased() == [3]
    os.close(release)
    os.close(held)
    wait_until(lambda: desk.leases() == [], "the last that inherited it has ended")


def test_release_ends_it_for_all(desk):
    holder = desk.start_python("""
        import os, sys, berth
        lease = berth.lease()
        if os.fork() == 0:
            sys.stdin.read()
            os._exit(0)
        lease.release()
        print("released", flush=True)
        sys.stdin.read()
    """)
    assert holder.stdout.readline() == "released\n"
    assert desk.leases() == []


def test_a_lease_that_nobody_names_is_kept(desk):
    assert desk.holding("[berth.lease().id, __import__('gc').collect()] and berth.leases.current_lease()").lease_id
    assert desk.leased() == [3]


def test_a_forked_child_keeps_it_and_cannot_release_it(desk):
    parent = desk.start_python("""
        import os, sys, time, berth
        with berth.lease() as lease:
            inside, outside = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(outside)
                lease.release()  # does nothing here
                print("asked", lease.released, flush=True)
                os.read(inside, 1)  # until its parent is gone
                os._exit(0)
            os.close(inside)
            sys.stdin.read()
            os._exit(1)  # as a crash: nothing is released on purpose
    """)
    assert parent.stdout.readline() == "asked False\n"
    assert desk.leased() == [3]
    parent.kill()
    parent.wait()
    wait_until(lambda: desk.leases() == [], "the child has ended, too")


def test_a_child_that_lives_on_keeps_the_lease_of_a_killed_parent(desk):
    held, release = os.pipe()
    parent = desk.start_python(
        """
        import os, sys, berth
        lease = berth.lease()
        if os.fork() == 0:
            os.read(int(sys.argv[1]), 1)
            os._exit(0)
        print("forked", flush=True)
        sys.stdin.read()
        """,
        held,
        pass_fds=[held],
    )
    assert parent.stdout.readline() == "forked\n"
    parent.kill()
    parent.wait()
    assert desk.leased() == [3]
    os.close(release)
    wait_until(lambda: desk.leases() == [], "the last that inherited it has ended")


def test_sys_exit_in_a_forked_worker_releases_nothing(desk):
    leased = desk.told("""
        import multiprocessing, subprocess
        lease = berth.lease()
        def work(): sys.exit(0)  # runs the interpreter's own end in the child
        workers = [multiprocessing.get_context("fork").Process(target=work) for _ in range(2)]
        for one in workers: one.start()
        for one in workers: one.join()
        pid = os.fork()
        if pid == 0: sys.exit(0)
        os.waitpid(pid, 0)
        listed = subprocess.run([os.environ["BERTH_HELPER"], "leases", "--json"], stdout=subprocess.PIPE).stdout
        print(json.dumps([one["id"] == lease.id for one in json.loads(listed)["leases"]]))
    """)
    assert leased == [True]


def test_a_data_loaders_workers(desk):
    pytest.importorskip("torch", reason="python3-torch is not installed")
    batches, leased = desk.told("""
        import torch, subprocess
        lease = berth.lease()
        class Data(torch.utils.data.IterableDataset):
            def __iter__(self):
                yield from (torch.ones(1) * n for n in range(4))
                sys.exit(0) if self.leaves else None
        def all_of(leaves):
            data = Data()
            data.leaves = leaves
            try: return [int(batch.sum()) for batch in torch.utils.data.DataLoader(data, num_workers=2, batch_size=4)]
            except (RuntimeError, OSError, EOFError): return "a worker exited"
        found = [all_of(False), all_of(True)]
        listed = subprocess.run([os.environ["BERTH_HELPER"], "leases", "--json"], stdout=subprocess.PIPE).stdout
        print(json.dumps([found, [one["id"] == lease.id for one in json.loads(listed)["leases"]]]))
    """)
    assert batches[0] == [6, 6]
    assert leased == [True]


def test_a_child_asks_for_a_lease_of_its_own(desk):
    """Inside its parent's: it is given a share of that, and no other device."""
    inner, outer, outside = desk.told("""
        import subprocess
        lease = berth.lease(2)
        inside, outside = os.pipe()
        if os.fork() == 0:
            with berth.lease() as inner:
                listed = subprocess.run([os.environ["BERTH_HELPER"], "leases", "--json"], stdout=subprocess.PIPE).stdout
                claims = ",".join(one["id"] for one in json.loads(listed)["leases"])
                os.write(outside, f"{inner.devices[0].index} {inner.id} {os.environ['CUDA_VISIBLE_DEVICES']} {claims}".encode())
            try: berth.lease(3)
            except berth.Error as error: os.write(outside, f" {error.code}".encode())
            os._exit(0)
        os.wait()
        print(json.dumps([os.read(inside, 1000).decode().split(), lease.id, lease.released]))
    """)
    assert inner[0] == inner[2] == "4" and inner[1] != outer
    assert inner[3] == outer, "no second claim: the machine's ledger has the outer lease alone"
    assert inner[4] in ("invalid", "never")
    assert outside is False


def test_a_process_has_one_lease(desk):
    """A second would be a share of the first, and no other device; within `berth run` as well."""
    code = """
import os, json, subprocess, sys, berth
with berth.lease(2) as outer:
    try: berth.lease()
    except berth.Error as error: refused = [error.code, "holds the lease" in str(error), error.remedy is not None]
    within = "import berth; print(berth.lease().devices[0].index)"
    child = subprocess.run([sys.executable, "-c", within], stdout=subprocess.PIPE, pass_fds=[outer.fileno()])
    print(json.dumps([[d.index for d in outer.devices], refused, int(child.stdout), os.environ["CUDA_VISIBLE_DEVICES"]]))
with berth.lease() as again: print(json.dumps([again.devices[0].index, os.environ["CUDA_VISIBLE_DEVICES"]]))
print(json.dumps(os.environ.get("CUDA_VISIBLE_DEVICES")))
"""
    first, again, after = map(json.loads, desk.python(code).splitlines())
    assert first == [[4, 5], ["busy", True, True], 4, "4,5"] and again == [3, "3"] and after is None
    done = desk.run("run", "-q", "-n", 3, "--", PYTHON, "-c", code)
    assert done.returncode == 0, done.stderr
    first, again, after = map(json.loads, done.stdout.splitlines())
    assert first == [[4, 5], ["busy", True, True], 4, "4,5"] and again == [4, "4"] and after == "4,5,6"
    assert desk.leases() == []


def test_a_subprocess_is_given_the_lease(desk):
    """pass_fds keeps it after its owner's death; environment() shows it the devices."""
    parent = desk.start_python("""
        import subprocess, sys, berth
        lease = berth.lease(2)
        child = subprocess.Popen(
            ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES; read line"], stdin=sys.stdin,
            pass_fds=[lease.fileno()], env=lease.environment(),
        )
        child.wait()
    """)
    assert parent.stdout.readline() == "4,5\n"
    parent.kill()
    parent.wait()
    assert desk.leased() == [4, 5]
    parent.stdin.close()
    wait_until(lambda: desk.leases() == [], "the subprocess has ended")


def test_the_ledger_shows_the_program_that_holds_it(desk):
    desk.holding("berth.lease(name='my run')")
    assert "python3 -c" in desk.leases()[0]["command"]


FAKE_CUDA = """
#include <stdlib.h>
int cuDeviceGetCount(int* count) {
  *count = 2;
  return getenv("FAKE_CUDA_STARTED") ? 0 : 3;
}
"""


@pytest.fixture(scope="module")
def fake_cuda(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cuda")
    (folder / "cuda.c").write_text(FAKE_CUDA)
    library = folder / "libcuda.so.1"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, folder / "cuda.c"], check=True
    )
    return library


def test_cuda_that_has_started_refuses_before_anything_is_claimed(desk, fake_cuda):
    told = desk.told(
        """
        import ctypes
        states = [berth.cuda_state()]
        cuda = ctypes.CDLL(sys.argv[1])
        states.append(berth.cuda_state())
        os.environ["FAKE_CUDA_STARTED"] = "1"
        states.append(berth.cuda_state())
        try: berth.lease()
        except berth.CudaStarted as error: refused = [error.code, error.remedy, str(error)]
        inside, outside = os.pipe()
        if os.fork() == 0:
            del os.environ["FAKE_CUDA_STARTED"]  # as the driver answers in a forked child
            try: berth.lease()
            except berth.CudaStarted as error: os.write(outside, f"{berth.cuda_state()}: {error}".encode())
            os._exit(0)
        os.wait()
        import types
        torch = types.ModuleType("torch")
        torch.cuda = types.SimpleNamespace(is_initialized=lambda: False)
        sys.modules["torch"] = torch
        try: berth.lease()
        except berth.CudaStarted as error: likely = str(error)
        print(json.dumps([states, refused, os.read(inside, 1000).decode(), likely]))
        """,
        fake_cuda,
    )
    states, (code, remedy, text), child, likely = told
    assert states == ["not loaded", "not started", "started"]
    assert code == "cuda_started" and 'after_init="index"' in remedy and remedy in text
    assert child.startswith("inherited: ") and "spawn" in child
    assert "torch.cuda.is_available()" in likely
    assert desk.leases() == []


def test_torch_that_has_started_on_another_makers_device_refuses_that_makers_lease(desk):
    told = desk.told(
        """
        import types
        torch = types.ModuleType("torch")
        torch.version = types.SimpleNamespace(cuda=None, hip="6.4")
        torch.cuda = types.SimpleNamespace(is_initialized=lambda: started)
        sys.modules["torch"] = torch
        started = True
        try: berth.lease(sim="mi300x-8")
        except berth.CudaStarted as error: refused = [error.code, str(error), os.environ.get("ROCR_VISIBLE_DEVICES")]
        berth.lease(sim="server-8xh100").release()
        started = False
        with berth.lease(sim="mi300x-8") as mine: given = mine.devices[0].kind
        print(json.dumps([refused, given]))
        """
    )
    (code, text, variable), given = told
    assert code == "cuda_started" and "torch.cuda was started in this process already" in text and variable is None
    assert given == "amd-gpu"
    assert desk.leases() == []


def test_the_state_is_remembered_across_a_fork_that_nobody_asked_before(desk, fake_cuda):
    told = desk.told(
        """
        import ctypes
        cuda = ctypes.CDLL(sys.argv[1])
        inside, outside = os.pipe()
        if os.fork() == 0:
            del os.environ["FAKE_CUDA_STARTED"]
            os.write(outside, berth.cuda_state().encode())
            os._exit(0)
        print(json.dumps(os.read(inside, 100).decode()))
        """,
        fake_cuda,
        env={"FAKE_CUDA_STARTED": "1"},
    )
    assert told == "inherited"


def test_after_init_claims_what_cuda_sees_already(desk, fake_cuda):
    told = desk.told(
        """
        import ctypes
        cuda = ctypes.CDLL(sys.argv[1])
        with berth.lease(after_init="index") as lease:
            print(json.dumps([[d.index, d.ordinal] for d in lease.devices] + [os.environ["CUDA_VISIBLE_DEVICES"]]))
        """,
        fake_cuda,
        env={"FAKE_CUDA_STARTED": "1", "CUDA_VISIBLE_DEVICES": "0,2,5,6", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
    )
    assert told == [[5, 2], "0,2,5,6"]


def test_what_somebody_has_set_since_is_left(desk):
    told = desk.told("""
        with berth.lease(): os.environ["CUDA_VISIBLE_DEVICES"] = "6"
        print(json.dumps(os.environ["CUDA_VISIBLE_DEVICES"]))
    """)
    assert told == "6"


def test_a_lease_with_a_record(desk):
    assert desk.told("""
        with berth.lease(record=True, name="of a notebook") as lease:
            berth.mark(epoch=7)
            marks = os.environ["BERTH_MARKS"]
        berth.mark(epoch=8)  # no run any more
        print(json.dumps([lease.run in marks, "BERTH_MARKS" in os.environ]))
    """) == [True, False]
    shown = json.loads(desk.run("show", "last", "--json").stdout)
    assert [mark["text"] for mark in shown["marks"]] == ["epoch=7"]


def test_in_a_notebook_a_record_is_kept_unless_asked_not_to(desk):
    kept = desk.told("""
        import types
        sys.modules["ipykernel"] = types.ModuleType("ipykernel")
        found = []
        for how in ({}, {"record": False}):
            with berth.lease(**how): found.append("BERTH_MARKS" in os.environ)
        del sys.modules["ipykernel"]
        with berth.lease(): found.append("BERTH_MARKS" in os.environ)
        print(json.dumps(found))
    """)
    assert kept == [True, False, False]


def test_a_helper_that_is_killed_while_one_waits(desk):
    desk.holding("berth.lease(only=5)")
    waiting = desk.start_python("""
        import berth
        try: berth.lease(only=5, wait=True, on_news=lambda news: print("waits", flush=True))
        except berth.Error as error: print(type(error).__name__, error.code, flush=True)
        print(len(berth.look(max_age=0).devices), flush=True)
    """)
    assert waiting.stdout.readline() == "waits\n"
    for helper in desk.helpers():
        os.kill(helper, signal.SIGKILL)
    assert waiting.stdout.readline() == "Error io\n"
    assert waiting.stdout.readline() == "8\n"
    wait_until(lambda: desk.queue() == [], "its place is gone")
