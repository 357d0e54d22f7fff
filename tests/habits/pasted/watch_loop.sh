while true; do
    nvidia-smi | sed -n '/MiB \//p'
    sleep 0.3
done
