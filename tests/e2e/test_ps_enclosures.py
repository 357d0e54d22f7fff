"""`berth ps` names what encloses a process. The process's control group is a file of the test's own, laid over a living
process's. So are the runtimes' folders in which names and images stand."""

import json
import os
import subprocess
from dataclasses import dataclass, field

import pytest
from conftest import end
from test_ps_health import with_processes

ID = "4f" * 32
SHORT = ID[:12]
POD = "2f5c1d3e-0000-4b1c-8d3f-112233445566"
SLICE = f"kubepods-burstable-pod{POD.replace('-', '_')}.slice"
TASKS = "/run/containerd/io.containerd.runtime.v2.task"

# As podman 4 and 5 write it: the metadata are JSON in a text.
PODMAN = json.dumps([
    {"id": "ab" * 32, "names": ["another"]},
    {"id": ID, "names": ["keep"], "metadata": json.dumps({"image-name": "docker.io/library/alpine:latest"})},
])
CRI = json.dumps({"annotations": {
    "io.kubernetes.cri.container-name": "worker", "io.kubernetes.cri.image-name": "registry.local/llm:7",
    "io.kubernetes.cri.sandbox-name": "llm-0", "io.kubernetes.cri.sandbox-namespace": "team-a",
}})  # fmt: skip
NERDCTL = json.dumps({"annotations": {"nerdctl/name": "bench", "nerdctl/namespace": "default"}})
DOCKER = json.dumps({"Name": "/llm-train", "Config": {"Image": "pytorch/pytorch:2.5.1"}})


@dataclass
class Case:
    name: str
    cgroup: str
    shown: str  # or its beginning: the column is 28 wide
    enclosure: dict  # these keys of the JSON
    container: str
    files: dict = field(default_factory=dict)  # path: text


CASES = [
    Case("docker", f"0::/system.slice/docker-{ID}.scope", "docker llm-train",
         {"runtime": "docker", "id": ID, "name": "llm-train", "image": "pytorch/pytorch:2.5.1"}, f"docker {SHORT}",
         {f"/var/lib/docker/containers/{ID}/config.v2.json": DOCKER}),
    Case("podman", f"0::/machine.slice/libpod-{ID}.scope/container", "podman keep",
         {"runtime": "podman", "id": ID, "name": "keep", "image": "docker.io/library/alpine:latest"}, f"podman {SHORT}",
         {"/var/lib/containers/storage/overlay-containers/containers.json": PODMAN}),
    Case("containerd", f"0::/system.slice/nerdctl-{ID}.scope", "containerd bench",
         {"runtime": "containerd", "id": ID, "name": "bench"}, f"containerd {SHORT}",
         {f"{TASKS}/default/{ID}/config.json": NERDCTL}),
    Case("containerd without its files", f"0::/system.slice/nerdctl-{ID}.scope", f"containerd {SHORT}",
         {"runtime": "containerd", "id": ID, "name": None}, f"containerd {SHORT}"),
    Case("kubernetes pod", f"0::/kubepods.slice/kubepods-burstable.slice/{SLICE}/cri-containerd-{ID}.scope",
         "kubernetes team-a/llm-0/wor",
         {"runtime": "kubernetes", "id": ID, "pod_uid": POD, "name": "team-a/llm-0/worker",
          "image": "registry.local/llm:7"}, f"kubernetes pod {POD}", {f"{TASKS}/k8s.io/{ID}/config.json": CRI}),
    Case("kubernetes pod without its files", f"0::/kubepods/burstable/pod{POD}/{ID}", f"kubernetes pod {POD[:12]}",
         {"runtime": "kubernetes", "id": ID, "pod_uid": POD, "name": None}, f"kubernetes pod {POD}"),
    # What a pod with the node's process numbers sees of its neighbour: it may list the kubelet's logs.
    Case("kubernetes pod from within a pod", f"0::/../../pod{POD}/{ID}", "kubernetes team-a/llm-0/wor",
         {"runtime": "kubernetes", "id": ID, "pod_uid": POD, "name": "team-a/llm-0/worker"}, f"kubernetes pod {POD}",
         {f"/var/log/containers/llm-0_team-a_worker-{ID}.log": ""}),
    Case("slurm job", "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0", "slurm job 42",
         {"runtime": "slurm", "id": "42.0", "name": None}, "slurm job 42"),
    Case("slurm job of cgroup v1", "9:freezer:/slurm/uid_1002/job_77/step_batch\n0::/system.slice/slurmd.service",
         "slurm job 77", {"runtime": "slurm", "id": "77.batch", "owner_uid": 1002}, "slurm job 77"),
    Case("systemd unit", "0::/system.slice/ollama.service", "systemd unit ollama.service",
         {"runtime": "systemd", "id": "ollama.service", "name": None}, "systemd unit ollama.service"),
]  # fmt: skip

# Words: the file of the process, what it must say, a folder with run/, var/lib/ and var/log/. Then the command.
OVERLAID = """
mount --bind "$2" "$1" || exit 9
mount --bind "$3/run" /run && mount --bind "$3/var/lib" /var/lib && mount --bind "$3/var/log" /var/log || exit 9
shift 3
exec "$@"
"""


@pytest.fixture
def job():
    process = subprocess.Popen(["sleep", "300"])
    yield process
    end(process)


def machine_seen_by(machine, pid, case):
    """ask(words…): what the program says where the process is enclosed so."""
    root = machine.directory / "root"
    for folder in ("run", "var/lib", "var/log"):
        (root / folder).mkdir(parents=True)
    for path, text in case.files.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    cgroup = machine.directory / "cgroup"
    cgroup.write_text(case.cgroup + "\n", encoding="utf-8")
    as_user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    inside = ["unshare", *as_user, "--mount", "sh", "-c", OVERLAID, "sh", f"/proc/{pid}/cgroup", str(cgroup), str(root)]

    def ask(*words):
        done = subprocess.run([*inside, *machine.command(*words)], env=machine.environment({"COLUMNS": "200"}),
                              capture_output=True, text=True, timeout=30, check=False)  # fmt: skip
        if done.returncode == 9 or done.stderr.startswith("unshare:"):
            pytest.skip(f"no file of /proc can be laid over here: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        return done.stdout

    ask.inside = inside
    return ask


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ps_names_what_encloses_a_process(driver_of, job, case):
    ask = machine_seen_by(driver_of(with_processes([job.pid])), job.pid, case)
    [line] = [line for line in ask("ps").splitlines() if f" {job.pid} " in line]
    assert case.shown in line
    [row] = json.loads(ask("ps", "--json"))["processes"]
    process = row["process"]
    assert process["container"] == case.container
    assert {key: process["enclosure"].get(key) for key in case.enclosure} == case.enclosure


def test_ps_names_nothing_where_a_process_is_nobodys(driver_of, job):
    case = Case("none", "0::/user.slice/user-1000.slice/session-3.scope", "", {}, "")
    ask = machine_seen_by(driver_of(with_processes([job.pid])), job.pid, case)
    [row] = json.loads(ask("ps", "--json"))["processes"]
    assert row["process"]["container"] == "" and row["process"].get("enclosure") is None
