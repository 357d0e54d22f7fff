"""What the record of a run says of the machine, the code and the interpreter. It is tried with and without a GPU."""

import json
import os
import pathlib
import re
import subprocess

import pytest
from aftermath import poll, show
from conftest import ROOT, many_devices, scenario, wait_until
from test_run_life import holding

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": "/nonexistent",
       "PATH": os.environ["PATH"]}  # fmt: skip
ON_A_GPU = ["--only", "3"]


def git(folder, *words):
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=trunk"]
    done = subprocess.run(["git", *names, *words], cwd=folder, env=GIT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def dirty_folder(tmp_path):
    """A work tree with one commit and a change since."""
    folder = tmp_path / "code"
    folder.mkdir()
    script = folder / "train.py"
    script.write_text("print('trained')\n", encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "train.py")
    git(folder, "commit", "-q", "-m", "first")
    script.write_text("print('trained', 'more')\n", encoding="utf-8")
    return folder


def whole_record(machine):
    """The last run's, once all is gathered: a short job has ended before that."""
    poll(lambda: "" if show(machine)["complete"] else "incomplete", 30, "the record is not complete")
    return show(machine)


def on_the_cpu(machine, how, *command):
    """A run that goes without a device, asked to or because the only one is taken."""
    gate = machine.directory / "gate"
    holder = holding(machine, until=gate) if how == "--or-cpu" else None
    words = ["--or-cpu", *ON_A_GPU] if how == "--or-cpu" else ["--cpu"]
    done = machine.run("run", "-q", *words, "--", *command)
    assert done.returncode == 0, done.stderr
    if holder:
        gate.touch()
        assert holder.wait(timeout=30) == 0
    record = whole_record(machine)
    assert record["cpu_only"] is True
    return record


@pytest.mark.parametrize("how", ["--cpu", "--or-cpu"])
def test_a_run_on_the_cpu_of_a_simulated_server_is_marked_everywhere(machine, how):
    record = on_the_cpu(machine, how, "true")
    assert record["given"]["simulated"] == "server-8xh100"
    assert record["given"]["devices"] == []
    host = scenario("server-8xh100")["host"]
    for key in ("name", "kernel", "driver_version"):
        assert record["given"]["host"][key] == host[key], key
    for words in (["runs"], ["runs", "--json"], ["show"], ["manifest", "diff", record["id"], "now"]):
        done = machine.run(*words, env={"BERTH_SIM": None})
        marked = [line for line in done.stdout.splitlines() if "simulated" in line.lower()]
        assert marked, f"{words}: {done.stdout}{done.stderr}"


def test_a_run_on_the_cpu_is_marked_from_its_start(machine):
    process = machine.start("run", "--cpu", "--", "sh", "-c", "cat \"${BERTH_MARKS%/*}/manifest.json\"")
    text, _ = process.communicate(timeout=60)
    assert json.loads(text)["given"]["simulated"] == "server-8xh100"


def instance_type():
    """As the firmware has it; None where this user may not read it or there is none."""
    try:
        names = [pathlib.Path("/sys/class/dmi/id", name).read_text() for name in ("sys_vendor", "product_name")]
    except OSError:
        return None
    return " ".join(name.strip() for name in names)


@pytest.mark.parametrize("where", ["gpu", "cpu"])
def test_the_record_says_what_machine_and_code_it_was(driver_of, dirty_folder, where):
    played = many_devices(1)
    machine = driver_of(played)
    options = ["--cpu"] if where == "cpu" else []
    done = machine.run("run", "-q", *options, "--", "/usr/bin/python3", "train.py", cwd=dirty_folder)
    assert done.stdout == "trained more\n", done.stderr
    record = whole_record(machine)
    uname = os.uname()
    host = record["given"]["host"]
    assert (host["name"], host["kernel"]) == (uname.nodename, uname.release)
    assert host["driver_version"] == played["host"]["driver_version"]
    assert record["given"]["simulated"] is None
    assert record["git"] == {
        "root": str(dirty_folder),
        "commit": git(dirty_folder, "rev-parse", "HEAD"),
        "branch": "trunk",
        "dirty": True,
    }
    version = subprocess.run(["/usr/bin/python3", "-c", "import platform; print(platform.python_version())"],
                             capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    assert record["python"]["version"] in (version, ".".join(version.split(".")[:2]))
    assert record["machine"]["instance_type"] == instance_type()
    assert ("instance_type" in record["machine"].get("why", {})) is (instance_type() is None)
    assert record["machine"]["cpu_count"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert record["cpu_only"] is (where == "cpu")
    assert len(record["given"]["devices"]) == (0 if where == "cpu" else 1)


def test_energy_of_a_simulated_run_is_its_power_over_time_and_never_goes_back(machine):
    done = machine.run("run", "--only", "5", "--", "sleep", "4")
    assert done.returncode == 0, done.stderr
    record = show(machine)
    header, samples, at = None, [], []
    for line in (pathlib.Path(record["directory"]) / "samples").read_text(encoding="utf-8").splitlines():
        row = json.loads(line or "{}")
        header = row.get("device_columns", header)
        if "t" in row:
            samples.append(dict(zip(header, row["d"][0])))
            at.append(row["t"])
    counter = [sample["energy_millijoules"] for sample in samples]
    assert len(counter) >= 4 and counter == sorted(counter), counter
    power = [sample["power_draw_milliwatts"] for sample in samples]
    # A simulated card's load may change within the run: between two samples any power of both is right.
    steps = [(end - begin, pair) for begin, end, pair in zip(at, at[1:], zip(power, power[1:]))]
    unseen = record["end"]["lasted_milliseconds"] - (at[-1] - at[0])
    least = (sum(step * min(pair) for step, pair in steps) + unseen * min(power)) / 1000
    most = (sum(step * max(pair) for step, pair in steps) + unseen * max(power)) / 1000
    summary = record["end"]["summary"]
    assert summary["energy_source"] == "counter"
    assert 0.8 * least < summary["energy_millijoules"] < 1.2 * most, (summary, least, most)
    [told] = re.findall(r"; ([\d.]+) kJ", done.stderr)
    assert 0.8 * least < float(told) * 1e6 < 1.2 * most, done.stderr


def test_what_a_simulated_server_invented_says_so_wherever_it_is_told(machine):
    done = machine.run("run", "--", "sleep", "2.5")  # a program that saw no GPU
    run = show(machine)["id"]
    assert "GPU busy" in done.stderr and done.stderr.endswith("; figures invented by the simulated server\n"), done.stderr
    page = machine.directory / "page.html"
    assert machine.run("report", run, "-o", page).returncode == 0
    told = {words: machine.run(*words).stdout for words in [("show", run), ("runs",), ("explain", run), ("report", run, "--md")]}
    told["page"] = page.read_text(encoding="utf-8")
    for where, text in told.items():
        assert "GPU figures are invented by the simulated server" in " ".join(text.split()), where
    for where in ("page", ("report", run, "--md")):
        assert len(re.findall(r"\d (?:GiB|MiB|%|k?J)? ?\\?\(invented\\?\)", told[where].replace("%", " %"))) >= 3, told[where][:3000]
    assert show(machine)["figures_invented"] is True
    [answer] = json.loads(machine.run("explain", run, "--pace", "--json").stdout)["answers"]
    assert any("invented" in remark for remark in answer["remarks"]), answer["remarks"]


def test_what_a_driver_measured_is_not_called_invented(driver_of):
    driver = driver_of(many_devices(1))
    done = driver.run("run", "--", "sleep", "1.5")
    assert "invented" not in done.stderr + driver.run("show", "last").stdout + driver.run("runs").stdout
    assert show(driver)["figures_invented"] is False


# --- what is said before the start -------------------------------------------------------------------

SETS = "sets the visible devices itself in line"
COMMAND_SETS = "the command sets the visible devices itself"
SHELL_CODE = "CUDA_VISIBLE_DEVICES=1 sh -c 'echo started >&2'"
PYTHON_CODE = "import os, sys\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nprint('started', file=sys.stderr)\n"


@pytest.mark.parametrize(
    ("words", "warning"),
    [
        (["./s.sh"], f"./s.sh {SETS} 2 "),
        (["/usr/bin/python3", "-u", "-W", "ignore", "s.py"], f"s.py {SETS} 2 "),
        (["nice", "-n", "1", "env", "A=1", "/usr/bin/python3", "-X", "dev", "s.py"], f"s.py {SETS} 2 "),
        (["bash", "-c", SHELL_CODE], f"{COMMAND_SETS} (bash -c)"),
        (["/usr/bin/python3", "-c", PYTHON_CODE], f"{COMMAND_SETS} (python3 -c)"),
        (["env", "CUDA_VISIBLE_DEVICES=2", "sh", "-c", "echo started >&2"], f"{COMMAND_SETS} (env)"),
    ],
    ids=["script", "python", "wrapped", "bash-c", "python-c", "env"],
)
def test_a_command_that_sets_the_devices_itself_is_warned_about_before_it_starts(machine, tmp_path, words, warning):
    (tmp_path / "s.sh").write_text("#!/bin/sh\n" + SHELL_CODE + "\n", encoding="utf-8")
    (tmp_path / "s.sh").chmod(0o755)
    (tmp_path / "s.py").write_text(PYTHON_CODE, encoding="utf-8")
    done = machine.run("run", "--", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert warning in done.stderr, done.stderr
    assert done.stderr.index(warning) < done.stderr.index("started"), done.stderr


@pytest.mark.parametrize("words", [["./s.sh"], ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]], ids=["script", "sh-c"])
def test_a_command_that_only_reads_the_devices_is_not_warned_about(machine, tmp_path, words):
    text = "#!/bin/sh\n# export CUDA_VISIBLE_DEVICES=1\necho $CUDA_VISIBLE_DEVICES\n"
    (tmp_path / "s.sh").write_text(text, encoding="utf-8")
    (tmp_path / "s.sh").chmod(0o755)
    done = machine.run("run", *ON_A_GPU, "--", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    assert "itself" not in done.stderr, done.stderr


def test_a_container_with_gpus_of_its_own_choice_is_warned_about_before_it_starts(machine, tmp_path):
    docker = tmp_path / "bin/docker"
    docker.parent.mkdir()
    docker.write_text("#!/bin/sh\necho started >&2\n")
    docker.chmod(0o755)
    (tmp_path / "s.sh").write_text("#!/bin/sh\ndocker run --rm \\\n  --gpus all image\n")
    (tmp_path / "s.sh").chmod(0o755)
    path = {"PATH": f"{docker.parent}:{machine.env['PATH']}"}
    refused = machine.run("run", "--", "docker", "run", "--gpus", "all", "image", cwd=tmp_path, env=path)
    assert refused.returncode == 125 and "Write: berth run -n 1 -- docker run image" in refused.stderr, refused.stderr
    assert "started" not in refused.stderr
    for words in (["sh", "-c", "docker run --gpus all image"], ["./s.sh"]):
        done = machine.run("run", "--", *words, cwd=tmp_path, env=path)
        assert done.returncode == 0, done.stderr
        before = done.stderr.partition("started")[0]
        assert "docker run --gpus all: the container's GPUs are chosen by that" in before, done.stderr
        assert "berth run -- docker run …" in before, done.stderr
    right = ["sh", "-c", 'docker run --gpus "\\"device=$CUDA_VISIBLE_DEVICES\\"" image']
    assert "container" not in machine.run("run", "--", *right, cwd=tmp_path, env=path).stderr


# --- whether a run without a device kept off ------------------------------------------------------------

TWO_LOOKS = """until [ "$(grep -c '"t"' "${BERTH_MARKS%/*}/samples")" -ge 2 ]; do sleep 0.1; done"""
# One process has it open: a shell that had would lend it to each child until that becomes a program.
OPENS_A_DEVICE = f"sleep 60 3</dev/nvidia0 & until [ -e /proc/$!/fd/3 ]; do :; done; {TWO_LOOKS}; kill $!"


@pytest.mark.parametrize(("job", "opens"), [(OPENS_A_DEVICE, True), (TWO_LOOKS, False)], ids=["opens", "keeps off"])
def test_a_device_file_that_a_cpu_run_has_open_is_counted(machine, job, opens):
    """In a mount namespace whose /dev has such a file; what it leads to does not matter."""
    script = ("mount -t tmpfs none /dev && for at in null:3 zero:5 urandom:9 nvidia0:3; do"
              " mknod -m 666 /dev/${at%:*} c 1 ${at#*:} || exit 99; done; exec \"$@\"")  # fmt: skip
    if subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs root to mount a /dev of its own")
    inside = ["unshare", "-m", "sh", "-c", script, "sh", *machine.command("run", "--cpu", "--", "sh", "-c", job)]
    done = subprocess.run(inside, env=machine.env, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    summary = show(machine)["summary"]
    looks = summary["device_files_looks"]
    assert looks >= 2
    if opens:
        assert summary["device_files_open"] == 1
        assert "processes that had a GPU device file open: 1" in done.stderr, done.stderr
    else:
        assert summary["device_files_open"] == 0
        # Where its processes could be looked at among the devices' too, that is told as well.
        assert re.search(rf"no GPU device file was open(, none of its processes was on a GPU)? \({looks} samples\)", done.stderr), done.stderr


def test_nothing_is_claimed_of_a_cpu_run_that_nobody_could_look_at(machine):
    done = machine.run("run", "--cpu", "--", "true")
    summary = show(machine)["summary"]
    if summary["device_files_open"] is None:
        assert "GPU device file" not in done.stderr
        assert summary["device_files_looks"] is None
    else:
        assert summary["device_files_looks"] >= 1
        assert "GPU device file" in done.stderr


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "not listed"])
def test_a_cpu_run_that_the_driver_lists_on_a_gpu_is_told(driver_of, listed):
    played = many_devices(2)
    process = {"device": played["devices"][1]["id"], "pid": 424242, "type": "C", "memory_used_bytes": 1 << 30}
    played["gpu_processes"] = [process]
    machine = driver_of(played)
    becomes_listed = f"sed -i s/424242/$$/ {machine.env['BERTH_FAKE_NVML']};" if listed else ""
    machine.env["BERTH_FAKE_NVML_LIVE"] = "1"
    done = machine.run("run", "--cpu", "--", "sh", "-c", f"{becomes_listed} sleep 2.5")
    assert done.returncode == 0, done.stderr
    record = show(machine)
    summary = record["summary"]
    assert summary["gpu_contexts"] == (1 if listed else 0)
    assert summary["gpu_contexts_looks"] >= 2
    assert ("processes that the driver listed on a GPU: 1" in done.stderr) is listed, done.stderr
    assert ("none of its processes was on a GPU" in done.stderr) is not listed, done.stderr
    assert [event["kind"] for event in record["events"]] == (["outside_lease"] if listed else [])


# --- what the job finds, and when the rest is gathered -----------------------------------------------------

HIDES_DEVICES = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "NVIDIA_VISIBLE_DEVICES": "void",
    "HIP_VISIBLE_DEVICES": "-1",
    "ROCR_VISIBLE_DEVICES": "-1",
    "ZE_AFFINITY_MASK": "-1",
    "ASCEND_RT_VISIBLE_DEVICES": "-1",
    "MLU_VISIBLE_DEVICES": "-1",
    "MUSA_VISIBLE_DEVICES": "-1",
    "JAX_PLATFORMS": "cpu",
}
THREADS = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"]


def environment_of(machine, *words, env=None):
    """What the job of `berth WORDS` has, less what its caller gave it."""
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    done = machine.run("run", "-q", *words, "--", "/usr/bin/python3", "-c", code, env=env or {})
    assert done.returncode == 0, done.stderr
    own = machine.environment(env or {})
    return {name: value for name, value in json.loads(done.stdout).items() if own.get(name) != value}


def own_of(record):
    return {"BERTH_RUN": record["id"], "BERTH_MARKS": f"{record['directory']}/marks"}


def test_a_cpu_job_gets_every_frameworks_switch_and_nothing_else(machine):
    seen = environment_of(machine, "--cpu", env={"CUDA_VISIBLE_DEVICES": "0,1"})
    threads = {name: seen.get(name) for name in THREADS}
    [count] = set(threads.values())
    assert 1 <= int(count) <= os.cpu_count()
    record = show(machine)
    assert seen == HIDES_DEVICES | threads | own_of(record)
    assert record["variables_set"] == HIDES_DEVICES | threads
    assert record["variables"]["CUDA_VISIBLE_DEVICES"] == "0,1", "what the caller had"
    told = (ROOT / "doc/FORMATS.md").read_text(encoding="utf-8").split("`--cpu` sets ")[1].split("\n\n")[0]
    shared = ("_VISIBLE_DEVICES", "_NUM_THREADS")  # said once, behind the last of them
    ends = {name: next((end for end in shared if name.endswith(end)), "") for name in seen if name not in own_of(record)}
    assert all(f"`{name}`" in told or f"`{name.removesuffix(end)}_`" in told for name, end in ends.items()), told


CHOICES = [*THREADS, "MKL_DOMAIN_NUM_THREADS", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
           "NUMEXPR_MAX_THREADS"]  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_a_cpu_job_keeps_the_number_of_threads_that_was_chosen(machine, name):
    seen = environment_of(machine, "--cpu", env={name: "8"})
    record = show(machine)
    assert seen == HIDES_DEVICES | own_of(record)
    assert record["variables_set"] == HIDES_DEVICES
    assert record["variables"][name] == "8"


def test_a_frameworks_threads_are_as_many_as_were_chosen(machine):
    program = "import sys\ntry:\n import torch\nexcept ImportError:\n sys.exit(77)\nprint(torch.get_num_threads())"
    path = {name: value for name, value in os.environ.items() if name in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    words = ["run", "-q", "--cpu", "--", "/usr/bin/python3", "-c", program]
    done = machine.run(*words, env=path | {"OMP_NUM_THREADS": "8"}, timeout=300)
    if done.returncode == 77:
        pytest.skip("needs PyTorch of /usr/bin/python3")
    assert done.stdout == "8\n", done.stderr


@pytest.mark.parametrize("where", [["--cpu"], ON_A_GPU], ids=["cpu", "gpu"])
def test_what_is_set_for_the_job_is_named_before_it_and_in_its_record(machine, where):
    done = machine.run("run", "-v", *where, "--", "sh", "-c", "echo started >&2")
    given = show(machine)["variables_set"]
    assert given["CUDA_VISIBLE_DEVICES"] == ("-1" if where == ["--cpu"] else "3")
    for name, value in given.items():
        assert f" {name}={value}" in done.stderr.partition("started")[0], done.stderr
        assert f"{name}={value}" in " ".join(machine.run("show", "last").stdout.split())
    report = machine.run("report", "last", "--md").stdout
    assert "Variables set for the job" in report and all(name in report.replace("\\", "") for name in given)
    quiet = machine.run("run", *where, "--", "true")
    assert "CUDA_VISIBLE_DEVICES" not in quiet.stderr


@pytest.mark.parametrize(
    ("words", "typed"),
    [(["--cpu"], "--cpu"), (["--cpu", "-n", "2"], "--cpu"), (["--or-cpu"], "-n 1 --or-cpu"),
     (["--or-cpu=90m"], "-n 1 --or-cpu=90m"), (["--or-cpu=2h", "-n", "9"], "-n 9 --or-cpu=2h"), ([], "-n 1")],
    ids=str,
)  # fmt: skip
def test_the_record_says_what_was_asked_for(machine, words, typed):
    assert machine.run("run", "-q", *words, "--", "true").returncode == 0
    assert show(machine)["wanted"] == typed
    assert re.search(rf"Asked for +{typed}\n", machine.run("show", "last").stdout)
    report = machine.run("report", "last", "--md").stdout
    assert re.search(rf"Asked for \| {typed} ", report.replace("\\", "")), report
    dry = machine.run("run", "--dry-run", "--json", *words, "--", "true")
    assert json.loads(dry.stdout)["asked_for"] == typed
    if not any("=" in word for word in words):  # pick never waits
        assert json.loads(machine.run("pick", "--json", *words).stdout)["asked_for"] == typed


def test_a_run_has_the_name_and_project_that_it_was_given(machine, tmp_path):
    (tmp_path / "berth.toml").write_text('[request]\nproject = "vision"\n')
    done = machine.run("run", "-q", "--name", "lr 1e-4", "--time=1h", "--", "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert show(machine)["spec"] == {"devices": "1", "time": "1h", "name": "lr 1e-4", "project": "vision"}
    text = machine.run("show", "last").stdout
    assert re.search(r"Name +lr 1e-4\n", text) and re.search(r"Project +vision\n", text), text
    assert "lr 1e-4: true" in machine.run("runs").stdout
    refused = machine.run("run", "--name", "\x1b[2J", "--", "true")
    assert refused.returncode == 125 and "1 to 64 bytes" in refused.stderr and "\x1b" not in refused.stderr


def test_runs_that_go_on_are_listed_with_their_figures_and_name(machine):
    done = machine.run("run", "--detach", "-q", "--name", "long one", "-n", "2", "--", "sleep", "600")
    assert done.returncode == 0, done.stderr
    run = done.stdout.strip()
    try:
        def row():
            lines = machine.run("runs").stdout.splitlines()
            return next((line for line in lines if line.startswith(run) and "%" in line), None)

        told = wait_until(row, "its figures stand in the list", 30)
        assert re.search(rf"^{run} .*running .* [1-9]\d*% +[\d.]+G +long one: sleep 600", told), told
        assert json.loads(machine.run("runs", "--json").stdout)["runs"][0]["spec"]["name"] == "long one"
    finally:
        machine.run("stop", run)


def test_a_gpu_job_gets_no_switch_of_a_cpu_job(machine):
    seen = environment_of(machine, *ON_A_GPU)
    assert not set(seen) & (set(HIDES_DEVICES) - {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}), seen
    assert not set(seen) & set(THREADS), seen
    assert seen["CUDA_VISIBLE_DEVICES"] == "3"


@pytest.mark.parametrize("options", [[], ["--cpu"]], ids=["gpu", "cpu"])
def test_all_but_the_claim_is_gathered_after_the_job_has_started(machine, dirty_folder, options):
    trace = machine.directory / "trace"
    calls = "trace=execve,openat,open,readlink,readlinkat"
    strace = ["strace", "-f", "-qq", "-s", "200", "-e", calls, "-o", trace]
    try:
        can = subprocess.run([*strace, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs strace")
    if can.returncode:
        pytest.skip(f"strace may not trace here: {can.stderr.strip()}")
    # The job waits for the manifest, so that all is gathered while it runs.
    job = "until grep -q '\"complete\": true' \"${BERTH_MARKS%/*}/manifest.json\"; do sleep 0.02; done"
    words = [*strace, *machine.command("run", "-q", *options, "--", "/bin/sh", "-c", job)]
    done = subprocess.run(words, env=machine.env, cwd=dirty_folder, capture_output=True, text=True, timeout=60,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()

    def first(pattern):
        found = [at for at, line in enumerate(lines) if re.search(pattern, line)]
        assert found, f"no call matches {pattern}"
        return found[0]

    start = first(r'execve\("/bin/sh", .*BERTH_MARKS')
    gathered = {
        "machine": r'"/sys/class/dmi',
        "processor": r'"/proc/cpuinfo',
        "commit": r'code/\.git/HEAD',
        "changes": r'execve\("[^"]*/git"',
    }
    order = {what: first(pattern) for what, pattern in gathered.items()}
    assert all(at > start for at in order.values()), (start, order)
