"""Leases: devices that are this process's, and the queue for them."""

from __future__ import annotations

import ctypes
import os
import sys

from . import _abi
from ._context import Context, drive, drive_async, is_simulated
from .errors import CudaStarted, Error, NoneFree, in_python, warn
from .looks import Device
from .placement import Placement
from .reading import share_of
from .request import DeviceRequest, device_request, refusal, takes
from .torch_backends import is_of_backend, reads_other_variables, started_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Generator, List, Literal, Optional

    import torch

    from ._context import Steps
    from .request import OnNews

_held: List["Lease"] = []  # until they are released: a lease that nobody names lives on
_asked_at_exit = False


class News:
    """What those who wait are told: `position` in the queue (1: next), seconds `waited`, `placement`."""

    def __init__(self, json: Dict[str, Any]) -> None:
        self.position: int = json.get("position", 0)
        self.waited: float = json.get("waited_ms", 0) / 1000
        self.placement = Placement(json.get("placement") or {})


class Lease:
    """Devices that nobody else is given, until release(), the end of `with`, or of this process.

    release() and the end of `with` end it for all. At the end of this process, after a kill too,
    processes that inherited it keep it until they end: forked children, and those given fileno().
    """

    sim: Optional[str]
    devices: List[Device]  # as they were when they were claimed, and leased; none: the CPU
    id: str  # as `berth leases` lists it; "": the CPU
    run: str

    def __init__(
        self,
        handle: ctypes.c_void_p,
        variables: Dict[str, str],
        apply: bool,
        sim: Optional[str],
        memory: Optional[bytes] = None,
    ) -> None:
        ask = _abi.library()
        self.sim = sim
        self._handle = handle
        self._pid = os.getpid()
        self._variables = variables  # and JAX's, once the devices are known
        self._before: Dict[str, Optional[str]] = {}
        self.id = _abi.text(ask.berth_lease_id(handle)) if handle.value else ""
        self.run = _abi.text(ask.berth_lease_run(handle)) if handle.value else ""
        self.devices = _leased_devices(handle, is_simulated(sim)) if handle.value else []
        variables.update(_jax_share(memory, self.devices))
        if apply:
            for ordinal, device in enumerate(self.devices):
                device.ordinal = ordinal  # their maker's variable names them in this order
            self._before = {name: os.environ.get(name) for name in variables}
            os.environ.update(variables)
        _held.append(self)
        _ask_at_exit()

    @property
    def device(self) -> torch.device:
        """PyTorch's name of the first, or of the CPU."""
        import torch

        return self.devices[0].torch() if self.devices else torch.device("cpu")

    def fileno(self) -> int:
        """The descriptor that keeps it: `subprocess.run(…, pass_fds=[lease.fileno()])`."""
        if not self._handle.value or not self.id:
            raise Error("a lease of the CPU, or one that was released, has no descriptor", code="not_found")
        return int(_abi.library().berth_lease_fd(self._handle))

    def environment(self) -> Dict[str, str]:
        """A whole environment for a child process, in which it finds these devices."""
        simulated = {"BERTH_SIM": self.sim} if self.sim else {}
        return {**os.environ, **simulated, **self._variables}

    @property
    def released(self) -> bool:
        return self not in _held

    def release(self) -> None:
        """Gives the devices back. Again, or in a forked child, it does nothing."""
        if self._pid != os.getpid() or self not in _held:
            return
        handle, self._handle = self._handle, ctypes.c_void_p()
        try:
            if handle.value:
                _abi.call("berth_lease_free", handle)
        except Error:
            self._handle = handle  # it still holds, and may be tried again
            raise
        _held.remove(self)
        self._restore()

    def _restore(self) -> None:
        for name, value in self._before.items():
            for inner in _held:  # taken within this one, and still there
                if inner._before.get(name) == self._variables[name]:
                    inner._before[name] = value
            if os.environ.get(name) != self._variables[name]:
                continue  # somebody has set it since
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        on = ", ".join(map(str, self.devices)) or "the CPU"
        return f"<berth.Lease {self.id} of {on}{', released' if self.released else ''}>"


class AsyncLease:
    """A lease to come: `await` it, or `async with` it."""

    def __init__(self, steps: Steps[Lease]) -> None:
        self._steps = steps
        self._is_begun = False
        self._lease: Optional[Lease] = None

    def __await__(self) -> Generator[Any, None, Lease]:
        if self._is_begun:
            raise Error("this lease was awaited already", remedy="call async_lease() for another")
        self._is_begun = True
        return drive_async(self._steps).__await__()

    async def __aenter__(self) -> Lease:
        self._lease = await self
        return self._lease

    async def __aexit__(self, *_: object) -> None:
        if self._lease:
            self._lease.release()


def current_lease() -> Optional[Lease]:
    """The lease that this process, or the one that forked it, took last and holds."""
    return _held[-1] if _held else None


@takes(device_request)
def lease(wanted: DeviceRequest) -> Lease:
    """Claims n devices for this process and shows it them, and no others.

    >>> with lease(2, sim="server-8xh100") as mine:
    ...     print(mine.devices[0].name, os.environ["CUDA_VISIBLE_DEVICES"])
    NVIDIA H100 80GB HBM3 4,5

    `memory` of each: "10G", "50%", or bytes: a share; without it whole devices, alone. `only`,
    `except_`: "0,2", "*H100*", [0, 2]. `prefer`: "best-fit", "most-free", "spread" or a list.
    `need`: "bf16,fp8". `kind`: "amd", to be said where there are several makers'. `min_compute`: "8.0". `idle_for`: "10m". `wait`: seconds,
    "2h", or True for as long as it takes; a place in the queue, which Ctrl-C leaves. `or_cpu`: where there is
    none, the CPU, with a warning. `record`: a record as `berth run` keeps one; in notebooks it is
    kept unless False. `after_init="index"`: where CUDA has started, one of NVIDIA's devices that it
    sees. `on_news` is called with News while it waits; without it stderr has a line.

    Raises NoneFree or NeverPossible with the reasons; CudaStarted before anything is claimed. Of AMD's,
    Intel's and Ascend's devices it is raised once they are chosen, where torch has used one already.
    Without `with` it lasts until release() or the end of the process.
    """
    return drive(_lease_steps(wanted))


@takes(device_request)
def async_lease(wanted: DeviceRequest) -> AsyncLease:
    """lease() for asyncio: `async with berth.async_lease(wait=True) as lease:`. Cancelling leaves the queue."""
    return AsyncLease(_lease_steps(wanted))


def cuda_state() -> Literal["not loaded", "not started", "started", "inherited"]:
    """Whether CUDA has read its variables in this process. Asks without starting it.

    "inherited": it had started in the process that forked this one, where it cannot be used.
    """
    return _abi.CUDA[_abi.library().berth_cuda_state()]  # type: ignore[return-value]


def _lease_steps(wanted: DeviceRequest) -> Steps[Lease]:
    wait_ms, sim = wanted.wait_ms, wanted.sim
    state = cuda_state()
    late = state in ("started", "inherited")
    if late and wanted.after_init == "refuse":
        raise _cuda_started(state)
    try:
        with Context.borrowed(_abi.FROM_HELPER, sim) as context:
            place, handle, pid = ctypes.c_void_p(), ctypes.c_void_p(), os.getpid()
            try:
                _abi.call(
                    "berth_wait_begin", context.handle, ctypes.byref(wanted.request), ctypes.c_int64(wait_ms),
                    ctypes.byref(place),
                )  # fmt: skip
                yield from _queue_steps(place, handle, wanted.on_news if wait_ms else lambda _: None, wait_ms / 1000)
                state = cuda_state()  # it may have started while we waited
                late = state in ("started", "inherited")
                if late and wanted.after_init == "refuse":
                    raise _cuda_started(state)
                _refuse_where_torch_has_started(_leased_devices(handle, False))
                taken = Lease(handle, _variables_of(handle), not late, wanted.sim, wanted.request.memory)
                handle = ctypes.c_void_p()
                return taken
            except GeneratorExit:  # nobody polls any more
                _abi.library().berth_wait_free(place)
                place = ctypes.c_void_p()
                raise
            finally:  # Ctrl-C may come between any two lines
                if handle.value:
                    _abi.library().berth_lease_free(handle, None)
                if place.value:
                    yield from _leave_steps(place, pid)
    except Error as error:
        if error.code not in ("none_free", "never") or not wanted.or_cpu:
            raise
        return _cpu_lease(error, not late, sim)


def _leave_steps(place: ctypes.c_void_p, pid: int) -> Steps[None]:
    """Leaves the queue; the place is gone once the helper has ended, which it does within half a second."""
    try:
        none = ctypes.c_void_p()
        # It is over; or it belongs to the process that forked this one.
        left = pid != os.getpid() or _abi.library().berth_wait_leave(place, None) != _abi.OK
        while not left:
            yield _abi.library().berth_wait_fd(place), 1.0
            left = _abi.library().berth_wait_step(place, ctypes.byref(none), None) != _abi.OK
    finally:
        _abi.library().berth_wait_free(place)


def _queue_steps(
    place: ctypes.c_void_p, handle: ctypes.c_void_p, on_news: Optional[OnNews], waited: float
) -> Steps[None]:
    import json

    ask = _abi.library()
    tell = on_news or QueueReporter()
    said = b""
    while True:
        error = ctypes.c_void_p()
        code = ask.berth_wait_step(place, ctypes.byref(handle), ctypes.byref(error))
        news = ask.berth_wait_news_json(place) or b""
        if code != _abi.OK:
            failure = _abi.failure(code, error)
            if isinstance(failure, NoneFree):
                why = Placement(json.loads(news).get("placement") or {}) if news else None
                raise refusal(failure.code, why, waited)
            raise failure
        if handle.value:
            return
        if news and news != said:
            said = news
            tell(News(json.loads(news)))
        yield ask.berth_wait_fd(place), None


class QueueReporter:
    """Says on stderr that one waits, and again where the place in the queue changes."""

    def __init__(self) -> None:
        self.position: Optional[int] = None

    def __call__(self, news: News) -> None:
        if news.position != self.position:
            self.position = news.position
            asked = in_python(news.placement.json.get("asked_for") or "")
            print(f"berth: number {news.position} in the queue ({asked}); Ctrl-C leaves it", file=sys.stderr)


def _variables_of(handle: ctypes.c_void_p) -> Dict[str, str]:
    """Of no lease: what hides all devices, as `berth run --cpu` sets it."""
    ask, found = _abi.library(), {}
    for at in range(ask.berth_lease_variables(handle)):
        value = ctypes.c_char_p()
        name = ask.berth_lease_variable(handle, at, ctypes.byref(value))
        found[_abi.text(name)] = os.fsdecode(value.value or b"")
    return found


def _leased_devices(handle: ctypes.c_void_p, simulated: bool) -> List[Device]:
    import pwd

    try:
        owner = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        owner = str(os.geteuid())
    found = []
    for at in range(_abi.library().berth_lease_devices(handle)):
        raw = _abi.sized(_abi.DeviceStruct)
        _abi.library().berth_lease_device(handle, at, ctypes.byref(raw))
        device = Device(raw, simulated)
        others = [one for one in (device.holder or "").split(", ") if one and one != owner]
        device.state, device.holder = "leased", ", ".join([*others, owner])
        found.append(device)
    return found


def _cpu_lease(refused: Error, apply: bool, sim: Optional[str]) -> Lease:
    warn(f"no GPU, so this computes on the CPU: {refused.args[0]}")
    hidden = _variables_of(ctypes.c_void_p())
    if not hidden:
        raise Error("this libberth is older than the package: it does not say what hides all devices", code="unsupported")
    return Lease(ctypes.c_void_p(), hidden, apply, sim)


# A share of a card by its names in JAX, the newer first; both at once are an error to it. Then what else decides.
JAX_SHARE = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION")
JAX_OWN = {*JAX_SHARE, "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR"}


def _jax_share(memory: Optional[bytes], devices: List[Device]) -> Dict[str, str]:
    """How much JAX may take: untold, it takes three quarters of a card at once, also of a shared one."""
    import importlib.util

    totals = [device.memory_total.value for device in devices]
    if memory is None or not totals or None in totals or JAX_OWN & os.environ.keys():
        return {}
    try:
        jaxlib = importlib.util.find_spec("jaxlib")
        folder = list(jaxlib.submodule_search_locations or [])[0] if jaxlib else None
        if folder is None:
            return {}
        with open(os.path.join(folder, "xla_client.py"), encoding="utf-8") as source:
            newer, older = JAX_SHARE
            name = newer if newer in source.read() else older
    except (ImportError, ValueError, IndexError, OSError):
        return {}  # no JAX, or one that we do not know
    share = share_of(memory.decode(), max(filter(None, totals)))
    return {} if share is None else {name: f"{share:.4f}"}


def _cuda_started(state: str) -> CudaStarted:
    if state == "inherited":
        return CudaStarted(
            "CUDA had started in the process that forked this one, and cannot be used here",
            code="cuda_started",
            remedy='start children with multiprocessing\'s "spawn"',
        )
    return CudaStarted(
        f"CUDA was started in this process already{_likely_call()}",
        code="cuda_started",
        remedy='call lease() first, or after_init="index" for one of the devices that CUDA sees',
    )


def _refuse_where_torch_has_started(devices: List[Device]) -> None:
    """How far CUDA has come berth_cuda_state() tells. Of other makers' devices torch alone knows."""
    started = started_backend()
    if started is None or not reads_other_variables(started[0]):
        return
    if any(is_of_backend(started[0], one.kind) for one in devices):
        raise CudaStarted(
            f"torch.{started[0]} was started in this process already, and reads the variables of devices no more",
            code="cuda_started",
            remedy="call lease() first",
        )


def _likely_call() -> str:
    """Who started it, as far as modules tell."""
    torch = sys.modules.get("torch")
    if torch is not None and getattr(torch, "cuda", None) is not None:
        if torch.cuda.is_initialized():
            return " (a tensor or a model was moved to it with torch)"
        return " (torch.cuda.is_available() or device_count()?)"
    calls = {
        "jax": "jax.devices()",
        "tensorflow": "tensorflow.config.list_physical_devices()",
        "cupy": "cupy",
        "numba.cuda": "numba.cuda",
        "pycuda.autoinit": "pycuda.autoinit",
    }
    for module, call in calls.items():
        if module in sys.modules:
            return f" ({call}?)"
    return ""


def _ask_at_exit() -> None:
    global _asked_at_exit
    if not _asked_at_exit:
        import atexit

        atexit.register(_let_go_all)
        _asked_at_exit = True


def _let_go_all() -> None:
    """At the interpreter's end, also of a forked child: workers that inherited a lease keep it."""
    for held in list(reversed(_held)):
        if held._handle.value and held._pid == os.getpid():
            handle, held._handle = held._handle, ctypes.c_void_p()
            _abi.call("berth_lease_let_go", handle)


def _before_fork() -> None:
    """A child is told "not started" by the driver, even where CUDA had started: the library remembers."""
    try:
        cuda_state()
    except Error:
        pass


os.register_at_fork(before=_before_fork)
