"""JupyterLab, Notebook 7 and a browser, on simulated GPUs; and the Jupyter of Debian 12.

./dev test --frameworks makes the environments (tools/frameworks.py) and names them in BERTH_JUPYTER and
BERTH_JUPYTER_CLASSIC; else all here is skipped. Each test has a Jupyter of its own, behind a prefix as
JupyterHub has one."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

HERE = pathlib.Path(__file__).resolve().parent


def load_e2e():
    """The end-to-end tests' conftest, under a name of its own: two cannot be called conftest."""
    place = HERE.parent / "e2e" / "conftest.py"
    spec = importlib.util.spec_from_file_location("e2e_conftest", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["e2e_conftest"] = module
    spec.loader.exec_module(module)
    return module


E2E = load_e2e()
sys.path[:0] = [str(E2E.ROOT / "tools"), str(HERE.parent / "e2e")]
import browser  # noqa: E402
import check_page  # noqa: E402
import make_wheel  # noqa: E402

ENVIRONMENT = os.environ.get("BERTH_JUPYTER", "")
CLASSIC = os.environ.get("BERTH_JUPYTER_CLASSIC", "")  # Notebook 6.4 and jupyter_server 1.23
TOKEN = "only-for-this-test"
BASE = "/user/ana/"
PATIENCE = 600  # a machine that compiles beside starts a lab in a minute


def pytest_collection_modifyitems(items):
    for item in items:
        is_classic = item.path.name == "test_classic.py"
        if not (CLASSIC if is_classic else ENVIRONMENT):
            wanted = "Notebook 6.4" if is_classic else "JupyterLab"
            item.add_marker(pytest.mark.skip(reason=f"needs {wanted}: ./dev test --frameworks"))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Jupyter:
    """A machine with a Jupyter of one user."""

    def __init__(self, machine):
        self.machine = machine
        self.directory = machine.directory
        self.notebooks = self.directory / "notebooks"
        self.notebooks.mkdir()
        self.shared = self.directory / "prefix"
        for name, (data, _) in make_wheel.jupyter_members(E2E.BUILD, "0.0.0").items():
            place = self.shared / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        self.runtime = self.directory / "runtime"
        machine.env |= {
            "PYTHONPATH": str(E2E.ROOT / "python"),
            "BERTH_LIBRARY": os.environ.get("BERTH_LIBRARY") or str(E2E.BUILD / "libberth.so.0"),
            "BERTH_HELPER": E2E.BERTH,
            "BERTH_SERVE_SOCKET": str(self.directory / "serve.sock"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JUPYTER_PATH": str(self.shared / "share/jupyter"),
            "JUPYTER_CONFIG_PATH": str(self.shared / "etc/jupyter"),
            "JUPYTER_CONFIG_DIR": str(self.directory / "config"),
            "JUPYTER_DATA_DIR": str(self.directory / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
        }
        self.process = None
        self.begun = []

    @property
    def bundle(self):
        return next((self.shared / "share/jupyter/labextensions/@berth/lab/static").glob("*.js"))

    @property
    def log(self):
        return (self.directory / "jupyter.log").read_text(encoding="utf-8", errors="replace")

    def start(self, *words, base=BASE):
        return self.start_with(
            [f"{ENVIRONMENT}/bin/python", "-m", "jupyterlab", "--allow-root", "--no-browser", "--ServerApp.port=0",
             f"--IdentityProvider.token={TOKEN}", f"--ServerApp.base_url={base}", "--LabApp.news_url=",
             "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
             f"--ServerApp.root_dir={self.notebooks}", *words],
            base,
        )  # fmt: skip

    def start_with(self, command, base=BASE):
        with open(self.directory / "jupyter.log", "wb") as output:
            self.process = subprocess.Popen(
                command, env=self.machine.environment({}), cwd=self.notebooks, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT,
            )  # fmt: skip

        def address():
            assert self.process.poll() is None, self.log
            for file in self.runtime.glob("*server-*.json"):  # nbserver-PID: the classic one's
                said = json.loads(file.read_text() or "{}")
                if said.get("port"):
                    return f"http://127.0.0.1:{said['port']}{base}"
            return None

        self.address = E2E.wait_until(address, "Jupyter says where it listens", PATIENCE)
        E2E.wait_until(lambda: self.answers("api/status"), "Jupyter answers", PATIENCE)
        return self

    def serve(self):
        """`berth serve` of this machine, at the socket where the extension looks."""
        socket = self.directory / "serve.sock"
        process = self.machine.start(
            "serve", "--listen", "127.0.0.1:0", "--socket", socket, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.begun.append(process)
        E2E.wait_until(socket.exists, "berth serve has its socket", PATIENCE)
        return process

    def answers(self, path):
        try:
            return self.ask(path).status == 200
        except OSError:
            return False

    def ask(self, path, method="GET", body=None, token=TOKEN, timeout=PATIENCE, **headers):
        """Headers as If_None_Match="…"."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = f"token {token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data=data, method=method, headers=sent)
        try:
            with NO_REDIRECTS.open(request, timeout=timeout) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return Answer(refused.code, refused.headers, refused.read())

    def overview(self):
        return self.ask("berth/api/overview").json

    def notebook(self, name, *cells):
        cells = [
            {"cell_type": "code", "execution_count": None, "id": f"c{at}", "metadata": {}, "outputs": [], "source": cell}
            for at, cell in enumerate(cells)
        ]
        spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        said = {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
        (self.notebooks / name).write_text(json.dumps(said), encoding="utf-8")

    def browse(self, scenario, **how):
        """What a scenario of lab.mjs tells; it fails with its words."""
        if reason := browser.why_no_browser() or check_page.bring_tools(E2E.ROOT):
            pytest.skip(reason)
        words = {"address": self.address, "token": TOKEN, "directory": str(self.directory), **how}
        done = subprocess.run(
            ["node", HERE / "lab.mjs", check_page.modules(E2E.ROOT), scenario, json.dumps(words)],
            env=os.environ | {"BERTH_CHROMIUM": browser.CHROMIUM}, capture_output=True, text=True, check=False,
            timeout=4 * PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{self.log[-3000:]}"
        return json.loads(done.stdout.splitlines()[-1])

    def leases(self):
        return json.loads(self.machine.run("leases", "--json").stdout)["leases"]

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                pass
        for process in filter(None, (self.process, *self.begun)):
            E2E.end(process)
        shutil.rmtree(self.notebooks, ignore_errors=True)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


NO_REDIRECTS = urllib.request.build_opener(NoRedirects)


@pytest.fixture
def jupyter(tmp_path):
    made = Jupyter(E2E.Machine(tmp_path))
    yield made
    made.end()


@pytest.fixture
def jupyter_on(tmp_path):
    """jupyter_on(snapshot): on simulated GPUs of a snapshot."""
    made = []

    def make(snapshot):
        played = tmp_path / "played.json"
        played.write_text(json.dumps(snapshot), encoding="utf-8")
        made.append(Jupyter(E2E.Machine(tmp_path, str(played))))
        return made[-1]

    yield make
    for one in made:
        one.end()
