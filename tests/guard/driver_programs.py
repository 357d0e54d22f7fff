"""What the tests of the shim share. These are programs of the driver's API on the fake driver, with the shim before it.
Also the account of a run, as berth makes it."""

import os
import pathlib
import re
import select
import subprocess

import pytest

from account_file import Account

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("BERTH_BUILD", ROOT / "build/release")).resolve()
FAKE = BUILD / "fakes/cuda"
DRIVER = FAKE / "libcuda.so.1"
TEMPLATE = BUILD / "guard/berth-guard.so"
SHIM = ROOT / "src/guard/shim"
UUIDS = [f"{number:02x}" * 16 for number in range(1, 5)]
MIB, GIB = 1 << 20, 1 << 30
OUT_OF_MEMORY = 2


def compiled(output, source, *options, compiler="gcc"):
    words = [compiler, "-g0", "-O1", "-o", output, source, *options]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


def exports(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library],
                             capture_output=True, text=True, check=True).stdout
    return {line.split()[0].split("@")[0]: line.split()[1] for line in listing.splitlines()}


def image_source(template, driver, opens=None):
    """What elf_image.cc writes into an image, for the linker: the driver's names lead to trampolines."""
    opens = str(opens or driver)
    own = exports(template)
    names = [name for name in exports(driver) if name not in own]
    lines = ['#define BERTH_GUARD_IMAGE_ELSEWHERE', '#include "guard/shim/tramp.S"', ".text"]
    for number, name in enumerate(names):
        lines += [f".globl {name}", f".type {name}, %function",
                  f".set {name}, berth_guard_tramp_0 + {number} * BERTH_GUARD_TRAMPOLINE_BYTES"]
    lines += ['.section .data.image, "aw"', ".balign 8", ".globl berth_guard_image", ".hidden berth_guard_image",
              "berth_guard_image:", ".ascii BERTH_GUARD_IMAGE_MAGIC", f".quad {len(names)}",
              ".quad names - berth_guard_image", f'.asciz "{opens}"', f".zero {4063 - len(opens)}",
              ".section .rodata", ".balign 4", "names:"]
    lines += [f".long name_{number} - names" for number in range(len(names))]
    lines += [f'name_{number}: .asciz "{name}"' for number, name in enumerate(names)]
    return "\n".join([*lines, '.section .note.GNU-stack, "", %progbits', ""])


def linked_shim(folder, opens=None):
    """The shim for the fake driver, by the linker; a source that is in the folder stands for the shim's."""
    (folder / "image.S").write_text(image_source(TEMPLATE, DRIVER, opens))
    flags = ["-std=gnu11", "-w", "-fPIC", "-fvisibility=hidden", f"-I{ROOT / 'src'}", "-shared", "-nostartfiles",
             "-nodefaultlibs", "-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,-z,defs"]
    sources = [folder / path.name if (folder / path.name).exists() else path for path in sorted(SHIM.glob("*.c"))]
    return compiled(folder / "libcuda.so.1", folder / "image.S", "-O2", *sources, *flags, f"-I{SHIM}", "-lc")


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    return linked_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def lingering_shim(tmp_path_factory):
    """One whose threads meet each other."""
    folder = tmp_path_factory.mktemp("lingering")
    text = "\n".join(f'#include "{path}"' for path in [HERE / "lingering.h", SHIM / "charge.c"])
    (folder / "charge.c").write_text(text)
    return linked_shim(folder)


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("program") / "program", HERE / "program.c", "-w",
                    "-Wl,--no-as-needed", f"-L{FAKE}", "-lcuda", "-Wl,--as-needed")


class Talk:
    """A program that is told what to do, and answers."""

    def __init__(self, command, env):
        self.process = subprocess.Popen([str(word) for word in command], env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def __call__(self, *words):
        """The driver's answer, and what it told; a number alone where it told nothing."""
        self.ask(*words)
        return self.answer(*words)

    def answer(self, *words):
        assert select.select([self.process.stdout], [], [], 60)[0], f"{words}: no answer within a minute"
        line = self.process.stdout.readline()
        assert line, f"{words}: it ended: {self.process.wait()} {self.process.stderr.read()}"
        numbers = [int(part) for part in line.split()]
        return numbers[0] if len(numbers) == 1 else tuple(numbers)

    def all_well(self, *lines):
        for line in lines:
            assert self(line) == 0, line

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.stdout.close()
        self.process.stderr.close()


class Card:
    """Cards of the fake driver with a limit on each, shared by the processes that are started on them."""

    def __init__(self, folder, shim, program, limits, bytes_each="4G", context=0, context_cost="0", fault=""):
        self.account = Account(folder / "account", dict(zip(UUIDS, limits, strict=False)), context)
        self.program, self.talks = program, []
        self.env = {
            "PATH": os.environ["PATH"],
            "LD_PRELOAD": str(shim),
            "LD_LIBRARY_PATH": f"{shim.parent}:{FAKE}",
            "BERTH_GUARD_ACCOUNT": str(self.account.path),
            "BERTH_FAKE_CUDA": ";".join(f"{uuid}=A={bytes_each}" for uuid in UUIDS[:max(len(limits), 2)]),
            "BERTH_FAKE_CUDA_MEMORY": str(folder / "memory"),
            "BERTH_FAKE_CUDA_CONTEXT": context_cost,
            "BERTH_FAKE_CUDA_FAULT": fault,
        }

    def environment(self, changes):
        return {name: value for name, value in (self.env | changes).items() if value is not None}

    def start(self, how="opened", env=None, begins=True):
        talk = Talk([self.program, how], self.environment(env or {}))
        self.talks.append(talk)
        if begins:
            talk.all_well("cuInit", "use 0")
        return talk

    def start_bare(self, how="opened", **kwargs):
        """Without the shim, on the same cards."""
        return self.start(how, env={"LD_PRELOAD": None, "LD_LIBRARY_PATH": str(FAKE)}, **kwargs)

    def run(self, command, env=None, **kwargs):
        return subprocess.run([str(word) for word in command], env=self.environment(env or {}), capture_output=True,
                              text=True, timeout=300, check=False, **kwargs)


@pytest.fixture
def card(tmp_path, shim, program):
    """card(limit, …): cards with these limits in bytes; 0: none."""
    made = []

    def make(*limits, **kwargs):
        made.append(Card(tmp_path, shim, program, limits, **kwargs))
        return made[-1]

    yield make
    for one in made:
        for talk in one.talks:
            talk.end()


def constant(header, name):
    return int(re.search(rf"{name}\s*=?\s*(\d+)", (ROOT / "src/guard" / header).read_text()).group(1))
