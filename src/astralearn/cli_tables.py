"""The command line's verbs from a table to decisions: fit, score, suggest, show."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from astralearn.methods import DEFAULT_METHOD, PAPER_NETWORKS, make

if TYPE_CHECKING:
    from rich.console import Console


# Arguments whose option has another name.
FLAGS = {"n_jobs": "jobs", "path": "out"}
DECISIONS = "g_mean, mcc, f1, alerts=0.01, recall=0.9, precision=0.5 or cost=yes:100,no:1"
DECISION_HELP = f"what the cut is for: {DECISIONS}"


def add_tables(command: Callable[..., Any]) -> None:
    """Add the verbs to the parser.

    command: adds a command by its name, what it does and its texts, and returns what adds an
        argument to it.
    """
    fit = command(
        "fit",
        _fit,
        help="learn from a table and write a model file",
        epilog="example: astralearn fit cards.csv --target fraud --drop card_id --out cards.astra",
    )
    fit("data", help="CSV, Parquet, Excel or ARFF file")
    fit("--target", metavar="COLUMN", required=True, help="the column to predict")
    says = "the target's positive value (default: the rarer of two)"
    fit("--positive", metavar="VALUE", help=says)
    fit("--decision", type=as_decision, metavar="AIM", help=DECISION_HELP)
    says = "BCE, GMN, BCE-ASTra or GMN-ASTra, as `compare` has them (default: ASTraClassifier)"
    fit("--method", metavar="NAME", default=DEFAULT_METHOD, help=says)
    fit("--out", metavar="MODEL", required=True, help="the model file; MODEL.md is its card")
    fit("--drop", metavar="LIST", type=names, default=[], help="columns to leave out")
    says = "columns to keep that look like a row's number or a copy of the target"
    fit("--keep", metavar="LIST", type=names, default=[], help=says)
    says = "say a card: dates also become the days since the group's previous row"
    fit("--group", metavar="COLUMN", help=says)
    fit("--absolute-days", action="store_true", help="dates as days since 1970 too")
    fit("--seed", type=int, default=0, help="decides the fit (default: 0)")

    score = command(
        "score",
        _score,
        help="add risk, rank and flag to every row of a table",
        epilog="example: astralearn score cards.astra new.csv --out scored.csv --top 50 --explain",
    )
    score("model", help="a file that `astralearn fit` wrote")
    score("data", help="CSV or Parquet file, of any size; Excel or ARFF")
    score("--out", metavar="FILE", required=True, help="CSV or Parquet file to write")
    score("--top", type=int, metavar="N", help="flag the N rows of the highest risk")
    says = "flag this share of rows, as 1%% or 0.01"
    score("--share", type=like("1% or 0.01", _share), metavar="SHARE", help=says)
    says = "what a missed positive costs: flags where a look pays"
    score("--cost-miss", type=float, metavar="A", help=says)
    score("--cost-alarm", type=float, metavar="B", help="what a look at another row costs")
    score("--explain", action="store_true", help="say why, of every flagged row")

    suggest = command(
        "suggest",
        _suggest,
        help="which unlabelled rows to look at next",
        epilog="example: astralearn suggest cards.astra pool.csv -n 20 --out look.csv",
    )
    suggest("model", help="a file that `astralearn fit` wrote")
    suggest("data", help="CSV, Parquet, Excel or ARFF file of unlabelled rows")
    suggest("-n", type=int, default=50, help="how many (default: 50)")
    suggest("--out", metavar="FILE", help="CSV file to write them to (default: print them)")

    for reads in (fit, score, suggest):
        reads("--separator", "--sep", metavar="CHAR", help="of a text file (default: found)")
        reads("--encoding", help="of a text file (default: found)")

    show = command("show", _show_model, help="what a model is, and what to expect of it")
    show("model", help="a file that `astralearn fit` wrote")
    show("--html", metavar="FILE", help="write it as one page: what to expect at every cut")
    show("--data", metavar="TABLE", help="with --html: rows to flag, some with reasons")


def like(example: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """An option's reader, which says how to write it where it cannot be read."""

    def asked(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"write it like {example}; found {text!r}") from None

    return asked


def _share(text: str) -> float:
    """1% and 0.01 are the same share."""
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def decision(text: str) -> Any:
    """An aim as `decide` takes it: a name, {name: number}, or {"cost": {label: cost}}."""
    name, is_given, value = text.partition("=")
    if not is_given:
        return name
    if name != "cost":
        return {name: float(value)}
    costs = dict(part.split(":") for part in value.split(","))
    return {name: {label: float(cost) for label, cost in costs.items()}}


as_decision = like(DECISIONS, decision)


def given(options: argparse.Namespace, arguments: str) -> dict[str, Any]:
    """The options of these names, for a function whose arguments are called so."""
    return {name: getattr(options, name) for name in arguments.split()}


def names(listed: str) -> list[str]:
    """What a comma-separated list names."""
    return [name.strip() for name in listed.split(",")]


def _fit(options: argparse.Namespace, console: Console) -> None:
    from astralearn.fit_score import fit_table
    from astralearn.tabular import TabularASTraClassifier

    own = [DEFAULT_METHOD, *PAPER_NETWORKS]
    if options.method not in own:
        raise ValueError(f"`method` must be one of {', '.join(own)}; found {options.method!r}")
    model = TabularASTraClassifier(
        None if options.method == DEFAULT_METHOD else make(options.method, random_state=0),
        random_state=options.seed,
        **given(options, "drop keep group absolute_days"),
    )
    arguments = given(options, "data target positive decision out separator encoding")
    fitted = fit_table(model=model, **arguments)
    print_notes(console, fitted.notes)
    found = fitted.model
    console.print(
        f"Learned {found.target_!r} from {len(found.encoder_.kinds_)} columns and "
        f"{found.n_rows_:,} rows, {found.n_positives_:,} of them {found.minority_class_!r}.",
        soft_wrap=True,
    )
    expected = getattr(found.classifier_, "expectations_", None)
    if expected is not None:
        console.print(str(expected), soft_wrap=True)
        if options.decision is None:
            console.print("For fewer false alarms --decision mcc, for costs --decision cost=…")
    console.print(f"Written: {options.out}, and its card, {options.out}.md", soft_wrap=True)


def _score(options: argparse.Namespace, console: Console) -> None:
    from astralearn.fit_score import score_table
    from astralearn.report.display import rows_counted
    from astralearn.tabular.choosing import FlagRule

    rule = FlagRule(**given(options, "top share cost_miss cost_alarm"))
    arguments = given(options, "model data out explain separator encoding")
    with rows_counted(console) as progress:
        scored = score_table(rule=rule, progress=progress, **arguments)
    print_notes(console, scored.notes)
    console.print(
        f"{scored.rows:,} rows, {scored.flagged:,} flagged, {scored.bad:,} not scored. Positives "
        f"expected: {scored.expected_positives:,.1f}, of which {scored.expected_flagged:,.1f} are "
        f"flagged. Written: {options.out}",
        soft_wrap=True,
    )


def _suggest(options: argparse.Namespace, _console: Console) -> None:
    from astralearn.datasets.streams import RowWriter, check_place, writing
    from astralearn.fit_score import suggest
    from astralearn.report.escape import spreadsheet

    if options.out is not None:
        check_place(options.out, options.data)
    arguments = given(options, "model n separator encoding")
    found = suggest(pool=options.data, **arguments)
    if "row" in found.rows:
        raise ValueError("the table has a column 'row' already, which is added: rename it")
    rows = found.rows.assign(reasons=found.rows["reasons"].map(spreadsheet))
    if options.out is None:
        print(rows.to_csv(index_label="row"), end="")
    else:
        with writing(options.out), RowWriter(options.out) as writer:
            writer.write(rows.rename_axis("row").reset_index(), {})
    # The rows are for a reader of CSV, and this sentence is not.
    print(f"{found.expected_positives:,.1f} positives expected among all rows", file=sys.stderr)


def _show_model(options: argparse.Namespace, console: Console) -> None:
    if options.html is None:
        from astralearn.fit_score import show

        if options.data is not None:
            raise ValueError("`data` goes with `html`: name the page to write")
        console.print(show(options.model), soft_wrap=True)
        return
    from astralearn.pages import write_model_page

    command = ["astralearn", "show", options.model, "--html", options.html]
    command += ["--data", options.data] if options.data else []
    write_model_page(options.model, options.html, data=options.data, command=shlex.join(command))
    console.print(f"Written: {options.html}", soft_wrap=True)


def print_notes(console: Console, notes: Sequence[str]) -> None:
    """Print sentences that a reader may pass over, a line each."""
    from astralearn.report import one_line

    for note in notes:
        console.print(f"note: {one_line(as_flags(note))}", soft_wrap=True)


def as_flags(message: str) -> str:
    """What a message says of arguments, in backticks, as the command line spells it.

    >>> as_flags("`cost_miss` must be above 0")
    '--cost-miss must be above 0'
    """

    def flag(found: re.Match[str]) -> str:
        name = FLAGS.get(found[1], found[1].replace("_", "-"))
        return f"--{name} {found[2]}" if found[2] else f"--{name}"

    return re.sub(r"`(\w+)(?:=([^`]+))?`", flag, message)
