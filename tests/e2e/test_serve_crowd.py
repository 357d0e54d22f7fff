"""More connections at once than `berth serve` has places for. An honest client is answered, and the crowd has no more
than its places. Neither memory nor the log grows with it."""

import contextlib
import http.client
import re
import resource
import socket

import pytest
from conftest import wait_until
from serving import UnixConnection, descriptors_of
from serving import serve_on  # noqa: F401  pylint: disable=unused-import

PLACES = 4096
AT_SOCKET = PLACES // 8
AT_ADDRESSES = PLACES - AT_SOCKET
CROWD = PLACES + 500
# A connection of the test's, one of the server's, and what else both have open.
WANTED = CROWD + 400
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < WANTED:
        pytest.skip(f"needs {WANTED} descriptors, {hard} may be had (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, WANTED), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def most_resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) * 1024


def answered_from(address, server):
    """The status that somebody at this address of loopback is answered with."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60, source_address=(address, 0))
    with contextlib.closing(connection):
        connection.request("GET", "/api/v1/overview", headers={"Host": "localhost"})
        answer = connection.getresponse()
        answer.read()
        return answer.status


def is_closed(connection):
    """Whether the server has closed it; what it has answered is passed over."""
    try:
        connection.setblocking(False)
        while connection.recv(65536):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def crowd_at(server, count, sent, crowd):
    for number in range(count):
        source = f"127.0.0.{2 + number % 20}"
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60, source_address=(source, 0))
        crowd.append(connection)
        with contextlib.suppress(OSError):  # it may have made room already
            connection.sendall(sent)


@pytest.mark.usefixtures("descriptors")
@pytest.mark.parametrize("sent", [b"", GET], ids=["nothing", "a request each"])
def test_more_than_it_has_places_for_are_dropped_and_others_served(machine_of, serve_on, sent):  # noqa: F811
    server = serve_on(machine_of("lab-4"))
    before, said_before = most_resident_bytes(server.process.pid), len(server.said)
    crowd = []
    try:
        for part in range(4):
            crowd_at(server, CROWD // 4, sent, crowd)
            assert answered_from("127.0.0.200", server) == 200, f"after {len(crowd)} connections"
            assert server.get("/healthz", over="unix").status == 200
            assert server.process.poll() is None, part
        left = wait_until(lambda: (still := sum(not is_closed(one) for one in crowd)) <= AT_ADDRESSES and still,
                          "those beyond its places are dropped", 60)
        assert left >= AT_ADDRESSES - 10, "no more than have to make room"
        assert descriptors_of(server) <= PLACES + 256
        wait_until(lambda: server.says(f"{AT_ADDRESSES} connections at once"), "the log says so", 20)
        grown = most_resident_bytes(server.process.pid) - before
        assert grown < 64 << 20, f"{grown / AT_ADDRESSES:.0f} bytes per connection"
        news = server.said[said_before:]
        assert len(news) <= 5, f"a line says it for all: {news[:10]}"
    finally:
        for connection in crowd:
            connection.close()
    wait_until(lambda: descriptors_of(server) < 60, "their places are free again", 60)
    assert answered_from("127.0.0.200", server) == 200


@pytest.mark.usefixtures("descriptors")
def test_who_fills_the_unix_socket_keeps_nobody_from_the_addresses(machine_of, serve_on):  # noqa: F811
    server = serve_on(machine_of("lab-4"))
    crowd = []
    try:
        for number in range(AT_SOCKET + 200):
            connection = UnixConnection(server.socket_path)
            crowd.append(connection)
            connection.connect()
            if number % 100 == 0:
                assert answered_from("127.0.0.200", server) == 200
                assert server.get("/healthz", over="unix").status == 200
        wait_until(lambda: sum(not is_closed(one.sock) for one in crowd) <= AT_SOCKET, "the oldest make room", 60)
        assert descriptors_of(server) <= AT_SOCKET + 256
        assert server.get("/healthz", over="unix").status == 200
    finally:
        for connection in crowd:
            connection.close()
    assert answered_from("127.0.0.200", server) == 200
