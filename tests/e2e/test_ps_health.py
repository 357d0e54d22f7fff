"""The users of the devices, and the devices' health: `berth ps` and `berth health`."""

import json
import os
import pathlib
import re
import subprocess
import time

import pytest
from conftest import BERTH, children, scenario, wait_until


def with_processes(pids, memory=20 << 30, used=None):
    """A snapshot for the fake driver: the first card of the 8-GPU server with these processes."""
    snapshot = scenario("server-8xh100")
    card = snapshot["devices"][0]
    snapshot["devices"] = [card]
    snapshot["gpu_processes"] = [
        {"device": card["id"], "pid": pid, "type": "C", "memory_used_bytes": memory} for pid in pids
    ]
    card["memory_used_bytes"] = len(pids) * memory if used is None else used
    card["memory_free_bytes"] = card["memory_total_bytes"] - card["memory_used_bytes"]
    card["process_count"] = len(pids)
    for list_of_others in ("processes", "leases", "queue", "moves", "problems"):
        snapshot.pop(list_of_others, None)
    return snapshot


@pytest.fixture
def sleeper():
    made = subprocess.Popen(["sh", "-c", "sleep 300; true # train.py --token=hunter2"])
    # exec closes what Popen waits for before the kernel has set up the words of the command.
    wait_until(pathlib.Path(f"/proc/{made.pid}/cmdline").read_bytes, "its command can be read")
    yield made
    made.kill()
    made.wait()


def test_ps_says_whose_process_it_is_and_masks_its_secrets(driver_of, sleeper):
    machine = driver_of(with_processes([sleeper.pid]))
    done = machine.run("ps", env={"COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if str(sleeper.pid) in line]
    assert "sleep 300" in line and "20.0G" in line
    assert "hunter2" not in done.stdout
    [row] = json.loads(machine.run("ps", "--json").stdout)["processes"]
    assert row["presence"] == "alive"
    assert row["process"]["uid"] == os.getuid()
    assert row["process"]["cpu_time_ms"] >= 0
    assert row["memory_used_bytes"] == 20 << 30


def test_ps_tree_stands_under_the_parents(driver_of, sleeper):
    def child():
        kids = open(f"/proc/{sleeper.pid}/task/{sleeper.pid}/children", encoding="ascii").read()
        return int(kids.split()[0]) if kids.split() else 0

    def is_sleep(pid):
        return pid and open(f"/proc/{pid}/comm", encoding="ascii").read() == "sleep\n"

    wait_until(lambda: is_sleep(child()), "the shell has started its sleep")
    machine = driver_of(with_processes([child()]))
    lines = machine.run("ps", "-t", env={"COLUMNS": "200", "LC_ALL": "C.UTF-8"}).stdout.splitlines()
    parent = next(i for i, line in enumerate(lines) if f" {sleeper.pid} " in line)
    own = next(i for i, line in enumerate(lines) if f" {child()} " in line)
    assert own > parent
    assert "└─ sleep 300" in lines[own]


def test_a_process_that_has_ended_and_is_still_listed_is_called_gone(driver_of, sleeper):
    machine = driver_of(with_processes([sleeper.pid]))
    sleeper.kill()
    sleeper.wait()
    done = machine.run("ps", env={"COLUMNS": "120"})
    assert "gone" in done.stdout
    assert "have ended and still hold memory" in done.stdout
    [row] = json.loads(machine.run("ps", "--json").stdout)["processes"]
    assert row["presence"] == "gone"
    assert row["process"]["command"] is None


@pytest.fixture
def namespaced():
    """The words that start a program where no process of the host is seen."""
    as_user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    words = ["unshare", *as_user, "--pid", "--fork", "--kill-child", "--mount-proc"]
    try:
        tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs unshare (util-linux)")
    if tried.returncode != 0:
        pytest.skip(f"needs root or a user namespace: {tried.stderr.strip()}")
    return words


@pytest.mark.parametrize("columns", ["80", "200"])
def test_in_a_namespace_processes_of_the_host_are_elsewhere_and_not_gone(driver_of, sleeper, namespaced, columns):
    machine = driver_of(with_processes([sleeper.pid]))
    # A namespace's own numbers are small: what the host calls so is nobody there.
    assert sleeper.pid > 20

    def inside(*words):
        return subprocess.run(
            [*namespaced, *machine.command(*words)],
            env=machine.environment({"COLUMNS": columns}), capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip

    done = inside("ps")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "outside this container" in said
    assert "this is a container, and the driver numbers processes as the host does" in said
    assert "start the container with --pid=host, or run berth on the host" in said
    assert "gone" not in said and "have ended" not in said and "sleep 300" not in said
    answer = json.loads(inside("ps", "--json").stdout)
    assert answer["process_view"] == "namespace"
    [row] = answer["processes"]
    assert (row["pid"], row["presence"], row["memory_used_bytes"]) == (sleeper.pid, "elsewhere", 20 << 30)
    assert row["process"]["command"] is None and row["process"]["user"] is None

    outside = json.loads(machine.run("ps", "--json").stdout)
    if outside["process_view"] == "whole":  # unless the tests are in a container themselves
        assert outside["processes"][0]["presence"] == "alive"


# In a namespace: an innocent process whose number there is the first argument's, then the program.
WITH_THAT_NUMBER = """
echo $(($1 - 1)) > /proc/sys/kernel/ns_last_pid || exit 9
sleep 302 </dev/null >/dev/null 2>&1 &
innocent=$!
test $innocent = $1 || exit 9
until tr '\\0' ' ' </proc/$innocent/cmdline | grep -q '^sleep 302'; do  # its files are open then
  kill -0 $innocent || exit 9
  sleep 0.01
done
shift
"$@"
code=$?
kill -0 $innocent || code=8
kill $innocent
exit $code
"""


def test_in_a_namespace_the_hosts_number_is_not_given_anothers_name(driver_of, namespaced):
    number = 300
    machine = driver_of(with_processes([number]))

    def inside(*words):
        done = subprocess.run(
            [*namespaced, "sh", "-c", WITH_THAT_NUMBER, "sh", str(number), *machine.command(*words)],
            env=machine.environment({"COLUMNS": "200"}), capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        if done.returncode == 9:
            pytest.skip(f"no process can be given a number here: {done.stderr.strip()}")
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    said = " ".join(inside("ps").split())
    assert "outside this container" in said and "sleep 302" not in said
    answer = json.loads(inside("ps", "--json"))
    assert answer["process_view"] == "namespace"
    [row] = answer["processes"]
    assert (row["pid"], row["presence"]) == (number, "elsewhere")
    assert row["process"]["command"] is None and row["process"]["user"] is None
    assert row["process"]["start_ticks"] == 0, "nobody can be signalled by it"
    assert "sleep 302" not in inside()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root: a device file is made in a /dev of its own")
def test_in_a_namespace_who_has_the_device_open_is_the_one_of_the_list(driver_of, namespaced):
    snapshot = with_processes([300])
    snapshot["devices"][0]["minor_number"] = 0
    machine = driver_of(snapshot)
    opened = WITH_THAT_NUMBER.replace("sleep 302 </dev/null", "sleep 302 </dev/nvidia0")
    own = "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && mknod /dev/urandom c 1 9 && mknod /dev/nvidia0 c 1 3 || exit 9\n"
    done = subprocess.run(
        [*namespaced, "sh", "-c", own + opened, "sh", "300", *machine.command("ps", "--json")],
        env=machine.environment({}), capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    if done.returncode == 9:
        pytest.skip(f"neither number nor device file can be made here: {done.stderr.strip()}")
    [row] = json.loads(done.stdout)["processes"]
    assert row["presence"] == "alive" and row["process"]["command"] == ["sleep", "302"]


# In a namespace: a job of `berth run`, then the question. The driver lists the job by the number it has there.
WITH_A_JOB = """
berth=$1; folder=$2; shift 2
"$berth" run --detach -- sh -c "echo \\$\\$ > $folder/number; exec sleep 303" >/dev/null || exit 7
until test -s $folder/number && grep -q sleep "/proc/$(cat $folder/number)/comm"; do sleep 0.05; done
sed "s/299999/$(cat $folder/number)/" $folder/listing.json > $folder/with_job.json
export BERTH_FAKE_NVML=$folder/with_job.json
for words in "ps --json" "smi"; do "$berth" $words || exit 6; echo "======"; done
"$berth" smi --query-compute-apps=pid,name --format=csv,noheader -lms 200 | head -n 3
"""


def test_in_a_namespace_a_job_under_a_lease_is_the_one_of_the_list(driver_of, namespaced, tmp_path):
    idle = {"utilization_gpu_percent": 0.0, "utilization_history_ms_percent": []}
    free, listing = with_processes([]), with_processes([299999])
    free["devices"][0] |= idle
    machine = driver_of(free)
    (tmp_path / "listing.json").write_text(json.dumps(listing), encoding="utf-8")
    done = subprocess.run(
        [*namespaced, "sh", "-c", WITH_A_JOB, "sh", machine.command()[0], str(tmp_path)],
        env=machine.environment({"COLUMNS": "200"}), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    listed, shown, again = done.stdout.split("======\n")
    [row] = json.loads(listed)["processes"]
    assert row["presence"] == "alive" and row["lease"], row
    assert row["process"]["command"] == ["sleep", "303"]
    assert "sleep" in shown
    assert [line.split(", ")[1] for line in again.splitlines()] == ["sleep"] * 3, "each look knows the leases"


def test_in_a_namespace_nobody_here_having_it_open_is_no_proof(driver_of, namespaced):
    machine = driver_of(with_processes([], used=30 << 30))
    done = subprocess.run(
        [*namespaced, *machine.command("ps")], env=machine.environment({"COLUMNS": "200"}),
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert "GPU 0: 30.0 GiB held by no process" in done.stdout
    assert "could not be looked into" in done.stdout
    assert "has not given it back" not in done.stdout


def test_memory_of_nobody_is_said_with_who_could_hold_it(driver_of):
    done = driver_of(with_processes([], used=30 << 30)).run("ps", env={"COLUMNS": "120"})
    assert "GPU 0: 30.0 GiB held by no process" in done.stdout
    assert "nobody has it open" in done.stdout or "could not be looked into" in done.stdout


def test_a_list_that_is_refused_leaves_it_unknown_who_holds_the_memory(driver_of):
    lists = [f"nvmlDeviceGet{kind}RunningProcesses{version}"
             for kind in ("Compute", "Graphics", "MPSCompute") for version in ("", "_v2", "_v3")]  # fmt: skip
    refused = ";".join(f"{name}@*=4" for name in (*lists, "nvmlDeviceGetRunningProcessDetailList"))
    snapshot = with_processes([], used=30 << 30)
    snapshot["devices"][0] |= {"utilization_gpu_percent": 0.0, "utilization_history_ms_percent": []}
    machine = driver_of(snapshot, faults=refused)
    [card] = machine.status_json()["devices"]
    assert card["state"] == "unknown" and card["why"]["process_count"] == "no permission", card
    assert "held by no process" not in machine.run("ps").stdout
    assert "could not be read" in machine.run("ps").stdout
    assert "No running processes found" not in machine.run("smi").stdout


def test_memory_of_nobody_on_an_instance_is_said_everywhere(driver_of):
    snapshot = scenario("h100-mig")
    instance = next(d for d in snapshot["devices"] if "3g.40gb" in d["name"])
    for list_of_others in ("gpu_processes", "processes", "leases", "queue", "moves", "problems"):
        snapshot.pop(list_of_others, None)
    for one in snapshot["devices"]:
        one["memory_used_bytes"] = 30 << 30 if one is instance else 8 << 20
        one["memory_free_bytes"] = one["memory_total_bytes"] - one["memory_used_bytes"]
    machine = driver_of(snapshot)
    assert "30.0 GiB held by no process in the driver's list" in machine.run("ps", env={"COLUMNS": "120"}).stdout
    [ghost] = json.loads(machine.run("ps", "--json").stdout)["unexplained"]
    assert (ghost["device"], ghost["memory_bytes"]) == (instance["id"], 30 << 30)
    assert "(held by no visible process)" in machine.run(env={"COLUMNS": "120"}).stdout
    findings = json.loads(machine.run("health", "--json").stdout)["devices"][0]["findings"]
    [said] = [one["evidence"] for one in findings if one["code"] == "memory_of_nobody"]
    assert said.startswith("30.0 GiB of MIG instance"), said


UNTOLD = ";".join(
    f"nvmlDeviceGet{name}@0=999"
    for name in ("FieldValues", "TotalEccErrors", "RemappedRows", "RemappedRows_v2", "UnrepairableMemoryFlag_v1")
)


def test_a_card_of_which_nothing_could_be_read_is_not_ok(driver_of):
    machine = driver_of(with_processes([]), faults=UNTOLD)
    done = machine.run("health", env={"COLUMNS": "200"})
    assert done.returncode == 3 and "0  unknown  " in done.stdout, done.stdout
    assert "recovery action: reading it failed; memory errors: reading it failed; row remapping: reading it failed" in done.stdout
    answer = json.loads(machine.run("health", "--json").stdout)
    assert answer["state"] == answer["devices"][0]["state"] == "unknown"
    assert "unknown: could not be examined" in machine.run("status", env={"COLUMNS": "120"}).stdout


def test_what_is_found_counts_for_more_than_what_could_not_be_read(driver_of):
    snapshot = with_processes([])
    snapshot["devices"][0] |= {"channel_repair_pending": True, "tpc_repair_pending": False}
    assert driver_of(snapshot, faults=UNTOLD).run("health").returncode == 1


@pytest.mark.parametrize("code", [3, 4])
def test_a_card_that_has_no_verdicts_or_may_not_be_asked_is_ok(driver_of, code):
    done = driver_of(with_processes([]), faults=UNTOLD.replace("=999", f"={code}")).run("health")
    assert done.returncode == 0 and "ok" in done.stdout, done.stdout


def test_a_record_tells_what_could_not_be_looked_at(machine, tmp_path):
    look = with_processes([], used=30 << 30)
    look["devices"][0]["minor_number"] = 0
    look |= {"xids": None, "device_files": None, "why": {"xids": "no permission", "device_files": "failed"}}
    played, again = tmp_path / "played.json", tmp_path / "again.json"
    played.write_text(json.dumps(look), encoding="utf-8")
    again.write_text(machine.run("--replay", str(played), "status", "--json").stdout, encoding="utf-8")
    assert json.loads(again.read_text())["why"] == look["why"]
    for file in (str(played), str(again)):
        assert "kernel log: no permission to read it" in machine.run("--replay", file, "health").stdout
        said = machine.run("--replay", file, "ps", env={"COLUMNS": "200"}).stdout
        assert "who has it open was not found out: reading it failed" in said, said


def test_commands_are_whole_where_nobody_looks_at_a_terminal(driver_of):
    long = "x" * 300
    made = subprocess.Popen(["sh", "-c", f"sleep 300; true {long}end"])
    try:
        machine = driver_of(with_processes([made.pid]))
        assert long + "end" in machine.run("ps", env={"COLUMNS": None}).stdout
        assert long + "end" not in machine.run("ps", env={"COLUMNS": "80"}).stdout
    finally:
        made.kill()
        made.wait()


@pytest.mark.parametrize("words", [["ps"], ["ps", "--json"]])
def test_ps_of_a_driver_that_cannot_be_asked_is_no_success(driver_of, words):
    machine = driver_of(with_processes([]), faults="nvmlInit_v2=9;nvmlInit=9")
    assert machine.run(*words).returncode == machine.run().returncode == 1


# Its parent waits in the kernel (state D), without a signal reaching it, until it ends itself.
WAITS_IN_THE_KERNEL = """
import ctypes, os, time
libc = ctypes.CDLL(None)
if libc.vfork() == 0:
    time.sleep(60)
    os._exit(0)
"""


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def test_a_process_that_stays_in_the_kernel_is_stuck(driver_of):
    # In a session of its own: parent and child are ended together.
    made = subprocess.Popen(["python3", "-c", WAITS_IN_THE_KERNEL], start_new_session=True)
    try:
        # Now and then it is there for a moment, to read its own program from the disk.
        stays = lambda: all(time.sleep(0.02) or state_of(made.pid) == "D" for _ in range(5))  # noqa: E731
        wait_until(lambda: children(made.pid) and stays(), "it waits in the kernel")
        machine = driver_of(with_processes([made.pid]))
        done = machine.run("ps", env={"COLUMNS": "120"})
        assert "one waits in the kernel (state D): no signal reaches it" in done.stdout
        [row] = json.loads(machine.run("ps", "--json").stdout)["processes"]
        assert row["presence"] == "stuck" and row["process"]["state"] == "D"
    finally:
        os.killpg(made.pid, 9)
        made.wait()


# A /dev of its own, with a device file that is called like a card's. It can be opened: it is that of /dev/null. A
# process holds it open while the program looks.
WITH_DEVICE_OPEN = """
mount -t tmpfs none /dev && mknod /dev/null c 1 3 && mknod /dev/urandom c 1 9 && mknod /dev/nvidia0 c 1 3 || exit 9
sh -c 'exec 3< /dev/nvidia0; exec sleep 60' </dev/null >/dev/null 2>&1 &
holder=$!
until test -e /proc/$holder/fd/3 && grep -q sleep /proc/$holder/comm; do sleep 0.01; done
"$@"
code=$?
kill $holder
wait $holder 2>/dev/null
exit $code
"""


@pytest.mark.skipif(os.getuid() != 0, reason="needs root: a device file is made in a /dev of its own")
def test_memory_of_nobody_is_said_with_who_has_the_device_open(driver_of):
    snapshot = with_processes([], used=30 << 30)
    snapshot["devices"][0]["minor_number"] = 0
    machine = driver_of(snapshot)

    def held(*words):
        started = [*machine.command(*words)]
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", WITH_DEVICE_OPEN, "sh", *started],
            env=machine.environment({"COLUMNS": "120"}), capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip

    done = held("ps")
    if done.returncode == 9:
        pytest.skip(f"no device file can be made here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "GPU 0: 30.0 GiB held by no process" in done.stdout
    [line] = [line for line in done.stdout.splitlines() if "has the device open" in line]
    assert "(root)" in line and "sleep 60" in line
    assert "nobody has it open" not in done.stdout
    [ghost] = json.loads(held("ps", "--json").stdout)["unexplained"]
    # Other tests may have a device file of that number open as well.
    [holder] = [one for one in ghost["has_device_open"] if one["command"] == ["sleep", "60"]]
    assert holder["user"] == "root"
    assert "has the device open" not in machine.run("ps", env={"COLUMNS": "120"}).stdout


def test_ps_of_one_user_and_of_nobody(driver_of, sleeper):
    machine = driver_of(with_processes([sleeper.pid]))
    assert str(sleeper.pid) in machine.run("ps", "-u", str(os.getuid())).stdout
    assert "has no process on any device" in machine.run("ps", "-u", "no-such-user").stdout
    assert machine.run("ps", "now").returncode == 2


def test_ps_names_a_container_and_its_image(machine_of):
    machine = machine_of("h100-mig")
    assert "docker vllm-qwen" in machine.run("ps", env={"COLUMNS": "160"}).stdout
    [row] = json.loads(machine.run("ps", "--json").stdout)["processes"]
    enclosure = row["process"]["enclosure"]
    assert enclosure["runtime"] == "docker" and len(enclosure["id"]) == 64
    assert (enclosure["name"], enclosure["image"]) == ("vllm-qwen", "vllm/vllm-openai:v0.9.2")


def test_ps_heads_its_columns_in_chinese(machine_of):
    lines = machine_of("h100-mig").run(
        "ps", "--lang", "zh_CN", env={"COLUMNS": "160", "LC_ALL": "C.UTF-8"}
    ).stdout.splitlines()
    head = next(line for line in lines if "PID" in line)
    for word in ("时长", "显存", "内存", "归属"):
        assert word in head, head
    assert "Age" not in head and "GPU mem" not in head


@pytest.mark.parametrize("verb", ["ps", "health"])
def test_simulated_is_marked_in_words_and_in_json(machine_of, verb):
    machine = machine_of("faults")
    assert "SIMULATED" in machine.run(verb).stdout
    assert json.loads(machine.run(verb, "--json").stdout)["simulated"]


def test_health_of_a_well_server_is_0_and_finds_nothing(driver_of):
    machine = driver_of(with_processes([]))
    done = machine.run("health", "--json")
    [card] = json.loads(done.stdout)["devices"]
    findings = [one for one in card["findings"] if not one["code"].startswith("xid_")]
    assert findings == []
    assert done.returncode == 0


def test_health_of_faults_names_them_and_exits_as_a_monitoring_plugin(machine_of):
    machine = machine_of("faults")
    done = machine.run("health", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 2
    assert answer["state"] == "failed"
    codes = {one["code"] for card in answer["devices"] for one in card["findings"]}
    assert {"lost", "ecc_uncorrected", "memory_of_nobody"} <= codes, codes
    assert any("thermal" in code for code in codes), codes
    chinese = machine.run("health", "--lang", "zh_CN", env={"LC_ALL": "C.UTF-8"}).stdout
    assert "已从总线掉线" in chinese


def test_status_says_under_each_card_what_is_not_ok_with_it(machine_of):
    machine = machine_of("faults")
    lines = [line.strip() for line in machine.run(env={"COLUMNS": "120"}).stdout.splitlines()]
    ill = [line for line in lines if line.startswith(("degraded", "failed"))]
    assert len(ill) == 2
    assert "12 memory errors were not corrected" in ill[0]
    assert ill[1] == "failed: a broken row of memory could not be replaced: no spare is left"
    assert lines[lines.index(ill[1]) - 1].startswith("4 A100")
    assert "0 of 5 free" in lines[0] and "1 failed" in lines[0]
    card = next(d for d in json.loads(machine.run("status", "--json").stdout)["devices"] if d["index"] == 4)
    assert card["state"] == "failed"
    assert card["failed_because"].startswith("a broken row of memory")
    assert machine.run("status", "--csv", "state", "-i", "4").stdout.splitlines()[1:] == ["failed"]
    chinese = machine.run("--lang", "zh_CN", env={"LC_ALL": "C.UTF-8", "COLUMNS": "120"}).stdout
    assert "故障：" in chinese and "failed" not in chinese
    well = machine_of("server-8xh100").run().stdout
    assert "degraded" not in well and "failed" not in well


def test_health_through_the_driver_reads_what_the_card_did_about_its_errors(driver_of):
    snapshot = with_processes([])
    card = snapshot["devices"][0]
    card["remapped_rows_failed"] = True
    card["remapped_rows_pending"] = False
    card["remapped_rows_correctable"] = 0
    card["remapped_rows_uncorrectable"] = 3
    done = driver_of(snapshot).run("health", "--json")
    [seen] = json.loads(done.stdout)["devices"]
    assert done.returncode == 2
    assert "row_remap_failed" in {one["code"] for one in seen["findings"]}


def test_a_broken_card_with_somebody_on_it_is_busy_and_says_that_it_is_broken(driver_of, sleeper):
    snapshot = with_processes([sleeper.pid])
    card = snapshot["devices"][0]
    card["remapped_rows_failed"] = True
    card["utilization_gpu_percent"] = 90.0
    machine = driver_of(snapshot)
    [seen] = machine.status_json()["devices"]
    assert seen["state"] == "busy" and seen["failed_because"].startswith("a broken row of memory")
    assert "failed: a broken row of memory" in machine.run(env={"COLUMNS": "120"}).stdout


def test_health_says_how_much_time_was_lost_and_which_links_are_down(driver_of):
    snapshot = scenario("server-8xh100")
    for card in snapshot["devices"]:
        card["nvlink_count"] = 2
        card["nvlinks"] = [{"number": number, "active": True} for number in range(2)]
    first = snapshot["devices"][0]
    first["throttled_hardware_thermal_microseconds"] = 723_000_000
    first["nvlinks"][1]["active"] = False
    first["nvlink_recoveries"] = 3
    done = driver_of(snapshot).run("health", "--json")
    found = {one["code"]: one for one in json.loads(done.stdout)["devices"][0]["findings"]}
    assert found["nvlink_down"]["state"] == "degraded"
    assert found["nvlink_down"]["evidence"] == "1 of its 2 NVLinks are down"
    assert found["nvlink_errors"]["state"] == "notice"
    assert found["time_lost_to_heat"]["state"] == "notice"
    assert "12m03s since the driver loaded" in found["time_lost_to_heat"]["evidence"]


def test_a_card_beyond_its_slowdown_limit_is_not_ok_and_plain_berth_says_so(driver_of):
    snapshot = scenario("server-8xh100")
    snapshot["devices"][2] |= {"temperature_celsius": 92, "temperature_slowdown_celsius": 87}
    snapshot["devices"][3]["ecc_sram_threshold_exceeded"] = True
    driver = driver_of(snapshot)
    cards = json.loads(driver.run("health", "--json").stdout)["devices"]
    assert [one["code"] for one in cards[2]["findings"]] == ["too_hot"]
    assert cards[2]["findings"][0]["evidence"] == "it is at 92 °C and slows itself down from 87 °C on"
    assert cards[2]["state"] == "degraded"
    plain = driver.run(env={"COLUMNS": "120"}).stdout
    assert "degraded: it is at 92 °C and slows itself down from 87 °C on" in plain
    assert "degraded: errors of its caches and registers passed the maker's threshold" in plain


def test_health_tells_how_many_link_errors_there_are_a_second(driver_of):
    snapshot = scenario("server-8xh100")
    snapshot["devices"][1] |= {"nvlink_count": 2, "nvlink_replays": 4000}
    driver = driver_of(snapshot)
    driver.env["BERTH_FAKE_NVML_MOVE"] = "1"
    done = driver.run("health", "--json")
    [found] = [one for one in json.loads(done.stdout)["devices"][1]["findings"] if one["code"].startswith("nvlink")]
    assert found["state"] == "degraded" and found["code"] == "nvlink_errors_now"
    assert re.fullmatch(r"\d+ NVLink packets had to be sent again since the look before: \d+ a second", found["evidence"])
    assert done.returncode == 1


def test_health_that_cannot_be_written_is_unknown_and_not_degraded(machine_of):
    for sim in ("faults", "server-8xh100"):
        machine = machine_of(sim)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(machine.command("health"), env=machine.env, stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 3
        assert done.stderr.count("could not be written") == 1, done.stderr


def test_health_of_no_device_and_of_wrong_words_is_unknown(driver_of):
    nothing = scenario("server-8xh100")
    nothing["devices"] = nothing["gpu_processes"] = []
    assert driver_of(nothing).run("health").returncode == 3
    assert driver_of(with_processes([])).run("health", "--wrong").returncode == 3


# /dev/kmsg in a mount namespace of our own: a record per read, as the kernel gives them.
KERNEL_LOG = """
import fcntl, json, os, subprocess, sys
fifo, records, words = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
os.mkfifo(fifo)
subprocess.run(["mount", "--bind", fifo, "/dev/kmsg"], check=True)
kept = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
written = os.open(fifo, os.O_WRONLY)
fcntl.fcntl(written, fcntl.F_SETFL, os.O_DIRECT)
up = float(open("/proc/uptime").read().split()[0])
for ago, text in records:
    os.write(written, f"4,100,{max(0, int((up - ago) * 1e6))},-;{text}\\n".encode())
sys.exit(subprocess.run(words).returncode)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a kernel log of its own")
@pytest.mark.parametrize(("first", "code", "state"), [("error", 0, "notice"), ("load", 1, "degraded")])
def test_an_error_before_the_driver_was_loaded_is_history(driver_of, tmp_path, first, code, state):
    snapshot = with_processes([])
    machine = driver_of(snapshot)
    address = snapshot["devices"][0]["pci_address"].removeprefix("0000").removesuffix(".0")
    lines = {"error": f"NVRM: Xid (PCI:{address}): 62, pid=1234, name=python, x",
             "load": "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.10"}
    second = "load" if first == "error" else "error"
    records = json.dumps([[60, lines[first]], [30, lines[second]]])
    for words in ([], ["--json"]):
        done = subprocess.run(
            ["unshare", "-m", "python3", "-c", KERNEL_LOG, tmp_path / f"kmsg{len(words)}", records,
             BERTH, "health", *words],
            env=machine.environment({"COLUMNS": "120"}), capture_output=True, text=True, timeout=60)
        if "unshare" in done.stderr or "mount" in done.stderr:
            pytest.skip("no mount namespace here")
        assert done.returncode == code, done.stderr
        if not words:
            assert ("before the driver was loaded" in done.stdout) == (first == "error"), done.stdout
            continue
        answer = json.loads(done.stdout)
        assert answer["state"] == state
        [found] = [one for one in answer["devices"][0]["findings"] if one["code"] == "xid_62"]
        assert found["state"] == state
        assert found["before_driver_load"] == (first == "error")
