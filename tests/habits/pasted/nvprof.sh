nvprof --print-gpu-trace python train.py
