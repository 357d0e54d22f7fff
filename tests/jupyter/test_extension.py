"""The server extension, asked by HTTP."""

import concurrent.futures
import http.client
import os
import pathlib
import signal
import subprocess
import threading
import time
import urllib.parse

import pytest

from conftest import E2E, ENVIRONMENT, PATIENCE, TOKEN, Jupyter

WHOLE_PAGE = (E2E.BUILD / "page/dist/index.html").read_text() if (E2E.BUILD / "page/dist/index.html").exists() else ""


def processes(jupyter):
    """The words of each process of this Jupyter, by pid."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            variables = (process / "environ").read_bytes()
        except OSError:
            continue
        if str(jupyter.directory).encode() in variables:
            found[int(process.name)] = words
    return found


def helpers(jupyter):
    return [pid for pid, words in processes(jupyter).items() if b"helper" in words[1:2]]


def seconds_of_cpu(pids):
    """Their threads' time on a processor. Waiting for a processor is not in it."""
    spent = 0
    for pid in pids:
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            spent += int((thread / "schedstat").read_text().split()[0])
    return spent / 1e9


def test_every_gpu_by_the_helper_and_by_serve(jupyter):
    jupyter.start()
    said = jupyter.overview()
    assert [device["state"] for device in said["devices"]] == ["busy", "busy", "held"] + ["free"] * 5
    assert (said["source"], said["simulated"], said["problem"]) == ("helper", "server-8xh100", None)
    assert {(one["user"], one["kernel"]) for one in said["holders"]} == {("alice", None), ("bob", None)}
    jupyter.serve()
    E2E.wait_until(lambda: jupyter.overview()["source"] == "serve", "serve is asked", PATIENCE)
    assert len(jupyter.overview()["devices"]) == 8


def test_what_has_not_changed_is_not_sent_again(jupyter_on):
    still = E2E.scenario("server-8xh100")
    for device in still["devices"]:
        device |= {"utilization_gpu_percent": 0.0}
    still |= {"gpu_processes": [], "processes": []}
    jupyter = jupyter_on(still).start()
    first = jupyter.ask("berth/api/overview")
    keys = ("utilization_gpu_percent", "memory_used_bytes", "temperature_celsius", "power_draw_milliwatts")
    again = jupyter.ask("berth/api/overview", If_None_Match=first.headers["ETag"])
    if again.status == 200:  # the simulation let a number change
        one, two = first.json["devices"], again.json["devices"]
        assert [[a[key] for key in keys] for a in one] != [[b[key] for key in keys] for b in two]
    else:
        assert (again.status, again.body) == (304, b"")


def test_only_behind_the_login(jupyter):
    jupyter.start()
    jupyter.serve()
    for path in ("berth/api/overview", "berth/api/events"):
        assert jupyter.ask(path, token=None).status == 403
    for path in ("berth/page", "berth/page/", "berth/page/api/v1/overview"):
        answer = jupyter.ask(path, token=None)
        assert answer.status == 302 and "/user/ana/login" in answer.headers["Location"]
    refused = jupyter.ask("berth/page/api/v1/compose", "POST", {}, token=None, X_Berth="1", Content_Type="application/json")
    assert refused.status == 403


def test_asking_does_not_keep_an_idle_server_alive(jupyter):
    jupyter.start()
    before = jupyter.ask("api/status").json["last_activity"]
    for _ in range(3):
        jupyter.overview()
    after = jupyter.ask("api/status?no_track_activity=1").json["last_activity"]
    first = jupyter.ask("api/status?no_track_activity=1").json["last_activity"]
    assert after == first and after >= before
    jupyter.overview()
    assert jupyter.ask("api/status?no_track_activity=1").json["last_activity"] == after


def test_events_are_told_as_they_come(jupyter):
    import urllib.request

    jupyter.start()
    request = urllib.request.Request(
        jupyter.address + "berth/api/events", headers={"Authorization": "token only-for-this-test"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        lines = [stream.readline().decode() for _ in range(4)]
    assert lines[0] == "event: overview\n" and lines[1].startswith('data: {"berth_lab":1') and lines[3] == "event: overview\n"


# ------------------------------------------------------------------ the page of berth serve


def test_the_page_is_passed_on_and_nothing_else(jupyter):
    jupyter.start()
    assert b"berth serve" in jupyter.ask("berth/page/").body and jupyter.ask("berth/page/").status == 503
    jupyter.serve()
    E2E.wait_until(lambda: jupyter.ask("berth/page/").status == 200, "the page is there", PATIENCE)
    assert jupyter.ask("berth/page").headers["Location"] == "/user/ana/berth/page/"
    page = jupyter.ask("berth/page/")
    policy = page.headers["Content-Security-Policy"]
    own = jupyter.address.removeprefix("http://") + "berth/page/"
    assert f"script-src {own}assets/;" in policy and f"connect-src {own};" in policy and "'self'" not in policy.replace("frame-ancestors 'self'", "")
    seen = jupyter.ask("berth/page/api/v1/overview")
    assert seen.json["asker"]["user"] and len(seen.json["devices"]) == 8
    assert "sandbox" in seen.headers["Content-Security-Policy"] and seen.headers["X-Content-Type-Options"] == "nosniff"
    same = jupyter.ask("berth/page/assets/page.js", If_None_Match=jupyter.ask("berth/page/assets/page.js").headers["ETag"])
    assert same.status == 304
    for path in ("etc/passwd", "api/v2/x", "api/v1/../../x", "assets/../x", "assets/x/y"):
        assert jupyter.ask(f"berth/page/{path}").status in (400, 404), path
    assert jupyter.ask("berth/page/api/v1/overview", "DELETE").status in (403, 405)


def test_acts_are_the_pages_own(jupyter):
    jupyter.start()
    jupyter.serve()
    asked = {"devices": 1}
    json_type = {"Content_Type": "application/json"}
    E2E.wait_until(lambda: jupyter.ask("berth/page/").status == 200, "the page is there", PATIENCE)
    assert jupyter.ask("berth/page/api/v1/compose", "POST", asked, **json_type).status == 403
    foreign = jupyter.ask("berth/page/api/v1/compose", "POST", asked, X_Berth="1", Origin="https://evil.example", token=None, **json_type)
    assert foreign.status == 403
    assert jupyter.ask("berth/page/api/v1/compose", "POST", asked, X_Berth="1", **json_type).status == 200
    assert jupyter.ask("berth/page/api/v1/overview", "POST", asked, X_Berth="1", **json_type).status == 404


def test_the_token_of_jupyter_stays_in_jupyter(jupyter):
    """A stand-in hears what berth serve would."""
    import socket
    import threading

    jupyter.start()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(jupyter.directory / "serve.sock"))
    listener.listen()
    heard = []

    def answer():
        link, _ = listener.accept()
        heard.append(link.recv(65536).decode())
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 26\r\n\r\n<script>alert(1)</script>\n")
        link.close()

    thread = threading.Thread(target=answer)
    thread.start()
    said = jupyter.ask("berth/page/api/v1/runs/x/log", Cookie="secret=1", Origin=jupyter.address.partition("/user")[0])
    thread.join()
    listener.close()
    assert "only-for-this-test" not in heard[0] and "secret" not in heard[0] and "Origin" not in heard[0]
    # What would be a page of Jupyter's own origin is none.
    assert said.headers["Content-Type"].startswith("text/plain") and "sandbox" in said.headers["Content-Security-Policy"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: another user has the socket")
def test_a_strangers_socket_is_not_believed(jupyter):
    os.chmod(jupyter.directory, 0o777)
    for parent in jupyter.directory.parents[:3]:
        os.chmod(parent, os.stat(parent).st_mode | 0o011)
    code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(flush=True); sys.stdin.read()"
    place = str(jupyter.directory / "serve.sock")
    stranger = subprocess.Popen(["/usr/bin/python3", "-c", code, place], user=65534, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert stranger.stdout.readline()
        jupyter.start()
        assert jupyter.overview()["source"] == "helper"
        assert jupyter.ask("berth/page/").status == 503
    finally:
        stranger.communicate()


# ------------------------------------------------------------------ what goes wrong


def answers_until(jupyter, is_over):
    """The overviews until one `is_over`. Also how often Jupyter answered about something else meanwhile. That counts
    once the next look was due, a second from now."""
    seen, answers, due = [], 0, time.monotonic() + 2

    def is_now():
        nonlocal answers
        answers += time.monotonic() > due
        seen.append(jupyter.overview())
        assert jupyter.ask("api/kernelspecs").status == 200
        return is_over(seen[-1])

    E2E.wait_until(is_now, "the overview says so", PATIENCE)
    return answers - 1, seen


LOOP = """
import asyncio, sys
from berth.jupyter.serve_socket import fetched
turns = 0
async def turn():
    global turns
    while True:
        await asyncio.sleep(0.02)
        turns += 1
async def main():
    turning = asyncio.ensure_future(turn())
    try:
        await fetched("/gpu-status", 3.0)
    except asyncio.TimeoutError:
        print(turns)
asyncio.run(main())
"""


def test_a_serve_that_hangs_holds_up_nothing_else(jupyter):
    jupyter.start()
    serve = jupyter.serve()
    E2E.wait_until(lambda: jupyter.overview()["source"] == "serve", "serve is asked", PATIENCE)
    serve.send_signal(signal.SIGSTOP)
    # It takes the connection, and never answers.
    done = subprocess.run([f"{ENVIRONMENT}/bin/python", "-c", LOOP], env=jupyter.machine.environment({}), text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)  # fmt: skip
    assert int(done.stdout or 0) >= 10, f"the loop stood still: {done}"
    _, seen = answers_until(jupyter, lambda said: said["source"] == "helper")
    assert {len(said["devices"]) for said in seen} == {8}, "the helper is asked instead"
    serve.send_signal(signal.SIGCONT)


def test_a_helper_that_hangs_holds_up_nothing_else(jupyter):
    jupyter.start()
    assert len(jupyter.overview()["devices"]) == 8
    stopped = E2E.wait_until(lambda: helpers(jupyter), "there is a helper", PATIENCE)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        # It is given up after 15 s: a loop that waits for it answers nothing meanwhile.
        answers, seen = answers_until(jupyter, lambda said: said["problem"])
        assert answers >= 3
        assert {len(said["devices"]) for said in seen} == {8}, "who asks has the last look meanwhile"
        E2E.wait_until(lambda: jupyter.overview()["problem"] is None, "another helper is asked", PATIENCE)
        assert len(jupyter.overview()["devices"]) == 8
    finally:
        for pid in stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass  # it was given up


def test_of_a_card_that_hangs_the_others_are_shown(tmp_path):
    jupyter = Jupyter(E2E.FakeDriver(tmp_path, E2E.scenario("server-8xh100"), faults="*@3=hang"))
    try:
        jupyter.start()
        said = E2E.wait_until(lambda: (said := jupyter.overview())["devices"] and said, "there is a look", PATIENCE)
        assert [one["index"] for one in said["devices"] if one["memory_used_bytes"] is not None] == [0, 1, 2, 4, 5, 6, 7]
        assert jupyter.ask("api/kernelspecs").status == 200
    finally:
        jupyter.end()


def test_without_the_library_jupyter_is_whole_and_says_why(jupyter):
    jupyter.machine.env["BERTH_LIBRARY"] = "/nonexistent/libberth.so"
    jupyter.start()
    said = jupyter.overview()
    assert said["devices"] == [] and "/nonexistent/libberth.so" in said["problem"]["message"] + (said["problem"]["remedy"] or "")


def test_an_extension_that_cannot_be_loaded_keeps_nothing_from_starting(jupyter):
    broken = jupyter.directory / "broken"
    (broken / "berth").mkdir(parents=True)
    (broken / "berth/__init__.py").write_text("raise RuntimeError('broken on purpose')\n")
    jupyter.machine.env["PYTHONPATH"] = str(broken)
    jupyter.start()
    assert jupyter.ask("api/kernelspecs").status == 200 and jupyter.ask("berth/api/overview").status == 404


def test_ten_tabs_cost_little(jupyter, record_property):
    """Each asks as a panel that is looked at does (web/lab/overview.ts). It measures processor time, as a share of the
    time that it took. The least of several spans counts, each of two questions of each tab. Others on the machine only
    ever make it more."""
    spans, span_s, pause_s = 5, 4, 2
    jupyter.start()

    def spent(pids):
        """The share of one core that Jupyter and the helper used. The helper lives while it is asked."""
        begun, before = time.monotonic(), seconds_of_cpu(pids)
        time.sleep(span_s)
        return (seconds_of_cpu(pids) - before) / (time.monotonic() - begun)

    def tab(number):
        time.sleep(pause_s / 10 * number)
        etag, asked, place = "", 0, urllib.parse.urlsplit(jupyter.address)
        link = http.client.HTTPConnection(place.netloc, timeout=PATIENCE)  # a browser keeps it, too
        while not over.is_set():
            headers = {"Authorization": f"token {TOKEN}", "If-None-Match": etag}
            link.request("GET", f"{place.path}berth/api/overview", headers=headers)
            answer = link.getresponse()
            answer.read()
            etag, asked = answer.headers["ETag"], asked + 1
            assert answer.status in (200, 304)
            over.wait(pause_s)
        link.close()
        return asked

    E2E.wait_until(lambda: spent([jupyter.process.pid]) < 0.03, "what Jupyter begins with is done", PATIENCE)
    jupyter.overview()
    pids = [jupyter.process.pid, *helpers(jupyter)]
    assert len(pids) > 1
    over = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        tabs = [pool.submit(tab, number) for number in range(10)]
        time.sleep(pause_s)
        found = [spent(pids) for _ in range(spans)]
        over.set()
        asked = [one.result() for one in tabs]
    assert min(asked) >= spans * span_s / (2 * pause_s), "each tab asks on"
    assert pids[1:] == helpers(jupyter), "the helper is kept"
    record_property("measured", f"Jupyter with ten panels at once: {100 * min(found):.2f} % of a core ({100 * max(found):.2f} % at most)")
    assert min(found) < 0.01, found


def test_two_hundred_kernels(jupyter, record_property):
    """Stand-ins: they run, and never say a word."""
    spec = jupyter.shared / "share/jupyter/kernels/standin"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text('{"argv": ["sleep", "3600"], "display_name": "stand-in", "language": "none"}')
    jupyter.start("--KernelManager.shutdown_wait_time=0.1", "--MappingKernelManager.kernel_info_timeout=1")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: jupyter.ask("api/kernels", "POST", {"name": "standin"}).status, range(200)))
    assert made == [201] * 200
    said = jupyter.overview()
    assert len(said["kernels"]) == 200
    assert {kernel["memory_used_bytes"] for kernel in said["kernels"]} == {0}
    before = seconds_of_cpu([jupyter.process.pid])
    for _ in range(30):
        jupyter.overview()
        time.sleep(0.1)
    each = (seconds_of_cpu([jupyter.process.pid]) - before) / 30
    record_property("measured", f"an overview with 200 kernels: {1000 * each:.0f} ms of Jupyter's processor time")
    assert each < 0.2
