"""A link that `berth serve` prints makes a browser known: as which user, how often, how long. And no other browser."""

import json
import os
import pathlib
import re
import stat
import subprocess
import urllib.parse

import pytest
from conftest import BERTH, Terminal, end, wait_until
from serving import Server
from test_two_users import IS_ROOT, OTHER, VIEWER, words_as

def link_of(server, as_uid=None):
    words = [*(words_as(as_uid) if as_uid is not None else []), BERTH, "serve", "--link", "--socket", server.socket_path]
    return subprocess.run(words, env=server.machine.env, capture_output=True, text=True, timeout=60)


def secret_in(url):
    return urllib.parse.urlsplit(url.strip()).fragment.removeprefix("sign-in=")


def sign_in(server, secret):
    return server.post("/api/v1/sign-in", {"link": secret}, over="tcp")


def asker(server, token):
    return server.get("/api/v1/overview", {"Authorization": f"Bearer {token}"}).json["asker"]


@pytest.fixture
def server(machine):
    made = Server(machine)
    wait_until(lambda: made.get("/api/v1/overview").status == 200, "the first look")
    yield made
    made.close()


def test_a_link_is_good_once_and_for_who_started_the_server(server):
    told = link_of(server)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(f"http://127.0.0.1:{server.port}/#sign-in=berth_")
    secret = secret_in(told.stdout)
    given = sign_in(server, secret)
    assert given.status == 200, given.body
    assert asker(server, given.json["token"])["admin"] is True
    assert asker(server, given.json["token"])["user"]
    over = sign_in(server, secret)
    assert over.status == 403 and over.json["error"]["code"] == "link_over"
    assert "berth serve --link" in over.json["error"]["remedy"]
    # A link is no token, and the token no link.
    assert server.get("/api/v1/overview", {"Authorization": f"Bearer {secret}"}).status == 401
    assert sign_in(server, given.json["token"]).status == 403


def test_what_is_no_link_is_refused(server):
    for body in ({}, {"link": 3}, [], {"link": ""}, {"link": "berth_" + "A" * 43}):
        refused = server.post("/api/v1/sign-in", body, over="tcp")
        assert refused.status in (400, 403), (body, refused.body)
        assert "token" not in refused.json
    assert server.ask("POST", "/api/v1/sign-in", '{"link":"x"}', {"Content-Type": "application/json"}, "tcp").status == 403
    foreign = server.post("/api/v1/sign-in", {"link": "x"}, {"Origin": "https://elsewhere.example"}, over="tcp")
    assert foreign.status == 403 and foreign.json["error"]["code"] == "foreign_origin"


def test_over_tcp_nobody_is_given_a_link(server):
    refused = server.post("/api/v1/sign-in-links", {}, over="tcp")
    assert refused.status == 403 and refused.json["error"]["code"] == "only_here"


@pytest.mark.skipif(not IS_ROOT, reason="only root can be several users")
def test_another_user_gets_a_link_of_his_own_and_no_more(server):
    os.chmod(server.machine.directory, 0o755)
    for parent in pathlib.Path(server.socket_path).parents:
        if parent == pathlib.Path("/tmp"):
            break
        parent.chmod(parent.stat().st_mode | 0o011)
    told = link_of(server, VIEWER)
    assert told.returncode == 0, told.stderr
    given = sign_in(server, secret_in(told.stdout))
    assert asker(server, given.json["token"])["admin"] is False
    assert asker(server, given.json["token"])["user"] == "nobody"


def test_where_no_server_runs_that_is_said(machine):
    refused = machine.run("serve", "--link", "--socket", machine.directory / "none.sock")
    assert refused.returncode == 1 and str(machine.directory / "none.sock") in refused.stderr
    assert not refused.stdout


def test_the_link_is_printed_for_a_terminal_alone(machine, server):
    assert not server.says("sign-in=")
    terminal = Terminal(200)
    process = machine.start("serve", "--listen", "127.0.0.1:0", "--socket", machine.directory / "second.sock",
                            stdin=terminal.slave, stdout=terminal.slave, stderr=terminal.slave)  # fmt: skip
    try:
        found = wait_until(lambda: re.search(rb"http://127\.0\.0\.1:(\d+)/#sign-in=(\S+)", terminal.read()), "the link")
        words = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes() + pathlib.Path(f"/proc/{process.pid}/environ").read_bytes()
        assert found[2] not in words
    finally:
        end(process)
        terminal.close()


def test_a_browser_is_given_a_file_that_only_its_user_can_read(machine):
    browser = machine.directory / "browser"
    browser.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$0.new" && mv "$0.new" "$0.opened"\n', encoding="ascii")
    browser.chmod(0o755)
    server = Server(machine, "--open", env={"BROWSER": str(browser)})
    try:
        opened = machine.directory / "browser.opened"
        [word] = wait_until(lambda: opened.exists() and opened.read_text().splitlines(), "the browser is begun")
        assert word.startswith("file:///") and "sign-in" not in word
        page = pathlib.Path(word.removeprefix("file://"))
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        url = re.search(r'content="0;url=([^"]+)"', page.read_text())[1]
        assert url.startswith(f"http://127.0.0.1:{server.port}/#sign-in=")
        if IS_ROOT:
            peeking = subprocess.run([*words_as(OTHER), "cat", page], capture_output=True, text=True)
            assert peeking.returncode != 0 and not peeking.stdout
        assert sign_in(server, secret_in(url)).status == 200
        server.stop()
    finally:
        server.close()
    assert not page.exists(), "it goes with the server"


def test_a_busy_port_says_how_to_get_to_the_page(machine, server):
    refused = machine.run("serve", "--listen", f"127.0.0.1:{server.port}", "--socket", machine.directory / "second.sock")
    assert refused.returncode != 0 and "berth serve --link" in refused.stderr


def test_with_the_server_its_tokens_end(machine):
    first = Server(machine)
    token = sign_in(first, secret_in(link_of(first).stdout)).json["token"]
    assert asker(first, token)["admin"] is True
    first.close()
    second = Server(machine)
    try:
        wait_until(lambda: second.get("/api/v1/overview").status == 200, "the first look")
        assert second.get("/api/v1/overview", {"Authorization": f"Bearer {token}"}).status == 401
        assert json.loads(second.get("/api/v1/overview").body)["asker"]["admin"] is False
    finally:
        second.close()
