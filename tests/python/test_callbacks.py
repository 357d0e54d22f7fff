"""Callbacks for trainers, on stand-ins of the frameworks' base classes."""

import sys
import types

import pytest

import berth

from test_memory import Allocator, allocator, marks  # noqa: F401 (fixtures)


@pytest.fixture
def framework(monkeypatch):
    """framework("keras.callbacks", "Callback"): the base class, in a module that can be imported."""
    for name in ("lightning", "pytorch_lightning", "keras", "tensorflow", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)  # an installed one stays out of it

    def make(path, name):
        base = type(name, (), {})
        for depth in range(path.count(".") + 1):
            module = types.ModuleType(path if depth == path.count(".") else ".".join(path.split(".")[: depth + 1]))
            module.__path__ = []
            monkeypatch.setitem(sys.modules, module.__name__, module)
        setattr(module, name, base)
        return base

    return make


class Tensor:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


def numbers(mark):
    return dict(one.split("=") for one in mark.split())


MEMORY = "epoch=1 cuda_allocated_mib=3072 cuda_peak_mib=5120 cuda_reserved_mib=8192"


@pytest.mark.parametrize("module", ["lightning.pytorch.callbacks", "pytorch_lightning.callbacks"])
def test_lightning(framework, here, allocator, marks, module):  # noqa: F811
    base = framework(module, "Callback")
    callback = berth.callbacks.lightning()
    assert isinstance(callback, base)
    trainer = types.SimpleNamespace(
        is_global_zero=True, current_epoch=0, callback_metrics={"train loss": Tensor(0.5), "name": "not a number"}
    )
    callback.on_train_epoch_start(trainer, None)
    callback.on_train_epoch_end(trainer, None)
    first, second = marks()
    assert numbers(first).keys() == {"epoch", "train_loss", "seconds"}
    assert numbers(first)["train_loss"] == "0.5" and numbers(first)["epoch"] == "1"
    assert second == MEMORY and allocator.resets == 1
    trainer.is_global_zero = False
    callback.on_train_epoch_end(trainer, None)
    assert len(marks()) == 2, "rank 0 alone"
    error = MemoryError("full")
    callback.on_exception(trainer, None, error)
    assert "alice holds" in "".join(error.__notes__)
    callback.on_exception(trainer, None, ValueError("wrong"))


def test_keras(framework, here, allocator, marks):  # noqa: F811
    base = framework("keras.callbacks", "Callback")
    callback = berth.callbacks.keras()
    assert isinstance(callback, base)
    callback.on_epoch_begin(0)
    callback.on_epoch_end(0, {"loss": 0.25, "accuracy": 0.75})
    first, second = marks()
    assert numbers(first)["loss"] == "0.25" and numbers(first)["accuracy"] == "0.75"
    assert second == MEMORY


def test_transformers(framework, here, allocator, marks):  # noqa: F811
    base = framework("transformers", "TrainerCallback")
    callback = berth.callbacks.transformers()
    assert isinstance(callback, base)
    state = types.SimpleNamespace(
        is_world_process_zero=True, epoch=1.0, global_step=500
    )  # fmt: skip
    callback.on_epoch_begin(None, state, None, model=None)
    callback.on_epoch_end(None, state, None, model=None)
    callback.on_log(None, state, None, logs={"loss": 2.0, "learning_rate": "1e-05"}, model=None)
    first, second, third = marks()
    assert numbers(first).keys() == {"epoch", "seconds"} and second == MEMORY
    assert third == "step=500 loss=2 learning_rate=1e-05"
    state.is_world_process_zero = False
    callback.on_epoch_end(None, state, None)
    callback.on_log(None, state, None, logs={"loss": 2.0})
    assert len(marks()) == 3, "rank 0 alone"


def test_what_a_framework_lacks_itself_is_its_own_error(framework, tmp_path, monkeypatch):
    (tmp_path / "keras").mkdir()
    (tmp_path / "keras/__init__.py").write_text("import a_backend_that_is_not_there\n")
    monkeypatch.delitem(sys.modules, "keras")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_backend_that_is_not_there"):
        berth.callbacks.keras()


@pytest.mark.parametrize("line", ["import tensorflow", "from . import backend_that_is_not_there", "import keras.gone"])
def test_a_backend_that_is_missing_is_said_to_be(framework, tmp_path, monkeypatch, line):
    """Also one that is the other name of the framework, or a part of its own."""
    (tmp_path / "keras").mkdir()
    (tmp_path / "keras/__init__.py").write_text(f"{line}\n")
    monkeypatch.delitem(sys.modules, "keras")
    monkeypatch.delitem(sys.modules, "tensorflow")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ImportError):
        berth.callbacks.keras()


def test_a_framework_that_is_not_there(framework):
    with pytest.raises(berth.Error, match="none of keras, tensorflow is installed"):
        berth.callbacks.keras()
