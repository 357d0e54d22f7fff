nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used --format=csv -lms 200 -f usage.csv
