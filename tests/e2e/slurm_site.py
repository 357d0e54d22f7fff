"""Debian's real Slurm 22.05 on this box: a controller and two nodes with cards that are not there.

Its programs are unpacked in build/peers/slurm by ./dev test and never installed. No munge, no device nodes:
auth/none, and /dev/null and its like stand for the cards' files."""

import functools
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

import conftest
from conftest import ROOT

LONG = 60  # what is waited for at most: Slurm asks, schedules and cleans up in its own time
wait_until = functools.partial(conftest.wait_until, timeout=LONG)
# Where each is unpacked. Trixie's brings a C library of its own.
RELEASES = {"22.05": ROOT / "build/peers/slurm", "24.11": ROOT / "build/peers/slurm-trixie"}
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Plugins that do nothing, which the newer knows by their absence.
WITHOUT = "TaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\nSwitchType=switch/none\n"
CARDS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")
NODES = {"n1": ("fake", CARDS), "n2": ("a100", CARDS[:2])}


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Slurm:
    """One site; `close()` ends its daemons and the jobs they left."""

    def __init__(self, release="22.05", nodes=None, cgroup="", around_jobs=bool(os.environ.get("BERTH_LONG"))):
        self.nodes, self.cgroup, self.around_jobs = nodes or NODES, cgroup, around_jobs
        self.peer = RELEASES[release].resolve()
        if not (self.peer / "usr/sbin/slurmctld-wlm").exists():
            pytest.skip(f"no Slurm in {RELEASES[release].relative_to(ROOT)}: ./dev test unpacks it")
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-slurm-", dir="/var/tmp"))
        self.bin = self.directory / "bin"
        for name in ("bin", "state", "log", "run", *(f"spool.{node}" for node in self.nodes)):
            (self.directory / name).mkdir()
        self.env = {"SLURM_CONF": str(self.directory / "slurm.conf"), "PATH": f"{self.bin}:{os.environ['PATH']}"}
        self.plugins = self.peer / LIBRARIES / "slurm-wlm"
        self.daemon_env = {"PATH": os.environ["PATH"]}
        by_path = f"LD_LIBRARY_PATH={self.plugins}:{self.peer / LIBRARIES}:{self.peer}/lib/x86_64-linux-gnu "
        if (self.peer / LIBRARIES / "ld-linux-x86-64.so.2").exists():
            by_path = ""  # its programs name their own libraries
        else:
            self.daemon_env["LD_LIBRARY_PATH"] = by_path.strip().partition("=")[2]
        # By their names, which they look at: as slurmctld-wlm it would read no cards from slurm.conf.
        for daemon in ("slurmctld", "slurmd", "slurmstepd"):
            (self.bin / daemon).symlink_to(self.peer / f"usr/sbin/{daemon}-wlm")
        for program in (self.peer / "usr/bin").iterdir():
            wrapper = self.bin / program.name
            wrapper.write_text(f'#!/bin/sh\n{by_path}exec {program} "$@"\n', encoding="utf-8")
            wrapper.chmod(0o755)
        self.write_configuration()
        self.daemons = {}
        self.start_controller()
        for node in self.nodes:
            self.start("slurmd", node, "-N", node, "-D", "-d", self.bin / "slurmstepd")
        try:
            wait_until(self.is_up, "both nodes are idle")
        except BaseException:
            said = self.log("slurmctld")[-500:] + self.log("n1")[-500:]
            self.close()
            pytest.skip(f"Slurm does not run here: {said}")

    def write_configuration(self):
        here, host = self.directory, socket.gethostname().split(".")[0]
        user = pwd.getpwuid(os.getuid()).pw_name
        controller, *ports = free_ports(1 + len(self.nodes))
        nodes = "".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=4000 "
            f"Gres=gpu:{kind}:{len(cards)} State=UNKNOWN\n" for port, (name, (kind, cards)) in zip(ports, self.nodes.items()))
        without = WITHOUT if self.peer.name == "slurm" else ""
        if self.cgroup:
            without = without.replace("TaskPlugin=task/none", "TaskPlugin=task/cgroup")
            (here / "cgroup.conf").write_text(f"{self.cgroup}\nIgnoreSystemd=yes\n", encoding="utf-8")
        (here / "slurm.conf").write_text(f"""ClusterName=fake
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/none
CredType=cred/none
PluginDir={self.plugins}
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller}
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool.%n
SlurmctldPidFile={here}/run/slurmctld.pid
SlurmdPidFile={here}/run/slurmd.%n.pid
SlurmctldLogFile={here}/log/slurmctld
SlurmdLogFile={here}/log/%n
ProctrackType=proctrack/linuxproc
{without}MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
KillWait=3
TaskProlog={here}/task-prolog
{f"Prolog={here}/around-job{chr(10)}Epilog={here}/around-job" if self.around_jobs else ""}
HealthCheckProgram={here}/health
HealthCheckInterval=3
HealthCheckNodeState=ANY
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=2
SlurmdParameters=config_overrides
{nodes}PartitionName=gpu Nodes={",".join(self.nodes)} Default=YES MaxTime=INFINITE State=UP
""", encoding="utf-8")
        # Both nodes are this machine: a test that needs a ledger for each says so.
        (here / "task-prolog").write_text(
            '#!/bin/sh\n[ -z "$LEDGER_OF_EACH_NODE" ] || echo "export BERTH_LEDGER=$LEDGER_OF_EACH_NODE/$SLURMD_NODENAME"\n',
            encoding="utf-8")
        (here / "task-prolog").chmod(0o755)
        # A test puts the site's own beside it. (A check each second would leave the controller no time for its ping.)
        (here / "around-job").write_text(f"#!/bin/sh\n[ ! -x {here}/own ] || exec {here}/own\n", encoding="utf-8")
        (here / "around-job").chmod(0o755)
        (here / "health").write_text(f"#!/bin/sh\n[ ! -x {here}/own-health ] || exec {here}/own-health\n", encoding="utf-8")
        (here / "health").chmod(0o755)
        (here / "gres.conf").write_text("AutoDetect=off\n" + "".join(
            f"NodeName={name} Name=gpu Type={kind} File={card}\n"
            for name, (kind, cards) in self.nodes.items() for card in cards), encoding="utf-8")

    def start(self, program, name, *words):
        self.daemons[name] = subprocess.Popen(
            [self.bin / program, "-f", self.directory / "slurm.conf", *words], env=self.daemon_env,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def start_controller(self):
        self.start("slurmctld", "slurmctld", "-D")

    def kill_controller(self):
        self.daemons["slurmctld"].kill()
        self.daemons["slurmctld"].wait()

    def log(self, name):
        path = self.directory / "log" / name
        return path.read_text(errors="replace") if path.exists() else ""

    def __call__(self, *words, check=True, env=None, **how):
        done = subprocess.run([self.bin / words[0], *words[1:]], env=self.env | (env or {}), text=True,
                              capture_output=True, timeout=LONG, check=False, stdin=subprocess.DEVNULL, **how)
        assert not check or done.returncode == 0, done.stderr
        return done

    def is_up(self):
        said = self("sinfo", "-h", "-N", "-o", "%N %t", check=False).stdout.split()
        return said.count("idle") == len(self.nodes)

    def jobs(self):
        return json.loads(self("squeue", "--json", "-t", "all", "-a").stdout)["jobs"]

    def cancel_all(self):
        self("scancel", "-u", str(os.getuid()), check=False)

    def close(self):
        self.cancel_all()
        for daemon in self.daemons.values():
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons.values():
            try:
                daemon.wait(timeout=60)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
