"""What `berth serve` does when more is asked to be done than it does at once."""

import http.client
import json
import socket

from conftest import wait_until
from serving import serve_on  # noqa: F401  pylint: disable=unused-import

# Two are ended at a time, each with ten seconds of grace. The caller is told after half a minute.
RUNS = 10
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"


def answer_of(connection):
    connection.settimeout(90)
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return answer.status, json.load(answer)


def test_an_act_that_is_refused_is_never_carried_out(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    server = serve_on(machine)
    try:
        acts_beyond_what_is_done_at_once(machine, server)
    finally:
        # Runs that nobody has ended would go on for ten minutes.
        machine.run("stop", "--all", "-q", "--grace", "0s")


def acts_beyond_what_is_done_at_once(machine, server):
    for _ in range(RUNS):
        assert machine.run("run", "--detach", "--memory", "1G", "--", "python3", "-c", STUBBORN).returncode == 0

    def deaf():
        logs = list((machine.directory / "state/berth/runs").glob("*/output"))
        return len(logs) == RUNS and all("deaf" in log.read_text() for log in logs)

    wait_until(deaf, "all of them ignore SIGTERM", 30)
    leases = wait_until(lambda: (found := server.get("/api/v1/leases", over="unix").json["leases"]) and len(found) == RUNS and found,
                        "every lease is seen")
    asked = []
    for lease in leases:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(server.socket_path)
        connection.sendall(f"POST /api/v1/leases/{lease['id']}/release HTTP/1.1\r\nHost: localhost\r\nX-Berth: 1\r\n"
                           "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode())
        asked.append((lease["id"], connection))
    try:
        answers = {lease: answer_of(connection) for lease, connection in asked}
    finally:
        for _, connection in asked:
            connection.close()
    ended = {lease for lease, (status, _) in answers.items() if status == 200}
    refused = {lease for lease, (status, told) in answers.items() if status == 503 and told["error"]["code"] == "busy"}
    begun = {lease for lease, (status, told) in answers.items() if status == 503 and told["error"]["code"] == "no_answer"}
    assert len(ended) >= 2 and len(refused) >= 2 and ended | refused | begun == {lease for lease, _ in asked}, answers
    assert all(answers[lease][1]["end"] == "killed" for lease in ended), answers

    def held():
        return {lease["id"] for lease in server.get("/api/v1/leases", over="unix").json["leases"]}

    wait_until(lambda: held() == refused, "what was begun is done", 40)
    # They are done in the order of asking: before one that is asked for now, those would have been.
    lease = refused.pop()
    again = server.post(f"/api/v1/leases/{lease}/release", {})
    assert again.status == 200 and again.json["end"] == "killed", again.body
    wait_until(lambda: lease not in held(), "the next look")
    assert held() == refused
