"""What the mock server tells of: a snapshot's devices with moving numbers, and somebody's leases, runs and log. Also
alerts and other servers. All is in the shapes of the page's API."""

import copy
import math
import time

READINGS = (
    "id index kind parent mig name state utilization_gpu_percent memory_used_bytes memory_used_is_bound memory_total_bytes"
    " temperature_celsius power_draw_milliwatts power_limit_milliwatts"
).split()
STATES = "free reserved leased busy held unknown divided lost unusable".split()
HOUR, DAY = 3_600_000, 86_400_000
LEASE = "9f8e47e3-cd17934ce0ea9fb0"
# Of a run, and its members that everybody sees who may know of it.
SUMMARY = {
    "samples": 5520, "mean_utilization_percent": 71.4, "energy_millijoules": 2_900_000_000, "energy_source": "counter",
    "tree_memory_peak_bytes": 9_313_664_000, "tree_cpu_milliseconds": 120_000, "device_files_open": None,
    "device_files_looks": None, "gpu_contexts": None, "gpu_contexts_looks": None,
    "devices": [{"mean_utilization_percent": 71.4, "memory_peak_bytes": 51_312_485_990, "memory_source": "own processes",
                 "energy_millijoules": 2_900_000_000, "energy_source": "counter", "temperature_peak_celsius": 71,
                 "not_read_milliseconds": 0, "own_memory_peak_bytes": 51_312_485_990}],
}
SEEN = (
    "format version id command started_unix_ms uid user lease retry_of wanted devices_wanted cpu_only waiting waited_ms"
    " given promised_bytes cap state end summary"
).split()
HOSTILE = "<img src=x onerror=alert(1)>"


def now_ms():
    return time.time_ns() // 1_000_000


class Room:
    """What there is to show at a moment: a snapshot's devices, somebody's leases, runs and a log."""

    def __init__(self, snapshot, health=None, devices=None, interval_ms=1000, hostile=HOSTILE):
        self.snapshot = copy.deepcopy(snapshot)
        self.interval_ms = interval_ms
        self.health = health or {"berth_health": 1, "taken_unix_ms": snapshot["taken_unix_ms"], "state": None, "devices": [],
                                 "problems": []}
        if devices:
            self.multiply(devices)
        self.hostile = hostile
        self.alerts = {}  # by id, those that are over as well
        self.alert_news = []  # each change of one: said once to everybody who listens then
        self.health_news = []  # likewise
        self.errors = []  # that the driver told of
        self.hosts = []  # other servers
        self.frozen = False  # and nothing moves there
        self.deliveries = [{"receiver": "team", "kind": "webhook", "min_severity": "warning", "waiting": 0, "delivered": 2,
                            "failed": 0, "dropped": 0, "last_delivered_unix_ms": now_ms(), "last_failed_unix_ms": None,
                            "is_failing": False, "trouble": None}]
        self.acts = []  # what was released and signalled, with the asker
        self.read_only = False
        self.stale = False
        self.hangs = False  # nothing comes by the stream
        self.still = False  # each look is the same, and nobody calls it stale
        self.unanswered_since = None
        self.no_history = False
        self.changed = {}  # device position: state, as a test asks for it
        self.sequence = 0
        self.started = now_ms()
        self.runs = [self.run(i) for i in range(7)]
        self.runs[6]["spec"] = {"name": "wei's second try"}

    def multiply(self, count):
        models = self.snapshot["devices"]
        self.snapshot["devices"] = [
            copy.deepcopy(models[i % len(models)])
            | {"index": i, "id": f"GPU-{i:08x}-0000-4000-8000-000000000000"}
            for i in range(count)
        ]

    def divide(self, position):
        """Makes instances of a card, as MIG does: the first is somebody's, the others are free."""
        card = self.snapshot["devices"][position]
        card["state"] = "divided"
        self.snapshot["devices"][position + 1 : position + 1] = [
            copy.deepcopy(card)
            | {"id": f"MIG-{position:04x}{i:04x}-0000-5000-8000-000000000000", "kind": "nvidia-mig", "parent": card["id"],
               "mig": {"gpu_instance": 7 + i, "compute_instance": 0}, "name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
               "state": "busy" if i == 0 else "free", "users": "lin" if i == 0 else "",
               "memory_used_bytes": 6_442_450_944 if i == 0 else 13_000_000, "memory_total_bytes": 10_468_982_784,
               "utilization_gpu_percent": None, "power_draw_milliwatts": None, "temperature_celsius": None,
               "why": {"utilization_gpu_percent": "unsupported"}}
            for i in range(7)
        ]

    def simulated(self):
        return self.snapshot.get("simulated")

    def alert(self, **part):
        """One that begins; with resolved_unix_ms, one that is over."""
        device = self.snapshot["devices"][0]
        now = now_ms()
        one = {"id": "1", "rule": "idle_holder", "severity": "warning", "device": device["id"], "index": device["index"],
               "since_unix_ms": now - 7_200_000, "last_seen_unix_ms": now, "resolved_unix_ms": None, "ending": None,
               "summary": "", "advice": "", "simulated": self.simulated()} | part
        if one["resolved_unix_ms"] is not None:
            one["ending"] = "resolved"
        self.alerts[one["id"]] = one
        self.alert_news.append(one)
        return one

    def error(self, position):
        """The driver tells that a card has fallen off the bus."""
        device, now = self.snapshot["devices"][position], now_ms()
        self.errors.append({"at_unix_ms": now - 400, "kind": "xid", "device": device["id"], "code": "79",
                            "text": "it has fallen off the bus", "advice": "reboot; if it comes back, look at seating, power and cooling"})
        finding = {"state": "degraded", "code": "xid_79", "evidence": "XID 79, once: it has fallen off the bus",
                   "advice": "reboot; if it comes back, look at seating, power and cooling"}
        one = next(one for one in self.health["devices"] if one["id"] == device["id"])
        one |= {"state": "failed" if one["state"] == "failed" else "degraded", "findings": [*one["findings"], finding]}
        self.health_news.append({"at_unix_ms": now, "kind": "health", "device": device["id"], "index": device["index"], **finding})

    def join(self, count):
        """Other servers of eight cards each: most answer, some do not, and each in its way."""
        troubles = {
            3: ("unreachable", "connection refused", "start berth serve there"),
            7: ("refused", "the token is not known there", "berth token create there, and give it here"),
            11: ("stale", "its newest look is 4 min old", "berth health there"),
            13: ("incompatible", "it speaks berth_overview 2", "upgrade this berth"),
        }
        self.hosts = []
        for number in range(count):
            state, why, remedy = troubles.get(number, ("ok", None, None))
            self.hosts.append({
                "name": f"gpu{number + 1}", "address": f"gpu{number + 1}.example:9700", "state": state, "why": why,
                "remedy": remedy, "taken_unix_ms": now_ms() - (1000 if state == "ok" else 240_000), "simulated": None,
                "version": "0.1.0", "queue": number % 5 if number % 5 > 2 else 0, "alerts": 1 if number % 17 == 0 else 0,
                "page": f"http://gpu{number + 1}.example:9700/" if number != 5 else "javascript:alert(1)",
            })

    def hosts_now(self):
        states = ["free", "leased", "leased", "busy", "leased", "free", "held", "leased"]
        for number, host in enumerate(() if self.frozen else self.hosts):
            host["asked_unix_ms"] = now_ms()
            host["devices"] = [] if host["state"] in ("refused", "incompatible") else [
                {"id": f"GPU-{number:04x}{i:04x}-0000-4000-8000-000000000000", "index": i, "name": "NVIDIA H100 80GB HBM3",
                 "kind": "nvidia-gpu", "parent": None, "state": (state := states[(i * 3 + number) % 8]), "health": "failed" if (number, i) == (20, 2) else "ok",
                 "utilization_gpu_percent": 0 if state in ("free", "held") else (number * 13 + i * 29 + now_ms() // 5000 * 7) % 101,
                 "memory_used_bytes": 2**30, "memory_total_bytes": 80 * 2**30,
                 "users": [] if state == "free" else [["wei", "mara", "alice", "bob", "lin"][(number + i) % 5]]}
                for i in range(8)
            ]
            host["counts"] = {state: sum(d["state"] == state for d in host["devices"]) for state in set(states)}
        return {"simulated": self.simulated(), "hosts": self.hosts, "next": None}

    def leases(self):
        if any(act["what"] == "release" for act in self.acts):
            return []
        cards = [device for device in self.snapshot["devices"] if device["parent"] is None]
        device = cards[min(3, len(cards) - 1)]
        return [{
            "id": LEASE, "run": self.runs[0]["id"], "uid": 1000, "user": "wei",
            "keeper": {"pid": 40700, "start_ticks": 811}, "job": {"pid": 40711, "start_ticks": 815}, "command": None,
            "since_unix_ms": self.started - 95 * 60_000, "understood": True,
            "held_by": None, "isolated_by": None, "ends_unix_ms": None, "devices": [{"device": device["id"], "exclusive": True, "promised_bytes": None}],
        }]

    def queue(self):
        tickets = [("t1", 1001, "mara", "-n 8", 40 * 60_000), ("t2", 1002, self.hostile, "-n 2 --memory 20G", 70_000)]
        return [
            {"id": name, "uid": uid, "user": user, "process": {"pid": 41_000 + uid, "start_ticks": 900}, "command": None,
             "run": f"20261122-090000-{name}", "wants": wants, "request": wants, "since_unix_ms": self.started - waited_ms,
             "priority": "normal", "time_limit_ms": None, "gathered": [], "gathers_until_unix_ms": None, "stuck": False, "reserved": []}
            for name, uid, user, wants, waited_ms in tickets
        ]

    def planned(self):
        start = self.started + 3 * 3_600_000
        return [{"id": "at-0badcafe", "uid": 1001, "user": "mara", "starts_unix_ms": start, "ends_unix_ms": start + 7_200_000,
                 "wants": "-n 4", "failed": ""}]

    def overview(self, user=None):
        self.sequence += 1
        now = now_ms()
        devices = []
        states = {device["id"]: device["state"] for device in self.health["devices"]}
        for place, raw in enumerate(self.snapshot["devices"]):
            device = {key: raw.get(key) for key in READINGS}
            device["memory_used_is_bound"] = bool(device["memory_used_is_bound"])
            device["why"] = {k: v for k, v in (raw.get("why") or {}).items() if k in READINGS}
            device |= {"heat": "normal", "reserved_for": []}
            device["users"] = [name for name in str(raw.get("users") or "").replace(",", " ").split()]
            device["leases"] = []
            device["health"] = states.get(raw["id"], "ok")
            wave = math.sin(now / 9000 + place)
            if device["utilization_gpu_percent"]:
                device["utilization_gpu_percent"] = max(0, min(100, round(88 + 11 * wave)))
                device["power_draw_milliwatts"] = int(590_000 + 60_000 * wave)
            for lease in self.leases():
                if lease["devices"][0]["device"] == raw["id"]:
                    device |= {"state": "leased", "users": [lease["user"]], "leases": [lease["id"]]}
                    device |= {"utilization_gpu_percent": max(0, round(70 + 25 * wave))}
                    device |= {"memory_used_bytes": 51_312_485_990, "power_draw_milliwatts": 540_000}
            if place in self.changed:
                device["state"] = self.changed[place]
            devices.append(device)
        return {
            "berth_overview": 1,
            "taken_unix_ms": now,
            "sequence": self.sequence,
            "simulated": self.simulated(),
            "stale": self.stale,
            "unanswered_since_unix_ms": self.unanswered_since,
            "interval_ms": self.interval_ms,
            "version": "0.1.0",
            "host": {
                key: self.snapshot["host"].get(key)
                for key in ("name", "driver_version", "cuda_version_supported")
            },
            "asker": {"user": user, "admin": user == "root", "sees": "owner" if user else "public"},
            "counts": {state: sum(device["state"] == state for device in devices) for state in STATES}
            | {"failed": sum(device["health"] == "failed" for device in devices)},
            "devices": devices,
            "processes": self.processes(),
            "leases": self.leases(),
            "queue": self.queue(),
            "planned": self.planned(),
            "problems": self.snapshot.get("problems", []),
            "alerts": [one for one in self.alerts.values() if one["resolved_unix_ms"] is None],
            "joined": len(self.hosts),
        }

    def processes(self):
        known = {process["pid"]: process for process in self.snapshot["processes"]}
        there = {device["id"] for device in self.snapshot["devices"]}
        rows = []
        for use in self.snapshot["gpu_processes"]:
            process = known.get(use["pid"], {})
            if use["device"] not in there:
                continue
            rows.append(
                {key: use.get(key) for key in ("device", "pid", "type", "memory_used_bytes", "utilization_sm_percent")}
                | {
                    "key": f"{use['device']}/{use['pid']}",
                    "start_ticks": 4711,
                    "user": process.get("user"),
                    "command": None,
                    "started_unix_ms": process.get("started_unix_ms"),
                    "container": process.get("container") or None,
                    "run": None,
                    "lease": None,
                    "why": {},
                }
            )
        if not self.leases():
            return rows
        lease = self.leases()[0]
        device = lease["devices"][0]["device"]
        rows.append(
            {
                "key": f"{device}/40711", "device": device, "pid": 40711, "start_ticks": 815, "type": "C",
                "user": lease["user"], "command": "python train.py", "memory_used_bytes": 51_270_000_000,
                "utilization_sm_percent": 71, "started_unix_ms": lease["since_unix_ms"] + 2000,
                "container": "docker llm-train", "run": lease["run"], "lease": lease["id"], "why": {},
            }
        )
        return rows

    def run(self, number):
        begin = self.started - (95 * 60_000 if number == 0 else number * 5 * HOUR)
        known = self.snapshot["devices"]
        devices = [known[(3 + number + more) % len(known)] for more in range(1 if number == 0 else 2)]
        ended = number != 0
        lasted = 92 * 60_000 + number * 260_000
        end = {
            "format": "berth-run-end", "version": 1, "at_unix_ms": begin + lasted, "known": True, "ended": None,
            "exit_code": 0 if number != 2 else None, "signal": 9 if number == 2 else None, "dumped_core": False,
            "because": "time limit" if number == 2 else "", "stopped_by": None, "died_of": None, "time_limit_ms": None, "lasted_milliseconds": lasted,
            "released_unix_ms": begin + lasted, "cpu_milliseconds": 120_000, "summary": SUMMARY,
        }
        marks = [
            {"at_unix_ms": begin + (i + 1) * lasted // 6, "exact": i % 2 == 0, "text": f"epoch={i} loss={2 / (i + 1):.3f}"}
            for i in range(5)
        ]
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(begin / 1000))
        return {
            "format": "berth-run", "version": 1,
            "id": f"{stamp}-ab12c{number}", "uid": 1000 + number % 3, "user": ["wei", "mara", "alice"][number % 3],
            "cpu_only": False, "command": ["python", "train.py", "--lr", ["3e-4", "1e-3"][number % 2]], "working_directory": "/home/wei/exp",
            "started_unix_ms": begin, "started_steady_ms": None, "waiting": False, "waited_ms": 42_000, "wanted": "-n 1",
            "devices_wanted": 1, "spec": {}, "machine_id": "5e1a", "boot_id": "5e1b", "inside": "",
            "lease": "" if ended else LEASE,
            "keeper": {"pid": 40700, "start_ticks": 811}, "job": {"pid": 40711, "start_ticks": 815},
            "retry_of": None, "isolated_by": None, "log": "/home/wei/exp/train.log", "log_from_bytes": None, "state": "ended" if ended else "running",
            "directory": "/home/wei/.local/state/berth/runs/x", "figures_invented": False, "complete": True,
            "time_limit_ms": None, "promised_bytes": [None], "cap": None if number != 1 else {
                "tier": "watchdog", "action": "warn", "proved": "yes", "proved_why": None,
                "devices": [{"limit_bytes": 60 * 2**30, "highest_measured_bytes": 51_312_485_990, "highest_charge_bytes": None, "refusals": 0}],
            },
            "given": self.snapshot | {"devices": devices, "gpu_processes": [], "processes": []},
            "machine": {"operating_system": "Debian GNU/Linux 12", "cpu_model": "AMD EPYC", "instance_type": None,
                        "cpu_count": 64, "memory_total_bytes": 2**40, "container": "", "why": {"instance_type": "unsupported"}},
            "git": {"root": "/home/wei/exp", "commit": "8d3fa1c09d8e7f33", "branch": "main", "dirty": True},
            "python": {"interpreter": "/usr/bin/python3", "version": "3.11.2", "environment": "",
                       "packages": {"torch": "2.6.0"}, "frameworks": []},
            "variables": {"CUDA_VISIBLE_DEVICES": "3"}, "variables_set": {}, "end": end if ended else None,
            "summary": SUMMARY,
            "marks": marks,
            "events": [{"at_unix_ms": begin + lasted // 2, "kind": "sampler_restarted", "text": "samples are missing for 8 s"}],
            "problems": [],
        }

    def samples(self, run, points):
        begin = run["started_unix_ms"]
        end = run["end"]["at_unix_ms"] if run["end"] else now_ms()
        rows = []
        for i in range(points):
            dip = 0.1 if 0.60 < i / points < 0.66 else 1
            wave = math.sin(i / 7)
            for device in range(len(run["given"]["devices"])):
                rows.append([int(begin + (end - begin) * i / points), device, round(dip * (80 + 12 * wave) - 5 * device, 1),
                             51_312_485_990, int(dip * 480_000 + 70_000 + 9000 * wave), 58 + round(6 * wave)])
        return {
            "devices": [device["id"] for device in run["given"]["devices"]],
            "columns": ["utilization_gpu_percent", "memory_used_bytes", "power_draw_milliwatts", "temperature_celsius"],
            "points": rows,
        }

    @staticmethod
    def explanation(run, language):
        title = "显卡在等待数据" if language == "zh" else "the GPU waits for data"
        finding = {"rule": "waits_for_data", "severity": "warning", "title": title,
                   "evidence": ["a kernel ran 42 % of the time"], "meaning": "The loader is slower than the GPU.",
                   "steps": [{"what": "see what it does", "command": "berth top"}], "doubt": "threads were not recorded"}
        return {"berth_explain": 1, "run": run["id"], "simulated": None, "log": None, "log_cut": False,
                "ended_well": bool(run["end"]) and run["end"]["exit_code"] == 0, "findings": [finding]}

    @staticmethod
    def log(run):
        end = run["end"]["at_unix_ms"] if run["end"] else run["started_unix_ms"] + 95 * 60_000
        length = end - run["started_unix_ms"]
        lines = []
        for i in range(1200):
            at = run["started_unix_ms"] + length * i / 1200
            # Stamps in a zone that is not the browser's, as logs have them.
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at / 1000 + 8 * 3600))
            text = "waiting for the data loader" if 0.60 < i / 1200 < 0.66 else f"step {i} loss {2 / (1 + i / 200):.4f}"
            lines.append(f"{stamp} \x1b[32mINFO\x1b[0m {text}")
        return "\n".join(lines) + "\n"

    def history(self, query):
        since, until = int(query["since"]), int(query["until"])
        step = max(1000, (until - since) // int(query.get("points", 300)))
        middle, spread = {
            "utilization_gpu_percent": (70, 25), "memory_used_bytes": (55e9, 6e9),
            "power_draw_milliwatts": (520_000, 120_000), "temperature_celsius": (61, 8),
            "clock_sm_megahertz": (1700, 200), "pcie_sent_bytes": (4e8, 2e8), "pcie_received_bytes": (9e8, 3e8),
            "nvlink_sent_rate_bytes_per_second": (20e9, 8e9), "nvlink_received_rate_bytes_per_second": (18e9, 7e9),
            "activity_sm_percent": (60, 20), "activity_tensor_percent": (40, 20), "activity_dram_percent": (35, 15),
        }[query["metric"]]
        unit = query["metric"].rsplit("_", 1)[1]
        points = []
        begin = max(since, self.started - 40 * DAY)
        for at in range(begin - begin % step, until, step):
            if 0.3 < (at % DAY) / DAY < 0.33:
                continue  # the server was down
            mean = middle + spread * 0.6 * math.sin(at / 2.1e6) * math.cos(at / 3.3e7)
            points.append([at, mean - spread * 0.3, mean, mean + spread * 0.25, mean + spread * 0.35])
        return {"simulated": self.simulated(), "device": query["device"], "metric": query["metric"], "unit": unit,
                "step_ms": step, "damaged_blocks": 0, "knows_since_unix_ms": self.started - 40 * DAY, "points": points}

    def recent(self, query):
        """The history of all devices, in steps that they share."""
        since, until, count = int(query["since"]), int(query["until"]), int(query.get("points", 120))
        step = max(1, -(-(until - since) // count))
        scale = {"memory_used_bytes": 80 * 2**30 / 100, "power_draw_milliwatts": 7_000}.get(query["metric"], 1)
        return {"simulated": self.simulated(), "since_unix_ms": since, "step_ms": step, "devices": [
            {"id": device["id"], "values": [None if 0.3 < i / count < 0.35 else scale * (50 + 40 * math.sin(i / 9 + place))
                                            for i in range(count)]}
            for place, device in enumerate(self.snapshot["devices"])]}

    def topology(self):
        """Two nodes of as many cards, each joined by NVLink."""
        cards = [device for device in self.snapshot["devices"] if device["parent"] is None]
        half = (len(cards) + 1) // 2
        return {"simulated": self.simulated(), "devices": [
            {"id": card["id"], "numa_node": i // half, "nvlink_group": i // half * half,
             "links": ["X" if i == j else "NV4" if i // half == j // half else "SYS" for j in range(len(cards))]}
            for i, card in enumerate(cards)]}

    def status(self, name):
        """/gpu-status of one device; None: it is not there."""
        found = [one for one in self.snapshot["devices"] if name in (one["id"], str(one["index"]))]
        return self.snapshot | {"taken_unix_ms": now_ms(), "devices": found[:1]} if found else None

    def narrowed_runs(self, query):
        def is_wanted(run):
            is_failed = bool(run["end"]) and run["end"]["exit_code"] != 0
            gpus = [str(device["index"]) for device in run["given"]["devices"]]
            said = " ".join([run["id"], run["spec"].get("name", ""), *run["command"]]).lower()
            return (query.get("user") in (None, "", run["user"]) and query.get("words", "").lower() in said
                    and (query.get("state") in (None, "", run["state"]) or query["state"] == "failed" and is_failed)
                    and query.get("device", "") in ("", *gpus) and run["started_unix_ms"] >= int(query.get("since") or 0))

        wanted = [run for run in self.runs if is_wanted(run)]
        ids = [run["id"] for run in wanted]
        begin = ids.index(query["after"]) + 1 if query.get("after") in ids else 0
        shown = wanted[begin : begin + int(query.get("limit") or 50)]
        return {"runs": shown, "next": shown[-1]["id"] if begin + len(shown) < len(wanted) else None}

    def queue_now(self):
        """With why, and when."""
        waiters = self.queue()
        waiters[0] |= {"expected_start_unix_ms": now_ms() + 1_500_000, "why_not_yet": "leased by wei",
                       "gathered": [device["id"] for device in self.snapshot["devices"][5:7]],
                       "gathers_until_unix_ms": now_ms() + 300_000}
        waiters[1] |= {"expected_start_unix_ms": None, "why_not_yet": "behind mara"}
        return {"simulated": self.simulated(), "queue": waiters, "next": None}

    def timeline(self, query):
        since, until = int(query["since"]), int(query["until"])
        spans = []
        for place, device in enumerate(self.snapshot["devices"]):
            for k in range(60):
                begin = self.started - (k * 5 + place % 4) * HOUR
                kind = "lease" if k % 3 == 0 else "health" if (k + place) % 23 == 0 else "user" if k % 7 == 5 else "run"
                user = ["wei", "mara", "alice", "bob"][(k + place) % 4]
                end = None if k == 0 else begin + (2 + (k * 7 + place) % 3) * HOUR
                if begin < until and (end or until) > since:
                    spans.append({"device": device["id"], "kind": kind, "id": user if kind == "user" else self.runs[k % 7]["id"],
                                  "user": user, "title": "python train.py" if kind != "health" else "ecc_uncorrected",
                                  "from_unix_ms": begin, "to_unix_ms": end, "state": "ended"})
        devices = [{key: device[key] for key in ("id", "index", "name")} for device in self.snapshot["devices"]]
        return {"simulated": self.simulated(), "devices": devices, "left_out": 0, "spans": spans}

    def usage(self, query):
        names = {"user": ["alice", "wei", "mara", "bob"], "gpu": [d["id"] for d in self.snapshot["devices"]],
                 "job": [run["id"] for run in self.runs] + ["", ""], "day": [f"2026-11-{15 + i}" for i in range(7)]}[query["by"]]
        rows = [
            {"key": name, **({"user": ["wei", "mara", "alice"][i % 3]} if query["by"] == "job" else {}), "gpu_hours": 410 / (i + 1.3), "busy_gpu_hours": 300 / (i + 1.3),
             "idle_held_hours": 60 / (i + 1.3) if i % 3 else 12 / (i + 1), "unknown_load_hours": 0, "unwatched_hours": None,
             "energy_joules": 5.2e8 / (i + 1.3), "energy_at_least": False, "energy_integrated": False,
             "cost": 43.3 / (i + 1.3), "waits": 3 * i, "waited_hours": 2.5 * i, "runs": 40 - i}
            for i, name in enumerate(names)
        ]
        return {"berth_usage": 1, "by": query["by"], "simulated": self.simulated(), "unwatched_hours": 0, "since_unix_ms": int(query["since"]), "until_unix_ms": int(query["until"]),
                "knows_since_unix_ms": self.started - 5 * DAY, "price_per_kwh": 0.3, "currency": "EUR", "rows": rows}

    def events_log(self):
        devices = self.snapshot["devices"]
        return {"simulated": self.simulated(), "left_out": 0, "events": [
            {"at_unix_ms": self.started - 26 * HOUR, "kind": "health", "device": devices[2]["id"],
             "code": "ecc_uncorrected", "text": "12 memory errors were not corrected", "advice": None},
            {"at_unix_ms": self.started - 3 * HOUR, "kind": "xid", "device": devices[3]["id"], "code": "31",
             "text": "the job touched memory that is not its own",
             "advice": "start the job again; if it happens with other jobs too, tell the administrator"},
            *self.errors,
        ]}

    def compose(self, request):
        wanted = request.get("devices", 1)
        free = [d for d in self.overview()["devices"] if d["state"] == "free"]
        others = [d for d in self.overview()["devices"] if d["state"] != "free"]
        share = f" --memory {request['memory']}" if "memory" in request else ""
        wait = request.get("wait")
        share += {None: "", "forever": " --wait"}.get(wait, f" --wait={wait}")
        does = "starts" if wanted <= len(free) else "waits" if wait and wanted <= len(free) + len(others) else "ends"
        placed = [{"id": d["id"], "index": d["index"], "name": d["name"], "promised_bytes": None,
                   "reason": "free, 79.6 GiB"} for d in free]
        return {"berth_placement": 1, "simulated": self.simulated(), "asked_for": f"-n {wanted}{share}", "claimed": False,
                "environment": {},
                "available": placed[wanted:], "command": f"berth run -n {wanted}{share} -- COMMAND", "does": does,
                "exit_code": 124 if does == "ends" else None, "satisfied": wanted <= len(free),
                "possible": wanted <= len(free) + len(others), "chosen": placed[:wanted] if wanted <= len(free) else [],
                "refused": [{"id": d["id"], "index": d["index"], "name": d["name"], "rule": "in_use",
                             "text": "in use by a process without a lease", "may_change": True, "holders": []} for d in others]}
