"""What lease(), async_lease() and pick() are asked, and which devices that would be."""

from __future__ import annotations

import ctypes
import sys

from . import _abi
from ._context import Context, drive, is_simulated
from .errors import Error, error_of, in_python
from .looks import Device, Look
from .placement import Placement
from .reading import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Literal, Optional, TypeVar, Union

    from typing_extensions import ParamSpec

    from ._context import Steps
    from .leases import News

    T = TypeVar("T")
    Parameters = ParamSpec("Parameters")
    Chosen = Union[str, int, List[int]]
    AfterInit = Literal["refuse", "index"]
    OnNews = Callable[[News], None]


class DeviceRequest:
    """What device_request() made of its parameters."""

    def __init__(
        self, request: _abi.RequestStruct, wait_ms: int, or_cpu: bool, after_init: AfterInit,
        on_news: Optional[OnNews], sim: Optional[str],
    ) -> None:  # fmt: skip
        self.request = request
        self.wait_ms = wait_ms
        self.or_cpu = or_cpu
        self.after_init = after_init
        self.on_news = on_news
        self.sim = sim


def device_request(
    n: int = 1,
    *,
    memory: Optional[Union[str, int]] = None,
    only: Optional[Chosen] = None,
    except_: Optional[Chosen] = None,
    prefer: Optional[Chosen] = None,
    need: Optional[str] = None,
    min_compute: Optional[str] = None,
    idle_for: Optional[str] = None,
    wait: Union[float, str, bool] = False,
    or_cpu: bool = False,
    record: Optional[bool] = None,
    after_init: AfterInit = "refuse",
    name: Optional[str] = None,
    on_news: Optional[OnNews] = None,
    sim: Optional[str] = None,
    kind: Optional[str] = None,
) -> DeviceRequest:
    """What lease(), async_lease() and pick() take."""
    request = request_struct(
        n, memory=memory, only=only, except_=except_, prefer=prefer, need=need, min_compute=min_compute,
        idle_for=idle_for, name=name, kind=kind, record=_is_notebook() if record is None else record,
        after_init=after_init == "index",
    )  # fmt: skip
    return DeviceRequest(request, _wait_ms(wait), or_cpu, after_init, on_news, sim)


def takes(
    listed: Callable[Parameters, DeviceRequest],
) -> Callable[[Callable[[DeviceRequest], T]], Callable[Parameters, T]]:
    """The parameters of `listed`, also for help() and type checkers."""

    def decorated(answer: Callable[[DeviceRequest], T]) -> Callable[Parameters, T]:
        def call(*words: Parameters.args, **how: Parameters.kwargs) -> T:
            return answer(listed(*words, **how))

        call.__name__ = call.__qualname__ = answer.__name__
        call.__doc__, call.__module__ = answer.__doc__, answer.__module__
        call.__wrapped__ = listed  # type: ignore[attr-defined]
        return call

    return decorated


del device_request.__annotations__["return"]  # it is not what those return that take the same


@takes(device_request)
def pick(wanted: DeviceRequest) -> List[Device]:
    """The devices that lease() would get now. Claims nothing: somebody else may take them first.

    >>> [device.index for device in pick(2, sim="server-8xh100")]
    [4, 5]

    It takes what lease() takes and never waits. Raises NoneFree, NeverPossible; with `or_cpu` there
    are none then.
    """
    return drive(_pick_steps(wanted))


def _pick_steps(wanted: DeviceRequest) -> Steps[List[Device]]:
    import json

    with Context.borrowed(_abi.FROM_HELPER, wanted.sim) as context:
        answer = yield from context.steps("pick", ctypes.byref(wanted.request))
        try:
            placement = Placement(json.loads(_abi.text(_abi.library().berth_answer_json(answer))))
        finally:
            _abi.library().berth_answer_free(answer)
        if not placement.satisfied and wanted.or_cpu:
            return []
        if not placement.satisfied:
            raise refusal("none_free" if placement.possible else "never", placement)
        seen = yield from context.steps("look", _abi.DEPTHS.index("state"))
    by_id = {device.id: device for device in Look(seen, is_simulated(wanted.sim)).devices}
    return [by_id[chosen] for chosen in placement.chosen]


def _wait_ms(wait: Union[float, str, bool]) -> int:
    """-1: as long as it takes."""
    if wait is True:
        return -1
    try:
        seconds = seconds_of(wait) if isinstance(wait, str) else float(wait)
    except (TypeError, ValueError):
        seconds = -1
    if not 0 <= seconds <= 1e9:
        raise Error(f"wait={wait!r} makes no sense", remedy='write seconds, "1h30m", or True for ever')
    return round(seconds * 1000)


def _is_notebook() -> bool:
    return "ipykernel" in sys.modules


def request_struct(n: int, **members: Any) -> _abi.RequestStruct:
    """Numbers mean bytes where memory is meant, and indices where devices are."""
    if not hasattr(n, "__index__"):
        raise Error(f"n={n!r} is no number of devices", remedy='write 1 or more; memory="10G" is of each')
    if n < 1:
        raise Error(f"n={n} devices were asked for", remedy="ask for one or more")
    request = _abi.sized(_abi.RequestStruct)
    request.devices = n
    for name, value in members.items():
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        if name == "memory" and isinstance(value, int):
            value = f"{value}B"
        setattr(request, name.rstrip("_"), int(value) if isinstance(value, bool) else _abi.raw(value))
    return request


def refusal(code: str, placement: Optional[Placement], waited: float = 0) -> Error:
    """NoneFree or NeverPossible, with its reasons; `waited`: for so many seconds."""
    asked = in_python((placement.json.get("asked_for") if placement else "") or "this")
    if code == "never":
        said, remedy = f"no devices of this machine will ever do for {asked}", "`berth status` shows what it has"
    elif waited:
        said, remedy = f"no devices became free for {asked} in {waited:g} s", "wait longer, or go on with or_cpu=True"
    else:
        said, remedy = f"no devices are free for {asked}", "wait=True waits in the queue, or_cpu=True goes on without"
    error = error_of(code, said, remedy)
    error.placement = placement  # type: ignore[attr-defined]
    return error
