nvidia-smi -L | wc -l
