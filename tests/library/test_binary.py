"""The library's files: what they export, need and weigh."""

import importlib.util
import pathlib
import re
import shutil

import pytest

from hosts import HERE, INCLUDE, PLACE, ROOT, compiled, compiler, run, shared


def checks_of_binaries():
    spec = importlib.util.spec_from_file_location("check_binary", ROOT / "tools/check_binary.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_binary = checks_of_binaries()


def frozen():
    return set((HERE / "symbols.txt").read_text().split())


def defined(path, *options):
    done = run(["nm", *options, "--defined-only", "--extern-only", "--format=posix", path])
    assert done.returncode == 0, done.stderr
    return {line.split()[0] for line in done.stdout.splitlines() if len(line.split()) > 1}


def test_the_list_of_symbols_is_what_the_header_declares():
    # A name that leaves the list breaks programs: that needs another SOVERSION.
    text = re.sub(r"/\*.*?\*/", "", (INCLUDE / "berth/berth.h").read_text(), flags=re.S)
    assert set(re.findall(r"\b(berth_\w+)\(", text)) == frozen()


def test_the_shared_library_exports_those_alone(library):
    names = defined(library, "--dynamic")
    assert names - {"BERTH_0"} == {f"{name}@@BERTH_0" for name in frozen()}


def test_the_static_library_shows_those_alone():
    assert defined(PLACE / "libberth.a") == frozen()


def test_it_needs_nothing_but_glibc(library):
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", check_binary.readelf(library, "--dynamic"))
    assert [name for name in needed if not check_binary.LIBRARIES.fullmatch(name)] == []


def test_it_runs_where_berth_does(library):
    reason = check_binary.reason_to_allow_newer_glibc()
    symbols = check_binary.readelf(library, "--dyn-syms")
    assert not check_binary.runtime_findings(symbols)
    assert not check_binary.hardening_findings(check_binary.readelf(library, "--dynamic"),
                                               check_binary.readelf(library, "--segments"))
    if reason:
        pytest.skip(reason)
    assert not check_binary.glibc_findings(symbols)


def test_it_is_small(library, record_property):
    size = check_binary.stripped_size(library)
    record_property("measured", f"libberth.so.0: {size} bytes stripped")
    assert size <= 2 << 20


def test_its_name_has_a_number(library):
    assert "[libberth.so.0]" in check_binary.readelf(library, "--dynamic")
    assert (PLACE / "libberth.so").resolve() == library.resolve()


C_HOST = """
#include <berth/berth.h>
#include <stdio.h>
int main(void) { return puts(berth_version_text()) < 0; }
"""


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_a_c_program_needs_the_archive_and_no_more(tmp_path, name):
    (tmp_path / "host.c").write_text(C_HOST)
    program = compiled(tmp_path / "host", tmp_path / "host.c", "-std=c99", PLACE / "libberth.a",
                       compiler=compiler(name))
    done = run([program])
    assert done.returncode == 0 and re.fullmatch(r"\d+\.\d+\.\d+.*\n", done.stdout), done
    assert "libstdc++" not in check_binary.readelf(pathlib.Path(program), "--dynamic")


def test_a_program_without_any_shared_library(tmp_path, server):
    program = compiled(tmp_path / "host", HERE / "host.c", "-std=c99", "-static",
                       "-Wno-error", PLACE / "libberth.a")
    done = server.run(program, "tells", env={"BERTH_HELPER": PLACE / "berth"})
    assert done.returncode == 0 and "\n0 \n" in done.stdout, done


FMT_HOST = """
#include <berth/berth.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <cstdio>
#include <stdexcept>
int main() {
  try {
    throw std::runtime_error(fmt::format("{} {}", nlohmann::json{{"a", 1}}.dump(), berth_version() != 0));
  } catch (const std::exception& thrown) {
    std::puts(thrown.what());
  }
}
"""


def test_a_program_with_libraries_of_the_same_names(tmp_path):
    if not pathlib.Path("/usr/include/fmt/format.h").exists() or not shutil.which("g++"):
        pytest.skip("libfmt-dev is not installed")
    (tmp_path / "host.cc").write_text(FMT_HOST)
    done = run(["g++", "-std=c++17", f"-I{INCLUDE}", "-o", tmp_path / "host", tmp_path / "host.cc",
                PLACE / "libberth.a", "-lfmt"])
    assert done.returncode == 0, done.stderr
    assert run([tmp_path / "host"]).stdout == '{"a":1} true\n'


def test_both_libraries_in_one_process(tmp_path, server, library):
    """A plugin with libberth.a in a program with libberth.so.0: two of everything, and no clash."""
    (tmp_path / "plugin.c").write_text(
        "#include <berth/berth.h>\nunsigned plugin(void);\nunsigned plugin(void) { return berth_version(); }\n")
    (tmp_path / "host.c").write_text(
        "#include <berth/berth.h>\nunsigned plugin(void);\n"
        "int main(void) { return plugin() == berth_version() ? 0 : 1; }\n")
    compiled(tmp_path / "libplugin.so", tmp_path / "plugin.c", "-std=c99", "-shared", "-fPIC",
             PLACE / "libberth.a")
    program = compiled(tmp_path / "host", tmp_path / "host.c", "-std=c99", *shared(),
                       f"-L{tmp_path}", "-lplugin", f"-Wl,-rpath,{tmp_path}")
    done = server.run(program)
    assert done.returncode == 0, done
