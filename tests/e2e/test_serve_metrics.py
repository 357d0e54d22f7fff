"""What `/metrics` of a running `berth serve` says, and to whom."""

import gzip
import os
import pathlib
import re
import resource
import signal
import time

import pytest
from conftest import FakeDriver, children, many_devices, wait_until
from serving import metric, pause, resident_bytes
from serving import serve_on  # noqa: F401  pylint: disable=unused-import
from test_top import play


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
    # A scraper that names a profile gets it.
    assert re.search("^berth_device_", server.get("/metrics?profile=berth").body.decode(), re.MULTILINE)
    config.write_text("", encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.says("has been read again"), "it reads again")
    assert re.search("^berth_device_", server.get("/metrics").body.decode(), re.MULTILINE)
    text = server.get("/metrics?profile=dcgm,nvidia_smi").body.decode()
    assert "compute_app_used_memory" not in text and 'Hostname="' not in text and 'hostname="' in text


def test_metrics_are_compressed_for_whoever_asks(machine_of, serve_on):  # noqa: F811
    server = serve_on(machine_of("server-8xh100"))

    def names(body):
        return re.findall(r"^# TYPE (\S+)", body.decode(), re.MULTILINE)

    plain = server.get("/metrics")
    packed = server.get("/metrics", {"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip" and "accept-encoding" in packed.headers["vary"]
    assert len(packed.body) * 4 < len(plain.body)
    assert names(gzip.decompress(packed.body)) == names(plain.body) != []
    # What is not had here is not promised: zstd alone is answered plainly.
    for asked in ("zstd", "br", "gzip;q=0"):
        assert "content-encoding" not in server.get("/metrics", {"Accept-Encoding": asked}).headers, asked


def test_the_age_of_metrics_grows_between_two_looks(machine_of, serve_on):  # noqa: F811
    server = serve_on(machine_of("lab-4"), "--interval", "5s")
    first = metric(server, "berth_snapshot_age_seconds")
    wait_until(lambda: metric(server, "berth_snapshot_age_seconds") >= first + 0.25, "it grows")


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


class Changing(FakeDriver):
    """A machine of two cards that do nothing, whose driver reads what it is told while it runs."""

    def __init__(self, directory):
        self.snapshot = many_devices(2)
        super().__init__(directory, self.snapshot)
        self.env["BERTH_FAKE_NVML_LIVE"] = "1"

    def change(self, device, **readings):
        self.snapshot["devices"][device].update(readings)
        play(self, self.snapshot)


def of_card(text, name, index, statistic=None):
    """The value of a card's metric on a page."""
    more = f'[^}}]*statistic="{statistic}"' if statistic else ""
    found = re.findall(rf'^{name}\{{device="{index}"[^}}]*{more}[^}}]*\}} (\S+)', text, re.MULTILINE)
    assert len(found) == 1, f"{name} of card {index}, {statistic}: {found}"
    return float(found[0])


# What is played, as it is served. A row: key, metric, quiet value, high value, how many of the metric's units one is.
PEAKS = [
    ("power_draw_milliwatts", "power_watts", 60_000, 650_000, 1e-3),
    ("temperature_celsius", "temperature_celsius", 31, 83, 1),
    ("memory_used_bytes", "memory_used_bytes", 1 << 30, 60 << 30, 1),
    ("clock_sm_megahertz", "sm_clock_hertz", 345, 1980, 1e6),
]


def test_a_peak_between_two_scrapes_is_in_the_last_minute(tmp_path, serve_on):  # noqa: F811
    machine = Changing(tmp_path)
    total = machine.snapshot["devices"][1]["memory_total_bytes"]

    def plays(which):
        values = {row[0]: row[which] for row in PEAKS}
        machine.change(1, **values, memory_free_bytes=total - values["memory_used_bytes"])

    plays(2)
    server = serve_on(machine, "--interval", "200ms")

    def power():
        overview = server.get("/api/v1/overview").json
        return overview["devices"][1]["power_draw_milliwatts"], overview["sequence"]

    # Nobody scrapes while it is high.
    wait_until(lambda: power()[0] == 60_000, "it is quiet", 30)
    plays(3)
    wait_until(lambda: power()[0] == 650_000, "one look sees the peak", 30)
    plays(2)
    quiet = wait_until(lambda: power()[0] == 60_000 and power()[1], "it is quiet again", 30)
    wait_until(lambda: power()[1] >= quiet + 3, "and stays so", 30)
    text = server.get("/metrics").body.decode()
    assert float(re.search(r"^berth_window_looks (\S+)$", text, re.MULTILINE)[1]) >= 5
    assert 0 < float(re.search(r"^berth_window_seconds (\S+)$", text, re.MULTILINE)[1]) <= 60
    for _, name, low, high, scale in PEAKS:
        now, of_minute = f"berth_device_{name}", f"berth_device_window_{name}"
        assert of_card(text, now, 1) == pytest.approx(low * scale), f"{now} is of the newest look"
        assert of_card(text, of_minute, 1, "max") == pytest.approx(high * scale), of_minute
        assert of_card(text, of_minute, 1, "min") == pytest.approx(low * scale), of_minute
        assert low * scale < of_card(text, of_minute, 1, "mean") < high * scale, of_minute
        # The other card had none.
        assert of_card(text, of_minute, 0, "max") == pytest.approx(of_card(text, now, 0)), of_minute


def test_what_the_daemon_costs_is_what_the_kernel_says(machine_of, serve_on):  # noqa: F811
    server = serve_on(machine_of("server-8xh100"), "--interval", "200ms")
    pid = server.process.pid

    def kernels_cpu_seconds():
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def cpu():
        return metric(server, "berth_daemon_cpu_seconds_total")

    first = cpu()
    assert first > 0
    # Grows with work, by nobody else's count than the kernel's.
    wait_until(lambda: server.get("/api/v1/overview").status == 200 and cpu() > first + 0.05, "it has worked", 60)
    before = kernels_cpu_seconds()
    told = cpu()
    after = kernels_cpu_seconds()
    tick = 2 / os.sysconf("SC_CLK_TCK")
    assert before - tick <= told <= after + tick
    kernels = resident_bytes(pid)
    assert kernels / 2 < metric(server, "berth_daemon_resident_memory_bytes") < kernels * 2


FORMATS = {"text": "text/plain", "openmetrics": "application/openmetrics-text"}
# A card's power in watts, and when the look was taken, in seconds; dcgm-exporter has no name for the latter.
OF_A_LOOK = {
    "berth": (r'berth_device_power_watts\{device="0".*\}', "berth_snapshot_timestamp_seconds"),
    "dcgm": (r'DCGM_FI_DEV_POWER_USAGE\{gpu="0".*\}', None),
    "nvidia_smi": (r'nvidia_smi_power_draw_watts\{uuid="00000000-.*\}',
                   "nvidia_smi_last_collect_success_timestamp_seconds"),
}


def test_a_look_that_is_shown_is_on_the_next_page_of_metrics(tmp_path, serve_on):  # noqa: F811
    """In each profile and format, with its time and its readings, whatever was scraped before it."""
    machine = Changing(tmp_path)
    server = serve_on(machine, "--interval", "200ms")

    def overview():
        return server.get("/api/v1/overview").json

    def between_two_looks(profile, shape):
        """A page and what was shown before and after it, which is the same look."""
        before = overview()
        text = server.get(f"/metrics?profile={profile}", {"Accept": FORMATS[shape]}).body.decode()
        after = overview()
        return before["sequence"] == after["sequence"] and (after, text)

    for watts in range(101, 105):
        machine.change(0, power_draw_milliwatts=1000 * watts)
        wait_until(lambda watts=watts: overview()["devices"][0]["power_draw_milliwatts"] == 1000 * watts,
                   "the change is looked at", 30)
        for profile, (power, time_of_look) in OF_A_LOOK.items():
            for shape in FORMATS:
                look, text = wait_until(lambda: between_two_looks(profile, shape), f"{profile} of one look", 30)
                assert text.endswith("# EOF\n") == (shape == "openmetrics")
                assert [float(one) for one in re.findall(rf"^{power} (\S+)$", text, re.MULTILINE)] == [watts]
                if time_of_look:
                    [taken] = re.findall(rf"^{time_of_look} (\S+)$", text, re.MULTILINE)
                    assert round(float(taken) * 1000) == look["taken_unix_ms"], (profile, shape)


def test_what_the_daemon_costs_has_its_probe_process_in_it(tmp_path, serve_on):  # noqa: F811
    """Whatever asks the driver runs in a process of its own: without it the driver's part would be nobody's."""
    server = serve_on(FakeDriver(tmp_path, many_devices(8)), "--interval", "100ms")

    def run_time(pid):
        """Processor time in seconds, of all its threads that live."""
        folder = f"/proc/{pid}/task"
        return sum(int(pathlib.Path(folder, task, "schedstat").read_text(encoding="ascii").split()[0])
                   for task in os.listdir(folder)) / 1e9

    [probe] = children(server.process.pid)
    wait_until(lambda: run_time(probe) > 0.03, "the driver has been asked for some time", 60)
    at_least = run_time(server.process.pid) + run_time(probe)
    assert metric(server, "berth_daemon_cpu_seconds_total") >= at_least - 1e-6, "told in microseconds"
    both = resident_bytes(server.process.pid) + resident_bytes(probe)
    assert metric(server, "berth_daemon_resident_memory_bytes") == pytest.approx(both, rel=0.2)
