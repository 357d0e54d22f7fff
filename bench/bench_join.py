"""What showing 200 other servers costs `berth serve`: its CPU time per round of five seconds, against the
same server alone in the same run. Its memory, how old what it shows becomes, and its list of hosts. The
others are one process (tests/serve/many_servers.cc) with 8 GPUs and 64 processes each, all changing once a
second; it runs beside, so on one processor both share it."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from bench_commands import BERTH, BUILD, cpu_nanoseconds, machine_json, tell
from bench_serve import answers, resident_mib

HOSTS = int(os.environ.get("BERTH_BENCH_HOSTS", "200"))
ROUND = 5
ROUNDS = 6
# One processor for both, as the promise has it.
CPU = {min(os.sched_getaffinity(0))}


def snapshot():
    """8 busy GPUs, 8 processes on each."""
    whole = json.loads(machine_json(range(10_000, 10_064)))
    whole["processes"] = [
        {"pid": process["pid"], "start_ticks": 1, "uid": 1000, "user": f"user{process['pid'] % 5}",
         "command": ["python", "train.py", "--config", f"experiment-{process['pid']}.yaml"]}
        for process in whole["gpu_processes"]
    ]
    return json.dumps(whole)


def start(scratch, *words):
    env = {
        "PATH": os.environ["PATH"], "HOME": scratch, "LANG": "C.UTF-8",
        "XDG_STATE_HOME": scratch + "/state", "BERTH_LEDGER": scratch + "/ledger",
    }
    server = subprocess.Popen(
        [BERTH, "serve", "--sim", "server-8xh100", "--listen", "127.0.0.1:0", "--socket", "none", *words],
        env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, CPU))
    port = int(re.search(r":(\d+)$", server.stderr.readline())[1])
    while not answers(port, "/healthz"):
        time.sleep(0.05)
    return server, port


def hosts(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/hosts", timeout=10) as response:
        return json.loads(response.read())["hosts"]


def rounds(pid, each=lambda: None):
    """Milliseconds of CPU of the daemon itself in each round."""
    spent = []
    for _ in range(ROUNDS):
        before = cpu_nanoseconds(pid)
        time.sleep(ROUND)
        spent.append((cpu_nanoseconds(pid) - before) / 1e6)
        each()
    return spent


def main():
    with tempfile.TemporaryDirectory() as scratch:
        others = subprocess.Popen([BUILD / "many_servers", str(HOSTS)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, CPU))
        server = None
        try:
            others.stdin.write(snapshot() + "\n")
            others.stdin.flush()
            ports = [int(others.stdout.readline()) for _ in range(HOSTS)]
            list_of_hosts = pathlib.Path(scratch, "hosts")
            list_of_hosts.write_text("".join(f"gpu{i:03}=127.0.0.1:{p}\n" for i, p in enumerate(ports)))

            server, port = start(scratch)
            time.sleep(ROUND)
            alone = rounds(server.pid)
            memory_alone = resident_mib(server.pid)
            server.send_signal(signal.SIGTERM)
            server.wait()

            server, port = start(scratch, "--join-file", str(list_of_hosts))
            time.sleep(2 * ROUND)
            ages, states = [], []

            def look():
                now = time.time() * 1000
                for host in hosts(port):
                    states.append(host["state"])
                    ages.append((now - host["taken_unix_ms"]) / 1000)

            joined = rounds(server.pid, look)
            assert set(states) == {"ok"}, sorted(set(states))
            what = f"`berth serve`: CPU per {ROUND} s, {HOSTS} servers joined, beside them on one processor"
            tell(what, "ms", joined, sorted(alone)[len(alone) // 2], None)
            tell(f"`berth serve`: memory with {HOSTS} servers joined", "MiB", [resident_mib(server.pid)] * 2,
                 memory_alone, None)
            tell(f"age of what is shown of {HOSTS} servers, each round's oldest", "s",
                 [max(ages[i:i + HOSTS]) for i in range(0, len(ages), HOSTS)], None, None)
            took = []
            for _ in range(20):
                began = time.perf_counter()
                body = urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/hosts", timeout=10).read()
                took.append((time.perf_counter() - began) * 1000)
                time.sleep(0.25)
            tell(f"`berth serve`: GET /api/v1/hosts of {HOSTS} servers ({len(body) // 1000} kB)", "ms", took,
                 None, None)
        finally:
            if server:
                server.send_signal(signal.SIGTERM)
                server.wait()
            others.stdin.close()
            others.wait()


if __name__ == "__main__":
    sys.exit(main())
