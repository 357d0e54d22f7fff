"""`berth serve` as its users meet it: both doors, what each user sees, tokens, events, starting and ending."""

import gzip
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
import urllib.request

import pytest
from conftest import BERTH, ROOT, scenario, sleeps, wait_until, waiting_in
from serving import Described, Events, Server, UnixConnection, commands_are_open, metric, openssl
from serving import serve_on  # noqa: F401  pylint: disable=unused-import
from test_two_users import words_as

IS_ROOT = os.geteuid() == 0


@pytest.fixture
def server(machine_of, serve_on):  # noqa: F811
    return serve_on(machine_of("server-8xh100"))


# ------------------------------------------------------------------------------------ what is shown


def test_the_snapshot_is_what_status_prints(driver_of, serve_on):  # noqa: F811
    machine = driver_of(scenario("server-8xh100"))
    served = serve_on(machine).get("/gpu-status", over="unix").json
    printed = machine.status_json()
    # A server that looks all the time hears the driver's errors; a single look has no time to listen.
    assert served.pop("xids") == []
    assert served.keys() == printed.keys()
    for mine, theirs in zip(served["devices"], printed["devices"], strict=True):
        assert mine["uuid"] == theirs["uuid"] and mine["memory_used_bytes"] == theirs["memory_used_bytes"]
        assert theirs.keys() <= mine.keys()


def test_simulated_data_is_marked_everywhere(server):
    assert server.says("SIMULATED: server-8xh100")
    device = server.get("/api/v1/devices").json["devices"][0]["id"]
    wait_until(lambda: server.get("/api/v1/usage").status == 200, "there is a history")
    for path in ("/gpu-status", "/api/v1/overview", "/api/v1/health", "/api/v1/devices", f"/api/v1/devices/{device}",
                 "/api/v1/processes", "/api/v1/leases", "/api/v1/queue", "/api/v1/usage", "/api/v1/timeline",
                 "/api/v1/events-log", f"/api/v1/history?device={device}&metric=utilization_gpu_percent"):
        assert server.get(path).json["simulated"] == "server-8xh100", path
    assert server.post("/api/v1/compose", {}, over="tcp").json["simulated"]
    assert "berth_simulated 1" in server.get("/metrics").body.decode()


def test_the_history_of_no_device_is_refused_and_not_empty(server):
    wait_until(lambda: server.get("/api/v1/usage").status == 200, "there is a history")
    metric = "metric=utilization_gpu_percent"
    for unknown in ("0", "GPU-00000000-dead-beef-0000-000000000000"):
        refused = server.get(f"/api/v1/history?device={unknown}&{metric}")
        assert refused.status == 404 and f"no device {unknown} is here" in refused.json["error"]["message"], refused.body
        assert "/api/v1/devices" in refused.json["error"]["remedy"]
    device = server.get("/api/v1/devices").json["devices"][0]["id"]
    early = server.get(f"/api/v1/history?device={device}&{metric}&since=1000&until=2000")
    assert early.status == 200 and early.json["points"] == [], "one that is here, before anybody looked"


def test_numbers_move(server):
    first = server.get("/api/v1/overview").json
    later = wait_until(
        lambda: (now := server.get("/api/v1/overview").json)["sequence"] > first["sequence"] + 1 and now,
        "two more looks",
    )
    assert later["taken_unix_ms"] > first["taken_unix_ms"]
    assert not later["stale"]


def test_who_asks_decides_what_is_seen(server):
    public = server.get("/api/v1/overview").json
    assert public["asker"] == {"user": None, "admin": False, "sees": "public"}
    assert all(p["command"] is None for p in public["processes"])
    assert any(p["user"] for p in public["processes"])
    own = server.get("/api/v1/overview", over="unix").json
    assert own["asker"]["admin"] is True
    assert any(p["command"] for p in own["processes"])


@pytest.mark.skipif(not IS_ROOT, reason="asking as another user: only root can")
def test_a_socket_knows_another_users_uid(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    server = serve_on(machine)
    path = pathlib.Path(server.socket_path)
    reachable = [*path.parents][:-1]
    modes = {folder: folder.stat().st_mode for folder in reachable}
    try:
        for folder in reachable:
            folder.chmod(modes[folder] | 0o011)
        done = subprocess.run(
            [*words_as(54321), "curl", "-s", "--unix-socket", str(path), "http://localhost/api/v1/overview"],
            capture_output=True, text=True, timeout=60, check=True,
        )
    finally:
        for folder in reachable:
            folder.chmod(modes[folder])
    seen = json.loads(done.stdout)
    assert seen["asker"] == {"user": "54321", "admin": False, "sees": "owner"}
    # This machine's users may see others' commands, as by ps. They may not see the container.
    assert all((p["command"] is not None) == commands_are_open() for p in seen["processes"])
    assert all(p["container"] is None for p in seen["processes"])


def test_unchanged_answers_are_not_sent_again(server):
    first = server.get("/api/v1/openapi.json")
    again = server.get("/api/v1/openapi.json", {"If-None-Match": first.headers["etag"]})
    assert again.status == 304 and again.body == b""


def test_long_answers_are_compressed(server):
    packed = server.get("/api/v1/openapi.json", {"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == server.get("/api/v1/openapi.json").body


def test_head_has_the_length_and_no_body(server):
    head = server.ask("HEAD", "/api/v1/openapi.json")
    assert head.status == 200 and head.body == b""
    assert int(head.headers["content-length"]) > 1000


# All of it: what is added or left out may open the page to something.
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self' 'sha256-…'; img-src 'self' data:; "
          "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def test_every_answer_keeps_browsers_from_harm(server):
    for path in ("/api/v1/overview", "/nothing", "/", "/metrics", "/login"):
        headers = server.get(path).headers
        policy = re.sub(r"(?<='sha256-)[\w+/]{43}=(?=')", "…", headers["content-security-policy"])
        assert policy == POLICY, path
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_foreign_names_and_pages_are_refused(server):
    assert server.get("/api/v1/overview", {"Host": "evil.example"}).status == 421
    assert server.get("/api/v1/overview", {"Origin": "http://evil.example"}).status == 403
    own = f"http://127.0.0.1:{server.port}"
    assert server.get("/api/v1/overview", {"Origin": own}).status == 200


def test_methods_it_does_not_know_are_named(server):
    refused = server.ask("DELETE", "/api/v1/overview")
    assert refused.status == 405 and refused.headers["allow"] == "GET, HEAD"
    assert server.ask("OPTIONS", "/api/v1/leases/x/release").headers["allow"] == "POST"


# ------------------------------------------------------------------------------------- the document


def path_of(template, operation):
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            template = template.replace("{%s}" % parameter["name"], parameter["example"])
    return template


# With all readings, with instances of cards, with a card that has failed, without what the driver tells.
@pytest.mark.parametrize("sim", ["server-8xh100", "h100-mig", "faults", "driver-mismatch"])
def test_every_path_of_the_document_answers_as_it_says(machine_of, serve_on, sim):  # noqa: F811
    server = serve_on(machine_of(sim))
    described = Described(server.get("/api/v1/openapi.json").json)
    device = server.get("/api/v1/devices").json["devices"][0]["id"]
    wanted = {"/api/v1/history": f"?device={device}&metric=utilization_gpu_percent",
              "/api/v1/recent": "?metric=utilization_gpu_percent"}
    wait_until(lambda: server.get("/api/v1/usage").status == 200, "there is a history")
    for template, operations in described.paths.items():
        for method, operation in operations.items():
            path = path_of(template, operation) + wanted.get(template, "")
            if template == "/api/v1/events":
                continue  # has no end: below
            if method == "post":
                body = operation["requestBody"]["content"]["application/json"]["example"]
                answer = server.post(path, body)
            else:
                answer = server.get(path, over="unix")
            if method == "get" and "{" not in template and template != "/login":
                assert answer.status == 200, f"{path}: {answer.body}"
            if "application/json" in answer.headers.get("content-type", ""):
                described.check_answer(operation, answer.status, answer.json, f"{method} {path}: {answer.status}")


# --------------------------------------------------------------------------------------------- runs


def test_runs_are_listed_and_their_logs_are_their_owners(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    done = machine.run("run", "--detach", "--", "sh", "-c", "for i in 1 2 3; do echo line $i ☃; done; sleep 2")
    assert done.returncode == 0, done.stderr
    machine.run("wait", "last")
    server = serve_on(machine)
    [run] = server.get("/api/v1/runs", over="unix").json["runs"]
    assert run["state"] == "ended" and run["command"][0] == "sh"
    log = server.get(f"/api/v1/runs/{run['id']}/log?limit=16", over="unix").json
    text = log["text"]
    while log["next"] < log["total"]:
        log = server.get(f"/api/v1/runs/{run['id']}/log?limit=16&offset={log['next']}", over="unix").json
        text += log["text"]
    assert text == "line 1 ☃\nline 2 ☃\nline 3 ☃\n"
    samples = server.get(f"/api/v1/runs/{run['id']}/samples", over="unix").json
    assert samples["points"] and len(samples["points"][0]) == 2 + len(samples["columns"])
    # An unknown client sees that there was a run, and not what it ran.
    [public] = server.get("/api/v1/runs").json["runs"]
    assert public["command"] is None and "working_directory" not in public
    for part in ("log", "samples", "explanation", "report"):
        assert server.get(f"/api/v1/runs/{run['id']}/{part}").status == 403, part
        assert server.get(f"/api/v1/runs/{run['id']}/{part}", over="unix").status == 200, part
    assert server.get("/api/v1/runs/..%2f..%2fetc/log", over="unix").status in (400, 404)


def test_a_lease_is_released_by_its_owner_alone(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    server = serve_on(machine)
    machine.run("run", "--detach", "--", "sleep", "600")
    [lease] = wait_until(lambda: server.get("/api/v1/leases").json["leases"], "the lease is seen")
    path = f"/api/v1/leases/{lease['id']}/release"
    assert server.post(path, {}, over="tcp").status == 401
    assert server.post(path, {}, {"X-Berth": "0"}).status == 403
    done = server.post(path, {})
    assert done.status == 200 and done.json["end"] == "ended", done.body
    wait_until(lambda: not server.get("/api/v1/leases").json["leases"], "the lease has gone")
    assert "stopped" in machine.run("show", "last", "--json").stdout


@pytest.mark.skipif(not IS_ROOT, reason="another user's folder: only root can make one")
def test_a_run_of_another_in_the_servers_own_folder_is_found_as_listed(machine_of, serve_on):  # noqa: F811
    machine = machine_of("lab-4")
    assert machine.run("run", "-d", "--cpu", "--", "echo", "said").returncode == 0
    record = json.loads(machine.run("show", "last", "--json").stdout)
    machine.run("wait", record["id"])
    wait_until(lambda: not os.path.exists(f"/proc/{record['keeper']['pid']}"), "its keeper has written all of it", 20)
    folder = pathlib.Path(record["directory"])
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 54321, 54321)
    server = serve_on(machine)
    # Busy beside other tests, homes may not have been read in the first answer's time.
    wait_until(lambda: server.get("/api/v1/runs", over="unix").json["runs"], "the run is listed", 20)
    [listed] = server.get("/api/v1/runs", over="unix").json["runs"]
    assert (listed["id"], listed["uid"]) == (record["id"], 54321)
    told = server.get(f"/api/v1/runs/{record['id']}@54321", over="unix")
    assert (told.status, told.json["uid"]) == (200, 54321), told.body
    log = server.get(f"/api/v1/runs/{record['id']}@54321/log", over="unix")
    assert log.status == 200 and "said" in log.json["text"], log.body
    assert server.get(f"/api/v1/runs/{record['id']}@{os.geteuid()}", over="unix").status == 404


@pytest.mark.skipif(not IS_ROOT, reason="acting for another user: only root can")
def test_root_acts_with_the_rights_of_whoever_asks(driver_of, serve_on):  # noqa: F811
    from test_top import busy_machine  # pylint: disable=import-outside-toplevel

    theirs = subprocess.Popen([*words_as(54321), "sleep", "600"])
    ours = subprocess.Popen(["sleep", "600"])
    try:
        wait_until(lambda: os.stat(f"/proc/{theirs.pid}").st_uid == 54321, "it is another user's")
        server = serve_on(driver_of(busy_machine([theirs.pid, ours.pid])))
        listed = server.get("/api/v1/processes", over="unix").json["processes"]
        ticks = {p["pid"]: p["start_ticks"] for p in listed}
        secret = token_of(server, "them", "--user", "54321")

        def term(pid):
            body = {"signal": "TERM", "start_ticks": ticks[pid]}
            return server.post(f"/api/v1/processes/{pid}/signal", body, secret, over="tcp")

        assert term(ours.pid).status == 403
        assert term(theirs.pid).json == {"pid": theirs.pid, "sent": True}
        assert theirs.wait(10) == -signal.SIGTERM and ours.poll() is None
    finally:
        for job in (theirs, ours):
            job.kill()
            job.wait()


def test_a_process_is_signalled_only_as_the_one_it_was(driver_of, serve_on):  # noqa: F811
    from test_top import busy_machine  # pylint: disable=import-outside-toplevel

    job = subprocess.Popen(["sleep", "600"])
    try:
        server = serve_on(driver_of(busy_machine([job.pid])))
        [process] = [
            p for p in server.get("/api/v1/processes", over="unix").json["processes"] if p["pid"] == job.pid
        ]
        path = f"/api/v1/processes/{job.pid}/signal"
        wrong = {"signal": "TERM", "start_ticks": process["start_ticks"] + 1}
        assert server.post(path, wrong).status == 404
        assert server.post(path, wrong, over="tcp").status == 401
        assert job.poll() is None
        right = {"signal": "TERM", "start_ticks": process["start_ticks"]}
        assert server.post(path, right).json == {"pid": job.pid, "sent": True}
        assert job.wait(10) == -signal.SIGTERM
    finally:
        job.kill()
        job.wait()


# ----------------------------------------------------------------------------------- tokens and TLS


def token(machine, *words):
    done = machine.run("token", "create", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def token_of(server, *words):
    """The headers of a token that the running server knows already."""
    headers = {"Authorization": f"Bearer {token(server.machine, *words)}"}
    wait_until(lambda: server.get("/healthz", headers).status == 200, "the token is taken")
    return headers


def test_tokens_are_made_taken_and_revoked(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    secret = token(machine, "grafana", "--user", "nobody")
    kept = machine.directory / "state/berth/serve-tokens.json"
    assert secret.startswith("berth_") and secret not in kept.read_text(encoding="utf-8")
    assert kept.stat().st_mode & 0o777 == 0o600
    server = serve_on(machine)
    bearer = {"Authorization": f"Bearer {secret}"}
    assert server.get("/api/v1/overview", bearer).json["asker"]["user"] == "nobody"
    admin = {"Authorization": f"Bearer {token(machine, 'boss', '--admin', '--expires', '1d')}"}
    wait_until(lambda: server.get("/api/v1/overview", admin).status == 200, "a new token is taken")
    assert server.get("/api/v1/overview", admin).json["asker"]["admin"] is True
    assert machine.run("token", "create", "boss").returncode != 0
    listed = machine.run("token", "list").stdout
    assert "grafana: stands for nobody" in listed and "boss: stands for an administrator" in listed
    assert machine.run("token", "revoke", "grafana").returncode == 0
    wait_until(lambda: server.get("/api/v1/overview", bearer).status in (401, 429), "it is revoked")
    assert machine.run("token", "revoke", "grafana").returncode == 1


def test_a_token_that_never_reached_anybody_is_none(machine_of):
    machine = machine_of("server-8xh100")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([BERTH, "token", "create", "lost"], env=machine.env, stdout=full, stderr=subprocess.PIPE,
                              text=True, check=False)
    assert done.returncode == 1 and "could not be written" in done.stderr
    assert "lost" not in machine.run("token", "list").stdout
    assert machine.run("token", "create", "late", "--expires", "0s").returncode == 2


def test_wrong_tokens_are_slowed_down(server):
    wrong = {"Authorization": "Bearer berth_wrong"}
    answers = [server.get("/healthz", wrong) for _ in range(12)]
    assert [a.status for a in answers] == [401] * 10 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) <= 61
    wait_until(lambda: server.says("wrong token"), "it is said")
    assert sum("wrong token" in line for line in server.said) == 1


def test_a_wide_address_wants_a_proof(machine):
    done = machine.run("serve", "--listen", "0.0.0.0:0", "--socket", "none")
    assert done.returncode == 2
    assert "--tokens" in done.stderr and "--tls-client-ca" in done.stderr


def test_a_wide_address_asks_for_tokens(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    secret = token(machine, "me")
    server = serve_on(machine, "--tokens", listen="0.0.0.0:0", wait=False)
    server.port = wait_until(
        lambda: next((int(line.rpartition(":")[2]) for line in server.said if "0.0.0.0" in line), None),
        "where it serves",
    )
    refused = wait_until(lambda: server.get("/api/v1/overview"), "an answer")
    assert refused.status == 401 and refused.headers["www-authenticate"].startswith("Basic")
    wait_until(
        lambda: server.get("/api/v1/overview", {"Authorization": f"Bearer {secret}"}).status == 200,
        "the first look",
    )
    assert server.says("in the clear")


def test_client_certificates_open_a_wide_address(machine_of, serve_on, tmp_path):  # noqa: F811
    subject = ["-subj", "/CN=127.0.0.1", "-days", "2", "-nodes", "-newkey", "rsa:2048"]
    for name in ("server", "client"):
        openssl("req", "-x509", *subject, "-keyout", f"{name}.key", "-out", f"{name}.pem",
                "-addext", "subjectAltName=IP:127.0.0.1", cwd=tmp_path)
    server = serve_on(
        machine_of("server-8xh100"), "--tls-cert", tmp_path / "server.pem", "--tls-key",
        tmp_path / "server.key", "--tls-client-ca", tmp_path / "client.pem",
        listen="0.0.0.0:0", wait=False,
    )
    port = wait_until(
        lambda: next((int(line.rpartition(":")[2]) for line in server.said if "https://" in line), None),
        "where it serves",
    )

    def ask(with_certificate):
        context = ssl.create_default_context(cafile=str(tmp_path / "server.pem"))
        if with_certificate:
            context.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                return secure.recv(4096)

    assert ask(True).startswith(b"HTTP/1.1 ")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        assert ask(False) == b"" and ssl.SSLError
        raise ConnectionError("closed without a word")
    with socket.create_connection(("127.0.0.1", port), timeout=60) as rubbish:
        rubbish.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(range(256)))
        assert b"HTTP/1.1 200" not in rubbish.recv(4096)
    assert ask(True).startswith(b"HTTP/1.1 "), "others are served on"


# ------------------------------------------------------------------------------------------- events


def test_events_bring_an_overview_at_once_and_after_each_look(server):
    events = Events(server)
    try:
        assert "text/event-stream" in events.head
        kinds = [events.next() for _ in range(3)]
        assert [kind for kind, _, _ in kinds] == ["overview"] * 3
        sequences = [data["sequence"] for _, _, data in kinds]
        assert sequences == sorted(set(sequences))
        assert all(p["command"] is None for p in kinds[0][2]["processes"])
    finally:
        events.close()


def test_who_comes_back_after_a_restart_is_served(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    server = serve_on(machine)
    port = server.port
    events = Events(server)
    _, last, _ = events.next()
    server.stop(signal.SIGKILL)
    with pytest.raises((EOFError, ConnectionError)):
        while True:
            events.next()
    events.close()
    again = serve_on(machine, listen=f"127.0.0.1:{port}")
    back = Events(again, headers=f"Last-Event-ID: {last}\r\n")
    assert back.next()[0] == "overview"
    back.close()


# ------------------------------------------------------------------------------ beginning and ending


def test_term_drains_and_takes_the_socket_away(server):
    events = Events(server, over="unix")
    events.next()
    assert server.stop(signal.SIGTERM, timeout=6) == 0
    with pytest.raises(EOFError):
        while True:
            events.next()
    events.close()
    assert not os.path.exists(server.socket_path)


def test_term_lets_the_answer_on_its_way_arrive_whole(server):
    """To one who asked for many at once and reads late."""
    path = "/api/v1/openapi.json"
    whole = server.get(path).body
    with socket.socket() as late:
        late.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        late.settimeout(20)
        late.connect(("127.0.0.1", server.port))
        late.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 200)
        assert late.recv(1, socket.MSG_PEEK) == b"H"
        # The server is in the middle of an answer that no longer fits between the two. It waits, and no more comes.
        wait_until(lambda: sleeps(server.process.pid) and waiting_in(late) > 0, "both are full")
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not os.path.exists(server.socket_path), "it is ending")
        got = b""
        while piece := late.recv(65536):
            got += piece
    assert server.process.wait(10) == 0
    answers = 0
    while got:
        head, _, rest = got.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        assert rest.startswith(whole), f"answer {answers + 1} came in part: {len(rest)} of {len(whole)} bytes"
        got = rest[len(whole):]
        answers += 1
    assert 0 < answers < 200, "it was in the midst of them"


def test_a_second_server_is_told_who_serves(server, machine_of):
    done = machine_of("server-8xh100").run("serve", "--listen", "none", "--socket", server.socket_path)
    assert done.returncode == 1 and "another berth serve" in done.stderr
    done = machine_of("server-8xh100").run(
        "serve", "--listen", f"127.0.0.1:{server.port}", "--socket", "none")
    assert done.returncode == 1 and "listens there already" in done.stderr.lower()


def test_hup_reads_the_configuration_again(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    config = machine.directory / "serve.toml"
    config.write_text('[policy]\nothers = "public"\n', encoding="utf-8")
    server = serve_on(machine, "--config", config)
    assert any(d["users"] for d in server.get("/api/v1/overview").json["devices"])
    config.write_text('hosts = ["gpu1.lab"]\n[policy]\nothers = "owner"\n', encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: not any(d["users"] for d in server.get("/api/v1/overview").json["devices"]),
               "names are hidden")
    assert server.get("/healthz", {"Host": "gpu1.lab"}).status == 200
    config.write_text("policy = 1", encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.says("stays as it was"), "the mistake is said")
    assert server.get("/healthz").status == 200


def test_the_configuration_rules_history_and_pace(machine_of, serve_on):  # noqa: F811
    machine = machine_of("lab-4")
    config = machine.directory / "serve.toml"
    config.write_text('interval = "3s"\n[history]\nat_most = "3M"\n')
    server = serve_on(machine, "--config", str(config))
    wait_until(lambda: metric(server, "berth_history_limit_bytes"), "history is on the page")
    assert metric(server, "berth_history_limit_bytes") == 3 << 20
    assert metric(server, "berth_history_disk_free_bytes") > 0
    assert metric(server, "berth_look_interval_seconds") == 3
    config.write_text('interval = "1s"\n[history]\nat_most = "4M"\n')
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.says("has been read again"), "it reads again")
    assert server.says("kept as it was until a restart")
    assert metric(server, "berth_look_interval_seconds") == 1
    assert metric(server, "berth_history_limit_bytes") == 3 << 20


def test_no_history_is_kept_where_none_is_wanted(machine_of, serve_on):  # noqa: F811
    machine = machine_of("lab-4")
    config = machine.directory / "serve.toml"
    config.write_text("[history]\nkeep = false\n")
    server = serve_on(machine, "--config", str(config))
    assert server.get("/api/v1/usage?by=user").status == 503
    assert not list(machine.directory.rglob("history*.sqlite"))


def test_a_server_that_ends_takes_no_other_servers_socket_away(machine_of, serve_on):  # noqa: F811
    machine = machine_of("lab-4")
    first = serve_on(machine)
    os.unlink(first.socket_path)
    second = serve_on(machine, env={"XDG_STATE_HOME": str(machine.directory / "another")})
    assert second.socket_path == first.socket_path
    first.stop()
    assert second.get("/healthz", over="unix").status == 200
    second.stop()
    assert not os.path.exists(second.socket_path)


@pytest.mark.parametrize("addresses", ["127.0.0.1:0,[::1]:0", "127.0.0.1:0, localhost:0"])
def test_it_listens_at_each_address_it_is_given(machine_of, serve_on, addresses):  # noqa: F811
    server = serve_on(machine_of("lab-4"), listen=addresses, wait=False)
    wait_until(lambda: server.says("serving at /"), "it has said all its addresses")
    ports = [line.rpartition(":")[2] for line in server.said if "serving at http" in line]
    assert len(ports) == 2 and len(set(ports)) == 2, server.said
    for port, host in zip(ports, ("127.0.0.1", "[::1]" if "::1" in addresses else "localhost")):
        with urllib.request.urlopen(f"http://{host}:{port}/healthz", timeout=30) as answer:
            assert answer.status in (200, 503)


def test_root_reads_a_log_with_its_owners_rights_alone(machine_of, serve_on):  # noqa: F811
    """Root's groups open what the user may not read, and what the record says of its owner is not believed."""
    if os.geteuid() != 0:
        pytest.skip("needs root, which reads for others")
    alice, folder = 2001, pathlib.Path(tempfile.mkdtemp(prefix="berth-groups-"))
    folder.chmod(0o755)
    home, secret = folder / "home", folder / "secret"
    secret.write_text("secret of root's group\n")
    secret.chmod(0o640)
    machine = machine_of("lab-4")
    machine.run("run", "--quiet", "--", "true")
    [made] = (machine.directory / "state" / "berth" / "runs").glob("2*")
    keeper = json.loads((made / "manifest.json").read_text())["keeper"]["pid"]
    wait_until(lambda: not os.path.exists(f"/proc/{keeper}"), "its keeper has written all of it")
    hers = home / ".local" / "state" / "berth" / "runs" / made.name
    shutil.copytree(made, hers)
    manifest = json.loads((hers / "manifest.json").read_text())
    manifest |= {"log": str(secret), "uid": 2002, "user": "bob"}
    (hers / "manifest.json").write_text(json.dumps(manifest))
    for path in (home, *home.rglob("*")):
        os.chown(path, alice, alice)
    passwd = folder / "passwd"
    passwd.write_text(f"root:x:0:0::/root:/bin/sh\nalice:x:{alice}:{alice}::{home}:/bin/sh\n")
    bound = ["unshare", "--mount", "sh", "-c", f'mount --bind {passwd} /etc/passwd && exec "$@"', "sh"]
    in_root_group = ["setpriv", "--groups", "0"]
    server = subprocess.Popen(
        [*bound, *in_root_group, BERTH, "serve", "--listen", "127.0.0.1:0", "--socket", str(folder / "s")],
        env=machine.environment({"XDG_STATE_HOME": str(folder / "roots"), "BERTH_HOMES": ""}), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        [server.stderr.readline() for _ in range(2)]

        def ask(path):
            connection = UnixConnection(str(folder / "s"))
            connection.request("GET", path, headers={"Host": "localhost"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        wait_until(lambda: ask("/healthz")[0] == 200, "it looks")
        status, text = ask(f"/api/v1/runs/{made.name}/log")
        assert "secret of root" not in text, text
        assert status != 200, text
        [run] = json.loads(ask("/api/v1/runs")[1])["runs"]
        assert (run["uid"], run["user"]) == (alice, "alice")
    finally:
        server.terminate()
        server.communicate(timeout=30)
        shutil.rmtree(folder)


def test_a_simulated_server_never_answers_in_the_place_of_the_real_one():
    """Each at its usual socket, all for one ordinary user; root's would be this machine's own."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-sockets-"))
    berth = shutil.copy(BERTH, folder / "program")
    recording = folder / "recording.json"
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "LANG": "C.UTF-8",
           "BERTH_LEDGER": str(folder / "ledger")}
    somebody = [] if os.geteuid() else words_as(65534)
    for path in (folder, berth):
        os.chmod(path, 0o777)
    told = subprocess.run([*somebody, berth, "--sim", "lab-4", "status", "--json"], env=env, capture_output=True,
                          check=True)
    recording.write_bytes(told.stdout)
    recording.chmod(0o644)
    processes = []
    try:
        for words, name in (([], "serve"), (["--sim"], "serve-simulated"),
                            (["--replay", str(recording)], "serve-replayed")):
            process = subprocess.Popen([*somebody, berth, "serve", "--listen", "127.0.0.1:0", *words], env=env,
                                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            processes.append(process)
            said = [process.stderr.readline() for _ in range(2)]
            assert said[1] == f"berth: serving at {folder}/berth/{name}.sock\n"
        assert all(process.poll() is None for process in processes)
    finally:
        for process in processes:
            process.terminate()
            process.communicate(timeout=30)
        shutil.rmtree(folder)


def test_a_recording_is_served_as_one_and_kept_nowhere(machine_of, serve_on):  # noqa: F811
    machine = machine_of("lab-4")
    recording = machine.directory / "recording.json"
    recording.write_text(machine.run("status", "--json").stdout)
    state = machine.directory / "elsewhere"
    server = Server(machine, "--replay", str(recording), env={"BERTH_SIM": None, "XDG_STATE_HOME": str(state)})
    try:
        assert server.says("REPLAYED") and server.says("no history is kept of a recording")
        assert not list(state.rglob("history*.sqlite"))
        assert server.post("/api/v1/processes/1/signal", {"signal": "TERM"}).status in (403, 404, 503)
    finally:
        server.close()


def test_a_wide_door_stays_guarded_when_the_configuration_forgets_it(machine_of, serve_on):  # noqa: F811
    machine = machine_of("lab-4")
    config = machine.directory / "serve.toml"
    config.write_text("require_tokens = true\n")
    server = serve_on(machine, "--config", str(config), listen="0.0.0.0:0", wait=False)
    server.port = wait_until(
        lambda: next((int(line.rpartition(":")[2]) for line in server.said if "0.0.0.0" in line), None),
        "where it serves",
    )
    assert wait_until(lambda: server.get("/api/v1/overview"), "an answer").status == 401
    config.write_text("require_tokens = false\n")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.says("stays as it was"), "the mistake is said")
    assert server.get("/api/v1/overview").status == 401


def test_systemd_is_told(machine_of, serve_on, tmp_path):  # noqa: F811
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(path)
        systemd.settimeout(20)
        server = serve_on(machine_of("lab-4"), env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "3000000"})
        told = {systemd.recv(100), systemd.recv(100)}
        assert told == {b"READY=1", b"WATCHDOG=1"}
        server.process.send_signal(signal.SIGTERM)
        while systemd.recv(100) != b"STOPPING=1":
            pass
        assert server.process.wait(10) == 0


def test_a_hung_driver_stops_no_answer(driver_of, serve_on):  # noqa: F811
    server = serve_on(
        driver_of(scenario("server-8xh100"), faults="nvmlDeviceGetUtilizationRates@1=hang"), wait=False)
    server.wait()
    seen = server.get("/api/v1/overview").json
    assert len(seen["devices"]) == 8
    assert any("1" in (p["device"] or "") or p["code"] for p in seen["problems"]), seen["problems"]
    assert seen["unanswered_since_unix_ms"] is not None, "that something hangs is said"
    assert server.get("/healthz").status == 200


# ------------------------------------------------------------------------------------- the service


def test_the_unit_is_one_that_systemd_takes(machine, tmp_path):
    done = machine.run("service", "install", "--root", tmp_path / "image")
    assert done.returncode == 0, done.stderr
    unit = tmp_path / "image/etc/systemd/system/berth-serve.service"
    text = unit.read_text(encoding="utf-8")
    assert "Type=notify" in text and "ProtectSystem=strict" in text and "NoNewPrivileges=yes" in text
    assert "$ systemctl enable --now berth-serve.service" in done.stdout
    try:
        checked = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)],
                                 capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        pytest.skip("systemd-analyze is not installed")
    mistakes = [line for line in checked.stderr.splitlines() if "berth-serve.service" in line]
    assert not mistakes, checked.stderr
    machine.run("service", "uninstall", "--root", tmp_path / "image")
    assert not unit.exists()


@pytest.mark.parametrize("config", [None, "xdg"])
def test_a_users_own_service_is_in_his_own_files(machine, config):
    env = {"XDG_CONFIG_HOME": config and str(machine.directory / config)}
    unit = machine.directory / (config or ".config") / "systemd/user/berth-serve.service"
    shown = machine.run("service", "install", "--user", "--dry-run", env=env)
    assert shown.returncode == 0, shown.stderr
    title, _, rest = shown.stdout.partition("\n")
    text, _, commands = rest.partition("$ ")
    assert title == f"+ {unit} would be:" and "[Service]" in text and "User=" not in text
    assert commands.splitlines()[:3] == [
        "systemctl --user daemon-reload", "$ systemctl --user enable --now berth-serve.service", "= not run: --dry-run"]
    assert not unit.exists() and not list(machine.directory.rglob("*.service"))
    missing = machine.run("service", "status", "--user", env=env)
    assert missing.returncode == 1 and missing.stdout == f"= {unit} is not there\n"
    unit.parent.mkdir(parents=True)
    unit.write_text(text, encoding="utf-8")
    there = machine.run("service", "status", "--user", "--dry-run", env=env)
    assert there.returncode == 0 and there.stdout.startswith(f"= {unit}\n$ systemctl --user show "), there.stdout


def test_the_machines_service_is_in_the_machines_files(machine, tmp_path):
    unit = tmp_path / "etc/systemd/system/berth-serve.service"
    assert machine.run("service", "status", "--root", tmp_path).stdout == f"= {unit} is not there\n"
    shown = machine.run("service", "install", "--dry-run", "--root", tmp_path)
    assert shown.returncode == 0 and shown.stdout.startswith(f"+ {unit} would be:\n")
    assert "$ systemctl daemon-reload\n" in shown.stdout and not unit.exists()


def test_another_units_file_is_left_alone(machine, tmp_path):
    unit = tmp_path / "image/etc/systemd/system/berth-serve.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n", encoding="utf-8")
    for action in ("install", "uninstall"):
        assert machine.run("service", action, "--root", tmp_path / "image").returncode == 1
    assert "/bin/true" in unit.read_text(encoding="utf-8")


def test_the_snippet_for_nginx_works(server, tmp_path):
    """doc/SERVING.md's, with other ports, behind a real nginx."""
    from shutil import which  # pylint: disable=import-outside-toplevel

    nginx = which("nginx") or which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("nginx is not installed")
    text = (ROOT / "doc/SERVING.md").read_text(encoding="utf-8")
    snippet = text.split("```nginx\n")[1].split("```")[0]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    openssl("req", "-x509", "-subj", "/CN=localhost", "-days", "2", "-nodes", "-newkey", "rsa:2048",
            "-keyout", "k.pem", "-out", "c.pem", "-addext", "subjectAltName=DNS:localhost", cwd=tmp_path)
    for old, new in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl", "gpu1.example": "localhost",
        "/etc/ssl/berth.pem": str(tmp_path / "c.pem"), "/etc/ssl/berth.key": str(tmp_path / "k.pem"),
        "127.0.0.1:9700": f"127.0.0.1:{server.port}",
    }.items():
        assert old in snippet, old
        snippet = snippet.replace(old, new)
    temporary = "".join(f"{kind}_temp_path {tmp_path};" for kind in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; user root;"
        f"events {{}} http {{ access_log off; {temporary} {snippet} }}", encoding="utf-8")
    proxy = subprocess.Popen([nginx, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")])
    try:
        def ask(path, *more):
            return subprocess.run(
                ["curl", "-sN", "--cacert", str(tmp_path / "c.pem"), "--max-time", "5", *more,
                 f"https://localhost:{port}{path}"], capture_output=True, text=True, check=False)

        wait_until(lambda: ask("/healthz").stdout == '{"ok":true}\n', "nginx answers")
        events = ask("/api/v1/events").stdout
        assert events.count("event: overview") >= 3, "events are not kept back"
        assert ask("/healthz", "-H", f"Origin: https://localhost:{port}").stdout == '{"ok":true}\n'
    finally:
        proxy.terminate()
        proxy.wait(10)
