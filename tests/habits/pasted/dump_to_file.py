import subprocess

with open("gpu_report.txt", "w") as f:
    subprocess.run(["nvidia-smi", "-q"], stdout=f)
print("GPU report saved to gpu_report.txt")
