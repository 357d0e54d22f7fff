best=$(nvidia-smi --query-gpu=index,memory.used --format=csv,noheader,nounits \
    | awk -F', ' 'min == "" || $2 < min { min = $2; best = $1 } END { print best }')
echo "CUDA_VISIBLE_DEVICES=$best"
