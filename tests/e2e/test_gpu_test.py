"""`berth doctor --gpu-test`: devices that compute, compute wrongly, refuse, hang or have somebody on them.

The fake libcuda runs the very PTX that a driver would be given (tests/fakes/cuda)."""

import ctypes
import json
import shutil
import struct
import subprocess
import time

import pytest

from conftest import BERTH, ends_within_patience, scenario
from test_doctor import CUDA, cuda_list, healthy_root, plain


@pytest.fixture
def host(driver_of, tmp_path):
    """host(cards, fault=…): a machine whose cards compute as the fault says."""

    def make(count=2, fault="", snapshot=None, env=None):
        snapshot = snapshot or plain(count)
        machine = driver_of(snapshot)
        machine.env |= {
            "BERTH_ROOT": str(healthy_root(tmp_path, count)),
            "BERTH_CUDA": str(CUDA),
            "BERTH_FAKE_CUDA": cuda_list(snapshot, range(len(snapshot["devices"]))),
            "BERTH_FAKE_CUDA_FAULT": fault,
            "COLUMNS": "100",
            "PATH": "/usr/bin:/bin",
        } | (env or {})
        return machine

    return make


def proof_of(machine, *words):
    done = machine.run("doctor", "--json", "--no-import", "--gpu-test", *words, timeout=120)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def steps(answer, device=0):
    return {(one["what"], one["peer"] or ""): one for one in answer["gpu_tests"][device]["steps"]}


def found(answer):
    return [one for one in answer["findings"] if one["rule"].startswith(("gpu_", "cpu_"))]


def found_but_slow(answer):
    """The fake computes on this machine's CPU: slow is what it is, and is said."""
    return [one["rule"] for one in found(answer) if one["rule"] != "gpu_slow"]


ALL = ["opening", "multiply", "multiply_cpu", "copy_inside", "copy_in", "copy_out",
       "copy_in_pinned", "copy_out_pinned"]  # fmt: skip


def test_every_step_of_every_card_passes_and_has_a_speed(host):
    _, answer = proof_of(host(2))
    assert [one["left_out"] for one in answer["gpu_tests"]] == [None, None]
    for device, peer in ((0, "1"), (1, "0")):
        got = steps(answer, device)
        assert [what for what, _ in got] == [*ALL, "copy_to_peer"]
        assert ("copy_to_peer", peer) in got
        for what in got:
            assert got[what]["end"] == "passed", got[what]
            assert what[0] == "opening" or got[what]["per_second"] > 1e5, got[what]
    assert not found_but_slow(answer)
    assert answer["simulated"]


def test_a_slow_card_is_told_with_what_it_could_be(host):
    _, answer = proof_of(host(1))
    slow = [one for one in found(answer) if one["rule"] == "gpu_slow"]
    assert any("a product of two matrices" in one["evidence"][0] for one in slow), slow
    assert {one["severity"] for one in slow} == {"warning"}
    best = steps(answer)[("multiply", "")]["best_per_second"]
    # H100 SXM: 16,896 cores at 1,980 MHz, two operations per cycle
    assert best == pytest.approx(66.9e12, rel=0.01)
    assert steps(answer)[("copy_in_pinned", "")]["best_per_second"] == pytest.approx(63.0e9, rel=0.01)


def test_a_card_that_computes_wrong_is_found_and_no_other(host):
    code, answer = proof_of(host(2, fault="wrong:1"))
    assert found_but_slow(answer) == ["gpu_computes_wrong"]
    assert "GPU 1" in found(answer)[0]["title"]
    assert steps(answer, 1)[("multiply", "")]["end"] == "wrong"
    assert steps(answer, 0)[("multiply", "")]["end"] == "passed"
    assert code == 2


def test_a_torn_copy_is_found(host):
    _, answer = proof_of(host(1, fault="torn:0"))
    assert "gpu_copies_wrong" in found_but_slow(answer)


@pytest.mark.parametrize(
    ("fault", "step", "words"),
    [
        ("cuModuleLoadData=218", "multiply", "CUDA_ERROR_INVALID_PTX (218)"),
        ("cuMemAlloc_v2=2", "multiply", "CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ("cuDevicePrimaryCtxRetain=46", "opening", "CUDA_ERROR_DEVICE_UNAVAILABLE (46)"),
        ("cuCtxSynchronize=719", "multiply", "CUDA_ERROR_LAUNCH_FAILED (719)"),
        ("cuMemAllocHost_v2=2", "copy_in_pinned", "CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ("cuMemcpyHtoD_v2=214", "copy_in", "CUDA_ERROR_ECC_UNCORRECTABLE (214)"),
    ],
)
def test_a_refusal_names_the_step_and_what_the_driver_said(host, fault, step, words):
    code, answer = proof_of(host(1, fault=fault))
    last = answer["gpu_tests"][0]["steps"][-1]
    assert (last["what"], last["end"]) == (step, "failed")
    assert words in last["detail"]
    assert "gpu_test_failed" in found_but_slow(answer)
    assert code == 2


def test_a_card_that_hangs_is_given_up_and_the_next_one_is_proof_of(host):
    with ends_within_patience("the card hangs for ever"):
        code, answer = proof_of(host(2, fault="hang:cuMemcpyPeer@0"))
    last = answer["gpu_tests"][0]["steps"][-1]
    assert (last["what"], last["end"]) == ("copy_to_peer", "unfinished")
    assert "20 s" in last["detail"]
    assert steps(answer, 1)[("copy_to_peer", "0")]["end"] == "passed"
    assert found_but_slow(answer) == ["gpu_test_unfinished"]
    assert code == 2


@pytest.mark.parametrize(
    ("fault", "step"),
    [("hang:cuDevicePrimaryCtxRetain@0", "copy_to_peer"), ("hang:cuMemGetInfo_v2@1", "multiply"), ("crash:cuDevicePrimaryCtxRelease_v2", "closing")],
)
def test_what_goes_wrong_between_two_steps_is_not_passed(host, fault, step):
    machine = host(2, fault=fault)
    code, answer = proof_of(machine)
    last = [one["steps"][-1] for one in answer["gpu_tests"] if one["steps"][-1]["end"] != "passed"]
    assert step in {one["what"] for one in last}, answer["gpu_tests"]
    assert "gpu_test_unfinished" in found_but_slow(answer)
    assert code == 2


def test_a_list_in_the_users_shell_is_respected_and_makes_no_card_an_error(host):
    machine = host(2, env={"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1"})
    for words in ([], ["--force"]):
        _, answer = proof_of(machine, *words)
        assert answer["gpu_tests"][0]["left_out"] == "not in CUDA_VISIBLE_DEVICES"
        assert steps(answer, 1)[("multiply", "")]["end"] == "passed"
        assert not found_but_slow(answer)


def test_a_driver_that_crashes_takes_only_its_own_process_along(host):
    _, answer = proof_of(host(1, fault="crash:cuLaunchKernel"))
    last = answer["gpu_tests"][0]["steps"][-1]
    assert (last["what"], last["end"]) == ("multiply", "unfinished")
    assert "signal 6" in last["detail"]


def test_a_leased_card_is_left_alone_unless_forced(host, tmp_path):
    machine = host(2, env={"XDG_STATE_HOME": str(tmp_path / "state")})
    flag = tmp_path / "go"
    job = subprocess.Popen(
        [BERTH, "run", "--only", "0", "-q", "--", "sh", "-c", f"touch {flag}; sleep 300"],
        env=machine.environment({}), stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until = time.monotonic() + 30
        while not flag.exists() and time.monotonic() < wait_until:
            time.sleep(0.05)
        code, answer = proof_of(machine)
        assert answer["gpu_tests"][0]["steps"] == []
        assert "sleep 300" in answer["gpu_tests"][0]["left_out"] or "leased" in answer["gpu_tests"][0]["left_out"]
        assert "gpu_not_tested" in found_but_slow(answer)
        assert steps(answer, 1)[("multiply", "")]["end"] == "passed"
        # Nor is anything copied to it: that would be a context and memory beside the job.
        assert not [what for what, _ in steps(answer, 1) if what == "copy_to_peer"]
        _, forced = proof_of(machine, "--force", "-i", "0")
        assert steps(forced)[("multiply", "")]["end"] == "passed"
        assert job.poll() is None
    finally:
        job.terminate()
        job.wait(30)


def test_a_card_that_somebody_is_on_without_a_lease_is_left_alone_too(host):
    job = subprocess.Popen(["sleep", "300"])
    try:
        snapshot = plain(2)
        snapshot["gpu_processes"] = [
            {"device": snapshot["devices"][0]["id"], "pid": job.pid, "type": "C", "mig": None,
             "memory_used_bytes": 2 << 30, "utilization_sm_percent": 50.0}
        ]  # fmt: skip
        snapshot["devices"][0] |= {"memory_used_bytes": 2 << 30, "memory_free_bytes": 77 << 30}
        machine = host(2, snapshot=snapshot)
        assert json.loads(machine.run("leases", "--json").stdout)["leases"] == []
        _, answer = proof_of(machine, "-i", "0")
        assert answer["gpu_tests"][0]["steps"] == []
        assert answer["gpu_tests"][0]["left_out"] == "in use by a process without a lease"
        assert found_but_slow(answer) == ["gpu_not_tested"]
        assert found(answer)[0]["severity"] == "hint"
        _, forced = proof_of(machine, "--force", "-i", "0")
        assert steps(forced)[("multiply", "")]["end"] == "passed"
        assert job.poll() is None
    finally:
        job.kill()
        job.wait(30)


def test_while_it_is_tested_no_job_gets_the_card(host):
    machine = host(1, fault="hang:cuLaunchKernel")
    test = subprocess.Popen(
        [BERTH, "doctor", "--no-import", "--gpu-test"],
        env=machine.environment({}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until = time.monotonic() + 15
        leases = []
        while not leases and time.monotonic() < wait_until:
            leases = json.loads(machine.run("leases", "--json").stdout)["leases"]
        assert leases and leases[0]["command"] == "berth doctor --gpu-test"
        refused = machine.run("run", "--no-wait", "--", "true")
        assert refused.returncode != 0
        assert "berth doctor --gpu-test" in refused.stderr
    finally:
        test.kill()
        test.wait(30)
    # Killed: nothing of it holds the card.
    until = time.monotonic() + 30
    while time.monotonic() < until and json.loads(machine.run("leases", "--json").stdout)["leases"]:
        time.sleep(0.2)
    assert json.loads(machine.run("leases", "--json").stdout)["leases"] == []


def test_of_a_simulated_server_nothing_is_tested(machine):
    done = machine.run("doctor", "--sim", "server-8xh100", "--json", "--gpu-test")
    assert done.returncode == 3 and "needs a real GPU" in done.stderr
    assert "libraries" in json.loads(done.stdout)["not_examined"]
    assert "Nothing found" not in machine.run("doctor", "--sim", "server-8xh100", "--gpu-test").stdout
    tests = json.loads(done.stdout)["gpu_tests"]
    assert tests and all(one["steps"] == [] for one in tests)
    assert all("not of this machine" in one["left_out"] for one in tests)
    assert not [one for one in json.loads(done.stdout)["findings"] if one["rule"].startswith("gpu_")]


@pytest.mark.parametrize("devices", ["7", "0,7"])
def test_a_device_that_is_not_there_is_said(host, devices):
    done = host(1).run("doctor", "--gpu-test", "-i", devices)
    assert done.returncode == 3
    assert "-i 7" in done.stderr and not done.stdout


def test_its_flags_belong_to_it(host):
    done = host(1).run("doctor", "--force")
    assert done.returncode == 3
    assert "--gpu-test" in done.stderr


def test_the_table_says_what_was_right_and_how_fast(host):
    text = host(1).run("doctor", "--no-import", "--gpu-test", timeout=60).stdout
    assert "SIMULATED" in text
    assert "computes, and every result that was checked was right" in text
    assert "times the CPU" in text
    chinese = host(1).run("doctor", "--no-import", "--gpu-test", "--lang", "zh_CN", timeout=60).stdout
    assert "两个矩阵的乘积" in chinese


TOOLKIT = "/usr/local/cuda/bin"


def toolkit_program(name):
    found = shutil.which(name) or shutil.which(name, path=TOOLKIT)
    if found is None:
        pytest.skip(f"no {name} of the CUDA toolkit here")
    return found


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_nvidias_assembler_accepts_the_kernels(host, tmp_path, architecture):
    """What a driver compiles, held against the assembler that the driver has inside."""
    ptxas = toolkit_program("ptxas")
    known = subprocess.run([ptxas, "--help"], capture_output=True, text=True).stdout
    if f"'{architecture}'" not in known:
        pytest.skip(f"this ptxas knows no {architecture}")
    proof_of(host(1, env={"BERTH_FAKE_CUDA_KEEP": str(tmp_path)}))
    modules = sorted(tmp_path.glob("*.ptx"))
    entries = " ".join(one.read_text() for one in modules)
    assert ".entry berth_fill" in entries and ".entry berth_multiply" in entries
    for module in modules:
        done = subprocess.run(
            [ptxas, "-arch", architecture, "-v", "-o", str(tmp_path / "out.cubin"), str(module)],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "error" not in done.stderr
        assert "0 bytes spill stores" in done.stderr, "registers went to memory"


PRODUCT_CU = """
extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    as[threadIdx.y][threadIdx.x] = a[row * n + k0 + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
"""


def test_the_fake_runs_what_nvidias_compiler_wrote(tmp_path, monkeypatch):
    """The fake's machine for PTX, held against a kernel that none of us wrote in PTX."""
    nvcc = toolkit_program("nvcc")
    (tmp_path / "product.cu").write_text(PRODUCT_CU)
    done = subprocess.run(
        [nvcc, "-ptx", "-arch=compute_75", "-o", str(tmp_path / "product.ptx"), str(tmp_path / "product.cu")],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"nvcc does not work here: {done.stderr.strip()[:200]}")
    monkeypatch.setenv("BERTH_FAKE_CUDA", "0" * 32 + "=A")
    cuda = ctypes.CDLL(str(CUDA))
    side = 32
    a = [(7 * i) % 11 - 5 for i in range(side * side)]
    b = [(5 * i) % 13 - 6 for i in range(side * side)]
    wanted = [
        sum(a[row * side + k] * b[k * side + column] for k in range(side))
        for row in range(side) for column in range(side)
    ]  # fmt: skip
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    at = []
    for values in (a, b, [0] * len(a)):
        address = ctypes.c_ulonglong()
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * len(values))) == 0
        bits = struct.pack(f"{len(values)}f", *values)
        assert cuda.cuMemcpyHtoD_v2(address, bits, ctypes.c_size_t(len(bits))) == 0
        at.append(address)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    text = (tmp_path / "product.ptx").read_bytes()
    assert cuda.cuModuleLoadData(ctypes.byref(module), text) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"product") == 0
    length = ctypes.c_int(side)
    parameters = (ctypes.c_void_p * 4)(*map(ctypes.addressof, [*at, length]))
    assert cuda.cuLaunchKernel(function, 2, 2, 1, 16, 16, 1, 0, None, parameters, None) == 0
    out = ctypes.create_string_buffer(4 * len(a))
    assert cuda.cuMemcpyDtoH_v2(out, at[2], ctypes.c_size_t(4 * len(a))) == 0
    assert list(struct.unpack(f"{len(a)}f", out.raw)) == wanted


def test_the_fake_has_what_nvidias_stub_library_exports():
    """Each function that berth asks a driver for is one of NVIDIA's own, by that very name."""
    stub = "/usr/local/cuda/lib64/stubs/libcuda.so"
    listing = subprocess.run(["nm", "-D", "--defined-only", stub], capture_output=True, text=True)
    if listing.returncode != 0:
        pytest.skip("no stub of libcuda here")
    theirs = {line.split()[-1] for line in listing.stdout.splitlines()}
    ours = subprocess.run(["nm", "-D", "--defined-only", str(CUDA)], capture_output=True, text=True)
    names = {word for word in (line.split()[-1] for line in ours.stdout.splitlines()) if word.startswith("cu")}
    assert len(names) > 20
    assert names <= theirs, names - theirs


def test_a_machine_without_a_gpu_has_not_passed(machine_of, tmp_path):
    """A node whose only card has gone must not be called well by a script that asks for the test."""
    snapshot = scenario("server-8xh100")
    for key in ("devices", "gpu_processes", "processes", "leases", "queue", "moves", "problems"):
        snapshot.pop(key, None)
    snapshot["devices"] = []
    file = tmp_path / "none.json"
    file.write_text(json.dumps(snapshot), encoding="utf-8")
    done = machine_of(str(file)).run("doctor", "--no-import", "--gpu-test", timeout=60)
    assert done.returncode == 3 and done.stderr.endswith("no GPU was tested: there is none here\n"), done


@pytest.mark.parametrize("sim", ["mi300x-8", "ascend-910b-8"])
def test_devices_of_other_makers_are_not_called_none(machine_of, sim):
    done = machine_of(sim).run("doctor", "--no-import", "--gpu-test", timeout=60)
    assert done.returncode == 3 and "there is none here that CUDA could compute on" in done.stderr, done
