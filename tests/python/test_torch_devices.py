"""The tutorials' functions: with the CPU's torch, and with a stand-in for torch.cuda."""

import types
import warnings

import pytest

torch = pytest.importorskip("torch", reason="python3-torch is not installed")

from conftest import E2E

import berth
from berth import torch_devices


@pytest.fixture
def cards(here, monkeypatch, tmp_path):
    """The simulated server's cards as real ones, behind the fake driver library."""
    monkeypatch.delenv("BERTH_SIM")
    driver = E2E.FakeDriver(tmp_path, E2E.scenario("server-8xh100"))
    for name in ("BERTH_NVML", "BERTH_FAKE_NVML"):
        monkeypatch.setenv(name, driver.env[name])


@pytest.fixture
def cuda_of(monkeypatch, cards):
    """cuda_of(n): torch sees n GPUs; what was set as the current one is in the list."""
    monkeypatch.setattr(torch_devices, "_said", set())
    current = []

    def make(count):
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "set_device", current.append)
        monkeypatch.setattr(torch.version, "cuda", "12.4")
        return current

    return make


def told(function, *arguments):
    """(what it returned, what it warned of)"""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = function(*arguments)
    return found, [str(one.message) for one in warned]


def test_without_cuda_it_is_the_cpu_and_says_why_once(here, monkeypatch):
    monkeypatch.setattr(torch_devices, "_said", set())
    device, warned = told(berth.try_gpu)
    assert device == torch.device("cpu")
    assert len(warned) == 1 and "built for the CPU alone" in warned[0]
    assert told(berth.try_gpu) == (torch.device("cpu"), [])
    assert told(berth.try_all_gpus)[0] == [torch.device("cpu")]


def test_a_simulated_gpu_is_the_cpu(here):
    with berth.lease() as lease:
        assert lease.devices[0].index == 3
        assert lease.device == lease.devices[0].torch() == berth.try_gpu() == torch.device("cpu")


def test_a_gpu_that_is_not_there_is_told(cuda_of, monkeypatch):
    cuda_of(2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,6")
    device, warned = told(berth.try_gpu, 2)
    assert device == torch.device("cpu")
    assert "2 GPUs with CUDA_VISIBLE_DEVICES=5,6" in warned[0]
    assert told(berth.try_all_gpus) == ([torch.device("cuda:0"), torch.device("cuda:1")], [])


def test_others_who_compute_there_are_named_once(cuda_of, monkeypatch):
    cuda_of(8)
    device, warned = told(berth.try_gpu, 0)
    assert device == torch.device("cuda:0")
    assert len(warned) == 1 and "(pid 21871)" in warned[0] and "GPU 0" in warned[0]
    assert told(berth.try_gpu, 0)[1] == []
    assert told(berth.try_gpu, 5) == (torch.device("cuda:5"), [])


def test_it_works_without_berths_program(cuda_of, monkeypatch):
    cuda_of(1)
    monkeypatch.setenv("BERTH_HELPER", "/nonexistent/berth")
    assert told(berth.try_gpu) == (torch.device("cuda:0"), [])


def test_in_a_lease_it_is_the_leases(cuda_of):
    cuda_of(8)
    with berth.lease(2) as lease:
        assert told(berth.try_gpu, 1) == (torch.device("cuda:1"), [])
        assert told(berth.try_all_gpus)[0] == [torch.device("cuda:0"), torch.device("cuda:1")]
        assert lease.device == torch.device("cuda:0")
        device, warned = told(berth.try_gpu, 2)
        assert device == torch.device("cpu") and "the lease has 2 GPUs" in warned[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with berth.lease(only=0, or_cpu=True) as lease:
            assert lease.device == torch.device("cpu")
            assert berth.try_gpu() == torch.device("cpu")


def test_a_device_has_its_number_here_or_none(cuda_of, monkeypatch):
    cuda_of(2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,6")
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    assert [one.torch() for one in berth.devices(visible=True)] == [torch.device("cuda:0"), torch.device("cuda:1")]
    with pytest.raises(berth.Error, match="GPU 0 .*CUDA_VISIBLE_DEVICES=5,6"):
        berth.devices()[0].torch()


def test_a_ranks_device(cuda_of, monkeypatch):
    current = cuda_of(4)
    assert berth.local_device() == torch.device("cuda:0"), "one process alone"
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(berth.Error, match="LOCAL_RANK is not.*torchrun"):
        berth.local_device()
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert berth.local_device() == torch.device("cuda:3")
    assert current == [torch.device("cuda:0"), torch.device("cuda:3")]
    cuda_of(2)
    with pytest.raises(berth.Error, match=r"LOCAL_RANK is 3, and this process sees 2 GPUs.*berth run -n 4"):
        berth.local_device()
    cuda_of(0)
    assert told(berth.local_device)[0] == torch.device("cpu")


def test_a_scheduler_that_shows_each_task_its_own(cuda_of, monkeypatch):
    cuda_of(1)
    monkeypatch.setenv("SLURM_LOCALID", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert berth.local_device() == torch.device("cuda:0")


def test_same_device_names_both():
    weight, x = torch.zeros(3, 4), torch.zeros(2, 4, device="meta")
    assert berth.same_device(weight, weight) == torch.device("cpu")
    with pytest.raises(berth.Error) as raised:
        berth.same_device(weight=weight, x=x)
    assert "weight [3, 4] is on cpu, but x [2, 4] is on meta" in str(raised.value)
    assert raised.value.remedy == "move one: x = x.to(weight.device)"
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    assert berth.same_device(model=model) == torch.device("cpu")
    model[1].bias = torch.nn.Parameter(torch.zeros(2, device="meta"))
    with pytest.raises(berth.Error, match=r"model\.0\.weight \[2, 2\] is on cpu, but model\.1\.bias \[2\] is on meta"):
        berth.same_device(model=model)
    with pytest.raises(berth.Error, match="argument 2 is a str"):
        berth.same_device(x, "cuda")
    with pytest.raises(berth.Error, match="no tensor"):
        berth.same_device()
    assert isinstance(berth.same_device(types.SimpleNamespace(device="gpu", shape=())), str), "any framework's"


@pytest.fixture
def backend_of(monkeypatch, here):
    """backend_of("xpu", 2): a torch that knows such devices alone; what was set as the current one is in the list."""
    monkeypatch.setattr(torch_devices, "_said", set())
    current = []

    def make(kind, count):
        module = types.SimpleNamespace(device_count=lambda: count, set_device=current.append)
        monkeypatch.setattr(torch, kind, module, raising=False)
        monkeypatch.setattr(torch.version, kind, "2025.1", raising=False)
        # Before torch 2.0 it knows no name of a package's devices.
        monkeypatch.setattr(torch, "device", lambda kind, number=None: kind if number is None else f"{kind}:{number}")
        return current

    return make


@pytest.mark.parametrize("kind", ["xpu", "npu"])
def test_intels_and_ascends_devices_are_no_cpu(backend_of, monkeypatch, kind):
    current = backend_of(kind, 2)
    monkeypatch.setattr(torch_devices, "devices", lambda visible: [])
    assert told(berth.try_gpu) == (f"{kind}:0", [])
    assert told(berth.try_all_gpus) == ([f"{kind}:0", f"{kind}:1"], [])
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert told(berth.local_device) == (f"{kind}:1", []) and current == [f"{kind}:1"]
    device, warned = told(berth.try_gpu, 2)
    assert device == "cpu" and warned == [f"berth: {kind}:2 is the CPU: torch sees 2 GPUs; `berth doctor` says why"]


@pytest.mark.parametrize(("kind", "variable"), [("xpu", "ZE_AFFINITY_MASK"), ("npu", "ASCEND_RT_VISIBLE_DEVICES")])
def test_what_hides_them_is_their_own_variable(backend_of, monkeypatch, kind, variable):
    backend_of(kind, 0)
    monkeypatch.setenv(variable, "7")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    device, warned = told(berth.try_gpu)
    assert device == "cpu" and warned == [f"berth: {kind}:0 is the CPU: torch sees 0 GPUs with {variable}=7"]
    backend_of(kind, 1)
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(berth.Error, match=rf"sees 1 GPUs \({variable}=7\)"):
        berth.local_device()


def test_others_on_an_intel_are_named(backend_of, monkeypatch):
    backend_of("xpu", 1)
    other = types.SimpleNamespace(user="ann", pid=21, mine=False)
    seen = [types.SimpleNamespace(kind=kind, processes=[other] if kind == "intel-gpu" else []) for kind in ("amd-gpu", "intel-gpu")]
    monkeypatch.setattr(torch_devices, "devices", lambda visible: seen)
    _, [warned] = told(berth.try_gpu)
    assert "xpu:0 is " in warned and "ann (pid 21)" in warned


def test_a_package_that_is_not_imported_is_named(here, monkeypatch):
    monkeypatch.setattr(torch_devices, "_said", set())
    monkeypatch.setattr(torch_devices.importlib.util, "find_spec", lambda name: name == "torch_npu")
    assert "import torch_npu adds Ascend's devices" in told(berth.try_gpu)[1][0]
