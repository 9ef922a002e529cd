"""The records of `astralearn reproduce`, the tables of its page, and how long it takes.

    python benchmarks/reproduce.py keep FOLDER   keeps the records of a run in results/
    python benchmarks/reproduce.py page          writes docs/reproduction.md's tables from them
    python benchmarks/reproduce.py time          how long 1,000 networks take, from a part of them,
                                                 beside an idiomatic PyTorch loop; goes on where
                                                 results/reproduce_time.csv.gz ends

`time`: `reproduce` trains stacks of folds, one on each core. Here each problem and method trains as
many at once, for few epochs, compiled as thoroughly as if for all of them. The difference between
two numbers of epochs is the time of an epoch; what else a fit takes, compiling included, is counted
once for each stack. It is the processor's time, which a busy machine hardly changes. (All of it
needs the data: see `astralearn data list`.)
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

# benchmarks/torch.py lies beside this script; looked for last, it does not hide PyTorch.
sys.path.append(sys.path.pop(0))
import numpy as np

from astralearn import datasets
from astralearn.engine import epoch, training
from astralearn.methods import paper_ladder
from astralearn.report.reproduction import RULES, bounds_table, compared_cells, verdict
from astralearn.report.reproduction import rival_sentences as rivals_in_words
from astralearn.report.tables import Table
from astralearn.study.agreement import spread
from astralearn.study.method import Method
from astralearn.study.paper import PAPER_METHODS, PROTOCOL, TABLE_2
from astralearn.study.record import StartRecord
from astralearn.study.scores import PAPER_SCORES, by_method
from astralearn.study.splits import Split, make_splits
from astralearn.study.store import read_kind
from records import RESULTS, put, read_rows, write_rows

FILE = RESULTS / "reproduction.csv.gz"
PAGE = Path(__file__).parent.parent / "docs" / "reproduction.md"
SPEED = PAGE.with_name("speed.md")
# The fields that are kept, and their types; where single positives rank is not.
NAMES = {field.name: str(field.type) for field in fields(StartRecord) if field.name != "ranks"}
FOLDS = PROTOCOL.folds * PROTOCOL.repetitions
FEW, MORE = 100, 700  # epochs
CORES = 2
TIMES = RESULTS / "reproduce_time.csv.gz"
TIMES_COLUMNS = ("problem", "method", "ms", "beside_seconds", "torch_ms")


def keep(folder: Path) -> None:
    """Every record of the problems that the folder's study has in full, in the order of keys."""
    stored = read_kind(folder / "study.sqlite", StartRecord)
    whole = FOLDS * (PROTOCOL.starts * len(PROTOCOL.methods) + len(PROTOCOL.rivals))
    found = Counter(record.problem for record in stored)
    records = [record for record in stored if found[record.problem] == whole]
    shown = [
        {name: f"{v:.6g}" if isinstance(v, float) else v for name, v in asdict(record).items()}
        for record in records
    ]
    write_rows(FILE, [*NAMES], [{name: row[name] for name in NAMES} for row in shown])
    print(f"{len(records)} records in {FILE}")


def kept_records() -> list[StartRecord]:
    kinds: dict[str, Any] = {"int": int, "float": float, "str": str}
    return [
        StartRecord(
            **{
                name: kinds[kind.split(" ")[0]](row[name]) if row[name] or kind == "str" else None
                for name, kind in NAMES.items()
            }
        )
        for row in read_rows(FILE)
    ]


def page() -> None:
    """Put the tables where the page has marked their place."""
    records = kept_records()
    missing = [name for name in TABLE_2 if name not in {record.problem for record in records}]
    said = [*verdict(records), ""]
    if missing:
        said += [f"Not run to the end on this page: {', '.join(missing)}.", ""]
    said += [
        "Means as *paper's rule / last epoch / the paper*:",
        "",
        agreement_table(records),
        "",
        "### Cells that agree by neither",
        "",
        markdown(bounds_table(records)),
        "",
    ]
    said += ["### Starts and draws", "", spread_sentence(records), ""]
    said += ["### Rivals", "", *(f"- {sentence}" for sentence in rivals_in_words(records)), ""]
    put(PAGE, "benchmarks/reproduce.py page", "\n".join(said))


def agreement_table(records: list[StartRecord]) -> str:
    """Both rules' means, whether they agree, and the paper's: a row for each problem and score."""
    rules = [
        {(c.problem, c.score, c.method): c.found for c in compared_cells(records, rule)}
        for rule in RULES
    ]
    lines = ["| | " + " | ".join(PAPER_METHODS) + " |", "|---|" + "---:|" * len(PAPER_METHODS)]
    for problem in dict.fromkeys(key[0] for key in rules[0]):
        for score, label in PAPER_SCORES.items():
            texts = []
            for method in PAPER_METHODS:
                found = [cells[problem, score, method] for cells in rules]
                ours = [f"{one.ours.mean:.3f}{'✓' if one.agrees else '✗'}" for one in found]
                texts.append("/".join([*ours, f"{found[0].theirs.mean:.3f}"]))
            lines.append(f"| {problem} {label} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def markdown(table: Table) -> str:
    """The rows in which no rule agrees, with one cell for what names them."""
    rows = [[cell.text for cell in row] for row in table.cells()]
    short = [[f"{p} {m} {s}", *rest] for p, m, s, *rest in rows if "agrees" not in rest[-1]]
    columns = ["cell", *table.columns[3:]]
    lines = ["| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *short)]
    return "\n".join(lines)


def spread_sentence(records: list[StartRecord]) -> str:
    """The median spread over the cells, and the cell where starts move most."""
    found = {
        (problem, method): spread(rows, "g_mean")
        for problem in TABLE_2
        for method, rows in by_method(records, problem).items()
        if method in PAPER_METHODS
    }
    by_starts = max(found, key=lambda key: found[key].starts)
    starts, draws = (
        np.median([getattr(s, of) for s in found.values()]) for of in ("starts", "draws")
    )
    return (
        f"Other initial weights move the G-Mean of a fold by {starts:.2f} (median standard "
        "deviation "
        f"over cells; {found[by_starts].starts:.2f} for {' '.join(by_starts)}), another draw that "
        "of "
        f"five folds by {draws:.2f}."
    )


def seconds(problem: datasets.Problem, method: Method, splits: list[Split], epochs: int) -> float:
    model = method.estimator.set_params(starts=1, epochs=epochs, burn_in=epochs // 10)
    roles = [(s.train, s.validation, s.test) for s in splits]
    started = time.process_time()
    model.fit_many(np.asarray(problem.X, float), problem.y, roles, random_states=range(len(splits)))
    return time.process_time() - started


def measure() -> None:
    """Add the problems and methods that the file of times lacks, and say what they add up to."""
    from engine import torch_epochs

    training.LONG = epoch.LONG = 0  # compile as for many epochs
    kept: list[dict[str, Any]] = [*read_rows(TIMES)]
    done = {(row["problem"], row["method"]) for row in kept}
    for problem in map(datasets.load, PROTOCOL.problems):
        splits = make_splits(
            problem, folds=PROTOCOL.folds, repetitions=PROTOCOL.repetitions, seed=0
        )[:20]
        missing = [m for m in paper_ladder(PROTOCOL) if (problem.name, m.name) not in done]
        if not missing:
            continue
        torch_epoch = torch_epochs(
            50,
            sizes=(len(splits[0].train), len(splits[0].validation)),
            features=problem.features,
            hidden=-(-(problem.features + 1) // 2),
            clock=time.process_time,
        )
        for method in missing:
            first, few, more = (
                seconds(problem, method, splits, epochs) for epochs in (FEW, FEW, MORE)
            )
            # Compiled once, then the rest of a fit for every stack.
            beside = (first - few) + FOLDS / len(splits) * few
            row = (problem.name, method.name, (more - few) / (MORE - FEW) / len(splits) * 1e3)
            row += (beside, torch_epoch * 1e3)
            kept.append(dict(zip(TIMES_COLUMNS, row, strict=True)))
            write_rows(TIMES, TIMES_COLUMNS, kept)
            print(*row, flush=True)
    put_times()


def put_times() -> None:
    """Put how long the study takes into its page, and the loop beside it into the page on speed."""
    duration, beside = said_of_times()
    put(PAGE, "benchmarks/reproduce.py time", duration)
    put(SPEED, "benchmarks/reproduce.py time", beside)


def said_of_times() -> tuple[str, str]:
    """The projected time of the full study with one start, on two cores; and a loop beside it."""
    rows = read_rows(TIMES)
    own, beside, theirs = (
        np.mean([float(row[name]) for row in rows]) for name in ("ms", "beside_seconds", "torch_ms")
    )
    cells = len(PROTOCOL.problems) * len(PAPER_METHODS)
    steps = FOLDS * cells * PROTOCOL.epochs
    minutes = (own / 1e3 * steps + beside * cells) / CORES / 60
    of_all = "" if len(rows) == cells else f", from {len(rows)} of {cells} problems and methods"
    return (
        f"One start on every fold, {FOLDS * cells:,} networks × {PROTOCOL.epochs:,} epochs, takes "
        f"about {minutes:.0f} minutes of {CORES} cores.",
        f"An epoch of one network takes {own:.3f} ms of a core on average{of_all}, and "
        f"{theirs:.1f} ms in the PyTorch loop: {theirs / own:.0f} times as much.",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["keep", "page", "time"])
    parser.add_argument("folder", type=Path, nargs="?")
    options = parser.parse_args()
    if options.command == "keep":
        keep(options.folder)
    else:
        {"page": page, "time": measure}[options.command]()
