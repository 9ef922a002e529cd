"""A fit of rows in many places: what one machine's fit would give.

A small table is joined and fitted in one place. Of a large one, a committee looks at a pool of
rows; the pool is drawn where the rows are, and fitted in one place, with the statistics of all.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from astralearn.classifier.checks import LabelSums
from astralearn.classifier.left_whole import left_whole
from astralearn.classifier.rows import MERGED_UP_TO, count_factor, view_of
from astralearn.classifier.shards import (
    Described,
    Piece,
    Pieces,
    Reading,
    Shards,
    checked,
    describe,
    whole_piece,
)
from astralearn.engine.rows import Extent, Fold

if TYPE_CHECKING:
    from astralearn.classifier.estimator import ASTraClassifier


def fit_pieces(
    model: ASTraClassifier, pieces: Pieces, validation: Sequence[Any] | None = None
) -> None:
    """Fit the classifier to the rows of all pieces.

    validation: as for `ASTraClassifier.fit`.
    """
    described = checked(pieces.each(describe), pieces.kind)
    sums = functools.reduce(LabelSums.plus, [one.sums for one in described])
    if sums.rows.sum() <= MERGED_UP_TO:
        _fit_joined(model, pieces.each(whole_piece), described, validation)
        return
    with left_whole(model):
        earlier = model._earlier() if model.warm_start else None
        shards = _settled(model, pieces, described, sums, earlier is not None)
        if earlier is not None:
            model._check_warm_start(len(earlier))
        seed = model._draw_seed() if earlier is None else model._seed
        if validation is not None or model.validation_fraction > 0:
            raise ValueError(
                f"of more than {MERGED_UP_TO} rows in many places, a committee holds none out: "
                "set validation_fraction=0 and leave out validation, or committee=False"
            )
        view = view_of(shards, model._view_options()) if earlier is None else model._view()
        pool = shards.pool(seed)
        factor = count_factor(int(sums.rows.sum()), float(sums.weight.sum()))
        pool = replace(pool, weight=pool.weight * factor)
        fold = Fold(pool, view, costs=model._costs(sums))
        prior = sums.of_label(model.minority_class_) / float(sums.weight.sum())
        was_interrupted, seen = model._fit_fold(fold, seed, earlier, prior)
    model._warn_of_the_end(was_interrupted, model._missed(seen))


def _settled(
    model: ASTraClassifier,
    pieces: Pieces,
    described: Sequence[Described],
    sums: LabelSums,
    is_settled: bool,
) -> Shards:
    """The rows of the pieces; sets what a fit sets of its input.

    is_settled: whether an earlier fit says which class is the positive one.
    """
    ignored = model._ignored_labels(sums.labels)
    kept = ~np.isin(sums.labels, ignored)
    sums = LabelSums(sums.labels[kept], sums.rows[kept], sums.weight[kept])
    extent = functools.reduce(Extent.plus, [one.extent for one in described])
    first = described[0]
    model.n_features_in_ = first.n_features
    if first.names is not None:
        model.feature_names_in_ = np.asarray(first.names, object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    model._check_sums(sums, extent, model.minority_class_ if is_settled else None)
    dtype = np.result_type(*[one.dtype for one in described])
    return Shards(pieces, Reading(dtype, model.minority_class_, tuple(ignored)), described)


def _fit_joined(
    model: ASTraClassifier,
    parts: Sequence[Piece],
    described: Sequence[Described],
    validation: Sequence[Any] | None,
) -> None:
    from astralearn.classifier.estimator import ASTraClassifier

    # Parts without rows would widen the numbers and labels of the others.
    parts = [part for part in parts if len(part.y)] or list(parts)
    X: Any = np.concatenate([part.X for part in parts])
    if described[0].names is not None:
        import pandas as pd

        X = pd.DataFrame(X, columns=list(described[0].names))
    y = np.concatenate([part.y for part in parts])
    weight = np.concatenate([part.weight for part in parts])
    ASTraClassifier.fit(model, X, y, weight, validation)
