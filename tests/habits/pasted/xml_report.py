import subprocess
import xml.etree.ElementTree as ET

root = ET.fromstring(subprocess.check_output(["nvidia-smi", "-q", "-x"]))
for gpu in root.findall("gpu"):
    print(gpu.find("product_name").text, gpu.find("fb_memory_usage/used").text)
