"""A real Prometheus beside page servers of its own, for the tests that scrape."""

import functools
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import urllib.parse
import urllib.request

from conftest import BUILD, ROOT, end, wait_until

PROMETHEUS = shutil.which("prometheus")
PROMTOOL = shutil.which("promtool")
MISSING = "prometheus and promtool (Debian: apt-get install prometheus)"
DEPLOY = ROOT / "deploy"


def page(snapshots, profiles="berth", openmetrics=False, processes=False):
    """The page after these looks, as the program under test writes it."""
    words = [str(BUILD / "print_metrics"), profiles]
    words += ["openmetrics"] if openmetrics else []
    words += ["processes"] if processes else []
    lines = "".join(json.dumps(snapshot) + "\n" for snapshot in snapshots)
    done = subprocess.run(words, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class PageServer:
    """Serves /metrics?profile=… of one machine. What `berth serve` takes over from it: `address`, `close()`."""

    def __init__(self, snapshots):
        kept = functools.cache(functools.partial(page, snapshots, processes=True))
        accepts = self.accepts = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                address = urllib.parse.urlsplit(self.path)
                profiles = urllib.parse.parse_qs(address.query).get("profile", ["berth"])[0]
                accept = self.headers.get("Accept", "")
                accepts.append(accept)
                # /text/metrics shows the other format through the same scraper.
                openmetrics = "openmetrics" in accept and not address.path.startswith("/text")
                body = kept(profiles, openmetrics).encode()
                self.send_response(200)
                kind = "application/openmetrics-text; version=1.0.0; charset=utf-8"
                self.send_header("Content-Type", kind if openmetrics else "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Prometheus:
    """Scrapes every second what `jobs` say, [(job, path, profile, [addresses])]; or does what a `config` says."""

    def __init__(self, directory, jobs=(), rules=(), config=None):
        lines = ["global: {scrape_interval: 1s, evaluation_interval: 1s}"]
        lines += ["rule_files: " + json.dumps([str(rule) for rule in rules]), "scrape_configs:"]
        for job, path, profile, addresses in jobs:
            lines += [f"- job_name: {job}", f"  metrics_path: {path}"]
            lines += [f"  params: {{profile: [{profile}]}}"]
            lines += [f"  static_configs: [{{targets: {json.dumps(addresses)}}}]"]
        directory.mkdir(exist_ok=True)
        (directory / "prometheus.yml").write_text(config or "\n".join(lines) + "\n", encoding="utf-8")
        self.log = (directory / "log").open("w+", encoding="utf-8")
        # Whoever listens elsewhere in the meantime makes it fail to start: then another port is tried.
        for _ in range(5):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.address = f"127.0.0.1:{probe.getsockname()[1]}"
            self.process = subprocess.Popen(
                [
                    PROMETHEUS,
                    f"--config.file={directory / 'prometheus.yml'}",
                    f"--storage.tsdb.path={directory / 'tsdb'}",
                    f"--web.listen-address={self.address}",
                    "--log.level=warn",
                ],
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ["PATH"], "HOME": str(directory)},
                cwd=directory,
            )
            wait_until(self.is_ready_or_over, "Prometheus is ready", timeout=60)
            if self.process.poll() is None:
                return
        raise AssertionError("Prometheus does not start: " + self.messages())

    def is_ready_or_over(self):
        if self.process.poll() is not None:
            return True
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=60) as answer:
                return answer.status == 200
        except OSError:
            return False

    def messages(self):
        self.log.seek(0)
        return self.log.read()

    def get(self, path, **words):
        address = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{words}: {error.read().decode()}") from None

    def query(self, expression):
        """[(labels, value)] now."""
        result = self.get("query", query=expression)["data"]["result"]
        return [(one["metric"], float(one["value"][1])) for one in result]

    def close(self):
        end(self.process)
        self.log.close()


def dashboards():
    return sorted((DEPLOY / "grafana").glob("*.json"))


def expressions(dashboard, **values):
    """[(panel, expression)] with Grafana's variables filled in."""
    values = {
        "__rate_interval": "1m",
        "__range": "5m",
        "__interval": "1m",
        "job": ".*",
        "instance": ".*",
        "device": ".*",
        "user": ".*",
    } | values
    found = []
    for panel in json.loads(dashboard.read_text(encoding="utf-8"))["panels"]:
        for target in panel.get("targets", []):
            text = re.sub(r"\$(\w+)", lambda name: values[name[1]], target["expr"])
            # A subquery looks at whole minutes: a Prometheus that has run for seconds has seen none.
            found.append((panel["title"], text.replace(":1m]", ":1s]")))
    return found
