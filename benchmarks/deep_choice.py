"""Variants of the recipe for a rare class, on a part of the problems of deep.py and other draws.

    python benchmarks/deep_choice.py run [--k 20,5] [--draws 100,101] [--variants "…;…"]
    python benchmarks/deep_choice.py show          # every variant
    python benchmarks/deep_choice.py page          # those in ON_PAGE, into docs/deep_results.md

Every result is added to results/deep_choice.csv.gz. One training is scored with several averages
of its weights. deep.py's tables have draws below 100, so what is chosen here is not chosen on them.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import wilcoxon
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from astralearn.torch import ASTra, decide, parameter_groups
from deep import SCORES, judge, sign
from deep_methods import BATCH, EVEN, HELD_OUT, POSITIVES, RATE, Judged, batches, scores
from deep_tasks import Draw, Task, draw, network
from records import RESULTS, put, read_rows, write_rows

RECORDS = RESULTS / "deep_choice.csv.gz"
PAGE = Path(__file__).parents[1] / "docs" / "deep_results.md"
COLUMNS = ["problem", "k", "draw", "variant", "keep", "average_precision", "g_mean", "seconds"]
KEY = ("problem", "k", "draw", "variant")
TASKS = [
    Task("penbased", 1, "mlp"),
    Task("digits", 8, "cnn"),
    Task("signal", 1, "cnn1d"),
    *(Task("fashion", rare, "cnn") for rare in (2, 3, 7)),
]
KEEPS = (0.0, 0.9, 0.95, 0.98)  # 0 is the last step's weights
BASE = "adjusted, decay 1", "0.0"  # from which most differ in one thing


@dataclass(frozen=True)
class Variant:
    """A way to train.

    adjusted: 0 is the mean of both classes' cross-entropies, 1 cross-entropy of logits less the
        logarithm of the batch's class ratio (logit adjustment), between them a mixture.
    power: of the class ratio, at which the slope starts and which it stays below; 0 is no warp.
    decay: AdamW's weight decay.
    positives: in a batch of BATCH, at most as many as there are but where they are repeated.
    noise: its deviation, added to inputs, which have a deviation of 1.
    mixed: how far at most an input is moved towards another positive ("positive") or towards a
        negative of the batch ("negative"), if it is a positive.
    left_out: every so many-th negative is left out, to decide on; 0 leaves out none.
    radius: of sharpness-aware steps by the positives' gradient; 0 takes plain ones.
    """

    adjusted: float = 1.0
    power: float = 0.25
    decay: float = 1.0
    positives: int = POSITIVES
    noise: float = 0.0
    mixed: tuple[str, float] | None = None
    left_out: int = HELD_OUT
    radius: float = 0.0


VARIANTS = {
    "balanced, decay 1": Variant(adjusted=0.0),
    "half adjusted, decay 1": Variant(adjusted=0.5),
    "adjusted, decay 1": Variant(),
    "adjusted, decay 0.1": Variant(decay=0.1),
    "adjusted, decay 0.01": Variant(decay=0.01),
    "adjusted, decay 3": Variant(decay=3.0),
    "adjusted, decay 0.3": Variant(decay=0.3),
    "adjusted, decay 0.3, slope ^3/8": Variant(decay=0.3, power=0.375),
    "adjusted, decay 0.3, slope ^1/2": Variant(decay=0.3, power=0.5),
    "adjusted, decay 0.03": Variant(decay=0.03),
    "adjusted, no decay": Variant(decay=0.0),
    "adjusted, decay 0.3, slope ^1/8": Variant(decay=0.3, power=0.125),
    "adjusted, decay 0.3, no warp": Variant(decay=0.3, power=0.0),
    "adjusted, decay 0.3, all learn": Variant(decay=0.3, left_out=0),
    "adjusted, decay 0.1, all learn": Variant(decay=0.1, left_out=0),
    "adjusted, decay 0.3, a tenth left out": Variant(decay=0.3, left_out=10),
    "adjusted, decay 0.1, a tenth left out": Variant(decay=0.1, left_out=10),
    "adjusted, decay 1, slope ^1/8": Variant(power=0.125),
    "adjusted, decay 1, slope ^3/8": Variant(power=0.375),
    "adjusted, decay 1, slope ^1/2": Variant(power=0.5),
    "adjusted, decay 1, no warp": Variant(power=0.0),
    "adjusted, decay 0.1, no warp": Variant(power=0.0, decay=0.1),
    "adjusted, decay 1, 8 positives": Variant(positives=8),
    "adjusted, decay 1, 16 positives": Variant(positives=16),
    "adjusted, decay 1, 32 positives": Variant(positives=EVEN),
    "adjusted, decay 1, all learn": Variant(left_out=0),
    "adjusted, decay 1, a tenth left out": Variant(left_out=10),
    "adjusted, decay 1, noise 0.1": Variant(noise=0.1),
    "adjusted, decay 1, noise 0.3": Variant(noise=0.3),
    "adjusted, decay 1, between positives": Variant(mixed=("positive", 0.5)),
    "adjusted, decay 1, towards negatives": Variant(mixed=("negative", 0.3)),
    "adjusted, decay 1, SAM 0.02": Variant(radius=0.02),
    "adjusted, decay 1, SAM 0.1": Variant(radius=0.1),
    "rival: oversampling": Variant(power=0.0, decay=0.0, positives=EVEN, left_out=0),
    "rival: logit adjustment": Variant(power=0.0, decay=0.0, left_out=0),
}
# What the recipe has, changed one part at a time.
ON_PAGE = (
    "adjusted, decay 1",
    "balanced, decay 1",
    "half adjusted, decay 1",
    "adjusted, decay 3",
    "adjusted, decay 0.3",
    "adjusted, decay 0.1",
    "adjusted, decay 0.03",
    "adjusted, decay 0.01",
    "adjusted, no decay",
    "adjusted, decay 1, no warp",
    "adjusted, decay 1, slope ^1/8",
    "adjusted, decay 1, slope ^3/8",
    "adjusted, decay 1, slope ^1/2",
    "adjusted, decay 1, 8 positives",
    "adjusted, decay 1, 16 positives",
    "adjusted, decay 1, 32 positives",
    "adjusted, decay 1, all learn",
    "adjusted, decay 1, SAM 0.02",
    "adjusted, decay 1, SAM 0.1",
    "rival: logit adjustment",
    "rival: oversampling",
)


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


def varied(x: Tensor, y: Tensor, variant: Variant) -> Tensor:
    """The inputs of a batch, moved as the variant says."""
    if variant.mixed:
        (rare,) = torch.nonzero(y == 1, as_tuple=True)
        towards, most = variant.mixed
        others = rare if towards == "positive" else torch.nonzero(y == 0).reshape(-1)
        other = others[torch.randint(len(others), (len(rare),))]
        share = most * torch.rand(len(rare), *[1] * (x.ndim - 1))
        x = x.index_copy(0, rare, torch.lerp(x[rare], x[other], share))
    return x + variant.noise * torch.randn_like(x) if variant.noise else x


def judged(
    variant: Variant, task: Task, rows: Draw, k: int, seed: int
) -> Iterator[dict[str, float]]:
    """Train once; the scores of each of KEEPS."""
    torch.manual_seed(seed)
    left_out = torch.nonzero(rows.y == 0).reshape(-1)[:: variant.left_out or HELD_OUT]
    learns = torch.ones(len(rows.y), dtype=torch.bool)
    learns[left_out] = not variant.left_out
    x, y = rows.x[learns], rows.y[learns]
    inner, model = network(task), nn.Sequential()
    model.append(inner)
    if variant.power:
        model.append(ASTra(slope_max=((len(rows.y) - k) / k) ** variant.power))
    groups = parameter_groups(model, lr=RATE) if variant.power else model.parameters()
    optimizer = torch.optim.AdamW(groups, lr=RATE, weight_decay=variant.decay)
    averages = [
        AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(keep), use_buffers=True)
        for keep in KEEPS[1:]
    ]
    log_ratio = math.log((BATCH - variant.positives) / variant.positives)
    offset = variant.adjusted * log_ratio
    ratio = torch.tensor(math.exp(log_ratio - offset))
    sharp = RareSAM(list(inner.parameters()), variant.radius)
    for chosen in batches(y, seed, variant.positives):
        optimizer.zero_grad()
        of_batch = varied(x[chosen], y[chosen], variant), y[chosen]
        if variant.radius:
            sharp.backward(model, *of_batch, offset, ratio)
        else:
            bce(model(of_batch[0]) - offset, of_batch[1], pos_weight=ratio).backward()
        optimizer.step()
        for average in averages:
            average.update_parameters(model)
    rare = rows.y == 1
    deciding = [(rows.x[left_out], rows.y[left_out]), (rows.x[rare], rows.y[rare])]
    for each in (model, *averages):
        cut = decide(each, deciding, "g_mean", seen=True, prior=k / len(rows.y))
        yield judge(Judged(scores(each, rows.x_test), cut.score), rows, k)


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
            found = list(judged(VARIANTS[variant], task, data, k, number))
            case = {"problem": task.name, "k": k, "draw": number, "variant": variant}
            case["seconds"] = f"{time.process_time() - begin:.4g}"
            rows += [
                {**case, "keep": keep, **{score: f"{of_keep[score]:.4g}" for score in SCORES}}
                for keep, of_keep in zip(KEEPS, found, strict=True)
            ]
        if missing:
            rows.sort(key=lambda row: tuple(str(row[name]) for name in (*KEY, "keep")))
            write_rows(RECORDS, COLUMNS, rows)
            print(f"draw {number}, k = {k}: {task.name}", flush=True)


def table(variants: Sequence[tuple[str, str]]) -> str:
    """Variants, each with what it keeps of the weights, beside BASE over the problems and draws."""
    found: dict[tuple[str, str, str], dict[tuple[str, str], float]] = {}
    for row in read_rows(RECORDS):
        of_case = found.setdefault((row["variant"], row["keep"], row["k"]), {})
        of_case[row["problem"], row["draw"]] = float(row["average_precision"])
    ks = sorted({k for *_, k in found}, key=int)
    lines = ["| average precision beside the first row | " + " | ".join(f"k = {k}" for k in ks)]
    lines = [lines[0] + " |", "| --- |" + " ---: |" * len(ks)]
    recorded = {(variant, keep) for variant, keep, _ in found}
    for variant, keep in sorted(variants, key=lambda each: each != BASE):
        if (variant, keep) not in recorded:
            continue
        cells = []
        for k in ks:
            values, base = found.get((variant, keep, k), {}), found[*BASE, k]
            gaps = np.array([values[case] - base[case] for case in sorted(set(values) & set(base))])
            wins, losses = (gaps > 0).sum(), (gaps < 0).sum()
            if (variant, keep) == BASE:
                cells.append(f"{np.mean(list(base.values())):.3f}")
            elif not len(gaps):
                cells.append("–")
            else:
                p = wilcoxon(gaps).pvalue if np.any(gaps) else 1.0
                cells.append(f"{gaps.mean():+.3f}, {wins} : {losses}{sign(gaps.mean(), p)}")
        name = variant if keep == BASE[1] else f"{variant}, average of weights at {keep}"
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "show", "page"))
    parser.add_argument("--k", default="20,5")
    parser.add_argument("--draws", default="100,101")
    parser.add_argument("--variants", default=";".join(VARIANTS))
    arguments = parser.parse_args()
    if arguments.what == "show":
        averages = [(BASE[0], str(keep)) for keep in KEEPS[1:]]
        print(table([*((variant, BASE[1]) for variant in VARIANTS), *averages]))
        return
    if arguments.what == "page":
        put(PAGE, "benchmarks/deep_choice.py page", table([(v, BASE[1]) for v in ON_PAGE]))
        return
    ks, draws = (list(map(int, text.split(","))) for text in (arguments.k, arguments.draws))
    study(ks, draws, arguments.variants.split(";"))


if __name__ == "__main__":
    main()
