"""What a real docker client asks of its engine when berth has had its command line in between."""

import contextlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from aftermath import leases, poll, processes, show
from conftest import ROOT, FakeDriver, Machine, end, wait_until
from docker_socket import DockerSocket
from engines import PEERS

DATA = ROOT / "tests/data/containers"


@pytest.fixture(scope="module")
def client():
    found = PEERS / "usr/bin/docker"
    if found.exists():
        return str(found)
    return shutil.which("docker") or pytest.skip("there is no docker client (./dev test unpacks one)")


@pytest.fixture
def socket():
    server = DockerSocket()
    yield server
    server.close()


def with_client(machine, client, socket, *programs):
    folder = machine.directory / "bin"
    folder.mkdir()
    (folder / "docker").symlink_to(client)
    for program in programs:
        (folder / program).symlink_to("/bin/true")
    machine.env |= {"PATH": f"{folder}:/usr/bin:/bin", "DOCKER_HOST": socket.address,
                    "DOCKER_API_VERSION": "1.41"}
    return machine


def cards(tmp_path, count):
    (tmp_path / "sim").mkdir()
    snapshot = json.loads(Machine(tmp_path / "sim").run("status", "--json").stdout)
    snapshot["devices"] = snapshot["devices"][:count]
    snapshot["processes"] = snapshot["gpu_processes"] = snapshot["claims"] = []
    for device in snapshot["devices"]:
        device["memory_used_bytes"], device["memory_free_bytes"] = 0, device["memory_total_bytes"]
        device["utilization_gpu_percent"] = 0
    return FakeDriver(tmp_path, snapshot)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_docker_asks_for_exactly_the_cards_of_the_lease(tmp_path, client, socket, count):
    driver = with_client(cards(tmp_path, 8), client, socket, "nvidia-ctk")
    done = driver.run("run", "-v", "-n", count, "--", "docker", "run", "-d", "image", "python")
    assert done.returncode == 0, done.stderr
    [created] = socket.created
    [request] = created["HostConfig"]["DeviceRequests"]
    given = [device["uuid"] for device in show(driver)["given"]["devices"]]
    assert len(given) == count and request["DeviceIDs"] == given and request["Count"] == 0
    assert created["Image"] == "image" and created["Cmd"] == ["python"]
    assert list(created["Labels"]) == ["berth.run"]
    assert "put into docker run: --gpus" in done.stderr


def test_without_cards_it_is_kept_off_them(tmp_path, client, socket):
    driver = with_client(cards(tmp_path, 1), client, socket)
    done = driver.run("run", "--cpu", "--", "docker", "run", "-d", "image")
    assert done.returncode == 0, done.stderr
    [created] = socket.created
    assert not created["HostConfig"]["DeviceRequests"]
    assert created["Env"] == ["NVIDIA_VISIBLE_DEVICES=void"]


def test_without_toolkit_and_cdi_it_is_told_before_it_waits(tmp_path, client, socket):
    driver = with_client(cards(tmp_path, 1), client, socket)
    done = driver.run("run", "--wait", "--", "docker", "run", "image", timeout=60)
    assert done.returncode == 125 and "nvidia-container-toolkit" in done.stderr, done.stderr
    assert not socket.created and not leases(driver)


NERDCTL = """#!/bin/sh
case "$*" in *--version) echo "nerdctl version %s";; *) exit 3;; esac
"""


@pytest.mark.parametrize(("version", "code"), [("2.2.1", 3), ("2.3.5", 125)])
def test_nerdctl_has_no_way_to_a_card_without_cdi_from_2_3_on(tmp_path, version, code):
    # Since 2.3 its --gpus takes the names of CDI files. (2.3.5 says "no known GPU vendor found in CDI specs".)
    driver = cards(tmp_path, 1)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "nerdctl").write_text(NERDCTL % version, encoding="utf-8")
    (folder / "nerdctl").chmod(0o755)
    (folder / "nvidia-ctk").symlink_to("/bin/true")
    driver.env["PATH"] = f"{folder}:/usr/bin:/bin"
    words = ("nerdctl", "--cdi-spec-dirs", str(tmp_path / "none"), "run", "image")
    done = driver.run("run", "--", *words)
    assert done.returncode == code, done.stderr
    if code == 125:
        assert "nvidia-ctk cdi generate" in done.stderr and not leases(driver), done.stderr


# An engine as far as a run asks it. A container is a process in a memory group of its name, as runc makes one.
CONTAINERS = r"""#!/bin/sh
cd {here}
case "$*" in
*--version) echo "nerdctl version 2.3.5";;
*"image inspect"*)
  echo "$*" >> asked-images
  echo '[{{"Id": "sha256:'$(printf %064d 4)'", "RepoDigests": ["mirror.example/busy@sha256:1", "busy@sha256:2"]}}]';;
*inspect*)
  test -s pid || {{ echo "no such container" >&2; exit 1; }}
  test -d /proc/$(cat pid) && state='"running", "Running": true' || state='"exited", "Running": false'
  echo '[{{"Id": "{id}", "Image": "{image}", "State": {{"Status": '"$state"', "Pid": '$(cat pid)', "ExitCode": 137}},'
  echo '"Config": {{"Image": "busy:1", "Labels": {{"berth.run": "'$(cat run)'"}}}}}}]';;
*" run "*|run*)
  echo "$*" > asked
  while [ "$1" != --cidfile ]; do shift; done
  echo "${{4#berth.run=}}" > run
  printf %s {id} > "$2"
  sh -c 'echo $$ > {group}/cgroup.procs && echo $$ > pid; until test -e over; do sleep 0.02; done; {job}' &
  wait $!
  exit $?;;
esac
"""


def engine_that_is_none(machine, name, image, job="true", group=None):
    folder = machine.directory / "bin"
    folder.mkdir()
    here = group or machine.directory / "group"
    if group is None:
        here.mkdir()
    (folder / name).write_text(CONTAINERS.format(here=machine.directory, id="a" * 64, image=image, group=here, job=job),
                               encoding="utf-8")
    (folder / name).chmod(0o755)
    machine.env["PATH"] = f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_an_engine_that_makes_no_container_is_what_the_end_is_put_down_to(machine, engine):
    folder = machine.directory / "bin"
    folder.mkdir()
    (folder / engine).write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    (folder / engine).chmod(0o755)
    machine.env["PATH"] = f"{folder}:/usr/bin:/bin"
    done = machine.run("run", "--no-wait", "--", engine, "run", "--rm", "busy:1")
    assert done.returncode == 125, done.stderr
    said = " ".join(machine.run("explain", "last").stdout.split())
    assert f"{engine} ended without an error, and no container of this run is there" in said, said
    assert "keeper has gone" not in said, said
    shown = machine.run("show", "last").stdout
    assert "none is known to have been made" in shown and "not made yet" not in shown, shown


def test_a_dry_run_shows_what_would_be_put_into_the_command_or_refused_in_it(machine):
    words = ["run", "--dry-run", "--only", "5", "--"]
    done = machine.run(*words[:2], "-v", *words[2:], "docker", "run", "--rm", "busy:1")
    said = " ".join(done.stderr.split())
    assert done.returncode == 0 and "Would get" in done.stdout and "put into docker run: " in said, said
    assert "--label berth.run=RUN" in said, said
    assert "put into" not in machine.run(*words, "docker", "run", "--rm", "busy:1").stderr
    refused = machine.run(*words[:2], "-v", *words[2:], "docker", "run", "--gpus", "all", "busy:1")
    assert refused.returncode == 125 and "--gpus" in refused.stderr, refused.stderr


def test_an_epilog_writes_down_the_end_of_a_container_that_was_killed_with_all_of_its_job(machine):
    engine_that_is_none(machine, "podman", "busy:1")
    begun = machine.run("run", "-d", "--only", "5", "--", "podman", "run", "--rm", "busy:1", env={"SLURM_JOB_ID": "77"})
    run = begun.stdout.strip()
    poll(lambda: not (machine.directory / "pid").exists() or not show(machine, run)["container"]["id"], 60, "it has none")
    while left := processes(machine):  # as Slurm's KILL of the job's control group
        for one in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(one.split()[0]), signal.SIGKILL)
    (machine.directory / "pid").write_text("4194304\n", encoding="utf-8")  # above every number: also where init does not reap
    record = show(machine, run)
    assert record["end"]["known"] is False and record["container"]["ended_unix_ms"] is None, record
    assert machine.run("stop", "--slurm-job", "76").returncode == 0
    assert show(machine, run)["container"]["ended_unix_ms"] is None, "that is another job's"
    done = machine.run("stop", "--slurm-job", "77", "--quiet")
    container = show(machine, run)["container"]
    assert done.returncode == 0 and container["ended_unix_ms"] and container["exit_code"] == 137, (done.stderr, container)


@pytest.fixture
def memory_group():
    """For a container of that name: 20 MB, and no more."""
    if os.geteuid() != 0:
        pytest.skip("a control group of one's own needs root")
    for path, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = pathlib.Path(path, "a" * 64)
        try:
            group.mkdir()
            (group / limit).write_text(str(20 << 20))
        except OSError:
            if group.is_dir():
                group.rmdir()
            continue
        yield group
        for _ in range(500):
            try:
                return group.rmdir()
            except OSError:
                time.sleep(0.01)
        pytest.fail(f"{group} has processes")
    pytest.skip("no control group with a limit of memory can be made here")


def test_nerdctl_tells_nothing_of_memory_and_the_kernel_does(tmp_path, memory_group):
    machine, big = Machine(tmp_path), pathlib.Path("/dev/shm", f"berth-{os.getpid()}")
    engine_that_is_none(machine, "nerdctl", "busy:1", f"exec dd if=/dev/zero of={big} bs=1M count=40", memory_group)
    run = machine.start("run", "--", "nerdctl", "run", "busy:1")
    try:
        def is_followed():
            shown = machine.run("show", "--json")
            container = json.loads(shown.stdout).get("container") if shown.returncode == 0 else None
            return container and container["process"]
        wait_until(is_followed, "the container is followed")
        (tmp_path / "over").touch()
        assert run.wait(timeout=60) == 137, run.stderr.read()
    finally:
        end(run)
        big.unlink(missing_ok=True)
    record = show(machine)
    assert record["container"]["oom_killed"] is True and record["container"]["engine"] == "nerdctl"
    assert [one["kind"] for one in record["events"]] == ["oom_kill"]


def test_nerdctl_is_given_cards_by_the_names_in_the_folders_of_its_own_option(tmp_path):
    driver = cards(tmp_path, 2)
    engine_that_is_none(driver, "nerdctl", "busy:1")
    (tmp_path / "over").touch()
    devices = driver.status_json()["devices"]
    for at, device in enumerate(devices):
        folder = tmp_path / f"cdi{at}"
        folder.mkdir()
        (folder / "nvidia.yaml").write_text(
            f"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: {device['uuid']}\n  containerEdits:\n"
            "    env:\n    - A=1\n", encoding="utf-8")
    words = ("nerdctl", "--cdi-spec-dirs", f"{tmp_path}/cdi0,{tmp_path}/cdi1", "run", "busy:1")
    done = driver.run("run", "--only", "1", "--", *words)
    asked = (tmp_path / "asked").read_text(encoding="utf-8") if (tmp_path / "asked").exists() else ""
    assert f"--device nvidia.com/gpu={devices[1]['uuid']}" in asked and devices[0]["uuid"] not in asked, done.stderr
    assert "NVIDIA_VISIBLE_DEVICES=void" in asked


@pytest.mark.parametrize(("engine", "image", "known"), [
    ("docker", "sha256:" + "4" * 64, "sha256:" + "4" * 64), ("nerdctl", "busy:1", "sha256:" + "4".zfill(64)),
], ids=["docker", "nerdctl"])
def test_the_image_is_recorded_by_name_and_by_what_its_engine_calls_its_id(tmp_path, engine, image, known):
    machine = Machine(tmp_path)
    engine_that_is_none(machine, engine, image)
    (tmp_path / "over").touch()
    machine.run("run", "--", engine, "run", "busy:1")
    container = show(machine)["container"]
    assert (container["image"], container["image_id"]) == ("busy:1", known), container
    # Its own registry's; asked for as the command is read, for what the image sets, and once more.
    assert container["image_digest"] == "sha256:2", container
    # On a loaded machine the engine may be late to tell the id: then by the name again.
    asked = (tmp_path / "asked-images").read_text(encoding="utf-8").split()
    assert asked in [["image", "inspect", "busy:1", "image", "inspect", name] for name in (image, "busy:1")], asked
    shown = machine.run("show", env={"COLUMNS": "300"}).stdout
    assert "busy:1" in shown and "sha256:2" in shown, shown


def test_a_remote_engine_is_refused(tmp_path, client, socket):
    driver = with_client(cards(tmp_path, 1), client, socket, "nvidia-ctk")
    driver.env["DOCKER_HOST"] = "tcp://127.0.0.1:9"
    done = driver.run("run", "--", "docker", "run", "image")
    assert done.returncode == 125
    assert "another machine" in done.stderr and "env -u DOCKER_HOST berth run" in done.stderr, done.stderr


def test_a_context_of_another_machine_is_refused(tmp_path, client, socket):
    driver = with_client(cards(tmp_path, 1), client, socket, "nvidia-ctk")
    subprocess.run([client, "context", "create", "far", "--docker", "host=tcp://127.0.0.1:9"], check=True,
                   env=driver.env | {"DOCKER_HOST": ""}, capture_output=True)
    done = driver.run("run", "--", "docker", "--context", "far", "run", "image")
    assert done.returncode == 125 and "tcp://127.0.0.1:9" in done.stderr, done.stderr
    assert "Write: berth run -n 1 -- docker run image" in done.stderr


def asked_by(client, socket, words):
    """What the client itself asks for; nothing: it refuses the line."""
    before = len(socket.created)
    at = words.index("run") + 1
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "DOCKER_HOST": socket.address, "DOCKER_API_VERSION": "1.41"}
    subprocess.run([client, *words[1:at], "-d=true", *words[at:]], env=env, capture_output=True, timeout=60, check=False)
    return socket.created[before] if len(socket.created) > before else None


def same(asked):
    """Without what a run adds, and what docker itself takes from the terminal."""
    kept = {name: asked.get(name) for name in ("Image", "Cmd", "Entrypoint", "User", "WorkingDir", "ExposedPorts", "Volumes")}
    host = asked["HostConfig"]
    kept["host"] = {name: host.get(name) for name in ("Binds", "NetworkMode", "PortBindings", "IpcMode", "ShmSize",
                                                 "AutoRemove", "CapAdd", "GroupAdd", "SecurityOpt", "Ulimits")}
    kept["host"]["Binds"] = sorted(kept["host"]["Binds"] or [])  # docker keeps them in a map
    return kept


def lines_of(name):
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        source, _, command = line.partition("\t")
        yield source, shlex.split(command, comments=True)


@pytest.mark.parametrize("name", ["shapes.txt", "shapes-sealed.txt"])
def test_lines_of_tutorials_mean_the_same_through_berth(tmp_path, client, socket, name):
    """Lines of the shapes that public repositories have; names and folders are replaced. berth passes each on as the
    client reads it, or refuses it. The refusal has a line that asks for the same without the words that contradict the
    lease."""
    machine = with_client(Machine(tmp_path), client, socket)
    passed = refused = unread = 0
    for source, words in lines_of(name):
        if words[0] != "docker":
            continue
        plain = asked_by(client, socket, words)
        if plain is None:
            unread += 1  # a line for people: "docker run commands for …"
            continue
        at = words.index("run") + 1
        before = len(socket.created)
        done = machine.run("run", "--", *words[:at], "-d=true", *words[at:], timeout=60)
        if len(socket.created) > before:
            assert same(socket.created[before]) == same(plain), f"{source}: {shlex.join(words)}"
            host = socket.created[before]["HostConfig"]
            assert not host["DeviceRequests"] and not host["Privileged"], f"{source}: {shlex.join(words)}"
            passed += 1
            continue
        assert done.returncode == 125, f"{source}: {shlex.join(words)}: {done.stderr}"
        assert "Write: berth run -n 1 -- " in done.stderr, f"{source}: {shlex.join(words)}: {done.stderr}"
        corrected = shlex.split(done.stderr.split("Write: berth run -n 1 -- ", 1)[1].splitlines()[0])
        again = asked_by(client, socket, corrected)
        assert again is not None and same(again) == same(plain), f"{source}: {shlex.join(corrected)}"
        host = again["HostConfig"]
        assert not host["DeviceRequests"] and not host["Privileged"]
        assert host["RestartPolicy"]["Name"] in ("", "no")
        refused += 1
    assert passed + refused >= 20, f"{passed} passed on, {refused} refused, {unread} that docker itself does not read"
    print(f"{name}: {passed} passed on, {refused} refused, {unread} not read by docker")


@pytest.mark.parametrize("release", ["20", "any"])
def test_the_tables_of_options_are_the_clients_own(client, release):
    """Each option of `docker run --help` and `podman run --help` that stands here is known as switch or as value."""
    text = (ROOT / "src/run/container/command.cc").read_text(encoding="utf-8")
    tables = text.split("constexpr OptionTable run_options")[1].split("};")[0]
    switches, values = (set() for _ in range(2))
    for table, kept in ((tables.split(".values")[0], switches), (tables.split(".values")[1], values)):
        for piece in "".join(part for part in table.split('"')[1::2]).split():
            kept.add(piece.split(",")[0])
    assert not switches & values
    helps = [subprocess.run([client, "run", "--help"], capture_output=True, text=True, check=True).stdout]
    if release == "any":
        podman = PEERS / "usr/bin/podman"
        if not podman.exists():
            pytest.skip("podman is not unpacked here")
        libraries = f"{PEERS}/usr/lib/x86_64-linux-gnu:{PEERS}/lib/x86_64-linux-gnu"
        helps = [subprocess.run([podman, "run", "--help"], capture_output=True, text=True, check=True,
                                env={"LD_LIBRARY_PATH": libraries, "HOME": "/nowhere"}).stdout]
    import re
    seen = 0
    for line in helps[0].splitlines():
        match = re.match(r"\s+(?:-\w, )?--([\w-]+)( [\w\[\]<>]+)?(?:\s{2,}|\s*$)", line)
        if not match:
            continue
        seen += 1
        assert match[1] in (values if match[2] else switches), line
    assert seen > 60


# Makes a container, is asked for it once while it lives, and has removed it when it is asked again.
REMOVED_AT_ITS_END = """#!/bin/sh
cd {here}
case "$*" in
*inspect*)
  test ! -e gone || {{ echo "Error: No such container" >&2; exit 1; }}
  echo '[{{"Id": "{id}", "State": {{"Running": true, "Status": "running", "Pid": 0, "OOMKilled": false}},'
  echo '"Config": {{"Labels": {{"berth.run": "'$(cat run)'"}}}}}}]'
  touch asked;;
run*)
  while [ "$1" != --cidfile ]; do shift; done
  echo "${{4#berth.run=}}" > run
  printf %s {id} > "$2"
  until test -e asked; do sleep 0.02; done
  touch gone
  exit 137;;
esac
"""


def test_a_container_that_was_last_seen_alive_is_not_said_to_have_had_enough_memory(tmp_path):
    machine = Machine(tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(REMOVED_AT_ITS_END.format(here=tmp_path, id="a" * 64), encoding="utf-8")
    for name in ("docker", "nvidia-ctk"):
        (folder / name).touch()
        (folder / name).chmod(0o755)
    machine.env["PATH"] = f"{folder}:/usr/bin:/bin"
    done = machine.run("run", "--", "docker", "run", "--rm", "image", "job")
    assert done.returncode == 137, done.stderr
    container = show(machine)["container"]
    assert container["ended_unix_ms"] and container["oom_killed"] is None


# Runs containers that have the label of runs, and notes what it is asked.
LABELLED = r"""#!/bin/sh
echo "$*" >> {here}/asked
case "$*" in
--version) echo "Docker version 20.10.24";;
ps*label=berth.run*) cut -c-64 {here}/labelled;;
container\ inspect*)
  echo "[$(sed 's,\(.*\) \(.*\),{{"Id": "\1"\, "Config": {{"Labels": {{"berth.run": "\2"}}}}}}\,,' {here}/labelled) {{}}]";;
esac
"""


def test_a_container_whose_record_is_gone_is_shown_and_never_ended_by_its_label_alone(tmp_path):
    machine = cards(tmp_path, 1)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(LABELLED.format(here=tmp_path), encoding="utf-8")
    (folder / "docker").chmod(0o755)
    machine.env["PATH"] = f"{folder}:/usr/bin:/bin"
    assert machine.run("run", "-q", "--cpu", "--", "true").returncode == 0
    recorded = show(machine)["id"]
    gone = recorded[:-6] + "aaaaaa"
    (tmp_path / "labelled").write_text(f"{'a' * 64} {gone}\n{'b' * 64} {recorded}\n{'c' * 64} ../..\n", encoding="utf-8")
    report = json.loads(machine.run("doctor", "--no-import", "--json", timeout=60).stdout)
    [said] = [one for one in report["findings"] if one["rule"] == "container_without_record"]
    text = json.dumps(said)
    assert f"container aaaaaaaaaaaa of docker has the label of run {gone}" in text, text
    assert "cccccccccccc" in text and recorded not in text, "one that has a record is not among them"
    assert [step["command"] for step in said["steps"]] == ["docker inspect aaaaaaaaaaaa", "docker inspect cccccccccccc"]
    assert machine.run("stop", gone).returncode != 0
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert not [words for words in asked if words.split()[0] in ("stop", "kill", "rm")], asked


@pytest.mark.parametrize(("words", "cards"), [(("-n", "2"), None), (("--cpu",), "void")])
def test_enroot_is_told_the_cards_of_the_lease_and_not_those_of_its_image(tmp_path, words, cards):
    machine = Machine(tmp_path)
    (tmp_path / "bin").mkdir()
    enroot = tmp_path / "bin/enroot"
    enroot.write_text("#!/bin/sh\necho cards $NVIDIA_VISIBLE_DEVICES\n", encoding="utf-8")
    enroot.chmod(0o755)
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "NVIDIA_VISIBLE_DEVICES": "all"}
    done = machine.run("run", *words, "--", "enroot", "start", "image", env=env)
    given = ",".join(str(device["index"]) for device in show(machine)["given"]["devices"])
    assert done.stdout == f"cards {cards or given}\n", done.stderr
