"""explain: what `berth explain` finds, as objects and as text."""

import os

import pytest

import berth


def test_a_log_is_explained(here, tmp_path):
    log = tmp_path / "train.log"
    log.write_text("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    found = berth.explain(log=log)
    assert [one["rule"] for one in found.findings] == ["cuda_out_of_memory"]
    assert "the GPU's memory was used up" in str(found) and "  try: see who else is on the device: berth ps" in str(found)


def test_a_device_is_watched(here):
    found = berth.explain(2, seconds=1, sim="server-8xh100")
    assert [one["rule"] for one in found.findings] == ["memory_held_idle"]
    assert "GPU 2" in str(found) and "process 30417" in str(found)


def test_a_run_and_what_is_none(here):
    here.run("run", "-q", "--", "true")
    assert berth.explain("last").findings == []
    with pytest.raises(berth.Error, match="nothing-of-the-kind"):
        berth.explain("nothing-of-the-kind")


def test_this_process_is_what_it_means_without_a_word(here):
    found = berth.explain(seconds=1)
    assert str(os.getpid()) in found.json["answers"][0]["subject"]
