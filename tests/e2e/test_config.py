"""The configuration: files, variables and flags, which counts, and whose files count for nothing."""

import json
import os
import subprocess

import pytest

from conftest import wait_until, waiting_in


@pytest.fixture
def project(machine):
    folder = machine.directory / "net"
    folder.mkdir(mode=0o755)
    return folder


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def of_user(machine, text, mode=0o644):
    return write(machine.directory / ".config/berth/config.toml", text, mode)


def of_machine(machine, text):
    return write(machine.directory / "etc/berth/config.toml", text)


def configured(machine, folder, *words):
    done = machine.run("config", "--json", *words, cwd=folder)
    return json.loads(done.stdout)


def value_of(told, key):
    return next((one["value"], one["origin"]) for one in told["values"] if one["key"] == key)


def asked_for(machine, folder, *words):
    done = machine.run("pick", "--json", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["asked_for"]


def test_each_source_counts_for_more_than_those_before_it(machine, project):
    of_all = of_machine(machine, '[request]\nmemory = "1G"\ndevices = 2\nprefer = "spread"\n')
    own = of_user(machine, '[request]\nmemory = "2G"\nprefer = "most-free"\n')
    near = write(project / "berth.toml", '[request]\nmemory = "3G"\n')
    told = configured(machine, project)
    assert value_of(told, "request.memory") == ("3G", f"{near}:2")
    assert value_of(told, "request.prefer") == ("most-free", f"{own}:3")
    assert value_of(told, "request.devices") == ("2", f"{of_all}:3")
    assert value_of(told, "ledger") == (machine.env["BERTH_LEDGER"], "BERTH_LEDGER")
    assert asked_for(machine, project) == "-n 2 --memory 3G --prefer most-free"
    assert asked_for(machine, project, "--memory", "4G", "-n", "1") == "-n 1 --memory 4G --prefer most-free"
    assert asked_for(machine, project, "--memory", "default", "-n", "1") == "-n 1 --prefer most-free"


def test_a_job_gets_what_the_project_says(machine, project):
    write(project / "berth.toml", '[request]\nmemory = "10G"\nonly = ["3", "4"]\n')
    (project / "data").mkdir(mode=0o755)
    done = machine.run("run", "--dry-run", "--json", "--", "true", cwd=project / "data")
    assert json.loads(done.stdout)["asked_for"] == "-n 1 --memory 10G --only 3,4"
    done = machine.run("run", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", cwd=project / "data")
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


def test_each_value_names_who_said_it(machine, project):
    path = write(project / "berth.toml", '[request]\nidle_for = "5s"\n')
    done = machine.run("config", "--origin", "--lang", "en", cwd=project)
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert lines["request.idle_for"] == ["5s", f"{path}:2"]
    assert lines["language"] == ["en", "--lang"]
    assert lines["simulated"] == ["server-8xh100", "BERTH_SIM"]
    assert lines["request.memory"] == ["default"]
    assert lines[str(path)] == []
    assert "(not" in lines[f"{machine.directory}/.config/berth/config.toml"]
    assert done.returncode == 0 and not done.stderr


def test_what_is_wrong_is_named_and_no_job_is_started(machine, project):
    path = write(project / "berth.toml", '[request]\nmemory = "ten"\n')
    for words, code in ((["run", "--", "true"], 125), (["pick"], 2)):
        refused = machine.run(*words, cwd=project)
        assert refused.returncode == code, refused
        assert f'{path}:2: request.memory: "ten"' in refused.stderr
    told = machine.run("config", cwd=project)
    assert told.returncode == 1 and "request.memory:" in told.stdout


def test_a_users_file_of_a_projects_name_is_told_with_the_right_one(machine, project):
    mistaken = write(machine.directory / ".config/berth/berth.toml", '[request]\ndevices = 2\n')
    right = mistaken.with_name("config.toml")
    remark = f"{mistaken} is not read: what you say for all projects is in {right}"
    told = machine.run("config", cwd=project)
    assert told.returncode == 0 and remark in " ".join(told.stdout.split()), told.stdout
    assert remark in configured(machine, project)["unknown"]
    done = machine.run("run", "-q", "--", "true", cwd=project)
    assert done.returncode == 0 and remark in " ".join(done.stderr.split()), done.stderr


def test_who_only_looks_goes_on_and_says_what_is_wrong(machine, project):
    path = of_user(machine, "language = 5\n")
    done = machine.run("status", cwd=project)
    assert done.returncode == 0 and "H100" in done.stdout
    assert f'{path}:1: language: "5" is no language; write en or zh_CN' in done.stderr
    assert machine.run("status", "--json", cwd=project).stdout.startswith("{")


def test_an_unknown_key_is_told_with_the_nearest(machine, project):
    path = write(project / "berth.toml", '[request]\nmemroy = "10G"\n')
    done = machine.run("pick", cwd=project)
    assert done.returncode == 0
    assert f"{path}:2: there is no key request.memroy; is request.memory meant?" in done.stderr


def test_a_file_that_others_can_write_steers_no_job(machine, project):
    path = write(project / "berth.toml", '[request]\nmemory = "10G"\n', mode=0o664)
    refused = machine.run("run", "--", "true", cwd=project)
    assert refused.returncode == 125
    assert f"{path} is not read: other users can write it; run: chmod go-w {path}" in refused.stderr
    path.chmod(0o644)
    project.chmod(0o777)
    refused = machine.run("pick", cwd=project)
    assert refused.returncode == 2
    assert f"{project} is not read: other users can write it" in refused.stderr
    project.chmod(0o755)
    assert asked_for(machine, project) == "-n 1 --memory 10G"


def test_a_users_own_file_that_others_can_write_is_refused(machine, project):
    path = of_user(machine, '[request]\nmemory = "10G"\n', mode=0o646)
    refused = machine.run("pick", cwd=project)
    assert refused.returncode == 2 and f"{path} is not read" in refused.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_folder_of_another_is_not_looked_into(machine, project):
    write(project / "berth.toml", '[request]\nmemory = "10G"\n')
    os.chown(project, 12345, 12345)
    assert asked_for(machine, project) == "-n 1"
    told = configured(machine, project)
    assert "project" not in [one["source"] for one in told["files"]]


def test_a_project_names_neither_ledger_nor_library(machine, project):
    path = write(project / "berth.toml", f'ledger = "{project}/mine"\n')
    refused = machine.run("run", "--", "true", cwd=project, env={"BERTH_LEDGER": None})
    assert refused.returncode == 125 and f"{path}:1: ledger: this file may not say it" in refused.stderr
    assert not (project / "mine").exists()


def test_the_ledger_may_stand_in_the_users_file(machine, project):
    named = machine.directory / "other-ledger"
    path = of_user(machine, f'ledger = "{named}"\n')
    told = machine.run("leases", cwd=project, env={"BERTH_LEDGER": None})
    assert told.stdout.endswith(f"Ledger {named} ({path}:1), its part for this simulated server.\n"), told.stdout


def test_a_flag_takes_back_what_a_file_switches_on(machine, project):
    write(project / "berth.toml", "[request]\nallow_failed = true\n")
    assert asked_for(machine, project) == "-n 1 --allow-failed"
    assert asked_for(machine, project, "--allow-failed=false") == "-n 1"


def test_the_support_file_holds_the_configuration(machine, project):
    path = of_user(machine, '[request]\nmemory = "10G"\n')
    report = machine.directory / "report.txt"
    done = machine.run("support", "-o", report, "--yes", cwd=project, timeout=120)
    assert done.returncode == 0, done.stderr
    assert 'memory = "10G"' in report.read_text(encoding="utf-8"), path


def test_a_policy_that_comes_through_a_pipe_is_read_to_its_end(machine):
    """Of one that was not waited for nothing was read, and nothing is a policy: it was put into force."""
    pipe = machine.directory / "pipe"
    os.mkfifo(pipe)
    for option in ("--check", "--install"):
        writes = os.open(pipe, os.O_RDWR)
        asks = machine.start("config", option, pipe)
        for line in (b"[everybody]\n", b"devices_at_mst = 1\n"):
            os.write(writes, line)
            wait_until(lambda: asks.poll() is not None or waiting_in(writes) == 0, "it reads")
        os.close(writes)
        printed, said = asks.communicate(timeout=60)
        assert (asks.returncode, printed) == (125, "") and "devices_at_mst" in said, (printed, said)
    assert not (machine.directory / "etc/berth/berth.toml").exists()


@pytest.mark.parametrize("words", [["--wait="], ["--wait", ""], ["--or-cpu="], ["--time="], ["--only="]], ids=str)
def test_an_option_whose_variable_is_not_set_is_refused_as_that(machine, words):
    """It never takes the next word for its value."""
    done = machine.run("run", *words, "--only", "5", "--", "true")
    assert done.returncode == 125 and words[0].rstrip("=") in done.stderr, done.stderr
    assert '""' in done.stderr or "empty" in done.stderr, done.stderr
    assert "5" not in done.stderr.replace("5m", ""), done.stderr


@pytest.mark.parametrize("verb", ["run", "top", "stop", "reserve"])
def test_help_says_what_a_number_alone_means_where_a_time_is_taken(machine, verb):
    assert "A number alone is seconds" in " ".join(machine.run(verb, "--help-all").stdout.split())
    assert "A number alone" not in machine.run("leases", "--help-all").stdout
    assert "a number alone is seconds" in machine.run("run", "--wait=soon", "--", "true").stderr
    assert "a number alone" not in machine.run("run", "--time=soon", "--", "true").stderr
