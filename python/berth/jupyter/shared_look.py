"""The one look that all tabs share. Taken when a tab asks and the last is a second old, at most one at
a time. Never taken while no tab asks."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time

from .. import _abi
from .._context import Context, drive_async, is_simulated
from ..errors import Error
from ..looks import Look
from .kernels import overview
from .serve_socket import fetched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Awaitable, Callable, Dict, List, Optional, Tuple

    from .kernels import Kernel

EVERY_S = 1.0
OLDEST_OF_SERVE_S = 5.0
SERVE_PATIENCE_S = 1.0
HELPER_PATIENCE_S = 15.0  # it gives up a card itself, and says so, in 5 s
FIRST_PATIENCE_S = 3.0  # the first asker waits so long; later ones have the last look meanwhile
LATER_PATIENCE_S = 0.3
SERVE_PAUSE_S = 30.0  # one that did not answer is left alone so long
FAILURE_PAUSE_S = 5.0


class Seen:
    """An overview as it is sent."""

    def __init__(self, said: Dict[str, Any], taken_unix_ms: Optional[int]) -> None:
        shown = json.dumps(said, separators=(",", ":"), sort_keys=True)
        self.etag = f'"{hashlib.sha256(shown.encode()).hexdigest()[:20]}"'
        self.text = json.dumps({"berth_lab": 1, "taken_unix_ms": taken_unix_ms, **said}, separators=(",", ":"))


class SharedLook:
    def __init__(self, kernels: Callable[[], Awaitable[List[Kernel]]]) -> None:
        self._kernels = kernels
        self._look: Optional[asyncio.Task[None]] = None
        self._due = 0.0
        self._leave_serve_until = 0.0
        self._snapshot: Optional[Dict[str, Any]] = None
        self.source: Optional[str] = None
        self.seen: Optional[Seen] = None

    async def overview(self) -> Seen:
        """The newest that can be had without waiting for a card that hangs."""
        if self._look is None and time.monotonic() >= self._due:
            self._look = asyncio.ensure_future(self._refresh())
        if self._look is not None:
            patience = FIRST_PATIENCE_S if self.seen is None else LATER_PATIENCE_S
            await asyncio.wait({self._look}, timeout=patience)
        if self.seen is None:
            return self._told(None, [], "the GPUs have not been looked at yet", "it is being tried")
        return self.seen

    async def _refresh(self) -> None:
        begun, message, remedy = time.monotonic(), None, None
        self._due = begun + EVERY_S
        try:
            self.source, self._snapshot = await self._looked()
        except (Error, OSError, asyncio.TimeoutError) as error:
            message = str(error) or "the GPUs were asked, and nothing came in time"
            remedy = getattr(error, "remedy", None) or "`berth doctor` says what is the matter"
            self._due = time.monotonic() + FAILURE_PAUSE_S
        finally:
            self._look = None
        self.seen = self._told(self._snapshot, await self._kernels(), message, remedy)

    def _told(
        self, snapshot: Optional[Dict[str, Any]], kernels: List[Kernel], message: Optional[str], remedy: Optional[str]
    ) -> Seen:
        taken = snapshot.get("taken_unix_ms") if snapshot else None
        said = overview(snapshot or {"devices": []}, kernels)
        said["source"] = self.source
        said["problem"] = {"message": message, "remedy": remedy} if message else None
        return Seen(said, taken)

    async def _looked(self) -> Tuple[str, Dict[str, Any]]:
        if time.monotonic() >= self._leave_serve_until:
            try:
                served = await _of_serve()
            except asyncio.TimeoutError:
                self._leave_serve_until = time.monotonic() + SERVE_PAUSE_S
            else:
                if served is not None:
                    return "serve", served
        return "helper", await asyncio.wait_for(_of_helper(), HELPER_PATIENCE_S)


async def _of_serve() -> Optional[Dict[str, Any]]:
    """A look of this machine, or of the same simulation, that is not old."""
    text = await fetched("/gpu-status", SERVE_PATIENCE_S)
    try:
        snapshot = json.loads(text) if text else None
    except ValueError:
        return None
    if not isinstance(snapshot, dict) or not isinstance(snapshot.get("devices"), list):
        return None
    taken = snapshot.get("taken_unix_ms")
    if (snapshot.get("simulated") or None) != (os.environ.get("BERTH_SIM") or None) or not isinstance(taken, int):
        return None
    return snapshot if 0 <= time.time() * 1000 - taken <= OLDEST_OF_SERVE_S * 1000 else None


async def _of_helper() -> Dict[str, Any]:
    with Context.borrowed(_abi.FROM_HELPER) as context:
        seen = await drive_async(context.steps("look", _abi.DEPTHS.index("state")))
        return Look(seen, is_simulated(None)).json()
