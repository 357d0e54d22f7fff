"""Contexts of the library, lent to one caller at a time, and waiting for them without blocking.

Nothing here sleeps in C: what takes time is a generator that yields (descriptor, seconds) where it
is to be polled. `drive` polls it with poll(2), which Ctrl-C interrupts; `drive_async` in asyncio's
loop. An exception that interrupts the polling is thrown into the generator. The generator may poll
for a moment more, until it has given up its task. Closing it gives it up at once.
"""

from __future__ import annotations

import ctypes
import os

from . import _abi
from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Generator, List, Optional, Tuple, TypeVar

    T = TypeVar("T")
    Steps = Generator[Tuple[int, Optional[float]], None, T]
    Key = Tuple[object, ...]

# What the library reads when it opens a context: another value is another context.
_VARIABLES = ("BERTH_SIM", "BERTH_LEDGER", "BERTH_HELPER", "XDG_RUNTIME_DIR", "HOME")
_idle: Dict[Key, List["Context"]] = {}
_MOST_IDLE = 4  # of one kind, each with a helper of its own
_MOST_KINDS = 32


def whereabouts() -> Key:
    """What makes a context another one, for callers that borrow two of one place."""
    # A forked child's are its own: its parent is still speaking to the helpers of the others.
    return (os.getpid(), *map(os.environ.get, _VARIABLES))


class Context:
    """`with Context.borrowed(…) as context`: one of the library's, for this thread alone."""

    def __init__(
        self, sources: int = 0, sim: Optional[str] = None, replay: Optional[str] = None, max_age: float = 0
    ) -> None:
        options = _abi.sized(_abi.Options)
        options.sim, options.replay = _abi.raw(sim), _abi.raw(replay)
        options.helper = _abi.raw(bundled_program())
        options.max_age_ms, options.sources = int(max_age * 1000), sources
        self.handle = ctypes.c_void_p()
        _abi.call("berth_open", ctypes.byref(options), ctypes.byref(self.handle))

    @staticmethod
    def borrowed(
        sources: int = 0,
        sim: Optional[str] = None,
        replay: Optional[str] = None,
        max_age: float = 0,
        here: Optional[Key] = None,
    ) -> "Borrowed":
        return Borrowed((*(here or whereabouts()), sources, sim, replay, max_age))

    def steps(self, asked: str, *what: Any) -> Steps[ctypes.c_void_p]:
        """What berth_{asked}_begin() and _advance() give: a look, or an answer."""
        descriptor, due, made = ctypes.c_int(-1), ctypes.c_int(), ctypes.c_void_p()
        _abi.call(f"berth_{asked}_begin", self.handle, *what, ctypes.byref(descriptor), ctypes.byref(due))
        while not made.value:
            yield descriptor.value, due.value / 1000
            _abi.call(f"berth_{asked}_advance", self.handle, ctypes.byref(made), ctypes.byref(due))
        return made

    def close(self) -> None:
        _abi.library().berth_close(self.handle)
        self.handle = ctypes.c_void_p()


class Borrowed:
    def __init__(self, key: Key) -> None:
        self.key = key
        self.context: Optional[Context] = None

    def __enter__(self) -> Context:
        try:
            self.context = _idle[self.key].pop()
        except (KeyError, IndexError):
            self.context = Context(*self.key[len(_VARIABLES) + 1 :])  # type: ignore[arg-type]
        return self.context

    def __exit__(self, kind: object, *_: object) -> None:
        assert self.context is not None
        if self.key not in _idle and len(_idle) >= _MOST_KINDS:
            _close_idle()
        idle = _idle.setdefault(self.key, [])
        # Where it was left in the middle, by Ctrl-C or a cancelled task, it is not lent again.
        is_whole = kind is None or (isinstance(kind, type) and issubclass(kind, Error))
        if is_whole and len(idle) < _MOST_IDLE and self.key[0] == os.getpid():
            idle.append(self.context)
        else:
            self.context.close()
        self.context = None


def _close_idle() -> None:
    for key in list(_idle):
        for context in _idle.pop(key, []):
            if key[0] == os.getpid():  # those of the process that forked this one are let be
                context.close()


def is_simulated(sim: Optional[str]) -> bool:
    return bool(sim or os.environ.get("BERTH_SIM"))


def bundled_program() -> Optional[str]:
    """The wheel's own program, unless BERTH_HELPER names another."""
    bundled = os.path.join(_abi.HERE, "_bin", "berth")
    return bundled if not os.environ.get("BERTH_HELPER") and os.path.exists(bundled) else None


def program() -> str:
    """The berth program, to run one of its verbs."""
    bundled = bundled_program()
    if bundled:
        return bundled
    with Context.borrowed() as context:
        found = _abi.text(_abi.library().berth_program(context.handle))
    if not found:
        raise Error(
            "no berth program was found: not in BERTH_HELPER, beside the library, or in PATH",
            code="not_found",
            remedy="install berth's wheel, or name the program in BERTH_HELPER",
        )
    return found


class _CtrlC:
    """While it lives Ctrl-C is heard where something is waited for, and nowhere else: between a
    claim and its new holder it would lose the lease. In other threads Python hears it anyway."""

    def __init__(self) -> None:
        self.was_pressed = False
        self._is_waiting = False
        self._before: Any = None

    # What `signal` itself calls: it looks each handler up among its enumerations, 8 µs a look.
    def __enter__(self) -> _CtrlC:
        import threading

        import _signal

        before = _signal.getsignal(_signal.SIGINT)
        if callable(before) and threading.current_thread() is threading.main_thread():
            self._before = before
            _signal.signal(_signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        import _signal

        if self._before is not None:
            _signal.signal(_signal.SIGINT, self._before)

    def _note(self, number: int, frame: Any) -> None:
        if self._is_waiting:
            self._before(number, frame)
        self.was_pressed = not self._is_waiting

    def poll(self, poll: Any, milliseconds: Optional[int]) -> None:
        self._is_waiting = True
        try:
            if self.was_pressed:
                self.tell()
            poll.poll(milliseconds)
        finally:
            self._is_waiting = False

    def tell(self) -> None:
        import signal

        self.was_pressed = False
        self._before(signal.SIGINT, None)


def drive(steps: Steps[T]) -> T:
    """Takes the steps to their end, here and now."""
    import select

    with _CtrlC() as ctrl_c:
        try:
            descriptor, seconds = next(steps)
            while True:
                try:
                    poll = select.poll()
                    poll.register(descriptor, select.POLLIN)
                    ctrl_c.poll(poll, None if seconds is None else max(0, int(seconds * 1000)))
                except BaseException as error:
                    descriptor, seconds = steps.throw(error)
                else:
                    descriptor, seconds = next(steps)
        except StopIteration as end:
            made: T = end.value
        finally:
            steps.close()
    if ctrl_c.was_pressed:  # nobody wants it any more
        getattr(made, "release", lambda: None)()
        ctrl_c.tell()
    return made


async def drive_async(steps: Steps[T]) -> T:
    """The same in asyncio's loop, which goes on meanwhile."""
    import asyncio

    loop = asyncio.get_running_loop()
    try:
        descriptor, seconds = next(steps)
        while True:
            ready = asyncio.Event()
            loop.add_reader(descriptor, ready.set)
            try:
                await asyncio.wait_for(ready.wait(), seconds)
            except asyncio.TimeoutError:
                descriptor, seconds = next(steps)
            except GeneratorExit:
                raise  # the loop has ended
            except BaseException as error:
                descriptor, seconds = steps.throw(error)
            else:
                descriptor, seconds = next(steps)
            finally:
                loop.remove_reader(descriptor)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        steps.close()
