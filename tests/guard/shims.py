"""What the tests of the shim's file share: programs in C that know nothing of it. shim_of starts them as a job is
started."""

import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("BERTH_BUILD", ROOT / "build/release")).resolve()
SHIM_OF = BUILD / "shim_of"
SMALL = BUILD / "fakes/guard"
SMALL_TEMPLATE = SMALL / "libsmall_template.so"
# These tests alone use it: what the machine has must not decide.
EMPTY_ROOT = "/nonexistent"
PLAIN = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "HOME": "/nonexistent"}


def compiled(output, text, *options, compiler="gcc"):
    """A program from its text; the test is skipped, naming the compiler, where that is not installed."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    done = subprocess.run([compiler, "-x", "c", "-", "-x", "none", "-o", str(output), *map(str, options)],
                          input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


def shimmed(folder, command, *, driver=SMALL, template=None, options=(), env=None, root=EMPTY_ROOT, **kwargs):
    """The command as a job would be: with the shim before the driver of this folder (LD_LIBRARY_PATH)."""
    words = [SHIM_OF, "--root", root, "--folder", folder]
    if template is not None:
        words += ["--template", template]
    environment = PLAIN | ({"LD_LIBRARY_PATH": str(driver)} if driver else {}) | (env or {})
    return subprocess.run([str(word) for word in (*words, *options, *command)], env=environment,
                          capture_output=True, text=True, timeout=120, check=False, **kwargs)
