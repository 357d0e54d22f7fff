"""Containers and Slurm's jobs on real cards, by the engines and the Slurm that ./dev test unpacks in build/peers.

Needs root, and nvidia-ctk where no CDI specification is there; docker's --gpus needs nvidia-container-runtime too.
Each that lacks is a test skipped with the reason.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.request
from pathlib import Path

from test_hardware import BERTH, ROOT, OnHardware, reason_to_skip, vendor

sys.path[:0] = [str(ROOT / "tests" / "e2e")]
os.environ.setdefault("BERTH", BERTH)
try:
    import engines
    import pytest
    import slurm_site
except ImportError as lacks:
    raise unittest.SkipTest(f"needs pytest: {lacks}") from lacks

IMAGE = "localhost/card:1"
# The image's own stage, and nvidia-smi, want no more of a base.
APPLETS = ("head", "base64", "tr", "sha256sum", "date", "mv", "grep", "chown", "find")
LIBRARIES = [f"/lib/x86_64-linux-gnu/{name}" for name in
             ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1")] + ["/lib64/ld-linux-x86-64.so.2"]
SPECIFICATION = Path("/run/cdi/nvidia.yaml")


def made(what, *words, **how):
    """What needs a machine that has it: a skip of pytest's is one of unittest's."""
    if reason := reason_to_skip():
        raise unittest.SkipTest(reason)
    try:
        return what(*words, **how)
    except pytest.skip.Exception as skipped:
        raise unittest.SkipTest(str(skipped)) from skipped


def need_specification() -> bool:
    """Whether it had to be made, by the maker's own program."""
    folders = [Path("/etc/cdi"), Path("/run/cdi")]
    if any("nvidia.com/gpu" in file.read_text() for folder in folders if folder.is_dir() for file in folder.iterdir()):
        return False
    program, hook = shutil.which("nvidia-ctk"), shutil.which("nvidia-cdi-hook")
    if not program or not hook:
        raise unittest.SkipTest("no CDI specification for NVIDIA's devices, and no nvidia-ctk")
    subprocess.run([program, "cdi", "generate", f"--nvidia-cdi-hook-path={hook}", f"--output={SPECIFICATION}"],
                   check=True, capture_output=True)
    return True


class InContainers(OnHardware):
    """For one engine. `device_option` is the option that berth must give it."""

    engine: "engines.Engine"
    device_option = "--device"

    @classmethod
    def use(cls, engine) -> None:
        cls.engine = engine
        cls.addClassCleanup(engine.close)
        engine("import", engines.base_image(engine.directory, APPLETS, LIBRARIES), IMAGE)

    def setUp(self) -> None:
        super().setUp()
        self.environment.update(self.engine.env, PATH=f"{self.engine.bin}:{os.environ['PATH']}")

    def in_container(self, *words: str, image: str = IMAGE, options: "tuple[str, ...]" = ()) -> "list[str]":
        return [self.engine.name, "run", "--rm", "--network", "none", *options, image, *words]


class TheCard:
    """Tests of each engine."""

    def test_a_container_sees_the_leased_card_alone(self) -> None:
        smi = shutil.which("nvidia-smi") or ""
        done = self.berth("run", "-v", "--no-wait", "--", *self.in_container(smi, "-L"))
        record = json.loads(self.berth("show", "last", "--json").stdout)
        cards = {row["uuid"] for row in vendor("uuid", "index")}
        seen = re.findall(r"GPU-[0-9a-f-]{36}", done.stdout)
        self.assertEqual(len(seen), 1, done.stdout)
        self.assertIn(seen[0], cards)
        self.assertIn(seen[0], json.dumps(record["given"]["devices"]))
        self.assertIn(self.device_option, done.stderr)

    def test_without_a_lease_on_a_card_it_has_none(self) -> None:
        done = self.berth("run", "--cpu", "--", *self.in_container("find", "/dev", "-name", "nvidia*"))
        self.assertEqual(done.stdout, "")

    def test_a_container_that_computes_is_named_on_its_card(self) -> None:
        """berth's own test of a device computes in there, with the driver's libraries that the engine brought."""
        program = ("-v", f"{BERTH}:/bin/berth:ro", "--name", "computes", "-e", "BERTH_LEDGER=/tmp/ledger",
                   "-e", "XDG_STATE_HOME=/tmp")
        words = ("/bin/sh", "-c", "for i in 1 2 3; do berth doctor --gpu-test || exit; done")
        job = subprocess.Popen([BERTH, "run", "--no-wait", "--", *self.in_container(*words, options=program)],
                               env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        told: "list[str]" = []
        while job.poll() is None:
            for process in json.loads(self.berth("ps", "--json").stdout)["processes"]:
                told.append(json.dumps(process))
            time.sleep(0.2)
        self.assertEqual(job.returncode, 0, job.stdout.read())
        named = [one for one in told if f"{self.engine.name} " in one and "gpu-test" in one]
        self.assertTrue(named, told[-2:])


class Podman(TheCard, InContainers):
    @classmethod
    def setUpClass(cls) -> None:
        cls.use(made(engines.Podman))
        if need_specification():
            cls.addClassCleanup(SPECIFICATION.unlink)

    def test_the_image_tells_of_every_card_as_a_user_without_rights(self) -> None:
        context = self.engine.directory / "context"
        context.mkdir()
        for file in ("Containerfile", "serve"):
            shutil.copy(ROOT / "deploy/image" / file, context)
        shutil.copy(BERTH, context / "berth")
        self.engine("build", "--network", "none", "--target", "berth", "--tag", "localhost/berth:1", "--build-arg",
                    f"BASE={IMAGE}", "--file", context / "Containerfile", context, timeout=300)
        port = slurm_site.free_ports(1)[0]
        container = self.engine(
            "run", "-d", "--device", "nvidia.com/gpu=all", "--network", "host", "--read-only", "--tmpfs", "/tmp",
            "--cap-drop", "all", "--security-opt", "no-new-privileges", "localhost/berth:1", "--listen",
            f"127.0.0.1:{port}").stdout.strip()
        self.assertEqual(self.engine("exec", container, "id", "-u").stdout.strip(), "65534")
        until, text = time.monotonic() + 60, ""
        while not text:
            said = self.engine("logs", container)
            token = re.search("berth_[A-Za-z0-9_-]{43}", said.stdout + said.stderr)
            try:
                asked = urllib.request.Request(f"http://127.0.0.1:{port}/metrics",
                                               headers={"Authorization": f"Bearer {token and token[0]}"})
                text = urllib.request.urlopen(asked, timeout=20).read().decode()
            except OSError:
                self.assertLess(time.monotonic(), until, said.stdout + said.stderr)
                time.sleep(0.2)
        for row in vendor("uuid", "memory.total"):
            lines = [line for line in text.splitlines()
                     if line.startswith("berth_device_memory_total_bytes{") and row["uuid"] in line]
            self.assertEqual(len(lines), 1, text[:2000])
            self.assertAlmostEqual(float(lines[0].split()[-1]) / (1 << 20), float(row["memory.total"]), delta=0.5)


class DockerByCdi(TheCard, InContainers):
    @classmethod
    def setUpClass(cls) -> None:
        engine = made(engines.Docker, is_trixie=True)
        cls.use(engine)
        if need_specification():
            cls.addClassCleanup(SPECIFICATION.unlink)
        folders = [Path("/etc/cdi"), Path("/run/cdi")]
        for file in (file for folder in folders if folder.is_dir() for file in folder.iterdir()):
            shutil.copy(file, engine.cdi)


class DockerByRuntime(TheCard, InContainers):
    """As `nvidia-ctk runtime configure --set-as-default` leaves it."""

    device_option = "--gpus"

    @classmethod
    def setUpClass(cls) -> None:
        runtime = shutil.which("nvidia-container-runtime")
        if not runtime:
            raise unittest.SkipTest("no nvidia-container-runtime")
        if any(folder.is_dir() and any(folder.iterdir()) for folder in (Path("/etc/cdi"), Path("/run/cdi"))):
            raise unittest.SkipTest("a CDI specification is there, which berth prefers")
        cls.use(made(engines.Docker, is_trixie=True, path=os.environ["PATH"],
                     settings={"runtimes": {"nvidia": {"path": runtime}}, "default-runtime": "nvidia"}))


class InSlurm(OnHardware):
    """A site of one node, whose cards are this machine's, and whose steps may open those they were given alone."""

    @classmethod
    def setUpClass(cls) -> None:
        if reason := reason_to_skip():
            raise unittest.SkipTest(reason)
        cards = sorted(str(card) for card in Path("/dev").glob("nvidia[0-9]*"))
        cls.site = made(slurm_site.Slurm, nodes={"n1": ("card", cards)}, cgroup="ConstrainDevices=yes", around_jobs=True)
        cls.addClassCleanup(cls.site.close)
        cls.cards = len(cards)

    def setUp(self) -> None:
        super().setUp()
        self.environment.update(self.site.env, PATH=f"{self.site.bin}:{os.environ['PATH']}")

    def srun(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        return self.site("srun", *words, check=check, env=self.environment)

    def test_a_job_uses_exactly_the_cards_of_its_step(self) -> None:
        for count in range(1, self.cards + 1):
            done = self.srun(f"--gres=gpu:{count}", BERTH, "run", "--", "nvidia-smi", "-L")
            seen = set(re.findall(r"GPU-[0-9a-f-]{36}", done.stdout))
            self.assertEqual(len(seen), count, done.stdout + done.stderr)
            record = json.loads(self.berth("show", "last", "--json").stdout)
            self.assertEqual({device["uuid"] for device in record["given"]["devices"]}, seen)

    def test_a_job_without_cards_opens_none(self) -> None:
        self.assertNotIn("GPU-", self.srun("nvidia-smi", "-L", check=False).stdout)
        done = self.srun(BERTH, "run", "--no-wait", "--", "nvidia-smi", "-L", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("GPU-", done.stdout)
        print(done.stderr)

    def test_what_setup_prints_slurm_reads(self) -> None:
        printed = self.berth("setup", "--slurm", "--node", "n1").stdout
        lines = [line for line in printed.splitlines() if line.startswith("NodeName=n1 AutoDetect=off Name=gpu")]
        self.assertEqual(len(lines), self.cards, printed)
        folder = self.site.directory / "printed"
        folder.mkdir()
        (folder / "gres.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
        kind = re.search("Type=([^ ]*)", lines[0])[1]
        kept = (self.site.directory / "slurm.conf").read_text(encoding="utf-8")
        cpus = f"CPUs={os.cpu_count()}"
        (folder / "slurm.conf").write_text(kept.replace("gpu:card:", f"gpu:{kind}:").replace("CPUs=8", cpus),
                                           encoding="utf-8")
        parsed = subprocess.run([self.site.bin / "slurmd", "-G", "-f", folder / "slurm.conf", "-N", "n1"],
                                env=self.site.daemon_env, text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual(parsed.returncode, 0, parsed.stderr)
        self.assertEqual(parsed.stderr.count(f"Type={kind}"), self.cards, parsed.stderr)

    def script(self, name: str, tries: int) -> str:
        printed = self.berth("setup", "--slurm", "--node", "n1").stdout
        script = printed.partition(f"# /etc/slurm/{name}, mode 0755\n")[2].partition("\n# /etc/slurm/")[0]
        own = "".join(f"export {name}={shlex.quote(str(self.environment[name]))}\n"
                      for name in ("SLURM_CONF", "BERTH_LEDGER", "XDG_STATE_HOME"))
        return (script.replace("#!/bin/sh\n", f"#!/bin/sh\n{own}", 1).replace("tries=20", f"tries={tries}")
                .replace("PATH=/usr/local", f"PATH={self.site.bin}:{os.environ['PATH']}:/usr/local"))

    def node(self) -> str:
        return self.site("scontrol", "show", "node", "n1", "-o").stdout

    def leave_memory(self, seconds: int) -> None:
        """A job whose process stays on its card after it, as one that nobody ends does."""
        code = (f"import time, torch; x = torch.zeros(1 << 30, dtype=torch.uint8, device='cuda'); "
                f"open('left', 'w').write('x'); time.sleep({seconds})")
        folder = self.site.directory
        (folder / "left").unlink(missing_ok=True)
        left = f"cd {folder}; setsid {sys.executable} -c {shlex.quote(code)} < /dev/null > /dev/null 2>&1 & " \
               f"while [ ! -e {folder}/left ]; do sleep 0.1; done"
        self.srun("--gres=gpu:1", "sh", "-c", left)

    def test_the_epilog_waits_for_the_memory_of_a_real_card_and_takes_out_a_node_where_it_stays(self) -> None:
        try:
            subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"], check=True,
                           capture_output=True)
        except subprocess.CalledProcessError:
            self.skipTest("this python has no torch that sees a GPU")
        own = self.site.directory / "own"
        for seconds, tries, is_drained in ((5, 20, False), (60, 3, True)):
            new = self.site.directory / "own.new"
            new.write_text(self.script("berth-job", tries), encoding="utf-8")
            new.chmod(0o755)
            new.rename(own)
            self.leave_memory(seconds)
            until = time.monotonic() + 60
            while "COMPLETING" in self.node() or "ALLOCATED" in self.node() or "MIXED" in self.node():
                self.assertLess(time.monotonic(), until, self.node())
                time.sleep(0.2)
            said = self.node()
            self.assertEqual("DRAIN" in said, is_drained, said)
            if is_drained:
                self.assertIn("Reason=berth: GPU 0 not free beside job", said)
                print(re.search("Reason=.*", said)[0])
        own.unlink()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if b"open('left'" in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass
        time.sleep(2)
        self.srun_health()
        self.assertNotIn("DRAIN", self.node())

    def srun_health(self) -> None:
        script = self.site.directory / "check"
        script.write_text(self.script("berth-health", 20), encoding="utf-8")
        subprocess.run(["/bin/sh", script], check=False, stdin=subprocess.DEVNULL,
                       env={"SLURMD_NODENAME": "n1", "PATH": os.environ["PATH"]})


if __name__ == "__main__":
    unittest.main()
