"""A Parquet file that is larger than memory, learned from in blocks of rows.

Columns are learned from the rows that a committee looks at anyway, at most 100,000 of a class. All
else is what the whole table in memory would give: each statistic is a sum over blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from astralearn.classifier import ASTraClassifier
from astralearn.classifier.committee import places_in_pool
from astralearn.classifier.shards import Piece, Pieces
from astralearn.datasets.errors import MissingColumnError
from astralearn.datasets.problem import label_texts, majority_of, minority_of
from astralearn.datasets.streams import PARQUET, RowStream, in_threads, row_stream
from astralearn.tabular import TabularASTraClassifier
from astralearn.tabular.encoder import TableEncoder

LARGE = 2 << 30  # bytes of values, uncompressed, from which a table is read in blocks
READ_AT_ONCE = 1 << 18
READING_THREADS = 2

T = TypeVar("T")


class TargetClasses(NamedTuple):
    """The two classes of a target: the minority's label, and the others' name."""

    target: str
    minority: str
    majority: str

    def of(self, block: pd.DataFrame) -> np.ndarray:
        """The label of each row."""
        is_positive = label_texts(block[self.target]).to_numpy() == self.minority
        return np.where(is_positive, self.minority, self.majority)


def is_large(path: str | Path, model: TabularASTraClassifier) -> bool:
    """Whether a table is to be read in blocks: Parquet, large, for a model that can."""
    if not Path(path).name.lower().endswith(PARQUET) or model.group is not None:
        return False
    classifier = model.classifier
    if classifier is not None and not (
        isinstance(classifier, ASTraClassifier) and classifier.committee
    ):
        return False
    try:
        from pyarrow.parquet import read_metadata

        found = read_metadata(path)
    except (ImportError, OSError, ValueError):
        return False  # Whoever reads it says why that cannot be done.
    sizes = [found.row_group(i).total_byte_size for i in range(found.num_row_groups)]
    return sum(sizes) >= LARGE


def fit_large(
    path: str | Path, target: str, *, positive: object, model: TabularASTraClassifier
) -> list[str]:
    """Fit the model to a file in blocks; says what was assumed, a sentence each.

    target, positive: as for `astralearn.fit_score.fit_table`.
    """
    stream = row_stream(path, rows=READ_AT_ONCE)
    if target not in stream.columns():
        raise MissingColumnError(f"no column {target!r}; there are {', '.join(stream.columns())}")
    classes, n_rows, notes = _classes(stream, target, positive)
    sample = _sample(stream, classes, n_rows)
    y = pd.Series(classes.of(sample), name=target)
    model.fit_pieces(
        sample.drop(columns=target), y, lambda encoder: Blocks(stream, encoder, classes)
    )
    return [
        f"{sum(n_rows):,} rows are more than {LARGE >> 30} GB: they are read in blocks, and "
        f"columns are learned from {len(sample):,} of them",
        *notes,
    ]


@dataclass(frozen=True)
class Blocks(Pieces):
    """The blocks of a file, as the pieces of a fit; every look reads the file anew."""

    stream: RowStream
    encoder: TableEncoder
    classes: TargetClasses
    kind: str = "block"

    def each(
        self, look: Callable[..., T], given: Sequence[tuple[Any, ...]] | None = None
    ) -> list[T]:
        """What a look at every block finds."""
        names = [*self.encoder.kinds_, self.classes.target]
        blocks = enumerate(_known(self.stream, names, self.classes.target))

        def of_block(numbered: tuple[int, pd.DataFrame]) -> T:
            number, block = numbered
            more = () if given is None else given[number]
            try:
                encoded = self.encoder.transform(block.drop(columns=self.classes.target))
                piece = Piece(encoded, self.classes.of(block), None)
            except ValueError as error:
                raise ValueError(f"block {number} of {READ_AT_ONCE:,} rows: {error}") from error
            return look(piece, *more)

        return list(in_threads(of_block, blocks, threads=READING_THREADS))


def _known(stream: RowStream, names: Sequence[str], target: str) -> Iterator[pd.DataFrame]:
    """Blocks of some columns, without rows that lack the target."""
    for block in stream.frames(names, []):
        yield block[block[target].notna()]


def _classes(
    stream: RowStream, target: str, positive: object
) -> tuple[TargetClasses, list[int], list[str]]:
    """The classes, how many rows are of the majority and of the minority, and notes."""
    counts, missing = pd.Series(dtype=int), 0
    for block in stream.frames([target], []):
        known = block[target].dropna()
        missing += len(block) - len(known)
        counts = counts.add(label_texts(known).value_counts(), fill_value=0)
    counts = counts.astype(int).sort_values(ascending=False, kind="stable")
    notes = [f"{missing} rows without {target!r} were left out"] if missing else []
    minority = minority_of(counts, target, positive, notes)
    classes = TargetClasses(target, minority, majority_of(counts, minority, target))
    n_positives = int(counts[minority])
    return classes, [int(counts.sum()) - n_positives, n_positives], notes


def _sample(stream: RowStream, classes: TargetClasses, n_rows: Sequence[int]) -> pd.DataFrame:
    """At most 100,000 rows of each class, drawn at random, in the file's order."""
    wanted = []
    for n, places in zip(n_rows, places_in_pool(n_rows, seed=0), strict=True):
        is_wanted = np.zeros(n, bool)
        is_wanted[places] = True
        wanted.append(is_wanted)
    drawn, seen = [], [0, 0]
    for block in _known(stream, stream.columns(), classes.target):
        is_positive = classes.of(block) == classes.minority
        chosen = np.zeros(len(block), bool)
        for of_class, is_wanted in enumerate(wanted):
            members = np.flatnonzero(is_positive == bool(of_class))
            chosen[members] = is_wanted[seen[of_class] :][: len(members)]
            seen[of_class] += len(members)
        drawn.append(block[chosen])
    return pd.concat(drawn, ignore_index=True)
