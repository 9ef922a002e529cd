"""ASTra and GMN in a LightningModule: the same three lines, the monitor logged in one.

    pip install lightning
    python examples/torch_lightning.py

Synthetic data as in torch_training_loop.py, in stratified mini-batches.
"""

import sys
import warnings

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from astralearn.torch import (
    ASTra,
    GMNLoss,
    SlopeRate,
    SoftConfusionMonitor,
    StratifiedBatchSampler,
    parameter_groups,
)

try:
    import lightning
except ImportError:
    sys.exit("This example needs Lightning: pip install lightning")


class RareClassifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(10, 16), nn.LeakyReLU(0.3), nn.Linear(16, 1), nn.Flatten(0), ASTra()
        )
        self.loss = GMNLoss()
        self.monitor = SoftConfusionMonitor()

    def on_train_epoch_start(self) -> None:
        # Lightning tells samplers the epoch, but no batch sampler: after a checkpoint it would begin with the first epoch's order.
        self.trainer.train_dataloader.batch_sampler.set_epoch(self.current_epoch)

    def training_step(self, batch: tuple[Tensor, Tensor], _: int) -> Tensor:
        x, y = batch
        logits = self.model(x)
        self.monitor.update(logits, y)
        return self.loss(logits, y)

    def on_train_epoch_end(self) -> None:
        readings = self.monitor.compute()
        self.log_dict(readings)  # one line: FNR, FPR, e-ratio, G-Mean, MCC
        self.slope_rate.step(readings["e_ratio"])
        self.monitor.reset()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        optimizer = torch.optim.Adam(parameter_groups(self.model, lr=1e-3))
        self.slope_rate = SlopeRate(optimizer)
        return optimizer

    # The rate itself is saved with the optimizer; its bounds and the last e-ratio with these.
    def on_save_checkpoint(self, checkpoint: dict) -> None:
        checkpoint["slope_rate"] = self.slope_rate.state_dict()


def main(epochs: int = 20) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    y = torch.cat([torch.ones(20), torch.zeros(10_000)])
    x = torch.randn(len(y), 10, generator=generator) + 0.6 * y[:, None]
    loader = DataLoader(
        TensorDataset(x, y),
        batch_sampler=StratifiedBatchSampler(y, batch_size=512, positives_per_batch=4),
    )
    lightning.seed_everything(0, verbose=False)
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = lightning.Trainer(max_epochs=epochs, accelerator="cpu", **quiet)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's advice on workers and logging intervals
        trainer.fit(RareClassifier(), loader)
    return trainer.callback_metrics


if __name__ == "__main__":
    print({name: round(float(value), 4) for name, value in main().items()})
