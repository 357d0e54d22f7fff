"""Several servers: one `berth serve` that shows others, each of whose failures is its own."""

import json
import signal
import socket
import threading
import time

import pytest
from conftest import Machine, ends_within_patience, wait_until
from serving import Server


class Room:
    """Servers of simulated machines, and one that joins them by a file."""

    def __init__(self, directory):
        self.directory = directory
        self.file = directory / "hosts"
        self.config = directory / "serve.toml"
        self.servers = {}

    def machine(self, name, sim="lab-4"):
        folder = self.directory / name
        folder.mkdir(exist_ok=True)
        return Machine(folder, sim)

    def start(self, name, *words, sim="lab-4", **how):
        self.servers[name] = Server(self.machine(name, sim), *words, **how)
        return self.servers[name]

    def write(self, lines, others="public", interval="1s"):
        self.file.write_text("# others\n" + "".join(f"{line}\n" for line in lines), encoding="utf-8")
        self.config.write_text(
            f'[policy]\nothers = "{others}"\n[join]\nfile = "{self.file}"\ninterval = "{interval}"\n',
            encoding="utf-8",
        )

    def join(self, *lines, **how):
        self.write(lines, **how)
        return self.start("here", "--config", self.config, sim="server-8xh100")

    def line(self, name, *options):
        return " ".join([f"{name}=http://127.0.0.1:{self.servers[name].port}", *options])

    def close(self):
        for server in self.servers.values():
            server.process.send_signal(signal.SIGCONT)
            server.close()


@pytest.fixture
def room(tmp_path):
    room = Room(tmp_path)
    yield room
    room.close()


def hosts_of(server, **how):
    return {host["name"]: host for host in server.get("/api/v1/hosts", **how).json["hosts"]}


def wait_for(server, name, state, timeout=30):
    return wait_until(
        lambda: (host := hosts_of(server)[name])["state"] == state and host, f"{name} is {state}", timeout
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_others_are_shown_beside_this_server(room):
    other = room.start("a", sim="h100-mig")
    here = room.join(room.line("a"))
    host = wait_for(here, "a", "ok")
    own = other.get("/api/v1/overview").json
    assert host["why"] is None and host["remedy"] is None
    assert host["address"] == f"http://127.0.0.1:{other.port}" and host["page"] == host["address"] + "/"
    assert host["simulated"] == own["simulated"] == "h100-mig"
    assert host["version"] == own["version"]
    assert [device["id"] for device in host["devices"]] == [device["id"] for device in own["devices"]]
    assert [device["users"] for device in host["devices"]] == [device["users"] for device in own["devices"]]
    assert host["queue"] == len(own["queue"])
    assert here.get("/api/v1/overview").json["joined"] == 1
    assert other.get("/api/v1/overview").json["joined"] == 0


def test_what_is_shown_moves_on(room):
    room.start("a")
    here = room.join(room.line("a"))
    first = wait_for(here, "a", "ok")
    later = wait_until(
        lambda: (host := hosts_of(here)["a"])["taken_unix_ms"] > first["taken_unix_ms"] and host, "a newer look"
    )
    assert later["asked_unix_ms"] > first["asked_unix_ms"]


def test_two_that_join_each_other_show_two_each(room):
    port = free_port()
    room.write([f"b=http://127.0.0.1:{port}"])
    first = room.start("a", "--config", room.config)
    config = room.directory / "b.toml"
    config.write_text(
        f'[join]\nhosts = ["a=http://127.0.0.1:{first.port}", "b=http://127.0.0.1:{port}"]\ninterval = "1s"\n',
        encoding="utf-8",
    )
    second = room.start("b", "--config", config, listen=f"127.0.0.1:{port}")
    wait_for(first, "b", "ok")
    wait_for(second, "a", "ok")
    wait_for(second, "b", "ok")
    assert set(hosts_of(first)) == {"b"} and set(hosts_of(second)) == {"a", "b"}


@pytest.mark.clock
def test_each_failure_is_its_own(room):
    for name in ("well", "killed", "hung", "locked"):
        room.start(name)
    secret = room.directory / "token"
    secret.write_text("berth_" + "0" * 40 + "\n", encoding="ascii")
    here = room.join(
        room.line("well"),
        room.line("killed"),
        room.line("hung"),
        room.line("locked", f"token_file={secret}"),
        room.line("well", f"token_file={room.directory}/none").replace("well=", "tokenless="),
        f"nobody=http://127.0.0.1:{free_port()}",
        "unknown=http://no-such-host.invalid:9700",
    )
    for name in ("well", "killed", "hung"):
        wait_for(here, name, "ok")
    killed, hung = room.servers["killed"], room.servers["hung"]
    port = killed.port
    killed.stop(signal.SIGKILL)
    hung.process.send_signal(signal.SIGSTOP)

    host = wait_for(here, "killed", "unreachable")
    assert "Connection refused" in host["why"] and "berth serve" in host["remedy"]
    assert host["devices"] == [] and host["counts"] == {} and host["queue"] is None
    assert host["taken_unix_ms"], "when it was seen last is still known"
    host = wait_for(here, "hung", "unreachable")
    assert "does not answer within" in host["why"] and "firewall" in host["remedy"]
    host = hosts_of(here)["locked"]
    assert host["state"] == "refused" and host["why"] == "it does not know the token"
    assert "berth token create" in host["remedy"]
    host = hosts_of(here)["tokenless"]
    assert host["state"] == "refused" and host["why"].startswith("cannot open …"), "paths are for the administrator"
    assert str(room.directory) in hosts_of(here, over="unix")["tokenless"]["why"]
    assert hosts_of(here)["nobody"]["state"] == "unreachable"
    assert hosts_of(here)["unknown"]["state"] in ("unreachable", "stale")

    well = hosts_of(here)["well"]
    assert well["state"] == "ok"
    assert time.time() * 1000 - well["asked_unix_ms"] < 4000, "the others keep nobody waiting"
    assert not here.get("/api/v1/overview").json["stale"]

    # They come back by themselves.
    hung.process.send_signal(signal.SIGCONT)
    room.start("killed", listen=f"127.0.0.1:{port}")
    assert wait_for(here, "hung", "ok", 60)["why"] is None
    assert wait_for(here, "killed", "ok", 60)["devices"]


def test_a_single_missed_answer_is_a_moments_trouble(room):
    other = room.start("a")
    # What is shown follows each second: of asks that are as frequent one may not be seen.
    here = room.join(room.line("a"), interval="4s")
    wait_for(here, "a", "ok")
    other.stop(signal.SIGKILL)
    stale = wait_for(here, "a", "stale")
    assert stale["devices"] and "a" in hosts_of(here)
    wait_for(here, "a", "unreachable")


def test_the_right_token_opens_and_shows_no_more_than_both_allow(room):
    other = room.start("a", "--tokens")
    token = other.machine.run("token", "create", "room", "--public").stdout.strip()
    secret = room.directory / "token"
    secret.write_text(token + "\n", encoding="ascii")
    known = {"Authorization": f"Bearer {token}"}
    wait_until(lambda: other.get("/api/v1/overview", known).status == 200, "it has read its tokens, as it does each second")
    here = room.join(room.line("a", f"token_file={secret}"), others="owner")
    wait_for(here, "a", "ok")
    assert any(device["users"] for device in hosts_of(here, over="unix")["a"]["devices"]), "the administrator"
    assert not any(device["users"] for device in hosts_of(here)["a"]["devices"]), "nobody in particular"
    assert "command" not in json.dumps(hosts_of(here, over="unix"))


def answering(body, status="200 OK"):
    """A little server that answers this to everybody."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n"
                connection.sendall(head.encode() + body)

    threading.Thread(target=serve, daemon=True).start()
    return listener


def test_what_is_no_berth_or_a_newer_one_is_said(room):
    newer = answering(b'{"berth_overview": 7, "version": "9.0"}')
    page = answering(b"<html>It works!</html>")
    moved = answering(b"", "301 Moved Permanently\r\nlocation: https://elsewhere.example/")
    at = {name: one.getsockname()[1] for name, one in (("newer", newer), ("page", page), ("moved", moved))}
    here = room.join(*(f"{name}=127.0.0.1:{port}" for name, port in at.items()))
    assert "newer (9.0)" in wait_for(here, "newer", "incompatible")["why"]
    assert "no JSON" in wait_for(here, "page", "incompatible")["why"]
    assert "elsewhere" in wait_for(here, "moved", "incompatible")["why"]
    for one in (newer, page, moved):
        one.close()


def test_the_file_is_read_again(room):
    room.start("a")
    room.start("b")
    here = room.join(room.line("a"))
    wait_for(here, "a", "ok")
    room.write([room.line("a"), room.line("b")])
    here.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "b" in hosts_of(here), "b is known")
    assert hosts_of(here)["a"]["state"] == "ok", "what is known stays known"
    wait_for(here, "b", "ok")
    room.write(["a b c"])
    here.process.send_signal(signal.SIGHUP)
    wait_until(lambda: here.says("stay as they were"), "the mistake is said")
    assert set(hosts_of(here)) == {"a", "b"}
    room.write([])
    here.process.send_signal(signal.SIGHUP)
    wait_until(lambda: here.get("/api/v1/overview").json["joined"] == 0, "nobody is joined")


def test_metrics_say_who_answers(room):
    room.start("a")
    here = room.join(room.line("a"), f"b=127.0.0.1:{free_port()}")
    wait_for(here, "a", "ok")
    wait_for(here, "b", "unreachable")
    page = here.get("/metrics?profile=berth").body.decode()
    assert 'berth_join_up{host="a"} 1' in page and 'berth_join_up{host="b"} 0' in page
    (age,) = [line for line in page.splitlines() if line.startswith("berth_join_age_seconds{")]
    assert age.startswith('berth_join_age_seconds{host="a"} ') and float(age.split()[1]) < 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--join", "a b"], "cannot be asked"),
        (["--join", "x,x"], "two hosts are called x"),
        (["--join-file", "/nonexistent"], "/nonexistent"),
    ],
)
def test_mistakes_are_said_at_once(machine, words, said):
    done = machine.run("serve", "--listen", "none", "--socket", machine.directory / "s", *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr


# -------------------------------------------------------------------------------- berth status --all


def test_status_asks_all_at_once(room):
    room.start("a", sim="h100-mig")
    hung = room.start("hung")
    hung.process.send_signal(signal.SIGSTOP)
    words = [f"{name}=http://127.0.0.1:{room.servers[name].port}" for name in ("a", "hung")]
    words += [f"gone=127.0.0.1:{free_port()}", *(f"hung{i}=127.0.0.1:{hung.port}" for i in range(20))]
    machine = room.machine("here", "server-8xh100")
    with ends_within_patience("one after the other, those that hang take more than a minute", 40):
        done = machine.run("status", "--all", "--join", ",".join(words))
    assert done.returncode == 1, done.stderr
    assert "unreachable: hung" not in done.stdout
    assert "unreachable: 127.0.0.1" in done.stdout and "does not answer within" in done.stdout
    assert "Connection refused" in done.stdout and "SIMULATED h100-mig" in done.stdout

    everybody = json.loads(machine.run("status", "--all", "--json", "--join", ",".join(words[:1])).stdout)
    assert [host["state"] for host in everybody] == ["ok", "ok"]
    assert everybody[0]["simulated"] == "server-8xh100" and len(everybody[0]["devices"]) == 8
    assert everybody[1]["name"] == "a"
    assert machine.run("status", "--all", "--join", words[0]).returncode == 0


def test_status_shows_what_the_server_here_knows(room):
    room.start("a")
    here = room.join(room.line("a"))
    wait_for(here, "a", "ok")
    machine = here.machine
    machine.env["XDG_CONFIG_HOME"] = str(room.directory / "config")
    (room.directory / "config" / "berth").mkdir(parents=True)
    settings = room.directory / "config" / "berth" / "serve.toml"
    settings.write_text(f'socket = "{here.socket_path}"\n', encoding="utf-8")
    done = machine.run("status", "--all")
    assert done.returncode == 0, done.stderr
    assert "\na " in done.stdout and "SIMULATED lab-4" in done.stdout
    # Without the server it is asked directly, by what the configuration says.
    here.stop()
    assert machine.run("status", "--all").returncode == 2
    with settings.open("a", encoding="utf-8") as more:
        more.write(f'[join]\nhosts = ["a=http://127.0.0.1:{room.servers["a"].port}"]\n')
    assert "\na " in machine.run("status", "--all").stdout


def test_status_of_all_fits_the_terminal_and_speaks_chinese(room):
    room.start("a")
    machine = room.machine("here", "server-8xh100")
    words = ["status", "--all", "--join", f"a=127.0.0.1:{room.servers['a'].port},gone=127.0.0.1:{free_port()}"]
    for columns in (40, 80, 132):
        code, text = machine.on_terminal(columns, *words)
        assert code == 1 and "gone" in text
    done = machine.run(*words, env={"BERTH_LANG": "zh_CN"})
    assert "unreachable" not in done.stdout and "berth serve" in done.stdout and "无法" in done.stdout


def test_options_that_do_not_belong_together_are_refused(machine):
    assert machine.run("status", "--all", "-i", "0").returncode == 2
    assert machine.run("status", "--join", "a").returncode == 2
    done = machine.run("status", "--all")
    assert done.returncode == 2 and "--join" in done.stderr
