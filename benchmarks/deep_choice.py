"""Variants of the recipe for a rare class, on a part of the problems of deep.py and other draws.

    python benchmarks/deep_choice.py run [--k 20,5] [--draws 100,101] [--variants …]
    python benchmarks/deep_choice.py show          # each variant beside the recipe

Every result is added to results/deep_choice.csv.gz. One training is scored with several averages
of its weights. The tables of docs/pytorch.md have draws below 100, so what is chosen here is not
chosen on them.
"""

from __future__ import annotations

import sys
from pathlib import Path

# Python looks beside a script first, where torch.py and keras.py are benchmarks of that name.
HERE = str(Path(__file__).parent.resolve())
sys.path[:] = [entry for entry in sys.path if str(Path(entry or ".").resolve()) != HERE] + [HERE]

# ruff: noqa: E402
import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import wilcoxon
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from astralearn.study.weighted_scores import average_precision, positive_weight
from astralearn.torch import ASTra, parameter_groups
from deep_methods import BATCH, DECAY, HELD_OUT, KEEP, POSITIVES, RATE, batches, scores
from deep_tasks import Draw, Task, draw, network
from records import RESULTS, read_rows, write_rows

RECORDS = RESULTS / "deep_choice.csv.gz"
COLUMNS = ["problem", "k", "draw", "variant", "keep", "average_precision", "seconds"]
KEY = ("problem", "k", "draw", "variant")
TASKS = [
    Task("penbased", 1, "mlp"),
    Task("digits", 8, "cnn"),
    Task("signal", 1, "cnn1d"),
    *(Task("fashion", rare, "cnn") for rare in (2, 3, 7)),
]
KEEPS = (0.0, 0.95, KEEP)  # 0 is the last step's weights


@dataclass(frozen=True)
class Variant:
    """What differs from the recipe.

    adjusted: 0 is the mean of both classes' cross-entropies, 1 cross-entropy of logits less the
        logarithm of the batch's class ratio (logit adjustment), between them a mixture.
    power: of the class ratio, at which the slope starts and which it stays below; 0 is no warp.
    positives: in a batch of BATCH, as many as there are at most.
    per_positive: whether `decay` is divided by the number of positives.
    radius: of sharpness-aware steps by the positives' gradient; 0 takes plain ones.
    """

    adjusted: float = 0.0
    power: float = 0.25
    decay: float = DECAY
    per_positive: bool = False
    positives: int = POSITIVES
    radius: float = 0.0


VARIANTS = {
    "recipe": Variant(),
    "logit-adjusted": Variant(adjusted=1.0),
    "half adjusted": Variant(adjusted=0.5),
    "decay 0.1": Variant(decay=0.1),
    "decay 5/k": Variant(decay=5.0, per_positive=True),
    "slope ^1/8": Variant(power=0.125),
    "no warp": Variant(power=0.0),
    "16 positives": Variant(positives=16),
    "SAM 0.02": Variant(radius=0.02),
    "SAM 0.1": Variant(radius=0.1),
}


class RareSAM:
    """Sharpness-aware steps: the positives' loss perturbs, the whole loss descends.

    Weights move by `radius` along the gradient of the positives' loss, the gradient of the whole
    loss is taken there, and the optimizer applies it where they were.
    """

    def __init__(self, weights: Sequence[Tensor], radius: float) -> None:
        self.weights, self.radius = list(weights), radius

    def backward(
        self, model: nn.Module, x: Tensor, y: Tensor, offset: float, ratio: Tensor
    ) -> None:
        g = model(x[y == 1]) - offset
        steps = torch.autograd.grad(bce(g, torch.ones_like(g)), self.weights)
        norm = torch.linalg.vector_norm(torch.cat([step.reshape(-1) for step in steps]))
        steps = [self.radius * step / (norm + 1e-12) for step in steps]
        with torch.no_grad():
            torch._foreach_add_(self.weights, steps)
        bce(model(x) - offset, y, pos_weight=ratio).backward()
        with torch.no_grad():
            torch._foreach_sub_(self.weights, steps)


def precisions(variant: Variant, task: Task, rows: Draw, k: int, seed: int) -> list[float]:
    """Train once; the average precision of each of KEEPS."""
    torch.manual_seed(seed)
    learns = torch.ones(len(rows.y), dtype=torch.bool)
    learns[torch.nonzero(rows.y == 0).reshape(-1)[::HELD_OUT]] = False
    x, y = rows.x[learns], rows.y[learns]
    inner, model = network(task), nn.Sequential()
    model.append(inner)
    if variant.power:
        model.append(ASTra(slope_max=((len(rows.y) - k) / k) ** variant.power))
    groups = parameter_groups(model, lr=RATE) if variant.power else model.parameters()
    decay = variant.decay / k if variant.per_positive else variant.decay
    optimizer = torch.optim.AdamW(groups, lr=RATE, weight_decay=decay)
    averages = [
        AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(keep), use_buffers=True)
        for keep in KEEPS[1:]
    ]
    positives = min(k, variant.positives)
    log_ratio = math.log((BATCH - positives) / positives)
    offset = variant.adjusted * log_ratio
    ratio = torch.tensor(math.exp(log_ratio - offset))
    sharp = RareSAM(list(inner.parameters()), variant.radius)
    for chosen in batches(y, seed, positives):
        optimizer.zero_grad()
        if variant.radius:
            sharp.backward(model, x[chosen], y[chosen], offset, ratio)
        else:
            bce(model(x[chosen]) - offset, y[chosen], pos_weight=ratio).backward()
        optimizer.step()
        for average in averages:
            average.update_parameters(model)
    truth = rows.y_test.numpy().astype(np.int8)
    weight = positive_weight(
        k / len(rows.y), positives=int(truth.sum()), negatives=int((truth == 0).sum())
    )
    return [
        average_precision(truth, scores(each, rows.x_test), positive_weight=weight)
        for each in (model, *averages)
    ]


def study(ks: Sequence[int], draws: Sequence[int], variants: Sequence[str]) -> None:
    """Run what the records lack, and add it to them after each problem."""
    torch.set_num_threads(1)
    rows: list[dict] = list(read_rows(RECORDS))
    done = {tuple(str(row[name]) for name in KEY) for row in rows}
    cases = [(number, k, task) for number in draws for task in TASKS for k in ks]
    for number, k, task in cases:
        missing = [v for v in variants if (task.name, str(k), str(number), v) not in done]
        data = draw(task, k, number) if missing else None
        for variant in missing:
            begin = time.process_time()
            found = precisions(VARIANTS[variant], task, data, k, number)
            case = {"problem": task.name, "k": k, "draw": number, "variant": variant}
            case["seconds"] = f"{time.process_time() - begin:.4g}"
            rows += [
                {**case, "keep": keep, "average_precision": f"{value:.4g}"}
                for keep, value in zip(KEEPS, found, strict=True)
            ]
        if missing:
            rows.sort(key=lambda row: tuple(str(row[name]) for name in (*KEY, "keep")))
            write_rows(RECORDS, COLUMNS, rows)
            print(f"draw {number}, k = {k}: {task.name}", flush=True)


def show() -> None:
    """Each variant and average beside the recipe, over the problems and draws of both."""
    found: dict[tuple[str, str, str], dict[tuple[str, str], float]] = {}
    for row in read_rows(RECORDS):
        of_case = found.setdefault((row["k"], row["variant"], row["keep"]), {})
        of_case[row["problem"], row["draw"]] = float(row["average_precision"])
    for (k, variant, keep), values in sorted(found.items()):
        base = found[k, "recipe", str(KEEP)]
        shared = sorted(set(values) & set(base))
        gaps = np.array([values[case] - base[case] for case in shared])
        p = wilcoxon(gaps).pvalue if np.any(gaps) else 1.0
        mean = np.mean([values[case] for case in shared])
        wins, losses = (gaps > 0).sum(), (gaps < 0).sum()
        print(
            f"k = {k:3} {variant:16} average {keep:4}: {mean:.3f}, {gaps.mean():+.3f} beside the "
            f"recipe, {wins} : {losses} (p = {p:.2g})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("--k", default="20,5")
    parser.add_argument("--draws", default="100,101")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    arguments = parser.parse_args()
    if arguments.what == "show":
        show()
        return
    ks, draws = (list(map(int, text.split(","))) for text in (arguments.k, arguments.draws))
    study(ks, draws, arguments.variants.split(","))


if __name__ == "__main__":
    main()
