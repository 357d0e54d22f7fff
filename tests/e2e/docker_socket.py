"""A docker engine that only writes down what it is asked for: what a real client sends is looked at."""

import http.server
import json
import pathlib
import re
import socketserver
import tempfile
import threading


class Asked(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return ""

    def answer(self, code, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Api-Version", "1.41")
        self.send_header("Docker-Experimental", "false")
        self.send_header("Ostype", "linux")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.answer(200)

    def do_GET(self):
        if self.path.endswith("/_ping"):
            self.answer(200, "OK")
        elif re.search(r"/info$", self.path):
            self.answer(200, {"ID": "x", "ServerVersion": "20.10.24", "CDISpecDirs": self.server.cdi})
        elif match := re.search(r"/containers/(\w+)/json$", self.path):
            state = {"Status": "exited", "Running": False, "ExitCode": 0, "Pid": 0, "OOMKilled": False}
            self.answer(200, {"Id": match[1], "State": state, "Config": {"Image": "x"}, "Image": "sha256:0"})
        else:
            self.answer(404, {"message": f"No such thing: {self.path}"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "/containers/create" in self.path:
            self.server.created.append(json.loads(body))
            self.answer(201, {"Id": f"{len(self.server.created):064x}", "Warnings": []})
        elif "/wait" in self.path:
            self.answer(200, {"StatusCode": 0})
        else:
            self.answer(204)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class DockerSocket:
    """`created`: the bodies of all that was asked to be made."""

    def __init__(self, cdi=()):
        self.directory = tempfile.TemporaryDirectory(prefix="berth-")
        path = pathlib.Path(self.directory.name) / "sock"
        self.address = f"unix://{path}"
        self.server = Server(str(path), Asked)
        self.server.created = self.created = []
        self.server.cdi = list(cdi)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.directory.cleanup()
