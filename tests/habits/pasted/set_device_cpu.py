import torch

torch.cuda.set_device('cpu')
model = torch.nn.Linear(4, 2)
print(model(torch.randn(1, 4)))
