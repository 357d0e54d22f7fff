"""Which program the library asks, and what it says where there is none that it may ask."""

import json
import os
import pathlib
import shutil
import socket
import time

import pytest

from hosts import HERE, PLACE, checked, compiled, shared

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


NOT_FOUND, UNSUPPORTED, NO_PERMISSION, TIMEOUT = 1, 2, 3, 6


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
    for word in ("PATH", "BERTH_HELPER", "Install"):
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


def test_a_program_with_more_rights_than_its_user_asks_none_that_the_user_names(server, folder):
    """One that is setuid: the variables are its user's."""
    needs_root()
    mark = folder / "was-run"
    program = script(folder / "elsewhere", f"touch {mark}")
    host = compiled(folder / "host", HERE / "host.c", "-std=c99", PLACE / "libberth.a")
    named, _, _ = told(server, host, BERTH_HELPER=str(program))
    assert named == str(program)
    mark.unlink(missing_ok=True)
    os.chown(host, 65534, 65534)
    host.chmod(0o4755)
    if "nosuid" in server.run("findmnt", "-no", "OPTIONS", "-T", host, env={"PATH": os.environ["PATH"]}).stdout:
        pytest.skip("no program is setuid here")
    done = server.run(host, "tells", env={"BERTH_HELPER": program, "PATH": f"/nonexistent:{folder}"})
    assert done.stdout.splitlines()[0] != str(program) and not mark.exists(), done


def test_the_next_on_the_path_is_taken_where_the_first_is_not_roots(server, alone, folder):
    needs_root()
    theirs = script(folder / "berth", "exit 1")
    os.chown(theirs, 65534, 65534)
    assert told(server, alone, PATH=f"{folder}:{PLACE}")[0] == str(BERTH)


@pytest.mark.parametrize("greeting, older", [
    ('{"berth_helper":99,"oldest":98,"version":"9.0.0"}', "library"),
    ('{"berth_helper":99,"version":"9.0.0"}', "library"),
    ('{"berth_helper":0,"version":"0.0.1"}', "program"),
], ids=["newer", "newer without a range", "older"])
def test_a_program_of_another_release(server, alone, folder, greeting, older):
    version = greeting.split('"')[-2]
    program = script(folder / "berth", f"printf '%s\\n' '{greeting}' >&3; cat <&3 >/dev/null")
    _, code, message = told(server, alone, BERTH_HELPER=str(program), PATH=os.environ["PATH"])
    assert code == UNSUPPORTED
    own = server.run(BERTH, "--version").stdout.split()[1]
    for word in (str(program), f"berth {version}", f"berth {own}", f"the {older} is too old", "one release"):
        assert word in message, message


def test_a_newer_program_that_speaks_the_librarys_protocol_still(server, alone, folder):
    answer = '{"visible":null,"look":{"berth_snapshot":1,"devices":[]}}'
    program = script(folder / "berth", """printf '%s\\n' '{"berth_helper":7,"oldest":1,"version":"9.0.0"}' >&3
read -r asked <&3
case $asked in *'"protocol":1'*) ;; *) exit 1;; esac
printf '%s\\n' '""" + answer + """' >&3; cat <&3 >/dev/null""")
    assert told(server, alone, BERTH_HELPER=str(program), PATH=os.environ["PATH"]) == (str(program), 0, "")


def test_a_host_that_throws_when_it_is_told_something(server, library, folder, tmp_path):
    answer = '{"visible":null,"look":{"berth_snapshot":1,"devices":[]}}'
    program = script(folder / "berth", f"""printf '%s\\n' '{{"berth_helper":1}}' >&3
while read -r asked <&3; do printf '%s\\n' '{{"note":"hello"}}' '{answer}' >&3; done""")
    host = compiled(tmp_path / "notes", HERE / "notes.cc", "-std=c++17", *shared(), compiler="g++")
    checked(server.run(host, env={"BERTH_HELPER": program}))


def test_a_library_of_another_release(server):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        helper = server.start(BERTH, "helper", "--socket", theirs.fileno(), pass_fds=[theirs.fileno()])
        theirs.close()
        said = ours.makefile("rw")
        greeting = json.loads(said.readline())
        assert greeting["oldest"] <= greeting["berth_helper"]
        said.write(json.dumps({"ask": "look", "depth": 0, "protocol": greeting["berth_helper"] + 1}) + "\n")
        said.flush()
        error = json.loads(said.readline())["error"]
        assert error["code"] == "unsupported"
        for word in (str(greeting["berth_helper"] + 1), greeting["version"], "one release"):
            assert word in error["message"], error
        said.write(json.dumps({"ask": "look", "depth": 0, "protocol": greeting["oldest"]}) + "\n")
        said.flush()
        assert len(json.loads(said.readline())["look"]["devices"]) == 8
        said.close()
    helper.communicate(timeout=20)


@pytest.mark.clock
def test_a_program_that_never_answers(server, alone, folder):
    """No call waits for it; it is given up after a time, and ended."""
    mark = folder / "pid"
    program = script(folder / "berth", f"echo $$ > {mark}; exec sleep 600")
    done = server.run(alone, "steps", env={"BERTH_HELPER": program})
    longest, code, message = done.stdout.strip().split(" ", 2)
    assert int(code) == TIMEOUT and str(program) in message and "BERTH_HELPER" in message, done
    assert int(longest) < 500, f"a call took {longest} ms"
    ends_by = time.monotonic() + 10
    while pathlib.Path("/proc", mark.read_text().strip()).exists():
        assert time.monotonic() < ends_by, "it goes on"
        time.sleep(0.05)


def test_an_answer_that_nests_too_deep(server, alone, folder):
    deep = folder / "deep"
    deep.write_text('{"berth_helper":1,"version":"0.2.0"}\n{"look":' + "[" * 200_000 + "]" * 200_000 + "}\n")
    program = script(folder / "berth", f"cat {deep} >&3; cat <&3 >/dev/null")
    _, code, message = told(server, alone, BERTH_HELPER=str(program), PATH=os.environ["PATH"])
    assert code == UNSUPPORTED and str(program) in message and "install" in message, message
    assert len(message) < 1500


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
