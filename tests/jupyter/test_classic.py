"""Debian 12's Jupyter: Notebook 6.4, whose server is its own, and jupyter_server 1.23."""

import json
import socket
import subprocess

import pytest

from conftest import BASE, CLASSIC, E2E, PATIENCE, TOKEN

MAGICS = ("%load_ext berth", "%berth", "%berth lease 1 --memory 10G", "%berth", "%berth release", "%%berth_memory\nx = 1")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(jupyter, module, app):
    command = [f"{CLASSIC}/bin/python", "-m", module, "--allow-root", "--no-browser", f"--{app}.port={free_port()}"]
    folder = "notebook_dir" if app == "NotebookApp" else "root_dir"
    options = {"token": TOKEN, "base_url": BASE, folder: jupyter.notebooks}
    return jupyter.start_with([*command, *(f"--{app}.{name}={value}" for name, value in options.items())])


def of_berth(jupyter):
    return [line for line in jupyter.log.splitlines() if "berth" in line.lower() and "/berth/" not in line]


def test_the_magics_work(jupyter):
    jupyter.notebook("magics.ipynb", *MAGICS)
    done = subprocess.run(
        [f"{CLASSIC}/bin/python", "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "done", "magics.ipynb"],
        cwd=jupyter.notebooks, env=jupyter.machine.environment({}), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cells = json.loads((jupyter.notebooks / "done.ipynb").read_text(encoding="utf-8"))["cells"]
    said = ["".join("".join(one.get("text", one.get("traceback", ""))) for one in cell["outputs"]) for cell in cells]
    assert said[0] == "" and "GPU" in said[1] and "alice" in said[1]
    assert "this kernel's until `%berth release`" in said[2] and said[2].startswith("GPU 3")
    assert said[4] == "released: GPU 3\n"
    assert said[5] == "berth: this kernel's GPU memory is not known: torch has started on no device\n"


def test_the_extension_answers_on_jupyter_server_1(jupyter):
    start(jupyter, "jupyter_server", "ServerApp")
    jupyter.serve()
    assert jupyter.ask("api/kernels", "POST", {"name": "python3"}).status == 201
    E2E.wait_until(lambda: jupyter.overview()["source"] == "serve", "serve is asked", PATIENCE)
    said = jupyter.overview()
    assert len(said["devices"]) == 8 and len(said["kernels"]) == 1 and said["problem"] is None
    first = jupyter.ask("berth/page/")
    assert first.status == 200 and "frame-ancestors 'self'" in first.headers["Content-Security-Policy"]
    assert jupyter.ask("berth/api/overview", token=None).status == 403
    assert jupyter.ask("berth/page/", token=None).status == 302
    assert "Traceback" not in jupyter.log


def test_what_keeps_the_extension_from_jupyter_server_is_one_line(jupyter):
    broken = jupyter.directory / "broken/berth/jupyter"
    broken.mkdir(parents=True)
    for name in ("__init__.py", "kernels.py", "shared_look.py"):
        (broken / name).write_bytes((E2E.ROOT / "python/berth/jupyter" / name).read_bytes())
    (broken.parent / "__init__.py").touch()
    (broken / "handlers.py").write_text("import jupyter_of_tomorrow\n")
    jupyter.machine.env["PYTHONPATH"] = str(broken.parents[1])
    start(jupyter, "jupyter_server", "ServerApp")
    assert jupyter.ask("api/kernelspecs").status == 200 and jupyter.ask("berth/api/overview").status == 404
    (said,) = [line for line in of_berth(jupyter) if "not to be had" in line]
    assert "jupyter_of_tomorrow" in said and "Traceback" not in jupyter.log


@pytest.mark.parametrize("case", ["as installed", "switched on", "without the library", "a broken package"])
def test_the_classic_notebook_starts(jupyter, case):
    if case != "as installed":
        place = jupyter.shared / "etc/jupyter/jupyter_notebook_config.d/berth.json"
        place.parent.mkdir(parents=True)
        place.write_text('{"NotebookApp": {"nbserver_extensions": {"berth.jupyter": true}}}')
    if case == "without the library":
        jupyter.machine.env["BERTH_LIBRARY"] = "/nonexistent/libberth.so"
    if case == "a broken package":
        broken = jupyter.directory / "broken/berth"
        broken.mkdir(parents=True)
        (broken / "__init__.py").write_text("raise RuntimeError('broken on purpose')\n")
        jupyter.machine.env["PYTHONPATH"] = str(broken.parent)
    start(jupyter, "notebook", "NotebookApp")
    assert b"jupyter" in jupyter.ask("tree").body.lower()
    assert jupyter.ask("api/kernels", "POST", {"name": "python3"}).status == 201
    said = [line for line in of_berth(jupyter) if "neither its panel nor its page" in line]
    assert len(said) == (1 if case in ("switched on", "without the library") else 0), jupyter.log
    assert ("Traceback" in jupyter.log) == (case == "a broken package"), jupyter.log
