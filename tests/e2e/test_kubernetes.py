"""deploy/helm: the chart as a real helm renders it, held to Kubernetes' own types, and what its pod then does.

`./dev test` builds the judge of the types (tests/kubernetes) by Go, into build/peers/kubernetes. BERTH_LONG builds
helm, too; one on PATH will do. Without helm the manifests that it rendered are judged: tests/data/kubernetes."""

import base64
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import pytest
from aftermath import leases
from conftest import BERTH, ROOT, Machine, many_devices, wait_until
from serving import Server
from test_image import TOKEN, status_of
from test_isolate import PRIVATE_DEV
from test_join import free_port
from test_ps_enclosures import CASES, job, machine_seen_by  # noqa: F401  pylint: disable=unused-import
from test_ps_health import with_processes

CHART = ROOT / "deploy/helm/berth"
PEERS = ROOT / "build/peers/kubernetes"
KEPT = ROOT / "tests/data/kubernetes"
VALUES = {"default": ["--set", f"token={TOKEN}"],
          "everything": ["--values", str(ROOT / "tests/kubernetes/everything.yaml")]}


def tool(name):
    found = shutil.which(name, path=f"{PEERS}:{os.environ['PATH']}")
    if not found:
        pytest.skip(f"{name} is not here: ./dev test{' --long' if name == 'helm' else ''} builds it by Go")
    return found


def helm(tmp_path, *words):
    return subprocess.run([tool("helm"), *words], env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
                          capture_output=True, text=True, timeout=120, check=False)


def chart_files():
    return sorted(one for one in CHART.rglob("*") if one.is_file())


def sum_of_chart():
    """A hash of all that a rendering comes from."""
    whole = hashlib.sha256()
    for file in (*chart_files(), ROOT / "tests/kubernetes/everything.yaml"):
        whole.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.hexdigest()


def kept(name):
    return (KEPT / f"{name}.yaml").read_text(encoding="utf-8")


def part_of(text, kind):
    """One document of a file."""
    return next(part for part in re.split(r"^---$", text, flags=re.M) if f"\nkind: {kind}\n" in part)


@pytest.mark.parametrize("name", VALUES)
def test_helm_accepts_the_chart_and_renders_what_is_kept(tmp_path, name):
    linted = helm(tmp_path, "lint", "--strict", str(CHART), *VALUES[name])
    assert linted.returncode == 0, linted.stdout + linted.stderr
    rendered = helm(tmp_path, "template", "gpus", str(CHART), "--namespace", "watch", "--kube-version", "1.33.0",
                    *VALUES[name])
    assert rendered.returncode == 0, rendered.stderr
    if os.environ.get("BERTH_ACCEPT"):
        (KEPT / f"{name}.yaml").write_text(rendered.stdout, encoding="utf-8")
        (KEPT / "chart.sha256").write_text(sum_of_chart() + "\n", encoding="utf-8")
    assert rendered.stdout == kept(name), f"{name}.yaml is older than the chart: BERTH_ACCEPT=1 keeps the new one"


def test_what_is_kept_is_of_this_chart_and_each_template_says_something():
    """So that without helm no template that does not render, or renders nothing, is judged by what another one said."""
    told = (KEPT / "chart.sha256").read_text(encoding="utf-8").strip()
    assert told == sum_of_chart(), "the chart has changed since helm rendered what is kept: BERTH_ACCEPT=1, with helm"
    of_template = {}
    for part in re.split(r"^---$", kept("everything"), flags=re.M):
        if source := re.search(r"^# Source: berth/templates/(\S+)$", part, flags=re.M):
            of_template[source[1]] = re.search(r"^kind: (\w+)$", part, flags=re.M)
    templates = {one.name for one in CHART.glob("templates/*.yaml")}
    assert of_template.keys() == templates and all(of_template.values()), of_template


class Cluster(http.server.BaseHTTPRequestHandler):
    """As much of Kubernetes as a look for a Secret wants."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, code = self.path.partition("?")[0], 200
        if path == "/version":
            answer = {"major": "1", "minor": "33", "gitVersion": "v1.33.0"}
        elif path == "/api":
            answer = {"kind": "APIVersions", "versions": ["v1"]}
        elif path == "/apis":
            answer = {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
        elif path == "/api/v1":
            verbs = ["create", "get", "list"]
            kinds = {"secrets": "Secret", "configmaps": "ConfigMap", "services": "Service", "serviceaccounts": "ServiceAccount"}
            answer = {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
                {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": verbs} for name, kind in kinds.items()]}
        elif path == "/api/v1/namespaces/watch/secrets/gpus-berth-token" and self.server.token:
            answer = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gpus-berth-token", "namespace": "watch"},
                      "data": {"token": base64.b64encode(self.server.token.encode()).decode()}}
        else:
            code, answer = 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def cluster():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cluster)
    server.token = None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_an_upgrade_keeps_the_token_that_the_cluster_has(tmp_path, cluster):
    def token(*values):
        done = helm(tmp_path, "template", "gpus", str(CHART), "--namespace", "watch", "--kube-version", "1.33.0",
                    "--dry-run=server", "--kube-apiserver", f"http://127.0.0.1:{cluster.server_port}", *values)
        assert done.returncode == 0, done.stderr
        return re.search(r'token: "(.*)"', part_of(done.stdout, "Secret"))[1]
    made = token()
    assert re.fullmatch("berth_[A-Za-z0-9]{43}", made) and token() != made, "nothing is kept yet"
    cluster.token = made
    assert token() == token() == made
    assert token("--set", f"token={TOKEN}") == TOKEN, "who gives another means it"


def test_a_token_that_nobody_gave_is_one_and_each_has_another(tmp_path):
    def made():
        text = helm(tmp_path, "template", "gpus", str(CHART), "--kube-version", "1.33.0").stdout
        return re.search(r'token: "(berth_[A-Za-z0-9]{43})"', text)[1]
    assert made() != made()


def judged(*files):
    done = subprocess.run([tool("check_manifests"), *map(str, files)], capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(("name", "documents"), [("default", 6), ("everything", 7)])
def test_what_is_kept_is_what_kubernetes_types_know(name, documents):
    assert judged(KEPT / f"{name}.yaml") == (0, f"{documents} documents\n")


def test_docker_compose_reads_the_composition_with_all_its_profiles():
    done = subprocess.run([tool("check_manifests"), ROOT / "deploy/image/compose.yaml"], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "HOME": "/home/ana"}, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.split("\n")[:3] == ["service grafana", "service lab", "service prometheus"]


@pytest.mark.parametrize("before", ["    read_only: true", "    cap_drop: [ALL]"])
def test_docker_compose_refuses_what_it_does_not_know(tmp_path, before):
    text = (ROOT / "deploy/image/compose.yaml").read_text(encoding="utf-8")
    (tmp_path / "compose.yaml").write_text(text.replace(before, "    no_such_key: 1\n" + before, 1), encoding="utf-8")
    code, said = judged(tmp_path / "compose.yaml")
    assert code == 1 and "no_such_key" in said, said


@pytest.mark.parametrize(("right", "wrong", "said"), [
    ("containerPort: 9700", "containerport: 9700", 'unknown field "spec.template.spec.containers[0].ports[0].containerport"'),
    ("hostPID: true", "hostPid: true", 'unknown field "spec.template.spec.hostPid"'),
    ("periodSeconds: 10", 'periodSeconds: "10"', "periodSeconds"),
    ("clusterIP: None", "clusterIP: None\n  clusterIP: None", "clusterIP"),
    ("path: /metrics", "paths: /metrics", 'unknown field "spec.endpoints[0].paths"'),
    ("apps/v1", "apps/v1beta1", "no kind that this program knows"),
])
def test_the_judge_finds_what_is_wrong(tmp_path, right, wrong, said):
    text = kept("everything")
    assert right in text
    (tmp_path / "wrong.yaml").write_text(text.replace(right, wrong, 1), encoding="utf-8")
    code, output = judged(tmp_path / "wrong.yaml")
    assert code == 1 and said in output, output


@pytest.mark.parametrize("name", VALUES)
def test_the_pod_has_no_right_takes_no_card_and_asks_kubernetes_nothing(name):
    text = kept(name)
    pod = part_of(text, "DaemonSet")
    for wanted in ("runAsNonRoot: true", "readOnlyRootFilesystem: true", "capabilities: {drop: [ALL]}",
                   "allowPrivilegeEscalation: false", "seccompProfile: {type: RuntimeDefault}",
                   "automountServiceAccountToken: false", "{name: NVIDIA_VISIBLE_DEVICES, value: all}"):
        assert wanted in pod, wanted
    for unwanted in ("privileged", "hostNetwork", "hostIPC", "SYS_", "DAC_", "add:"):
        assert unwanted not in pod, unwanted
    assert "nvidia.com/gpu" not in re.search(r"resources:.*?volumeMounts:", pod, re.S)[0]
    for unwanted in ("Role", "ClusterRole"):
        assert f"kind: {unwanted}" not in text


def test_the_node_is_opened_only_for_what_was_switched_on():
    plain, all_of_it = part_of(kept("default"), "DaemonSet"), part_of(kept("everything"), "DaemonSet")
    for opened in ("hostPID: true", "/var/log/containers", "/var/log/pods", "/run/berth, type: Directory",
                   "runtimeClassName: nvidia"):
        assert opened in all_of_it and opened not in plain, opened
    assert plain.count("hostPath") == 0
    mounts = re.findall(r"\{name: (?:log-\w+|ledger), mountPath: [^}]*\}", all_of_it)
    assert len(mounts) == 3 and all("readOnly: true" in mount for mount in mounts)
    for both in ("everything", "default"):
        assert ("kind: ServiceMonitor" in kept(both)) is (both == "everything")


def words_of(pod, port):
    """The container's words, where the pod's address is the machine's."""
    args = re.search(r"args: \[(.*)\]", pod)[1]
    return [word.strip().strip('"') for word in re.split(r", (?=[-/\"])", args.replace("$(POD_IP)", "0.0.0.0").replace("9700", str(port)))]


@pytest.mark.parametrize("name", VALUES)
def test_the_pod_goes_to_nodes_with_a_card_though_they_are_kept_for_jobs_and_takes_little(name):
    pod = part_of(kept(name), "DaemonSet")
    affinity = re.search(r"nodeSelectorTerms:\n((?: {12}.*\n?)+)", pod)
    terms = affinity[1].split("- matchExpressions:\n")[1:] if affinity else []
    # One of them is enough: any of three discoveries has found a card. The other values say null: every node.
    assert [" ".join(term.split()) for term in terms] == ([
        '- key: feature.node.kubernetes.io/pci-10de.present operator: In values: - "true"',
        "- key: feature.node.kubernetes.io/cpu-model.vendor_id operator: In values: - NVIDIA",
        '- key: nvidia.com/gpu.present operator: In values: - "true"'] if name == "default" else [])
    tolerations = re.search(r"tolerations:\n((?: {8}.*\n?)+)", pod)[1]
    assert " ".join(tolerations.split()) == "- effect: NoSchedule key: nvidia.com/gpu operator: Exists"
    resources = re.search(r"resources:\n((?: {12}.*\n)+)", pod)[1]
    assert " ".join(resources.split()) == "limits: memory: 256Mi requests: cpu: 50m memory: 64Mi"


@pytest.mark.parametrize("name", VALUES)
def test_the_pods_own_words_serve_metrics_to_its_token_and_health_to_everybody(tmp_path, name):
    """The words, settings and token of the rendered manifests, given to the image's own script."""
    text, port = kept(name), free_port()
    settings = re.search(r"  serve\.toml: \|\n((?:    .*\n)+)", part_of(text, "ConfigMap"))[1]
    (tmp_path / "serve.toml").write_text(re.sub(r"^    ", "", settings, flags=re.M), encoding="utf-8")
    token = re.search(r'token: "(.*)"', part_of(text, "Secret"))[1]
    (tmp_path / "token").write_text(token, encoding="utf-8")
    words = words_of(part_of(text, "DaemonSet"), port)
    assert words[0] == "--config" and words[2] == "--listen" and len(words) == 4
    words[1], words[3] = str(tmp_path / "serve.toml"), words[3].split(",")[0]
    env = {"PATH": f"{os.path.dirname(BERTH)}:/usr/bin:/bin", "HOME": str(tmp_path), "BERTH_SIM": "server-8xh100",
           "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(tmp_path / "run"),
           "BERTH_LEDGER": str(tmp_path / "ledger"), "BERTH_ETC": str(tmp_path / "etc"),
           "BERTH_TOKEN_FILE": str(tmp_path / "token")}
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(["sh", ROOT / "deploy/image/serve", *words], env=env, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        def look():
            assert server.poll() is None, (tmp_path / "log").read_text(encoding="utf-8")
            return status_of(f"{url}/healthz") == 200
        wait_until(look, "the pod's health", 60)
        assert status_of(f"{url}/metrics") == 401
        assert status_of(f"{url}/metrics", token) == 200
        assert status_of(f"{url}/metrics", token, host="gpus-berth.watch.svc:9700") == 200
        assert status_of(f"{url}/metrics", token, host="evil:9700") == 421
        assert "unknown" not in (tmp_path / "log").read_text(encoding="utf-8")
    finally:
        server.terminate()
        server.wait(timeout=60)


@pytest.mark.parametrize("opened", [False, True])
def test_pods_are_named_on_page_and_in_metrics_where_they_are_opened(driver_of, job, opened):  # noqa: F811
    machine = driver_of(with_processes([job.pid]))
    case = next(one for one in CASES if one.name == "kubernetes pod from within a pod")
    inside, plain = machine_seen_by(machine, job.pid, case).inside, machine.command
    machine.command = lambda *words: [*inside, *plain(*words)]
    settings = machine.directory / "serve.toml"
    settings.write_text(f"[policy]\npods = {str(opened).lower()}\n", encoding="utf-8")
    server = Server(machine, "--config", settings)
    try:
        [process] = server.get("/api/v1/overview").json["processes"]
        assert process["container"] == ("kubernetes team-a/llm-0/worker" if opened else None)
        metrics = server.get("/metrics").body.decode()
        pod = f'namespace="team-a",pod="llm-0",container="worker",pod_uid="{case.enclosure["pod_uid"]}"' + "}"
        assert (re.search(rf"^berth_pod_memory_used_bytes.*,{re.escape(pod)} {20 << 30}$", metrics, re.M) is not None) is opened
        assert ("berth_pod_" in metrics) is opened and "berth_user_memory_used_bytes" in metrics
    finally:
        server.close()


def test_the_nodes_ledger_is_read_where_it_may_not_be_written(tmp_path):
    machine = Machine(tmp_path)
    job = machine.start("run", "--", "sleep", "300")  # pylint: disable=redefined-outer-name
    try:
        [lease] = wait_until(lambda: leases(machine), "the lease")
        read_only = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 9; shift; exec "$@"'
        as_user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
        done = subprocess.run(["unshare", *as_user, "--mount", "sh", "-c", read_only, "sh", machine.env["BERTH_LEDGER"],
                               *machine.command("leases", "--json")], env=machine.env, capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode == 9 or done.stderr.startswith("unshare:"):
            pytest.skip(f"nothing can be mounted here: {done.stderr}")
        assert done.returncode == 0, done.stderr
        assert [one["id"] for one in json.loads(done.stdout)["leases"]] == [lease["id"]]
    finally:
        machine.run("stop", "last", "--grace", "0s", timeout=60)
        job.wait(timeout=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="a /dev of one's own: only root can make one")
def test_a_run_in_a_pod_is_given_the_pods_cards_and_no_other(driver_of):
    """The node has eight; of two the pod has the files, as the device plugin leaves it."""
    snapshot = many_devices(8)
    for device in snapshot["devices"]:
        device["minor_number"] = device["index"]
    machine, pods = driver_of(snapshot), [snapshot["devices"][5]["id"], snapshot["devices"][6]["id"]]
    machine.env |= {"NVIDIA_VISIBLE_DEVICES": ",".join(pods), "BERTH_FAKE_NVML_FILES": "1",
                    "BEGIN_IN": str(machine.directory)}
    node, files = machine.command, PRIVATE_DEV.replace("0 3)", "5 6)")
    machine.command = lambda *words: ["unshare", "-m", "sh", "-c", files, "sh", *node(*words)]
    both = machine.run("run", "-q", "-n", "2", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", timeout=60)
    assert (both.returncode, both.stdout) == (0, "0,1\n"), both.stderr
    given = json.loads(machine.run("show", "--json", "last").stdout)["given"]["devices"]
    assert [one["id"] for one in given] == pods
    more = machine.run("run", "-q", "-n", "3", "--", "true", timeout=60)
    assert more.returncode == 124, more.stderr
