"""The web page in headless Chromium on loopback, shown by `berth serve` on a simulated machine of 64
GPUs: how soon it shows the room, what a look per second costs the browser, and how large it is.
BERTH_BENCH_MINUTES: how long it is left open (1)."""

import copy
import gzip
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "web/tests")]
import check_page  # noqa: E402
import mock_room  # noqa: E402
import mock_server  # noqa: E402

BERTH = os.environ["BERTH"]
PAGE = pathlib.Path(os.environ["BERTH_BUILD"]) / "page/dist"
MINUTES = float(os.environ.get("BERTH_BENCH_MINUTES", "1"))


def tell(name, unit, values, limit):
    ordered = sorted(values)
    low, value, high = (ordered[round((len(ordered) - 1) * share)] for share in (0.25, 0.5, 0.75))
    print(json.dumps({"name": name, "unit": unit, "value": value, "low": low, "high": high,
                      "floor": None, "limit": limit, "runs": len(ordered)}), flush=True)


def large_machine(env, count):
    """A simulated server of `count` cards: those of the built-in one, again and again."""
    told = subprocess.run([BERTH, "status", "--json", "--sim", "server-8xh100"], env=env, capture_output=True, check=True)
    snapshot = json.loads(told.stdout)
    models, uses = snapshot["devices"], snapshot["gpu_processes"]
    snapshot["devices"], snapshot["gpu_processes"] = [], []
    for i in range(count):
        model = models[i % len(models)]
        own = {"index": i, "id": f"GPU-{i:08x}-0000-4000-8000-000000000000", "pci_address": f"00000000:{i + 1:02x}:00.0"}
        snapshot["devices"].append(copy.deepcopy(model) | own | {"uuid": own["id"]})
        snapshot["gpu_processes"] += [use | {"device": own["id"]} for use in uses if use["device"] == model["id"]]
    return snapshot


class Served:
    """`berth serve` on a simulated machine, while it is held."""

    def __init__(self, folder, machine):
        self.folder, self.machine = folder, machine
        folder.mkdir()
        self.env = os.environ | {"HOME": str(folder), "XDG_STATE_HOME": str(folder), "BERTH_LEDGER": str(folder / "ledger")}

    def __enter__(self):
        log = self.folder / "serve.log"
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [BERTH, "serve", "--sim", self.machine, "--listen", "127.0.0.1:0", "--socket", str(self.folder / "socket")],
                env=self.env, stdout=output, stderr=output)
        deadline = time.monotonic() + 20
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text(encoding="utf-8"))):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit(log.read_text(encoding="utf-8"))
            time.sleep(0.05)
        return f"{found[0]}/"

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def measured(folder, chromium):
    machine = folder / "64.json"
    small, large = Served(folder / "8", "server-8xh100"), Served(folder / "64", str(machine))
    machine.write_text(json.dumps(large_machine(large.env, 64)), encoding="utf-8")
    # Other servers by the thousand are told of by the mock of the page's tests.
    room = mock_room.Room(large_machine(large.env, 8))
    room.join(1000)
    many = mock_server.MockServer(room, PAGE)
    with small as small_address, large as address, many:
        done = subprocess.run(
            ["node", str(ROOT / "web/tests/browser/measure.mjs"), str(check_page.modules(ROOT)), address, str(MINUTES)],
            env=os.environ | {"BERTH_CHROMIUM": chromium, "BERTH_SMALL_SERVER": small_address,
                              "BERTH_MAP_SERVER": f"http://127.0.0.1:{many.port}/",
                              "BERTH_SERVER_PIDS": f"{small.process.pid} {large.process.pid}"},
            capture_output=True, text=True, check=False,
        )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main():
    chromium = os.environ.get("BERTH_CHROMIUM") or shutil.which("chromium")
    reason = check_page.bring_tools(ROOT)
    if chromium is None or reason or not (PAGE / "page.js").is_file():
        print(f"bench_page: skipped: {reason or 'needs chromium and the page'}", file=sys.stderr)
        return
    # What else is computed here: a wall clock's figures are to be read beside it.
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory(prefix="berth-bench-page-") as folder:
        found = measured(pathlib.Path(folder), chromium)
    load.append(os.getloadavg()[0])
    if found["tiles"] != 64:
        raise SystemExit(f"{found['tiles']} tiles, 64 wanted")
    tell("page: the browser's first picture of one word from the same server", "ms", found["floor"]["times"], None)
    tell("page: first picture, 8 GPUs", "ms", found["eight"]["times"], 300)
    tell("page: processor time of the main thread until then", "ms", found["eight"]["busy"], None)
    tell("page: first picture, 64 GPUs", "ms", found["first"]["times"], 300)
    tell("page: its processor time, 64 GPUs", "ms", found["first"]["busy"], 1000)
    tell("page: that of all threads of the renderer", "ms", found["first"]["whole"], 1000)
    tell("page: that of `berth serve`, 64 GPUs", "ms", found["first"]["served"], None)
    tell(f"page: processes that wanted the {os.cpu_count()} processors meanwhile (load)", "", load, None)
    tell("page: one look of 64 GPUs drawn", "ms", found["draws"], None)
    tell("page: slowest look of 64 GPUs", "ms", [max(found["draws"])], None)
    tell("page: script an update, 1,000 servers", "ms", [found["map_ms"]], 16)
    frames = found["frames"]
    tell("page: frames dropped, 64 GPUs", "%", [100 * frames["dropped"] / (frames["all"] + frames["dropped"])], None)
    tell("page: tasks over 50 ms in 20 s", "tasks", [len(found["long_tasks"])], None)
    tell("page: script a look, 64 GPUs", "ms", [found["script_ms"]], 8)
    tell("page: main thread busy, 64 GPUs at 1 Hz", "ms/s", [found["busy_ms"]], None)
    tell("page: JavaScript memory at first", "MiB", [found["heap"][0] / 2**20], None)
    tell(f"page: JavaScript memory after {MINUTES:g} min", "MiB", [found["heap"][1] / 2**20], None)
    bundle = b"".join((PAGE / name).read_bytes() for name in ("index.html", "page.js", "page.css", "icon.svg"))
    tell("page: bundle", "KiB", [len(bundle) / 1024], None)
    tell("page: bundle, gzip", "KiB", [len(gzip.compress(bundle)) / 1024], 90_000 / 1024)
    print(f"mean of looks {statistics.mean(found['draws']):.2f} ms; nodes {found['nodes']}", file=sys.stderr)


if __name__ == "__main__":
    main()
