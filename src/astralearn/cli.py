"""The command line: parses, calls, prints. The verbs are modules of their own."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from astralearn import __version__, datasets
from astralearn.cli_tables import (
    DECISION_HELP,
    add_tables,
    as_decision,
    as_flags,
    given,
    like,
    names,
    print_notes,
)
from astralearn.datasets.errors import UnwritableError
from astralearn.model_file import ModelFileError
from astralearn.study import StudyError
from astralearn.study.ending import signals_as_interrupts

if TYPE_CHECKING:
    from rich.console import Console

    from astralearn.bench import Bench, PlannedBench
    from astralearn.compare import Comparison, PlannedComparison
    from astralearn.report import Table
    from astralearn.reproduce import PlannedReproduction, Reproduction

# Columns where nothing tells: winners have an asterisk there, and nothing is to be cut off.
FILE_WIDTH = 100
USAGE, WORKER_KILLED, INTERRUPTED = 2, 10, 130
EXIT_CODES: dict[type[ValueError], int] = {
    datasets.MissingFileError: 3,
    datasets.MissingColumnError: 4,
    datasets.NotTwoClassesError: 5,
    datasets.TooFewPositivesError: 6,
    datasets.UnreadableError: 7,
    datasets.UnavailableError: 8,
    StudyError: 9,
    ModelFileError: 11,
    UnwritableError: 12,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal without × must not cost the table at the end of a long run.
            stream.reconfigure(errors="replace")
    try:
        with signals_as_interrupts():
            return _main(arguments)
    except KeyboardInterrupt:
        print("\nastralearn: interrupted.", file=sys.stderr)
        return INTERRUPTED


def _main(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return USAGE
    from rich.console import Console

    try:
        width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else FILE_WIDTH
        # Data may look like markup, emoji or numbers to be coloured.
        options.command(options, Console(markup=False, emoji=False, highlight=False, width=width))
        sys.stdout.flush()
        return 0
    except ValueError as error:
        known = [code for kind, code in EXIT_CODES.items() if isinstance(error, kind)]
        return _failed(error, known[0] if known else USAGE)
    except OSError as error:
        # It is of the output: whoever else meets one says what of. Python flushes it at exit.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        if isinstance(error, BrokenPipeError):
            # The reader has gone, as `| head` does; nothing is left to say to it.
            return 1
        return _failed(OSError(f"the output cannot be written ({error})"), 1)


def _failed(error: Exception, code: int) -> int:
    print(f"astralearn: {as_flags(str(error))}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="astralearn", description="Learning from a handful of positives."
    )
    parser.add_argument("--version", action="version", version=f"astralearn {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands")

    def command(name: str, does: Callable[..., None], within: Any = commands, **texts: str) -> Any:
        added = within.add_parser(name, **texts)
        added.set_defaults(command=does)
        return added.add_argument

    says = "compare methods on your data, on the same folds, and recommend one"
    compare = command("compare", _compare, help=says)
    says = "CSV, Parquet, Excel or ARFF file, or a name from `astralearn data list`"
    compare("data", nargs="?", default=datasets.DEFAULT_PROBLEM, help=says)
    compare("--target", metavar="COLUMN", help="the column to predict (needed for a file)")
    says = "the target's positive value (default: the rarer of two)"
    compare("--positive", metavar="VALUE", help=says)
    compare("--decision", type=as_decision, metavar="AIM", default="g_mean", help=DECISION_HELP)
    says = "comma-separated: names, default, ladder, trees, rivals, all (default: default)"
    compare("--methods", metavar="LIST", type=names, default=["default"], help=says)
    says = "rows with the same value, say a card, are tested together; it is no feature"
    compare("--group", metavar="COLUMN", help=says)
    says = "a number or date: rows are tested by earlier ones; it is no feature"
    compare("--time", metavar="COLUMN", help=says)
    says = "as 90s, 5m or 1h: end then, with what is done"
    compare("--budget", type=like("90s, 5m or 1h", _seconds), metavar="TIME", help=says)
    compare("--folds", type=int, help="parts that are tested in turn (default: 5)")
    says = "as many folds as positives: each is tested once a repetition"
    compare("--leave-one-positive-out", action="store_true", help=says)
    says = "of all folds, drawn anew (default: 5, or as many as take minutes)"
    compare("--repetitions", type=int, help=says)
    says = "steps of every network (default: each method's own)"
    compare("--epochs", type=int, help=says)

    says = "redo the paper's tables and figures beside the published numbers"
    reproduce = command("reproduce", _reproduce, help=says)
    says = "the same artefacts in about a minute, with few epochs and repetitions"
    reproduce("--quick", action="store_true", help=says)
    says = "comma-separated (default: all five)"
    reproduce("--problems", metavar="LIST", type=names, help=says)
    reproduce("--starts", type=int, help="initial weights on each fold (default: 2)")

    says = "benchmark methods on RareBench: draw k positives, test on all the others"
    bench = command("bench", _bench, help=says)
    _add_bench(bench)

    for shared in (compare, reproduce, bench):
        shared("--out", metavar="DIR", help="where tables, figures and the study's file go")
        shared("--jobs", type=int, default=-1, help="processes at once (default: one per core)")
        shared("--seed", type=int, default=0, help="decides folds and fits (default: 0)")

    add_tables(command)

    data = commands.add_parser("data", help="the catalogue of problems").add_subparsers(
        title="commands", required=True
    )
    says = "one line per problem, with where its file was found"
    command("list", _data_list, data, help=says)
    fetch = command("fetch", _data_fetch, data, help="download what is not on this machine")
    fetch("names", nargs="*", metavar="NAME", help="default: all")
    return parser


def _add_bench(bench: Callable[..., Any]) -> None:
    """Add what `bench` takes, beyond what verbs share."""
    for half, says in (
        ("open", "the half of the problems that may be tuned on (default)"),
        ("sealed", "the half that is kept for reports"),
        ("all", "both halves"),
    ):
        bench(
            f"--{half}",
            dest="problems",
            action="store_const",
            const=half,
            default="open",
            help=says,
        )
    says = "comma-separated names of problems"
    bench("--problems", metavar="LIST", type=names, default=argparse.SUPPRESS, help=says)
    says = "comma-separated: names, fast, ladder, trees, rivals, entrants, all (default: fast)"
    bench("--methods", metavar="LIST", type=names, default=["fast"], help=says)
    says = "comma-separated numbers of positives to learn from (default: 5,10,20,50,100)"
    bench("--k", dest="ks", metavar="LIST", type=like("5,10,20", _numbers), help=says)
    bench("--draws", type=int, help="of the positives (default: 5)")
    says = "a third of the problems, k = 5 and 20, two draws, smaller tables"
    bench("--quick", action="store_true", help=says)
    says = "seconds that a method may take for one draw (default: 600)"
    bench("--limit", type=float, default=600.0, help=says)


def _seconds(text: str) -> float:
    """5m is 300; a number alone is seconds."""
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:])
    return float(text) if unit is None else unit * float(text[:-1])


def _numbers(listed: str) -> list[int]:
    return [int(number) for number in listed.split(",")]


def _compare(options: argparse.Namespace, console: Console) -> None:
    from astralearn.compare import plan_comparison

    arguments = "data target positive decision methods group time folds leave_one_positive_out "
    arguments += "repetitions epochs seed out budget"
    planned = plan_comparison(**given(options, arguments))
    print_notes(console, planned.notes)
    found: Comparison = _ran(planned, options, console)
    texts = found.texts()
    if options.out is None:
        _show(console, found.table, texts)
        found.forget()
    else:
        _write_and_show(found, texts, console)


def _reproduce(options: argparse.Namespace, console: Console) -> None:
    from astralearn.report import data_table
    from astralearn.reproduce import plan_reproduction

    planned = plan_reproduction(**given(options, "problems quick starts seed out"))
    _show(console, data_table(planned.plan.problems), [])
    found: Reproduction = _ran(planned, options, console)
    also = [found.tables[name] for name in ("table-2-last-epoch", "bounds")]
    _write_and_show(found, [*found.verdict, *found.sentences], console, also)


def _bench(options: argparse.Namespace, console: Console) -> None:
    from astralearn.bench import plan_bench

    if options.out is None:
        raise ValueError("a benchmark needs a folder to keep its records in: name one (`out`)")
    planned = plan_bench(**given(options, "problems methods ks draws quick limit seed out"))
    print_notes(console, planned.notes)
    found: Bench = _ran(planned, options, console)
    _write_and_show(found, [], console)


def _ran(
    planned: PlannedComparison | PlannedReproduction | PlannedBench,
    options: argparse.Namespace,
    console: Console,
) -> Any:
    """What the plan finds; after an interruption, how to go on."""
    from astralearn.report.display import shown

    try:
        folds = getattr(planned.plan, "folds", None) if options.command is _compare else None
        with shown(console, folds=folds) as progress:
            return planned.run(n_jobs=options.jobs, progress=progress)
    except KeyboardInterrupt:
        what, how, code = "interrupted", "", INTERRUPTED
    except BrokenProcessPool:
        what = "a worker process was killed, perhaps for want of memory"
        how, code = ", with --jobs 1 to need less memory,", WORKER_KILLED
    from astralearn.study import kept

    done, total = kept(planned.plan, planned.path)
    print(
        f"\nastralearn: {what}. {done} of {total} folds are kept in {planned.path}.\n"
        f"Run the same command again{how} to continue where it stopped.",
        file=sys.stderr,
    )
    raise SystemExit(code)


def _write_and_show(
    found: Comparison | Reproduction | Bench,
    texts: Sequence[str],
    console: Console,
    also: Sequence[Table] = (),
) -> None:
    """Write files, then show the tables in any case: a reader may leave early."""
    written: list[str] = []
    try:
        written.append(found.write())
    except KeyboardInterrupt:
        print(
            "\nastralearn: interrupted while files were written. "
            "Every fold is kept: run the same command again.",
            file=sys.stderr,
        )
        raise SystemExit(INTERRUPTED) from None
    finally:
        *first, last = found.table, *also
        for table in first:
            _show(console, table, [""])
        _show(console, last, [*texts, *written])


def _show(console: Console, table: Table, texts: Sequence[str]) -> None:
    from astralearn.report import to_rich

    # A dumb terminal has no bold.
    has_bold = console.is_terminal and console.color_system is not None
    console.print(to_rich(table, has_bold=has_bold, width=console.width))
    for text in texts:
        console.print(f"\n{text}", soft_wrap=True)


def _data_list(_options: argparse.Namespace, _console: Console) -> None:
    """Print one line per problem, whatever the width: readers and `grep` take lines."""
    width = max(map(len, datasets.CATALOGUE))
    print(f"{'name':{width}}  {'rows':>6} {'positives':>9} {'features':>8} {'IR':>8}  where")
    for entry in datasets.CATALOGUE.values():
        sizes = f"{entry.rows:6} {entry.positives:9} {entry.features:8}"
        print(f"{entry.name:{width}}  {sizes} {entry.imbalance_ratio:8.2f}  {entry.where()}")


def _data_fetch(options: argparse.Namespace, _console: Console) -> None:
    for name in options.names or datasets.CATALOGUE:
        path = datasets.fetch_entry(datasets.entry_named(name))
        print(f"{name}: {path or 'inside scikit-learn'}")
