"""The whole way: the shim in its file before a driver, and the run's account. berth makes and reads the account."""

import platform
import subprocess

import pytest
from shims import BUILD, PLAIN, SHIM_OF, compiled, shimmed

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="the shim knows two machines")

MIB = 1 << 20
UUID = "00000000000040008000000000000000"
ALLOCATE = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = dlsym(cuda, "cuInit");
  int (*retain)(void **, int) = dlsym(cuda, "cuDevicePrimaryCtxRetain");
  int (*set)(void *) = dlsym(cuda, "cuCtxSetCurrent");
  int (*allocate)(unsigned long long *, size_t) = dlsym(cuda, "cuMemAlloc_v2");
  int (*release)(unsigned long long) = dlsym(cuda, "cuMemFree_v2");
  void *context = NULL;
  unsigned long long memory[64];
  int count = 0, result = 0;
  if (init(0) || retain(&context, 0) || set(context)) return 1;
  while (count < 64 && (result = allocate(&memory[count], 16 << 20)) == 0) ++count;
  printf("%d %d\n", count, result);
  while (count > 0) release(memory[--count]);
  printf("%d\n", allocate(&memory[0], 16 << 20));
  return 0;
}
"""


@pytest.fixture
def program(tmp_path):
    return compiled(tmp_path / "allocate", ALLOCATE, "-ldl")


def run(tmp_path, program, *options):
    env = {"BERTH_FAKE_CUDA": f"{UUID}=Fake H100=1G"}
    return shimmed(tmp_path / "shims", [program], driver=BUILD / "fakes/cuda", env=env, options=options)


def test_memory_ends_at_the_limit_and_the_account_says_so(tmp_path, program):
    account = tmp_path / "account"
    done = run(tmp_path, program, "--account", account, "--limit", f"GPU-{UUID}={200 * MIB}")
    assert done.stderr == ""
    count, result = map(int, done.stdout.splitlines()[0].split())
    assert result == 2 and 0 < count <= 12, done.stdout
    assert done.stdout.splitlines()[1] == "0"  # usable again after freeing
    told = subprocess.run([SHIM_OF, "--told", account], env=PLAIN, capture_output=True, text=True, check=True).stdout
    _, highest, refusals = map(int, told.split())
    assert count * 16 * MIB <= highest <= 200 * MIB
    assert refusals == 1


def test_without_an_account_the_driver_alone_decides(tmp_path, program):
    done = run(tmp_path, program)
    count, result = map(int, done.stdout.splitlines()[0].split())
    assert count > 50 or result == 0, done.stdout
