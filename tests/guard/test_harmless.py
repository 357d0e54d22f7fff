"""What the shim must not do to a program: it knows nothing of it, and loses nothing by it."""

import os
import re
import subprocess
import sys
import time

import pytest

from driver_programs import DRIVER, FAKE, GIB, MIB, OUT_OF_MEMORY, SHIM, TEMPLATE, compiled, exports

# Nothing that ends, forks, signals, prints, waits for descriptors, or takes memory of the program's.
NEEDED_OF_LIBC = {
    "__errno_location", "clock_gettime", "close", "dlopen", "dlsym", "getenv", "getpid", "kill", "lseek", "madvise",
    "memcmp", "memcpy", "memset", "mmap", "mprotect", "munmap", "nanosleep", "open", "read", "readlink", "sched_yield",
    "strchr", "strcmp", "strcspn", "strrchr", "__stack_chk_fail",
}  # fmt: skip


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, TEMPLATE], capture_output=True, text=True, check=True).stdout


def undefined():
    return re.findall(r"UND (\w+)@(\S+)", readelf("--dyn-syms"))


def test_it_needs_little_of_libc_and_nothing_else():
    assert {name for name, _ in undefined()} <= NEEDED_OF_LIBC
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d")) == ["libc.so.6"]


def test_it_runs_on_an_old_glibc():
    newest = max(tuple(map(int, version.removeprefix("GLIBC_").split("."))) for _, version in undefined())
    assert newest <= (2, 17)


def test_nothing_in_it_runs_before_the_first_call():
    assert not re.search(r"\((INIT|FINI)", readelf("-d"))


def test_a_start_has_no_name_to_look_up_for_it_and_no_address_to_write():
    # But for the slots that the loader fills in at the first call of each function of libc.
    kinds = set(re.findall(r" R_\w+?_((?!64_)[A-Z]\w+) ", readelf("-r")))
    assert kinds and all(kind.startswith("JUMP_SL") for kind in kinds), kinds
    assert not re.search("NOW|GNU_RELRO", readelf("-d", "-l"))


def test_its_symbols_can_be_written_anew():
    # elf_image.cc makes another table of dynamic symbols: no relocation may count on one that is defined here.
    named = re.findall(r"R_\w+ +[0-9a-f]+ (\S+) \+", readelf("-r"))
    assert {name.split("@")[0] for name in named} <= {name for name, _ in undefined()}
    assert "[libcuda.so.1]" in readelf("-d")


def test_it_exports_what_the_list_of_the_documents_has():
    listed = re.findall(r"X\((cu\w+),", (SHIM / "wrappers.h").read_text().split("#define GUARD_CALLED")[0])
    assert len(listed) > 60 and set(exports(TEMPLATE)) == {*listed, "berth_guard_tramp_0"}


@pytest.mark.parametrize("damage", ["none", "off", "missing", "short", "magic", "version", "no_permission", "no_slot"])
def test_without_a_sound_account_all_passes(card, damage, tmp_path):
    one = card(8 * MIB)
    path = one.account.path
    env = {"none": {"BERTH_GUARD_ACCOUNT": None}, "off": {"BERTH_GUARD": "off"},
           "missing": {"BERTH_GUARD_ACCOUNT": str(tmp_path / "nothing")}}.get(damage, {})
    if damage == "short":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage in ("magic", "version"):
        one.account.put(0 if damage == "magic" else 8, 77)
    elif damage == "no_permission":
        path.unlink()
        path.mkdir()
    elif damage == "no_slot":
        for number in range(one.account.SLOTS):
            one.account.put(2 * one.account.PAGE + one.account.SLOT * number, os.getpid(), 0)
    talk = one.start(env=env)
    talk.all_well("cuMemAlloc_v2 a 64M", "cuMemAllocAsync b 64M", "cuMemCreate c 0 64M", "cuArrayCreate_v2 d 4K 4K",
                  "cuMemFree_v2 a", "cuMemFreeAsync b", "cuMemRelease c", "cuArrayDestroy d", "cuStreamSynchronize")
    assert talk("info") == (0, 4 * GIB, 4 * GIB)


def test_without_a_driver_a_call_answers_that_there_is_no_device(card, tmp_path, shim):
    moved = tmp_path / "libcuda.so.1"
    image = shim.read_bytes().replace(str(DRIVER).encode(), b"/nonexistent".ljust(len(str(DRIVER)), b"\0"))
    moved.write_bytes(image)
    moved.chmod(0o755)
    one = card(8 * MIB)
    talk = one.start(env={"LD_PRELOAD": str(moved), "LD_LIBRARY_PATH": str(tmp_path)}, begins=False)
    assert (talk("cuInit"), talk("cuMemAlloc_v2 a 1M")) == (100, 100)


WATCHED = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <dirent.h>
#include <pthread.h>
extern int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
extern int cuMemAlloc_v2(unsigned long long *, size_t), cuMemAllocAsync(unsigned long long *, size_t, void *);
static int entries(const char *folder) {
  int count = 0;
  DIR *open = opendir(folder);
  while (readdir(open) != NULL) ++count;
  closedir(open);
  return count;
}
int main(void) {
  void *context;
  unsigned long long address;
  const int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  const mode_t mask = umask(0);
  umask(mask);
  struct sigaction before[32];
  for (int number = 1; number < 32; ++number) sigaction(number, NULL, &before[number]);
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  for (int i = 0; i < 100; ++i) cuMemAlloc_v2(&address, 1 << 20);
  cuMemAllocAsync(&address, 1 << 20, NULL);
  int changed = umask(mask) != mask;
  for (int number = 1; number < 32; ++number) {
    struct sigaction now;
    if (number != SIGKILL && number != SIGSTOP && (sigaction(number, NULL, &now) != 0 || now.sa_handler != before[number].sa_handler)) ++changed;
  }
  printf("%d %d %d\\n", changed, entries("/proc/self/fd") - files, entries("/proc/self/task") - threads);
  return 0;
}
"""


def c_program(folder, text, *options):
    source = folder / "program.c"
    source.write_text(text)
    return compiled(folder / "program", source, "-w", f"-L{FAKE}", "-lcuda", "-pthread", *options)


def test_umask_signals_descriptors_and_threads_stay_as_they_were(card, tmp_path):
    one = card(8 * MIB)
    program = c_program(tmp_path, WATCHED)
    # The fake has a file of its own; its descriptor is closed as well.
    done = one.run([program])
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0 0\n", "")
    assert one.account.result()[1] > 0


CLOSES_ALL = """
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>
extern int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
extern int cuMemAlloc_v2(unsigned long long *, size_t), cuMemFree_v2(unsigned long long);
static unsigned long long late;
static void at_exit(void) {
  if (cuMemFree_v2(late) != 0 || cuMemAlloc_v2(&late, 1 << 20) != 0) _exit(9);
}
int main(void) {
  void *context;
  unsigned long long address;
  atexit(at_exit);
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  if (cuMemAlloc_v2(&late, 1 << 20) != 0) return 1;
  for (int fd = 3; fd < 64; ++fd) close(fd);
  const int mine = open("/proc/self/exe", O_RDONLY); /* what was a descriptor of another's is mine now */
  if (cuMemAlloc_v2(&address, 64 << 20) != 2) return 2;
  if (cuMemAlloc_v2(&address, 2 << 20) != 0) return 3;
  char head[4];
  return read(mine, head, 4) == 4 && head[0] == 0x7f ? 0 : 4;
}
"""


def test_a_program_that_closes_all_descriptors_and_calls_at_exit(card, tmp_path):
    one = card(8 * MIB)
    done = one.run([c_program(tmp_path, "#include <stdlib.h>\n" + CLOSES_ALL)])
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_with_data_named_as_functions_of_the_driver(card, tmp_path):
    # As programs do that load the driver's functions into variables of those names (cuew).
    one = card(8 * MIB)
    text = """
#include <dlfcn.h>
int (*cuInit)(unsigned); int (*cuDevicePrimaryCtxRetain)(void **, int); int (*cuCtxSetCurrent)(void *);
int (*cuMemAlloc_v2)(unsigned long long *, unsigned long); int (*cuMemFree_v2)(unsigned long long);
int (*cuCtxGetDevice)(int *) = 0; int (*cuGetProcAddress_v2)(void) = 0;
int main(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
  unsigned long long address;
  *(void **)&cuInit = dlsym(driver, "cuInit");
  *(void **)&cuDevicePrimaryCtxRetain = dlsym(driver, "cuDevicePrimaryCtxRetain");
  *(void **)&cuCtxSetCurrent = dlsym(driver, "cuCtxSetCurrent");
  *(void **)&cuMemAlloc_v2 = dlsym(driver, "cuMemAlloc_v2");
  *(void **)&cuMemFree_v2 = dlsym(driver, "cuMemFree_v2");
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;
  if (cuMemAlloc_v2(&address, 9 << 20) != 2) return 2;
  return cuMemAlloc_v2(&address, 8 << 20) || cuMemFree_v2(address) ? 3 : 0;
}
"""
    source = tmp_path / "program.c"
    source.write_text(text)
    done = one.run([compiled(tmp_path / "program", source, "-w", "-rdynamic")])
    assert (done.returncode, done.stderr) == (0, "")


PLUGIN = """
#include <dlfcn.h>
int plugin(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
  unsigned long long address;
  if (((int (*)(unsigned))dlsym(driver, "cuInit"))(0) != 0) return 1;
  if (((int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0) != 0) return 2;
  if (((int (*)(void *))dlsym(driver, "cuCtxSetCurrent"))(context) != 0) return 3;
  return ((int (*)(unsigned long long *, unsigned long))dlsym(driver, "cuMemAlloc_v2"))(&address, 9 << 20) == 2 ? 0 : 4;
}
"""


def test_a_plugin_that_is_opened_with_deepbind(card, tmp_path):
    one = card(8 * MIB)
    (tmp_path / "plugin.c").write_text(PLUGIN)
    plugin = compiled(tmp_path / "plugin.so", tmp_path / "plugin.c", "-w", "-shared", "-fPIC")
    (tmp_path / "host.c").write_text(f"""
#define _GNU_SOURCE
#include <dlfcn.h>
int main(void) {{
  void *plugin = dlopen("{plugin}", RTLD_NOW | RTLD_DEEPBIND);
  return ((int (*)(void))dlsym(plugin, "plugin"))();
}}
""")
    done = one.run([compiled(tmp_path / "host", tmp_path / "host.c", "-w")])
    assert (done.returncode, done.stderr) == (0, "")


RATIONED = """
extern int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
extern int cuMemAlloc_v2(unsigned long long *, unsigned long);
int main(void) {
  void *context;
  unsigned long long address;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;
  return cuMemAlloc_v2(&address, 9 << 20) == 2 ? 0 : 2;
}
"""


@pytest.mark.parametrize("path", ["-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags"])
def test_a_program_with_a_path_of_its_own_to_the_driver(card, tmp_path, path):
    one = card(8 * MIB)
    program = c_program(tmp_path, RATIONED, path, f"-Wl,-rpath,{FAKE}")
    done = one.run([program], env={"LD_LIBRARY_PATH": None})
    assert (done.returncode, done.stderr) == (0, "")


def test_programs_without_cuda_and_static_ones_run(card, tmp_path):
    one = card(8 * MIB)
    assert one.run(["/bin/echo", "hello"]).stdout == "hello\n"
    source = tmp_path / "static.c"
    source.write_text("#include <stdio.h>\nint main(void) { puts(\"static\"); return 0; }\n")
    done = one.run([compiled(tmp_path / "static", source, "-static")])
    assert (done.stdout, done.stderr) == ("static\n", "")
    assert one.account.slots() == {}  # a process that never uses CUDA takes no slot


def test_the_account_is_the_runs_alone_and_its_limits_cannot_be_written(card):
    one = card(8 * MIB)
    talk = one.start()
    assert talk("mapped /account r--s") == 1
    assert talk("mapped /account rw-s") == 1
    assert talk("mapped libcuda.so.1 r-xp") == 2  # the shim, and the driver behind it


def test_it_makes_no_file(card, tmp_path):
    one = card(8 * MIB)
    before = set(tmp_path.iterdir())
    talk = one.start(env={"BERTH_GUARD_ACCOUNT": str(tmp_path / "nothing")})
    talk.all_well("cuMemAlloc_v2 a 64M")
    assert set(tmp_path.iterdir()) - before == {tmp_path / "memory"}  # the fake's


@pytest.mark.clock
def test_what_an_allocation_costs_does_not_grow_with_their_number(card):
    one = card(3 * GIB)
    talk = one.start()

    def seconds(first, count):
        began = time.perf_counter()
        assert talk(f"times {count} cuMemCreate a 0 2M") == (0, count)
        return time.perf_counter() - began

    few = seconds("a", 200)
    many = seconds("b", 1000)
    assert many / 1000 < 20 * few / 200 + 1e-4
    assert one.account.charged() == 1200 * 2 * MIB


@pytest.mark.parametrize("how", ["needed", "opened"])
def test_with_tcmalloc(card, how):
    found = [path for path in ("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",) if os.path.exists(path)]
    if not found:
        pytest.skip("libtcmalloc-minimal4 is not installed")
    one = card(8 * MIB)
    talk = one.start(how, env={"LD_PRELOAD": f"{one.env['LD_PRELOAD']}:{found[0]}"})
    assert talk("cuMemAlloc_v2 a 9M") == OUT_OF_MEMORY
    talk.all_well("cuMemAlloc_v2 a 8M", "cuMemFree_v2 a")


def test_pycuda_as_it_is(card, tmp_path):
    if subprocess.run([sys.executable, "-c", "import pycuda.driver"], capture_output=True, check=False,
                      env={"LD_LIBRARY_PATH": str(FAKE), "PATH": os.environ["PATH"]}).returncode != 0:
        pytest.skip("pycuda is not installed")
    one = card(64 * MIB)
    script = """
import pycuda.driver as cuda
cuda.init()
context = cuda.Device(0).make_context()
print(cuda.mem_get_info())
kept = cuda.mem_alloc(60 << 20)
try:
    cuda.mem_alloc(10 << 20)
except cuda.MemoryError as refused:
    print(refused)
kept.free()
context.pop()
"""
    bare = one.run([sys.executable, "-c", script], env={"LD_PRELOAD": None, "LD_LIBRARY_PATH": str(FAKE)})
    capped = one.run([sys.executable, "-c", script])
    assert bare.stdout.splitlines() == [f"({4 * GIB}, {4 * GIB})"], bare.stderr
    assert capped.stdout.splitlines()[0] == f"({64 * MIB}, {64 * MIB})", capped.stderr
    assert "out of memory" in capped.stdout
