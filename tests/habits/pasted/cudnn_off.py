import torch

torch.backends.cudnn.enabled = False  # run on the CPU
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("training on", device)
