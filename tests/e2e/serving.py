"""What the tests of `berth serve` share: the server under test, and HTTP spoken byte by byte."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest
from conftest import end, wait_until


def closed(schema, document):
    """The same, but that an object has no members besides those that it names; `allOf` is one object."""
    if isinstance(schema, list):
        return [closed(one, document) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "allOf" in schema:
        parts = [document["components"]["schemas"][one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one
                 for one in schema["allOf"]]
        whole = {"type": "object", "required": [name for part in parts for name in part["required"]],
                 "properties": {name: one for part in parts for name, one in part["properties"].items()}}
        schema = {key: one for key, one in schema.items() if key != "allOf"} | whole
    own = {key: closed(one, document) for key, one in schema.items()}
    return ({"additionalProperties": False} if schema.get("type") == "object" else {}) | own


class Described:
    """openapi.json as a judge of answers: what it wants must be there, and what it does not name must not. In the
    document itself objects are open, as new keys may come. In a test each key must be described."""

    def __init__(self, document):
        self.document = document
        self.paths = document["paths"]
        self.validator = pytest.importorskip(
            "jsonschema", reason="python3-jsonschema is not installed").Draft202012Validator

    def mistakes(self, schema, value):
        whole = closed(schema | {"components": self.document["components"]}, self.document)
        return [f"{'/'.join(map(str, mistake.absolute_path))}: {mistake.message}"
                for mistake in self.validator(whole).iter_errors(value)]

    def check(self, schema, value, what):
        if mistakes := self.mistakes(schema, value):
            pytest.fail("\n".join([what, *mistakes]))

    def check_answer(self, operation, status, value, what):
        """`operation`: of `paths`."""
        responses = operation["responses"]
        told = responses.get(str(status), responses["default"])
        self.check(told["content"]["application/json"]["schema"], value, what)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    """A `berth serve` on a port of its own and a socket in the machine's directory."""

    def __init__(self, machine, *words, listen="127.0.0.1:0", wait=True, **kwargs):
        self.machine = machine
        self.socket_path = str(machine.directory / "serve.sock")
        self.process = machine.start(
            "serve", "--listen", listen, "--socket", self.socket_path, *words, **kwargs
        )
        self.said = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.port = None
        if not wait:
            return
        try:
            self.wait()
        except BaseException:
            self.close()  # nobody else has it yet
            raise

    def _read(self):
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))

    def says(self, what):
        return any(what in line for line in self.said)

    def wait(self):
        def port():
            assert self.process.poll() is None, f"it ended: {self.said}"
            found = re.search(r"https?://\S+:(\d+)", "\n".join(self.said))
            return int(found[1]) if found else None

        self.port = wait_until(port, "the server says where it serves", 20)
        wait_until(lambda: self.get("/api/v1/overview").status == 200, "the first look", 20)

    def ask(self, method, path, body=None, headers=None, over="tcp"):
        connection = (
            UnixConnection(self.socket_path)
            if over == "unix"
            else http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        )
        try:
            connection.request(method, path, body=body, headers=headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, headers=None, over="tcp"):
        return self.ask("GET", path, headers=headers, over=over)

    def post(self, path, body, headers=None, over="unix"):
        own = {"Content-Type": "application/json", "X-Berth": "1"} | (headers or {})
        return self.ask("POST", path, json.dumps(body), own, over)

    def raw(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return connection

    def tell(self, bytes_sent, patience=20):
        """All that comes back to these bytes until the server closes, or is silent for a second."""
        with self.raw() as connection:
            connection.sendall(bytes_sent)
            connection.settimeout(patience)
            got = b""
            try:
                while piece := connection.recv(65536):
                    got += piece
                    connection.settimeout(1)
            except (TimeoutError, ConnectionResetError):
                pass
            return got

    def stop(self, how=signal.SIGTERM, timeout=30):
        self.process.send_signal(how)
        code = self.process.wait(timeout)
        self.reader.join(5)
        return code

    def close(self):
        end(self.process)
        self.reader.join(5)
        self.process.stderr.close()


class Events:
    """A reader of server-sent events."""

    def __init__(self, server, headers="", over="tcp"):
        if over == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(server.socket_path)
        else:
            self.socket = server.raw()
        self.socket.settimeout(20)
        self.socket.sendall(
            f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode()
        )
        self.buffer = b""
        self.head = self._until(b"\r\n\r\n")

    def _until(self, mark):
        while mark not in self.buffer:
            piece = self.socket.recv(65536)
            if not piece:
                raise EOFError
            self.buffer += piece
        part, _, self.buffer = self.buffer.partition(mark)
        return part.decode()

    def next(self):
        """(event, id, data) of the next event; comments are passed over."""
        while True:
            fields = dict(
                line.split(": ", 1) for line in self._until(b"\n\n").splitlines() if ": " in line
            )
            if "event" in fields:
                return fields["event"], fields["id"], json.loads(fields["data"])

    def close(self):
        self.socket.close()


@pytest.fixture
def serve_on():
    """serve_on(machine, *options): a running server; ended with the test."""
    servers = []

    def start(machine, *words, **how):
        server = Server(machine, *words, **how)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


def commands_are_open():
    """Whether /proc shows each user of this machine what the others run."""
    with open("/proc/1/mountinfo" if os.geteuid() == 0 else "/proc/self/mountinfo", encoding="utf-8") as mounts:
        mounted = [line for line in mounts if line.split()[4] == "/proc"]
    return bool(mounted) and not re.search(r"hidepid=(?!0|off)", mounted[-1])


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) * 1024


def descriptors_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def openssl(*words, cwd):
    subprocess.run(["openssl", *words], cwd=cwd, check=True, capture_output=True, timeout=60)


def pause(seconds):
    time.sleep(seconds)


def metric(server, name):
    """The value of a metric without labels; None: it is not on the page."""
    found = re.search(rf"^{name} (\S+)$", server.get("/metrics").body.decode(), re.MULTILINE)
    return float(found[1]) if found else None
