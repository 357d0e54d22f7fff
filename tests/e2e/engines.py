"""Real container engines for the tests: Debian's docker and podman, unpacked and never installed.

`./dev test` unpacks them into build/peers/engines (Debian 12's: docker 20.10, podman 4.3) and
build/peers/engines-trixie (docker 26.1, which knows CDI). Each has folders of its own below a
temporary directory; nothing of the machine's own engines is seen. Where one cannot run, its tests
are skipped with what it said."""

import hashlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "build/peers/engines"
PEERS_TRIXIE = ROOT / "build/peers/engines-trixie"
IMAGE = "localhost/busy:1"
# What a host without systemd and with less than all of root's rights leaves possible.
LIMITS = {"nofile": 1024, "nproc": 4096}


def unpacked(path):
    if not path.exists():
        pytest.skip(f"{path.name} is not unpacked in {path.parent} (./dev test does it)")
    return path


def base_image(directory, applets=(), libraries=()):
    """A tar with busybox and nothing else; or with libraries of this machine as well."""
    busybox = unpacked(PEERS / "bin/busybox")
    root = directory / "root"
    shutil.rmtree(root, ignore_errors=True)
    (root / "bin").mkdir(parents=True)
    for name in ("dev", "etc", "proc", "sys", "tmp"):
        (root / name).mkdir()
    (root / "tmp").chmod(0o1777)
    shutil.copy(busybox, root / "bin/busybox")
    for applet in ("sh", "sleep", "cat", "ls", "echo", "true", "env", "kill", "dd", "tail", "touch", "id", "mkdir",
                   *applets):
        (root / "bin" / applet).symlink_to("busybox")
    for library in libraries:
        place = root / str(library).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)
    tar = directory / "base.tar"
    subprocess.run(["tar", "-C", root, "-cf", tar, "."], check=True)
    return tar


def registry_of(tar):
    """A registry on 127.0.0.1, which engines take without TLS: its image busy:1 has that tar as its layer.
    The server, and what the image is called there."""
    layer = tar.read_bytes()
    blobs = {}

    def kept(blob):
        digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
        blobs[digest] = blob
        return {"size": len(blob), "digest": digest}
    made_of = {"architecture": "amd64", "os": "linux", "config": {},
               "rootfs": {"type": "layers", "diff_ids": [kept(layer)["digest"]]}}
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    manifest = json.dumps({"schemaVersion": 2, "mediaType": kind, "config": kept(json.dumps(made_of).encode()) | {
        "mediaType": "application/vnd.docker.container.image.v1+json"}, "layers": [kept(layer) | {
            "mediaType": "application/vnd.docker.image.rootfs.diff.tar"}]}).encode()
    digest = kept(manifest)["digest"]

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            last = self.path.rpartition("/")[2]
            body = blobs.get(digest if last == "1" else last, b"{}")
            self.send_response(200)
            self.send_header("Content-Type", kind if body == manifest else "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(body).hexdigest()}")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"127.0.0.1:{server.server_port}/busy:1", digest


class Engine:
    """An engine that runs: `env` is what its client needs, `name` its program."""

    def __init__(self, name):
        self.name = name
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-"))
        self.bin = self.directory / "bin"
        self.bin.mkdir()
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.directory)}

    def __call__(self, *words, check=True, timeout=60):
        done = subprocess.run([self.bin / self.name, *map(str, words)], env=self.env, text=True,
                              capture_output=True, timeout=timeout)
        if check:
            assert done.returncode == 0, f"{self.name} {words}: {done.stderr}"
        return done

    def inspect(self, container):
        return json.loads(self("container", "inspect", container).stdout)[0]

    def is_running(self, container):
        done = self("container", "inspect", container, check=False)
        return done.returncode == 0 and json.loads(done.stdout)[0]["State"]["Running"]

    def link(self, *programs):
        for program in programs:
            (self.bin / program.name).symlink_to(unpacked(program))

    def wrapper(self, program, **variables):
        """Under its own name, with variables that only it is to have."""
        words = " ".join(f'{name}="{value}"' for name, value in variables.items())
        path = self.bin / program.name
        path.write_text(f'#!/bin/sh\n{words} exec {unpacked(program)} "$@"\n', encoding="utf-8")
        path.chmod(0o755)

    def remove_containers(self):
        listed = self("ps", "-aq", check=False).stdout.split()
        if listed:
            self("rm", "-f", *(("-t", "0") if self.name == "podman" else ()), *listed, check=False)

    def image(self):
        """An image, and whether a container of it runs here."""
        tried = self("import", base_image(self.directory), IMAGE, check=False)
        if tried.returncode == 0:
            tried = self("run", "--rm", "--network", "none", IMAGE, "/bin/true", check=False)
        if tried.returncode != 0:
            pytest.skip(f"{self.name} does not run here: {tried.stderr[-400:]}")

    def close(self):
        self.remove_containers()
        shutil.rmtree(self.directory, ignore_errors=True)


class Docker(Engine):
    """dockerd on a socket of its own, without network."""

    def __init__(self, is_trixie, path="", settings=None):
        super().__init__("docker")
        self.env["PATH"] += path and f":{path}"
        newest = PEERS_TRIXIE if is_trixie else PEERS
        self.link(*(newest / f"usr/bin/{name}" for name in
                    ("docker", "containerd", "containerd-shim-runc-v2")))
        (self.bin / "docker-init").symlink_to(unpacked(PEERS / "usr/bin/tini-static"))
        self.link(newest / "usr/sbin/dockerd", newest / "usr/sbin/docker-proxy", PEERS / "usr/sbin/runc")
        self.socket = self.directory / "sock"
        self.env["DOCKER_HOST"] = f"unix://{self.socket}"
        self.cdi = self.directory / "cdi"
        self.cdi.mkdir()
        settings = (settings or {}) | {"default-ulimits": {name: {"Name": name, "Hard": most, "Soft": most}
                                        for name, most in LIMITS.items()}}
        if is_trixie:
            settings |= {"features": {"cdi": True}, "cdi-spec-dirs": [str(self.cdi)]}
        (self.directory / "daemon.json").write_text(json.dumps(settings), encoding="utf-8")
        self.daemon = None
        self.start()
        self.image()

    def start(self):
        here = self.directory
        env = {name: value for name, value in self.env.items() if name != "DOCKER_HOST"}
        with open(here / "log", "ab") as log:
            self.daemon = subprocess.Popen(
                [self.bin / "dockerd", "--config-file", here / "daemon.json", "--data-root", here / "data",
                 "--exec-root", here / "exec", "--pidfile", here / "pid", "-H", f"unix://{self.socket}",
                 "--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false",
                 "--ip-masq=false", "--storage-driver=overlay2"],
                env=env, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while not self.answers():
            said = (here / "log").read_text(errors="replace")[-400:]
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                pytest.skip(f"dockerd does not run here: {said}")
            time.sleep(0.1)

    def answers(self):
        try:
            return self("version", check=False, timeout=10).returncode == 0
        except subprocess.TimeoutExpired:  # it takes connections before it has begun
            return False

    def kill_daemon(self):
        """And the containerd that it started: the next one would wait for that before it answers."""
        self.daemon.kill()
        self.daemon.wait()
        other = self.directory / "exec/containerd/containerd.pid"
        os.kill(int(other.read_text()), signal.SIGKILL)
        other.unlink()
        (self.directory / "pid").unlink(missing_ok=True)

    def close(self):
        if self.answers():
            self.remove_containers()
        self.daemon.terminate()
        try:
            self.daemon.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
        # It mounts its folder on itself at each start, and leaves that and a network's.
        for line in reversed(pathlib.Path("/proc/mounts").read_text(encoding="utf-8").splitlines()):
            if line.split()[1].startswith(f"{self.directory}/"):
                subprocess.run(["umount", line.split()[1]], capture_output=True, check=False)
        shutil.rmtree(self.directory, ignore_errors=True)


class Podman(Engine):
    """podman as root, with runc, its images and containers in folders of its own."""

    def __init__(self):
        super().__init__("podman")
        libraries = f"{PEERS}/usr/lib/x86_64-linux-gnu:{PEERS}/lib/x86_64-linux-gnu"
        self.wrapper(PEERS / "usr/bin/podman", LD_LIBRARY_PATH=libraries)
        # It starts podman anew at a container's end, from an environment without its variables.
        self.wrapper(PEERS / "usr/bin/conmon", LD_LIBRARY_PATH=libraries)
        here = self.directory
        limits = ", ".join(f'"{name}={most}:{most}"' for name, most in LIMITS.items())
        (here / "containers.conf").write_text(f"""
[containers]
default_ulimits = [{limits}]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{here}/tmp"
conmon_path = ["{self.bin}/conmon"]
helper_binaries_dir = ["{PEERS}/usr/libexec/podman"]
[engine.runtimes]
runc = ["{PEERS}/usr/sbin/runc"]
""", encoding="utf-8")
        (here / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{here}/graph"\nrunroot = "{here}/run"\n', encoding="utf-8")
        policy = here / ".config/containers/policy.json"
        policy.parent.mkdir(parents=True)
        policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}', encoding="utf-8")
        self.env |= {"CONTAINERS_CONF": str(here / "containers.conf"),
                     "CONTAINERS_STORAGE_CONF": str(here / "storage.conf"), "XDG_RUNTIME_DIR": str(here)}
        self.image()


class Nerdctl(Engine):
    """The nerdctl that ./dev test --long builds, or the one on PATH, from 2.1 on. It works before a containerd of its
    own (Debian 13's)."""

    def __init__(self):
        program = shutil.which("nerdctl", path=f"{ROOT}/build/peers/nerdctl:{os.environ['PATH']}")
        if program is None:
            pytest.skip("nerdctl is neither installed nor built: ./dev test --long")
        super().__init__("nerdctl")
        (self.bin / "nerdctl").symlink_to(program)
        self.link(*(PEERS_TRIXIE / f"usr/bin/{name}" for name in ("containerd", "containerd-shim-runc-v2")),
                  PEERS / "usr/sbin/runc")
        (self.bin / "tini").symlink_to(unpacked(PEERS / "usr/bin/tini-static"))
        here = self.directory
        self.cdi = here / "cdi"
        self.cdi.mkdir()
        (here / "containerd.toml").write_text(f"""
version = 2
root = "{here}/root-of-containerd"
state = "{here}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "{here}/sock"
""", encoding="utf-8")
        (here / "nerdctl.toml").write_text(f"""
address = "{here}/sock"
data_root = "{here}/data"
cni_path = "{here}/cni"
cni_netconfpath = "{here}/net"
cgroup_manager = "cgroupfs"
""", encoding="utf-8")
        self.env["NERDCTL_TOML"] = str(here / "nerdctl.toml")
        with open(here / "log", "ab") as log:
            self.daemon = subprocess.Popen([self.bin / "containerd", "-c", here / "containerd.toml"], env=self.env,
                                           stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while self("ps", check=False).returncode != 0:
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                pytest.skip(f"containerd does not run here: {(here / 'log').read_text(errors='replace')[-400:]}")
            time.sleep(0.1)
        self.image()

    def close(self):
        self.remove_containers()
        self.daemon.terminate()
        try:
            self.daemon.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


def need_root():
    if os.geteuid() != 0:
        pytest.skip("container engines need root here")
