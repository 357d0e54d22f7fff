"""Jupyter's kernels: what they are called, since when they are idle, which processes are theirs.

`overview` is what the panel is told: the devices of a snapshot (doc/FORMATS.md), and whose they are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    Json = Dict[str, Any]

DEVICE_KEYS = (
    "id", "index", "name", "state", "utilization_gpu_percent", "memory_used_bytes", "memory_used_is_bound",
    "memory_total_bytes", "temperature_celsius", "power_draw_milliwatts",
)  # fmt: skip


class Kernel:
    def __init__(
        self, id: str, name: str, path: Optional[str], state: str, idle_since_unix_ms: Optional[int], pid: Optional[int]
    ) -> None:
        self.id = id
        self.name = name
        self.path = path  # the notebook's; None: it has none
        self.state = state
        self.idle_since_unix_ms = idle_since_unix_ms
        self.pid = pid  # None: it runs elsewhere, or does not say


class KernelList:
    """Asks Jupyter's own managers, as its HTTP interface does."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    async def list(self) -> List[Kernel]:
        manager = self._settings.get("kernel_manager")
        if manager is None:
            return []
        models = await _awaited(manager.list_kernels())
        sessions = self._settings.get("session_manager")
        of_kernel = {}
        if sessions is not None and models:
            for session in await _awaited(sessions.list_sessions()):
                of_kernel[(session.get("kernel") or {}).get("id")] = session
        return [_kernel(model, of_kernel.get(model["id"]), manager) for model in models]


async def _awaited(answer: Any) -> Any:
    """Some managers' methods are coroutines, others' are not."""
    return await answer if hasattr(answer, "__await__") else answer


def _kernel(model: Json, session: Optional[Json], manager: Any) -> Kernel:
    path = (session or {}).get("path") or None
    state = model.get("execution_state") or "unknown"
    return Kernel(
        id=model["id"],
        name=(path or "").rpartition("/")[2] or model.get("name") or model["id"],
        path=path,
        state=state,
        idle_since_unix_ms=_unix_ms(model.get("last_activity")) if state == "idle" else None,
        pid=_pid(manager, model["id"]),
    )


def _pid(manager: Any, id: str) -> Optional[int]:
    """A provisioner of another machine's kernels has none."""
    try:
        pid = manager.get_kernel(id).provisioner.pid
    except Exception:  # whatever a provisioner that we do not know may raise
        return None
    return pid if isinstance(pid, int) and pid > 0 else None


def _unix_ms(moment: Any) -> Optional[int]:
    """Of "2026-01-02T03:04:05.678Z", or of a datetime."""
    from datetime import datetime

    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.replace("Z", "+00:00"))
        except ValueError:
            return None
    return int(moment.timestamp() * 1000) if isinstance(moment, datetime) else None


def overview(snapshot: Json, kernels: List[Kernel]) -> Json:
    """What the panel shows, of which nothing changes while nothing happens."""
    of_pid = {kernel.pid: kernel for kernel in kernels if kernel.pid is not None}
    about = {process["pid"]: process for process in snapshot.get("processes") or []}

    def kernel_of(pid: int) -> Optional[Kernel]:
        """Whose tree a process stands in."""
        for one in (pid, *(about.get(pid, {}).get("ancestors") or [])):
            if one in of_pid:
                return of_pid[one]
        return None

    uses: Dict[str, List[Json]] = {kernel.id: [] for kernel in kernels}
    holders = []
    for use in snapshot.get("gpu_processes") or []:
        process, owner = about.get(use["pid"], {}), kernel_of(use["pid"])
        if owner:
            uses[owner.id].append(use)
        holders.append(
            {
                "device": use["device"],
                "pid": use["pid"],
                "user": process.get("user"),
                "command": " ".join(process.get("command") or []) or process.get("executable_name"),
                "memory_used_bytes": use.get("memory_used_bytes"),
                "kernel": owner.id if owner else None,
            }
        )
    leased: Dict[str, List[str]] = {kernel.id: [] for kernel in kernels}
    for lease in snapshot.get("leases") or []:
        for role in ("job", "keeper"):
            owner = kernel_of((lease.get(role) or {}).get("pid") or 0)
            if owner:
                leased[owner.id] += [one["device"] for one in lease["devices"]]
                break
    return {
        "simulated": snapshot.get("simulated"),
        "devices": [_device(device) for device in snapshot["devices"]],
        "kernels": [_kernel_json(kernel, uses[kernel.id], leased[kernel.id]) for kernel in kernels],
        "holders": holders,
    }


def _device(device: Json) -> Json:
    said = {key: device.get(key) for key in DEVICE_KEYS}
    users = device.get("users") or []
    said["users"] = users.split(", ") if isinstance(users, str) else users
    return said


def _kernel_json(kernel: Kernel, uses: List[Json], leased: List[str]) -> Json:
    memory = [use.get("memory_used_bytes") for use in uses]
    # A sum over parts that are not known is not known.
    known = kernel.pid is not None and None not in memory
    return {
        "id": kernel.id,
        "name": kernel.name,
        "path": kernel.path,
        "state": kernel.state,
        "idle_since_unix_ms": kernel.idle_since_unix_ms,
        "memory_used_bytes": sum(memory) if known else None,
        "devices": list(dict.fromkeys([use["device"] for use in uses] + leased)),
        "leased": leased,
    }
