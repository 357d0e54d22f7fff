lspci | grep -i nvidia
