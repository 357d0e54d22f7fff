nvidia-smi -pm 1 && nvidia-smi -pl 250
