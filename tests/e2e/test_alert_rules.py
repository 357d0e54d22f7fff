"""Each rule's alert from its first sighting to its end: in the API, on the metrics page, and by `berth alert`. A
receiver is told once."""

import json
import subprocess

import pytest
from conftest import FakeDriver, many_devices, wait_until
from serving import serve_on  # noqa: F401  pylint: disable=unused-import
from test_alerts import receiver_of, webhook  # noqa: F401  pylint: disable=unused-import
from test_top import play

PATIENCE = 60


class Watched(FakeDriver):
    """A machine of two cards that do nothing, whose driver does what it is told while it runs."""

    def __init__(self, directory, rules, receiver, **settings):
        self.faults = directory / "faults"
        self.faults.write_text("", encoding="utf-8")
        self.snapshot = many_devices(2)
        super().__init__(directory, self.snapshot, faults=f"@{self.faults}")
        self.env["BERTH_FAKE_NVML_LIVE"] = "1"
        settings = {"for": "0s", "hold": "1s"} | settings
        lines = [f"[alerts.{rule}]\n" + "".join(f'{key} = "{value}"\n' for key, value in settings.items())
                 for rule in rules]
        self.config = directory / "serve.toml"
        self.config.write_text("".join(lines) + webhook(receiver), encoding="utf-8")
        self.words = ("--config", self.config, "--interval", "100ms")

    def change(self, device=None, **readings):
        """From now on the driver says so, of a device or of itself."""
        whose = self.snapshot["host"] if device is None else self.snapshot["devices"][device]
        whose.update(readings)
        for key in readings:
            whose.get("why", {}).pop(key, None)
        play(self, self.snapshot)

    def fail(self, faults):
        new = self.faults.with_suffix(".new")
        new.write_text(faults, encoding="utf-8")
        new.rename(self.faults)


def told_of(receiver, rule):
    return [one for one in receiver.told if one["alert"]["rule"] == rule]


def hears(receiver, rule, *events):
    wait_until(lambda: [one["event"] for one in told_of(receiver, rule)] == list(events),
               f"{rule}: {events}; heard: {receiver.told}", PATIENCE)
    return told_of(receiver, rule)[-1]


def looks_on(server, count=8):
    """Lets it look some more times."""
    until = server.get("/api/v1/overview").json["sequence"] + count
    wait_until(lambda: server.get("/api/v1/overview").json["sequence"] >= until, "more looks", PATIENCE)


def assert_active(machine, server, told, severity):
    """It is shown wherever alerts are shown, and told once however often it is seen."""
    rule, known = told["alert"]["rule"], told["alert"]["id"]
    looks_on(server)
    [shown] = [one for one in server.get("/api/v1/overview").json["alerts"] if one["rule"] == rule]
    [listed] = [one for one in server.get("/api/v1/alerts").json["alerts"] if one["rule"] == rule]
    by_verb = json.loads(machine.run("alert", "list", "--json", "--socket", server.socket_path).stdout)["alerts"]
    for one in (shown, listed, *[one for one in by_verb if one["rule"] == rule]):
        assert (one["id"], one["severity"], one["resolved_unix_ms"]) == (known, severity, None)
        assert one["summary"] == told["alert"]["summary"] and one["device"] == told["alert"]["device"]
    assert rule in {one["rule"] for one in by_verb}
    assert f'berth_alerts{{rule="{rule}",severity="{severity}"}} 1' in server.get("/metrics").body.decode()
    assert told["text"].startswith(severity.upper()) and told["alert"]["summary"] in told["text"]


def assert_over(server, receiver, rule, began):
    over = hears(receiver, rule, "began", "resolved")["alert"]
    assert over["id"] == began["alert"]["id"] and over["ending"] == "resolved"
    assert over["resolved_unix_ms"] >= over["since_unix_ms"]
    wait_until(lambda: rule not in {one["rule"] for one in server.get("/api/v1/overview").json["alerts"]},
               "the overview is calm", PATIENCE)
    [listed] = [one for one in server.get("/api/v1/alerts").json["alerts"] if one["rule"] == rule]
    assert listed["resolved_unix_ms"] == over["resolved_unix_ms"]
    counted = f'berth_alerts{{rule="{rule}",severity="{began["alert"]["severity"]}"}} 1'
    assert counted not in server.get("/metrics").body.decode()
    looks_on(server)
    assert [one["event"] for one in told_of(receiver, rule)] == ["began", "resolved"], "each is told once"


def test_memory_that_waits_for_its_repair(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["ecc_pending"], team)
    well = {"remapped_rows_correctable": 0, "remapped_rows_uncorrectable": 0, "remapped_rows_failed": False}
    machine.change(1, **well, remapped_rows_pending=False)
    server = serve_on(machine, *machine.words)
    looks_on(server, 3)
    assert server.get("/api/v1/alerts").json["alerts"] == [], "a card that is well is no alert"
    machine.change(1, remapped_rows_pending=True)
    began = hears(team, "ecc_pending", "began")
    assert began["alert"]["index"] == 1 and "row of memory" in began["alert"]["summary"]
    assert_active(machine, server, began, "warning")
    machine.change(1, remapped_rows_pending=False)
    assert_over(server, team, "ecc_pending", began)


def test_a_card_that_answers_and_is_given_to_nobody(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["gpu_failed", "gpu_lost"], team)
    server = serve_on(machine, *machine.words)
    machine.change(1, remapped_rows_failed=True)
    began = hears(team, "gpu_failed", "began")
    assert began["alert"]["index"] == 1 and "could not be replaced" in began["alert"]["summary"]
    assert_active(machine, server, began, "critical")
    machine.change(1, remapped_rows_failed=False)
    assert_over(server, team, "gpu_failed", began)
    assert told_of(team, "gpu_lost") == []


def test_memory_that_no_process_explains(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["ghost_memory"], team)
    total = machine.snapshot["devices"][0]["memory_total_bytes"]
    before = {key: machine.snapshot["devices"][0][key] for key in ("memory_used_bytes", "memory_free_bytes")}
    server = serve_on(machine, *machine.words)
    machine.change(0, memory_used_bytes=1 << 29, memory_free_bytes=total - (1 << 29))
    looks_on(server)
    assert team.told == [], "half of what it takes"
    machine.change(0, memory_used_bytes=6 << 30, memory_free_bytes=total - (6 << 30))
    began = hears(team, "ghost_memory", "began")
    assert began["alert"]["index"] == 0 and "6" in began["alert"]["summary"]
    assert_active(machine, server, began, "warning")
    machine.change(0, **before)
    assert_over(server, team, "ghost_memory", began)


def test_a_driver_that_cannot_be_asked_resolves_nothing_else(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["probe_failing", "gpu_lost"], team)
    server = serve_on(machine, *machine.words)
    machine.fail("*@1=15")
    lost = hears(team, "gpu_lost", "began")
    # The library answers nothing any more, and initialising it fails.
    machine.fail("*@1=15;nvmlDeviceGetCount_v2=1;nvmlInit_v2=999")
    began = hears(team, "probe_failing", "began")
    assert began["alert"]["device"] is None and began["alert"]["summary"].startswith("nvml cannot be asked")
    assert_active(machine, server, began, "warning")
    # For longer than the hold of a lost card.
    looks_on(server, 15)
    assert hears(team, "gpu_lost", "began")["alert"]["id"] == lost["alert"]["id"]
    machine.fail("")
    assert_over(server, team, "probe_failing", began)
    assert_over(server, team, "gpu_lost", lost)


def test_a_driver_that_hangs_is_said_and_its_return(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["probe_failing"], team)
    server = serve_on(machine, *machine.words)
    machine.fail("nvmlDeviceGetUtilizationRates@1=hang")
    began = hears(team, "probe_failing", "began")
    assert "does not answer" in began["alert"]["summary"], began
    assert server.get("/api/v1/overview").status == 200
    machine.fail("")
    hears(team, "probe_failing", "began", "resolved")


def test_what_flaps_is_told_once(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["gpu_lost"], team, hold="10m")
    server = serve_on(machine, *machine.words)
    machine.fail("*@1=15")
    began = hears(team, "gpu_lost", "began")

    def states():
        return [one["state"] for one in server.get("/api/v1/overview").json["devices"]]

    for _ in range(3):
        machine.fail("")
        wait_until(lambda: "lost" not in states(), "it is back", PATIENCE)
        machine.fail("*@1=15")
        wait_until(lambda: "lost" in states(), "it is lost again", PATIENCE)
    looks_on(server)
    assert [one["event"] for one in team.told] == ["began"]
    assert [one["id"] for one in server.get("/api/v1/overview").json["alerts"]] == [began["alert"]["id"]]


def test_another_driver_between_two_looks(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["environment_changed"], team, hold="10m")
    before = machine.snapshot["host"]["driver_version"]
    server = serve_on(machine, *machine.words)
    looks_on(server)
    assert team.told == [], "what is seen first was always there"
    machine.change(driver_version="599.99")
    began = hears(team, "environment_changed", "began")
    assert began["alert"]["summary"] == f"the driver changed from {before} to 599.99"
    assert_active(machine, server, began, "notice")


def test_a_card_that_is_put_in(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["environment_changed"], team, hold="10m")
    server = serve_on(machine, *machine.words)
    looks_on(server, 3)
    machine.snapshot = many_devices(3)
    machine.change()
    began = hears(team, "environment_changed", "began")
    assert began["alert"]["summary"].startswith("a device is new: GPU 2: "), began["alert"]
    assert_active(machine, server, began, "notice")


def test_a_card_that_is_taken_out(tmp_path, serve_on, receiver_of):  # noqa: F811
    """It is lost as long as a server runs that has seen it, and gone for the next one."""
    team = receiver_of()
    machine = Watched(tmp_path, ["environment_changed", "gpu_lost"], team, hold="10m")
    server = serve_on(machine, *machine.words)
    looks_on(server, 3)
    machine.snapshot = many_devices(1)
    machine.change()
    lost = hears(team, "gpu_lost", "began")
    assert lost["alert"]["summary"] == "the driver lists it no longer"
    assert_active(machine, server, lost, "critical")
    assert told_of(team, "environment_changed") == []
    server.stop()
    again = serve_on(machine, *machine.words)
    gone = hears(team, "environment_changed", "began")
    assert gone["alert"]["summary"].startswith("a device is gone: GPU 1: ")
    assert gone["alert"]["device"] == lost["alert"]["device"]
    assert_active(machine, again, gone, "notice")


def test_another_driver_is_no_news_after_its_hold(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["environment_changed"], team, hold="2s")
    server = serve_on(machine, *machine.words)
    looks_on(server)
    machine.change(driver_version="599.99")
    hears(team, "environment_changed", "began", "resolved")
    assert_over(server, team, "environment_changed", told_of(team, "environment_changed")[0])


def test_an_error_that_the_driver_tells_by_an_event(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["xid"], team, hold="10m")
    events = tmp_path / "events"
    events.write_text("", encoding="utf-8")
    machine.env["BERTH_FAKE_NVML_EVENTS"] = str(events)
    server = serve_on(machine, *machine.words)
    looks_on(server, 3)
    assert team.told == [], "no error, no alert"

    def tell(device, code):
        with events.open("a", encoding="utf-8") as told:
            told.write(f"{device} {code}\n")

    tell(1, 79)
    began = hears(team, "xid", "began")
    assert (began["alert"]["device"], began["alert"]["index"]) == (machine.snapshot["devices"][1]["uuid"], 1)
    assert began["alert"]["summary"] == "XID 79, once: it has fallen off the bus"
    assert_active(machine, server, began, "critical")
    # Once more the same is the same alert; another error is another, as bad as the catalogue says.
    tell(1, 79)
    wait_until(lambda: [one["summary"] for one in server.get("/api/v1/overview").json["alerts"]] ==
               ["XID 79, 2 times: it has fallen off the bus"], "both are counted", PATIENCE)
    tell(0, 31)
    other = hears(team, "xid", "began", "began")["alert"]
    assert other["index"] == 0 and other["severity"] == "notice" and other["id"] != began["alert"]["id"]
    assert "XID 31" in other["summary"]
    page = server.get("/metrics").body.decode()
    assert all(f'berth_alerts{{rule="xid",severity="{severity}"}} 1' in page for severity in ("critical", "notice"))


def test_an_error_of_the_driver_is_no_news_after_its_hold(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["xid"], team, hold="2s")
    events = tmp_path / "events"
    events.write_text("", encoding="utf-8")
    machine.env["BERTH_FAKE_NVML_EVENTS"] = str(events)
    server = serve_on(machine, *machine.words)
    looks_on(server, 3)
    events.write_text("0 48\n", encoding="utf-8")
    hears(team, "xid", "began", "resolved")
    assert_over(server, team, "xid", told_of(team, "xid")[0])


def test_heat_that_slows_a_card_down_for_long(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = Watched(tmp_path, ["throttled_long"], team, **{"for": "2s"})
    machine.change(1, throttle_reasons_mask=0x4)
    server = serve_on(machine, *machine.words)
    looks_on(server, 30)
    assert server.get("/api/v1/alerts").json["alerts"] == [], "a power limit slows every busy card down"
    machine.change(1, throttle_reasons_mask=0x40)
    began = hears(team, "throttled_long", "began")
    assert began["alert"]["index"] == 1
    assert began["alert"]["summary"] == "the hardware slows it down: too hot"
    # Seen at once, told when it had lasted; calendar and steady clock are read one after the other.
    assert began["alert"]["last_seen_unix_ms"] - began["alert"]["since_unix_ms"] >= 1500, began
    assert_active(machine, server, began, "warning")
    machine.change(1, throttle_reasons_mask=0x4)
    assert_over(server, team, "throttled_long", began)


class WithToolkit(Watched):
    """Its programs find a /usr/local of its own, in which a CUDA toolkit is installed or not."""

    def __init__(self, directory, receiver):
        super().__init__(directory, ["environment_changed"], receiver, hold="10m")
        self.local = directory / "local"
        (self.local / "cuda").mkdir(parents=True)

    def install(self, version):
        """As installers do: the whole folder is another."""
        new = self.local / "new"
        new.mkdir()
        told = {"cuda": {"name": "CUDA SDK", "version": version}}
        (new / "version.json").write_text(json.dumps(told), encoding="utf-8")
        (self.local / "cuda").rename(self.local / f"before-{version}")
        new.rename(self.local / "cuda")

    def command(self, *words):
        own = 'mount --bind "$0" /usr/local && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", own, str(self.local), *super().command(*words)]


def test_another_toolkit_while_it_runs(tmp_path, serve_on, receiver_of):  # noqa: F811
    team = receiver_of()
    machine = WithToolkit(tmp_path, team)
    may = subprocess.run([*machine.command()[:-1], "true"], capture_output=True, check=False)
    if may.returncode != 0:
        pytest.skip("whoever runs this may not mount")
    machine.install("12.4.1")
    server = serve_on(machine, *machine.words)
    kept = tmp_path / "state/berth/alerts.json"
    wait_until(lambda: kept.exists() and
               json.loads(kept.read_text())["environment"]["facts"].get("CUDA toolkit") == "12.4.1",
               "the toolkit is known", PATIENCE)
    looks_on(server)
    assert team.told == [], "what is seen first was always there"
    machine.install("12.8.0")
    began = hears(team, "environment_changed", "began")
    assert began["alert"]["summary"] == "the CUDA toolkit changed from 12.4.1 to 12.8.0"
    assert began["alert"]["device"] is None
    assert_active(machine, server, began, "notice")
