nvidia-smi | grep 'python' | awk '{ print $5 }'
