"""deploy/image: built by a real podman and a real docker, started without rights, asked over HTTPS and ssh, stopped.

The stage `berth` stands on busybox and this machine's C library here, as it wants no more of a base. The stage `lab`
takes minutes (BERTH_LONG): it stands on a Debian that mmdebstrap makes, once, in build/peers."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from browser import CHROMIUM, why_no_browser
from conftest import BERTH, ROOT, wait_until
from engines import Docker, Podman, base_image, need_root
from test_join import free_port

sys.path[:0] = [str(ROOT / "tools")]
import check_page  # noqa: E402

LONG = bool(os.environ.get("BERTH_LONG"))
IMAGE = ROOT / "deploy/image"
BASE = "localhost/base:1"
TOKEN = "berth_" + "a" * 43
CONFINED = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "all", "--security-opt", "no-new-privileges",
            "--network", "host")
LIBRARIES = [f"/lib/x86_64-linux-gnu/{name}" for name in ("libc.so.6", "libm.so.6")] + ["/lib64/ld-linux-x86-64.so.2"]


@pytest.fixture(scope="module")
def podman():
    need_root()
    made = Podman()
    yield made
    made.close()


@pytest.fixture(scope="module")
def docker():
    need_root()
    made = Docker(is_trixie=False)
    yield made
    made.close()


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image") / "context"
    made = subprocess.run([sys.executable, ROOT / "tools/make_image.py", os.path.dirname(BERTH), folder],
                          capture_output=True, text=True, check=False)
    if "libberth" in made.stderr:
        pytest.skip("the library is not built: ./dev build")
    assert made.returncode == 0, made.stderr
    return folder


def build(engine, context, target, *options, timeout=300):
    # OCI's own format has no health checks.
    format_of = ("--format", "docker") if engine.name == "podman" else ()
    done = engine("build", *format_of, "--target", target, "--tag", f"localhost/{target}:1", "--build-arg", f"BASE={BASE}",
                  *options, "--file", context / "Containerfile", context, check=False, timeout=timeout)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return f"localhost/{target}:1"


def build_slim(engine, context):
    """The stage berth."""
    if missing := [one for one in LIBRARIES if not os.path.exists(one)]:
        pytest.skip(f"no {missing[0]} here")
    applets = ("head", "base64", "tr", "sha256sum", "date", "mv", "grep", "chown")
    engine("import", base_image(engine.directory, applets, LIBRARIES), BASE)
    return build(engine, context, "berth", "--network", "none")


@pytest.fixture(scope="module")
def slim(podman, context):
    return build_slim(podman, context)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:gpu1",
                    "-keyout", folder / "tls.key", "-out", folder / "tls.crt"], check=True, capture_output=True)
    (folder / "token").write_text(TOKEN + "\n", encoding="utf-8")
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.chmod(0o644)  # as a secret is mounted: of another user, to be read
    return folder


def status_of(url, token=None, host=None, ca=None):
    """None: nobody answers there yet."""
    trust = ssl.create_default_context(cafile=ca)
    if ca is None:
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    headers = {name: value for name, value in
               {"Authorization": token and f"Bearer {token}", "Host": host}.items() if value}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20, context=trust) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code
    except (OSError, urllib.error.URLError):
        return None


def logs(engine, container):
    done = engine("logs", container)
    return done.stdout + done.stderr


def run(engine, *words):
    return engine("run", "-d", *CONFINED, "-e", "BERTH_SIM=server-8xh100", *words).stdout.strip()


def is_up(engine, container, url):
    def look():
        if not engine.is_running(container):
            pytest.fail(logs(engine, container))
        return status_of(url) == 200
    wait_until(look, f"an answer of {url}", 120)


def page_over_https(engine, image, certificate):
    """Its container, and where it answers, after it was asked with and without its token."""
    port = free_port()
    container = run(engine, "-v", f"{certificate}:/run/secrets/berth:ro", "-e", "BERTH_HOSTS=gpu1", image,
                    "--listen", f"0.0.0.0:{port}", "--tls-cert", "/run/secrets/berth/tls.crt",
                    "--tls-key", "/run/secrets/berth/tls.key")
    url = f"https://localhost:{port}"
    is_up(engine, container, f"{url}/healthz")
    ca = certificate / "tls.crt"
    assert status_of(f"{url}/metrics", ca=ca) == 401
    assert status_of(f"{url}/metrics", TOKEN[:-1] + "b", ca=ca) == 401
    assert status_of(f"{url}/metrics", TOKEN, ca=ca) == 200
    assert status_of(f"{url}/", TOKEN, host=f"gpu1:{port}", ca=ca) == 200
    assert status_of(f"{url}/", TOKEN, host=f"evil:{port}", ca=ca) == 421
    pid = engine.inspect(container)["State"]["Pid"]
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        facts = dict(line.rstrip().split(":\t", 1) for line in status)
    assert facts["Uid"].split() == ["65534"] * 4 and int(facts["CapEff"], 16) == 0 and facts["NoNewPrivs"] == "1"
    assert TOKEN not in logs(engine, container)
    return container


def stopped(engine, container):
    engine("stop", "-t", "60", container, timeout=120)
    return engine.inspect(container)["State"]["ExitCode"]


def test_the_page_in_a_container_wants_its_token_over_https_and_has_no_right(podman, slim, certificate):
    container = page_over_https(podman, slim, certificate)
    wait_until(lambda: podman("healthcheck", "run", container, check=False).returncode == 0, "it is healthy", 60)
    assert stopped(podman, container) == 0


def test_it_is_its_base_and_16_megabytes(podman, slim):
    added = podman("image", "inspect", slim, BASE, "--format", "{{.Size}}").stdout.split()
    assert 0 < int(added[0]) - int(added[1]) < 16_000_000, added


def test_docker_builds_and_runs_it_too(docker, context, certificate):
    container = page_over_https(docker, build_slim(docker, context), certificate)
    assert docker.inspect(container)["Config"]["Healthcheck"]["Test"][0] == "CMD-SHELL"
    assert stopped(docker, container) == 0


def test_a_token_is_made_and_printed_once_and_kept(podman, slim):
    port, volume = free_port(), "kept"
    words = ("-v", f"{volume}:/var/lib/berth-image", slim, "--listen", f"0.0.0.0:{port}")
    url = f"http://localhost:{port}"
    first = run(podman, *words)
    is_up(podman, first, f"{url}/healthz")
    [token] = re.findall(r"berth_[\w-]{43}", logs(podman, first))
    assert status_of(f"{url}/metrics") == 401 and status_of(f"{url}/metrics", token) == 200
    stopped(podman, first)
    second = run(podman, *words)
    is_up(podman, second, f"{url}/healthz")
    assert token not in logs(podman, second)
    assert status_of(f"{url}/metrics", token) == 200
    podman("rm", "-f", "-t", "0", second)


@pytest.mark.parametrize("text", ["", "berth_", "hunter2", "berth_" + "a" * 31, "berth_" + "a" * 40 + '"'])
def test_a_file_without_a_token_opens_nothing(tmp_path, text):
    (tmp_path / "token").write_text(text, encoding="utf-8")
    done = subprocess.run(["sh", IMAGE / "serve"], env={"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(tmp_path),
                          "XDG_RUNTIME_DIR": str(tmp_path / "run"), "BERTH_TOKEN_FILE": str(tmp_path / "token")},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 64 and "holds no token" in done.stderr
    assert not (tmp_path / "berth/serve-tokens.json").exists()


def test_a_token_that_was_given_and_cannot_be_read_is_not_replaced(podman, slim, tmp_path):
    (tmp_path / "token").write_text(TOKEN, encoding="utf-8")
    tmp_path.chmod(0o700)
    done = podman("run", "--rm", *CONFINED, "-v", f"{tmp_path}:/run/secrets/berth:ro", slim, check=False)
    assert done.returncode == 64 and "user 65534 cannot read the token" in done.stderr, done.stderr
    assert "berth_" not in done.stderr


COMPOSE = ROOT / "build/peers/python-tools/bin/podman-compose"
PROMETHEUS = ROOT / "build/peers/prometheus/usr/bin/prometheus"


def test_compose_brings_up_the_page_and_a_prometheus_that_reads_it(podman, slim, certificate, tmp_path):
    """The composition with this machine's network, the stage berth for the lab and Debian's Prometheus."""
    for tool in (COMPOSE, PROMETHEUS):
        if not tool.exists():
            pytest.skip(f"no {tool.relative_to(ROOT)}: ./dev test --long has it")
    page, port = free_port(), free_port()
    for name in ("work", "tools"):
        (tmp_path / name).mkdir()
    shutil.copy(PROMETHEUS, tmp_path / "tools/prometheus")
    (tmp_path / "override.yaml").write_text(f"""
volumes: {{state: {{}}}}
services:
  lab:
    image: {slim}
    network_mode: host
    ports: !reset []
    deploy: !reset null
    environment: {{BERTH_SIM: server-8xh100, BERTH_TOKEN_FILE: /run/secrets/token}}
    command: [--listen, "0.0.0.0:{page}", --tls-cert, /tls/tls.crt, --tls-key, /tls/tls.key]
    volumes: ["{certificate}:/tls:ro", "state:/var/lib/berth-image"]
  prometheus:
    image: {slim}
    network_mode: host
    extra_hosts: ["lab:127.0.0.1"]
    entrypoint: [/tools/prometheus]
    command: !override [--config.file=/etc/prometheus/prometheus.yml, --storage.tsdb.path=/tmp/data,
                        "--web.listen-address=127.0.0.1:{port}"]
    tmpfs: [/tmp]
    volumes: ["{tmp_path}/tools:/tools:ro", "{tmp_path}/prometheus.yml:/etc/prometheus/prometheus.yml:ro"]
""", encoding="utf-8")
    text = (IMAGE / "watch/prometheus.yml").read_text(encoding="utf-8")
    (tmp_path / "prometheus.yml").write_text(text.replace("lab:9700", f"lab:{page}").replace("15s", "1s"), encoding="utf-8")
    (certificate / "authorized_keys").touch()
    env = podman.env | {"LAB_WORK": str(tmp_path / "work"), "LAB_SECRETS": str(certificate)}

    def compose(*words):
        return subprocess.run([COMPOSE, "-f", IMAGE / "compose.yaml", "-f", tmp_path / "override.yaml", "--profile",
                               "watch", *words], env=env, capture_output=True, text=True, timeout=300, check=False)

    def up():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query=up%7Bjob%3D%22berth%22%7D", timeout=20) as answer:
                found = json.load(answer)["data"]["result"]
                return found and found[0]["value"][1] == "1"
        except (OSError, urllib.error.URLError):
            return False
    try:
        done = compose("up", "-d", "lab", "prometheus")
        assert done.returncode == 0, done.stderr
        is_up(podman, "berth_lab_1", f"https://localhost:{page}/healthz")
        assert podman.inspect("berth_lab_1")["HostConfig"]["ReadonlyRootfs"] is True
        wait_until(up, "Prometheus has read the page with its token", 120)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/rules", timeout=20) as answer:
            assert json.load(answer)["data"]["groups"], "it follows our rules"
    finally:
        done = compose("down", "-t", "1")
    assert not podman("ps", "-q").stdout.strip(), done.stderr


# --- the lab ---------------------------------------------------------------------------------------

needs_time = pytest.mark.skipif(not LONG, reason="takes minutes: ./dev test --long")


def debian():
    """A tar of Debian 13, made once."""
    tar = ROOT / "build/peers/trixie.tar"
    if not tar.exists():
        if not shutil.which("mmdebstrap"):
            pytest.skip("mmdebstrap is not installed")
        made = tar.with_suffix(".new")
        done = subprocess.run(["mmdebstrap", "--format=tar", "--variant=minbase", "--include=ca-certificates",
                               "--aptopt=Acquire::Languages \"none\"", "--dpkgopt=path-exclude=/usr/share/doc/*",
                               "trixie", made], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no Debian can be made here: {done.stderr[-400:]}")
        made.rename(tar)
    return tar


@pytest.fixture(scope="module")
def lab(podman, context):
    podman("import", debian(), BASE, timeout=300)
    # What this machine trusts, its registries may be signed by.
    trust = [word for name in ("PIP_INDEX_URL", "PIP_CERT") if name in os.environ
             for word in ("--env", f"{name}={os.environ[name]}")]
    return build(podman, context, "lab", "--network", "host", "-v", "/etc/ssl/certs:/etc/ssl/certs:ro", *trust,
                 "--build-arg", "UID=1234", "--build-arg", "GID=1234", timeout=1800)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "id"], check=True)
    return folder


@needs_time
def test_a_lab_without_a_volume_is_refused(podman, lab):
    done = podman("run", "--rm", *CONFINED, lab, check=False, timeout=120)
    assert done.returncode == 64 and "-v $PWD/work:/work" in done.stderr


def panel_in_a_browser(token):
    """What the panel of the lab shows in Chromium; None: there is none here."""
    if why_no_browser() or check_page.bring_tools(ROOT):
        return None
    words = json.dumps({"address": "https://localhost:8888/", "token": token})
    done = subprocess.run(["node", ROOT / "tests/jupyter/lab.mjs", check_page.modules(ROOT), "looks", words],
                          env=os.environ | {"BERTH_CHROMIUM": CHROMIUM}, capture_output=True, text=True, timeout=900,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@needs_time
def test_a_lab_is_asked_over_https_and_ssh_and_stopped(podman, lab, keys, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    os.chown(work, 1234, 1234)
    for port in (8888, 9700, 2222):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("0.0.0.0", port))
            except OSError:
                pytest.skip(f"port {port} is taken here")
    words = ("-v", f"{work}:/work", "-v", f"{keys / 'id.pub'}:/run/secrets/authorized_keys:ro",
             "-e", "BERTH_HOSTS=gpu1", lab)
    container = run(podman, *words)
    is_up(podman, container, "https://localhost:8888/api")
    is_up(podman, container, "https://localhost:9700/healthz")
    said = logs(podman, container)
    [token] = set(re.findall(r"berth_[\w-]{43}", said))
    ca = work / ".lab/tls.crt"
    assert status_of("https://localhost:8888/api/contents", ca=ca) == 403
    assert status_of(f"https://localhost:8888/api/contents?token={token}", ca=ca) == 200
    # The panel: its JavaScript, which JupyterLab loads, and behind it berth in JupyterLab, and the page.
    known = podman("exec", container, "jupyter", "labextension", "list", check=False)
    assert re.search("berth.*enabled.*OK", known.stdout + known.stderr), known.stdout + known.stderr
    assert status_of(f"https://localhost:8888/berth/api/overview?token={token}", ca=ca) == 200
    assert status_of("https://localhost:8888/berth/api/overview", ca=ca) == 403
    if seen := panel_in_a_browser(token):
        assert seen["told"].count("GPU ") >= 8 and "SIMULATED" in seen["told"], seen
        assert seen["violations"] == [] and seen["errors"] == [], seen
    assert status_of("https://localhost:9700/metrics", ca=ca) == 401
    assert status_of("https://localhost:9700/metrics", token, host="gpu1:9700", ca=ca) == 200
    ssh = ["ssh", "-p", "2222", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
           "-o", f"UserKnownHostsFile={tmp_path / 'known'}"]
    told = subprocess.run([*ssh, "-i", keys / "id", "lab@localhost", "id -u; berth status --json; ls /opt/berth/examples"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 0, told.stderr + logs(podman, container)
    number, rest = told.stdout.split("\n", 1)
    assert number == "1234" and "train.py" in rest
    assert len(json.JSONDecoder().raw_decode(rest)[0]["devices"]) == 8
    stranger = subprocess.run([*ssh, "-o", "IdentityFile=none", "-o", "IdentityAgent=none", "lab@localhost", "true"],
                              capture_output=True, text=True, timeout=120, check=False)
    assert stranger.returncode == 255 and "Permission denied (publickey)" in stranger.stderr
    for line in podman("top", container, "user", "capeff").stdout.splitlines()[1:]:
        assert line.split() == ["lab", "none"] or line.split() == ["1234", "none"], line
    wait_until(lambda: podman("healthcheck", "run", container, check=False).returncode == 0, "it is healthy", 60)
    assert stopped(podman, container) == 143
    again = run(podman, *words)
    is_up(podman, again, "https://localhost:8888/api")
    assert token not in logs(podman, again)
    assert status_of(f"https://localhost:8888/api/contents?token={token}", ca=ca) == 200
    # One service that ends takes the container along.
    podman("exec", again, "bash", "-c", "kill $(cat /proc/[0-9]*/stat | grep '(sshd)' | head -1 | cut -d' ' -f1)")
    wait_until(lambda: not podman.is_running(again), "the lab's end", 60)
    assert podman.inspect(again)["State"]["ExitCode"] != 0


@needs_time
def test_a_lab_is_not_roots(podman, lab, context):
    done = podman("build", "--format", "docker", "--target", "lab", "--build-arg", f"BASE={BASE}", "--build-arg", "UID=0", "--network", "none",
                  "--file", context / "Containerfile", context, check=False, timeout=1800)
    assert done.returncode != 0
    assert "root's work is not for a lab" in done.stdout + done.stderr
