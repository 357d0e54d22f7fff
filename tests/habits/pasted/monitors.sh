nvidia-smi dmon -c 2
nvidia-smi pmon -c 1
nvidia-smi topo -m
