import json
import subprocess

gpus = json.loads(subprocess.check_output(["gpustat", "--json"]))["gpus"]
free = [g["index"] for g in gpus if g["memory.used"] < 0.1 * g["memory.total"]]
print("free GPUs:", free)
