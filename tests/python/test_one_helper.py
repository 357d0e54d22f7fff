"""What one context and its helper are asked at a time. Also what a child has of it that was forked meanwhile."""

from conftest import E2E

BEGIN = """
import ctypes
from berth import _abi
from berth._context import Context
from berth.request import request_struct

ask = _abi.library()
context = Context(_abi.FROM_HELPER, None)


def begun(wait_ms, devices):
    place = ctypes.c_void_p()
    request = request_struct(devices)
    _abi.call("berth_wait_begin", context.handle, ctypes.byref(request), ctypes.c_int64(wait_ms), ctypes.byref(place))
    return place
"""


def test_a_child_forked_during_a_wait_keeps_no_place_when_its_parent_leaves(desk):
    holder = desk.holding("berth.lease(5)")
    waiter = desk.start_python(
        BEGIN
        + """
import os, sys, time
place = begun(-1, 1)
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
sys.stdin.readline()
ask.berth_wait_free(place)
print("left", flush=True)
sys.stdin.read()
"""
    )
    try:
        assert int(waiter.stdout.readline()) > 0
        E2E.wait_until(lambda: len(desk.queue()) == 1, "it waits")
        waiter.stdin.write("leave\n")
        waiter.stdin.flush()
        assert waiter.stdout.readline() == "left\n"
        E2E.wait_until(lambda: desk.queue() == [], "nobody waits any more, although the child lives")
        holder.communicate()
        assert desk.leases() == []
    finally:
        waiter.stdin.close()
        waiter.wait(timeout=20)


def test_a_look_in_steps_is_given_no_other_answer(desk):
    told = desk.told(
        BEGIN
        + """
descriptor, due, error = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
assert ask.berth_look_begin(context.handle, 0, ctypes.byref(descriptor), ctypes.byref(due), None) == 0
answer = ctypes.c_void_p()
refused = ask.berth_pick(context.handle, None, ctypes.byref(answer), None)
import select
look = ctypes.c_void_p()
while not look.value:
    select.select([descriptor.value], [], [], 10)
    assert ask.berth_look_advance(context.handle, ctypes.byref(look), ctypes.byref(due), None) == 0
then = ask.berth_pick(context.handle, None, ctypes.byref(answer), None)
print(json.dumps([refused, ask.berth_look_devices(look), then]))
"""
    )
    busy = 4
    assert told == [busy, 8, 0]
