"""What `/metrics` of a running `berth serve` says, and to whom."""

import re
import resource
import signal
import time

from conftest import wait_until
from serving import metric, pause
from serving import serve_on  # noqa: F401  pylint: disable=unused-import


def test_a_disk_that_stays_full_is_said_once_and_steadily(machine_of, serve_on):  # noqa: F811
    def small_files():
        # As a disk that is full: what is written beyond this fails.
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    server = serve_on(machine_of("server-8xh100"), "--interval", "200ms", preexec_fn=small_files)
    wait_until(lambda: metric(server, "berth_history_writing") == 0, "the disk is full", 60)
    looks = metric(server, "berth_looks_total")
    # Over more than two of its attempts, one each two seconds.
    end = time.monotonic() + 5
    while time.monotonic() < end:
        assert metric(server, "berth_history_writing") == 0
        pause(0.05)
    assert metric(server, "berth_looks_total") >= looks + 5, "looks go on"
    assert server.get("/healthz").status == 200
    assert sum("samples wait in memory" in line for line in server.said) == 1, server.said


def test_the_configuration_rules_the_metrics(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    config = machine.directory / "serve.toml"
    config.write_text('[metrics]\nprofiles = "dcgm,nvidia_smi"\nper_process = true\n'
                      'dcgm_hostname_label = "Hostname"\n', encoding="utf-8")
    server = serve_on(machine, "--config", config)
    text = server.get("/metrics").body.decode()
    assert not re.search("^berth_device_", text, re.MULTILINE), "what is asked for by nobody is not told"
    [temperature, *_] = re.findall(r"^DCGM_FI_DEV_GPU_TEMP\{(.*)\} ", text, re.MULTILINE)
    assert 'Hostname="' in temperature and ',hostname="' not in temperature
    assert re.search(r"^nvidia_smi_compute_app_used_memory_bytes\{", text, re.MULTILINE)
    # Who says what he wants is given that.
    assert re.search("^berth_device_", server.get("/metrics?profile=berth").body.decode(), re.MULTILINE)
    config.write_text("", encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.says("has been read again"), "it reads again")
    assert re.search("^berth_device_", server.get("/metrics").body.decode(), re.MULTILINE)
    text = server.get("/metrics?profile=dcgm,nvidia_smi").body.decode()
    assert "compute_app_used_memory" not in text and 'Hostname="' not in text and 'hostname="' in text


def test_the_age_of_metrics_grows_between_two_looks(machine_of, serve_on):  # noqa: F811
    server = serve_on(machine_of("lab-4"), "--interval", "5s")
    first = metric(server, "berth_snapshot_age_seconds")
    pause(0.3)
    assert metric(server, "berth_snapshot_age_seconds") >= first + 0.25


def test_what_was_scraped_before_changes_no_later_page(machine_of, serve_on):  # noqa: F811
    """Between two looks the part that is of the look is written once for each who sees the same."""
    server = serve_on(machine_of("server-8xh100"))
    accept = {"text": "text/plain", "openmetrics": "application/openmetrics-text"}
    shapes = [("berth", "text"), ("dcgm", "text"), ("berth", "openmetrics"), ("berth,nvidia_smi", "text")]

    def page(profiles, shape):
        answer = server.get(f"/metrics?profile={profiles}", {"Accept": accept[shape]})
        assert answer.status == 200
        return answer.body.decode()

    def families(text):
        return re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)

    def number(name, text):
        return float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE)[1])

    alone = {shape: families(page(*shape)) for shape in shapes}
    looked, asked = 0, 0
    end = time.monotonic() + 3.5
    while time.monotonic() < end:
        for shape in shapes:
            text = page(*shape)
            assert families(text) == alone[shape] and len(set(alone[shape])) == len(alone[shape])
            assert text.endswith("# EOF\n") == (shape[1] == "openmetrics")
            if "berth" not in shape[0]:
                continue
            assert number("berth_snapshot_age_seconds", text) < 2.5
            assert number("berth_snapshot_timestamp_seconds", text) >= looked
            looked = number("berth_snapshot_timestamp_seconds", text)
            assert number("berth_http_requests_total", text) >= asked
            asked = number("berth_http_requests_total", text)
    assert asked > 0


def test_two_who_see_different_things_scrape_different_pages_of_one_look(machine_of, serve_on):  # noqa: F811
    machine = machine_of("server-8xh100")
    config = machine.directory / "serve.toml"
    config.write_text('[policy]\nothers = "owner"\n', encoding="utf-8")
    server = serve_on(machine, "--config", str(config), "--interval", "5s")
    for _ in range(3):
        assert 'user="alice"' not in server.get("/metrics").body.decode()
        assert 'user="alice"' in server.get("/metrics", over="unix").body.decode()
