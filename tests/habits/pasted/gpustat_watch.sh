gpustat -cup -i 1
