"""examples/cpp, built as a user builds them against what was installed, and run on simulated servers."""

import functools
import re
import shutil

import pytest

from hosts import ROOT, checked, compiled, run, shared

SOURCES = ROOT / "examples/cpp"


def with_cmake(installed, folder, target, *options):
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed")
    for command in (["cmake", "-S", SOURCES, "-B", folder, f"-DCMAKE_PREFIX_PATH={installed}",
                     f"-DBERTH_LIBRARY={target}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"],
                    ["cmake", "--build", folder, *options]):
        done = run(command)
        assert done.returncode == 0, done.stdout + done.stderr


def with_pkg_config(installed, folder):
    """list_devices, as a Makefile would make it; the folder of berth.pc depends on the system."""
    if not shutil.which("pkg-config"):
        pytest.skip("pkg-config is not installed")
    found = list(installed.glob("lib*/**/berth.pc"))
    assert len(found) == 1, found
    env = {"PKG_CONFIG_PATH": str(found[0].parent), "PATH": "/usr/bin:/bin"}
    words = run(["pkg-config", "--cflags", "--libs", "berth"], env=env)
    assert words.returncode == 0, words.stderr
    folder.mkdir()
    libraries = run(["pkg-config", "--variable=libdir", "berth"], env=env).stdout.strip()
    done = run(["g++", "-std=c++17", "-o", folder / "list_devices", SOURCES / "list_devices.cc",
                *words.stdout.split(), f"-Wl,-rpath,{libraries}"])
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(installed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples") / "build"
    with_cmake(installed, folder, "berth::berth")
    return folder


@pytest.fixture(scope="module", params=["find_package", "find_package, static", "pkg-config"])
def list_devices(request, installed, tmp_path_factory):
    """One of them, linked in each way that a user may link."""
    if request.param == "find_package":
        folder = request.getfixturevalue("built")
    else:
        folder = tmp_path_factory.mktemp("one") / "build"
        if request.param == "pkg-config":
            with_pkg_config(installed, folder)
        else:
            with_cmake(installed, folder, "berth::static", "--target", "list_devices")
    program = folder / "list_devices"
    needed = run(["readelf", "--dynamic", program]).stdout
    assert ("libberth" in needed) == ("static" not in request.param)
    return program


PAGES = ("README.md", "README.zh-CN.md", "doc/LIBRARY.md", "doc/LIBRARY.zh-CN.md")


@pytest.fixture(scope="module")
def program_of(library, tmp_path_factory):
    """program_of(text): a page and its translation have the same one."""

    @functools.cache
    def made(text):
        source = tmp_path_factory.mktemp("page") / "program.cc"
        source.write_text(text)
        return compiled(source.with_suffix(""), source, "-std=c++17", *shared(), compiler="g++")

    return made


@pytest.mark.parametrize("page", PAGES)
def test_the_program_of_a_page_as_it_stands_there(page, server, program_of):
    [program] = re.findall(r"^```cpp\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    host = program_of(program)
    assert checked(server.run(host)).stdout.startswith("on NVIDIA H100")
    hidden = server.run(host, env={"CUDA_VISIBLE_DEVICES": ""})
    assert hidden.stdout.startswith("on the CPU: ") and len(hidden.stdout) > 30


@pytest.fixture
def there(server, installed):
    """The server, with what was installed on PATH."""
    server.env["PATH"] = f"{installed / 'bin'}:/usr/bin:/bin"
    return server


def test_list_devices(there, list_devices):
    lines = checked(there.run(list_devices)).stdout.splitlines()
    assert len(lines) == 8, lines
    assert re.fullmatch(r"0  NVIDIA H100 80GB HBM3  \w+( \w+)?  \d+ GiB of 79 GiB used.*", lines[0]), lines
    assert sum("  free  " in line for line in lines) == 5, lines
    assert any("  by " in line for line in lines), lines


def test_list_devices_of_cards_that_say_less(there, list_devices):
    lines = checked(there.run(list_devices, env={"BERTH_SIM": "driver-mismatch"})).stdout
    assert "unsupported" in lines or "failed" in lines, lines


def test_take(there, built):
    said = checked(there.run(built / "take_or_cpu")).stdout
    assert re.fullmatch(r"computing on NVIDIA H100 80GB HBM3, which is cuda:0 here "
                        r"\(CUDA_VISIBLE_DEVICES=\d\)\n", said), said


def test_fall_back_to_the_cpu(there, built):
    done = there.run(built / "take_or_cpu", env={"BERTH_SIM": "driver-mismatch"})
    assert done.returncode == 0 and done.stdout == "computing on the CPU\n", done
    assert done.stderr.strip(), "it does not say why"


def test_wait_in_a_loop(there, built):
    done = there.run(built / "wait_in_loop", "20000")
    assert checked(done).stdout.splitlines()[-1] == "got NVIDIA H100 80GB HBM3", done


def test_the_time_of_a_wait_is_over(there, built):
    holder = there.start("berth", "run", "-n", "5", "--", "sh", "-c", "echo held; read line")
    try:
        assert holder.stdout.readline() == "held\n"
        done = there.run(built / "wait_in_loop", "200")
        assert done.returncode == 2 and done.stderr.strip(), done
    finally:
        holder.communicate("\n", timeout=60)


def test_a_prefix_that_was_moved(installed, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(installed, moved, symlinks=True)
    with_cmake(moved, tmp_path / "by-cmake", "berth::berth", "--target", "list_devices")
    with_pkg_config(moved, tmp_path / "by-make")
    for made in "by-cmake", "by-make":
        assert str(moved) in run(["ldd", tmp_path / made / "list_devices"]).stdout, made


def test_an_installed_release_of_the_same_number_is_found(installed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(x LANGUAGES CXX)\nfind_package(berth ${WANTED})\n"
        "message(STATUS \"found ${berth_FOUND}\")\n")
    def found(wanted):
        return "found 1" in run(["cmake", "-S", tmp_path, "-B", tmp_path / wanted, f"-DWANTED={wanted}",
                                 f"-DCMAKE_PREFIX_PATH={installed}"]).stdout
    assert found("0.2") and not found("9.0")
