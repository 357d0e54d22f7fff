"""What deploy/ offers: rules that fire when they should, dashboards that ask only for what is served."""

import json
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, Machine, wait_until
from prometheus import DEPLOY, MISSING, PROMETHEUS, PROMTOOL, Prometheus, dashboards, expressions
from serving import serve_on  # noqa: F401  pylint: disable=unused-import

needs_promtool = pytest.mark.skipif(not PROMTOOL, reason=f"needs {MISSING}")
RULES = DEPLOY / "prometheus"


def promtool(*words, directory=RULES):
    return subprocess.run(
        [PROMTOOL, *map(str, words)], cwd=directory, capture_output=True, text=True, check=False
    )


@needs_promtool
def test_configuration_and_rules_are_accepted():
    done = promtool("check", "config", "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "17 rules found" in done.stdout + done.stderr


@needs_promtool
def test_the_configuration_of_the_composition_is_accepted(tmp_path):
    text = (DEPLOY / "image/watch/prometheus.yml").read_text(encoding="utf-8")
    assert "/run/secrets/token" in text
    (tmp_path / "token").touch()
    (tmp_path / "prometheus.yml").write_text(text.replace("/run/secrets/token", str(tmp_path / "token")), encoding="utf-8")
    for rules in RULES.glob("berth-*.yml"):
        shutil.copy(rules, tmp_path)
    done = promtool("check", "config", "prometheus.yml", directory=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "17 rules found" in done.stdout + done.stderr


def test_the_composition_hands_grafana_a_source_and_all_dashboards():
    """Each path that its files name is there, inside or on the host, and what they hold fits together."""
    yaml = pytest.importorskip("yaml")
    folder = DEPLOY / "image"
    services = yaml.safe_load((folder / "compose.yaml").read_text(encoding="utf-8"))["services"]
    inside = {}
    for name in ("prometheus", "grafana"):
        for volume in services[name]["volumes"]:
            on_host, target = volume.split(":")[:2]
            if on_host.startswith("."):
                assert (folder / on_host).exists(), volume
                inside[target] = (folder / on_host).resolve()
    provisioned = "/etc/grafana/provisioning"
    read = {kind: yaml.safe_load(inside[f"{provisioned}/{kind}/berth.yaml"].read_text(encoding="utf-8"))
            for kind in ("datasources", "dashboards")}
    assert [one["apiVersion"] for one in read.values()] == [1, 1]
    [provider] = read["dashboards"]["providers"]
    assert provider["type"] == "file" and inside[provider["options"]["path"]] == DEPLOY / "grafana"
    [source] = read["datasources"]["datasources"]
    assert source["url"] == "http://prometheus:9090" and "prometheus" in services and source["isDefault"]
    boards = [json.loads(one.read_text(encoding="utf-8")) for one in dashboards()]
    assert len({board["uid"] for board in boards}) == len({board["title"] for board in boards}) == len(boards) == 4
    for board in boards:
        # A file that is provisioned fills in no ${DS_…} of "__inputs": the source is a variable.
        assert "__inputs" not in board, board["title"]
        [chosen] = [one for one in board["templating"]["list"] if one["type"] == "datasource"]
        assert chosen["query"] == source["type"]
        for panel in board["panels"]:
            for one in (panel, *panel.get("targets", [])):
                assert one.get("datasource", {"uid": "${datasource}"})["uid"] == f"${{{chosen['name']}}}", panel["title"]
    config = yaml.safe_load(inside["/etc/prometheus/prometheus.yml"].read_text(encoding="utf-8"))
    for rules in config["rule_files"]:
        assert inside[f"/etc/prometheus/{rules}"].is_file()


def without_comments_on_loopback(text):
    """The file with those of its examples switched on that need neither a token nor TLS."""
    [header, *examples] = re.split(r"\n(?=  # - job_name)", text)
    lines = header.splitlines()
    for example in examples:
        if "localhost" in example:
            lines += [line.replace("# ", "", 1) for line in example.splitlines() if line.startswith("  # ")]
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(not PROMETHEUS, reason=f"needs {MISSING}")
def test_a_prometheus_that_is_given_these_files_scrapes_a_server_and_follows_the_rules(tmp_path, serve_on):  # noqa: F811
    server = serve_on(Machine(tmp_path, "server-8xh100"))
    folder = tmp_path / "etc"
    folder.mkdir()
    for rules in RULES.glob("berth-*.yml"):
        shutil.copy(rules, folder)
    text = (RULES / "prometheus.yml").read_text(encoding="utf-8")
    filled = without_comments_on_loopback(text)
    for old, new in {"localhost:9700": f"127.0.0.1:{server.port}", "interval: 15s": "interval: 1s"}.items():
        assert old in filled
        filled = filled.replace(old, new)
    prometheus = Prometheus(folder, config=filled)
    try:
        def targets():
            return prometheus.get("targets")["data"]["activeTargets"]

        jobs = {"berth", "dcgm", "nvidia_gpu"}
        wait_until(lambda: {(one["labels"]["job"], one["health"]) for one in targets()} == {(job, "up") for job in jobs},
                   f"all are up: {targets()}", 60)
        assert not [one for one in targets() if one["lastError"]]
        for job, metric in {"berth": "berth_device_power_watts", "dcgm": "DCGM_FI_DEV_POWER_USAGE",
                            "nvidia_gpu": "nvidia_smi_power_draw_watts"}.items():
            found = wait_until(lambda ask=f'{metric}{{job="{job}"}}': prometheus.query(ask), f"{metric} is scraped", 60)
            assert len(found) == 8

        def rules():
            return [rule for group in prometheus.get("rules")["data"]["groups"] for rule in group["rules"]]

        assert len(rules()) == 17 + 8
        wait_until(lambda: {rule["health"] for rule in rules()} == {"ok"}, "each rule has been followed", 60)
        recorded = wait_until(lambda: prometheus.query("sum(instance:berth_devices:sum)"), "what is recorded", 60)
        assert recorded[0][1] == 8
    finally:
        prometheus.close()


@needs_promtool
def test_alerts_come_when_they_should_and_only_then():
    done = promtool("test", "rules", "berth-alerts-test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize(
    ("expression", "broken"),
    [('state="lost"} == 1', 'state="lost"} == 2'), ("> 0.5", "> 0.2"), ('xid="94"', 'xid="31"')],
)
def test_the_tests_of_the_alerts_notice_a_broken_one(tmp_path, expression, broken):
    for rules in RULES.glob("berth-*.yml"):
        text = rules.read_text(encoding="utf-8")
        if rules.name == "berth-alerts.yml":
            assert expression in text
            text = text.replace(expression, broken)
        (tmp_path / rules.name).write_text(text, encoding="utf-8")
    done = promtool("test", "rules", "berth-alerts-test.yml", directory=tmp_path)
    assert done.returncode != 0


@needs_promtool
def test_rules_sum_up_several_servers():
    done = promtool("test", "rules", "berth-recording-test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_the_test_of_the_recorded_rules_notices_a_broken_one(tmp_path):
    for rules in RULES.glob("berth-recording*.yml"):
        text = rules.read_text(encoding="utf-8").replace("sum without (instance)", "max without (instance)")
        (tmp_path / rules.name).write_text(text, encoding="utf-8")
    assert promtool("test", "rules", "berth-recording-test.yml", directory=tmp_path).returncode != 0


def test_each_recorded_rule_has_an_example():
    recorded = re.findall(r"- record: (\S+)", (RULES / "berth-recording.yml").read_text(encoding="utf-8"))
    tested = (RULES / "berth-recording-test.yml").read_text(encoding="utf-8")
    assert set(recorded) == set(re.findall(r"- expr: (\w+:\w+:\w+)", tested)) and len(recorded) == 8


def test_each_alert_has_an_example():
    alerts = re.findall(r"- alert: (\w+)", (RULES / "berth-alerts.yml").read_text(encoding="utf-8"))
    tested = (RULES / "berth-alerts-test.yml").read_text(encoding="utf-8")
    fired = set(re.findall(r"alertname: (\w+)\n\s+exp_alerts", tested))
    assert len(alerts) == len(set(alerts)) >= 15
    assert fired == set(alerts)


def served_names():
    document = (ROOT / "doc/METRICS.md").read_text(encoding="utf-8")
    return set(re.findall(r"`(berth_\w+)", document))


def names_in(expression):
    """Metric names of our own; recorded ones have colons before and after."""
    return set(re.findall(r"(?<![\w:])(berth_\w+)(?![\w:])", expression))


def test_rules_ask_only_for_what_is_served():
    served = served_names()
    assert len(served) > 100
    for name in ("berth-alerts.yml", "berth-recording.yml"):
        text = (RULES / name).read_text(encoding="utf-8")
        asked = set()
        for line in re.findall(r"^\s+expr: (.*)$", text, re.M):
            asked |= names_in(line)
        assert asked
        assert asked <= served, f"{name}: nobody serves {sorted(asked - served)}"


@pytest.mark.parametrize("dashboard", dashboards(), ids=lambda path: path.stem)
def test_dashboards_ask_only_for_what_is_served(dashboard):
    text = dashboard.read_text(encoding="utf-8")
    board = json.loads(text)
    queries = [text for _, text in expressions(dashboard)]
    queries += [v["definition"] for v in board["templating"]["list"] if "definition" in v]
    asked = set().union(*map(names_in, queries))
    assert len(asked) > 5
    assert asked <= served_names(), f"nobody serves {sorted(asked - served_names())}"


@pytest.mark.parametrize("dashboard", dashboards(), ids=lambda path: path.stem)
def test_dashboards_can_be_imported(dashboard):
    board = json.loads(dashboard.read_text(encoding="utf-8"))
    ids = [panel["id"] for panel in board["panels"]]
    assert board["uid"] == dashboard.stem
    assert len(ids) == len(set(ids))
    assert {"datasource", "job"} <= {v["name"] for v in board["templating"]["list"]}
    # Whoever looks at numbers that are none is told so.
    assert "berth_simulated" in json.dumps(board)
    cells = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        covered = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not covered & cells, panel["title"]
        cells |= covered


@needs_promtool
@pytest.mark.parametrize("dashboard", dashboards(), ids=lambda path: path.stem)
def test_every_expression_of_a_dashboard_is_one(dashboard, tmp_path):
    rules = [
        {"record": f"panel:{number}", "expr": text}
        for number, (_, text) in enumerate(expressions(dashboard))
    ]
    file = tmp_path / "expressions.yml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}), encoding="utf-8")
    done = promtool("check", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr
