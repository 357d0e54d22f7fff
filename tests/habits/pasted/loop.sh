nvidia-smi -l 1
