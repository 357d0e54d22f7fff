nvidia-smi | grep -oP 'CUDA Version: \K[0-9.]+'
