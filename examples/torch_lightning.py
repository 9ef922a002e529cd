"""RareHead in a LightningModule: its loss, its readings in the progress bar and every logger, and a
cut.

    pip install lightning
    python examples/torch_lightning.py

Synthetic data as in torch_training_loop.py, in stratified mini-batches.
"""

import sys
import warnings

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from astralearn.torch import RareHead, StratifiedBatchSampler, decide, parameter_groups

try:
    import lightning
except ImportError:
    sys.exit("This example needs Lightning: pip install lightning")


class RareClassifier(lightning.LightningModule):
    def __init__(self, labels: Tensor) -> None:
        super().__init__()
        self.head = RareHead(labels)
        self.model = nn.Sequential(
            nn.Linear(10, 16), nn.LeakyReLU(0.3), nn.Linear(16, 1), nn.Flatten(0), self.head
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x)

    def on_train_epoch_start(self) -> None:
        # Lightning tells samplers the epoch, but no batch sampler: after a checkpoint it would
        # begin with the first epoch's order.
        self.trainer.train_dataloader.batch_sampler.set_epoch(self.current_epoch)

    def training_step(self, batch: tuple[Tensor, Tensor], _: int) -> Tensor:
        x, y = batch
        return self.head.loss(self(x), y)

    def on_train_epoch_end(self) -> None:
        # FNR, FPR, e-ratio, G-Mean, MCC and τ, in the logger (TensorBoard's, CSV, …) and the
        # progress bar.
        self.log_dict(self.head.readings(), prog_bar=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        groups = parameter_groups(self, lr=1e-3)
        return torch.optim.AdamW(groups, weight_decay=self.head.weight_decay)


def main(epochs: int = 20) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    y = torch.cat([torch.ones(20), torch.zeros(10_000)])
    x = torch.randn(len(y), 10, generator=generator) + 0.6 * y[:, None]
    learn, left_out = slice(0, 8_020), slice(8_020, None)
    loader = DataLoader(
        TensorDataset(x[learn], y[learn]),
        batch_sampler=StratifiedBatchSampler(y[learn], batch_size=128, positives_per_batch=8),
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
        module = RareClassifier(y)
        trainer.fit(module, loader)
    deciding = [(x[left_out], y[left_out]), (x[:20], y[:20])]
    print(decide(module, deciding, "g_mean", seen=True, prior=float(y.mean())))
    return trainer.callback_metrics


if __name__ == "__main__":
    print({name: round(float(value), 4) for name, value in main().items()})
