"""Which program the library asks, and what it says where there is none that it may ask."""

import os
import shutil

import pytest

from hosts import HERE, PLACE, compiled, shared

BERTH = PLACE / "berth"


@pytest.fixture(scope="module")
def alone(library, tmp_path_factory):
    """The host with the library in a folder where no program is beside it."""
    folder = tmp_path_factory.mktemp("alone") / "deep" / "inside" / "lib"
    folder.mkdir(parents=True)
    shutil.copy(library, folder / "libberth.so.0")
    (folder / "libberth.so").symlink_to("libberth.so.0")
    return compiled(folder / "host", HERE / "host.c", "-std=c99", *shared(folder))


def told(server, host, **env):
    """(the program it names, the code of a look, the message)"""
    done = server.run(host, "tells", env={"PATH": "/nonexistent", **env})
    assert done.returncode == 0, done
    program, answer = done.stdout.split("\n", 1)
    code, _, message = answer.strip().partition(" ")
    return program, int(code), message


NOT_FOUND, UNSUPPORTED, NO_PERMISSION = 1, 2, 3


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(trusted):
    made = trusted / "programs"
    made.mkdir()
    yield made
    shutil.rmtree(made)


def test_the_one_beside_the_library(server, host):
    assert told(server, host) == (str(BERTH), 0, "")


def test_the_one_that_is_named_before_all(server, host):
    program, code, message = told(server, host, BERTH_HELPER="/nonexistent/berth")
    assert (program, code) == ("", NOT_FOUND) and "/nonexistent/berth" in message, message


def test_none(server, alone):
    program, code, message = told(server, alone)
    assert (program, code) == ("", NOT_FOUND)
    for word in ("PATH", "BERTH_HELPER", "install"):
        assert word in message, message


def test_the_one_on_the_path(server, alone):
    program, code, message = told(server, alone, PATH=f"/nonexistent:{PLACE}")
    assert (program, code, message) == (str(BERTH), 0, "")


def test_a_relative_folder_of_the_path_is_nobody(server, alone):
    done = server.run(alone, "tells", env={"PATH": "."}, cwd=PLACE)
    assert done.stdout.startswith(f"\n{NOT_FOUND} "), done.stdout


def needs_root():
    if os.geteuid() != 0:
        pytest.skip("needs root, and another user's file")


def test_as_root_a_users_program_is_not_run(server, alone, folder):
    needs_root()
    mark = folder / "was-run"
    theirs = script(folder / "berth", f"touch {mark}")
    os.chown(theirs, 65534, 65534)
    program, code, message = told(server, alone, PATH=str(folder))
    assert (program, code) == ("", NO_PERMISSION) and not mark.exists()
    assert str(theirs) in message and "root" in message, message
    program, code, message = told(server, alone, BERTH_HELPER=str(theirs))
    assert code == NO_PERMISSION and not mark.exists(), message


def test_as_root_a_program_in_a_folder_of_a_user_is_not_run(server, alone, folder):
    needs_root()
    mark = folder / "was-run"
    script(folder / "berth", f"touch {mark}")
    os.chown(folder, 65534, 65534)
    program, code, message = told(server, alone, PATH=str(folder))
    assert (program, code) == ("", NO_PERMISSION) and not mark.exists(), message


def test_as_root_a_users_link_is_what_it_leads_to(server, alone, folder):
    """The link could be changed after the look at it: what is started is what was looked at."""
    needs_root()
    (folder / "berth").symlink_to(BERTH)
    os.chown(folder, 65534, 65534)
    program, code, _ = told(server, alone, PATH=str(folder))
    assert (program, code) in ((str(BERTH), 0), ("", NO_PERMISSION))


def test_the_next_on_the_path_is_taken_where_the_first_is_not_roots(server, alone, folder):
    needs_root()
    theirs = script(folder / "berth", "exit 1")
    os.chown(theirs, 65534, 65534)
    assert told(server, alone, PATH=f"{folder}:{PLACE}")[0] == str(BERTH)


@pytest.mark.parametrize("greeting", [
    '{"berth_helper":99,"version":"9.0.0"}', '{"berth_helper":0,"version":"0.0.1"}',
], ids=["newer", "older"])
def test_a_program_of_another_release(server, alone, folder, greeting):
    version = greeting.split('"')[-2]
    program = script(folder / "berth", f"printf '%s\\n' '{greeting}' >&3; cat <&3 >/dev/null")
    _, code, message = told(server, alone, BERTH_HELPER=str(program))
    assert code == UNSUPPORTED
    assert str(program) in message and version in message and "one release" in message, message


@pytest.mark.parametrize("text", ["exit 2", "echo 'unknown verb helper' >&2; exit 1", "echo nonsense >&3"])
def test_a_program_that_is_no_helper(server, alone, folder, text):
    program = script(folder / "berth", text)
    _, code, message = told(server, alone, BERTH_HELPER=str(program))
    assert code == UNSUPPORTED and str(program) in message and "install" in message, message


def test_a_file_that_cannot_be_run(server, alone, folder):
    file = folder / "berth"
    file.write_text("not a program")
    _, code, message = told(server, alone, BERTH_HELPER=str(file))
    assert code == NOT_FOUND and str(file) in message, message
