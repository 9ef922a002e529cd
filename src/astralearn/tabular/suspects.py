"""What misleads: row counters, copies of the label, two spellings of one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astralearn.tabular.columns import WORD, listed, values_of
from astralearn.tabular.readings import kind_of

# Among fewer rows, whole numbers may well be all different by chance.
ROWS_TO_TELL = 100
# n different whole numbers within 10n are so by chance with probability exp(−n/20).
COUNTER_SPAN = 10
# A name that says so: "id", "card_id", "customerId", "OrderID", "order key".
ID_NAME = re.compile(r"(?i:(?:^|[\W_])(?:id|key|nr|uuid|guid))$|[a-z](?:Id|ID|Nr|Key)$")
LEAST_POSITIVES = 3  # a column that agrees with fewer may do so by chance
SYNONYMS = {"y": "yes", "n": "no", "t": "true", "f": "false"}


class Suspect(NamedTuple):
    """A column that may not belong among the features.

    column: its name.
    why: a clause that follows the name in a sentence.
    is_clear: whether it is left out unless the user keeps it.
    """

    column: str
    why: str
    is_clear: bool


def suspects(frame: pd.DataFrame, is_positive: np.ndarray) -> list[Suspect]:
    """Columns that number the rows, or tell the label by what is known later.

    frame: the features.
    is_positive: (rows,), whether the label is the rare one.
    """
    found = []
    for name in frame.columns:
        try:
            suspect = _suspect(frame[name], is_positive)
        except (TypeError, NotImplementedError):  # Lists cannot be counted; their texts can.
            suspect = _suspect(values_of(frame[name], WORD).values, is_positive)
        if suspect is not None:
            found.append(suspect)
    return found


def _suspect(column: pd.Series, is_positive: np.ndarray) -> Suspect | None:
    return _copy_of_label(column, is_positive) or id_of_rows(column)


def id_of_rows(column: pd.Series) -> Suspect | None:
    """The column as a suspect where every row has another whole number or code."""
    name = str(column.name)
    if len(column) < ROWS_TO_TELL or not column.is_unique or column.isna().any():
        return None
    if pd.api.types.is_integer_dtype(column.dtype):
        why = "has another whole number in every row"
        span = float(column.max()) - float(column.min())
        is_clear = span <= COUNTER_SPAN * len(column) or bool(ID_NAME.search(name))
        return Suspect(name, why, is_clear)
    if kind_of(column) == WORD:
        has_spaces = column.astype(str).str.contains(" ", regex=False).any()
        return Suspect(name, "has another text in every row", not has_spaces)
    return None


def check_spelling(labels: Iterable[Any], name: str) -> None:
    """Refuse labels that look like two spellings of one.

    labels: the distinct ones.
    name: of the target, for the message.

    Raises ValueError, which shows them.
    """
    spellings = defaultdict(list)
    for label in labels:
        text = str(label).strip().casefold()
        spellings[SYNONYMS.get(text, text)].append(label)
    for alike in spellings.values():
        if len(alike) > 1:
            raise ValueError(
                f"{name!r} has {listed(map(repr, alike))}, which look like spellings of one label: "
                "write them alike"
            )


def _copy_of_label(column: pd.Series, is_positive: np.ndarray) -> Suspect | None:
    """The column as a suspect where its values, or its gaps, part the classes exactly."""
    if is_positive.sum() < LEAST_POSITIVES or is_positive.all():
        return None
    name = str(column.name)
    is_missing = column.isna().to_numpy()
    if (is_missing == is_positive).all() or (is_missing != is_positive).all():
        return Suspect(name, "is filled in for one class only", True)
    codes, values = pd.factorize(column, use_na_sentinel=False)
    of_positives = np.unique(codes[is_positive])
    if len(of_positives) > 1 or np.isin(codes[~is_positive], of_positives).any():
        return None
    if len(values) == 2:
        return Suspect(name, "copies the label", True)
    return Suspect(name, "has one value in all positives and no other row", False)
