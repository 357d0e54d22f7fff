"""The wheel, installed by pip without an index into a bare virtual environment."""

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from conftest import E2E, PYTHON, ROOT, Desk

sys.path.insert(0, str(ROOT / "tools"))
import make_wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return make_wheel.make(E2E.BUILD, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel):
    """Beside the build: root runs no program that lies where others may put one."""
    folder = Path(tempfile.mkdtemp(dir=E2E.BUILD, prefix="environment-"))
    try:
        done = subprocess.run([PYTHON, "-m", "venv", folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no virtual environment can be made here: {(done.stdout + done.stderr).strip()[-200:]}")
        subprocess.run(
            [folder / "bin/python", "-m", "pip", "install", "--no-index", "--quiet", wheel], check=True
        )
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def bare(tmp_path):
    """A machine where nothing of this tree is found but what the wheel brought."""
    desk = Desk(tmp_path)
    for name in ("PYTHONPATH", "BERTH_LIBRARY", "BERTH_HELPER"):
        del desk.env[name]
    desk.env["PATH"] = "/usr/bin:/bin"
    yield desk
    desk.end()


def test_it_looks_leases_and_has_its_own_program(environment, bare):
    index, program, leased = bare.told(
        """
        from berth._context import program
        with berth.lease(2) as lease:
            print(json.dumps([[d.index for d in lease.devices], program(), len(berth.look().devices)]))
        """,
        python=environment / "bin/python",
    )
    assert index == [4, 5] and leased == 8
    assert Path(program).is_relative_to(environment)


@pytest.mark.parametrize("command", [["bin/python", "-m", "berth"], ["bin/berth"]])
def test_the_program_runs_by_both_names(environment, bare, command):
    def answer(*words):
        whole = [environment / command[0], *command[1:], *words]
        done = subprocess.run(whole, env=bare.env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert answer("--version") == bare.run("--version").stdout
    assert "H100 80GB HBM3" in answer("status")


def test_it_is_small_and_the_same_each_time(wheel, tmp_path):
    assert wheel.stat().st_size < 8 << 20
    assert make_wheel.make(E2E.BUILD, tmp_path).read_bytes() == wheel.read_bytes()
    names = zipfile.ZipFile(wheel).namelist()
    assert "berth/py.typed" in names and not [name for name in names if "__pycache__" in name]


def test_a_jupyter_that_it_is_installed_beside_finds_both_extensions(environment):
    switched_on = environment / "etc/jupyter/jupyter_server_config.d/berth.json"
    assert json.loads(switched_on.read_text()) == {"ServerApp": {"jpserver_extensions": {"berth.jupyter": True}}}
    panel = environment / "share/jupyter/labextensions/@berth/lab"
    if not (E2E.BUILD / "page/dist/lab/package.json").is_file():
        pytest.skip("berth was built without its panel (needs npm)")
    about = json.loads((panel / "package.json").read_text())
    bundle = panel / about["jupyterlab"]["_build"]["load"]
    assert about["name"] == "@berth/lab" and about["version"][0].isdigit() and about["version"] != "0.0.0"
    assert bundle.stat().st_size <= 15_000
