"""berth on real hardware, held against the vendor's nvidia-smi. python3 alone is enough.

Fixed cells must be equal. Moving ones must lie between what nvidia-smi says just before and just after, widened by what
it rounds away.
"""

import csv
import getpass
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BERTH = os.environ.get("BERTH") or str(ROOT / "build" / "release" / "berth")
MIB = 1 << 20

# nvidia-smi's name, our key, and what one of nvidia-smi's units is in ours.
FIXED_TEXTS = [
    ("name", "name"),
    ("uuid", "uuid"),
    ("vbios_version", "vbios_version"),
    ("serial", "serial"),
    ("compute_cap", "compute_capability"),
]
FIXED_NUMBERS = [
    ("memory.total", "memory_total_bytes", MIB, 0.5),
    ("enforced.power.limit", "power_limit_milliwatts", 1000, 0.01),
    ("power.default_limit", "power_limit_default_milliwatts", 1000, 0.01),
    ("pcie.link.gen.max", "pcie_generation_max", 1, 0),
    ("pcie.link.width.max", "pcie_width_max", 1, 0),
    ("clocks.max.sm", "clock_sm_max_megahertz", 1, 0),
    ("clocks.max.memory", "clock_memory_max_megahertz", 1, 0),
]
# The last number: how far outside of both readings it may lie, in nvidia-smi's unit.
MOVING = [
    ("memory.used", "memory_used_bytes", MIB, 64),
    ("memory.free", "memory_free_bytes", MIB, 64),
    ("memory.reserved", "memory_reserved_bytes", MIB, 64),
    ("temperature.gpu", "temperature_celsius", 1, 2),
    ("power.draw", "power_draw_milliwatts", 1000, 25),
    ("utilization.gpu", "utilization_gpu_percent", 1, 10),
    ("clocks.current.memory", "clock_memory_megahertz", 1, 5),
]


def vendor(*fields: str) -> "list[dict[str, str]]":
    """One dictionary per card, in nvidia-smi's order."""
    done = subprocess.run(
        ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = csv.reader(done.stdout.splitlines(), skipinitialspace=True)
    return [dict(zip(fields, row)) for row in rows]


def vendor_number(text: str) -> "float | None":
    """nvidia-smi's number; none where it says [N/A], [Not Supported] or similar."""
    try:
        return float(text)
    except ValueError:
        return None


def reason_to_skip() -> "str | None":
    if not shutil.which("nvidia-smi"):
        return "no GPU here: there is no nvidia-smi"
    if subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode != 0:
        return "no GPU here: nvidia-smi finds none"
    if not Path(BERTH).is_file():
        return f"no berth at {BERTH}: ./dev build"
    return None


def remove(folder: str) -> None:
    """Also while the keeper of a run that has come back completes its record in it."""
    until = time.monotonic() + 10
    while os.path.exists(folder) and time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.01)


class OnHardware(unittest.TestCase):
    """Gives each test a ledger and a state directory of its own."""

    def setUp(self) -> None:
        if reason := reason_to_skip():
            self.skipTest(reason)
        folder = tempfile.mkdtemp()
        self.addCleanup(remove, folder)
        self.environment = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
        self.environment.update(
            BERTH_LEDGER=f"{folder}/ledger",
            XDG_STATE_HOME=f"{folder}/state",
            BERTH_LANG="en",
        )

    def berth(self, *words: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [BERTH, *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        self.assertEqual(done.returncode, code, f"berth {' '.join(words)}:\n{done.stderr}")
        return done

    def snapshot(self) -> dict:
        return json.loads(self.berth("status", "--json").stdout)

    def card(self, snapshot: dict, uuid: str) -> dict:
        found = [device for device in snapshot["devices"] if device.get("uuid") == uuid]
        self.assertEqual(len(found), 1, f"{uuid} is in the snapshot {len(found)} times")
        return found[0]


class FixedCells(OnHardware):
    def test_every_card_of_nvidia_smi_is_there_and_no_other(self) -> None:
        theirs = {row["uuid"] for row in vendor("uuid", "index")}
        ours = {d["uuid"] for d in self.snapshot()["devices"] if str(d.get("uuid")).startswith("GPU-")}
        self.assertEqual(ours, theirs)

    def test_texts_are_equal(self) -> None:
        snapshot = self.snapshot()
        for row in vendor("uuid", *(name for name, _ in FIXED_TEXTS if name != "uuid")):
            card = self.card(snapshot, row["uuid"])
            for theirs, ours in FIXED_TEXTS:
                with self.subTest(card=row["uuid"], cell=ours):
                    wanted = None if row[theirs].startswith("[") else row[theirs]
                    self.assertEqual(card[ours], wanted, card.get("why", {}).get(ours))

    def test_numbers_are_equal(self) -> None:
        snapshot = self.snapshot()
        for row in vendor("uuid", *(name for name, *_ in FIXED_NUMBERS)):
            card = self.card(snapshot, row["uuid"])
            for theirs, ours, unit, rounding in FIXED_NUMBERS:
                wanted = vendor_number(row[theirs])
                with self.subTest(card=row["uuid"], cell=ours):
                    if wanted is None:
                        self.assertIsNone(card[ours])
                    else:
                        self.assertAlmostEqual(card[ours] / unit, wanted, delta=rounding)

    def test_address_and_index_are_equal(self) -> None:
        snapshot = self.snapshot()
        for row in vendor("uuid", "index", "pci.bus_id"):
            card = self.card(snapshot, row["uuid"])
            self.assertEqual(card["index"], int(row["index"]))
            # nvidia-smi writes eight digits of domain, the kernel four.
            self.assertEqual(card["pci_address"].lower()[-10:], row["pci.bus_id"].lower()[-10:])

    def test_driver_is_equal(self) -> None:
        driver = vendor("driver_version", "uuid")[0]["driver_version"]
        self.assertEqual(self.snapshot()["host"]["driver_version"], driver)


class MovingCells(OnHardware):
    def test_readings_lie_between_those_before_and_after(self) -> None:
        names = [name for name, *_ in MOVING]
        before = {row["uuid"]: row for row in vendor("uuid", *names)}
        snapshot = self.snapshot()
        after = {row["uuid"]: row for row in vendor("uuid", *names)}
        for uuid, first in before.items():
            card = self.card(snapshot, uuid)
            for theirs, ours, unit, slack in MOVING:
                readings = [vendor_number(first[theirs]), vendor_number(after[uuid][theirs])]
                with self.subTest(card=uuid, cell=ours):
                    if None in readings:
                        self.assertIsNone(card[ours])
                        continue
                    print(f"{uuid} {ours}: {card[ours] / unit:g}, nvidia-smi {readings}")
                    self.assertGreaterEqual(card[ours] / unit, min(readings) - slack)
                    self.assertLessEqual(card[ours] / unit, max(readings) + slack)


class Running(OnHardware):
    def run_of(self, done: "subprocess.CompletedProcess[str]") -> dict:
        del done
        return json.loads(self.berth("show", "last", "--json").stdout)

    def test_a_job_is_given_a_card_that_exists(self) -> None:
        job = 'echo "$CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES"'
        order, index = self.berth("run", "--no-wait", "--", "sh", "-c", job).stdout.split()
        self.assertEqual(order, "PCI_BUS_ID")
        self.assertIn(index, {row["index"] for row in vendor("index", "uuid")})

    def test_two_runs_at_once_do_not_share_a_card(self) -> None:
        cards = len(vendor("uuid", "index"))
        inner = [BERTH, "run", "--no-wait", "--", "true"]
        job = "env -u BERTH_LEASE -u BERTH_RUN -u CUDA_VISIBLE_DEVICES -u CUDA_DEVICE_ORDER "
        job += " ".join(inner)
        # All cards are the outer run's, so that a stranger to its lease finds none.
        self.berth("run", "--no-wait", "-n", str(cards), "--", "sh", "-c", job, code=124)

    def test_a_run_on_the_cpu_sees_no_card(self) -> None:
        job = 'echo "$CUDA_VISIBLE_DEVICES"; sleep 1.5'
        self.assertEqual(self.berth("run", "--cpu", "--", "sh", "-c", job).stdout, "-1\n")
        record = json.loads(self.berth("show", "last", "--json").stdout)
        self.assertGreaterEqual(record["summary"]["device_files_looks"], 1)
        self.assertEqual(record["summary"]["device_files_open"], 0)

    def test_a_job_is_found_on_its_card_with_its_memory_and_its_user(self) -> None:
        self.need_torch()
        held = 256 * MIB
        code = f"import time, torch; x = torch.zeros({held}, dtype=torch.uint8, device='cuda'); time.sleep(300)"
        command = [BERTH, "run", "--no-wait", "--", sys.executable, "-c", code]
        job = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL)
        self.addCleanup(job.wait)
        self.addCleanup(job.terminate)
        until = time.monotonic() + 120
        found: "list[dict]" = []
        while not found and time.monotonic() < until:
            self.assertIsNone(job.poll(), "the job has ended")
            snapshot = self.snapshot()
            ours = {p["pid"]: p for p in snapshot["processes"] if code in (p["command"] or [])}
            found = [on for on in snapshot["gpu_processes"]
                     if on["pid"] in ours and (on["memory_used_bytes"] or 0) >= held]
            time.sleep(0.5)
        self.assertEqual(len(found), 1, "the driver lists no such process")
        self.assertEqual(ours[found[0]["pid"]]["user"], getpass.getuser())
        [lease] = snapshot["leases"]
        self.assertEqual([device["device"] for device in lease["devices"]], [found[0]["device"]])

    def test_more_runs_than_cards_take_turns_on_them(self) -> None:
        """By what each says of its time on the card, and by what nvidia-smi lists meanwhile."""
        self.need_torch()
        cards = len(vendor("uuid", "index"))
        code = ("import os, time, torch; x = torch.zeros(64 << 20, dtype=torch.uint8, device='cuda'); "
                "began = time.monotonic(); time.sleep(1); "
                "print(os.environ['CUDA_VISIBLE_DEVICES'], began, time.monotonic())")
        jobs = [
            subprocess.Popen([BERTH, "run", "--wait=5m", "--", sys.executable, "-c", code], env=self.environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            for _ in range(2 * cards + 2)
        ]
        query = ["nvidia-smi", "--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader"]
        most, looks = 0, 0
        while any(job.poll() is None for job in jobs):
            listed = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split("\n")
            on_card: "dict[str, int]" = {}
            for uuid, pid in (line.split(", ") for line in listed if line):
                try:
                    is_ours = code.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
                except OSError:
                    continue  # it has ended since
                on_card[uuid] = on_card.get(uuid, 0) + is_ours
            most = max([most, *on_card.values()])
            looks += 1
        self.assertEqual(most, 1, f"in {looks} looks")
        turns = sorted(tuple(job.stdout.read().split()) for job in jobs)
        self.assertEqual([job.returncode for job in jobs], [0] * len(jobs))
        for (card, _, ended), (next_card, began, _) in zip(turns, turns[1:]):
            if card == next_card:
                self.assertLess(float(ended), float(began), turns)

    def need_torch(self) -> None:
        probe = "import torch; raise SystemExit(0 if torch.cuda.is_available() else 1)"
        with_cuda = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False)
        if with_cuda.returncode != 0:
            self.skipTest("this python has no torch that sees a GPU")

    def test_the_example_trains_on_the_card_it_was_given(self) -> None:
        self.need_torch()
        train = str(ROOT / "examples" / "train.py")
        done = self.berth("run", "--no-wait", "--", sys.executable, train, "--epochs", "30")
        self.assertIn("training on cuda", done.stdout)
        record = json.dumps(self.run_of(done))
        self.assertIn("accuracy", record)
        self.assertTrue(any(row["uuid"] in record for row in vendor("uuid", "index")))


if __name__ == "__main__":
    unittest.main()
