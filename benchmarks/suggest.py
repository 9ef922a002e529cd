"""Labels needed to find ten further positives from five: `suggest` beside two usual orders.

On RareBench's open half, with the default classifier. Each round the rows that a rule chooses are
labelled and the classifier is fitted anew. Rules: `astralearn.tabular.choosing.suggested_rows`, a
random order among the top 10 % of scores, and uncertainty sampling (nearest to the cut). Where a
rule finds fewer than ten within MOST_LABELS, that number counts.

    python benchmarks/suggest.py                     # ten minutes; writes results/suggest.csv
    python benchmarks/suggest.py --problems letter-h # some problems, and nothing written

Asserts that `suggest` needs at most half of what each of the others needs, by the median of the
cases' ratios; sums of labels are printed beside it.
"""

from __future__ import annotations

import argparse
import csv
import warnings

import numpy as np

from astralearn import ASTraClassifier
from astralearn.datasets.rarebench import OPEN, load_problem
from astralearn.tabular import encoder_for
from astralearn.tabular.choosing import suggested_rows
from records import RESULTS, stamp

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
    model = ASTraClassifier(random_state=seed)
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


def encoded(X, known):
    """The rows as numbers, by what the known ones tell of the columns."""
    encoder = encoder_for(X)
    if encoder is None:
        return X
    learned = X.iloc[known] if hasattr(X, "iloc") else X[known]
    return encoder.fit(learned).transform(X)


def cases(names, draws):
    """{problem, draw, and of every rule the labels that it needs}, one after the other."""
    for name in names:
        problem = load_problem(name)
        y = np.asarray(problem.y)
        for draw in range(draws):
            known, pool = parts(y, draw)
            X = encoded(problem.X, known)
            needed = {rule: labels_needed(X, y, known, pool, RULES[rule], draw) for rule in RULES}
            yield {"problem": name, "draw": draw, **needed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--problems", help="some of them, and nothing is written")
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = list(OPEN) if options.problems is None else options.problems.split(",")
    print(f"{'problem':24}" + "".join(f"{rule:>20}" for rule in RULES))
    rows = []
    for row in cases(names, options.draws):
        rows.append(row)
        print(f"{row['problem']:24}" + "".join(f"{row[rule]:20}" for rule in RULES), flush=True)
    if options.problems is None:
        with (RESULTS / "suggest.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        stamp("suggest.csv")
    ours = np.asarray([row["suggest"] for row in rows], dtype=float)
    medians = {}
    for rule in list(RULES)[1:]:
        needed = np.asarray([row[rule] for row in rows], dtype=float)
        medians[rule] = float(np.median(needed / ours))
        print(
            f"{rule}: {medians[rule]:.2f} times as many labels by the median, "
            f"{needed.sum() / ours.sum():.2f} by the sum"
        )
    for rule, median in medians.items():
        assert median >= 2, f"{rule} needs less than twice as many labels"


if __name__ == "__main__":
    main()
