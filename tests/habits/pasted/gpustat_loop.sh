for i in 1 2 3; do
    gpustat -cp --no-color
    sleep 0.2
done
