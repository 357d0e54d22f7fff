"""Callbacks for trainers: each epoch's loss, seconds and memory peak become marks of the run.

    trainer = Trainer(callbacks=[berth.callbacks.lightning()])

A framework is imported where its function is called. Rank 0 alone marks.
"""

from __future__ import annotations

import importlib.util
import sys
import time

from .errors import Error
from .marks import mark
from .memory import add_note, is_out_of_memory, log_memory, memory_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional


class Epochs:
    """What all three do: an epoch begins, an epoch ends."""

    def __init__(self) -> None:
        self._began: Optional[float] = None

    def begin(self) -> None:
        self._began = time.monotonic()

    def end(self, epoch: int, numbers: Dict[str, Any]) -> None:
        """`numbers`: what the framework logged."""
        told: Dict[str, Any] = {"epoch": epoch, **_numbers_of(numbers)}
        if self._began is not None:
            told["seconds"] = round(time.monotonic() - self._began, 3)
        mark(**told)
        log_memory(f"epoch={epoch}")


def _numbers_of(logged: Dict[str, Any]) -> Dict[str, float]:
    """Without what is no number: texts, tensors of many elements."""
    found = {}
    for name, value in logged.items():
        try:
            found[name.replace(" ", "_").replace("=", "_")] = float(value)
        except (TypeError, ValueError):
            continue
    return found


def lightning() -> Any:
    """A callback for Lightning's Trainer (lightning or pytorch_lightning)."""
    base: Any = _base("Callback", "lightning.pytorch.callbacks", "pytorch_lightning.callbacks")
    epochs = Epochs()

    class BerthCallback(base):  # type: ignore[misc]
        def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
            epochs.begin()

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.is_global_zero:
                epochs.end(trainer.current_epoch + 1, dict(trainer.callback_metrics))

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            if is_out_of_memory(exception):
                add_note(exception, memory_table())

    return BerthCallback()


def keras() -> Any:
    """A callback for Keras' fit()."""
    base: Any = _base("Callback", "keras.callbacks", "tensorflow.keras.callbacks")
    epochs = Epochs()

    class BerthCallback(base):  # type: ignore[misc]
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            epochs.begin()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            epochs.end(epoch + 1, dict(logs or {}))

    return BerthCallback()


def transformers() -> Any:
    """A callback for transformers' Trainer."""
    base: Any = _base("TrainerCallback", "transformers")
    epochs = Epochs()

    class BerthCallback(base):  # type: ignore[misc]
        def on_epoch_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            epochs.begin()

        def on_epoch_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if state.is_world_process_zero:
                epochs.end(round(state.epoch or 0), {})

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
            # When it logs is the user's choice (logging_steps); an epoch's own comes after its end.
            if state.is_world_process_zero:
                mark(**{"step": state.global_step, **_numbers_of(dict(logs or {}))})

    return BerthCallback()


def _base(name: str, *modules: str) -> Any:
    # One that is loaded goes first: an installed one may be another than the user's.
    for module in sorted(modules, key=lambda one: one.split(".")[0] not in sys.modules):
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError:
            if importlib.util.find_spec(module.split(".")[0]):
                raise  # it is installed, and lacks something: a backend, a part of its own
    raise Error(
        f"none of {', '.join(module.split('.')[0] for module in modules)} is installed",
        code="not_found",
        remedy="install the framework that you train with",
    )
