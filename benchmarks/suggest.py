"""Labels needed to find ten further positives from five: `suggest` beside two usual orders.

On RareBench's open half, with the default classifier. Each round the rows that a rule chooses are
labelled and the classifier is fitted anew. Rules: `astralearn.tabular.choosing.suggested_rows`, a
random order among the top 10 % of scores, and uncertainty sampling (nearest to the cut). Where a
rule finds fewer than ten within MOST_LABELS, that number counts.

    python benchmarks/suggest.py                     # ten minutes; writes results/suggest.csv
    python benchmarks/suggest.py --problems letter-h # some problems, and nothing written
    python benchmarks/suggest.py --page              # what was found, into docs/decisions.md

Asserts that `suggest` needs at most half of what each of the others needs, by the median of the
cases' ratios; sums of labels are printed beside it.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

from astralearn import ASTraClassifier
from astralearn.datasets.rarebench import OPEN, load_problem
from astralearn.tabular import encoder_for
from astralearn.tabular.choosing import suggested_rows
from records import RESULTS, put, stamp

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


def ratios(rows, rule):
    """Labels that a rule needs, as multiples of what `suggest` does: (median, of the sums)."""
    ours, needed = (
        np.asarray([row[name] for row in rows], dtype=float) for name in ("suggest", rule)
    )
    return float(np.median(needed / ours)), float(needed.sum() / ours.sum())


def said(rows):
    """What the records say, for a page."""
    chance, uncertainty = (ratios(rows, rule) for rule in list(RULES)[1:])
    nobody = sum(all(row[rule] >= MOST_LABELS for rule in RULES) for row in rows)
    quicker = sum(row["random of top 10 %"] < row["suggest"] for row in rows)
    return (
        f"From {KNOWN} known positives to {WANTED} more, on {len(rows)} problems, RareBench's "
        f"open half: a random order among the top 10 % of scores needs {chance[0]:.1f} times the "
        f"labels that `suggest` needs, by the median of the problems ({chance[1]:.1f} times by the "
        f"sum), and uncertainty sampling {uncertainty[0]:.0f} times ({uncertainty[1]:.1f}). On "
        f"{nobody} problems no rule found {WANTED} within {MOST_LABELS} labels; on {quicker} the "
        "random order was quicker. "
        "[Records](../benchmarks/results/suggest.csv)."
    )


def write_page():
    """Put what the records say into docs/decisions.md."""
    with (RESULTS / "suggest.csv").open(newline="", encoding="utf-8") as file:
        rows = [
            {name: value if name == "problem" else int(value) for name, value in row.items()}
            for row in csv.DictReader(file)
        ]
    page = Path(__file__).parent.parent / "docs" / "decisions.md"
    put(page, "benchmarks/suggest.py page", said(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--problems", help="some of them, and nothing is written")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="only write what was found")
    options = parser.parse_args()
    if options.page:
        write_page()
        return
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
        write_page()
    for rule in list(RULES)[1:]:
        median, of_sums = ratios(rows, rule)
        print(f"{rule}: {median:.2f} times as many labels by the median, {of_sums:.2f} by the sum")
        assert median >= 2, f"{rule} needs less than twice as many labels"


if __name__ == "__main__":
    main()
