nvidia-smi --query-gpu=name,driver_version,cuda_version,memory.total,memory.used,utilization.gpu --format=csv
