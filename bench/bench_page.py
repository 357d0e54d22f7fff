"""The web page in headless Chromium on loopback, against the mock of the page's tests: how soon it
shows the room of 64 GPUs, and what a look per second costs the browser's main thread."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "web/tests")]
import check_page  # noqa: E402
import mock_server  # noqa: E402

BERTH = os.environ["BERTH"]
PAGE = pathlib.Path(os.environ["BERTH_BUILD"]) / "page/dist"


def tell(name, unit, values, limit):
    ordered = sorted(values)
    low, value, high = (ordered[round((len(ordered) - 1) * share)] for share in (0.25, 0.5, 0.75))
    print(json.dumps({"name": name, "unit": unit, "value": value, "low": low, "high": high,
                      "floor": None, "limit": limit, "runs": len(ordered)}), flush=True)


def main():
    chromium = os.environ.get("BERTH_CHROMIUM") or shutil.which("chromium")
    reason = check_page.bring_tools(ROOT)
    if chromium is None or reason or not (PAGE / "page.js").is_file():
        print(f"bench_page: skipped: {reason or 'needs chromium and the page'}", file=sys.stderr)
        return
    env = os.environ | {"BERTH_CHROMIUM": chromium}
    snapshot = subprocess.run([BERTH, "status", "--json", "--sim", "server-8xh100"],
                              env=env | {"BERTH_LEDGER": "/nonexistent/ledger"},
                              capture_output=True, check=True).stdout
    server = mock_server.MockServer(mock_server.Room(json.loads(snapshot), devices=64), PAGE).start()
    done = subprocess.run(
        ["node", str(ROOT / "web/tests/browser/measure.mjs"), str(check_page.modules(ROOT)),
         f"http://127.0.0.1:{server.port}/"],
        env=env, capture_output=True, text=True, check=False,
    )
    server.stop()
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout)
    if found["tiles"] != 64:
        raise SystemExit(f"{found['tiles']} tiles, 64 wanted")
    tell("page: first picture, 64 GPUs", "ms", found["first"], 300)
    tell("page: one look of 64 GPUs drawn", "ms", found["draws"], 16)
    tell("page: slowest look of 64 GPUs", "ms", [max(found["draws"])], None)
    tell("page: tasks over 50 ms in 20 s", "tasks", [len(found["long_tasks"])], None)
    tell("page: main thread busy, 64 GPUs", "%", [found["busy_percent"]], None)
    print(f"mean of looks {statistics.mean(found['draws']):.2f} ms", file=sys.stderr)


if __name__ == "__main__":
    main()
