"""Looking at the machine: devices, who is on them, and how often one wants to know."""

from __future__ import annotations

import ctypes
import os

from . import _abi
from ._context import Context, drive, drive_async, is_simulated, whereabouts
from .errors import Error
from .reading import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from typing import Any, AsyncIterator, Dict, Iterator, List, Optional, Tuple

    import torch

    from ._context import Steps



class Process:
    """A program on a device, as the driver tells it."""

    device: Optional[int]  # its place in Look.devices
    pid: int
    user: Optional[str]
    command: Optional[str]  # secrets are masked
    run: Optional[str]  # of `berth run` or of a lease
    container: Optional[str]
    memory: Reading[int]  # bytes
    mine: bool  # this process or one that it started

    def __init__(self, raw: _abi.ProcessStruct) -> None:
        self.device = raw.device if raw.device >= 0 else None
        self.pid = raw.pid
        self.user = _abi.text(raw.user) or None
        self.command = _abi.text(raw.command) or None
        self.run = _abi.text(raw.run) or None
        self.container = _abi.text(raw.container) or None
        self.memory = _read(raw.memory_bytes, in_bytes=True)
        self.mine = bool(raw.mine)

    def __repr__(self) -> str:
        return f"<berth.Process {self.pid} {self.user or '?'}: {self.command or '?'}>"


class Device:
    """A GPU, or an instance of one that MIG divides, as a look saw it."""

    index: Optional[int]  # as nvidia-smi numbers them; None: it is lost
    id: str  # its UUID, which lasts
    ordinal: Optional[int]  # cuda:ordinal (Intel xpu, Ascend npu) in this process; None: hidden, or it cannot be told
    name: str
    pci: Optional[str]
    state: str  # "free", "reserved", "leased", "busy", "held", … (doc/METRICS.md, state)
    state_why: Optional[str]  # of a failed or unusable device
    holder: Optional[str]  # who is on it or holds it
    simulated: bool
    memory_total: Reading[int]  # bytes
    memory_used: Reading[int]
    memory_used_is_bound: bool  # at least so much is used (Intel)
    memory_free: Reading[int]
    utilization: Reading[float]  # percent of the time in which a kernel ran
    power: Reading[float]  # watts
    temperature: Reading[int]  # °C
    compute: Optional[Tuple[int, int]]
    cuda_cores: Optional[int]
    kind: str  # "nvidia-gpu", "amd-gpu", …
    torch_type: Optional[str]  # "cuda", "xpu", "npu": before PyTorch's number of it; None: not known

    def __init__(self, raw: _abi.DeviceStruct, simulated: bool, seen: Optional[_Seen] = None, at: int = 0) -> None:
        self.simulated = simulated
        self._seen, self._at = seen, at
        self._processes: Optional[List[Process]] = None  # read where somebody asks
        self.index = raw.index if raw.index >= 0 else None
        self.id = _abi.text(raw.id)
        self.name = _abi.text(raw.name)
        self.pci = _abi.text(raw.pci) or None
        self.state = _abi.STATES[raw.state] if 0 <= raw.state < len(_abi.STATES) else "unknown"
        self.state_why = _abi.text(raw.state_why) or None
        self.holder = _abi.text(raw.users) or None
        self.ordinal = raw.visible_ordinal if raw.visible_ordinal >= 0 else None
        self.memory_total = _read(raw.memory_total_bytes, in_bytes=True)
        self.memory_used = _read(raw.memory_used_bytes, in_bytes=True)
        self.memory_used_is_bound = bool(raw.memory_used_is_bound)
        self.memory_free = _read(raw.memory_free_bytes, in_bytes=True)
        self.utilization = _read(raw.utilization_percent)
        self.power = _read(raw.power_draw_milliwatts, 1000)
        self.temperature = _read(raw.temperature_celsius)
        self.compute = (raw.compute_major, raw.compute_minor) if raw.compute_major else None
        self.cuda_cores = raw.cuda_cores or None
        self.kind = _abi.text(raw.kind)
        self.torch_type = _abi.text(raw.torch_type) or None

    @property
    def processes(self) -> List[Process]:
        if self._processes is None:
            self._processes = self._seen.processes_on(self._at) if self._seen else []
        return self._processes

    def __getstate__(self) -> Dict[str, Any]:
        """For pickle and copy: the library's look stays in this process."""
        return {**self.__dict__, "_processes": self.processes, "_seen": None}

    def torch(self) -> torch.device:
        """PyTorch's name of it in this process; of a simulated one the CPU's. Starts nothing."""
        import torch

        if self.simulated:
            return torch.device("cpu")
        if self.ordinal is None:
            told = sorted(name for name in os.environ if "_VISIBLE_" in name or name == "ZE_AFFINITY_MASK")
            why = ", ".join(f"{name}={os.environ[name]}" for name in told) or "only its runtime knows how it counts"
            raise Error(
                f"{self} has no number in this process: {why}",
                code="not_found",
                remedy="berth.devices(visible=True) has those that it sees",
            )
        if self.torch_type is None:
            raise Error(f"berth does not know what PyTorch calls a device of kind {self.kind}", code="unsupported")
        return torch.device(self.torch_type, self.ordinal)

    def __str__(self) -> str:
        return f"GPU {self.index}" if self.index is not None else self.id

    def __repr__(self) -> str:
        used = f"≥ {self.memory_used}" if self.memory_used_is_bound else self.memory_used
        return f"<berth.Device {self}: {self.name}, {self.state}, {used} of {self.memory_total}>"


class _Seen:
    """A look of the library, which lives as long as the Look and each Device of it."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self.handle = handle
        self._processes: Optional[List[Process]] = None
        self._on: Dict[int, List[Process]] = {}

    def __del__(self, _library: Any = _abi.library) -> None:
        if self.handle.value:
            _library().berth_look_free(self.handle)

    @property
    def processes(self) -> List[Process]:
        if self._processes is None:
            ask, count = _abi.library().berth_look_process, _abi.library().berth_look_processes(self.handle)
            raw = _abi.sized(_abi.ProcessStruct)
            place = ctypes.byref(raw)
            found = []
            for at in range(count):
                ask(self.handle, at, place)
                found.append(Process(raw))
            for process in found:
                if process.device is not None:
                    self._on.setdefault(process.device, []).append(process)
            self._processes = found
        return self._processes

    def processes_on(self, at: int) -> List[Process]:
        return self._on.get(at, []) if self.processes else []


class Look:
    """What one look saw. It never changes."""

    def __init__(self, handle: ctypes.c_void_p, simulated: bool) -> None:
        self._seen = _Seen(handle)
        self._simulated = simulated
        self._devices: Optional[List[Device]] = None

    @property
    def devices(self) -> List[Device]:
        if self._devices is None:
            ask, count = _abi.library().berth_look_device, _abi.library().berth_look_devices(self._seen.handle)
            raw = _abi.sized(_abi.DeviceStruct)
            place = ctypes.byref(raw)
            found = []
            for at in range(count):
                ask(self._seen.handle, at, place)
                found.append(Device(raw, self._simulated, self._seen, at))
            self._devices = found
        return self._devices

    @property
    def processes(self) -> List[Process]:
        """All of them, also those on devices that are not listed."""
        return self._seen.processes

    @property
    def taken(self) -> float:
        """When, in seconds since 1970."""
        return float(_abi.library().berth_look_taken_unix_ms(self._seen.handle) / 1000)

    @property
    def problems(self) -> List[str]:
        """What could not be read, for people."""
        return [str(one.get("message", one)) if isinstance(one, dict) else str(one) for one in self.json()["problems"]]

    def json(self) -> Dict[str, Any]:
        """All of it, as `berth status --json` prints it (doc/FORMATS.md, Snapshot)."""
        import json

        return json.loads(_abi.text(_abi.library().berth_look_json(self._seen.handle)))  # type: ignore[no-any-return]

    def column(self, key: str) -> Tuple[array[float], array[int]]:
        """A field of doc/METRICS.md for all devices: values, and not 0 where there is none.

        >>> values, absent = look(sim="server-8xh100").column("memory_used_bytes")
        >>> len(values), sum(absent)
        (8, 0)

        `numpy.ma.array(values, mask=absent)` is what it is made for.
        """
        from array import array

        room = _abi.library().berth_look_devices(self._seen.handle)
        values, absent = array("d", bytes(8 * room)), array("B", bytes(room))
        if room:
            _abi.call(
                "berth_look_column",
                self._seen.handle,
                key.encode(),
                (ctypes.c_double * room).from_buffer(values),
                (ctypes.c_uint8 * room).from_buffer(absent),
                room,
            )
        return values, absent

    def __repr__(self) -> str:
        return f"<berth.Look {len(self.devices)} devices, {len(self.processes)} processes>"


def _read(raw: Any, divisor: int = 0, in_bytes: bool = False) -> Reading[Any]:
    if raw.absent == 0:
        return Reading(raw.value / divisor if divisor else raw.value, in_bytes=in_bytes)
    return Reading(None, _abi.ABSENT[raw.absent] if 0 < raw.absent < len(_abi.ABSENT) else "failed")


def _look_steps(max_age: float, depth: str, sim: Optional[str], replay: Optional[str]) -> Steps[Look]:
    if depth not in _abi.DEPTHS:
        raise Error(f'there is no depth "{depth}"', remedy=f"one of {', '.join(_abi.DEPTHS)}")
    wanted, here = _abi.DEPTHS.index(depth), whereabouts()
    if max_age > 0 and not replay:
        # `berth serve` answers from memory, at once.
        with Context.borrowed(_abi.FROM_SERVE, sim, replay, max_age, here) as context:
            handle, error = ctypes.c_void_p(), ctypes.c_void_p()
            code = _abi.library().berth_look_now(
                context.handle, wanted, ctypes.byref(handle), ctypes.byref(error)
            )
            if code == _abi.OK:
                return Look(handle, is_simulated(sim))
            _abi.library().berth_error_free(error)  # nobody serves here; the helper says what is wrong
    with Context.borrowed(_abi.FROM_HELPER, sim, replay, here=here) as context:
        return Look((yield from context.steps("look", wanted)), not replay and is_simulated(sim))


def look(
    *, max_age: float = 2.0, depth: str = "state", sim: Optional[str] = None, replay: Optional[str] = None
) -> Look:
    """Looks once at every device and who is on it.

    >>> for device in look(sim="server-8xh100").devices[:2]:
    ...     print(device, device.state, device.holder, device.processes[0].pid)
    GPU 0 busy alice 21871
    GPU 1 busy alice 21872

    Takes a look of `berth serve` that is at most `max_age` seconds old (0: none), else has the
    helper look: 1 to 5 ms, and 5 s where a card hangs. That card is in the look, absent, with a
    problem. `depth`: "state" (what Device and Process have, and no more is read), "everything",
    "details", "lists". `sim`: a simulated server (`berth scenarios`). `replay`: a recording.
    """
    return drive(_look_steps(max_age, depth, sim, replay))


def devices(*, visible: bool = False, sim: Optional[str] = None, replay: Optional[str] = None) -> List[Device]:
    """The devices of a look; `visible`: those that this process is shown, of each maker number 0 first.

    Each maker's own variable counts, as its runtime reads it.

    >>> [device.index for device in devices(sim="server-8xh100") if device.state == "free"]
    [3, 4, 5, 6, 7]
    """
    found = look(sim=sim, replay=replay).devices
    if not visible:
        return found
    makers = list(dict.fromkeys(one.kind.split("-")[0] for one in found))
    shown = [one for one in found if one.ordinal is not None]
    return sorted(shown, key=lambda one: (makers.index(one.kind.split("-")[0]), one.ordinal or 0))


class Watch:
    """Looks, one after the other: `for look in …` or `async for look in …`."""

    def __init__(self, every: float, depth: str, sim: Optional[str], replay: Optional[str]) -> None:
        self.every = every
        self._how = (min(2.0, every / 2), depth, sim, replay)
        self._next: Optional[float] = None

    def _rest(self) -> float:
        """How long until the next is due. What was missed is not caught up on."""
        import time

        now = time.monotonic()
        if self._next is None:
            self._next = now
        rest = max(0.0, self._next - now)
        self._next = max(now, self._next) + self.every
        return rest

    def __iter__(self) -> Iterator[Look]:
        return self

    def __next__(self) -> Look:
        import time

        time.sleep(self._rest())
        return drive(_look_steps(*self._how))

    def __aiter__(self) -> AsyncIterator[Look]:
        return self

    async def __anext__(self) -> Look:
        import asyncio

        await asyncio.sleep(self._rest())
        return await drive_async(_look_steps(*self._how))


def watch(
    every: float = 1.0, *, depth: str = "state", sim: Optional[str] = None, replay: Optional[str] = None
) -> Watch:
    """Looks every `every` seconds, for `for` and for `async for`. It ends when you leave the loop.

    >>> for look in watch(0.01, sim="desktop"):
    ...     print(len(look.devices))
    ...     break
    1
    """
    return Watch(every, depth, sim, replay)
