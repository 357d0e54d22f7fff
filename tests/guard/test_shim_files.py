"""The shim as a file before real programs: what the loaders of this machine make of it.

On a template in little (tests/guard/image), whose cuDriverGetVersion says one more than the driver's."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from shims import BUILD, EMPTY_ROOT, PLAIN, SHIM_OF, SMALL, SMALL_TEMPLATE, compiled, shimmed

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the template in little is for x86_64")

LOOK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
  for (int i = 1; i < count; ++i) {
    void *library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
    int (*get)(int *) = library ? dlsym(library, "cuDriverGetVersion") : NULL;
    int version = 0;
    if (get) get(&version);
    printf("%s %d\n", words[i], version);
  }
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) {
    char *path = strchr(line, '/');
    if (path && strstr(path, "libcuda")) printf("mapped %s", path);
  }
  return 0;
}
"""
LINKED = r"""
#include <stdio.h>
extern int cuDriverGetVersion(int *), cuGLRegisterBufferObject(unsigned);
extern int cudbgSmallText[4];
int main(void) {
  int version = 0;
  cuDriverGetVersion(&version);
  printf("%d %d %d\n", version, cuGLRegisterBufferObject(9), cudbgSmallText[3]);
  return 0;
}
"""
REAL, OURS = 12020, 12021


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "shims"


@pytest.fixture
def look(tmp_path):
    return compiled(tmp_path / "look", LOOK, "-ldl")


@pytest.fixture(params=["64-bit", "32-bit, too"])
def root(request, tmp_path):
    """A machine where programs of these kinds can run: what is preloaded differs."""
    if request.param == "64-bit":
        return EMPTY_ROOT
    (tmp_path / "root/lib").mkdir(parents=True)
    (tmp_path / "root/lib/ld-linux.so.2").touch()
    return tmp_path / "root"


def small(folder, command, **kwargs):
    return shimmed(folder, command, template=SMALL_TEMPLATE, **kwargs)


def mapped(output):
    return {line.split()[1] for line in output.splitlines() if line.startswith("mapped ")}


def test_each_way_to_the_driver_leads_to_the_shim(folder, look, root):
    done = small(folder, [look, "libcuda.so.1", "libcuda.so"], root=root)
    assert done.stderr == ""
    assert done.stdout.splitlines()[:2] == [f"libcuda.so.1 {OURS}", f"libcuda.so {OURS}"]
    # One shim, however it was found, and the driver behind it.
    shims = [path for path in mapped(done.stdout) if path.startswith(str(folder))]
    named = small(folder, [], options=["--print"]).stdout.splitlines()
    assert shims == [named[0]], done.stdout  # what proves that a process has it
    assert str((SMALL / "libcuda.so.1").resolve()) in {os.path.realpath(path) for path in mapped(done.stdout)}


def test_a_linked_program_finds_all_names_in_the_shim(folder, tmp_path, root):
    program = compiled(tmp_path / "linked", LINKED, f"-L{SMALL}", "-lcuda")
    assert small(folder, [program], root=root).stdout == f"{OURS} 9 4\n"
    # The folder in the program's own DT_RPATH comes before LD_LIBRARY_PATH.
    rpath = compiled(tmp_path / "rpath", LINKED, f"-L{SMALL}", "-lcuda", f"-Wl,-rpath,{SMALL},--disable-new-dtags")
    assert small(folder, [rpath], root=root).stdout == f"{OURS} 9 4\n"
    # A script may set either variable anew: the other leads there, too.
    for name in ("LD_PRELOAD", "LD_LIBRARY_PATH"):
        assert small(folder, ["env", f"{name}=", program], root=root).stdout == f"{OURS} 9 4\n", name
    plain = subprocess.run([rpath], env=PLAIN, capture_output=True, text=True, check=True)
    assert plain.stdout == f"{REAL} 9 4\n"


def test_without_a_driver_the_command_runs_as_it_is(folder, look):
    done = small(folder, ["/bin/sh", "-c", "echo ${LD_PRELOAD-unset} ${LD_LIBRARY_PATH-unset}"], driver=None)
    assert done.stdout == "unset unset\n"
    assert done.stderr == "none: there is no libcuda.so.1 here: no CUDA program runs\n"
    assert not folder.exists()


def test_a_process_that_never_uses_cuda_does_not_open_the_driver(folder, look):
    done = small(folder, [look])
    assert done.returncode == 0 and done.stderr == ""
    assert [path for path in mapped(done.stdout) if not path.startswith(str(folder))] == []


def test_what_the_loader_writes_to_at_each_start_is_one_page(folder):
    image = shimmed(folder, [], options=["--print"]).stdout.splitlines()[0]
    told = subprocess.run(["readelf", "-W", "-ld", image], capture_output=True, text=True, check=True).stdout
    dynamic = int(re.search(r"DYNAMIC +\S+ +(0x\w+)", told)[1], 16)
    slots = int(re.search(r"\(PLTGOT\) +(0x\w+)", told)[1], 16)
    assert dynamic // 4096 == slots // 4096, told


def test_the_users_own_preload_stays_and_comes_first(folder, look, tmp_path):
    theirs = compiled(tmp_path / "theirs.so", 'int puts(const char *); __attribute__((constructor)) static '
                      'void begin(void) { puts("theirs"); }', "-shared", "-fPIC")
    done = small(folder, [look, "libcuda.so.1"], env={"LD_PRELOAD": str(theirs)})
    assert done.stdout.splitlines()[0] == "theirs"
    assert f"libcuda.so.1 {OURS}" in done.stdout
    assert done.stderr == f"theirs\nsaid: LD_PRELOAD has what you chose first, then the shim: {theirs}\n".removeprefix("theirs\n")


def test_children_have_the_shim_whatever_they_close(folder, look):
    script = f"import subprocess; print(subprocess.run([{str(look)!r}, 'libcuda.so.1'], close_fds=True, text=True, capture_output=True).stdout)"
    assert f"libcuda.so.1 {OURS}" in small(folder, [sys.executable, "-S", "-c", script]).stdout


def test_a_run_inside_a_run_has_its_own_shim_before_the_same_driver(folder, look, root):
    inner = [SHIM_OF, "--root", EMPTY_ROOT, "--folder", folder / "inner", "--template", SMALL_TEMPLATE]
    done = small(folder / "outer", [*inner, look, "libcuda.so.1"], root=root)
    assert done.stderr == ""
    assert f"libcuda.so.1 {OURS}" in done.stdout
    assert not [path for path in mapped(done.stdout) if path.startswith(str(folder / "outer"))]


def test_a_program_with_address_sanitizer_starts(folder, tmp_path):
    program = compiled(tmp_path / "asan", "int main(void) { return 7; }", "-fsanitize=address")
    assert small(folder, [program]).returncode == 7
    # With the library preloaded as for a Python that is to open a sanitized module.
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    done = small(folder, ["/bin/sh", "-c", "exit 7"], env={"LD_PRELOAD": os.path.realpath(library), "ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode == 7, done.stderr


LOADER_32 = "/lib/ld-linux.so.2"


@pytest.mark.parametrize("root", ["32-bit, too"], indirect=True)
def test_32_bit_programs_hear_nothing_of_it(folder, root):
    if not pathlib.Path("/lib32/libc.so.6").exists():
        pytest.skip("libc6-i386 is not installed")
    narrow = [LOADER_32, "/lib32/libc.so.6"]
    done = small(folder, narrow, root=root)
    assert "GNU C Library" in done.stdout and done.stderr == ""
    # A preload by its plain path is what their loader complains of.
    image = next(folder.glob("*/libcuda.so.1"))
    plain = subprocess.run(narrow, env=PLAIN | {"LD_PRELOAD": str(image)}, capture_output=True, text=True, check=True)
    assert "wrong ELF class" in plain.stderr


def nobodys_folder():
    """A folder that another user can reach, with one of that user's own in it."""
    room = pathlib.Path(tempfile.mkdtemp(prefix="berth-shims-", dir="/var/tmp"))
    room.chmod(0o755)
    (room / "his").mkdir()
    shutil.chown(room / "his", 65534, 65534)
    return room


@pytest.fixture
def room():
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    if subprocess.run([SHIM_OF, "--print"], user=65534, capture_output=True, check=False).returncode not in (0, 3):
        pytest.skip("the build cannot be reached by another user")
    made = nobodys_folder()
    yield made
    shutil.rmtree(made)


def test_setuid_programs_hear_nothing_of_it(room, root, tmp_path):
    su = shutil.which("su")
    if su is None or not os.stat(su).st_mode & 0o4000:
        pytest.skip("there is no setuid su")
    tmp_path.chmod(0o755)
    done = small(room / "his", [su, "--version"], user=65534, group=65534, root=root)
    assert done.returncode == 0 and done.stderr == ""
    assert list((room / "his").glob("*/libcuda.so.1"))


def test_a_users_shim_is_his_alone(room):
    done = small(room / "his", ["/bin/true"], user=65534, group=65534)
    assert done.returncode == 0 and done.stderr == ""
    [image] = (room / "his").glob("*/libcuda.so.1")
    assert oct(image.parent.stat().st_mode & 0o777) == "0o700"
    assert oct(image.stat().st_mode & 0o777) == "0o400"


def test_roots_shim_goes_on_with_a_job_that_becomes_another_user(folder, look, room):
    done = small(room / "roots", ["setpriv", "--reuid", "65534", "--clear-groups", "/bin/true"])
    assert done.returncode == 0 and done.stderr == ""


def test_a_noexec_folder_is_passed_over_and_named_where_there_is_no_other(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    (tmp_path / "noexec").mkdir()
    mount = f"mount -t tmpfs -o noexec,mode=755 none {tmp_path}/noexec"
    words = [SHIM_OF, "--root", "/nonexistent", "--template", SMALL_TEMPLATE, "--folder", tmp_path / "noexec/guard"]
    both = [*words, "--folder", tmp_path / "good", "--print"]
    env = PLAIN | {"LD_LIBRARY_PATH": str(SMALL)}

    def mounted(command):
        line = " ".join(str(word) for word in command)
        return subprocess.run(["unshare", "-m", "/bin/sh", "-c", f"{mount} && exec {line}"], env=env, capture_output=True, text=True, check=False)

    found = mounted(both)
    assert found.stdout.startswith(str(tmp_path / "good")), found.stderr
    alone = mounted([*words, "--print"])
    assert "noexec/guard is on a file system mounted noexec" in alone.stderr



def test_programs_of_musl_run_as_without_it(folder, tmp_path, root):
    program = compiled(tmp_path / "musl", '#include <stdio.h>\nint main(void) { puts("musl"); return 0; }', compiler="musl-gcc")
    for template in (SMALL_TEMPLATE, None):
        done = shimmed(folder, [program], template=template, root=root)
        assert done.stdout == "musl\n" and done.stderr == ""


OLD = BUILD.parent / "peers/libc6-2.31/lib/x86_64-linux-gnu"


@pytest.mark.parametrize("template", [SMALL_TEMPLATE, None], ids=["in-little", "the-shim"])
def test_a_program_on_an_older_glibc_has_the_shim(folder, tmp_path, template):
    if not (OLD / "ld-2.31.so").exists():
        pytest.skip("Debian 11's libc6 is not in build/peers")
    # Not libc's start code, which is this machine's. It does not name libdl, where its dlopen is: the shim does.
    program = compiled(tmp_path / "old", r"""
extern void *dlopen(const char *, int), *dlsym(void *, const char *);
extern int dprintf(int, const char *, ...);
extern void _exit(int);
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5\n.symver dlsym, dlsym@GLIBC_2.2.5");
__attribute__((force_align_arg_pointer)) void _start(void) {
  void *cuda = dlopen("libcuda.so.1", 2);
  int (*get)(int *) = cuda ? (int (*)(int *))dlsym(cuda, "cuDriverGetVersion") : 0;
  int (*glue)(unsigned) = cuda ? (int (*)(unsigned))dlsym(cuda, "cuGLRegisterBufferObject") : 0;
  int version = 0;
  if (get) get(&version);
  dprintf(1, "%d %d\n", version, glue ? glue(9) : -1);
  _exit(0);
}
""", "-nostartfiles", "-O1", "-fno-stack-protector")
    line = f"exec env -u LD_LIBRARY_PATH {OLD}/ld-2.31.so --library-path $LD_LIBRARY_PATH:{OLD} {program}"
    # The shell has this machine's glibc, with a libdl that is empty.
    done = shimmed(folder, ["/bin/sh", "-c", line], template=template, options=["--glibc", "2.31"])
    assert done.stderr == ""
    assert done.stdout == f"{OURS if template else REAL} 9\n"
    newer = shimmed(folder, ["/bin/sh", "-c", line], template=template, options=["--glibc", "2.36"])
    assert newer.returncode != 0 and "symbol lookup error" in newer.stderr


def test_a_static_program_runs_as_without_it(folder, tmp_path):
    program = compiled(tmp_path / "static", '#include <stdio.h>\nint main(void) { puts("static"); return 0; }', "-static")
    done = small(folder, [program])
    assert done.stdout == "static\n" and done.stderr == ""


def test_runs_that_start_at_once_have_one_shim(folder):
    words = [str(word) for word in (SHIM_OF, "--root", "/nonexistent", "--template", SMALL_TEMPLATE, "--folder", folder, "--print")]
    runs = [subprocess.Popen(words, env=PLAIN | {"LD_LIBRARY_PATH": str(SMALL)}, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for _ in range(24)]
    said = {run.communicate(timeout=60) for run in runs}
    assert len(said) == 1, said
    assert [complaint for _, complaint in said] == [""]
    assert not list(folder.rglob("*.new.*"))


def test_a_changed_file_is_written_anew_and_said(folder, look):
    small(folder, [look])
    image = next(folder.glob("*/libcuda.so.1"))
    good = image.read_bytes()
    image.chmod(0o600)
    image.write_bytes(b"changed")
    done = small(folder, [look, "libcuda.so.1"])
    assert f"said: {image.parent} had been changed; it was written anew\n" == done.stderr
    assert f"libcuda.so.1 {OURS}" in done.stdout
    assert image.read_bytes() == good
