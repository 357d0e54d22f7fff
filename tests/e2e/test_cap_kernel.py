"""A share that the kernel holds. Root has set a limit for the job's control group, and the fake driver tells it."""

import json
import os

import pytest
from aftermath import leases, show
from test_cap_tiers import FAKES, GIB, Card

RUNTIME = FAKES / "cudart/libcudart.so.12"
GROUP = "/sys/fs/cgroup"


class Grouped(Card):
    """Its processes are in the control group of version 2 that is mounted there."""

    def command(self, *words):
        own = f'mount -t cgroup2 none {GROUP} && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", own, "sh", *super().command(*words)]

    def limit(self, size, group=GROUP):
        [device] = json.loads((self.directory / "played.json").read_text(encoding="utf-8"))["devices"]
        self.env["BERTH_FAKE_NVML_LIMITS"] = f"{group}={device['uuid']}={size}"

    def why_not(self, *options):
        self.run("run", "-q", "--memory", "2G", *options, "--", "true", timeout=60)
        return show(self)["cap"]["not_held_by"]["kernel"]


@pytest.fixture
def card(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount control groups")
    return Grouped(tmp_path)


def test_a_limit_at_the_share_holds_the_run_and_no_shim_is_needed(card):
    card.limit(2 * GIB)
    said = card.run("run", "--memory", "2G", "--", "/usr/bin/python3", "-c", "import os; print(os.environ.get('LD_PRELOAD'))",
                    timeout=60)  # fmt: skip
    assert said.stdout == "None\n" and "limited by the kernel" in said.stderr.splitlines()[0], said.stderr
    cap = show(card)["cap"]
    assert cap["tier"] == "kernel" and "not_held_by" not in cap
    assert (cap["proved"], cap["proved_why"]) == ("unknown", "none of its processes was seen on a device")
    lease = card.run("run", "-q", "--memory", "2G", "--", *Card.command(card, "leases", "--json"),
                     timeout=60)  # fmt: skip
    assert [one["held_by"] for one in json.loads(lease.stdout)["leases"]] == ["kernel"] and leases(card) == []


def test_by_name_it_is_taken_or_refused_with_the_reason(card):
    refused = card.run("run", "--memory", "2G", "--cap", "kernel", "--", "true", timeout=60)
    assert refused.returncode == 125
    assert "--cap kernel: no limit of the kernel is set for the job's control group" in refused.stderr
    card.limit(GIB)
    assert card.run("run", "-q", "--memory", "2G", "--cap", "kernel", "--", "true", timeout=60).returncode == 0


def test_a_limit_above_the_share_does_not_hold_it_and_the_shim_does(card):
    card.limit(3 * GIB)
    told, record, _ = card.take("--memory", "2G")
    assert told["code"] == 2 and told["first"] <= 2 * GIB
    assert record["cap"]["tier"] == "shim"
    assert record["cap"]["not_held_by"]["kernel"] == "the kernel's limit on GPU 0 is 3.0 GiB, above the share"
    refused = card.run("run", "--memory", "2G", "--cap", "kernel", "--", "true", timeout=60)
    assert refused.returncode == 125 and "3.0 GiB, above the share" in refused.stderr


def test_a_limit_of_another_group_or_card_is_none_of_the_jobs(card):
    card.limit(GIB, group=f"{GROUP}/elsewhere")
    assert "no limit of the kernel is set" in card.why_not()
    card.env["BERTH_FAKE_NVML_LIMITS"] = f"{GROUP}=GPU-ffffffff-0000-4000-8000-000000000000={GIB}"
    assert "no limit of the kernel is set" in card.why_not()


def test_a_limit_is_not_believed_to_go_along_into_what_another_starts(card):
    card.limit(2 * GIB)
    folder = card.directory / "bin"
    folder.mkdir()
    card.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    for name in ("docker", "srun", "apptainer"):
        (folder / name).symlink_to("/bin/true")
        assert card.run("run", "-q", "--memory", "2G", "--", name, "start", "it", timeout=60).returncode == 0
        cap = show(card)["cap"]
        if name == "apptainer":  # its containers are in the run's own group
            assert cap["tier"] == "kernel" and "said" not in cap
        else:
            assert cap["tier"] == "watchdog"
            assert "it does not go along" in cap["not_held_by"]["kernel"]


def test_an_older_driver_says_that_it_has_none(tmp_path, card):
    card.env["BERTH_NVML"] = card.env["BERTH_NVML"].replace("/all/", "/real-550.163.01/")
    assert card.why_not() == "this driver sets no limits of the kernel; 615 and newer do"
