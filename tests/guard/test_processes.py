"""Processes that share a limit: two of them, killed ones, forked ones, those that exec, and races."""

import os
import pathlib
import signal
import subprocess
import time

import pytest

from driver_programs import FAKE, GIB, HERE, MIB, OUT_OF_MEMORY, Talk, compiled, linked_shim


@pytest.fixture(scope="session")
def racers(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("racers") / "racers", HERE / "racers.c", "-pthread", f"-L{FAKE}", "-lcuda")


def test_two_processes_share_the_limit(card):
    one = card(1 * GIB)
    first, second = one.start(), one.start()
    first.all_well("cuMemAlloc_v2 a 700M")
    assert second("cuMemAlloc_v2 b 400M") == OUT_OF_MEMORY
    assert second("info") == (0, 324 * MIB, 1 * GIB)
    first.all_well("cuMemFree_v2 a")
    second.all_well("cuMemAlloc_v2 b 400M")
    assert sorted(slot[0] for slot in one.account.slots().values()) == [0, 400 * MIB]


def test_the_share_of_a_killed_process_comes_back(card):
    one = card(1 * GIB, context=100 * MIB)
    first, second = one.start(), one.start()
    first.all_well("cuMemAlloc_v2 a 700M")
    first.process.kill()  # and is not waited for: a zombie holds no memory of a device
    os.waitid(os.P_PID, first.process.pid, os.WEXITED | os.WNOWAIT)
    assert second("info") == (0, 924 * MIB, 1 * GIB)
    second.all_well("cuMemAlloc_v2 b 900M")
    assert one.account.result()[1] == 0


def test_a_process_that_was_killed_while_it_asked_blocks_nobody(card):
    one = card(1 * GIB)
    first, second = one.start(), one.start()
    first.process.kill()
    first.process.wait()
    offset = 2 * one.account.PAGE + 64
    one.account.put(offset, (1 << 48) + 900 * MIB)  # its tentative charge
    second.all_well("cuMemAlloc_v2 b 900M")


def test_a_stopped_process_that_was_asking_delays_a_refusal_alone(card):
    one = card(1 * GIB)
    first, second = one.start(), one.start()
    first.process.send_signal(signal.SIGSTOP)
    one.account.put(2 * one.account.PAGE + 64, (1 << 48) + 900 * MIB)
    assert second("cuMemAlloc_v2 b 900M") == OUT_OF_MEMORY
    second.all_well("cuMemAlloc_v2 b 100M")
    first.process.send_signal(signal.SIGCONT)


def test_a_refusal_waits_for_what_another_may_take_back(card):
    one = card(1 * GIB)
    first, second = one.start(), one.start()
    first.process.send_signal(signal.SIGSTOP)
    answers = []
    for _ in range(5):  # it waits for 0.2 s: a machine that is slow may let it refuse
        one.account.put(2 * one.account.PAGE + 64, (1 << 48) + 900 * MIB)
        second.ask("cuMemAlloc_v2 b 900M")
        time.sleep(0.03)
        one.account.put(2 * one.account.PAGE + 64, 0)
        answers.append(second.answer())
        if answers[-1] == 0:
            break
    assert answers[-1] == 0, answers
    first.process.send_signal(signal.SIGCONT)


def test_another_with_the_same_pid_is_another(card):
    one = card(1 * GIB)
    first = one.start()
    slot = 2 * one.account.PAGE + one.account.SLOT
    one.account.put(slot, os.getpid(), 1, one.account.words(2 * one.account.PAGE, 3)[2])  # began at another time
    one.account.put(slot + 64, 900 * MIB)
    one.account.put(one.account.PAGE + 64 * one.account.DEVICES, 2)
    first.all_well("cuMemAlloc_v2 a 1G")


def test_a_process_of_another_pid_namespace_is_left_alone(card):
    one = card(1 * GIB)
    first = one.start()
    slot = 2 * one.account.PAGE + one.account.SLOT
    one.account.put(slot, 1 << 22, 1, 4026530000)
    one.account.put(slot + 64, 900 * MIB)
    one.account.put(one.account.PAGE + 64 * one.account.DEVICES, 2)
    assert first("cuMemAlloc_v2 a 200M") == OUT_OF_MEMORY


def test_a_forked_child_starts_with_nothing(card):
    one = card(1 * GIB)
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 300M", "fork")
    assert talk("cuMemAlloc_v2 b 1M") != 0  # the driver of a child whose parent began it answers no more
    assert talk("cuMemFree_v2 a") != 0
    slots = one.account.slots()
    assert slots[talk.process.pid][0] == 300 * MIB
    assert [slot[0] for pid, slot in slots.items() if pid != talk.process.pid] in ([], [0])
    talk.process.stdin.close()


def test_a_child_forked_before_the_driver_began_has_a_slot_of_its_own(card):
    one = card(1 * GIB)
    talk = one.start(begins=False)
    talk.all_well("fork", "cuInit", "use 0", "cuMemAlloc_v2 a 300M")
    slots = one.account.slots()
    assert talk.process.pid not in slots and [slot[0] for slot in slots.values()] == [300 * MIB]


def test_a_child_forked_while_another_thread_begins_is_answered(card, tmp_path):
    early = compiled(tmp_path / "forked_early", HERE / "forked_early.c", "-rdynamic", f"-L{FAKE}", "-lcuda")
    done = card(1 * GIB).run([early])
    assert done.returncode == 0, f"{done.returncode}: its child waited for a thread that it does not have"


def test_a_process_whose_proc_shows_other_processes_is_charged_as_itself(card, program):
    one = card(1 * GIB)
    if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs unshare --pid (root)")
    # Its number there is 1, and /proc is this namespace's: there 1 is another.
    talk = Talk(["unshare", "--pid", "--fork", "--kill-child", program, "opened"], one.environment({}))
    one.talks.append(talk)
    talk.all_well("cuInit", "use 0", "cuMemAlloc_v2 a 300M")
    [inner] = pathlib.Path(f"/proc/{talk.process.pid}/task/{talk.process.pid}/children").read_text().split()
    started = int(pathlib.Path(f"/proc/{inner}/stat").read_text().rsplit(")", 1)[1].split()[19])
    assert one.account.words(2 * one.account.PAGE, 2) == (1, started)
    assert one.account.charged() == 300 * MIB


def test_a_driver_that_lies_elsewhere_is_found_as_the_loader_finds_it(card, tmp_path):
    # As in a container that a script of the job entered: it has the shim's folder and no driver.
    moved = tmp_path / "moved"
    moved.mkdir()
    shim = linked_shim(moved, opens="/nonexistent/libcuda.so.1")
    one = card(1 * GIB)
    one.env |= {"LD_PRELOAD": str(shim), "LD_LIBRARY_PATH": f"{moved}:{FAKE}"}
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 700M")
    assert talk("cuMemAlloc_v2 b 400M") == OUT_OF_MEMORY and one.account.charged() == 700 * MIB
    nowhere = one.start(env={"LD_LIBRARY_PATH": str(moved)}, begins=False)
    assert nowhere("cuInit") == 100, "no device: it does not find itself again and again"


def test_an_exec_gives_back(card):
    one = card(1 * GIB)
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 300M", "exec")
    talk.all_well("cuInit", "use 0", "cuMemAlloc_v2 a 1G")
    assert one.account.slots() == {talk.process.pid: [1 * GIB] + [0] * 15}


def test_slots_of_the_dead_are_taken_again(card):
    one = card(1 * GIB)
    account = one.account
    first = one.start()
    namespace = account.words(2 * account.PAGE, 3)[2]
    for number in range(1, account.SLOTS):
        account.put(2 * account.PAGE + account.SLOT * number, (1 << 22) + number, 1, namespace)
    account.put(account.PAGE + 64 * account.DEVICES, account.SLOTS)
    second = one.start()
    first.all_well("cuMemAlloc_v2 a 1G")
    assert second("cuMemAlloc_v2 b 1M") == OUT_OF_MEMORY


def test_one_process_more_than_there_are_slots_is_the_watchdogs(card):
    one = card(1 * GIB)
    account = one.account
    for number in range(account.SLOTS):  # all alive, as far as one of another namespace can tell
        account.put(2 * account.PAGE + account.SLOT * number, os.getpid(), 1, 1)
    account.put(account.PAGE + 64 * account.DEVICES, account.SLOTS)
    before = account.path.read_bytes()
    talk = one.start()
    talk.all_well("cuMemAlloc_v2 a 2G", "cuMemFree_v2 a", "cuMemAlloc_v2 a 2G")
    assert account.path.read_bytes() == before, "others' slots and the totals stay"


def start_racers(one, racers, processes, *words):
    return [subprocess.Popen([racers, *map(str, words)], env=one.env, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True) for _ in range(processes)]


def go(processes):
    for process in processes:
        process.stdin.write("x")
        process.stdin.flush()
    return [tuple(map(int, process.stdout.readline().split())) for process in processes]


def end(processes):
    for process in processes:
        process.communicate()


@pytest.fixture(params=["as it is", "lingering"])
def rounds(request, card, lingering_shim):
    """rounds(limit): cards, and by what the number of rounds is divided."""

    def make(limit):
        one = card(limit)
        if request.param == "lingering":
            one.env["LD_PRELOAD"] = str(lingering_shim)
        return one, 10 if request.param == "lingering" else 1

    return make


def test_what_fits_is_never_refused_however_many_ask(rounds, racers):
    one, fewer = rounds(64 * MIB)
    racing = start_racers(one, racers, 8, 8, 200 // fewer, MIB)
    assert go(racing) == [(1600 // fewer, 0, 0)] * 8
    assert one.account.charged() == 0 and one.account.result()[0] <= 64 * MIB
    end(racing)


@pytest.mark.parametrize("asks", ["until it is refused", "once"])
def test_at_the_limit_exactly_what_fits_is_granted(rounds, racers, asks):
    one, _ = rounds(37 * MIB)
    racing = start_racers(one, racers, 8, 8, -1 if asks == "once" else 0, MIB)
    answers = go(racing)
    assert sum(granted for granted, _, _ in answers) == 37
    assert {odd for _, _, odd in answers} == {0}
    assert one.account.charged() == one.account.result()[0] == 37 * MIB
    end(racing)


def test_small_ones_are_not_refused_because_a_large_one_asks(rounds, racers):
    one, fewer = rounds(64 * MIB)
    large = start_racers(one, racers, 2, 2, 3000 // fewer, 65 * MIB)
    small = start_racers(one, racers, 2, 4, 500 // fewer, MIB)
    assert go(large + small) == [(0, 6000 // fewer, 0)] * 2 + [(2000 // fewer, 0, 0)] * 2
    end(large + small)
