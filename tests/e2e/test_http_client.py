"""What other servers can do to a request of berth's own: it ends, in time, with a reason."""

import contextlib
import gzip
import json
import socket
import ssl
import subprocess
import threading
import time

import pytest
from conftest import BUILD
from serving import openssl

OF_ALL = 40_000  # milliseconds for a whole answer: who waits for them has not noticed what ends earlier
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


def ask(url, *words):
    """The answers of ask_url, one for each request it made."""
    done = subprocess.run(
        [str(BUILD / "ask_url"), url, *map(str, words)], capture_output=True, text=True, timeout=60, check=True
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines if "times" in words else lines[0]


@contextlib.contextmanager
def server(behave, family=socket.AF_INET, address=("127.0.0.1", 0), tls=None):
    """A server that does `behave(connection, request)` with each connection; gives its address."""
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen(64)
    ended = threading.Event()

    def serve(connection):
        with contextlib.suppress(OSError), connection:
            connection.settimeout(20)
            if tls:
                connection = tls.wrap_socket(connection, server_side=True)
            request = connection.recv(65536) if behave.__name__ != "before_asking" else b""
            behave(connection, request)
            connection.shutdown(socket.SHUT_WR)
            ended.wait(0.05)
            connection.close()

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname() if family == socket.AF_UNIX else f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def says(bytes_sent):
    def behave(connection, _):
        connection.sendall(bytes_sent)

    return behave


def until_it_leaves(connection, _=None):
    while connection.recv(65536):
        pass


def for_ever(begin, again, pause=0.0):
    def behave(connection, _):
        connection.sendall(begin)
        while True:
            connection.sendall(again)
            time.sleep(pause)

    return behave


def test_it_asks_once_and_says_who_it_is():
    seen = []

    def behave(connection, request):
        seen.append(request.decode())
        connection.sendall(OK)

    with server(behave) as at:
        answer = ask(f"http://{at}/api/v1/overview?a=b", "header", "if-none-match:\"x\"")
    assert answer["status"] == 200 and answer["body"] == "{}"
    (request,) = seen
    assert request.startswith("GET /api/v1/overview?a=b HTTP/1.1\r\n")
    assert f"host: {at}\r\n" in request and 'if-none-match: "x"\r\n' in request
    assert "user-agent: berth/" in request and "connection: close\r\n" in request


def test_what_it_posts_arrives_whole():
    seen = []

    def behave(connection, request):
        while not request.endswith(b"!"):
            request += connection.recv(65536)
        seen.append(request)
        connection.sendall(OK)

    body = "x" * 100_000 + "!"
    with server(behave) as at:
        assert ask(f"http://{at}/hook", "post", body)["status"] == 200
    assert seen[0].endswith(body.encode()) and b"content-length: 100001\r\n" in seen[0]


def test_a_unix_socket_is_asked_like_an_address(tmp_path):
    path = str(tmp_path / "s")
    with server(says(OK), socket.AF_UNIX, path):
        assert ask(f"unix:{path}:/healthz")["status"] == 200
    assert ask(f"unix:{tmp_path}/none:/healthz")["code"] == "io"


def test_redirects_are_answers_like_others():
    with server(says(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")) as at:
        answer = ask(f"http://{at}/")
    assert answer["status"] == 302 and answer["headers"]["location"] == "http://127.0.0.1:1/"


BAD = {
    "nothing": (says(b""), "io", "the connection was closed without an answer"),
    "rubbish": (says(b"\x00\xff\x15\x03rubbish\r\n\r\n"), "invalid", "the answer is no HTTP"),
    "ssh": (says(b"SSH-2.0-OpenSSH_9.2\r\n"), "invalid", "the answer is no HTTP"),
    "headers without end": (
        for_ever(b"HTTP/1.1 200 OK\r\n", b"a: " + b"x" * 100 + b"\r\n"), "invalid",
        "the headers of the answer are larger than 16 KiB"),
    "a body without end": (
        for_ever(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536), "invalid", "the answer is larger than"),
    "chunks without end": (
        for_ever(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10_000), "invalid",
        "the answer is larger than"),
    "a length that is not kept": (
        says(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"), "invalid", "the answer was cut off"),
    "a length that is none": (
        says(b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nabc"), "invalid", "the answer is no HTTP"),
    "a length too large": (
        says(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\nabc"), "invalid",
        "the answer is larger than"),
    "a bomb": (
        says(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + gzip.compress(b"\0" * 200_000_000)),
        "invalid", "the answer is larger than"),
    "bytes one by one": (for_ever(b"HTTP/1.1 200 OK\r\n\r\n", b"x", 0.05), "timeout", "does not answer"),
    "silence": (until_it_leaves, "timeout", "does not answer within 0.7 s"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_answer_ends_in_time_with_a_reason(what):
    behave, code, reason = BAD[what]
    with server(behave) as at:
        patience = 700 if code == "timeout" else 10_000
        answer = ask(f"http://{at}/", "all", patience, "bytes", 100_000)
    assert (answer.get("code"), reason in answer.get("error", "")) == (code, True), answer
    assert at in answer["error"] and answer["ms"] < OF_ALL / 2


def test_nobody_there_and_nobody_known_are_told_apart():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    refused = ask(f"http://127.0.0.1:{port}/")
    assert refused["code"] == "io" and "Connection refused" in refused["error"]
    unknown = ask("http://no-such-host.invalid/", "all", 20_000)
    assert unknown["code"] in ("not found", "timeout") and "no-such-host.invalid" in unknown["error"]


def test_a_listener_that_takes_nobody_in_costs_only_the_time_to_connect():
    with socket.socket() as deaf, contextlib.ExitStack() as held:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(3):  # its queue is full from here on
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(deaf.getsockname())
        answer = ask(f"http://127.0.0.1:{deaf.getsockname()[1]}/", "connect", 300, "all", OF_ALL)
    assert answer["code"] == "timeout" and 250 < answer["ms"] < OF_ALL / 2, answer


def test_a_header_cannot_smuggle_in_another():
    with server(says(OK)) as at:
        answer = ask(f"http://{at}/", "header", "x-a:b\r\nx-c: d")
    assert answer["code"] == "invalid" and "more than one line" in answer["error"]


def test_sixty_at_once_do_not_wait_for_each_other():
    all_are_there = threading.Barrier(60)

    def behave(connection, _):
        all_are_there.wait(30)
        connection.sendall(OK)

    with server(behave) as at:
        answers = ask(f"http://{at}/", "times", 60, "all", 40_000)
    assert [one["status"] for one in answers] == [200] * 60


# ------------------------------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """An authority, a certificate by it for localhost and 127.0.0.1, one for another name, one by nobody."""
    at = tmp_path_factory.mktemp("keys")

    def authority(name):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", cwd=at)  # fmt: skip

    def certificate(name, by, names):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                "-out", f"{name}.csr", "-subj", f"/CN={name}", cwd=at)  # fmt: skip
        (at / f"{name}.ext").write_text(f"subjectAltName={names}\n", encoding="ascii")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial",
                "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem", cwd=at)  # fmt: skip

    authority("ca")
    authority("stranger")
    certificate("server", "ca", "DNS:localhost,IP:127.0.0.1")
    certificate("other", "ca", "DNS:elsewhere.example")
    certificate("client", "ca", "DNS:client")
    return at


def context(keys, name, client_ca=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(keys / f"{name}.pem", keys / f"{name}.key")
    if client_ca:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(keys / f"{client_ca}.pem")
    return made


def test_a_certificate_is_checked_against_authority_and_name(keys):
    with server(says(OK), tls=context(keys, "server")) as at:
        trusted = ask(f"https://{at}/", "ca", keys / "ca.pem")
        by_name = ask(f"https://localhost:{at.rpartition(':')[2]}/", "ca", keys / "ca.pem")
        by_another = ask(f"https://{at}/", "ca", keys / "stranger.pem")
        by_the_system = ask(f"https://{at}/")
    assert trusted.get("status") == 200, trusted
    assert by_name.get("status") == 200, by_name
    for refused in (by_another, by_the_system):
        assert refused["code"] == "no permission" and "is not trusted" in refused["error"], refused
    with server(says(OK), tls=context(keys, "other")) as at:
        misnamed = ask(f"https://{at}/", "ca", keys / "ca.pem")
    assert misnamed["code"] == "no permission" and "mismatch" in misnamed["error"], misnamed


def test_who_wants_a_certificate_of_ours_gets_it(keys):
    with server(says(OK), tls=context(keys, "server", client_ca="ca")) as at:
        known = ask(f"https://{at}/", "ca", keys / "ca.pem",
                    "certificate", keys / "client.pem", "key", keys / "client.key")  # fmt: skip
        unknown = ask(f"https://{at}/", "ca", keys / "ca.pem")
    assert known.get("status") == 200, known
    assert unknown["code"] in ("io", "unsupported"), unknown


def before_asking(connection, _):
    connection.sendall(b"\x16\x03\x01\xff\xff" + b"\x00" * 200)
    until_it_leaves(connection)


def test_rubbish_instead_of_tls_is_refused(keys):
    with server(before_asking) as at:
        answer = ask(f"https://{at}/", "ca", keys / "ca.pem", "all", 3000)
    assert answer["code"] == "unsupported" and "speaks no TLS" in answer["error"], answer


def test_plain_http_behind_https_is_refused(keys):
    with server(says(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as at:
        answer = ask(f"https://{at}/", "ca", keys / "ca.pem")
    assert answer["code"] == "unsupported", answer


def test_a_greeting_that_never_comes_ends_with_the_time_to_connect(keys):
    with server(until_it_leaves) as at:
        answer = ask(f"https://{at}/", "ca", keys / "ca.pem", "connect", 300, "all", OF_ALL)
    assert answer["code"] == "timeout" and answer["ms"] < OF_ALL / 2, answer


def test_an_answer_cut_off_under_tls_is_no_answer(keys):
    def behave(connection, _):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        connection._sslobj = None  # the bytes below go out without a goodbye
        socket.socket.shutdown(connection, socket.SHUT_RDWR)

    with server(behave, tls=context(keys, "server")) as at:
        answer = ask(f"https://{at}/", "ca", keys / "ca.pem")
    assert answer["code"] == "io", answer


def test_certificates_that_are_no_files_are_named(tmp_path):
    missing = tmp_path / "none.pem"
    answer = ask("https://127.0.0.1:1/", "ca", missing)
    assert answer["code"] == "invalid" and str(missing) in answer["error"]
