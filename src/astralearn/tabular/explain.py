"""Why a row stands out: its features, each set to what is typical of the majority."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from astralearn.tabular.columns import WORD, values_of
from astralearn.tabular.encoder import Feature, TableEncoder

# Encoded values that are scored at once.
MOST_VALUES = 4_000_000
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("", "January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def typical_row(encoder: TableEncoder, majority: np.ndarray) -> np.ndarray:
    """What is typical of the majority, as one encoded row.

    The median of numbers, and the most common category of words.

    majority: its encoded training rows.
    """
    typical = np.median(majority, axis=0)
    for feature in encoder.features():
        if feature.categories:
            one_hot = feature.places[: len(feature.categories)]
            most_common = one_hot[int(np.argmax(majority[:, one_hot].sum(axis=0)))]
            # The row's commonness belongs to its category.
            row = majority[int(np.argmax(majority[:, most_common]))]
            typical[feature.places] = row[feature.places]
    return typical


def contributions(
    features: list[Feature],
    encoded: np.ndarray,
    typical: np.ndarray,
    score: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """By how much the score falls when a feature becomes typical, (rows, features).

    encoded: (rows, encoded columns).
    typical: (encoded columns,).
    score: of encoded rows, higher for the minority.
    """
    fall = np.empty((len(encoded), len(features)))
    block = max(1, MOST_VALUES // encoded.shape[1])
    for start in range(0, len(encoded), block):
        rows = encoded[start : start + block]
        as_is = score(rows)
        for place, feature in enumerate(features):
            changed = rows.copy()
            changed[:, feature.places] = typical[feature.places]
            fall[start : start + block, place] = as_is - score(changed)
    return fall


def reasons(
    encoder: TableEncoder,
    frame: pd.DataFrame,
    encoded: np.ndarray,
    typical: np.ndarray,
    *,
    score: Callable[[np.ndarray], np.ndarray],
    most: int,
) -> list[str]:
    """The features that speak most for each row: "amount 9,120, typically 34: +2.1".

    frame: the rows as they came.
    encoded: the same rows, encoded.
    typical: the encoded row to compare with.
    score: of encoded rows, higher for the minority.
    most: how many features to name; those that speak against are never named.
    """
    features = encoder.features()
    if not len(frame):
        return []
    fall = contributions(features, encoded, typical, score)
    order = np.argsort(-fall, axis=1, kind="stable")[:, :most]
    shown = {place: _shown(frame, encoded, features[place]) for place in np.unique(order)}
    usual = [_typically(feature, typical) for feature in features]
    # Columns of an array have numbers for names, which would read as values.
    names = [f"column {f.name}" if f.name.isdigit() else f.name for f in features]
    return [
        "; ".join(
            f"{names[place]} {shown[place][row]}, typically {usual[place]}: +{fall[row, place]:.1f}"
            for place in order[row]
            if fall[row, place] >= 0.05
        )
        for row in range(len(frame))
    ]


def _shown(frame: pd.DataFrame, encoded: np.ndarray, feature: Feature) -> list[str]:
    """The feature's value in every row, for a reader."""
    if feature.categories:
        return list(map(str, values_of(frame[feature.column], WORD).values))
    values = encoded[:, feature.places[0]]
    if len(feature.places) > 1:
        is_missing = encoded[:, feature.places[1]] == 1
        values = np.where(is_missing, np.nan, values)
    return [_as_read(value, feature) for value in values]


def _typically(feature: Feature, typical: np.ndarray) -> str:
    if not feature.categories:
        return _as_read(typical[feature.places[0]], feature)
    one_hot = feature.places[: len(feature.categories)]
    return feature.categories[int(np.argmax(typical[one_hot]))]


def _as_read(value: Any, feature: Feature) -> str:
    """A number, or the weekday or month that it stands for."""
    names = {"weekday": DAYS, "month": MONTHS}.get(feature.part, ())
    # A median may lie between two of them.
    return names[int(value)] if names and value in range(len(names)) else _number(value)


def _number(value: Any) -> str:
    """A number in three digits, or all digits before the point.

    >>> _number(9120.4), _number(0.012345), _number(float("nan"))
    ('9,120', '0.0123', 'missing')
    """
    if np.isnan(value):
        return "missing"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
