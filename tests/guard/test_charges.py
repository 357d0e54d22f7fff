"""What is charged and given back, by each way to a device's memory. The fake driver's own count is beside it."""

import pytest

from driver_programs import GIB, MIB, OUT_OF_MEMORY, UUIDS


def test_an_allocation_beyond_the_limit_is_refused_and_what_is_free_can_be_had(card):
    one = card(1 * GIB)
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 600M")
    assert talk("cuMemAlloc_v2 b 500M") == OUT_OF_MEMORY
    assert talk("info") == (0, 424 * MIB, 1 * GIB)
    talk.all_well("cuMemAlloc_v2 c 424M", "cuMemFree_v2 a", "cuMemAlloc_v2 d 600M")
    assert one.account.charged() == 1 * GIB
    assert one.account.result()[:2] == (1 * GIB, 1)


@pytest.mark.parametrize("how", ["needed", "opened", "asked", "asked_per_thread"])
def test_however_the_program_finds_the_driver(card, how):
    one = card(64 * MIB)
    talk = one.start(how)
    assert talk("cuMemAlloc_v2 a 65M") == OUT_OF_MEMORY
    assert talk("cuMemAllocAsync b 65M") == OUT_OF_MEMORY
    assert talk("cuMemCreate c 0 66M") == OUT_OF_MEMORY
    talk.all_well("cuMemAlloc_v2 a 64M", "cuMemFree_v2 a")
    assert one.account.charged() == 0


@pytest.mark.parametrize(("allocate", "free"), [
    ("cuMemAlloc_v2 x 32M", "cuMemFree_v2 x"),
    ("cuMemAlloc x 32M", "cuMemFree x"),
    ("cuMemAllocManaged x 32M", "cuMemFree_v2 x"),
    ("cuMemAlloc_v2 x 32M", "cuMemFreeAsync x"),
    ("cuMemAlloc_v2 x 32M", "cuMemFreeAsync_ptsz x"),
    ("cuMemAllocPitch_v2 x 8K 4K", "cuMemFree_v2 x"),
    ("cuMemCreate x 0 32M", "cuMemRelease x"),
    ("cuArrayCreate_v2 x 2K 4K", "cuArrayDestroy x"),
    ("cuArray3DCreate_v2 x 256 256 128 0", "cuArrayDestroy x"),
    ("cuArray3DCreate_v2 x 256 256 128 1", "cuArrayDestroy x"),
])  # fmt: skip
def test_one_of_each_kind(card, allocate, free):
    one = card(40 * MIB)
    talk, other = one.start(), one.start_bare()
    talk.all_well(allocate)
    assert one.account.charged() == 32 * MIB
    assert other("info")[1] == 4 * GIB - 32 * MIB
    assert talk(allocate.replace(" x ", " y ")) == OUT_OF_MEMORY
    talk.all_well(free, allocate, free)
    assert (one.account.charged(), other("info")[1]) == (0, 4 * GIB)


@pytest.mark.parametrize("allocate", [
    "cuMemAllocHost_v2 x 64M", "cuArray3DCreate_v2 x 4K 4K 0 0x40", "cuArray3DCreate_v2 x 4K 4K 0 0x80",
    "cuMemCreate x -1 64M",
])  # fmt: skip
def test_what_takes_no_memory_of_a_device_is_not_charged(card, allocate):
    one = card(32 * MIB)
    one.start().all_well(allocate)
    assert one.account.charged() == 0


def test_levels_of_a_mipmapped_array(card):
    one = card(1 * GIB)
    talk = one.start()
    talk.all_well("cuMipmappedArrayCreate x 1K 1K 0 0 3")
    assert one.account.charged() == 4 * (MIB + MIB // 4 + MIB // 16)
    talk.all_well("cuMipmappedArrayDestroy x")
    assert one.account.charged() == 0


def test_rows_with_the_padding_that_the_driver_chose(card):
    one = card(16 * MIB, fault="wide_pitch")
    talk = one.start()
    talk.all_well("cuMemAllocPitch_v2 a 512 2K")  # 4 KiB a row
    assert one.account.charged() == 8 * MIB
    assert talk("cuMemAllocPitch_v2 b 512 3K") == OUT_OF_MEMORY  # known too late: given back
    assert one.account.charged() == 8 * MIB


def test_an_allocation_that_the_driver_refuses_is_refunded(card):
    one = card(1 * GIB, fault="cuMemAlloc_v2=2,cuMemCreate=2,cuArrayCreate_v2=1,cuMemAllocAsync=700,cuGreenCtxCreate=801")
    talk = one.start()
    assert [talk("cuMemAlloc_v2 a 1M"), talk("cuMemCreate b 0 2M"), talk("cuArrayCreate_v2 c 1K 1K"),
            talk("cuMemAllocAsync d 1M"), talk("cuGreenCtxCreate e 0")] == [2, 2, 1, 700, 801]
    assert one.account.charged() == 0
    assert one.account.result()[1] == 0  # none of them was ours


def test_a_free_that_the_driver_refuses_is_not_refunded(card):
    one = card(1 * GIB)
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 1M", "environment BERTH_FAKE_CUDA_FAULT cuMemFree_v2=700")
    assert talk("cuMemFree_v2 a") == 700
    assert one.account.charged() == MIB
    talk.all_well("environment BERTH_FAKE_CUDA_FAULT", "cuMemFree_v2 a")
    assert one.account.charged() == 0


def test_a_pointer_that_was_never_charged_is_the_drivers_business(card):
    one = card(1 * GIB)
    talk = one.start()
    assert talk("set a 4096") == 0
    assert [talk("cuMemFree_v2 a"), talk("cuMemFreeAsync a"), talk("cuMemRelease a")] == [1, 1, 1]
    talk.all_well("cuMemAlloc_v2 m 1M", "ipc b m", "cuMemFree_v2 b", "ipc c m", "cuMemFreeAsync c")
    assert one.account.charged() == MIB


# Pools.


def test_a_pool_is_charged_what_it_reserves(card):
    one = card(64 * MIB)
    talk = one.start()
    talk.all_well("cuMemAllocAsync a 33M")
    assert one.account.charged() == 34 * MIB  # in steps of the fake driver's
    assert talk("cuMemAllocAsync b 32M") == OUT_OF_MEMORY
    talk.all_well("cuMemFreeAsync a")
    assert one.account.charged() == 34 * MIB  # until the stream has been waited for
    talk.all_well("cuMemAllocAsync b 34M", "cuMemFreeAsync b", "cuStreamSynchronize")
    assert one.account.charged() == 0


@pytest.mark.parametrize("suffix", ["", "_ptsz"])
def test_a_pool_of_the_programs_own(card, suffix):
    one = card(64 * MIB, 32 * MIB)
    talk = one.start()
    talk.all_well("cuMemPoolCreate p 1", "threshold p 1G")
    assert talk(f"cuMemAllocFromPoolAsync{suffix} a p 33M") == OUT_OF_MEMORY  # of device 1, whatever is current
    talk.all_well(f"cuMemAllocFromPoolAsync{suffix} a p 32M", f"cuMemFreeAsync{suffix} a", "cuCtxSynchronize")
    assert (one.account.charged(0), one.account.charged(1)) == (0, 32 * MIB)  # below its threshold it is kept
    talk.all_well("cuMemPoolTrimTo p 8M")
    assert one.account.charged(1) == 8 * MIB
    talk.all_well("cuMemPoolDestroy p")
    assert one.account.charged(1) == 0


def test_what_a_destroyed_pool_still_serves_stays_charged(card):
    one = card(64 * MIB)
    talk = one.start()
    talk.all_well("cuMemPoolCreate p 0", "cuMemAllocFromPoolAsync a p 8M", "cuMemAllocFromPoolAsync b p 16M",
                  "cuMemPoolDestroy p")
    assert one.account.charged() == 24 * MIB
    talk.all_well("cuMemFreeAsync a")
    assert one.account.charged() == 16 * MIB
    talk.all_well("cuMemFree_v2 b")
    assert one.account.charged() == 0


def test_a_pool_that_grows_by_more_than_expected_stays_below_the_limit(card):
    one = card(64 * MIB, fault="fragmented")
    talk, other = one.start(), one.start_bare()
    talk.all_well("cuDeviceGetDefaultMemPool p 0", "threshold p 1G", "cuMemAllocAsync a 32M", "cuMemFreeAsync a",
                  "cuMemAllocAsync b 20M")
    assert one.account.charged() == 52 * MIB
    assert talk("cuMemAllocAsync c 30M") == OUT_OF_MEMORY
    assert 4 * GIB - other("info")[1] == one.account.charged() <= 64 * MIB


def test_before_it_refuses_it_looks_at_what_pools_gave_back(card):
    one = card(64 * MIB)
    talk = one.start()
    talk.all_well("cuMemPoolCreate p 0", "cuMemAllocFromPoolAsync a p 60M", "cuMemFreeAsync a")
    assert talk("cuMemAlloc_v2 b 60M") == OUT_OF_MEMORY  # the pool has it still
    talk.all_well("cuMemPoolTrimTo p 0", "cuMemAlloc_v2 b 60M")


def test_a_pool_of_the_hosts_memory_is_not_charged(card):
    one = card(8 * MIB)
    talk = one.start()
    talk.all_well("cuMemPoolCreate p -1", "cuMemAllocFromPoolAsync a p 64M", "cuMemFreeAsync a")
    assert one.account.charged() == 0


def test_more_pools_than_are_watched(card):
    one = card(700 * MIB)
    talk = one.start()
    assert talk("times 300 cuMemPoolCreate p# 0") == (0, 300)
    talk.all_well("cuMemAllocFromPoolAsync a p10 100M", "cuMemAllocFromPoolAsync b p299 100M")
    assert one.account.charged() == 200 * MIB
    talk.all_well("cuMemFreeAsync b")
    assert one.account.charged() == 100 * MIB


def test_a_captured_allocation_is_the_graphs(card):
    one = card(8 * MIB)
    talk = one.start()
    talk.all_well("cuStreamCreate s", "cuStreamBeginCapture_v2 s", "cuMemAllocAsync a 64M s")
    assert one.account.charged() == 0


# Virtual memory, as PyTorch's expandable segments use it.


def test_a_block_lives_until_its_last_handle_and_its_last_mapping(card):
    one = card(64 * MIB)
    talk = one.start()
    talk.all_well("cuMemAddressReserve v 256M", "cuMemCreate a 0 32M", "cuMemMap v 0 a 32M", "cuMemMap v 64M a 32M",
                  "cuMemRelease a")
    assert one.account.charged() == 32 * MIB
    talk.all_well("cuMemUnmap v 0 32M")
    assert one.account.charged() == 32 * MIB
    talk.all_well("cuMemRetainAllocationHandle b v 64M", "cuMemUnmap v 64M 32M")
    assert one.account.charged() == 32 * MIB
    talk.all_well("cuMemRelease b")
    assert one.account.charged() == 0


def test_many_blocks_unmapped_at_once(card):
    one = card(1 * GIB)
    talk = one.start()
    talk.all_well("cuMemAddressReserve v 1G", "cuMemCreate host -1 2M", "cuMemMap v 0 host 2M")
    for number in range(1, 20):
        talk.all_well(f"cuMemCreate h{number} 0 4M", f"cuMemMap v {4 * number - 2}M h{number} 4M",
                      f"cuMemRelease h{number}")
    assert one.account.charged() == 19 * 4 * MIB
    talk.all_well("cuMemUnmap v 0 78M")
    assert one.account.charged() == 0


def test_a_block_is_charged_to_the_device_of_its_properties(card):
    one = card(64 * MIB, 8 * MIB)
    talk = one.start()  # device 0 is current
    assert talk("cuMemCreate a 1 10M") == OUT_OF_MEMORY
    talk.all_well("cuMemCreate a 1 8M", "cuMemCreate b 0 64M")
    assert (one.account.charged(0), one.account.charged(1)) == (64 * MIB, 8 * MIB)


def taken(one):
    """As the driver counts it."""
    return 4 * GIB - one.start_bare()("info")[1]


def test_a_multicast_object_has_no_memory_and_what_is_bound_is_charged_once(card):
    one = card(64 * MIB)
    talk = one.start()
    talk.all_well("cuMemCreate a 0 64M", "cuMulticastCreate m 64M", "cuMulticastBindMem m a 64M", "cuMemAddressReserve v 128M",
                  "cuMemMap v 0 a 64M", "cuMemMap v 64M m 64M")
    assert one.account.charged() == 64 * MIB
    assert talk("cuMemCreate b 0 2M") == OUT_OF_MEMORY
    talk.all_well("cuMemUnmap v 0 128M", "cuMulticastUnbind m 64M", "cuMemRelease m", "cuMemRelease a")
    assert (one.account.charged(), taken(one)) == (0, 0)


def test_a_block_that_is_bound_alone_is_not_counted(card):
    """The watchdog's then: what the driver measures above the charges is told, and counts once it lasts."""
    one = card(64 * MIB)
    talk = one.start()
    talk.all_well("cuMemCreate a 0 64M", "cuMulticastCreate m 64M", "cuMulticastBindMem m a 64M", "cuMemRelease a")
    assert (one.account.charged(), taken(one)) == (0, 64 * MIB)


def test_who_imports_does_not_pay_again(card):
    one = card(64 * MIB)
    talk = one.start()
    talk.all_well("cuMemCreate a 0 40M", "export_and_import b a", "cuMemAlloc_v2 m 10M", "ipc c m")
    assert one.account.charged() == 50 * MIB
    talk.all_well("cuMemRelease b", "cuIpcCloseMemHandle c")
    assert one.account.charged() == 50 * MIB


# Graphs.


@pytest.mark.parametrize("by", ["cuGraphAddMemAllocNode", "cuGraphAddNode"])
@pytest.mark.parametrize("launch", ["cuGraphLaunch", "cuGraphLaunch_ptsz"])
def test_what_a_graph_reserves_is_charged_at_its_launch(card, by, launch):
    one = card(64 * MIB)
    talk = one.start()
    talk.all_well("cuGraphCreate g", f"{by} x g 0 40M", "cuGraphAddMemFreeNode x g",
                  "cuGraphInstantiateWithFlags e g")
    assert one.account.charged() == 0
    talk.all_well(f"{launch} e", f"{launch} e")
    assert one.account.charged() == 40 * MIB
    talk.all_well("cuGraphExecDestroy e", "cuDeviceGraphMemTrim 0")
    assert one.account.charged() == 0


def test_a_launch_that_needs_more_than_there_is_left_is_refused(card):
    one = card(64 * MIB)
    talk, other = one.start(), one.start_bare()
    talk.all_well("cuGraphCreate g", "cuGraphAddMemAllocNode x g 0 40M", "cuGraphAddMemFreeNode x g",
                  "cuGraphInstantiateWithParams e g", "cuMemAlloc_v2 a 30M")
    assert talk("cuGraphLaunch e") == OUT_OF_MEMORY
    assert 4 * GIB - other("info")[1] == 30 * MIB
    talk.all_well("cuMemFree_v2 a", "cuGraphLaunch e", "cuMemAlloc_v2 a 24M", "cuGraphLaunch e",
                  "cuDeviceGraphMemTrim 0", "cuMemAlloc_v2 b 20M")
    assert talk("cuGraphLaunch e") == OUT_OF_MEMORY  # trimmed, it would have to reserve again


# Contexts.


def test_a_primary_context_is_charged_once(card):
    one = card(1 * GIB, context=300 * MIB, context_cost="280M")
    talk = one.start()
    talk.all_well("use 0", "cuMemAlloc_v2 a 100M")
    assert one.account.charged() == 400 * MIB
    talk.all_well("cuDevicePrimaryCtxRelease_v2 0")
    assert one.account.charged() == 400 * MIB
    talk.all_well("cuDevicePrimaryCtxRelease_v2 0")  # the last: its memory goes with it
    assert one.account.charged() == 0


def test_a_reset_gives_back_what_was_in_the_context(card):
    one = card(1 * GIB, context=300 * MIB)
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 100M", "cuArrayCreate_v2 b 1K 1K", "cuDevicePrimaryCtxReset_v2 0")
    assert one.account.charged() == 0
    talk.all_well("use 0", "cuMemAlloc_v2 a 100M")
    assert one.account.charged() == 400 * MIB


def test_a_context_of_its_own_ends_with_its_memory_alone(card):
    one = card(2 * GIB, context=300 * MIB)
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 10M", "cuCtxCreate_v2 c 0", "cuMemAlloc_v2 b 20M", "cuCtxCreate_v3 d 0")
    assert one.account.charged() == 930 * MIB
    talk.all_well("cuCtxDestroy_v2 c")
    assert one.account.charged() == 610 * MIB


def test_a_context_that_does_not_fit_is_refused(card):
    one = card(400 * MIB, context=300 * MIB)
    talk = one.start()
    assert talk("cuCtxCreate_v2 c 0") == OUT_OF_MEMORY
    talk.all_well("cuGreenCtxCreate g 0", "cuGreenCtxDestroy g", "cuDevicePrimaryCtxRelease_v2 0",
                  "cuGreenCtxCreate g 0")
    assert one.account.charged() == 300 * MIB
    talk.all_well("cuGreenCtxDestroy g")
    assert one.account.charged() == 0


# What is said.


def test_the_limit_is_what_the_device_has(card):
    one = card(1 * GIB, 0)
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 256M")
    assert talk("total 0") == (0, 1 * GIB)
    assert talk("total 1") == (0, 4 * GIB)  # no limit is not 0
    assert talk("old_info") == (0, 768 * MIB, 1 * GIB)
    talk.all_well("info_of_nothing", "use 1")
    assert talk("info") == (0, 4 * GIB, 4 * GIB)


def test_what_is_free_is_no_more_than_the_card_has(card):
    one = card(3 * GIB)
    talk, neighbour = one.start(), one.start_bare()
    neighbour.all_well("cuMemAlloc_v2 a 3G")
    assert talk("info") == (0, 1 * GIB, 3 * GIB)
    assert talk("cuMemAlloc_v2 b 2G") == OUT_OF_MEMORY  # the driver's own answer
    assert one.account.result()[1] == 0


def test_more_than_the_limit_in_use_is_nothing_free(card):
    one = card(1 * GIB)
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 100M")
    one.account.put(one.account.PAGE + 16, 1 * GIB)  # as the sampler says what the driver has beside it
    assert talk("info") == (0, 0, 1 * GIB)
    assert talk("cuMemAlloc_v2 b 1") == OUT_OF_MEMORY
    one.account.put(one.account.PAGE + 16, 24 * MIB)
    assert talk("info") == (0, 900 * MIB, 1 * GIB)


def test_devices_are_known_by_uuid(card):
    one = card(64 * MIB, 8 * MIB)
    talk = one.start(env={"CUDA_VISIBLE_DEVICES": "1"})
    assert talk("info") == (0, 8 * MIB, 8 * MIB)
    assert talk("cuMemAlloc_v2 a 9M") == OUT_OF_MEMORY
    talk.all_well("cuMemAlloc_v2 a 8M")
    assert (one.account.charged(0), one.account.charged(1)) == (0, 8 * MIB)


def test_a_device_that_is_not_in_the_account_has_no_limit(card):
    one = card(8 * MIB)
    talk = one.start()
    talk.all_well("use 1", "cuMemAlloc_v2 a 64M", "cuMemCreate b 1 64M", "cuMemFree_v2 a")
    assert talk("info") == (0, 4 * GIB - 64 * MIB, 4 * GIB)
    assert len(UUIDS) > 1 and one.account.charged() == 0


def test_pointers_are_what_the_driver_says(card):
    one = card(1 * GIB)
    talk = one.start()
    talk.all_well("cuMemAllocManaged a 1M", "use 1", "cuMemAlloc_v2 b 1M")
    assert (talk("pointer a"), talk("pointer b")) == ((0, 0), (0, 1))
