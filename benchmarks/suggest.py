"""Labels needed to find ten further positives from five: `suggest` beside two usual orders.

On RareBench's open half. Each round the rows that a rule chooses are labelled and the model is
fitted anew. Rules: `astralearn.tabular.choosing.suggested_rows`, a random order among the top 10 %
of scores, and uncertainty sampling (nearest to the cut). Where a rule finds fewer than ten within
MOST_LABELS, that number counts.

    python benchmarks/suggest.py [--problems letter-h,…] [--out benchmarks/results/suggest.csv]

Asserts that `suggest` needs at most half of what each of the others needs, by the median of the
problems' ratios.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

from astralearn import ASTraClassifier
from astralearn.datasets.rarebench import OPEN, load_problem
from astralearn.tabular import encoder_for
from astralearn.tabular.choosing import suggested_rows

KNOWN, WANTED = 5, 10
NEGATIVES_KNOWN, POOL_NEGATIVES, POOL_POSITIVES = 1000, 10_000, 30
BATCHES = [10, 10, 10, 10, 20, 20, 40, 40, 80, 160, 240]
MOST_LABELS = sum(BATCHES)


def by_chance_among_the_top(score, n, random):
    top = np.argsort(-score, kind="stable")[: max(n, len(score) // 10)]
    return random.permutation(top)[:n]


def by_uncertainty(score, n, _):
    return np.argsort(np.abs(score), kind="stable")[:n]


def by_suggestion(score, n, _):
    return suggested_rows(score, n)


RULES = {
    "suggest": by_suggestion,
    "random of top 10 %": by_chance_among_the_top,
    "uncertainty": by_uncertainty,
}


def labels_needed(X, y, known, pool, rule, seed):
    """How many rows of the pool are labelled until WANTED positives are found."""
    random = np.random.default_rng(seed)
    labelled, found = 0, 0
    model = ASTraClassifier(committee=False, epochs=200, n_estimators=2, random_state=seed)
    for batch in BATCHES:
        model.fit(X[known], y[known])
        score = model.decision_function(X[pool])
        chosen = rule(score, min(batch, len(pool)), random)
        hits = np.cumsum(y[pool[chosen]])
        if found + hits[-1] >= WANTED:
            return labelled + int(np.searchsorted(hits, WANTED - found)) + 1
        found, labelled = found + int(hits[-1]), labelled + len(chosen)
        known = np.concatenate([known, pool[chosen]])
        pool = np.delete(pool, chosen)
        if len(pool) == 0:
            break
    return MOST_LABELS


def parts(y, seed):
    """Row numbers that are known, and the pool."""
    random = np.random.default_rng(seed)
    positives = random.permutation(np.flatnonzero(y == 1))
    negatives = random.permutation(np.flatnonzero(y == 0))
    negatives = negatives[: NEGATIVES_KNOWN + POOL_NEGATIVES]
    learned = min(NEGATIVES_KNOWN, len(negatives) // 3)
    known = np.concatenate([positives[:KNOWN], negatives[:learned]])
    pool = np.concatenate([positives[KNOWN : KNOWN + POOL_POSITIVES], negatives[learned:]])
    return known, random.permutation(pool)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default=",".join(OPEN))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where the table goes, as CSV")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ratios = {name: [] for name in RULES}
    lines = [",".join(["problem", *RULES])]
    print(f"{'problem':24}" + "".join(f"{name:>20}" for name in RULES))
    for name in options.problems.split(","):
        problem = load_problem(name)
        y = np.asarray(problem.y)
        if y.sum() < KNOWN + WANTED:
            continue
        for seed in range(options.seeds):
            known, pool = parts(y, seed)
            encoder = encoder_for(problem.X)
            if encoder is None:
                X = problem.X
            else:
                learned = problem.X.iloc if hasattr(problem.X, "iloc") else problem.X
                X = encoder.fit(learned[known]).transform(problem.X)
            needed = {rule: labels_needed(X, y, known, pool, RULES[rule], seed) for rule in RULES}
            print(f"{name:24}" + "".join(f"{needed[rule]:20}" for rule in RULES), flush=True)
            lines.append(",".join([name, *(str(needed[rule]) for rule in RULES)]))
            for rule in RULES:
                ratios[rule].append(needed[rule] / needed["suggest"])
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    medians = {rule: float(np.median(of_rule)) for rule, of_rule in ratios.items()}
    means = {rule: float(np.exp(np.mean(np.log(of)))) for rule, of in ratios.items()}
    for rule in RULES:
        print(f"{rule}: {medians[rule]:.2f} times as many by the median, {means[rule]:.2f} by mean")
    for rule in list(RULES)[1:]:
        assert medians[rule] >= 2, f"{rule} needs less than twice as many labels"


if __name__ == "__main__":
    main()
