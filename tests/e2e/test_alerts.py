"""Alerts as those who are told hear of them: webhooks, commands, the API, `berth alert`."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading

import pytest
from conftest import BERTH, children, fake_library, scenario, wait_until
from serving import Events, openssl
from serving import serve_on  # noqa: F401  pylint: disable=unused-import
from test_gpu_fault import Losing
from test_two_users import words_as

QUICK = """
[alerts.gpu_lost]
for = "0s"
hold = "1s"
"""


class Receiver:
    """A little HTTP server on a port of its own that keeps what it is told."""

    def __init__(self, answers=(), hangs=False, tls=None):
        self.told = []
        self.answers = list(answers)  # status codes of the first answers; then 200
        self.hangs = hangs
        self.released = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if receiver.hangs:
                    receiver.released.wait(60)
                    return
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 200:
                    receiver.told.append(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def url(self, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.server.server_port}/T00/top-secret"

    def events(self):
        return [one["event"] for one in self.told]

    def hears(self, *events, timeout=60):
        wait_until(lambda: self.events() == list(events), f"{events}, heard: {self.told}", timeout)
        return self.told[-1]

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)


@pytest.fixture
def receiver_of():
    made = []

    def make(**how):
        made.append(Receiver(**how))
        return made[-1]

    yield make
    for one in made:
        one.close()


def webhook(receiver, more="", scheme="http"):
    return f'[[alerts.webhook]]\nurl = "{receiver.url(scheme)}"\n{more}\n'


class Watched(Losing):
    """A machine whose devices can be lost and found, with a configuration."""

    def __init__(self, directory, config):
        super().__init__(directory, devices=2)
        self.config = directory / "serve.toml"
        self.config.write_text(config, encoding="utf-8")
        self.words = ("--config", self.config, "--interval", "200ms")

    def find(self):
        self.faults.write_text("", encoding="utf-8")

    @property
    def state(self):
        return self.directory / "state/berth/alerts.json"


def running(words):
    """Processes in whose command line these bytes are."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and words in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:
            pass
    return found


def alerts(server, over="unix"):
    return server.get("/api/v1/alerts", over=over).json["alerts"]


def active(server):
    return [one["rule"] for one in alerts(server) if one["resolved_unix_ms"] is None]


# ------------------------------------------------------------------------------------------- webhooks


def test_a_webhook_hears_that_a_gpu_is_lost_and_is_back(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, QUICK + webhook(team))
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    began = team.hears("began")
    assert began["berth_alert"] == 1 and began["simulated"] is None
    assert began["text"].startswith("CRITICAL on ") and "GPU 1 (gpu_lost): " in began["text"]
    assert began["alert"]["rule"] == "gpu_lost" and began["alert"]["index"] == 1
    assert [one["id"] for one in server.get("/api/v1/overview").json["alerts"]] == [began["alert"]["id"]]
    assert 'berth_alerts{rule="gpu_lost",severity="critical"} 1' in server.get("/metrics").body.decode()
    machine.find()
    over = team.hears("began", "resolved")
    assert over["alert"]["id"] == began["alert"]["id"]
    assert over["alert"]["resolved_unix_ms"] >= over["alert"]["since_unix_ms"]
    wait_until(lambda: server.get("/api/v1/overview").json["alerts"] == [], "the overview is calm")
    assert [one["id"] for one in alerts(server)] == [began["alert"]["id"]]


def next_alert(events):
    while True:
        kind, _, data = events.next()
        if kind == "alert":
            return data


def test_events_bring_an_alert_when_it_begins_and_when_it_ends(tmp_path, serve_on):  # noqa: F811
    machine = Watched(tmp_path, QUICK)
    server = serve_on(machine, *machine.words)
    events = Events(server)
    machine.lose(0)
    began = next_alert(events)
    assert (began["rule"], began["resolved_unix_ms"]) == ("gpu_lost", None)
    machine.find()
    over = next_alert(events)
    assert over["id"] == began["id"] and over["resolved_unix_ms"]
    events.close()


def test_one_who_hangs_keeps_nobody_waiting(tmp_path, serve_on, receiver_of):  # noqa: F811
    deaf, team = receiver_of(hangs=True), receiver_of()
    machine = Watched(tmp_path, QUICK + webhook(deaf, 'name = "deaf"\ntimeout = "1s"') + webhook(team))
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    team.hears("began")
    machine.find()
    team.hears("began", "resolved")
    assert server.get("/healthz").status == 200

    def failing():
        figures = {one["receiver"]: one for one in server.get("/api/v1/alerts", over="unix").json["deliveries"]}
        heard = figures["webhook-1"]["delivered"] == 2
        return heard and figures["deaf"]["is_failing"] and figures["deaf"]["waiting"] == 2 and figures

    figures = wait_until(failing, "that one is not reached is shown")
    assert "does not answer within" in figures["deaf"]["trouble"]
    assert not figures["webhook-1"]["is_failing"]
    public = server.get("/api/v1/alerts").json["deliveries"][0]
    assert public["is_failing"] and public["trouble"] is None


def test_what_is_refused_is_tried_again_and_said_once(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of(answers=[500, 503])
    machine = Watched(tmp_path, QUICK + webhook(team, 'name = "team"'))
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    team.hears("began")
    wait_until(lambda: server.says("alerts reach team again"), "it works again")
    said = [line for line in server.said if "team" in line]
    assert len(said) == 2 and "it answered 500" in said[0], said
    everything = "\n".join(server.said) + server.get("/api/v1/alerts", over="unix").body.decode()
    assert "top-secret" not in everything


class Curt:
    """Answers each request with bytes as they are, and does not close before it is told to."""

    def __init__(self, *pieces):
        self.pieces = pieces
        self.asked = 0
        self.released = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection, contextlib.suppress(OSError):
            heard = b""
            while b"\r\n\r\n" not in heard or not heard.endswith(b"}\n"):
                heard += connection.recv(65536)
            self.asked += 1
            for piece in self.pieces:
                connection.sendall(piece)
            self.released.wait(60)

    def url(self, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.listener.getsockname()[1]}/hook"

    def close(self):
        self.released.set()
        self.listener.close()


def test_a_status_from_200_on_is_delivery_whatever_comes_behind_it(tmp_path, serve_on):  # noqa: F811
    ok = b"HTTP/1.1 200 OK\r\n"
    curt = {"large": Curt(ok + b"content-length: 70000\r\n\r\n" + b"x" * 70000),
            "strange": Curt(ok + b"content-encoding: br\r\ncontent-length: 2\r\n\r\nok"),
            "damaged": Curt(ok + b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\nok"),
            "endless": Curt(ok + b"content-length: 100\r\n\r\nx"),
            "interim": Curt(b"HTTP/1.1 100 Continue\r\n\r\n", ok + b"content-length: 2\r\n\r\nok")}
    hooks = "".join(webhook(one, f'name = "{name}"\ntimeout = "3s"') for name, one in curt.items())
    machine = Watched(tmp_path, QUICK + hooks)
    tested = machine.run("alert", "test", "--config", machine.config)
    assert tested.returncode == 0, tested.stdout
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    wait_until(lambda: all(one.asked == 2 for one in curt.values()), "all are told")

    def figures():
        return {one["receiver"]: one for one in server.get("/api/v1/alerts", over="unix").json["deliveries"]}

    wait_until(lambda: all(one["delivered"] == 1 for one in figures().values()), f"it counts: {figures()}")
    # What follows waits until what came before has arrived: told again, that would be one more.
    machine.lose(0)
    wait_until(lambda: all(one["delivered"] == 2 for one in figures().values()), f"it counts: {figures()}")
    assert {name: one.asked for name, one in curt.items()} == dict.fromkeys(curt, 3), "told again"
    assert all(one["failed"] == 0 for one in figures().values())
    for one in curt.values():
        one.close()


def test_https_asks_for_a_certificate_that_is_trusted(tmp_path, serve_on, receiver_of):  # noqa: F811
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
            "-days", "2", "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1", cwd=tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    team = receiver_of(tls=tls)
    trusted = webhook(team, f'name = "trusted"\nca = "{tmp_path}/cert.pem"', "https")
    machine = Watched(tmp_path, QUICK + webhook(team, 'name = "strange"', "https") + trusted)
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    team.hears("began")
    wait_until(lambda: server.says("strange: the certificate of 127.0.0.1"), "the other one is refused")


# ------------------------------------------------------------------------------------------- commands


def test_a_command_finds_the_alert_on_its_stdin_and_in_variables(tmp_path, serve_on):  # noqa: F811
    script = tmp_path / "page"
    script.write_text(
        '#!/bin/sh\n(echo "$BERTH_ALERT_EVENT $BERTH_ALERT_RULE $BERTH_ALERT_INDEX $1"; cat) >> "$HOME/told"\n',
        encoding="utf-8")
    script.chmod(0o755)
    config = f'[[alerts.command]]\nrun = ["{script}", "a b; $HOME"]\n'
    machine = Watched(tmp_path, QUICK + config)
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    told = wait_until(lambda: (tmp_path / "told").exists() and (tmp_path / "told").read_text().splitlines()[1:]
                      and (tmp_path / "told").read_text(), "the command is run")
    first, _, body = told.partition("\n")
    assert first == "began gpu_lost 1 a b; $HOME"
    assert json.loads(body)["alert"]["rule"] == "gpu_lost"
    wait_until(lambda: server.get("/api/v1/alerts").json["deliveries"][0]["delivered"] == 1, "it is counted")


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path, serve_on):  # noqa: F811
    script = "trap '' TERM; setsid sleep 12345.5 & sleep 12345.5"
    # Time enough to look at them on a busy machine.
    config = f'[[alerts.command]]\nrun = ["sh", "-c", "{script}"]\ntimeout = "3s"\n'
    machine = Watched(tmp_path, QUICK + config)
    server = serve_on(machine, *machine.words)
    machine.lose(1)

    def sleepers():
        return running(b"sleep\x0012345.5")

    def held(pid):
        found = []
        for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # a library's, which it has just begun with
                found.append(os.readlink(entry))
        return found

    for each in wait_until(lambda: len(found := sleepers()) == 2 and found, "both sleep"):
        names = held(each)
        assert names and not [one for one in names if "socket" in one], f"they hold what the server serves through: {names}"
    wait_until(lambda: server.says("took longer than 3 s and was ended"), "it is said", 15)
    server.stop(signal.SIGKILL)
    wait_until(lambda: not sleepers(), f"nothing is left: {sleepers()}")


def test_a_server_that_stops_leaves_its_command_the_time_it_was_given(tmp_path, serve_on):  # noqa: F811
    script = f"sleep 1.37; echo told >> {tmp_path}/told; sleep 12346.5"
    config = f'[[alerts.command]]\nrun = ["sh", "-c", "{script}"]\ntimeout = "3s"\n'
    machine = Watched(tmp_path, QUICK + config)
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    wait_until(lambda: running(b"sleep\x001.37\x00"), "it has begun")
    server.stop(signal.SIGKILL)
    wait_until(lambda: (tmp_path / "told").exists(), "it went on")
    wait_until(lambda: not running(b"sleep\x0012346.5"), "its time is over all the same", 15)


def test_a_command_that_fails_says_how(tmp_path, serve_on):  # noqa: F811
    config = ('[[alerts.command]]\nrun = ["sh", "-c", "exit 3"]\n'
              '[[alerts.command]]\nname = "page"\nrun = "/nonexistent/page"\n')
    machine = Watched(tmp_path, QUICK + config)
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    wait_until(lambda: server.says("command-1: sh exited with 3"), "its code is said")
    wait_until(lambda: server.says("page: /nonexistent/page cannot be found"), "that there is none")
    wait_until(lambda: len(children(server.process.pid)) <= 1, "no child is left but the probe process")


# ------------------------------------------------------------------------------------------- restarts


def test_a_killed_server_tells_nothing_twice(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, QUICK + webhook(team))
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    began = team.hears("began")
    wait_until(lambda: machine.state.exists() and json.loads(machine.state.read_text())["active"]
               and not json.loads(machine.state.read_text())["undelivered"], "it is kept")
    server.stop(signal.SIGKILL)
    again = serve_on(machine, *machine.words)
    assert active(again) == ["gpu_lost"]
    machine.find()  # and so it would be told before this if it were told twice
    assert team.hears("began", "resolved")["alert"]["id"] == began["alert"]["id"]


def test_what_had_not_arrived_is_told_by_the_next_server(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of(answers=[500])
    machine = Watched(tmp_path, QUICK + webhook(team))
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    wait_until(lambda: machine.state.exists() and json.loads(machine.state.read_text())["undelivered"],
               "it is kept that it did not arrive")
    server.stop(signal.SIGKILL)
    assert team.events() == []
    serve_on(machine, *machine.words)
    team.hears("began")


def test_a_damaged_file_is_set_aside(tmp_path, serve_on):  # noqa: F811
    machine = Watched(tmp_path, QUICK)
    machine.state.parent.mkdir(parents=True)
    machine.state.write_text('{"berth_alerts": 1, "active": [{', encoding="utf-8")
    earlier = machine.state.with_name("alerts.json.broken-20250101-000000")
    earlier.touch()
    server = serve_on(machine, *machine.words)
    assert server.says("the file was set aside as"), server.said
    (aside,) = machine.state.parent.glob("alerts.json.broken-*")
    assert aside != earlier, "the newest stays"
    machine.lose(0)
    wait_until(lambda: active(server) == ["gpu_lost"], "it works all the same")


def test_a_newer_file_is_left_alone(tmp_path, serve_on):  # noqa: F811
    machine = Watched(tmp_path, QUICK)
    machine.state.parent.mkdir(parents=True)
    machine.state.write_text('{"berth_alerts": 2}', encoding="utf-8")
    server = serve_on(machine, *machine.words)
    wait_until(lambda: server.says("written by a newer berth"), "why it is not read")
    machine.lose(0)
    wait_until(lambda: active(server) == ["gpu_lost"], "it works all the same")
    assert machine.state.read_text() == '{"berth_alerts": 2}'


def test_another_driver_after_a_restart_is_an_alert(driver_of, tmp_path, serve_on):  # noqa: F811
    config = tmp_path / "serve.toml"
    config.write_text('[alerts.environment_changed]\nfor = "0s"\n', encoding="utf-8")
    played = scenario("lab-4")
    machine = driver_of(played)
    server = serve_on(machine, "--config", config)
    before = played["host"]["driver_version"]
    state = tmp_path / "state/berth/alerts.json"
    wait_until(lambda: state.exists() and json.loads(state.read_text())["environment"]["facts"].get("driver"),
               "what it is made of is kept")
    server.stop(signal.SIGTERM)
    played["host"]["driver_version"] = "599.99"
    again = serve_on(driver_of(played), "--config", config)
    wait_until(lambda: f"the driver changed from {before} to 599.99" in [a["summary"] for a in alerts(again)],
               "that it is another driver")


# ------------------------------------------------------------------------------------- configuration


def test_hup_reads_rules_and_receivers_again(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, "[alerts.gpu_lost]\noff = true\n")
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    wait_until(lambda: "lost" in [one["state"] for one in server.get("/api/v1/overview").json["devices"]], "it is seen to be lost")
    assert active(server) == []
    machine.config.write_text(QUICK + webhook(team), encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    team.hears("began")
    machine.config.write_text("[alerts.gpu_lost]\nfor = 'soon'\n", encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.says("stays as it was"), "the mistake is said")
    assert active(server) == ["gpu_lost"]
    machine.config.unlink()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.says("serve.toml, which it was read from"), "that the file has gone is said")
    assert len(server.get("/api/v1/alerts").json["deliveries"]) == 1, "its receivers stay"


def test_a_rule_that_is_switched_off_resolves_nothing(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, QUICK + webhook(team))
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    team.hears("began")
    machine.config.write_text("[alerts.gpu_lost]\noff = true\n" + webhook(team), encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: active(server) == [], "it is not watched")
    assert [one["ending"] for one in alerts(server)] == ["unwatched"]
    shown = machine.run("alert", "--socket", server.socket_path).stdout
    assert "no longer watched  GPU 1" in shown and "resolved" not in shown, shown
    machine.config.write_text(QUICK + webhook(team), encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    team.hears("began", "began")  # nothing was mended in between


def test_a_receiver_that_stays_keeps_what_waits_for_it(tmp_path, serve_on, receiver_of):  # noqa: F811
    gone, slow = receiver_of(answers=[500] * 100), receiver_of(answers=[500])
    stays = webhook(slow)
    machine = Watched(tmp_path, QUICK + webhook(gone, 'name = "gone"') + stays)
    server = serve_on(machine, *machine.words)
    machine.lose(1)
    wait_until(lambda: server.says("told to gone: it answered 500")
               and server.says("told to webhook-1: it answered 500"), "both fail")
    machine.config.write_text(QUICK + stays, encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    slow.hears("began")
    wait_until(lambda: server.says("gone is no longer told of alerts"), "what is dropped is said")
    said = [line for line in server.said if "no longer told" in line]
    assert len(said) == 1 and said[0].endswith("had not arrived there: 1"), said
    machine.config.write_text(QUICK + stays + webhook(gone), encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.says("two [[alerts.webhook]] have no name"), "who is who is not guessed")


def test_a_url_may_stand_in_a_file_of_its_own(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    (tmp_path / "hook").write_text(team.url() + "\n", encoding="utf-8")
    machine = Watched(tmp_path, QUICK + f'[[alerts.webhook]]\nurl_file = "{tmp_path}/hook"\n')
    serve_on(machine, *machine.words)
    machine.lose(1)
    team.hears("began")
    (tmp_path / "hook").write_text("top-secret", encoding="utf-8")
    refused = machine.run("serve", "--config", machine.config)
    assert refused.returncode == 2 and "hook" in refused.stderr and "top-secret" not in refused.stderr


def test_a_full_disk_is_seen(tmp_path, serve_on):  # noqa: F811
    machine = Watched(tmp_path, '[alerts.disk_nearly_full]\nthreshold = 1\nfor = "0s"\n')
    server = serve_on(machine, *machine.words)
    found = wait_until(lambda: alerts(server), "a disk that is fuller than 1 %", 15)
    assert found[0]["rule"] == "disk_nearly_full" and found[0]["device"] is None


# ------------------------------------------------------------------------------------------ the verb


def test_berth_alert_lists_what_the_server_knows(tmp_path, serve_on):  # noqa: F811
    machine = Watched(tmp_path, QUICK)
    server = serve_on(machine, *machine.words)
    calm = machine.run("alert", "--socket", server.socket_path)
    assert (calm.returncode, calm.stdout) == (0, "No alert.\n")
    machine.lose(1)
    wait_until(lambda: active(server) == ["gpu_lost"], "the alert")
    shown = machine.run("alert", "--socket", server.socket_path).stdout
    assert "critical  GPU 1  gpu_lost  since " in shown and "SIMULATED" not in shown
    listed = json.loads(machine.run("alert", "list", "--json", "--socket", server.socket_path).stdout)
    assert listed["from"] == "server"
    assert [one["id"] for one in listed["alerts"]] == [one["id"] for one in alerts(server)]
    chinese = machine.run("alert", "--socket", server.socket_path, "--lang", "zh_CN").stdout
    assert "GPU 1" in chinese and "critical" not in chinese and "fell off" not in chinese
    assert machine.run("alert", "--socket", tmp_path / "nobody").returncode == 1


def test_berth_alert_asks_the_server_of_the_simulated_machine_it_is_of():
    """At its usual place, as an ordinary user: root's would be this machine's own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-alert-"))
    berth = shutil.copy(BERTH, folder / "program")
    for path in (folder, berth):
        os.chmod(path, 0o777)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "LANG": "C.UTF-8",
           "BERTH_LEDGER": str(folder / "ledger"), "BERTH_NVML": str(fake_library("all"))}
    somebody = [] if os.geteuid() else words_as(65534)

    def alert(*words):
        done = subprocess.run([*somebody, berth, "alert", *words], env=env, capture_output=True, text=True)
        return done.stdout + done.stderr

    server = subprocess.Popen([*somebody, berth, "serve", "--listen", "127.0.0.1:0", "--sim", "faults"], env=env,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert "serving at http" in server.stderr.readline()
        where = server.stderr.readline().removeprefix("berth: serving at ").strip()
        wait_until(lambda: "one look" not in alert("--sim", "faults"), "the server itself answers")
        assert json.loads(alert("--json", "--sim=faults"))["from"] == "server"
        for words, whose in (([], "this machine's"), (["--sim", "lab-4"], "another simulated one's")):
            shown = alert(*words)
            assert "one look" in shown and "SIMULATED faults" not in shown, f"{whose}: {shown}"
            assert f"simulated server (faults) runs here; what it knows: berth alert --socket {where}" in shown
        assert "one look" not in alert("--socket", where)
    finally:
        server.terminate()
        server.communicate(timeout=30)
        shutil.rmtree(folder)


def test_berth_alert_without_a_server_says_that_it_is_one_look(machine_of):
    shown = machine_of("faults").run("alert")
    assert shown.returncode == 0
    assert shown.stdout.startswith("SIMULATED faults\n")
    assert "gpu_lost" in shown.stdout and "No `berth serve` answers here" in " ".join(shown.stdout.split())
    listed = json.loads(machine_of("faults").run("alert", "--json").stdout)
    assert listed["from"] == "one look" and listed["simulated"] == "faults"
    assert all(one["simulated"] == "faults" for one in listed["alerts"])


def test_berth_alert_test_tells_every_receiver_and_says_how_it_went(machine, receiver_of):
    team, broken = receiver_of(), receiver_of(answers=[404])
    config = machine.directory / "serve.toml"
    config.write_text(webhook(team, 'name = "team"\nmin_severity = "critical"'), encoding="utf-8")
    done = machine.run("alert", "test", "--config", config)
    assert (done.returncode, done.stdout) == (0, "team: it arrived\n"), done.stderr
    assert team.told[0]["event"] == "test"
    assert team.told[0]["text"].startswith("SIMULATED server-8xh100: ")
    config.write_text(webhook(team, 'name = "team"') + webhook(broken) +
                      '[[alerts.command]]\nrun = "true"\n', encoding="utf-8")
    done = machine.run("alert", "test", "--config", config)
    assert done.returncode == 1 and "webhook-1: it did not arrive: it answered 404" in done.stdout
    assert "team: it arrived\n" in done.stdout and "command-1: it arrived\n" in done.stdout
    lines = machine.run("alert", "test", "--json", "--config", config).stdout.splitlines()
    assert [json.loads(line)["arrived"] for line in lines] == [True, True, True]
    config.write_text("", encoding="utf-8")
    nobody = machine.run("alert", "test", "--config", config)
    assert nobody.returncode == 1 and "nobody is told of alerts" in nobody.stderr


def test_berth_alert_rules_shows_what_is_set(machine):
    config = machine.directory / "serve.toml"
    config.write_text('[alerts.idle_holder]\nfor = "2h"\n[alerts.xid]\noff = true\n', encoding="utf-8")
    shown = machine.run("alert", "rules", "--config", config).stdout
    assert "idle_holder: notice, threshold 256 MiB, after 2h00m" in shown and "xid: switched off" in shown
    rules = {one["rule"]: one for one in
             json.loads(machine.run("alert", "rules", "--json", "--config", config).stdout)["rules"]}
    assert rules.keys() == set(re.findall(r"^(\w+): ", shown, re.MULTILINE)) > {"gpu_lost", "xid"}
    assert rules["idle_holder"]["for_ms"] == 7_200_000 and not rules["xid"]["on"]
    assert machine.run("alert", "everything").returncode == 2


def test_simulated_alerts_are_marked_wherever_they_go(machine_of, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = machine_of("faults")
    config = machine.directory / "serve.toml"
    config.write_text(QUICK + webhook(team, 'min_severity = "critical"'), encoding="utf-8")
    server = serve_on(machine, "--config", config)
    wait_until(lambda: team.told, "an alert")
    assert all(one["text"].startswith("SIMULATED faults: ") and one["simulated"] == "faults" for one in team.told)
    listed = server.get("/api/v1/alerts").json
    assert listed["simulated"] == "faults" and all(one["simulated"] == "faults" for one in listed["alerts"])
