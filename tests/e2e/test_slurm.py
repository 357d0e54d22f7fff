"""`berth submit`, `berth run --on slurm` and `berth run` inside a job of a real Slurm, without accounting."""

import json
import os
import pathlib
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from aftermath import leases, poll, show
from conftest import BERTH, Machine, end, ends_within_patience, many_devices
from engines import IMAGE, Docker, Podman, need_root
from slurm_site import LONG, RELEASES, Slurm, wait_until


# The newer one takes minutes more: ./dev test --long has both.
SITES = RELEASES if os.environ.get("BERTH_LONG") else ["22.05"]


@pytest.fixture(scope="module", params=SITES)
def site(request):
    made = Slurm(request.param)
    yield made
    made.close()


@pytest.fixture
def machine(tmp_path, site):
    """A simulated server, of which Slurm knows the first cards."""
    made = Machine(tmp_path)
    made.env |= site.env
    made.patience = LONG
    yield made
    site.cancel_all()
    wait_until(site.is_up, "the nodes are idle again")


def submit(machine, *words):
    done = machine.run("submit", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def record(machine, run):
    shown = machine.run("show", "--json", run)
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def slurm_job(machine, run):
    path = pathlib.Path(record(machine, run)["directory"], "slurm.json")
    return json.loads(path.read_text(encoding="utf-8"))["job"]


def is_running(machine, run):
    return record(machine, run)["state"] == "running"


def output_of(machine, run):
    return machine.run("logs", run).stdout


def test_a_submitted_job_is_recorded_as_any_run(machine):
    run = submit(machine, "-n", "2", "--name", "mine", "--", "sh", "-c", "echo cards $CUDA_VISIBLE_DEVICES; exit 7")
    waited = machine.run("wait", run)
    assert waited.returncode == 7, waited.stderr
    assert "cards 0,1" in output_of(machine, run)
    kept = record(machine, run)
    assert kept["state"] == "ended" and kept["end"]["exit_code"] == 7
    assert len(kept["given"]["devices"]) == 2 and kept["waiting"] is False
    assert not leases(machine)
    assert f"job {slurm_job(machine, run)}" in machine.run("show", run).stdout
    assert run in machine.run("runs").stdout
    # Samples, report and explanation are there as of any run.
    report = json.loads(machine.run("report", "--json", run).stdout)
    assert [one["id"] for one in report["runs"]] == [run]
    samples = pathlib.Path(kept["directory"], "samples").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in samples.splitlines() if line.endswith("}")]
    sampled = [one["d"] for one in lines if "d" in one]
    assert sampled and all(len(of_cards) == 2 for of_cards in sampled), samples
    why = machine.run("explain", run)
    # By its log, which Slurm wrote.
    assert "ended with 7" in why.stdout and "- cards 0,1" in why.stdout, why.stdout + why.stderr


def test_in_front_of_somebody_it_shows_its_output_and_ends_as_the_job(machine):
    done = machine.run("run", "--on", "slurm", "--", "sh", "-c", "echo said; kill -USR1 $$")
    assert done.returncode == 128 + signal.SIGUSR1, done.stderr
    assert "said\n" in done.stdout and "is Slurm job" in done.stderr


def test_ctrl_c_takes_the_job_out_of_slurm(machine, site):
    run = machine.start("run", "--on", "slurm", "--", "sh", "-c", "echo begun; sleep 300")
    try:
        assert "begun\n" in iter(run.stdout.readline, "")
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=LONG) == 128 + signal.SIGINT
    finally:
        end(run)
    poll(lambda: leases(machine), 30, "the lease of a job that was cancelled")
    assert record(machine, "last")["end"]["signal"]


def test_what_slurm_can_never_give_is_refused_and_leaves_nothing(machine):
    done = machine.run("submit", "-n", "9", "--", "true")
    assert done.returncode == 124 and "node configuration is not available" in done.stderr
    assert machine.run("submit", "--partition", "none", "--", "true").returncode == 125
    assert machine.run("submit", "--memory", "10G", "--", "true").returncode == 125
    assert "write --gpu-type" in machine.run("submit", "--kind", "amd", "--", "true").stderr
    assert json.loads(machine.run("runs", "--json").stdout)["runs"] == []


def test_who_waits_is_told_why_and_stopped(machine, site):
    first = submit(machine, "-n", "2", "--gpu-type", "a100", "--", "sleep", "300")
    wait_until(lambda: is_running(machine, first), "the first runs")
    second = submit(machine, "-n", "2", "--gpu-type", "a100", "--", "true")
    assert record(machine, second)["state"] == "waiting"
    wait_until(lambda: "not free yet" in machine.run("queue").stdout, "Slurm's reason in plain words")
    third = submit(machine, "--slurm-opt=--hold", "--", "true")
    wait_until(lambda: "holds it back" in machine.run("runs").stdout, "that one is held")
    assert machine.run("stop", second).returncode == 0
    waited = machine.run("wait", second)
    assert waited.returncode == 128 + signal.SIGTERM and "never started" in waited.stderr, waited.stderr
    # Taken away by Slurm's own command it is known as well.
    site("scancel", slurm_job(machine, third))
    assert machine.run("wait", third).returncode == 128 + signal.SIGTERM
    assert machine.run("stop", first, "--grace", "2s").returncode == 0
    assert record(machine, first)["end"]["signal"]
    poll(lambda: leases(machine), LONG, "its lease is left")
    wait_until(lambda: slurm_job(machine, first) not in site("squeue", "-h", "-o", "%i").stdout, "its job is over")


def test_slurm_is_asked_once_for_all_that_wait_and_not_at_all_for_others(machine, site, tmp_path):
    asked = tmp_path / "asked"
    (tmp_path / "bin").mkdir()
    squeue = tmp_path / "bin/squeue"
    squeue.write_text(f'#!/bin/sh\necho "$*" >> {asked}\nexec {site.bin}/squeue "$@"\n', encoding="utf-8")
    squeue.chmod(0o755)
    path = {"PATH": f"{tmp_path}/bin:{machine.env['PATH']}"}
    machine.run("run", "-q", "--cpu", "--", "true")
    assert machine.run("runs", env=path).returncode == 0 and not asked.exists()
    waiting = [submit(machine, "--slurm-opt=--hold", "--", "true") for _ in range(3)]
    for verb in ("runs", "queue"):
        asked.unlink(missing_ok=True)
        said = machine.run(verb, env=path).stdout
        assert all(f"run {run}: " in said for run in waiting) and said.count("holds it back") == 3, said
        assert len(asked.read_text(encoding="utf-8").splitlines()) == 1, asked.read_text(encoding="utf-8")
    told = json.loads(machine.run("queue", "--json").stdout)["not_queued"]
    assert {row["run"] for row in told if "holds it back" in row["why_not_yet"]} == set(waiting), told
    site("scancel", slurm_job(machine, waiting[0]))
    assert "is over" in machine.run("runs", env=path).stdout
    for run in waiting[1:]:
        machine.run("stop", run)


def test_who_waits_no_longer_takes_the_job_back(machine, site):
    done = machine.run("run", "--on", "slurm", "--slurm-opt=--hold", "--wait=1s", "--", "true")
    assert done.returncode == 124 and "did not begin in time" in done.stderr, done.stderr
    job = slurm_job(machine, "last")
    assert site("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").stdout.strip() == "CANCELLED"


def test_what_is_asked_of_slurm_is_shown_without_asking(machine):
    done = machine.run("submit", "--dry-run", "-n", "2", "--time", "90s", "--partition", "gpu", "--", "echo", "a b")
    assert done.stdout.startswith("sbatch --gres=gpu:2 --time=3 --partition=gpu --no-requeue\n"), done.stderr
    assert done.stdout.endswith(" run --devices=2 --time=90s -- echo 'a b'\n"), done.stdout
    in_image = machine.run("submit", "--dry-run", "--slurm-opt=--container-image=lab.sqsh", "--", "true").stdout
    assert "--container-image=lab.sqsh" in in_image.partition("\n")[0], "pyxis' own options go along"
    refused = machine.run("run", "--partition", "gpu", "--", "true")
    assert refused.returncode == 125 and "--on slurm" in refused.stderr


def test_its_time_limit_is_berths_to_the_second(machine, site):
    run = submit(machine, "--time", "1s", "--", "sleep", "300")
    assert machine.run("wait", run).returncode == 128 + signal.SIGTERM
    assert record(machine, run)["end"]["because"] == "time limit"
    said = site("scontrol", "show", "job", "-o", slurm_job(machine, run)).stdout
    assert "TimeLimit=00:02:00" in said


def test_the_warning_before_its_limit_and_slurms_own_signal_reach_the_job(machine, site, tmp_path):
    trap = f"trap 'echo warned; exit 9' USR1; touch {tmp_path}/begun; while :; do sleep 0.05; done"
    run = submit(machine, "--time", "3s", "--warn-signal", "USR1", "--warn-ahead", "2s", "--", "sh", "-c", trap)
    assert machine.run("wait", run).returncode == 9
    assert "warned" in output_of(machine, run)
    (tmp_path / "begun").unlink()
    # As sbatch --signal=B:USR1 has it sent, which counts in minutes.
    run = submit(machine, "--", "sh", "-c", trap)
    wait_until((tmp_path / "begun").exists, "it runs")
    site("scancel", "--batch", "--signal=USR1", slurm_job(machine, run))
    assert machine.run("wait", run).returncode == 9
    assert "warned" in output_of(machine, run)


def test_each_task_of_an_array_has_its_record(machine, site):
    job = "echo task $SLURM_ARRAY_TASK_ID; exit $SLURM_ARRAY_TASK_ID"
    run = submit(machine, "--array", "0-2", "--", "sh", "-c", job)
    job = slurm_job(machine, run)
    states = ["squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%T"]
    wait_until(lambda: site(*states).stdout.split().count("FAILED") == 2 and
               "COMPLETED" in site(*states).stdout, "all tasks are over")
    assert machine.run("wait", run).returncode == 1  # the first that went wrong
    for task in range(3):
        assert record(machine, f"{run}.{task}")["end"]["exit_code"] == task
        assert f"task {task}" in output_of(machine, f"{run}.{task}")


def test_a_sweep_is_one_array_with_a_record_for_each_point(machine, site):
    job = "echo lr {lr} seed {seed}; exit {seed}"
    done = machine.run("sweep", "--on", "slurm", "-j", "1", "--set", "lr=0.1,0.01", "--set", "seed=0..1", "--", "sh", "-c", job)
    assert done.returncode == 0, done.stderr
    run = done.stdout.strip()
    assert machine.run("wait", run).returncode == 1  # the first that went wrong
    points = [(lr, seed) for lr in ("0.1", "0.01") for seed in (0, 1)]
    for task, (lr, seed) in enumerate(points):
        wait_until(lambda task=task: record(machine, f"{run}.{task}")["end"], "it is over")
        assert record(machine, f"{run}.{task}")["end"]["exit_code"] == seed
        assert f"lr {lr} seed {seed}" in output_of(machine, f"{run}.{task}")
    refused = machine.run("sweep", "--on", "slurm", "--csv", "--set", "lr=1", "--", "echo", "{lr}")
    assert refused.returncode == 125 and "--csv" in refused.stderr, refused.stderr


def test_a_job_that_slurm_starts_again_has_a_second_record(machine, site):
    run = submit(machine, "--retry-on", "gpu-lost", "--", "sh", "-c", "echo start $SLURM_RESTART_COUNT; sleep 300")
    wait_until(lambda: "start" in output_of(machine, run), "it runs")
    job = slurm_job(machine, run)
    site("scontrol", "requeue", job)

    def is_back():
        return site("squeue", "-h", "-j", job, "-o", "%T").stdout.strip() == "PENDING"
    wait_until(is_back, "it is in the queue again")

    asked = [time.monotonic()]

    def again():
        # Slurm puts a start of its own on it, two minutes away. In the second of the requeue its credential is still
        # revoked, and a start fails.
        if time.monotonic() - asked[0] > 2:
            asked[0] = time.monotonic()
            site("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)
        runs = json.loads(machine.run("runs", "--json").stdout)["runs"]
        return [one for one in runs if one.get("retry_of") == run and one["state"] == "running"]
    second = wait_until(again, "the second start")[0]["id"]
    wait_until(lambda: record(machine, run)["state"] == "ended", "the first start is over")
    assert machine.run("stop", second, "--grace", "2s").returncode == 0


def test_without_berth_on_the_node_it_says_so(machine, site, tmp_path):
    copy = tmp_path / "gone" / "berth"
    copy.parent.mkdir()
    shutil.copy(BERTH, copy)
    env = machine.environment({})
    run = machine.run  # by the copy, so that its path is what the script names
    import subprocess
    done = subprocess.run([copy, "submit", "--slurm-opt=--hold", "--", "true"], env=env, text=True,
                          capture_output=True, check=True, stdin=subprocess.DEVNULL)
    copy.unlink()
    name = done.stdout.strip()
    job = slurm_job(machine, name)
    site("scontrol", "release", job)
    wait_until(lambda: "FAILED" in site("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").stdout, "it is over")
    assert machine.run("wait", name).returncode == 127
    assert str(copy) in output_of(machine, name)


@pytest.fixture
def mortal(request, site, machine):
    """One test has it alone. A killed controller gives the numbers of the last jobs again, and nodes refuse these."""
    made = Slurm(request.node.callspec.params["site"])
    machine.env |= made.env
    yield made
    machine.env |= site.env
    made.close()


def test_a_killed_controller_costs_neither_the_job_nor_its_end(machine, mortal, tmp_path):
    site = mortal
    run = submit(machine, "--", "sh", "-c", f"while [ ! -e {tmp_path}/over ]; do sleep 0.1; done; exit 5")
    wait_until(lambda: is_running(machine, run), "it runs")
    site.kill_controller()
    try:
        waiting = machine.start("wait", run)
        (tmp_path / "over").touch()
        assert waiting.wait(timeout=LONG) == 5
        assert record(machine, run)["end"]["exit_code"] == 5
    finally:
        site.start_controller()
        wait_until(lambda: site("sinfo", "-h", check=False).returncode == 0, "the controller is back")


def test_what_setup_prints_slurm_reads(machine, site, tmp_path):
    printed = machine.run("setup", "--slurm", "--node", "n1")
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("# SIMULATED server-8xh100\n") and "SIMULATED" in printed.stderr
    names = [line for line in printed.stdout.splitlines() if line.startswith("NodeName=n1 AutoDetect=off Name=gpu")]
    assert {re.search("File=/dev/([^ ]*)", line)[1] for line in names} == {f"nvidia{at}" for at in range(8)}
    # Files that are here stand for the cards'.
    cards = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "kmsg")
    here = tmp_path / "site"
    here.mkdir()
    (here / "gres.conf").write_text(
        "".join(re.sub("/dev/[^ ]*", f"/dev/{card}", line) + "\n" for line, card in zip(names, cards)),
        encoding="utf-8")
    # Each of the simulated server's cards has 18 NVLinks to each other one.
    assert all("Links=" in line and line.count("18") == 7 and line.count("-1") == 1 for line in names), names
    kept = (site.directory / "slurm.conf").read_text(encoding="utf-8")
    # Its own lines for slurm.conf, and of the site's those that it has not.
    own = printed.stdout.partition("# slurm.conf\n")[2].partition("\n# cgroup.conf\n")[0].splitlines()
    own = [line for line in own if not line.startswith("#")]
    cards_of_node = own.pop().partition("NodeName=n1 ")[2]
    names_of_own = {line.partition("=")[0] for line in own}
    others = [line for line in kept.splitlines() if line.partition("=")[0] not in names_of_own]
    (here / "slurm.conf").write_text(
        "\n".join([*own, *others, ""]).replace("Gres=gpu:fake:4", cards_of_node), encoding="utf-8")
    assert "\n# cgroup.conf\nConstrainDevices=yes\n" in printed.stdout
    parsed = subprocess.run([site.bin / "slurmd", "-G", "-f", here / "slurm.conf", "-N", "n1"], env=site.daemon_env,
                            text=True, capture_output=True, timeout=LONG, check=False)
    assert parsed.returncode == 0 and "WARNING" not in parsed.stderr, parsed.stderr
    assert parsed.stderr.count("Type=nvidia_h100_80gb_hbm3") == 8, parsed.stderr
    assert "Links=-1,18,18,18,18,18,18,18" in parsed.stderr, parsed.stderr


def test_what_setup_prints_of_control_groups_keeps_a_step_to_its_cards(machine):
    need_root()
    printed = machine.run("setup", "--slurm", "--node", "n1").stdout
    cgroup = printed.partition("\n# cgroup.conf\n")[2].partition("\n#")[0]
    assert cgroup.strip()
    site = Slurm(nodes={"n1": ("card", ["/dev/full"])}, cgroup=cgroup)
    try:
        opens = ("sh", "-c", "exec 3< /dev/full && echo opened")
        assert site("srun", "--gres=gpu:1", *opens).stdout == "opened\n"
        refused = site("srun", *opens, check=False)
        assert not refused.stdout and "not permitted" in refused.stderr, refused.stderr
    finally:
        site.close()


def script_of_setup(machine, site, name, tries=1):
    """As `berth setup --slurm` prints it, with the site's programs, and asking once where it would ask for long."""
    printed = machine.run("setup", "--slurm", "--node", "n1").stdout
    script = printed.partition(f"# /etc/slurm/{name}, mode 0755\n")[2].partition("\n# /etc/slurm/")[0]
    assert script.startswith("#!/bin/sh"), printed
    return script.replace("PATH=/usr/local", f"PATH={site.bin}:/usr/local").replace("tries=20", f"tries={tries}")


def on_node(machine, site, script, **env):
    """The state of the second node after that script has run there. Slurm runs it with its own variables alone."""
    test = machine.environment({})
    made = {name: test[name] for name in test if name.startswith(("BERTH_", "XDG_", "SLURM_CONF"))} | env
    ours = {name: value for name, value in made.items() if not name.startswith("SLURM_") or name == "SLURM_CONF"}
    exports = "".join(f"export {name}={shlex.quote(str(value))}\n" for name, value in ours.items())
    text = pathlib.Path(script).read_text(encoding="utf-8")
    subprocess.run(["/bin/sh", "-c", exports + text], check=True, stdin=subprocess.DEVNULL,
                   env={"SLURMD_NODENAME": "n2"} | {name: made[name] for name in made if name not in ours})
    return site("scontrol", "show", "node", "n2", "-o").stdout


def test_the_health_check_drains_a_node_and_resumes_what_it_drained(machine, site, tmp_path):
    health = tmp_path / "health"
    health.write_text(script_of_setup(machine, site, "berth-health"), encoding="utf-8")

    def state(scenario):
        return on_node(machine, site, health, BERTH_SIM=scenario)

    drained = state("faults")
    assert "DRAIN" in drained and "Reason=berth: " in drained, drained
    assert "DRAIN" in state("faults")  # once
    assert "DRAIN" not in state("desktop")
    site("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=cleaning")
    assert "Reason=cleaning" in state("desktop")  # somebody else's
    site("scontrol", "update", "NodeName=n2", "State=RESUME")


def test_slurm_itself_runs_the_health_check_which_drains_and_resumes(machine, site, tmp_path):
    """Asked for by slurmctld, run by slurmd with nothing but its own variables."""
    own, scenario = site.directory / "own-health", tmp_path / "scenario"
    test = machine.environment({})
    exports = "".join(f"export {name}={shlex.quote(test[name])}\n" for name in test
                      if name.startswith(("BERTH_", "XDG_", "SLURM_CONF")))
    scenario.write_text("faults")
    new = tmp_path / "own-health"
    new.write_text(f'#!/bin/sh\n[ "$SLURMD_NODENAME" = n2 ] || exit 0\n{exports}export BERTH_SIM=$(cat {scenario})\n'
                   + script_of_setup(machine, site, "berth-health"), encoding="utf-8")
    new.chmod(0o755)

    def node():
        return site("scontrol", "show", "node", "n2", "-o").stdout

    shutil.move(new, own)
    try:
        wait_until(lambda: "DRAIN" in node(), "the node with a failed card is drained")
        assert "Reason=berth: " in node() and "DRAIN" not in site("scontrol", "show", "node", "n1", "-o").stdout
        scenario.write_text("desktop")
        wait_until(lambda: "DRAIN" not in node(), "the node is back once its cards are well")
    finally:
        own.unlink()
        site("scontrol", "update", "NodeName=n2", "State=RESUME", check=False)


def test_cards_that_do_not_come_free_beside_a_job_take_the_node_out_until_they_do(machine, site, tmp_path):
    around, health = tmp_path / "around", tmp_path / "health"
    around.write_text(script_of_setup(machine, site, "berth-job"), encoding="utf-8")
    health.write_text(script_of_setup(machine, site, "berth-health"), encoding="utf-8")
    user = pwd.getpwuid(os.getuid()).pw_name
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_USER": user}
    # The simulated server has somebody on its first card, and nobody on its fourth.
    assert "DRAIN" not in on_node(machine, site, around, **job, SLURM_JOB_GPUS="3")
    assert "DRAIN" not in on_node(machine, site, around, **job)  # no card
    assert "DRAIN" not in on_node(machine, site, around, **job, SLURM_JOB_GPUS="0", SLURM_SHARDS_ON_NODE="4")
    drained = on_node(machine, site, around, **job, SLURM_JOB_GPUS="0,3")
    try:
        assert "DRAIN" in drained and "Reason=berth: GPU 0,3 not free beside job 7: " in drained, drained
        assert "alice" in drained and "train.py" not in drained, drained
        assert "DRAIN" in on_node(machine, site, health), "its card is not free yet"
        site("scontrol", "update", "NodeName=n2", "Reason=berth: GPU 3 not free beside job 7: as before")
        assert "DRAIN" not in on_node(machine, site, health)
    finally:
        site("scontrol", "update", "NodeName=n2", "State=RESUME", check=False)


@pytest.mark.parametrize(("free_at", "asked", "is_drained"), [(3, 3, False), (99, 20, True)])
def test_the_script_around_a_job_waits_for_its_card_and_not_for_ever(machine, site, tmp_path, free_at, asked, is_drained):
    """Memory comes free a moment after its process has gone. So a card that is free at the third look is free."""
    (tmp_path / "berth").write_text(f"""#!/bin/sh
[ "$1" = pick ] || exit 0
echo "$*" >> {tmp_path}/asked
[ $(grep -c . {tmp_path}/asked) -ge {free_at} ]
""", encoding="utf-8")
    (tmp_path / "berth").chmod(0o755)
    script = script_of_setup(machine, site, "berth-job", tries=20)
    assert str(BERTH) in script and "  sleep 1\n" in script, script
    around = tmp_path / "around"
    around.write_text(script.replace(str(BERTH), f"{tmp_path}/berth").replace("  sleep 1\n", "  :\n"), encoding="utf-8")
    user = pwd.getpwuid(os.getuid()).pw_name
    try:
        said = on_node(machine, site, around, SLURM_JOB_ID="7", SLURM_JOB_USER=user, SLURM_JOB_GPUS="3")
        assert ("DRAIN" in said) == is_drained, said
        assert (tmp_path / "asked").read_text(encoding="utf-8") == "pick --only 3 -n 1\n" * asked
    finally:
        site("scontrol", "update", "NodeName=n2", "State=RESUME", check=False)


def test_slurms_own_prolog_takes_out_a_node_whose_card_somebody_has_and_the_job_runs(machine, site):
    if not os.environ.get("BERTH_LONG"):
        pytest.skip("a prolog in each job: ./dev test --long")
    put_around_jobs(machine, site)
    try:
        # The first two cards, on which somebody computes.
        run = submit(machine, "-n", "2", "--slurm-opt=--nodelist=n1", "--", "sh", "-c", "echo ran")
        assert machine.run("wait", run).returncode == 0
        assert "ran" in output_of(machine, run)
        said = site("scontrol", "show", "node", "n1", "-o").stdout
        assert "DRAIN" in said and f"Reason=berth: GPU 0,1 not free beside job {slurm_job(machine, run)}" in said, said
    finally:
        # The epilog, which is the same script, takes the node out once more.
        wait_until(lambda: not site("squeue", "-h").stdout.strip(), "the epilog is over")
        (site.directory / "own").unlink()
        site("scontrol", "update", "NodeName=n1", "State=RESUME", check=False)


def put_around_jobs(machine, site):
    """The script of berth's as the site's prolog and epilog, with the variables that make the test's machine."""
    own = {name: machine.environment({})[name] for name in ("XDG_STATE_HOME", "BERTH_LEDGER", "BERTH_SIM")}
    own["HOME"] = str(machine.directory)
    script = re.sub("HOME=.*export HOME", "; ".join(f"{name}={value}" for name, value in own.items()) +
                    f"; export {' '.join(own)}", script_of_setup(machine, site, "berth-job"))
    new = machine.directory / "own"
    new.write_text(script.replace("#!/bin/sh\n", f"#!/bin/sh\nSLURM_CONF={site.env['SLURM_CONF']}; export SLURM_CONF\n", 1),
                   encoding="utf-8")
    new.chmod(0o755)
    shutil.copy(new, site.directory / "own.new")
    (site.directory / "own.new").rename(site.directory / "own")


# --------------------------------------------------------------------------- containers

ENGINES = {"docker": lambda: Docker(is_trixie=True), "podman": Podman}


@pytest.fixture(scope="module", params=ENGINES if os.environ.get("BERTH_LONG") else ["podman"])
def engine(request):
    need_root()
    made = ENGINES[request.param]()
    yield made
    made.close()


@pytest.fixture
def with_engine(machine, site, engine):
    machine.env |= engine.env | {"PATH": f"{engine.bin}:{site.bin}:{machine.env['PATH']}", "HOME": str(machine.directory)}
    yield machine
    engine.remove_containers()


def container_in(machine, site, engine, *words):
    """A job of Slurm's that has started a container: the run, its job, the container's id."""
    words = words or ("sleep", "300")
    run = submit(machine, "--", engine.name, "run", "--network", "none", IMAGE, f"/bin/{words[0]}", *words[1:])
    def has_begun():
        container = record(machine, run).get("container")
        return container and container["process"] and container["id"]
    return run, slurm_job(machine, run), wait_until(has_begun, "the container is followed")


def test_a_cancelled_job_ends_its_container_and_the_lease_after_it(with_engine, site, engine):
    # Podman's own init is not where Debian's podman looks for it when unpacked.
    heeds = ("sh", "-c", "trap 'exit 143' TERM; while :; do sleep 0.05; done")
    run, job, container = container_in(with_engine, site, engine, *heeds)
    site("scancel", job)
    wait_until(lambda: not engine.is_running(container), "the container has ended")
    poll(lambda: leases(with_engine), LONG, "its lease is left")
    assert with_engine.run("wait", run).returncode == 128 + signal.SIGTERM


# What podman started is below the job: Slurm ends it itself.
@pytest.mark.skipif(not os.environ.get("BERTH_LONG"), reason="an epilog after each job: ./dev test --long")
@pytest.mark.parametrize("engine", ["docker"], indirect=True)
def test_the_epilog_ends_what_a_killed_job_left_in_a_container_and_nothing_else(with_engine, site, engine):
    _, other_job, other = container_in(with_engine, site, engine)
    run, job, container = container_in(with_engine, site, engine)
    put_around_jobs(with_engine, site)
    try:
        # Nobody of berth's is left that could end it.
        site("scancel", "--signal=KILL", "--full", job)
        wait_until(lambda: not engine.is_running(container), "the epilog has ended the container")
        assert engine.is_running(other), "it is another job's"
        poll(lambda: not record(with_engine, run)["container"]["ended_unix_ms"], LONG, "its end is not written down")
    finally:
        (site.directory / "own").unlink()
        wait_until(lambda: "COMPLETING" not in site("squeue", "-h", "-o", "%T").stdout, "the epilog is over")
        for node in ("n1", "n2"):  # the cards of this job are not its own alone on the simulated server
            site("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
    assert with_engine.run("stop", "--slurm-job", other_job, "--grace", "1s").returncode == 0
    assert not engine.is_running(other)


# ------------------------------------------------------------------------- inside an allocation

def inside(machine, site, cards, script):
    return site("srun", f"--gres=gpu:fake:{cards}", "sh", "-c", script, env=machine.environment({}))


def test_inside_a_job_it_uses_its_cards_at_once_and_tells_of_leftovers(machine, site):
    # On the simulated server a user is on its first cards who did not ask Slurm.
    done = inside(machine, site, 2, f"{BERTH} run -n 2 -- sh -c 'echo cards $CUDA_VISIBLE_DEVICES'")
    assert "cards 0,1" in done.stdout
    assert "process 21871 of alice is on it" in done.stderr, done.stderr
    assert not leases(machine)


def test_an_allocation_that_names_uuids_is_used_at_once(driver_of):
    """As Slurm writes CUDA_VISIBLE_DEVICES from 25.11 on. An unseen user is on the card and does not count."""
    snapshot = many_devices(3)
    card = snapshot["devices"][1]
    card |= {"utilization_gpu_percent": 99, "memory_free_bytes": 1 << 30,
             "memory_used_bytes": card["memory_total_bytes"] - (1 << 30)}
    machine = driver_of(snapshot)
    only = {"CUDA_VISIBLE_DEVICES": card["uuid"]}
    job = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "SLURM_JOB_GPUS": "1", "SLURM_STEP_GPUS": "1"}
    assert machine.run("run", "--", "true", env=only).returncode == 124
    for given in (only | job, job | {"SLURM_STEP_GPUS": card["uuid"]}):
        done = machine.run("run", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", env=given)
        assert done.returncode == 0, done.stderr
        assert [one["id"] for one in record(machine, "last")["given"]["devices"]] == [card["id"]]
        assert done.stdout.strip() in ("1", card["uuid"])
    assert machine.run("run", "-n", "2", "--", "true", env=only | job).returncode == 124


def test_where_the_others_are_hidden_its_cards_are_those_that_it_sees(driver_of):
    """ConstrainDevices: the driver numbers the job's cards from 0, and SLURM_STEP_GPUS has the node's numbers."""
    machine = driver_of(many_devices(2))
    job = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1"}
    tell = ("run", "-n", "2", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    for given in ("4,5", "1,2"):
        for own in ({}, {"CUDA_VISIBLE_DEVICES": "0,1"}):
            done = machine.run(*tell, env=job | own | {"SLURM_STEP_GPUS": given})
            assert (done.returncode, done.stdout) == (0, "0,1\n"), done.stderr
    refused = machine.run(*tell, env=job | {"SLURM_STEP_GPUS": "4,5,6"})
    assert refused.returncode == 125 and not refused.stdout, refused.stderr
    assert "Slurm gave this job GPU 4,5,6, and 2 can be seen here" in refused.stderr


def test_of_its_cards_a_job_may_name_some_and_no_other(driver_of):
    machine = driver_of(many_devices(4))
    job = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "SLURM_JOB_GPUS": "0,1,2", "SLURM_STEP_GPUS": "1,2"}
    tell = ("run", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert machine.run(*tell, env=job | {"CUDA_VISIBLE_DEVICES": "2"}).stdout == "2\n"
    for other in ("3", "1,0"):
        refused = machine.run(*tell, env=job | {"CUDA_VISIBLE_DEVICES": other})
        assert refused.returncode == 125 and not refused.stdout, refused.stderr
        assert f"CUDA_VISIBLE_DEVICES={other} names GPU {other[-1]}, and Slurm gave this job GPU 1,2" in refused.stderr
    assert not json.loads(machine.run("runs", "--json").stdout)["runs"][1:], "nothing else was started"


def test_of_another_makers_cards_its_own_variable_counts_and_slurms_numbers_where_there_is_none(driver_of):
    """Slurm sets ROCR_VISIBLE_DEVICES for AMD's. HIP would read CUDA's variable behind it, and count anew."""
    machine = driver_of(many_devices(1))
    job = {"BERTH_SIM": "mi300x-8", "SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "SLURM_STEP_GPUS": "2,3"}
    for own in ({}, {"ROCR_VISIBLE_DEVICES": "2,3"}):
        done = machine.run("run", "-n", "2", "--", "sh", "-c", "echo $ROCR_VISIBLE_DEVICES", env=job | own)
        assert (done.returncode, done.stdout) == (0, "2,3\n"), done.stderr
        assert machine.run("run", "-n", "3", "--", "true", env=job | own).returncode == 124


OF_OTHER_MAKERS = [
    ("ascend-910b-8", "3", {}, ["--only", "0"], ["--only", "3"]),
    ("mi300x-8", "3", {"HIP_VISIBLE_DEVICES": ""}, ["-n", "2"], ["-n", "1"]),
    ("mi300x-8", "3", {"ROCR_VISIBLE_DEVICES": "6,7"}, ["-n", "1"], None),
    ("mi300x-8", "3", {"BERTH_LEASE": "20260101-000000-aaaaaa"}, ["-n", "2"], ["-n", "1"]),
    ("arc-mixed", "0", {}, ["--kind", "amd"], ["--kind", "nvidia"]),
]


@pytest.mark.parametrize(("sim", "cards", "own", "refused", "given"), OF_OTHER_MAKERS)
def test_no_card_of_any_maker_is_given_that_slurm_did_not_give(driver_of, sim, cards, own, refused, given):
    machine = driver_of(many_devices(1))
    job = {"BERTH_SIM": sim, "SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "SLURM_STEP_GPUS": cards} | own
    done = machine.run("run", *refused, "--", "true", env=job)
    assert done.returncode in (124, 125) and not machine.run("runs", "--json").stdout.count('"ended"'), done.stderr
    if given:
        done = machine.run("run", *given, "--", "true", env=job)
        assert done.returncode == 0, done.stderr
        assert [one["index"] for one in record(machine, "last")["given"]["devices"]] == [int(cards)]


def test_runs_of_one_job_share_its_cards_and_never_queue(machine, site):
    script = (f"{BERTH} run -- sh -c 'echo one $CUDA_VISIBLE_DEVICES; sleep 3' & sleep 1; "
              f"{BERTH} run -- sh -c 'echo two $CUDA_VISIBLE_DEVICES; sleep 2' & sleep 1; "
              f"{BERTH} run --wait -- true; echo third $?; {BERTH} run -n 3 -- true; echo fourth $?; wait")
    with ends_within_patience("one of them waits in the queue"):
        said = inside(machine, site, 2, script).stdout
    assert "third 124" in said and "fourth 124" in said
    assert {"one 0", "two 1"} <= set(said.splitlines()), said


def test_a_job_without_cards_is_as_any_other_process(machine, site):
    words = ["run", "--", "sh", "-c", "echo card $CUDA_VISIBLE_DEVICES"]
    done = site("srun", BERTH, *words, env=machine.environment({}))
    assert done.stdout.startswith("card ") and done.stdout == machine.run(*words).stdout
