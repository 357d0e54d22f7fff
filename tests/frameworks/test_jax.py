"""A CUDA build of JAX on the stand-ins, unmodified: its cards, its allocator and copies are its own. It compiles
nothing: no ptxas is there. Without /dev/nvidia0 it looks for no card, so programs here tell it that there is one."""

import pathlib

import pytest

from conftest import FAKES, JAX, Bed, played_cards

SEES = """
import jax
from jax._src import hardware_utils
hardware_utils.has_visible_nvidia_gpu = lambda: True
"""
POOL = """
import numpy
there = jax.device_put(numpy.ones(1 << 20, dtype="float32"))
stats = jax.devices()[0].memory_stats()
"""


@pytest.fixture
def jax_on(tmp_path):
    """jax_on(count): a machine of that many cards of 80 GiB, with JAX's python."""

    def make(count=2):
        made = Bed(tmp_path, played_cards(count, 80)).with_berth()
        made.python = pathlib.Path(JAX) / "bin/python"
        made.env["LD_LIBRARY_PATH"] += f":{FAKES / 'cudart'}"
        made.env |= {"JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        return made

    return make


def test_it_sees_the_cards_and_takes_three_quarters_of_one(jax_on):
    told = jax_on(3).told_by(SEES + POOL + """
tell(platforms=[one.platform for one in jax.devices()], kind=jax.devices()[0].device_kind, in_use=stats["bytes_in_use"],
     pool=stats["bytes_limit"] >> 30, back=float(numpy.asarray(there).sum()))
""")
    assert told == {"platforms": ["gpu"] * 3, "kind": "NVIDIA H100 80GB HBM3", "in_use": 4 << 20, "pool": 60, "back": 2.0**20}


def test_importing_it_has_not_begun_cuda_and_asking_for_devices_has(jax_on):
    told = jax_on().told_by(SEES + """
import berth
imported = berth.cuda_state()
jax.devices()
tell(imported=imported, asked=berth.cuda_state(), driver=cuda())
try:
    berth.lease()
except berth.CudaStarted as error:
    tell(text=str(error))
""")
    assert told["imported"] in ("not loaded", "not started")
    assert (told["asked"], told["driver"]) == ("started", 2)
    assert "jax.devices()" in told["text"]


def test_on_the_cpu_it_begins_nothing(jax_on):
    told = jax_on().told_by(SEES + """
import berth
computed = float(jax.jit(lambda x: (x * x).sum())(jax.numpy.arange(4.0)))
tell(on=str(jax.devices()), computed=computed, state=berth.cuda_state(), driver=cuda())
with berth.lease(only=[1]):
    tell(in_time=os.environ["CUDA_VISIBLE_DEVICES"])
""", JAX_PLATFORMS="cpu")
    assert (told["on"], told["computed"], told["in_time"]) == ("[CpuDevice(id=0)]", 14.0, "1")
    assert told["state"] in ("not loaded", "not started") and told["driver"] in (None, "not begun")


@pytest.mark.parametrize("first", ["berth", "jax"])
def test_a_lease_shows_it_one_card_also_once_it_is_imported(jax_on, first):
    machine = jax_on(3)
    told = machine.told_by(("" if first == "berth" else SEES) + f"""
import berth
with berth.lease(only=[2]) as lease:
    {"import jax" if first == "jax" else "exec(sees)"}
    import numpy
    there = jax.device_put(numpy.ones(4))
    tell(seen=len(jax.devices()), driver=cuda(), index=lease.devices[0].index, back=float(numpy.asarray(there).sum()))
""".replace("exec(sees)", f"exec({SEES!r})"))
    assert told == {"seen": 1, "driver": 1, "index": 2, "back": 4.0}


@pytest.mark.parametrize(
    ("memory", "own", "pool"),
    [
        ("20G", {}, 20),
        ("50%", {}, 40),
        (8 << 30, {}, 8),
        (None, {}, 60),
        ("20G", {"XLA_CLIENT_MEM_FRACTION": "0.125"}, 10),
        ("20G", {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.125"}, 10),
    ],
    ids=["20G", "50%", "bytes", "whole", "the user's own", "the user's own of old"],
)
def test_a_share_is_all_that_it_takes_of_a_card(jax_on, memory, own, pool):
    told = jax_on().told_by(f"""
import berth
def said():
    return {{name: value for name, value in os.environ.items() if name.endswith("_MEM_FRACTION")}}
before = said()
with berth.lease(memory={memory!r}) as lease:
    shown, child = said(), lease.environment()
    exec({SEES + POOL!r})
tell(pool=stats["bytes_limit"] / 2**30, inherited=child.items() >= shown.items(), names=len(shown), same=said() == before)
""", **own)
    assert told["pool"] == pytest.approx(pool, rel=0.001)
    assert told["inherited"] and told["same"] and told["names"] == (0 if memory is None else 1)


def test_where_no_card_will_do_it_computes_on_the_cpu_without_a_word(jax_on):
    told = jax_on().told_by("""
import berth, logging
said = []
class Heard(logging.Handler):
    emit = lambda self, record: said.append(record.getMessage())
logging.getLogger().addHandler(Heard())
with berth.lease(memory="200G", or_cpu=True) as lease:
    """ + SEES.strip().replace("\n", "\n    ") + """
    tell(devices=len(lease.devices), shown=os.environ["CUDA_VISIBLE_DEVICES"], on=str(jax.devices()), said=said,
         computed=float(jax.jit(lambda x: (x * x).sum())(jax.numpy.arange(4.0))), driver=cuda())
tell(after=[os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS")])
""")
    assert told.pop("driver") in (None, "not begun")
    assert told == {
        "devices": 0, "shown": "-1", "on": "[CpuDevice(id=0)]", "computed": 14.0, "said": [], "after": [None, None],
    }  # fmt: skip
