"""Two trees of the source side by side: what a change costs where speed counts.

    git worktree add /tmp/before <commit>
    python benchmarks/before_after.py --before /tmp/before/src [engine torch core boosting]

Each tree runs in a process of its own, on one core. Both take every case in turn, so that whatever
else the machine does falls on both, and are timed in the processor time that they use. A ratio is
that of the least times over all turns. Cases call the public names alone, which both trees have.
The table goes to `--out`, if one is given. results/core_before_after.csv is one run: the rebuilt
core beside commit f77abd1.
"""

from __future__ import annotations

import sys
from pathlib import Path

# ruff: noqa: E402
# benchmarks/torch.py lies beside this script, where Python looks first: without this line it would
# be imported in place of PyTorch.
sys.path[:] = [
    entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent
]

import argparse
import csv
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from io import StringIO

import numpy as np

N = 1_000_000
Case = tuple[str, Callable[[], float]]

FIRST_FIT = """
import time, numpy as np
from astralearn import ASTraClassifier
import astralearn.engine.training
rng = np.random.default_rng(0)
X = rng.standard_normal((12_020, 3), dtype=np.float32)
y = np.arange(12_020) < 20
X[y] += 2
start = time.process_time()
ASTraClassifier.paper({loss!r}, epochs=2000, n_estimators=4, random_state=0).fit(X, y)
print(time.process_time() - start)
"""


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def engine() -> Iterator[Case]:
    """(a) epochs of networks with validation rows, compiled before; (b) a process's first fit."""
    from astralearn import ASTraClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((16_027, 3), dtype=np.float32)
    y = np.arange(len(X)) < 27
    X[y] += 2
    for loss in ("bce", "gmn", "root_gmn", "mcc"):
        model = ASTraClassifier.paper(loss, epochs=5000, n_estimators=2, random_state=0)
        yield f"(a) 5,000 epochs, {loss}", lambda model=model: seconds(lambda: model.fit(X, y))
    for loss in ("bce", "root_gmn"):
        code = [sys.executable, "-c", FIRST_FIT.format(loss=loss)]
        yield (
            f"(b) first fit, 2,000 epochs, {loss}",
            lambda code=code: float(subprocess.check_output(code, text=True)),
        )


def torch() -> Iterator[Case]:
    """Forward and backward at 1e6 logits, as benchmarks/torch.py has it."""
    import torch
    from torch import nn

    from astralearn.torch import ASTra, BCELoss, F1Loss, GMNLoss, MCCLoss, RootGMNLoss

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.empty(8 * N)  # freed memory that the allocator keeps, as after a model's forward pass
    x, y = torch.randn(N, requires_grad=True), (torch.rand(N) < 0.01).float()
    layer = ASTra()
    losses = (nn.BCEWithLogitsLoss, BCELoss, GMNLoss, RootGMNLoss, F1Loss, MCCLoss)
    for behind in (None, layer):
        for make in losses:
            loss = make()
            step = loss if behind is None else lambda a, t, loss=loss: loss(layer(a), t)
            name = make.__name__ if behind is None else f"ASTra + {make.__name__}"
            for ending, run in (("", step), (", compiled", torch.compile(step, fullgraph=True))):

                def backward(run: Callable[..., torch.Tensor] = run) -> float:
                    x.grad = layer.raw_slope.grad = None
                    return seconds(lambda: run(x, y).backward())

                yield f"{name}{ending}", backward


def core() -> Iterator[Case]:
    """The core's functions at 1e6 logits in float32, as benchmarks/core.py has it."""
    import jax
    import jax.numpy as jnp

    from astralearn import core

    rng = np.random.default_rng(0)
    x = rng.normal(0, 2, N).astype(np.float32)
    y = (rng.uniform(size=N) < 0.001).astype(np.float32)
    b = np.float32(7.396)

    def warped(x: object, y: object, xp: object) -> object:
        g = core.rebalanced_logit(x, b, xp=xp)
        pull = core.rebalanced_logit_dx(x, b, xp=xp) * core.bce_gradient(g, y, xp=xp)
        return core.bce_loss(g, y, xp=xp), pull

    functions = {
        "warp + BCE": warped,
        "rebalanced_logit": lambda x, _, xp: core.rebalanced_logit(x, b, xp=xp),
        "rebalanced_logit_dx": lambda x, _, xp: core.rebalanced_logit_dx(x, b, xp=xp),
        **{
            f"{name}_{part}": lambda x, y, xp, name=name, part=part: getattr(
                core, f"{name}_{part}"
            )(x, y, xp=xp)
            for name in ("bce", "gmn", "root_gmn", "f1", "mcc")
            for part in ("loss", "gradient")
        },
    }
    x_jax, y_jax = jnp.asarray(x), jnp.asarray(y)
    for name, function in functions.items():
        compiled = jax.jit(lambda x, y, function=function: function(x, y, jnp))
        yield f"{name}, NumPy", lambda f=function: seconds(lambda: f(x, y, np))
        yield (
            f"{name}, JAX",
            lambda f=compiled: seconds(lambda: jax.block_until_ready(f(x_jax, y_jax))),
        )


def boosting() -> Iterator[Case]:
    """One round of an objective at 1e6 rows (JAX) and at 1e5 (NumPy)."""
    from astralearn.boosting import ASTraObjective, ConfusionObjective

    objectives = {
        "ASTra (BCE)": lambda: ASTraObjective(n_threads=1),
        "GMN": lambda: ConfusionObjective("gmn", n_threads=1),
        "GMN-ASTra": lambda: ConfusionObjective("gmn", activation="astra", n_threads=1),
    }
    rng = np.random.default_rng(0)
    x = rng.normal(-3, 2, N).astype(np.float32)
    y = (rng.uniform(size=N) < 0.01).astype(np.float32)
    for name, make in objectives.items():
        for rows in (N, N // 10):

            def rounds(make: Callable[[], object] = make, rows: int = rows) -> float:
                objective = make()
                objective(y[:rows], x[:rows])
                return seconds(lambda: [objective(y[:rows], x[:rows]) for _ in range(5)])

            yield f"{name}, {rows:,} rows, 5 rounds", rounds


GROUPS = {"engine": engine, "torch": torch, "core": core, "boosting": boosting}
TURNS = {"engine": 5, "torch": 40, "core": 15, "boosting": 15}


def serve(group: str, wanted: str) -> None:
    """Answer each name of a case with the seconds that it took."""
    cases = {name: run for name, run in GROUPS[group]() if re.search(wanted, name)}
    print("\n".join(cases), "", sep="\n", flush=True)
    for line in sys.stdin:
        print(cases[line.rstrip("\n")](), flush=True)


def started(source: str, group: str, wanted: str) -> subprocess.Popen[str]:
    """A process that serves a group's wanted cases from a tree of the source."""
    environment = {
        **os.environ,
        "PYTHONPATH": source,
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, __file__, "--serve", group, "--cases", wanted]
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def asked(server: subprocess.Popen[str], case: str) -> float:
    print(case, file=server.stdin, flush=True)
    assert server.stdout is not None
    return float(server.stdout.readline())


def compared(
    group: str, wanted: str, sources: list[str], turns: int
) -> Iterator[tuple[str, float, float]]:
    """Each wanted case's least seconds in both trees."""
    servers = [started(source, group, wanted) for source in sources]
    # Each lists its cases and ends the list with an empty line.
    names = [
        list(iter(lambda s=server: s.stdout.readline().rstrip("\n"), "")) for server in servers
    ]
    assert names[0] == names[1], "both trees have the same cases"
    for case in names[0]:
        for server in servers:
            asked(server, case)  # compiles, and touches memory
        taken = [[asked(server, case) for server in servers] for _ in range(turns)]
        before, after = np.min(taken, axis=0)
        yield case, float(before), float(after)
    for server in servers:
        server.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("groups", nargs="*", metavar="|".join(GROUPS))
    parser.add_argument("--before", help="the src/ of the tree to compare with")
    parser.add_argument("--after", default=str(Path(__file__).resolve().parent.parent / "src"))
    parser.add_argument("--out", type=Path, help="a CSV file for the table")
    parser.add_argument("--turns", type=int)
    parser.add_argument("--cases", default="", help="only those that this pattern is found in")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if given.serve:
        return serve(given.serve, given.cases)
    with given.out.open("w", newline="") if given.out else nullcontext() as file:
        writer = csv.writer(file or StringIO(), lineterminator="\n")
        writer.writerow(("group", "case", "seconds_before", "seconds_after", "ratio"))
        for group in given.groups or GROUPS:
            turns = given.turns or TURNS[group]
            sources = [given.before, given.after]
            for case, before, after in compared(group, given.cases, sources, turns):
                ratio = after / before
                print(f"{group:9} {case:44} {before:9.4f} {after:9.4f} {ratio:6.3f}", flush=True)
                writer.writerow((group, case, f"{before:.5f}", f"{after:.5f}", f"{ratio:.3f}"))
    return None


if __name__ == "__main__":
    main()
