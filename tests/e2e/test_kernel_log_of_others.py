"""The kernel's log is root's. A server of root's tells none of it to others, not even of their own runs. `berth
explain` does not either. A user who may read the log gets it."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest
from serving import Server
from test_foreign_records import ALICE, BOB, PATIENCE, Home
from test_serve_two_users import Asker
from test_two_users import words_as

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acting as several users: only root can")

SECRET = "quokka"  # the name of the process in the kernel's line


class LoggedHome(Home):
    """Her home on a machine whose kernel log is a file, which only root may read."""

    def __init__(self, directory):
        self.kernel_log = directory / "kmsg"
        self.kernel_log.touch(mode=0o600)
        super().__init__(directory)

    def with_kernel_log(self, *words):
        bound = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /dev/kmsg && exec "$@"']
        return [*bound, str(self.kernel_log), *map(str, words)]

    def command(self, *words):
        return self.with_kernel_log(*super().command(*words))

    def asks_as(self, uid, home, *words):
        home.mkdir(exist_ok=True)
        os.chown(home, uid, uid)
        env = self.environment({"HOME": str(home), "XDG_STATE_HOME": None})
        return subprocess.run(self.with_kernel_log(*words_as(uid), self.berth, *words), env=env, text=True,
                              timeout=PATIENCE, capture_output=True, stdin=subprocess.DEVNULL, check=False, cwd="/")

    def alice(self, *words):
        return self.asks_as(ALICE, self.home, *words)

    def killed_run(self, asked):
        """The id of a run that was killed, as the kernel's log tells. `asked`: what its user does with berth."""
        made = asked("run", "-q", "--detach", "--", "sh", "-c", "kill -9 $$")
        assert made.returncode == 0, made.stderr
        run = made.stdout.strip()
        asked("wait", run)
        pid = json.loads(asked("show", run, "--json").stdout)["job"]["pid"]
        boot_us = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1e6)
        text = f"Out of memory: Killed process {pid} ({SECRET}) total-vm:9kB, anon-rss:9437184kB, file-rss:0kB"
        self.kernel_log.write_text(f"3,1,{boot_us},-;{text}\n")
        return run


@pytest.fixture(scope="module")
def house():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-kernel-log-"))
    made = LoggedHome(directory)
    made.env["BERTH_HOMES"] = ""  # as its own passwd says
    made.server = Server(made)
    try:
        yield made
    finally:
        made.server.close()
        shutil.rmtree(directory, ignore_errors=True)


def told_by_the_server(house, uid, run):
    """{part: (status, text)} of what explains that run."""
    parts = {part: Asker(house, uid=uid).get(f"/api/v1/runs/{run}/{part}") for part in ("explanation", "report")}
    return {part: (answer.status, answer.body.decode()) for part, answer in parts.items()}


def test_of_her_own_run_she_is_told_what_she_could_read_herself_and_no_more(house):
    run = house.killed_run(house.alice)
    for part, (status, text) in told_by_the_server(house, ALICE, run).items():
        assert status == 200 and run in text and SECRET not in text, f"{part}: {text}"
    told = house.alice("explain", run)
    assert run in told.stdout and SECRET not in told.stdout + told.stderr, told


def test_another_user_is_told_nothing_of_it(house):
    run = house.killed_run(house.alice)
    for part, (status, text) in told_by_the_server(house, BOB, run).items():
        assert status in (403, 404) and SECRET not in text, f"{part}: {text}"
    told = house.asks_as(BOB, house.directory / "home-of-bob", "explain", run)
    assert told.returncode != 0 and SECRET not in told.stdout + told.stderr, told


def test_root_has_it_of_its_own_run(house):
    run = house.killed_run(house.run)
    for part, (status, text) in told_by_the_server(house, 0, run).items():
        assert status == 200 and SECRET in text, f"{part}: {text}"
    told = house.run("explain", run)
    assert f"({SECRET}) was killed, it held 9.0 GiB" in " ".join(told.stdout.split()), told
