"""look, devices, pick, watch: what they tell is what the program tells."""

import json
import os
import re
import signal

import pytest

from conftest import E2E, ROOT, wait_until


PATIENCE_S = 5  # of the probe with a driver that is silent

SEEN = """
look = berth.look(depth="details")
print(json.dumps({
    "devices": [
        [d.index, d.id, d.name, d.pci, d.state, d.holder, d.memory_total.value, d.memory_used.value, d.memory_used.why,
         d.utilization.value, d.power.value, d.power.why, d.temperature.value, d.compute, d.cuda_cores]
        for d in look.devices
    ],
    "processes": [[p.pid, p.user, p.memory.value, p.device, p.mine] for p in look.processes],
    "of devices": [[p.pid for p in d.processes] for d in look.devices],
    "json": look.json(), "own": os.getpid(), "taken": look.taken, "problems": look.problems,
}))
"""


@pytest.mark.parametrize("sim", ["server-8xh100", "lab-4", "desktop", "h100-mig", "faults", "driver-mismatch"])
def test_a_look_is_what_status_shows(desk_of, sim):
    desk = desk_of(sim)
    seen, shown = desk.told(SEEN), desk.status()
    wanted = seen["json"]
    assert [one["id"] for one in wanted["devices"]] == [one["id"] for one in shown["devices"]] != []
    assert [one["state"] for one in wanted["devices"]] == [one["state"] for one in shown["devices"]]
    assert len(seen["devices"]) == len(wanted["devices"])
    for got, device in zip(seen["devices"], wanted["devices"]):
        power, compute = device["power_draw_milliwatts"], device["compute_capability"]
        assert got == [
            device["index"], device["id"], device["name"] or "", device["pci_address"] or None, device["state"],
            device["users"] or None, device["memory_total_bytes"], device["memory_used_bytes"],
            device["why"].get("memory_used_bytes"), device["utilization_gpu_percent"],
            power / 1000 if power is not None else None, device["why"].get("power_draw_milliwatts"),
            device["temperature_celsius"], [int(part) for part in compute.split(".")] if compute else None,
            device["cuda_cores"],
        ]  # fmt: skip
    users = {one["pid"]: one["user"] for one in wanted["processes"]}
    # An invented number may be this program's by chance.
    own = {one["pid"] for one in wanted["processes"] if seen["own"] in (one["pid"], *one["ancestors"])}
    ids = [device["id"] for device in wanted["devices"]]
    assert seen["processes"] == [
        [one["pid"], users.get(one["pid"]), one["memory_used_bytes"],
         ids.index(one["device"]) if one["device"] in ids else None, one["pid"] in own]
        for one in wanted["gpu_processes"]
    ]  # fmt: skip
    assert [sorted(pids) for pids in seen["of devices"]] == [
        sorted(one["pid"] for one in wanted["gpu_processes"] if one["device"] == id) for id in ids
    ]
    assert set(wanted) == set(shown)
    assert seen["taken"] * 1000 == pytest.approx(seen["json"]["taken_unix_ms"])


def test_some_scenario_has_what_is_absent(desk_of):
    """That the comparison above compares reasons."""
    whys = desk_of("driver-mismatch").told("print(json.dumps([d.memory_used.why for d in berth.look().devices]))")
    assert whys and all(whys)


def test_a_device_outlives_its_look_and_goes_to_other_processes(desk):
    before, copied, elsewhere = desk.told("""
        import copy, gc, multiprocessing, pickle
        def who(devices): return [[d.index, d.ordinal, d.memory_used.value, [[p.pid, p.user] for p in d.processes]] for d in devices]
        devices = berth.look(max_age=0).devices
        gc.collect()  # nobody names the look any more
        alive = copy.deepcopy(pickle.loads(pickle.dumps(devices)))
        with multiprocessing.get_context("fork").Pool(1) as pool: far = pool.map(len, [d.processes for d in devices])
        print(json.dumps([who(devices), who(alive), far]))
    """)
    assert before == copied and [len(one[3]) for one in before] == elsewhere
    assert before[0][3][0][1] == "alice", "who is on it was read after its look was gone"


def test_a_column_is_a_field_of_all_devices(desk):
    told = desk.told("""
        look = berth.look(depth="everything")
        columns = {key: look.column(key) for key in ("memory_used_bytes", "fan_speed_percent", "persistence_mode")}
        try:
            look.column("memory_usd_bytes")
        except berth.Error as error:
            wrong = [error.code, str(error)]
        print(json.dumps([{key: [list(values), list(absent)] for key, (values, absent) in columns.items()}, wrong]))
    """)
    wanted = desk.status()["devices"]
    columns, wrong = told
    assert columns["memory_used_bytes"] == [[one["memory_used_bytes"] for one in wanted], [0] * 8]
    assert all(columns["fan_speed_percent"][1]), "an H100 has no fan"
    assert columns["persistence_mode"][0] == [1] * 8
    assert wrong[0] == "invalid" and "memory_usd_bytes" in wrong[1]


WITHOUT_THESE = "nvmlDeviceGetPcieThroughput@*=hang;nvmlDeviceGetTotalEnergyConsumption@*=hang;nvmlDeviceGetFanSpeed@*=hang"


def test_what_nobody_asked_for_is_neither_read_nor_told(desk):
    """A driver that hangs at what devices() has no member for does not hold it up."""
    driver = E2E.FakeDriver(desk.directory, E2E.scenario("server-8xh100"), faults=WITHOUT_THESE)
    hung = {name: driver.env[name] for name in driver.env if name.startswith(("BERTH_NVML", "BERTH_FAKE"))}
    told = desk.told(
        """
        look = berth.look(max_age=0)
        try: look.column("fan_speed_percent")
        except berth.Error as error: wrong = str(error)
        device = look.json()["devices"][0]
        print(json.dumps([[d.power.value is not None for d in look.devices], look.problems, sorted(device), wrong]))
        """,
        env=hung | {"BERTH_SIM": None},
    )
    powers, problems, keys, wrong = told
    assert powers == [True] * 8 and problems == [] and "a deeper look has more" in wrong
    assert {"id", "index", "name", "state", "users", "memory_used_bytes", "power_draw_milliwatts"} < set(keys)
    assert not {"pcie_sent_bytes", "energy_millijoules", "clock_sm_megahertz", "leases"} & set(keys)


def test_visible_devices_come_in_cudas_order(desk):
    told = desk.told(
        "print(json.dumps([[d.index, d.ordinal] for d in berth.devices(visible=True)]"
        " + [[d.index, d.ordinal] for d in berth.devices() if d.ordinal is None][:1]))",
        env={"CUDA_VISIBLE_DEVICES": "5,3", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
    )
    assert told == [[5, 0], [3, 1], [0, None]]


OF_EACH_MAKER = [
    ("mi300x-8", {"ROCR_VISIBLE_DEVICES": "5,3"}, [[5, 0], [3, 1]]),
    ("mi300x-8", {"ROCR_VISIBLE_DEVICES": "5,3,1", "HIP_VISIBLE_DEVICES": "2,0"}, [[1, 0], [5, 1]]),
    ("mi300x-8", {"CUDA_VISIBLE_DEVICES": "6"}, [[6, 0]]),
    ("ascend-910b-8", {"ASCEND_RT_VISIBLE_DEVICES": "2,7"}, [[2, 0], [7, 1]]),
    ("ascend-910b-8", {"ASCEND_RT_VISIBLE_DEVICES": "7,2"}, []),
    ("arc-mixed", {"ZE_AFFINITY_MASK": "-1", "CUDA_VISIBLE_DEVICES": "0"}, [[0, 0], [1, 0]]),
]


@pytest.mark.parametrize(("sim", "env", "shown"), OF_EACH_MAKER)
def test_each_makers_own_variable_says_what_a_program_sees(desk, sim, env, shown):
    ask = "print(json.dumps([[[d.index, d.ordinal] for d in berth.devices(visible=True)], [d.torch_type for d in berth.devices()][-1]]))"
    told, last = desk.told(ask, env={"BERTH_SIM": sim, **env})
    assert told == shown
    assert last == {"mi300x-8": "cuda", "ascend-910b-8": "npu", "arc-mixed": "xpu"}[sim]


def test_a_picked_device_is_what_berth_pick_says(desk):
    picked = desk.told("""
        found = berth.pick(2, memory="10G", prefer="most-free", except_=[3], only=[2, 3, 4, 5])
        print(json.dumps([[one.index, one.id, one.name] for one in found]))
    """)
    words = ["-n", 2, "--memory", "10G", "--prefer", "most-free", "--except", 3, "--only", "2,3,4,5"]
    wanted = json.loads(desk.run("pick", "--json", *words).stdout)["chosen"]
    assert picked == [[one["index"], one["id"], one["name"]] for one in wanted]
    assert len(picked) == 2 and desk.leases() == []


REFUSED = """
try:
    {call}
except berth.Error as error:
    rules = [one["rule"] for one in error.placement.refused]
    print(json.dumps([type(error).__name__, error.code, error.remedy, rules, str(error)]))
"""


@pytest.mark.parametrize("call", ["berth.pick(only=[0, 1])", "berth.lease(only=[0, 1])"])
def test_none_free_says_why_device_by_device(desk, call):
    kind, code, remedy, rules, text = desk.told(REFUSED.format(call=call))
    assert [kind, code] == ["NoneFree", "none_free"]
    assert rules.count("in_use") == 2
    assert remedy in text and "wait=True" in remedy
    assert "GPU 1" in text and "in use by a process without a lease: alice (pid 21872)" in text


@pytest.mark.parametrize("call", ["berth.pick(9)", "berth.lease(9, wait=True)", 'berth.lease(memory="500G")'])
def test_what_the_machine_never_has_is_said_so_at_once(desk, call):
    kind, code, *_, text = desk.told(REFUSED.format(call=call))
    assert [kind, code] == ["NeverPossible", "never"], text


def test_watch_looks_again_and_again(desk):
    sync, later = desk.told("""
        import asyncio
        def enough(looks, look):
            looks.append([look.taken, len(look.devices)])
            return len(looks) == 3
        sync = []
        for look in berth.watch(0.01):
            if enough(sync, look): break
        async def main():
            found = []
            async for look in berth.watch(0.01):
                if enough(found, look): return found
        print(json.dumps([sync, asyncio.run(main())]))
    """)
    for looks in (sync, later):
        times = [taken for taken, _ in looks]
        assert times == sorted(set(times)), "the same look again"
        assert [count for _, count in looks] == [8, 8, 8]


def test_a_recording_is_looked_at(desk):
    recording = desk.directory / "then.json"
    snapshot = desk.status()
    snapshot["devices"][4]["name"] = "Recorded"
    recording.write_text(json.dumps(snapshot), encoding="utf-8")
    assert desk.told(
        "print(json.dumps([d.name for d in berth.look(replay=sys.argv[1]).devices][4]))", recording, env={"BERTH_SIM": None}
    ) == "Recorded"


def test_sim_as_an_argument(desk):
    assert desk.told("print(json.dumps([len(berth.look(sim='lab-4').devices), len(berth.look().devices)]))") == [4, 8]
    wrong = "import berth\ntry: berth.look(sim='no-such')\nexcept berth.Error as error: print(error)"
    assert '"no-such"' in desk.python(wrong) and "h100-mig" in desk.python(wrong)


def test_contexts_are_kept_and_are_not_many(desk):
    count = desk.told("""
        for step in range(100): berth.look(max_age=1 + step / 1000)
        print(json.dumps(sum(map(len, berth._context._idle.values()))))
    """)
    assert 2 <= count <= 33
    assert len(desk.helpers()) == 0 or wait_until(lambda: desk.helpers() == [], "its helper has ended")


def test_a_killed_helper_is_replaced(desk):
    process = desk.start_python("""
        import sys, berth
        for line in sys.stdin:
            print(len(berth.look(max_age=0).devices), flush=True)
    """)
    def ask():
        process.stdin.write("\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    assert ask() == "8"
    wait_until(lambda: len(desk.helpers()) == 1, "the helper's first process has left")
    [helper] = desk.helpers()
    assert ask() == "8"
    assert desk.helpers() == [helper], "the helper is kept"
    os.kill(helper, signal.SIGKILL)
    wait_until(lambda: not desk.helpers(), "the helper is gone")
    assert ask() == "8"
    assert len(desk.helpers()) == 1 and desk.helpers() != [helper]


def test_the_helper_ends_with_its_host(desk):
    desk.told("berth.look(max_age=0); print(json.dumps(1))")
    wait_until(lambda: not desk.helpers(), "no helper is left")


def test_no_program_is_an_error_with_a_step(desk):
    code, text = desk.told(
        """
        try: berth.look()
        except berth.Error as error: print(json.dumps([error.code, str(error)]))
        """,
        env={"BERTH_HELPER": "/nonexistent/berth"},
    )
    assert code == "not_found"
    assert "/nonexistent/berth" in text


def test_no_library_is_an_error_with_a_step(desk):
    code, text = desk.told(
        """
        try: berth.look()
        except berth.Error as error: print(json.dumps([error.code, str(error)]))
        """,
        env={"BERTH_LIBRARY": "/nonexistent/libberth.so.0"},
    )
    assert code == "not_found"
    assert "/nonexistent/libberth.so.0" in text and "BERTH_LIBRARY" in text


def test_standard_descriptors_closed_and_children_ignored(desk):
    """As in a daemon: nothing of the helper's lands on 0 to 2, and nobody waits for children."""
    result = desk.directory / "result"
    desk.python(
        """
        import os, signal, sys
        for fd in (0, 1, 2): os.close(fd)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        import berth
        text = f"{len(berth.look(max_age=0).devices)} "
        with berth.lease() as lease:
            text += f"{lease.devices[0].index} {lease.fileno() > 2} "
        opened = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
        os.write(opened, (text + str(opened)).encode())
        """,
        result,
    )
    assert result.read_text() == "8 3 True 0"


def test_the_hosts_children_are_its_own(desk):
    """A program that waits for any child never meets the helper."""
    assert desk.told("""
        berth.look(max_age=0)
        try: found = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError: found = "none"
        print(json.dumps(found))
    """) == "none"


@pytest.mark.clock
def test_a_card_that_hangs_holds_up_neither_ctrl_c_nor_the_others(desk):
    """Ctrl-C comes while the look still waits for the card; a whole look has the other seven."""
    driver = E2E.FakeDriver(desk.directory, E2E.scenario("server-8xh100"), faults="*@3=hang")
    hung = {name: driver.env[name] for name in driver.env if name.startswith(("BERTH_NVML", "BERTH_FAKE"))}
    process = desk.start_python(
        """
        import json, sys, threading, time, _thread
        import berth
        threading.Timer(0.3, _thread.interrupt_main).start()
        began = time.monotonic()
        try: berth.look(max_age=0)
        except KeyboardInterrupt: print(time.monotonic() - began, flush=True)
        took = []
        for _ in range(2):  # by a helper that starts for it, and by a warm one
            began = time.monotonic()
            look = berth.look(max_age=0)
            took.append(time.monotonic() - began)
        print(json.dumps([[d.memory_used.value is not None for d in look.devices], look.problems, took]))
        """,
        env=hung | {"BERTH_SIM": None},
    )
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    left_after, told = output.splitlines()
    assert float(left_after) < PATIENCE_S, "only when the look was over"
    are_known, problems, took = json.loads(told)
    assert are_known.count(True) == 7 and any(problems)
    # Patience and a second (./dev bench holds it to that), and what a machine that compiles beside takes.
    assert max(took) < PATIENCE_S + 1 + 2, took
