"""What `berth serve` answers while 1,000 slow clients hold connections. It has 8 devices and 64 real
processes on the fake NVML, at one look a second. The 99th percentile of a client that asks 250 times a
second. What wrk gets out of it at most, with ten connections that never pause. What looking costs, and
whether memory grows over many requests. Needs wrk; without it the first and the cost of looking."""

import http.client
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from bench_commands import BERTH, LIBRARY, children_of, cpu_nanoseconds, machine_json, tell

SLOW = 1000
ROUNDS = 5
SECONDS = 5
CLIENTS = 10
SCRAPES = 20
MILLION = int(os.environ.get("BERTH_BENCH_REQUESTS", "100000"))


def resident_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def start(env):
    server = subprocess.Popen(
        [BERTH, "serve", "--listen", "127.0.0.1:0", "--socket", "none"], env=env,
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    port = int(re.search(r":(\d+)$", server.stderr.readline())[1])
    while not answers(port, "/healthz"):
        time.sleep(0.05)
    return server, port


def answers(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return response.status == 200
    except urllib.error.HTTPError:
        return False


def slow_clients(port):
    """Half of them silent, a quarter within a request, a quarter deaf readers of events."""
    held = []
    for number in range(SLOW):
        connection = socket.create_connection(("127.0.0.1", port))
        if number % 4 == 1:
            connection.sendall(b"GET /gpu-status HTTP/1.1\r\nHo")
        if number % 4 == 3:
            connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        held.append(connection)
    return held


def wrk(port, path, seconds):
    """(requests per second, p99 in ms, requests)"""
    script = pathlib.Path(tempfile.gettempdir(), f"berth-wrk-{os.getpid()}.lua")
    script.write_text(
        "done = function(s, l, r) io.write(string.format('\\nBERTH %d %d %f %d\\n', s.requests, s.duration,"
        " l:percentile(99), s.errors.status + s.errors.read + s.errors.connect)) end",
        encoding="utf-8")
    try:
        done = subprocess.run(
            ["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "-s", str(script), f"http://127.0.0.1:{port}{path}"],
            text=True, capture_output=True, check=True)
    finally:
        script.unlink()
    requests, duration, p99, errors = done.stdout.rpartition("BERTH ")[2].split()
    assert int(errors) == 0, done.stdout
    return int(requests) / (int(duration) / 1e6), float(p99) / 1000, int(requests)


def paced(port, path, seconds):
    """99th percentile in ms of a client that asks, reads, waits 3 ms and asks again."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    took, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        connection.request("GET", path)
        connection.getresponse().read()
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(0.003)
    connection.close()
    return statistics.quantiles(took, n=100)[98]


def beside_slow_clients(port):
    for path in ("/gpu-status", "/metrics", "/api/v1/overview"):
        if not answers(port, path):
            print(f"{path} is not served by this berth", file=sys.stderr)
            continue
        held = slow_clients(port)
        time.sleep(0.5)
        tell(f"`berth serve`: {path} beside {SLOW} slow clients, 99th percentile at 250 per second", "ms",
             [paced(port, path, SECONDS) for _ in range(ROUNDS)], None, 5)
        for connection in held:
            connection.close()


def under_load(port):
    for path in ("/gpu-status", "/metrics", "/api/v1/overview"):
        if not answers(port, path):
            continue
        rates, tails = [], []
        for _ in range(ROUNDS):
            held = slow_clients(port)
            time.sleep(0.5)
            rate, p99, _ = wrk(port, path, SECONDS)
            rates.append(rate)
            tails.append(p99)
            for connection in held:
                connection.close()
        tell(f"`berth serve`: {path} beside {SLOW} slow clients, most requests per second", "1/s", rates,
             None, None)
        tell(f"`berth serve`: {path} beside {SLOW} slow clients, 99th percentile at the most (wrk)", "ms", tails,
             None, 5)


def processor_of_pages(server, port):
    """Of the server alone, connection and socket included, for pages of one profile."""
    path = "/metrics"
    wrk(port, path, 1)
    before = cpu_nanoseconds(server.pid)
    asked = wrk(port, path, SECONDS)[2]
    spent = (cpu_nanoseconds(server.pid) - before) / asked / 1000
    tell("`berth serve`: CPU of one scrape over HTTP, many of each look", "µs", [spent, spent], None, 100)
    packed = {"Accept-Encoding": "gzip"}
    alone = {path: [], "/healthz": [], "packed": []}
    scraper = http.client.HTTPConnection("127.0.0.1", port)  # kept open, as Prometheus does
    for _ in range(SCRAPES):
        for asked, took in alone.items():
            time.sleep(1)
            before = cpu_nanoseconds(server.pid)
            scraper.request("GET", *((path, None, packed) if asked == "packed" else (asked,)))
            scraper.getresponse().read()
            took.append((cpu_nanoseconds(server.pid) - before) / 1000)
    scraper.close()
    tell("`berth serve`: CPU of one scrape over HTTP, the first of its look; floor: /healthz so", "µs",
         alone[path], statistics.median(alone["/healthz"]), None)
    tell("`berth serve`: CPU of one scrape over HTTP, compressed; floor: the same as it is", "µs",
         alone["packed"], statistics.median(alone[path]), None)


def memory(server, port):
    path = "/metrics" if answers(port, "/metrics") else "/gpu-status"
    wrk(port, path, 2)
    before, asked = resident_mib(server.pid), 0
    while asked < MILLION:
        asked += wrk(port, path, SECONDS)[2]
    grown = resident_mib(server.pid) - before
    tell(f"`berth serve`: memory grown over {asked} requests of {path}", "MiB", [grown, grown], None, 2)
    tell("`berth serve`: memory", "MiB", [resident_mib(server.pid)] * 2, None, None)


def looking(server):
    everybody = [server.pid, *children_of(server.pid)]
    before = sum(map(cpu_nanoseconds, everybody))
    time.sleep(20)
    spent = (sum(map(cpu_nanoseconds, everybody)) - before) / 1e9
    tell("`berth serve`: CPU of 20 s at 1 Hz without a client, 8 GPUs, 64 processes, probe process included",
         "s", [spent, spent], None, None)


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    with tempfile.TemporaryDirectory() as scratch:
        sleepers = [subprocess.Popen(["sleep", "600"]) for _ in range(64)]
        env = {
            "PATH": os.environ["PATH"], "HOME": scratch, "LANG": "C.UTF-8",
            "XDG_STATE_HOME": scratch + "/state", "BERTH_LEDGER": scratch + "/ledger",
            "BERTH_NVML": str(LIBRARY), "BERTH_FAKE_NVML": scratch + "/machine.json",
            "BERTH_FAKE_NVML_MOVE": "1",
        }
        pathlib.Path(scratch, "machine.json").write_text(machine_json([p.pid for p in sleepers]))
        server, port = start(env)
        try:
            looking(server)
            beside_slow_clients(port)
            if shutil.which("wrk") is None:
                print("wrk is not installed: requests are not measured", file=sys.stderr)
                return
            under_load(port)
            processor_of_pages(server, port)
            memory(server, port)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
            for sleeper in sleepers:
                sleeper.kill()


if __name__ == "__main__":
    sys.exit(main())
