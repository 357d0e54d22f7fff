"""`berth serve` for the tests of its page: with a past, a job that runs, one that waits, and a token. It can be told
from outside to take another configuration, other devices, or other servers to join."""

import getpass
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from conftest import BUILD, FakeDriver, Machine, end, scenario, wait_until
from test_top import busy_machine

SIM = "server-8xh100"
HOSTILE = "<img src=x onerror=alert(1)>"
CONTAINER = "docker llm-train"
PATIENCE = 60  # seconds; compilers run beside
DEAD = "127.0.0.1:1"  # nobody listens there

# By its own clock, so that a machine that computes beside stretches nothing of it.
LOADER = """
import os, time
begin, epochs = time.time(), [0.05, 0.25, 0.45, 0.8]
with open(os.environ["BERTH_MARKS"], "a", buffering=1) as marks:
    while (done := (time.time() - begin) / 6) < 1:
        if epochs and done >= epochs[0]:
            epochs.pop(0)
            marks.write(f"@{int(time.time() * 1000)} epoch={3 - len(epochs)} loss=0.5\\n")
        what = "waiting for the data loader" if 0.45 <= done < 0.8 else f"step {done:.3f}"
        print(time.strftime("%Y-%m-%d %H:%M:%S"), f"\\x1b[32mINFO\\x1b[0m {what}", flush=True)
        time.sleep(0.1)
"""


def machine_in(directory, sim=SIM):
    machine = Machine(directory, sim)
    machine.env["XDG_RUNTIME_DIR"] = str(directory)
    return machine


ERROR = "RuntimeError: CUDA error: an illegal memory access was encountered"


def run_of(machine, *words):
    """A detached run: its id."""
    done = machine.run("run", "--detach", "-q", *words, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[0]


def many_servers(count, snapshot):
    """(the process, the ports) of servers that show this snapshot."""
    process = subprocess.Popen([BUILD / "many_servers", str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    process.stdin.write(json.dumps(snapshot) + "\n")
    process.stdin.flush()
    return process, [int(process.stdout.readline()) for _ in range(count)]


def mended_and_broken():
    """A server of four odd cards. One is lost, one holds memory that nobody explains, one is divided, and one does not
    say whether it computes."""
    room, divided = scenario("faults"), scenario("h100-mig")
    for device in divided["devices"]:
        device["index"] = len(room["devices"])
    for key in ("gpu_processes", "processes"):
        room[key] += divided[key]
    room["devices"] += divided["devices"]
    silent = scenario(SIM)["devices"][7]
    silent |= {"index": len(room["devices"]), "utilization_gpu_percent": None}
    silent["why"]["utilization_gpu_percent"] = "failed"
    room["devices"].append(silent)
    return room


class Past:
    """What every server of these tests begins with: runs that have ended, the history that saw them."""

    def __init__(self, directory):
        self.directory = directory
        machine = machine_in(directory)
        server = Served(self, directory, live=False)
        server.start()
        try:
            self.run = run_of(machine, "-n", "2", "--", sys.executable, "-c", LOADER)
            self.named = run_of(machine, "--name", "wei's second try", "--", "sh", "-c", "exit 0", "two words")
            others = [run_of(machine, "--", "true"), self.named]
            self.failed = run_of(machine, "--", "sh", "-c", f"echo '{ERROR}'; exit 1")
            for run in (self.run, self.failed, *others):
                wait_until(lambda run=run: server.ask(f"api/v1/runs/{run}")["end"], f"{run} has ended", PATIENCE)
            wait_until(lambda: self.run in {span["id"] for span in server.ask("api/v1/timeline")["spans"]
                                            if span["to_unix_ms"]}, "the history knows of it", PATIENCE)
        finally:
            server.close()

    def copy_to(self, directory):
        shutil.copytree(self.directory / "state", directory / "state", ignore=shutil.ignore_patterns("*.lock"))


class Served:
    abilities = (
        "act alert change containers embed faults freeze hang history hostile hosts mig no-history problem read-only real"
        " restart runs sign-in simulated sweep unanswered xid bound"
    ) + (" planned" if os.geteuid() == 0 else "")
    cannot = {
        "planned": "root's server alone starts what is reserved for later",
        "script-link": "it makes the links itself, from the addresses that it was given",
        "stale": "its looks go on whatever a driver does",
        "still": "its looks go on whatever a driver does",
        "thousand": "a thousand servers are more than one machine answers for",
    }

    def __init__(self, past, directory, live=True):
        self.past, self.directory, self.live = past, directory, live
        self.machine = machine_in(directory)
        self.words = []
        self.settings = {"embed": "", "history": "", "alerts": "[alerts.ghost_memory]\noff = true\n[alerts.gpu_lost]\noff = true\n",
                         "join": ""}
        self.run = self.token = None
        self.process = None
        self.port = 0
        self.begun = []  # what else was started, to be ended with it
        self.changes = []  # runs that were told of later
        self.job = None  # one on a device of the driver's, and when it began
        self.ticks = None

    # ------------------------------------------------------------------------- its life

    def start(self):
        if self.live and self.run is None:
            self.live_now()
        (self.directory / "serve.toml").write_text("".join(self.settings.values()), encoding="utf-8")
        log = self.directory / "serve.log"
        with open(log, "wb") as output:
            self.process = self.machine.start(
                "serve", "--config", self.directory / "serve.toml", "--listen", f"127.0.0.1:{self.port}",
                "--socket", self.directory / "serve.sock", *self.words, stdout=output, stderr=subprocess.STDOUT)

        def address():
            if self.process.poll() is not None:
                pytest.fail(f"berth serve ended with {self.process.returncode}: {log.read_text()}")
            return re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text(encoding="utf-8"))

        self.port = int(wait_until(address, "berth serve says where it listens", PATIENCE)[1])
        wait_until(self.has_opened_history, "its history is open", PATIENCE)
        return f"http://127.0.0.1:{self.port}/"

    def live_now(self):
        """The past, what goes on, and a token."""
        self.past.copy_to(self.directory)
        self.begin_runs()
        made = self.machine.run("token", "create", "page", "--user", getpass.getuser(), timeout=PATIENCE)
        assert made.returncode == 0, made.stderr
        self.token = made.stdout.strip()

    def begin_runs(self):
        """One that goes on, and one that waits for a card that it will not get."""
        self.run = run_of(self.machine, "--", "sh", "-c", "echo it has begun; exec sleep 600")
        self.begun.append(self.machine.start("run", "-q", "--wait=1h", "--only", "0", "--", "true",
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def stop(self):
        process, self.process = self.process, None
        if process:
            process.terminate()
            process.send_signal(signal.SIGCONT)  # one that was stopped hears nothing else
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                end(process)

    def close(self):
        self.stop()
        for process in self.begun:
            end(process)
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
        self.begun.clear()
        for run in filter(None, (self.run, *self.changes)):
            machine_in(self.directory).run("stop", run, timeout=PATIENCE)
        self.run = None
        self.changes.clear()

    def again(self):
        self.stop()
        self.start()
        self.wait_for(lambda: self.ask("api/v1/overview")["devices"], "it looks")

    def has_opened_history(self):
        """Until then a page that asks for charts is refused, and its browser says so. A recording has none."""
        try:
            return self.ask("api/v1/events-log")["events"] is not None
        except urllib.error.HTTPError as refused:
            return json.load(refused)["error"]["code"] == "no_history"

    def ask(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=60) as answer:
            return json.load(answer)

    @staticmethod
    def wait_for(claim, what):
        def asked():
            try:
                return claim()
            except urllib.error.HTTPError:
                return None

        return wait_until(asked, what, PATIENCE)

    def play(self, snapshot):
        """From now on a simulated server of these devices, which has leases of its own."""
        file = self.directory / "played.json"
        file.write_text(json.dumps(snapshot), encoding="utf-8")
        is_another = self.machine.env.get("BERTH_SIM") != str(file)
        self.machine.env["BERTH_SIM"] = str(file)
        if is_another and self.run:
            self.changes.append(self.run)
            self.begin_runs()
        self.again()

    # ------------------------------------------------------------------------- what it can be told

    def tell(self, what, query):
        tell = getattr(self, f"tell_{what.replace('-', '_')}", None)
        if tell is None:
            raise ValueError(f"berth serve cannot be told {what} {query}")
        said = tell(**query)
        return {} if said is None else said

    def tell_who(self):
        """The user who may act here, and on what. Also a run of the past, and one that somebody else may not see."""
        known = {"container": CONTAINER, "user": getpass.getuser(), "token": self.token, "run": self.past.run, "named": self.past.named,
                 "failed": self.past.failed, "foreign": self.past.run}
        if self.job:
            return known | {"gpu": 0, "pid": self.job.pid}

        def seen():
            overview = self.ask("api/v1/overview")
            for process in overview["processes"]:
                if process["run"] == self.run:
                    ids = [device["id"] for device in overview["devices"]]
                    return known | {"gpu": ids.index(process["device"]), "pid": process["pid"]}
            return None

        return self.wait_for(seen, f"the process of {self.run} is seen")

    def tell_sign_in(self):
        """A link as `berth serve` prints it, and whose it is."""
        made = self.machine.run("serve", "--link", "--socket", self.directory / "serve.sock")
        assert made.returncode == 0, made.stderr
        return {"link": made.stdout.strip(), "user": getpass.getuser()}

    def tell_acts(self):
        """What was done to that job."""
        if self.job:
            code = self.job.poll()
            if code is None:
                return []
            body = {"signal": signal.Signals(-code).name[3:], "start_ticks": self.ticks}
            return [{"what": "signal", "name": str(self.job.pid), "body": body}]
        shown = json.loads(self.machine.run("show", self.run, "--json").stdout)
        return [{"what": "release", "name": self.run}] if shown["end"] else []

    def tell_containers(self):
        snapshot = scenario(SIM)
        snapshot["processes"][0]["container"] = CONTAINER
        self.play(snapshot)

    def tell_real(self):
        self.job = subprocess.Popen(["sleep", "600"])
        self.begun.append(self.job)
        stat = pathlib.Path(f"/proc/{self.job.pid}/stat").read_text(encoding="utf-8")
        self.ticks = int(stat.rpartition(")")[2].split()[19])
        self.machine = FakeDriver(self.directory, busy_machine([self.job.pid]))
        self.machine.env["XDG_RUNTIME_DIR"] = str(self.directory)
        self.again()

    def tell_unanswered(self):
        """A driver of which one card hangs the caller that asks for its load."""
        faults = self.directory / "faults"
        faults.write_text("nvmlDeviceGetUtilizationRates@1=hang", encoding="utf-8")
        self.machine = FakeDriver(self.directory, scenario(SIM), faults=f"@{faults}")
        self.machine.env["XDG_RUNTIME_DIR"] = str(self.directory)
        self.again()

    def tell_answered(self):
        (self.directory / "faults").write_text("", encoding="utf-8")

    def tell_xid(self, device=None):
        """A driver that tells of errors; with a device, that this one has fallen off the bus."""
        events = self.directory / "events"
        if device is not None:
            with open(events, "a", encoding="utf-8") as told:
                told.write(f"{device} 79\n")
            return
        events.touch()
        self.machine = FakeDriver(self.directory, scenario(SIM))
        self.machine.env |= {"XDG_RUNTIME_DIR": str(self.directory), "BERTH_FAKE_NVML_EVENTS": str(events)}
        self.again()
        # Whoever has not asked yet hears of nothing that was before.
        self.wait_for(lambda: self.ask("api/v1/overview")["sequence"] > 1, "it has looked twice")

    def tell_hang(self):
        """Stopped as it stands: its connections stay, and nothing comes by them."""
        self.process.send_signal(signal.SIGSTOP)

    def tell_go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def tell_read_only(self):
        """A recording of itself."""
        self.wait_for(lambda: self.ask("api/v1/leases")["leases"], "the lease is seen")
        self.replay(self.machine.run("status", "--json", timeout=PATIENCE).stdout)

    def tell_hostile(self):
        snapshot = scenario(SIM)
        for process in snapshot["processes"]:
            process["user"] = HOSTILE
        self.replay(json.dumps(snapshot))

    def replay(self, text):
        (self.directory / "recorded.json").write_text(text, encoding="utf-8")
        self.machine.env.pop("BERTH_SIM", None)
        self.words = ["--replay", str(self.directory / "recorded.json")]
        self.again()

    def tell_sweep(self):
        """Three points, one of which fails."""
        job = 'echo epoch=1 >>"$BERTH_MARKS"; echo "loss=$2" >>"$BERTH_MARKS"; test $2 != 0.5 || exit 3'
        done = self.machine.run("sweep", "--set", "lr=0.1,0.25,0.5", "--memory", "1G", "--", "sh", "-c", job, "train",
                                "--lr", "{lr}", timeout=PATIENCE)
        assert done.returncode == 1, done.stderr
        return {"values": ["0.1", "0.25", "0.5"], "failed": "0.5"}

    def tell_bound(self):
        """A card of Intel's whose driver tells what its processes hold."""
        snapshot = scenario("arc-mixed")
        [card] = [one for one in snapshot["devices"] if one["kind"] == "intel-gpu"]
        card |= {"integrated": False, "name": "Arc B580", "memory_total_bytes": 12 << 30, "memory_used_bytes": 3 << 30}
        self.replay(json.dumps(snapshot))

    def tell_embed(self):
        self.settings["embed"] = "embed = true\n"
        self.again()

    def tell_history_off(self):
        self.settings["history"] = "[history]\nkeep = false\n"
        self.again()

    def tell_change(self, device, state):
        """What a run makes of a free card."""
        del state
        run = run_of(self.machine, "--only", device, "--", "sleep", "600")
        self.changes.append(run)
        return {"state": "leased", "run": run}

    def tell_planned(self):
        """A reservation of tomorrow's, which this server would start."""
        done = self.machine.run("reserve", "-n", "2", "--at", "23h", "--for", "1h", timeout=PATIENCE)
        assert done.returncode == 0, done.stderr

    def tell_faults(self):
        self.play(mended_and_broken())

    def tell_mig(self, device):
        del device
        self.play(mended_and_broken())

    def tell_problem(self, **_):
        self.play(mended_and_broken())

    def tell_alert(self, severity="warning", over=None, **_):
        """Memory that nobody explains is a warning; a GPU that is lost is critical."""
        rule = {"warning": "ghost_memory", "critical": "gpu_lost"}[severity]
        if self.machine.env.get("BERTH_SIM") == SIM:
            self.tell_faults()
        wanted = f'[alerts.{rule}]\nfor = "0s"\nhold = "1s"\n'
        if over:
            wanted += 'threshold = "80G"\n'
        self.settings["alerts"] = re.sub(rf"\[alerts\.{rule}\]\n[^\[]*", wanted, self.settings["alerts"])
        (self.directory / "serve.toml").write_text("".join(self.settings.values()), encoding="utf-8")
        self.process.send_signal(signal.SIGHUP)
        return self.wait_for(
            lambda: next((one for one in self.ask("api/v1/alerts")["alerts"]
                          if one["rule"] == rule and (one["resolved_unix_ms"] is not None) == bool(over)), None),
            f"the alert {rule} {'is over' if over else 'begins'}")

    def tell_hosts(self, count):
        count = int(count)
        process, ports = many_servers(count, scenario(SIM))
        self.begun.append(process)
        if count > 20:
            broken, [ports[20]] = many_servers(1, scenario("faults"))
            self.begun.append(broken)
        lines = [f"gpu{number}=http://{DEAD if number in (4, 8) else f'127.0.0.1:{port}'}\n"
                 for number, port in enumerate(ports, 1)]
        (self.directory / "hosts").write_text("".join(lines), encoding="utf-8")
        self.join("1s")

    def tell_freeze(self):
        """Asked once, and not again while anybody looks."""
        self.join("10m")

    def join(self, interval):
        self.settings["join"] = f'[join]\nfile = "{self.directory}/hosts"\ninterval = "{interval}"\n'
        self.again()
        self.wait_for(lambda: all(host["asked_unix_ms"] for host in self.ask("api/v1/hosts")["hosts"]),
                      "all of them have been asked")
