"""`berth run -- docker|podman run …` with real engines: the lease lasts as long as the container."""

import json
import os
import pathlib
import re
import signal
import time

import pytest

from aftermath import leases, poll, show
from conftest import FakeDriver, Machine, children, wait_until
from engines import IMAGE, Docker, Nerdctl, Podman, need_root, registry_of

pytestmark = pytest.mark.usefixtures("as_root")


@pytest.fixture(scope="session")
def as_root():
    need_root()


ENGINES = {"docker-20.10": lambda: Docker(is_trixie=False), "docker-26.1": lambda: Docker(is_trixie=True),
           "podman-4.3": Podman, "nerdctl": Nerdctl}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request, as_root):
    made = ENGINES[request.param]()
    yield made
    made.close()


@pytest.fixture(scope="module")
def docker(as_root):
    made = Docker(is_trixie=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def nerdctl(as_root):
    made = Nerdctl()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_containers_left(request):
    made = request.getfixturevalue("docker") if "docker" in request.fixturenames else None
    yield
    if made:
        made.remove_containers()


@pytest.fixture
def machine(tmp_path, engine):
    """A simulated server whose engine is real: its cards are nobody's to give, and all else is as it is."""
    made = Machine(tmp_path)
    made.env |= engine.env | {"HOME": str(tmp_path)}
    yield made
    engine.remove_containers()


def run_words(engine, *options, job=("sleep", "300")):
    return [engine.name, "run", "--network", "none", *options, IMAGE, *(f"/bin/{job[0]}", *job[1:])]


def container_of(machine):
    """As the record of the last run has it; None: there is none yet."""
    shown = machine.run("show", "--json")
    return json.loads(shown.stdout).get("container") if shown.returncode == 0 else None


def started(machine):
    """The container of the run that was started last, once it is followed."""
    def look():
        container = container_of(machine)
        return container if container and container["process"] else None
    return wait_until(look, "the container is followed")


def process_of(machine):
    """The engine's client."""
    return show(machine)["job"]["pid"]


def test_its_code_is_the_runs_and_the_record_says_what_it_was(machine, engine):
    # Until it was looked at: one that is removed at its end tells nothing afterwards.
    job = ("sh", "-c", "echo said; while [ ! -e /tmp/over ]; do sleep 0.05; done; exit 7")
    run = machine.start("run", "--", *run_words(engine, "--rm", job=job))
    engine("exec", started(machine)["id"], "/bin/touch", "/tmp/over", check=False)
    said, why = run.communicate(timeout=60)
    assert run.returncode == 7, why
    assert "said" in said
    container = container_of(machine)
    assert container["engine"] == engine.name and len(container["id"]) == 64
    assert "busy:1" in container["image"] and container["ended_unix_ms"]
    # It came from no registry: docker says that it has no digest, podman and nerdctl make one up.
    if engine.name == "docker":
        assert container["image_digest"] is None and container["why"]["image_digest"] == "unsupported", container
    else:
        assert container["image_digest"].startswith("sha256:"), container
    assert container["image_id"].startswith("sha256:"), container
    assert not leases(machine)
    shown = machine.run("show").stdout
    assert container["id"][:12] in shown and "busy:1" in shown


def test_the_record_has_the_digest_that_the_images_registry_gave_it(machine, engine):
    server, image, digest = registry_of(engine.directory / "base.tar")
    insecure = {"podman": ("--tls-verify=false",), "nerdctl": ("--insecure-registry",)}.get(engine.name, ())
    try:
        engine("pull", *insecure, image)
    finally:
        server.shutdown()
        server.server_close()
    words = [image if word == IMAGE else word for word in run_words(engine, "--rm", job=("true",))]
    done = machine.run("run", "--", *words, timeout=60)
    assert done.returncode == 0, done.stderr
    # Also of a container that has come and gone before anybody looked at it.
    container = container_of(machine)
    assert container["image_digest"] == digest and container["image"].endswith("/busy:1"), container
    assert digest in machine.run("show", env={"COLUMNS": "300"}).stdout


def test_a_killed_client_costs_neither_container_nor_lease(machine, engine):
    run = machine.start("run", "--", *run_words(engine))
    container = started(machine)
    os.kill(process_of(machine), signal.SIGKILL)
    assert run.wait(timeout=60) == -signal.SIGKILL
    said = run.stderr.read()
    assert container["id"][:12] in said and "keeps its devices" in said
    assert engine.is_running(container["id"])
    assert leases(machine), "the lease has gone while the container computes on"
    assert show(machine)["state"] == "running"
    assert machine.run("stop", "last", "--grace", "1s", timeout=60).returncode == 0
    assert not engine.is_running(container["id"])
    poll(lambda: leases(machine), 30, "the lease of a stopped container")


def test_a_paused_container_keeps_its_lease(machine, engine):
    client = machine.start("run", "--", *run_words(engine))
    container = started(machine)
    if engine("pause", container["id"], check=False).returncode != 0:
        pytest.skip("nothing can be paused here")
    # Then the keeper asks the engine again.
    os.kill(show(machine)["job"]["pid"], signal.SIGKILL)
    client.wait(timeout=30)
    assert "keeps its devices" in client.stderr.read(), "the keeper has asked"
    assert leases(machine) and show(machine)["state"] == "running"
    engine("unpause", container["id"])
    assert machine.run("stop", "last", "--grace", "0s", timeout=60).returncode == 0
    assert not engine.is_running(container["id"])


def test_a_container_left_alone_keeps_the_lease_and_wait_tells_its_code(machine, engine):
    rm = () if engine.name == "nerdctl" else ("--rm",)  # which refuses both at once
    done = machine.run("run", "--", *run_words(engine, "-d", *rm, job=("sh", "-c", "while [ ! -e /tmp/over ]; do "
                                                                          "sleep 0.1; done; exit 5")))
    assert done.returncode == 0, done.stderr
    container = started(machine)
    assert container["id"] in done.stdout and "lives on" in done.stderr
    assert leases(machine) and show(machine)["state"] == "running"
    waiting = machine.start("wait", "last")
    # The container may be gone before podman has heard of its own command's end.
    engine("exec", container["id"], "/bin/touch", "/tmp/over", check=False)
    # `podman wait` looks every 250 ms, and misses what --rm removes meanwhile: podman's events tell it.
    assert waiting.wait(timeout=60) == 5
    poll(lambda: leases(machine), 30, "the lease of a container that has ended")
    assert show(machine)["end"]["exit_code"] == 5


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_a_client_ended_while_it_makes_a_container_leaves_none(machine, engine, by):
    run = machine.start("run", "--", *run_words(engine))
    client = wait_until(lambda: json.loads(machine.run("show", "--json").stdout or "{}").get("job"), "the client")
    made = pathlib.Path(show(machine)["directory"], "cid")
    wait_until(lambda: made.exists() and made.read_text(), "the container is made", timeout=60)
    os.kill(client["pid"], by)

    def outcome():
        now = show(machine)
        if now["state"] in ("ended", "end unknown"):
            return "ended"
        return "runs" if now["container"] and now["container"]["process"] else None
    if wait_until(outcome, "it runs, or is over", timeout=60) == "runs":  # the client came to start it
        machine.run("stop", "last", "--grace", "0s", timeout=60)
        engine("rm", "-f", show(machine)["container"]["id"], check=False)
    assert run.wait(timeout=60) != 0, "nothing ran to its end: that is no success"
    assert not engine("ps", "-aq").stdout.strip(), engine("ps", "-a").stdout
    poll(lambda: leases(machine), 30, "the lease of what never ran")


@pytest.mark.parametrize("init", [(), ("--init",)])
@pytest.mark.parametrize("left", [(), ("-d",)])
def test_stop_ends_the_container_never_the_client_alone(machine, engine, init, left):
    if init and engine.name == "podman":
        pytest.skip("podman's catatonit is not where Debian's podman looks for it when unpacked")
    run = machine.start("run", "--", *run_words(engine, *init, *left))
    container = started(machine)
    begun = time.monotonic()
    stopped = machine.run("stop", "last", "--grace", "2s", timeout=60)
    assert stopped.returncode == 0, stopped.stderr
    assert not engine.is_running(container["id"])
    # sleep as the first process ignores TERM; behind an init it does not.
    if init:
        assert "has ended" in stopped.stderr
    else:
        assert "was killed" in stopped.stderr and time.monotonic() - begun > 1.5
    run.wait(timeout=30)
    poll(lambda: leases(machine), 30, "the lease of a stopped run")
    assert show(machine)["end"]["because"] == "stopped"


def test_a_time_limit_ends_the_container(machine, engine):
    done = machine.run("run", "--time", "2s", "--", *run_words(engine, job=("sh", "-c", "trap 'exit 9' TERM; while :; "
                                                                            "do sleep 0.1; done")), timeout=120)
    container = container_of(machine)
    assert not engine.is_running(container["id"])
    # The client hands the warning on, and the job may end by that already.
    assert show(machine)["end"]["because"] in ("time limit", "warned of the time limit"), done.stderr


def test_the_engine_has_the_output(machine, engine):
    machine.run("run", "--", *run_words(engine, "-d", job=("sh", "-c", "echo from within; sleep 300")))
    container = started(machine)
    wait_until(lambda: "from within" in machine.run("logs", "last").stdout, "the output of the container")
    # As doctor asks for containers whose record may be gone.
    [labelled] = engine("ps", "--quiet", "--no-trunc", "--filter", "label=berth.run").stdout.split()
    assert labelled == container["id"]
    assert engine.inspect(labelled)["Config"]["Labels"]["berth.run"] == show(machine)["id"]


@pytest.mark.parametrize("rm", [(), ("--rm",)], ids=["kept", "removed"])
def test_killed_for_want_of_memory_is_told_also_where_the_container_is_removed(machine, engine, rm):
    # 40 MB into a tmpfs are charged to the container, which has 20.
    words = run_words(engine, *rm, "--memory", "20m", "--tmpfs", "/big",
                      job=("dd", "if=/dev/zero", "of=/big/x", "bs=1M", "count=40"))
    # podman's conmon leaves a file named "oom" where it was started.
    done = machine.run("run", "--", *words, timeout=120, cwd=machine.directory)
    if done.returncode == 125:
        pytest.skip(f"no memory limit here: {done.stderr[-300:]}")
    container = container_of(machine)
    # If docker has kept a container, docker is asked for that afterwards.
    if container["oom_killed"] is None and (rm or engine.name != "docker"):
        pytest.skip("it had ended before its control group could be read")
    assert container["oom_killed"] is True
    assert any(event["kind"] == "oom_kill" for event in show(machine)["events"])


def test_a_killed_keeper_leaves_the_container_to_its_heir(machine, engine):
    machine.run("run", "--", *run_words(engine, "-d"))
    container = started(machine)
    os.kill(show(machine)["keeper"]["pid"], signal.SIGKILL)
    wait_until(lambda: any(event["kind"] == "keeper_killed" for event in show(machine)["events"]), "the heir")
    assert leases(machine) and engine.is_running(container["id"])
    engine("kill", container["id"])
    poll(lambda: leases(machine), 30, "the lease of a killed container")
    assert show(machine)["end"]["exit_code"] == 137


def kill_keeper_and_heir(machine):
    keeper = show(machine)["keeper"]["pid"]
    with open(f"/proc/{keeper}/stat", encoding="ascii") as stat:
        heir = int(stat.read().rpartition(")")[2].split()[1])
    os.kill(heir, signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    os.kill(heir, signal.SIGKILL)


def test_a_container_that_nobody_keeps_is_shown_and_ended_by_its_owner(machine, engine):
    if engine.name == "podman":
        pytest.skip("podman's own process holds the lease then, and is the run's")
    machine.run("run", "--", *run_words(engine, "-d"))
    container = started(machine)
    kill_keeper_and_heir(machine)
    poll(lambda: leases(machine), 30, "leases without keeper and heir")
    assert engine.is_running(container["id"])
    said = machine.run("doctor", "--no-import", timeout=60).stdout
    assert container["id"][:12] in said, said
    for verb in ("status", "ps"):
        assert f"{container['id'][:12]} of run" in machine.run(verb).stderr, verb
    stopped = machine.run("stop", "last", "--grace", "1s", timeout=60)
    assert stopped.returncode == 0, stopped.stderr
    assert not engine.is_running(container["id"])


def test_an_image_that_hides_cards_is_told_of(machine, engine):
    if engine.name == "nerdctl":
        pytest.skip("its import takes no variables of an image")
    baked = "localhost/baked:1"
    engine("import", "-c", "ENV CUDA_VISIBLE_DEVICES=0", engine.directory / "base.tar", baked)
    words = [baked if word == IMAGE else word for word in run_words(engine, "--rm", job=("true",))]
    done = machine.run("run", "--", *words, timeout=120)
    assert done.returncode == 0 and f'image {baked} sets CUDA_VISIBLE_DEVICES="0"' in done.stderr, done.stderr
    assert "sets CUDA" not in machine.run("run", "--", *run_words(engine, "--rm", job=("true",)), timeout=120).stderr


def test_a_label_alone_proves_nothing(machine, engine):
    if engine.name == "podman":
        pytest.skip("as before")
    machine.run("run", "--", *run_words(engine, "-d"))
    container = started(machine)
    kill_keeper_and_heir(machine)
    poll(lambda: leases(machine), 30, "leases without keeper and heir")
    other = engine("run", "-d", "--network", "none", "--label", "berth.run=another", IMAGE, "/bin/sleep", "300").stdout.strip()
    record = f"{show(machine)['directory']}/container.json"
    with open(record, encoding="utf-8") as file:
        forged = file.read().replace(container["id"], other)
    with open(record, "w", encoding="utf-8") as file:
        file.write(forged)
    stopped = machine.run("stop", "last", "--grace", "1s", timeout=60)
    assert stopped.returncode != 0 and "nothing was done to it" in stopped.stderr
    assert engine.is_running(other)


@pytest.fixture
def mortal(as_root):
    """One test has it for itself: an engine that does not come back takes no other test along."""
    made = Docker(is_trixie=True)
    yield made
    made.close()


def test_an_engine_that_is_killed_frees_nothing(tmp_path, mortal):
    docker = mortal
    machine = Machine(tmp_path)
    machine.env |= docker.env | {"HOME": str(tmp_path)}
    # At its next start the engine ends what it finds, and waits 10 s for what ignores TERM.
    run = machine.start("run", "--", *run_words(docker, job=("sh", "-c", "trap exit TERM; sleep 300 & wait")))
    container = started(machine)
    pid = container["process"]["pid"]
    docker.kill_daemon()
    try:
        run.wait(timeout=60)
        assert os.path.exists(f"/proc/{pid}"), "the container has ended with its engine here"
        assert leases(machine), "the lease has gone while the container computes on"
    finally:
        docker.start()
    docker("kill", container["id"], check=False)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the container's end")
    poll(lambda: leases(machine), 60, "the lease of a container that has ended")


# --- what it is given ------------------------------------------------------------------------------


def fake_cards(tmp_path, docker):
    """Two cards of the fake driver, and CDI files of the engine's that name /dev/null their device file."""
    sims = Machine(tmp_path / "sim")
    (tmp_path / "sim").mkdir()
    snapshot = json.loads(sims.run("status", "--json").stdout)
    snapshot["devices"] = snapshot["devices"][:2]
    snapshot["processes"] = snapshot["gpu_processes"] = snapshot["claims"] = []
    for device in snapshot["devices"]:
        device["memory_used_bytes"], device["memory_free_bytes"] = 0, device["memory_total_bytes"]
        device["utilization_gpu_percent"] = 0
    driver = FakeDriver(tmp_path, snapshot)
    driver.env |= docker.env | {"HOME": str(tmp_path)}
    devices = driver.status_json()["devices"]
    return driver, devices


def write_cdi(docker, text):
    (docker.cdi / "nvidia.yaml").write_text(text, encoding="utf-8")
    name = re.search(r'name: "?([^"\n]+)', text)[1]
    given = ("run", "--rm", "--network", "none", "--device", f"nvidia.com/gpu={name}", IMAGE, "/bin/true")
    wait_until(lambda: docker(*given, check=False).returncode == 0, "the engine has read it")


def test_docker_gives_what_the_lease_has_by_the_names_of_the_cdi_file(tmp_path, docker):
    driver, devices = fake_cards(tmp_path, docker)
    minors = [device.get("minor_number") for device in devices]
    if None in minors:
        pytest.skip("the fake driver tells no minor numbers")
    entries = "".join(f'- name: "{minor}"\n  containerEdits:\n    deviceNodes:\n'
                      f"    - path: /dev/nvidia{minor}\n      hostPath: /dev/null\n"
                      for minor in minors)
    by_uuid = "".join(f"- name: {device['uuid']}\n  containerEdits:\n    env:\n    - SEEN={device['uuid']}\n"
                      for device in devices)
    write_cdi(docker, f"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n{entries}{by_uuid}")
    done = driver.run("run", "-v", "--", *run_words(docker, "--rm", job=("env",)), timeout=120)
    assert done.returncode == 0, done.stderr
    assert f"put into docker run: --device nvidia.com/gpu={devices[0]['uuid']}" in done.stderr, done.stderr
    assert f"SEEN={devices[0]['uuid']}" in done.stdout
    assert "NVIDIA_VISIBLE_DEVICES=void" in done.stdout and "CUDA_VISIBLE_DEVICES" not in done.stdout
    assert f"SEEN={devices[1]['uuid']}" not in done.stdout


def with_its_own_etc(machine, tmp_path):
    """Whatever it starts finds an /etc in which the test may write: the folder is the answer."""
    for name in ("etc", "work"):
        (tmp_path / name).mkdir()
    plain = machine.command
    own = 'mount -t overlay overlay -o "lowerdir=/etc,upperdir=$0/etc,workdir=$0/work" /etc && exec "$@"'
    machine.command = lambda *words: ["unshare", "--mount", "sh", "-c", own, str(tmp_path), *plain(*words)]
    return tmp_path / "etc"


@pytest.mark.parametrize("engine", ["podman-4.3"], indirect=True)
def test_podman_gives_what_the_lease_has_from_the_machines_cdi_files(tmp_path, engine):
    driver, devices = fake_cards(tmp_path, engine)
    etc = with_its_own_etc(driver, tmp_path)
    if driver.run("--version").returncode != 0:
        pytest.skip("no overlay can be mounted on /etc here")
    (etc / "cdi").mkdir()
    entries = "".join(f"- name: {device['uuid']}\n  containerEdits:\n    env:\n    - SEEN={device['uuid']}\n"
                      f"    deviceNodes:\n    - path: /dev/nvidia{at}\n      hostPath: /dev/null\n"
                      for at, device in enumerate(devices))
    (etc / "cdi/nvidia.yaml").write_text(f"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n{entries}", encoding="utf-8")
    words = run_words(engine, "--rm", job=("sh", "-c", "ls -l /dev/nvidia*; env"))
    done = driver.run("run", "-v", "--only", "1", "--", *words, timeout=120)
    assert done.returncode == 0, done.stderr
    assert f"put into podman run: --device nvidia.com/gpu={devices[1]['uuid']}" in done.stderr, done.stderr
    assert f"SEEN={devices[1]['uuid']}" in done.stdout and f"SEEN={devices[0]['uuid']}" not in done.stdout
    [node] = [line for line in done.stdout.splitlines() if "/dev/nvidia" in line]
    assert node.startswith("c") and node.split()[4:6] == ["1,", "3"] and node.endswith("/dev/nvidia1"), node
    assert "NVIDIA_VISIBLE_DEVICES=void" in done.stdout and "CUDA_VISIBLE_DEVICES" not in done.stdout


@pytest.mark.parametrize("by_file", [False, True], ids=["by its option", "by its file"])
def test_nerdctl_gives_what_the_lease_has_from_the_folders_that_it_is_told(tmp_path, nerdctl, by_file):
    driver, devices = fake_cards(tmp_path, nerdctl)
    entries = "".join(f"- name: {device['uuid']}\n  containerEdits:\n    env:\n    - SEEN={device['uuid']}\n"
                      for device in devices)
    (nerdctl.cdi / "nvidia.yaml").write_text(f"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n{entries}")
    told = () if by_file else ("--cdi-spec-dirs", nerdctl.cdi)
    if by_file:
        own = tmp_path / "nerdctl.toml"
        own.write_text(f'{pathlib.Path(nerdctl.env["NERDCTL_TOML"]).read_text()}cdi_spec_dirs = ["{nerdctl.cdi}"]\n')
        driver.env["NERDCTL_TOML"] = str(own)
    words = [nerdctl.name, *told, *run_words(nerdctl, "--rm", job=("env",))[1:]]
    done = driver.run("run", "-v", "--", *words, timeout=120)
    assert done.returncode == 0, done.stderr
    assert f"put into nerdctl run: --device nvidia.com/gpu={devices[0]['uuid']}" in done.stderr, done.stderr
    assert f"SEEN={devices[0]['uuid']}" in done.stdout and f"SEEN={devices[1]['uuid']}" not in done.stdout
    assert "NVIDIA_VISIBLE_DEVICES=void" in done.stdout and "CUDA_VISIBLE_DEVICES" not in done.stdout


@pytest.mark.parametrize("left", [(), ("-d",)], ids=["in front", "left alone"])
def test_the_watchdog_counts_the_container_and_ends_it_above_its_share(tmp_path, docker, left):
    driver, devices = fake_cards(tmp_path, docker)
    driver.env["BERTH_FAKE_NVML_LIVE"] = "1"
    nodes = "".join(f"- name: {device['uuid']}\n  containerEdits:\n    env:\n    - SEEN=it\n" for device in devices)
    write_cdi(docker, f"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n{nodes}")
    words = run_words(docker, *left, job=("sh", "-c", "trap exit TERM; sleep 300 & wait"))
    run = driver.start("run", "--memory", "2G", "--cap-action", "stop", "--", *words)
    container = started(driver)
    first = container["process"]["pid"]
    # A process of the container that is not its first, as its engine's host numbers it.
    [inner] = wait_until(lambda: children(first), "the container's second process")
    played = json.loads((tmp_path / "played.json").read_text(encoding="utf-8"))
    given = leases(driver)[0]["devices"][0]["device"]
    card = next(one for one in played["devices"] if given in (one["id"], one["uuid"]))
    card |= {"memory_used_bytes": 3 << 30, "memory_free_bytes": card["memory_total_bytes"] - (3 << 30)}
    played["gpu_processes"] = [{"device": card["id"], "pid": inner, "type": "C", "memory_used_bytes": 3 << 30}]
    (tmp_path / "new.json").write_text(json.dumps(played), encoding="utf-8")
    (tmp_path / "new.json").rename(tmp_path / "played.json")
    said = " ".join(run.communicate(timeout=60)[1].split())
    assert "docker starts a container, and no cap goes along: the watchdog alone looks at it" in said
    poll(lambda: leases(driver), 60, "the lease of a run above its share")
    record = show(driver)
    assert record["end"]["because"] == "memory cap"
    assert [event["kind"] for event in record["events"]][:2] == ["memory_over_cap", "cap_action"]
    cap = record["cap"]
    assert cap["said"] and cap["devices"][0]["highest_measured_bytes"] == 3 << 30 and cap["proved"] == "yes"
    assert not docker.is_running(container["id"]) and not os.path.exists(f"/proc/{inner}")


def test_a_card_that_no_file_knows_is_refused_before_it_waits(tmp_path, docker):
    driver, devices = fake_cards(tmp_path, docker)
    for spec in docker.cdi.iterdir():
        spec.unlink()
    done = driver.run("run", "--", *run_words(docker), timeout=60)
    assert done.returncode == 125
    assert "nvidia-ctk cdi generate" in done.stderr, done.stderr
    assert not leases(driver) and not docker("ps", "-aq").stdout.strip()


@pytest.mark.parametrize("option", [("--gpus", "all"), ("--privileged",), ("--restart", "always"),
                                    ("-e", "CUDA_VISIBLE_DEVICES=0")])
def test_what_contradicts_the_lease_starts_nothing(tmp_path, docker, option):
    driver, _ = fake_cards(tmp_path, docker)
    done = driver.run("run", "--", *run_words(docker, *option), timeout=60)
    assert done.returncode == 125
    assert "Write: berth run -n 1 -- docker run --network none" in done.stderr, done.stderr
    assert not leases(driver) and not docker("ps", "-aq").stdout.strip()
