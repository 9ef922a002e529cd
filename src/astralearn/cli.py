"""The command line: `astralearn compare`, `astralearn reproduce`, `astralearn data`. Parses, calls, prints."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from astralearn import __version__
from astralearn.datasets import (
    CATALOGUE,
    DEFAULT_PROBLEM,
    DataError,
    MissingColumnError,
    MissingFileError,
    NotTwoClassesError,
    Problem,
    TooFewPositivesError,
    UnavailableError,
    UnreadableError,
    cache_folder,
    entry_named,
    fetch_entry,
    load,
    problem_from_frame,
    read_table,
)

if TYPE_CHECKING:
    from rich.console import Console

    from astralearn.report import Table
    from astralearn.study import Plan, Record

# Arguments whose option has another name.
FLAGS = {"n_jobs": "jobs", "path": "out"}
STUDY_FILE = "study.sqlite"
DEFAULT_FOLDS = 5
FILE_WIDTH = (
    100  # columns where nothing tells: winners have an asterisk there, and nothing is to be cut off
)
USAGE, STUDY, WORKER_KILLED, INTERRUPTED = 2, 9, 10, 130
EXIT_CODES: dict[type[DataError], int] = {
    MissingFileError: 3,
    MissingColumnError: 4,
    NotTwoClassesError: 5,
    TooFewPositivesError: 6,
    UnreadableError: 7,
    UnavailableError: 8,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                errors="replace"
            )  # a terminal without × must not cost the table at the end of a long run
    try:
        with _ended_as_interrupted():
            return _main(arguments)
    except KeyboardInterrupt:
        print("\nastralearn: interrupted.", file=sys.stderr)
        return INTERRUPTED


@contextmanager
def _ended_as_interrupted() -> Iterator[None]:
    """SIGTERM and SIGHUP end the program as Ctrl-C does: their default leaves the workers behind. What `nohup` ignores stays ignored."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    is_ours = (
        threading.current_thread() is threading.main_thread()
    )  # signals are handled there alone
    numbers = [
        number
        for name in names
        if is_ours and signal.getsignal(number := getattr(signal, name)) is signal.SIG_DFL
    ]
    for number in numbers:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, _frame: object) -> None:
    signal.signal(
        number, signal.SIG_DFL
    )  # a library's callback may swallow what is raised here: the next one ends the program
    raise KeyboardInterrupt


def _main(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return USAGE
    from rich.console import Console

    try:
        width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else FILE_WIDTH
        console = Console(
            markup=False, emoji=False, highlight=False, width=width
        )  # data may look like any of them
        code = int(options.command(options, console))
        sys.stdout.flush()
        return code
    except ValueError as error:
        return _failed(error, _code(error))
    except OSError as error:  # of the output: whoever else meets one says what of
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - Python flushes it at exit
        if isinstance(
            error, BrokenPipeError
        ):  # the reader has gone, as `| head` does; nothing is left to say to it
            return 1
        return _failed(OSError(f"the output cannot be written ({error})"), 1)


def _code(error: ValueError) -> int:
    from astralearn.study import StudyError

    if isinstance(error, StudyError):
        return STUDY
    return EXIT_CODES.get(type(error), 1) if isinstance(error, DataError) else USAGE


def _failed(error: Exception, code: int) -> int:
    print(f"astralearn: {_as_flags(str(error))}", file=sys.stderr)
    return code


def _as_flags(message: str) -> str:
    """What a message says of arguments, in backticks, as the command line spells it."""

    def flag(found: re.Match[str]) -> str:
        name = FLAGS.get(found[1], found[1].replace("_", "-"))
        return f"--{name} {found[2]}" if found[2] else f"--{name}"

    return re.sub(r"`(\w+)(?:=([^`]+))?`", flag, message)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="astralearn", description="Learning from a handful of positives."
    )
    parser.add_argument("--version", action="version", version=f"astralearn {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands")

    compare = commands.add_parser(
        "compare", help="compare methods on your data, on the same folds, and recommend one"
    )
    compare.add_argument(
        "data",
        nargs="?",
        default=DEFAULT_PROBLEM,
        help="CSV, Parquet or ARFF file, or a name from `astralearn data list`",
    )
    compare.add_argument(
        "--target", metavar="COLUMN", help="the column to predict (needed for a file)"
    )
    compare.add_argument(
        "--positive",
        metavar="VALUE",
        help="the target's positive value (default: the rarer of two)",
    )
    compare.add_argument(
        "--methods",
        metavar="LIST",
        default="all",
        help="comma-separated: names, ladder, trees, rivals, all (default: all)",
    )
    folds = compare.add_mutually_exclusive_group()
    folds.add_argument("--folds", type=int, help="parts that are tested in turn (default: 5)")
    folds.add_argument(
        "--leave-one-positive-out",
        action="store_true",
        help="as many folds as positives: each is tested once a repetition",
    )
    compare.add_argument(
        "--repetitions", type=int, default=5, help="of all folds, drawn anew (default: 5)"
    )
    compare.add_argument(
        "--epochs",
        type=int,
        help="of the networks (default: 500 for ASTraClassifier, 1,000 for the others)",
    )
    _shared(compare)
    compare.set_defaults(command=_compare)

    reproduce = commands.add_parser(
        "reproduce", help="redo the paper's tables and figures beside the published numbers"
    )
    reproduce.add_argument(
        "--quick",
        action="store_true",
        help="the same artefacts in about a minute, with few epochs and repetitions",
    )
    reproduce.add_argument("--problems", metavar="LIST", help="comma-separated (default: all five)")
    _shared(reproduce)
    reproduce.set_defaults(command=_reproduce)

    data = commands.add_parser("data", help="the catalogue of problems").add_subparsers(
        title="commands", required=True
    )
    listed = data.add_parser("list", help="one line per problem, with where its file was found")
    listed.set_defaults(command=_data_list)
    fetched = data.add_parser("fetch", help="download what is not on this machine")
    fetched.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    fetched.set_defaults(command=_data_fetch)
    return parser


def _shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where tables, figures and the study's file go"
    )
    parser.add_argument(
        "--jobs", type=int, default=-1, help="processes at once (default: one per core)"
    )
    parser.add_argument("--seed", type=int, default=0, help="decides folds and fits (default: 0)")


def _check(options: argparse.Namespace) -> None:
    if options.seed < 0:
        raise ValueError(f"--seed must be at least 0; found {options.seed}")
    if options.jobs == 0:
        raise ValueError("--jobs must be at least 1, or -1 for one per core; found 0")


def _compare(options: argparse.Namespace, console: Console) -> int:
    from astralearn.methods import METHOD_NAMES, choose
    from astralearn.report import comparison_table, one_line
    from astralearn.report.artefacts import write_everything
    from astralearn.study import Plan, by_method, every_method, recommend
    from astralearn.study.store import delete
    from astralearn.tabular.encoder import described

    _check(options)
    for name, value, least in (
        ("--epochs", options.epochs, 1),
        ("--repetitions", options.repetitions, 1),
        ("--folds", options.folds, 2),
    ):
        if value is not None and value < least:
            raise ValueError(f"{name} must be at least {least}; found {value}")
    problem = _problem(options)
    folds = DEFAULT_FOLDS if options.folds is None else options.folds
    if options.leave_one_positive_out:
        folds = max(
            problem.positives, 2
        )  # with one positive alone, two folds are what is said to be too many
    methods, absent = choose(_names(options.methods), epochs=options.epochs)
    if not methods:
        raise ValueError("none of the methods can be run: " + "; ".join(absent))
    plan = Plan([problem], methods, folds=folds, repetitions=options.repetitions, seed=options.seed)
    plan.units()  # whatever is wrong with the data is said before anything else
    for note in [*problem.notes, *described(problem.X), *absent]:
        console.print(f"note: {one_line(note)}", soft_wrap=True)
    path, is_kept = _study_path(options.out, plan)
    if is_kept:
        _check_folder(path, problem.name)
    records = _run(plan, path, options, console)
    if is_kept:
        places = {name: place for place, name in enumerate(METHOD_NAMES)}
        records = sorted(
            every_method(plan, path), key=lambda record: places.get(record.method, len(places))
        )
    table = comparison_table(problem, records)
    advice = recommend(by_method(records, problem.name))
    if not is_kept:
        _show(console, table, [str(advice)] if advice else [])
        delete(path)
        return 0
    table = replace(
        table, notes=[*table.notes, *_other_settings(path, plan, records, options.epochs)]
    )
    with _shown_in_any_case(console, table, [str(advice)] if advice else []) as said:
        sentences = list(advice.sentences) if advice else []
        said.append(
            write_everything(
                path,
                f"Comparison on {problem.name}",
                {"comparison": table},
                sentences,
                records,
                problem.name,
            )
        )
    return 0


def _reproduce(options: argparse.Namespace, console: Console) -> int:
    from astralearn.methods import paper_ladder
    from astralearn.report import data_table, recommendations, results_table
    from astralearn.report.artefacts import write_everything
    from astralearn.study import Plan, every_problem
    from astralearn.study.paper import PROTOCOL, QUICK, TABLE_2

    _check(options)
    protocol = QUICK if options.quick else PROTOCOL
    out = options.out or Path(
        "astralearn-reproduction-quick" if options.quick else "astralearn-reproduction"
    )
    names = _names(options.problems) if options.problems else list(protocol.problems)
    unknown = [name for name in names if name not in TABLE_2]
    if unknown:
        raise ValueError(
            f"not in the paper: {', '.join(unknown)}; its problems are {', '.join(TABLE_2)}"
        )
    problems = [load(name) for name in names]
    _show(console, data_table(problems), [])
    plan = Plan(
        problems,
        paper_ladder(protocol),
        folds=protocol.folds,
        repetitions=protocol.repetitions,
        seed=options.seed,
    )
    path = out / STUDY_FILE
    _run(plan, path, options, console)
    places = {name: place for place, name in enumerate([*TABLE_2, *protocol.methods])}
    records = sorted(
        every_problem(plan, path),
        key=lambda record: (places[record.problem], places[record.method]),
    )
    names = list(dict.fromkeys(record.problem for record in records))  # those of earlier runs too
    at_hand = _at_hand(names, problems)
    records = [record for record in records if record.problem in at_hand]
    first, second = data_table(list(at_hand.values())), results_table(records)
    lost = [
        f"{name}: run earlier, and left out here, because its file is not on this machine."
        for name in names
        if name not in at_hand
    ]
    names, advice = list(at_hand), [*recommendations(records), *lost]
    shown = protocol.figure_4 if protocol.figure_4 in names else names[-1]
    with _shown_in_any_case(console, second, advice) as said:
        said.append(
            write_everything(
                path, "Reproduction", {"table-1": first, "table-2": second}, advice, records, shown
            )
        )
    return 0


def _at_hand(names: Sequence[str], loaded: Sequence[Problem]) -> dict[str, Problem]:
    """The problems by name; without those whose file is not on this machine and cannot be downloaded."""
    problems = {problem.name: problem for problem in loaded}
    for name in names:
        if name not in problems:
            with suppress(UnavailableError):
                problems[name] = load(name)
    return {name: problems[name] for name in names if name in problems}


def _show(console: Console, table: Table, texts: Sequence[str]) -> None:
    from astralearn.report import to_rich

    has_bold = (
        console.is_terminal and console.color_system is not None
    )  # a dumb terminal has no bold
    console.print(to_rich(table, has_bold=has_bold, width=console.width))
    for text in texts:
        console.print(f"\n{text}")


@contextmanager
def _shown_in_any_case(console: Console, table: Table, texts: Sequence[str]) -> Iterator[list[str]]:
    """Files first, so that a reader who leaves early costs none; then the table, whatever became of the files. Yields where to add
    what was written, in words.
    """
    written: list[str] = []
    try:
        yield written
    except KeyboardInterrupt:
        print(
            "\nastralearn: interrupted while files were written. Every fold is kept: run the same command again.",
            file=sys.stderr,
        )
        raise SystemExit(INTERRUPTED) from None
    finally:
        _show(console, table, [*texts, *written])


def _data_list(options: argparse.Namespace, console: Console) -> int:  # noqa: ARG001
    """One line per problem, whatever the width: a reader or `grep` takes it by lines."""
    width = max(map(len, CATALOGUE))
    print(f"{'name':{width}}  {'rows':>6} {'positives':>9} {'features':>8} {'IR':>8}  where")
    for entry in CATALOGUE.values():
        sizes = (
            f"{entry.rows:6} {entry.positives:9} {entry.features:8} {entry.imbalance_ratio:8.2f}"
        )
        print(f"{entry.name:{width}}  {sizes}  {entry.where()}")
    return 0


def _data_fetch(options: argparse.Namespace, console: Console) -> int:  # noqa: ARG001
    for name in options.names or CATALOGUE:
        path = fetch_entry(entry_named(name))
        print(f"{name}: {path or 'inside scikit-learn'}")
    return 0


def _problem(options: argparse.Namespace) -> Problem:
    """From the catalogue, or from a file."""
    if options.data in CATALOGUE:
        for name, value in (("--target", options.target), ("--positive", options.positive)):
            if value is not None:
                raise ValueError(
                    f"{name} {value} is for files, and {options.data} is of the catalogue: name a file, or leave out {name}"
                )
        return load(options.data)
    path = Path(options.data)
    if not path.suffix and not os.path.exists(
        path
    ):  # unlike Path.exists, it takes a name that is too long for one that is not there
        raise MissingFileError(
            f"no such file or problem: {path}; the catalogue has {', '.join(CATALOGUE)}"
        )
    frame = read_table(path)
    if options.target is None:
        raise MissingColumnError(
            f"which column is to be predicted? Say --target COLUMN; there are {', '.join(map(repr, frame.columns[:20]))}"
        )
    return problem_from_frame(frame, options.target, name=_name(path), positive=options.positive)


def _name(path: Path) -> str:
    """The file's name up to its ending, as text on one line: SQLite and terminals take no bytes of another encoding."""
    from astralearn.report import one_line

    stem = path.name.lstrip(".").split(".")[0]
    return one_line(os.fsencode(stem).decode("utf-8", "replace")) or path.name


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",")]


def _study_path(out: Path | None, plan: Plan) -> tuple[Path, bool]:
    """Where records go, and whether they stay: without --out, in the cache until the comparison is done, so that it can be resumed."""
    if out is not None:
        return out / STUDY_FILE, True
    name = hashlib.sha256(repr(sorted(plan.settings().items())).encode()).hexdigest()[:16]
    return cache_folder() / "studies" / f"{name}.sqlite", False


def _check_folder(path: Path, problem: str) -> None:
    """A folder's report and figures are of one problem."""
    from astralearn.study import MismatchError, problems_in

    others = [name for name in problems_in(path) if name != problem] if os.path.isfile(path) else []
    if others:
        raise MismatchError(
            f"{path} holds a comparison on {', '.join(others)}; this one is on {problem}. Use another --out."
        )


def _other_settings(
    path: Path, plan: Plan, records: Sequence[Record], epochs: int | None
) -> list[str]:
    """Methods that an earlier run left in the folder, where this command would have run them with other settings: a sentence each."""
    from astralearn.methods import METHOD_NAMES, choose
    from astralearn.study import methods_in
    from astralearn.study.store import differing

    ran_now = {method.name for method in plan.methods}
    earlier = [
        name
        for name in dict.fromkeys(record.method for record in records)
        if name in METHOD_NAMES and name not in ran_now
    ]
    stored, said = methods_in(path), []
    for method in choose(earlier, epochs=epochs).methods if earlier else []:
        before, now = stored[method.name], method.described()
        if before != now:
            said.append(
                f"{method.name} is of an earlier run, with {differing(before, now)}; this one has {differing(now, before)}."
            )
    return said


def _run(plan: Plan, path: Path, options: argparse.Namespace, console: Console) -> list[Record]:
    from astralearn.report.display import shown
    from astralearn.study import run

    try:
        with shown(console) as progress:
            return run(plan, path, n_jobs=options.jobs, progress=progress)
    except KeyboardInterrupt:
        _say_kept("interrupted", plan, path)
        print("Run the same command again to continue where it stopped.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except BrokenProcessPool:
        _say_kept("a worker process was killed, perhaps for want of memory", plan, path)
        print(
            "Run the same command again, with --jobs 1 to need less memory, to continue where it stopped.",
            file=sys.stderr,
        )
        raise SystemExit(WORKER_KILLED) from None


def _say_kept(what: str, plan: Plan, path: Path) -> None:
    from astralearn.study import kept

    done, total = kept(plan, path)
    print(f"\nastralearn: {what}. {done} of {total} folds are kept in {path}.", file=sys.stderr)
