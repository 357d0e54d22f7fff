"""Looks of a `berth serve` on this machine: what they know, and which server's are taken."""

import os
import signal
import subprocess

import pytest

from conftest import E2E, PYTHON, wait_until

NO_HELPER = {"BERTH_HELPER": "/nonexistent"}


@pytest.fixture
def served(desk):
    """The desk with a `berth serve` that has looked."""
    path = desk.directory / "serve.sock"
    desk.server = desk.start("serve", "--listen", "none", "--socket", path)
    desk.env |= {"BERTH_SERVE_SOCKET": str(path)}
    wait_until(path.exists, "the server is there")
    count = "import berth; print(len(berth.look(max_age=60).devices))"
    wait_until(lambda: desk.python(count, env=NO_HELPER, code_wanted=None) == "8\n", "the server has looked")
    yield desk
    E2E.end(desk.server)


def test_its_look_has_what_this_process_sees_of_it_without_a_helper(served):
    told = served.told(
        """
        def shown(**how):
            return [[d.index, d.ordinal] for d in berth.devices(**how) if d.ordinal is not None]
        seen = [shown()]
        os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        for one in ("5,2", "", "GPU-nobody", "7"):
            os.environ["CUDA_VISIBLE_DEVICES"] = one
            seen.append([shown(), shown(visible=True)])
        print(json.dumps(seen))
        """,
        env=NO_HELPER,
    )
    assert told[0] == [[index, index] for index in range(8)]
    assert told[1:] == [[[[2, 1], [5, 0]], [[5, 0], [2, 1]]], [[], []], [[], []], [[[7, 0]], [[7, 0]]]]


def test_what_only_cuda_knows_is_not_guessed(desk_of):
    """If cards differ 0 is the fastest, whichever that is."""
    desk = desk_of("lab-4")
    path = desk.directory / "serve.sock"
    server = desk.start("serve", "--listen", "none", "--socket", path)
    desk.env |= {"BERTH_SERVE_SOCKET": str(path)}
    ask = "import berth; print([d.ordinal for d in berth.look(max_age=60).devices])"
    try:
        said = lambda: desk.python(ask, env=NO_HELPER | {"CUDA_VISIBLE_DEVICES": "0"}, code_wanted=None)
        assert wait_until(said, "the server has looked") == "[None, None, None, None]\n"
    finally:
        E2E.end(server)


def test_a_connection_to_the_server_is_made_in_one_place(served):
    """Jupyter's extension asks over it."""
    told = served.told(
        """
        import ctypes, socket
        from berth import _abi
        from berth._context import Context
        descriptor = ctypes.c_int(-1)
        with Context.borrowed(_abi.FROM_SERVE) as context:
            _abi.call("berth_serve_connect", context.handle, ctypes.byref(descriptor))
        how = os.get_blocking(descriptor.value), os.get_inheritable(descriptor.value)
        with socket.socket(fileno=descriptor.value) as link:
            link.settimeout(10)
            link.sendall(b"GET /api/v1/openapi.json HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
            print(json.dumps([*how, link.recv(12).decode()]))
        """
    )
    assert told == [False, False, "HTTP/1.1 200"]


STAND_IN = """
import os, socketserver, sys, time
place, uid, age_ms, simulated, knows_more, answer = sys.argv[1:]

class Server(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            while self.rfile.readline().strip(): pass
            known = b"/gpu-status" in line or knows_more == "yes" and b"/api/v1/visible-devices" in line
            taken = int(time.time() * 1000) - int(age_ms)
            body = b'{"devices":[{"id":"GPU-theirs","index":0}],"taken_unix_ms":%d,"simulated":"%s"}' % (taken, simulated.encode())
            if b"visible" in line: body = answer.encode() if answer else b'{"numbers":{"GPU-theirs":0},"remarks":[]}'
            self.wfile.write(b"HTTP/1.1 %s\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (b"200 OK" if known else b"404 Not Found", len(body), body))

os.setuid(int(uid))
server = socketserver.ThreadingUnixStreamServer(place, Server)
print(flush=True)
server.serve_forever()
"""


@pytest.fixture
def stand_in(desk):
    """stand_in(…): another server than berth's at the socket."""
    begun = []

    def start(uid=None, age_ms=0, simulated="server-8xh100", knows_more="yes", answer=""):
        folder = desk.directory / "theirs"
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
        for parent in folder.parents[:4]:
            if parent.stat().st_uid == os.geteuid():
                parent.chmod(parent.stat().st_mode | 0o011)
        place = folder / "serve.sock"
        words = map(str, (place, os.geteuid() if uid is None else uid, age_ms, simulated, knows_more, answer))
        begun.append(subprocess.Popen([PYTHON, "-c", STAND_IN, *words], stdout=subprocess.PIPE, text=True))
        assert begun[-1].stdout.readline(), "it listens"
        desk.env |= {"BERTH_SERVE_SOCKET": str(place)}

    yield start
    for one in begun:
        one.kill()
        one.communicate()


COUNT = "print(json.dumps([[d.id, d.ordinal] for d in berth.look().devices][:1]))"


def test_one_that_is_trusted_and_fresh_is_asked(desk, stand_in):
    stand_in()
    assert desk.told(COUNT, env=NO_HELPER) == [["GPU-theirs", 0]]


@pytest.mark.parametrize(
    "how",
    [{"age_ms": 2500}, {"age_ms": -60_000}, {"simulated": "lab-4"}, {"knows_more": "no"}, {"uid": 65534}],
    ids=["old", "of tomorrow", "another machine's", "of an older berth", "a stranger's"],
)
def test_any_other_is_passed_over_and_the_helper_asked(desk, stand_in, how):
    if how.get("uid") and os.geteuid() != 0:
        pytest.skip("needs root: another user has the socket")
    stand_in(**how)
    [[device, ordinal]] = desk.told(COUNT)
    assert device != "GPU-theirs" and ordinal == 0


@pytest.mark.parametrize(
    "answer",
    ["[" * 100_000, "nonsense", '{"devices":{"a":1}}', '{"devices":"x"}', "[]"],
    ids=["deep", "no JSON", "an object", "a text", "no object"],
)
def test_an_answer_that_makes_no_sense_numbers_nothing(desk, stand_in, answer):
    stand_in(answer=answer)
    told = desk.told(COUNT)
    assert told[0][0] != "GPU-theirs" or told[0][1] is None


def test_one_that_stands_still_is_given_up(served):
    served.server.send_signal(signal.SIGSTOP)
    try:
        # It would be waited for until it goes on, which is when this is over.
        count = served.told("""
            berth.look(max_age=0)
            print(len(berth.look().devices))
        """)
        assert count == 8
    finally:
        served.server.send_signal(signal.SIGCONT)
