import subprocess
import sys


def check_gpu():
    try:
        result = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,memory.total,memory.used", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=10,
        )
    except FileNotFoundError:
        print("nvidia-smi not found")
        return False
    if result.returncode != 0:
        print("GPU check failed:", result.stdout or result.stderr)
        return False
    for line in result.stdout.strip().split("\n"):
        name, total, used = line.split(", ")
        print(f"GPU: {name}  memory: {used} / {total}")
    return True


sys.exit(0 if check_gpu() else 1)
