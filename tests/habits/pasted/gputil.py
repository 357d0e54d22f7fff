import subprocess
from shutil import which


class GPU:
    def __init__(self, id, uuid, load, total, used, free, driver, name, serial, mode, active, temp):
        self.id, self.uuid, self.name, self.driver = id, uuid, name, driver
        self.load, self.memoryTotal, self.memoryUsed, self.memoryFree = load, total, used, free
        self.memoryUtil = float(used) / float(total)
        self.temperature = temp


def safe_float(text):
    try:
        return float(text)
    except ValueError:
        return float("nan")


def get_gpus():
    nvidia_smi = which("nvidia-smi")
    output = subprocess.Popen(
        [nvidia_smi, "--query-gpu=index,uuid,utilization.gpu,memory.total,memory.used,memory.free,driver_version,name,gpu_serial,display_active,display_mode,temperature.gpu", "--format=csv,noheader,nounits"],
        stdout=subprocess.PIPE,
    ).communicate()[0].decode("UTF-8")
    gpus = []
    for line in output.split("\n"):
        if not line:
            continue
        vals = line.split(", ")
        gpus.append(GPU(int(vals[0]), vals[1], safe_float(vals[2]) / 100, safe_float(vals[3]),
                        safe_float(vals[4]), safe_float(vals[5]), vals[6], vals[7], vals[8],
                        vals[10], vals[9], safe_float(vals[11])))
    return gpus


for gpu in get_gpus():
    print(gpu.id, gpu.name, f"{gpu.load * 100:.0f}%", f"{gpu.memoryUtil * 100:.0f}%", gpu.temperature)
