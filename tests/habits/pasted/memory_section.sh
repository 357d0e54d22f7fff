nvidia-smi -q -d MEMORY | grep -A 4 "FB Memory Usage"
