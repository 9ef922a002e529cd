"""What became of the columns, in sentences."""

from __future__ import annotations

from typing import Any

from astralearn.tabular.columns import WORD, listed
from astralearn.tabular.encoder import TableEncoder, encoder_for


def described(encoder: TableEncoder) -> list[str]:
    """What a fitted encoder does with the columns, a sentence each; empty for nothing."""
    said = list(encoder.said_of_readings_)
    words = [name for name, kind in encoder.kinds_.items() if kind == WORD]
    if words:
        said.append(
            f"one column per category, at most {encoder.max_categories}, missing as one of them: "
            f"{listed(words)}"
        )
    if encoder.counts_:
        said.append(
            "many categories, so one more column tells how common the row's own is: "
            f"{listed(encoder.counts_)}"
        )
    said += [f"{name} became its {', '.join(of)}" for name, of in encoder.date_parts_.items()]
    marked = encoder.columns_with_gaps()
    if marked:
        said.append(
            "gaps are filled with the column's median and marked in a column of their own: "
            f"{listed(marked)}"
        )
    return said


def described_columns(X: Any) -> list[str]:
    """What an encoder would do with these columns, a sentence each; empty for nothing."""
    encoder = encoder_for(X)
    return [] if encoder is None else described(encoder.fit(X))
