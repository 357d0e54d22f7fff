"""When CUDA_VISIBLE_DEVICES is too late, by torch's words and by libcuda's. libcuda is only asked where it is loaded
already, by cuDeviceGetCount, which begins nothing."""

import pytest

BEGIN = """
import torch
def show(list_): os.environ["CUDA_VISIBLE_DEVICES"] = list_
"""


@pytest.fixture
def four(bed):
    """Four cards, two of them shown."""
    machine = bed(4)
    machine.env["CUDA_VISIBLE_DEVICES"] = "0,1"
    return machine


def test_importing_torch_begins_nothing(four):
    told = four.told_by(BEGIN + "tell(before=cuda()); show('3'); tell(count=torch.cuda.device_count(), then=torch.ones(2, device='cuda').device.index, after=cuda(), uuid=str(torch.cuda.get_device_properties(0).uuid))")
    assert told["before"] in (None, "not begun")
    assert (told["count"], told["after"]) == (1, 1)
    assert "GPU-" + told["uuid"] == four.cards[3]["uuid"]


def test_device_count_with_nvml_follows_the_variable_and_begins_nothing(four):
    told = four.told_by(BEGIN + "first = torch.cuda.device_count(); show('0,1,2'); tell(counts=[first, torch.cuda.device_count()], driver=cuda())")
    assert told["counts"] == [2, 3]
    assert told["driver"] in (None, "not begun")


def test_device_count_without_nvml_freezes_the_list(four):
    told = four.without_nvml().told_by(BEGIN + "tell(count=torch.cuda.device_count(), begun=torch.cuda.is_initialized(), driver=cuda()); show('0,1,2'); torch.cuda.device_count.cache_clear() if hasattr(torch.cuda.device_count, 'cache_clear') else None; tell(then=cuda())")
    assert (told["count"], told["begun"]) == (2, False)
    assert told["driver"] == told["then"] == 2


def test_is_available_freezes_the_list_and_torch_does_not_know(four):
    told = four.told_by(BEGIN + "tell(available=torch.cuda.is_available(), begun=torch.cuda.is_initialized(), driver=cuda())")
    assert told == {"available": True, "begun": False, "driver": 2}


def test_after_that_torch_counts_devices_that_it_does_not_have(four):
    told = four.told_by(BEGIN + """
torch.cuda.is_available()
show("1,2,3")
try:
    torch.ones(2, device="cuda:2")
    text = ""
except Exception as error:
    text = str(error)
tell(count=torch.cuda.device_count(), driver=cuda(), text=text)
""")
    assert (told["count"], told["driver"]) == (3, 2)
    assert "INTERNAL ASSERT" in told["text"]


def test_is_available_by_nvml_begins_nothing(four):
    told = four.told_by(
        BEGIN + "tell(available=torch.cuda.is_available(), driver=cuda()); show('2'); tell(count=torch.cuda.device_count())",
        PYTORCH_NVML_BASED_CUDA_CHECK="1",
    )
    assert told["available"] is True and told["driver"] in (None, "not begun") and told["count"] == 1


def test_where_nobody_loaded_the_driver_there_is_nothing_to_ask(four):
    assert four.told_by("tell(driver=cuda())") == {"driver": None}
