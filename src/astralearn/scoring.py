"""Scoring a table of any size: risk, rank, flag and reasons for every row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from astralearn.datasets.streams import (
    RowStream,
    RowWriter,
    check_place,
    in_threads,
    row_stream,
    writing,
)
from astralearn.datasets.text_form import TEXT_ENDINGS
from astralearn.model_file import ModelFileError, load
from astralearn.report.escape import spreadsheet
from astralearn.tabular import TabularASTraClassifier
from astralearn.tabular.choosing import FlagRule
from astralearn.tabular.columns import listed

SCORED_AT_ONCE = 1 << 15
WORKERS = 2
MOST_BAD_NAMED = 20
ADDED = ("risk", "rank", "flag", "reasons")

RowsDone = Callable[[int], None]


@dataclass
class ScoredTable:
    """What came of scoring a table.

    rows, flagged, bad: numbers of rows.
    expected_positives, expected_flagged: the sum of the risks, of all rows and of flagged ones.
    notes: what was assumed of the file and its columns, and the bad rows, a sentence each.

    >>> scored = ScoredTable(rows=1000, flagged=20, expected_positives=7.5, expected_flagged=6.0)
    >>> f"{scored.expected_flagged:g} of {scored.flagged} flagged rows are expected to be positive"
    '6 of 20 flagged rows are expected to be positive'
    """

    rows: int = 0
    flagged: int = 0
    bad: int = 0
    expected_positives: float = 0.0
    expected_flagged: float = 0.0
    notes: list[str] = field(default_factory=list)


def score_table(
    model: TabularASTraClassifier | str | Path,
    data: str | Path,
    out: str | Path,
    *,
    rule: FlagRule | None = None,
    explain: bool = False,
    progress: RowsDone | None = None,
    separator: str | None = None,
    encoding: str | None = None,
) -> ScoredTable:
    """Score every row of a file in bounded memory.

    It takes some blocks of rows, and 40 bytes a row. The result has the columns as they stand, and
    risk, rank (1 is the highest), flag and, where asked for, the reasons of flagged rows. The file
    is read twice, for ranks are known at the end. A row with a value that cannot be read keeps its
    place with an empty risk, rank and flag.

    model: fitted, or its file.
    data: CSV (also .gz, .tsv) or Parquet; Excel and ARFF too, which are read as a whole.
    out: where to, as CSV or Parquet; it appears when it is whole.
    rule: which rows are flagged.
    explain: whether to say why, of flagged rows.
    progress: called with the number of rows read since the last call; every row is read twice.
    separator, encoding: of a text file; None to find them.

    >>> import tempfile
    >>> from astralearn.fit_score import fit_table
    >>> amount = np.random.default_rng(0).normal(size=300) + np.repeat([4, 0], [6, 294])
    >>> table = pd.DataFrame({"amount": amount, "fraud": np.repeat(["yes", "no"], [6, 294])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, out = Path(folder) / "new.csv", Path(folder) / "scored.csv"
    ...     table[["amount"]].to_csv(new, index=False)
    ...     scored = score_table(fit_table(table, "fraud").model, new, out)
    ...     columns = list(pd.read_csv(out))
    >>> scored.rows, columns
    (300, ['amount', 'risk', 'rank', 'flag'])
    """
    rule = rule or FlagRule()
    rule.check()
    _check_file(data)
    check_place(out)
    model = table_model(model)
    encoder = model.encoder_
    # The previous row of a group may stand anywhere in the table.
    at_once = SCORED_AT_ONCE if encoder.group is None else 1 << 40
    stream = row_stream(data, rows=at_once, separator=separator, encoding=encoding)
    writer = RowWriter(out, stream.form if str(out).lower().endswith(TEXT_ENDINGS) else None)
    scored = ScoredTable(notes=_differences(model, stream))
    told = progress or _silent
    risk, is_cut = _all_risks(model, stream, scored, told)
    ranks = _ranks(risk)
    is_flagged = rule.flagged(risk, ranks, is_cut) & np.isfinite(risk)
    scored.rows, scored.flagged = len(risk), int(is_flagged.sum())
    scored.expected_positives = float(np.nansum(risk))
    scored.expected_flagged = float(risk[is_flagged].sum())
    frames = _frames(model, stream) if explain else None
    start = 0

    def write(original: Any) -> int:
        nonlocal start
        here = slice(start, start + len(original))
        start = here.stop
        is_bad = np.isnan(risk[here])
        flags = is_flagged[here]
        added = {
            "risk": risk[here],
            "rank": pd.arrays.IntegerArray(ranks[here].astype(np.int64), is_bad),
            "flag": pd.arrays.IntegerArray(flags.astype(np.int64), is_bad),
        }
        if frames is not None:
            reasons = np.full(len(original), None, dtype=object)
            frame = next(frames)
            if flags.any():
                # They begin with the name of a column, which is the table's to choose.
                reasons[flags] = [spreadsheet(why) for why in model.explain(frame, rows=flags)]
            added["reasons"] = pd.array(reasons, dtype="str")
        writer.write(original, added)
        return len(original)

    with writing(out), writer:
        for n_written in in_threads(write, stream.originals(), threads=1):
            told(n_written)
    return scored


def _check_file(data: Any) -> None:
    if not isinstance(data, str | Path):
        kind = type(data).__name__
        raise TypeError(f"data must be a file; found {kind}: model.predict_risk takes frames")


def table_model(model: Any) -> TabularASTraClassifier:
    """The fitted model of a table, read where a file is given.

    Raises ModelFileError for a file of another kind of model, TypeError for another object.
    """
    found = load(model) if isinstance(model, str | Path) else model
    if isinstance(found, TabularASTraClassifier):
        check_is_fitted(found)
        return found
    kind = type(found).__name__
    if found is model:
        raise TypeError(f"model must be a TabularASTraClassifier or its file; found {kind}")
    raise ModelFileError(
        f"{model} holds {kind}, which knows no columns of a table: fit a TabularASTraClassifier, "
        "as `astralearn fit` does"
    )


def _differences(model: TabularASTraClassifier, stream: RowStream) -> list[str]:
    """What is said before a row is scored; ValueError for a column that is missing."""
    notes = [stream.form.said()] if stream.form is not None and stream.form.said() else []
    names = stream.columns()
    taken = [name for name in ADDED if name in names]
    if taken:
        raise ValueError(
            f"the table has a column {taken[0]!r} already, which scoring adds: rename it"
        )
    encoder = model.encoder_
    known = {*encoder.kinds_, *encoder.left_out_, model.target_}
    missing = [name for name in encoder.needed() if name not in names]
    if missing:
        raise ValueError(f"the table has no column {listed(missing)}, which was learned from")
    new = [name for name in names if name not in known]
    if new:
        notes.append(f"columns that were not learned from are kept and not used: {listed(new)}")
    return notes


def _frames(model: TabularASTraClassifier, stream: RowStream) -> Iterator[pd.DataFrame]:
    return stream.frames(model.encoder_.needed(), model.encoder_.texts())


def _all_risks(
    model: TabularASTraClassifier, stream: RowStream, scored: ScoredTable, told: RowsDone
) -> tuple[np.ndarray, np.ndarray]:
    """Risk, NaN for bad rows, and whether the model's cut flags it, of every row."""
    risks, cuts, start = [], [], 0
    frames = _frames(model, stream)
    for block in in_threads(lambda frame: _block(model, frame), frames, threads=WORKERS):
        if start == 0:
            _check_kinds(model, block)
        for row, column, value in block.bad[: max(0, MOST_BAD_NAMED - scored.bad)]:
            scored.notes.append(f"row {start + row} is not scored: {column!r} is {value!r:.80}")
        scored.bad += int(np.isnan(block.risk).sum())
        risks.append(block.risk)
        cuts.append(block.is_cut)
        start += len(block.risk)
        told(len(block.risk))
    if not risks:
        return np.empty(0), np.empty(0, dtype=bool)
    return np.concatenate(risks), np.concatenate(cuts)


class _Block(NamedTuple):
    risk: np.ndarray
    is_cut: np.ndarray
    bad: list[tuple[int, str, object]]
    wholly_bad: list[str]


def _block(model: TabularASTraClassifier, frame: pd.DataFrame) -> _Block:
    encoded = model.encoder_.encode(frame)
    score, risk = model.score_and_risk(encoded.numbers)
    bad = []
    for name, is_bad in encoded.bad.items():
        risk[is_bad] = np.nan
        rows = np.flatnonzero(is_bad)[:MOST_BAD_NAMED]
        bad += [(int(row), name, frame[name].iloc[row]) for row in rows]
    wholly = [
        name for name, is_bad in encoded.bad.items() if is_bad.sum() == frame[name].notna().sum()
    ]
    return _Block(risk, score >= 0, sorted(bad, key=lambda found: found[:2]), wholly)


def _check_kinds(model: TabularASTraClassifier, first: _Block) -> None:
    for name in first.wholly_bad:
        value = next(value for _, column, value in first.bad if column == name)
        raise ValueError(
            f"column {name!r} was learned as {model.encoder_.kinds_[name]}s, and has none here: "
            f"the first value is {value!r:.80}"
        )


def _ranks(risk: np.ndarray) -> np.ndarray:
    """1 for the highest risk; rows of equal risk in their order, bad ones last."""
    # Half the memory, which counts where there are ten million rows.
    kind = np.int32 if len(risk) < np.iinfo(np.int32).max else np.int64
    ranks = np.empty(len(risk), dtype=kind)
    ranks[np.argsort(-risk, kind="stable")] = np.arange(1, len(risk) + 1, dtype=kind)
    return ranks


def _silent(rows: int) -> None:
    """The progress of a caller who asks for none."""
