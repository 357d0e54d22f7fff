"""Processor time of a look at eight AMD cards, beside a C program that reads the same files.

The cards are copies of the captured one in tests/data/amdgpu, on an injected /sys; the files are
those that strace saw the source open. At most 3 ms more is the promise."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from accelerator_trees import Sys, put  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BERTH_BUILD") or ROOT / "build/release")
LOOK = BUILD / "tests/accelerators/look_at_tree"
FLOOR = BUILD / "bench/floor_files"
LOOKS = 200
MOST_MORE_MS = 3.0


def eight_cards(root):
    tree = Sys(root)
    put(tree.sys / "class/kfd/kfd/topology/generation_id", "1\n")
    for number in range(8):
        tree.add(ROOT / "tests/data/amdgpu/vega10.tree", address=f"0000:{5 + number:02x}:00.0", render=128 + number)
        node = tree.sys / f"class/kfd/kfd/topology/nodes/{2 + number}"
        put(node / "properties", f"simd_count 256\nsimd_per_cu 4\nlocation_id {(5 + number) << 8}\ndomain 0\n")
        put(node / "gpu_id", f"{100 + number}\n")
        for pid in range(4):
            put(tree.sys / f"class/kfd/kfd/proc/{900 + pid}/vram_{100 + number}", "1048576\n")
    return tree


def opened_in_a_look(tree, calls):
    """Of the third look: by then what is read once has been read."""
    trace = ["strace", "-e", "trace=openat", "-o", calls]

    def opens(looks):
        subprocess.run([*trace, LOOK, tree.sys, tree.proc, str(looks), "cpu"], check=True, capture_output=True)
        return [line for line in calls.read_text().splitlines() if str(tree.root) in line]

    two, three = opens(2), opens(3)
    names = [line.split('"')[1] + ("/" if "O_DIRECTORY" in line else "") for line in three[len(two) :]]
    return names


def milliseconds(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return sorted(int(line.split()[0]) / 1000 for line in out.splitlines()[5:])


def main():
    if not shutil.which("strace"):
        print("accelerators: skipped, strace is not installed", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = eight_cards(pathlib.Path(folder))
        names = opened_in_a_look(tree, pathlib.Path(folder) / "calls")
        listed = pathlib.Path(folder) / "list"
        listed.write_text("\n".join(names) + "\n")
        ours = milliseconds([LOOK, tree.sys, tree.proc, str(LOOKS), "cpu"])
        floor = milliseconds([FLOOR, listed, str(LOOKS)])
    quarter = len(ours) // 4
    print(json.dumps({
        "name": "eight AMD cards, CPU of a look", "unit": "ms",
        "value": statistics.median(ours), "floor": statistics.median(floor), "limit": MOST_MORE_MS,
        "low": ours[quarter], "high": ours[-1 - quarter], "runs": len(ours)}))  # fmt: skip


if __name__ == "__main__":
    main()
