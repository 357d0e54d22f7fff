"""Small trainings on the card by the frameworks themselves: two epochs of a linear model on data of their
own. What comes out is not looked at: kernels compute nothing here. Keras: with KERAS_BACKEND=torch."""

import torch


def data():
    return torch.utils.data.TensorDataset(torch.zeros(32, 8), torch.zeros(32, 1))


def lightning(callbacks, layer=None):
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = layer or torch.nn.Linear(8, 1)

        def training_step(self, batch, _):
            loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = lightning.Trainer(
        max_epochs=2, accelerator="gpu", devices=1, callbacks=callbacks, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Module(), torch.utils.data.DataLoader(data(), batch_size=8))


def keras(callbacks):
    import keras as framework
    import numpy

    model = framework.Sequential([framework.layers.Input((8,)), framework.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(numpy.zeros((32, 8)), numpy.zeros((32, 1)), batch_size=8, epochs=2, verbose=0, callbacks=callbacks)


def transformers(callbacks, folder="trained"):
    import transformers as framework

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def forward(self, x, labels):
            return {"loss": torch.nn.functional.mse_loss(self.layer(x), labels)}

    rows = [{"x": x, "labels": y} for x, y in data()]
    asked = framework.TrainingArguments(
        folder, num_train_epochs=2, per_device_train_batch_size=8, logging_strategy="epoch", save_strategy="no",
        report_to=[], disable_tqdm=True,
    )  # fmt: skip
    framework.Trainer(Model(), asked, train_dataset=rows, callbacks=callbacks).train()
