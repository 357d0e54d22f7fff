"""What strangers do to `berth serve`: malformed requests, huge ones, slow ones, thousands at once."""

import contextlib
import os
import random
import re
import resource
import signal
import socket
import ssl
import time

import pytest
from conftest import ends_within_patience, wait_until
from serving import Events, descriptors_of, openssl, resident_bytes
from serving import serve_on  # noqa: F401  pylint: disable=unused-import

def unix_connection(server):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(server.socket_path)
    return connection


GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def server(machine_of, serve_on):  # noqa: F811
    return serve_on(machine_of("server-8xh100"))


@pytest.mark.parametrize(
    "sent, status",
    [
        (b"hello\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), 400),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /a%00b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 421),
        (GET + b"Host: localhost\r\n\r\n", 400),
        (GET + b"X: " + b"y" * 20000 + b"\r\n\r\n", 431),
        (GET + b"".join(b"X-%d: y\r\n" % n for n in range(3000)) + b"\r\n", 431),
        (GET + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
        (GET + b"Content-Length: -1\r\n\r\n", 400),
        (GET + b"Transfer-Encoding: xchunked\r\n\r\n", 501),
        (GET + b"Transfer-Encoding: chunked, identity\r\n\r\n", 501),
        (GET + b"Transfer-Encoding:\r\n\r\n", 501),
        (b"POST /api/v1/compose HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"PUT /api/v1/overview HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET /no/such HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    ],
)
def test_malformed_requests_are_answered_as_that(server, sent, status):
    answer = server.tell(sent)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert b"content-security-policy" in answer
    assert server.get("/healthz").status == 200


def test_names_of_the_request_come_back_as_json_alone(server):
    answer = server.get("/%3Cscript%3Ealert(1)%3C/script%3E")
    assert answer.status == 404 and answer.headers["content-type"] == "application/json"


def test_several_requests_in_one_piece_are_answered_in_order(server):
    both = GET + b"\r\n" + b"GET /no/such HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = server.tell(both)
    assert answer.index(b"HTTP/1.1 200") < answer.index(b"HTTP/1.1 404")


def test_what_may_be_a_body_is_never_the_next_request(server):
    answer = server.tell(GET + b"Transfer-Encoding: xchunked\r\n\r\n" + GET + b"Connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1 and answer.startswith(b"HTTP/1.1 501 "), answer[:400]


def test_slow_senders_are_dropped(server):
    began = time.monotonic()
    with ends_within_patience("each byte earns a slow sender more time"), server.raw() as slow:
        slow.settimeout(0.2)
        sent = 0
        while time.monotonic() - began < 60:
            try:
                slow.sendall(b"G" if sent == 0 else b"E")
                sent += 1
                if slow.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
    took = time.monotonic() - began
    assert took > 8, f"dropped after {took:.1f} s, {sent} bytes"


def test_a_thousand_idle_connections_keep_nobody_waiting(server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1300:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, hard), hard))
    before = resident_bytes(server.process.pid)
    idle = []
    try:
        for number in range(1000):
            connection = server.raw()
            if number % 2:
                connection.sendall(b"GET /hea")  # half a request
            idle.append(connection)
        for _ in range(20):
            assert server.get("/api/v1/overview").status == 200
        assert descriptors_of(server) > 1000, "it answered once the idle ones were dropped"
        grown = resident_bytes(server.process.pid) - before
        assert grown < 64 << 20, f"{grown / 1000:.0f} bytes per connection"
    finally:
        for connection in idle:
            connection.close()
    assert server.get("/healthz").status == 200


def few_descriptors():
    # 256 are the server's own: 64 connections are left, 8 of them the socket's.
    resource.setrlimit(resource.RLIMIT_NOFILE, (320, 320))


def test_without_a_descriptor_left_it_hears_signals_all_the_same(machine_of, serve_on):  # noqa: F811
    machine = machine_of("lab-4")
    settings = machine.directory / "serve.toml"
    settings.write_text("")
    server = serve_on(machine, "--config", settings)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    # The first is still waited for with a number of before; after it there is none to wait with.
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.says("the configuration stays as it was"), "it cannot read it again")
    assert server.stop(signal.SIGTERM, timeout=60) == 0, server.said


@pytest.mark.parametrize("sent", [b"GET /hea", b""], ids=["half a request", "nothing"])
def test_who_fills_every_place_keeps_nobody_out(machine_of, serve_on, sent):  # noqa: F811
    server = serve_on(machine_of("lab-4"), preexec_fn=few_descriptors)
    polite = server.raw()
    crowd = []
    try:
        polite.sendall(GET + b"\r\n")
        assert polite.recv(4096).startswith(b"HTTP/1.1 200")
        for over in (server.raw, lambda: unix_connection(server)):
            for _ in range(90):
                crowd.append(over())
                crowd[-1].sendall(sent)
        for over in ("tcp", "unix"):
            for _ in range(10):
                assert server.get("/healthz", over=over).status == 200, over
        # A client that came before the crowd, and kept few waiting, has kept its place.
        polite.sendall(GET + b"\r\n")
        assert polite.recv(4096).startswith(b"HTTP/1.1 200")
        wait_until(lambda: server.says("connections at once"), "the log says so")
        [line] = [line for line in server.said if "connections at once" in line]
        # By the door whose crowd was met first. One or two that asked before may not have gone yet.
        full = r"(56 connections at once: 5[345] of 127\.0\.0\.1|8 connections at once: [678] of uid \d+)"
        assert re.search(full + " have sent no whole request", line), line
        assert server.process.poll() is None
    finally:
        for connection in (polite, *crowd):
            connection.close()
    assert server.get("/healthz").status == 200


def test_the_socket_has_places_of_its_own(machine_of, serve_on):  # noqa: F811
    server = serve_on(machine_of("lab-4"), preexec_fn=few_descriptors)
    readers = [Events(server) for _ in range(56)]
    try:
        with server.raw() as late:  # all are being answered
            late.sendall(GET + b"\r\n")
            with contextlib.suppress(ConnectionResetError):
                assert late.recv(100) == b""
        wait_until(lambda: server.says("56 connections at once: all are being answered"), "the log says so")
        assert server.get("/healthz", over="unix").status == 200
    finally:
        for reader in readers:
            reader.close()


def test_the_longest_idle_makes_room(machine_of, serve_on):  # noqa: F811
    server = serve_on(machine_of("lab-4"), preexec_fn=few_descriptors)
    idle = []
    try:
        for _ in range(60):
            idle.append(server.raw())
            idle[-1].sendall(GET + b"\r\n")
            assert idle[-1].recv(4096).startswith(b"HTTP/1.1 200")
        assert idle[0].recv(100) == b"" and idle[3].recv(100) == b""
        idle[-1].sendall(GET + b"\r\n")
        assert idle[-1].recv(4096).startswith(b"HTTP/1.1 200")
        closed = "56 connections at once: those that have idled longest are closed"
        wait_until(lambda: server.says(closed), "the log says so")
    finally:
        for connection in idle:
            connection.close()


def test_a_reader_of_events_who_reads_nothing_costs_nothing(server):
    deaf = [Events(server) for _ in range(20)]
    before = resident_bytes(server.process.pid)
    heard = Events(server)
    try:
        for _ in range(6):
            heard.next()
        assert resident_bytes(server.process.pid) - before < 16 << 20
        # A reader that wakes up is told the state of now, after what was on its way already.
        late = deaf[0]
        newest = heard.next()[2]["sequence"]
        wait_until(lambda: late.next()[2]["sequence"] >= newest, "he is up to date")
    finally:
        for reader in (*deaf, heard):
            reader.close()
    assert server.get("/healthz").status == 200


def test_connections_cut_off_anywhere_leave_nothing_behind(server):
    request = GET + b"Accept-Encoding: gzip\r\n\r\n"
    for cut in range(0, len(request), 3):
        with server.raw() as connection:
            connection.sendall(request[:cut])
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server.socket_path)
        connection.sendall(b"GET /gpu-status HTTP/1.1\r\nHost: localhost\r\n\r\n")
    folder = f"/proc/{server.process.pid}/fd"
    wait_until(lambda: len(os.listdir(folder)) < 40, f"their descriptors are closed: {len(os.listdir(folder))}")
    assert server.get("/healthz").status == 200


# ------------------------------------------------------------------------------- hundreds of each


def client_hello():
    """What a client's first word in TLS is."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


class Strangers:
    """Connections of people who send something and may read nothing, and what the log says since the first."""

    def __init__(self, server):
        self.server = server
        wait_until(lambda: server.says("SIMULATED"), "it has said all of its beginning", 20)
        self.quiet = len(server.said)
        self.descriptors = descriptors_of(server)
        self.began = time.monotonic()
        self.open = []

    def send(self, sent):
        connection = self.server.raw()
        self.open.append(connection)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)

    def leave(self):
        for connection in self.open:
            connection.close()
        self.open.clear()

    def are_forgotten(self):
        # The server's own files are opened meanwhile.
        wait_until(lambda: descriptors_of(self.server) < self.descriptors + 8, "their descriptors are closed", 30)

    def are_told_of_once(self, what):
        """Once a minute, to be exact."""
        lines = wait_until(lambda: self.server.said[self.quiet:], f"the log says: {what}", 20)
        minutes = (time.monotonic() - self.began) // 60
        assert len(lines) <= 1 + minutes, lines
        assert all(what in line for line in lines), lines


@pytest.fixture
def with_tls(machine_of, serve_on, tmp_path):  # noqa: F811
    openssl("req", "-x509", "-subj", "/CN=localhost", "-days", "2", "-nodes", "-newkey", "rsa:2048",
            "-keyout", "k.pem", "-out", "c.pem", "-addext", "subjectAltName=IP:127.0.0.1", cwd=tmp_path)
    server = serve_on(machine_of("lab-4"), "--tokens", "--tls-cert", tmp_path / "c.pem", "--tls-key",
                      tmp_path / "k.pem", listen="0.0.0.0:0", wait=False)
    found = wait_until(lambda: re.search(r"https://\S+:(\d+)", "\n".join(server.said)), "where it serves", 20)
    server.port = int(found[1])
    wait_until(lambda: os.path.exists(server.socket_path) and server.get("/healthz", over="unix").status == 200,
               "the first look", 20)
    trust = ssl.create_default_context(cafile=str(tmp_path / "c.pem"))

    def ask():
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
            with trust.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                return secure.recv(4096)

    server.ask_with_tls = ask
    return server


def test_rubbish_where_tls_is_spoken_keeps_nobody_out_and_fills_no_log(with_tls):
    server, chance, hello = with_tls, random.Random(20261122), client_hello()
    assert len(hello) > 100
    rubbish = {
        "random bytes": [chance.randbytes(1 + n * 7) for n in range(100)],
        "a first word that is cut off": [hello[: 1 + n * (len(hello) - 2) // 99] for n in range(100)],
        "HTTP without TLS": [b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"] * 100,
    }
    for _ in range(3):
        assert server.ask_with_tls().startswith(b"HTTP/1.1 200 ")
    strangers = Strangers(server)
    try:
        for kind, pieces in rubbish.items():
            for number, piece in enumerate(pieces, 1):
                strangers.send(piece)
                if number % 20 == 0:
                    assert server.ask_with_tls().startswith(b"HTTP/1.1 200 "), f"beside {number} with {kind}"
                    assert server.get("/healthz", over="unix").status == 200
            strangers.leave()
            strangers.are_forgotten()
        strangers.are_told_of_once("no TLS from 127.0.0.1")
    finally:
        strangers.leave()


def test_hundreds_of_malformed_requests_are_one_line_of_the_log(server):
    malformed = [b"hello\r\n\r\n", b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
                 b"\x16\x03\x01\x02\x00\x01" + bytes(50), GET + b"X: " + b"y" * 20000 + b"\r\n\r\n"]
    strangers = Strangers(server)
    try:
        for number in range(1, 101):
            strangers.send(malformed[number % 4])
            if number % 20 == 0:
                assert server.get("/healthz").status == 200
        # Each is answered before it leaves, so each was one.
        for connection in strangers.open:
            assert connection.recv(12) in (b"HTTP/1.1 400", b"HTTP/1.1 431")
        strangers.leave()
        strangers.are_forgotten()
        strangers.are_told_of_once("a request that is no HTTP, or too large, from 127.0.0.1")
    finally:
        strangers.leave()
