while [ "$(nvidia-smi -i 0 --query-gpu=memory.used --format=csv,noheader,nounits)" -gt 1000 ]; do
    sleep 1
done
echo "GPU 0 is free, starting"
