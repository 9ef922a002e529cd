"""Estimators that keep their earlier fit where a new one fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def left_whole(estimator: object) -> Iterator[None]:
    """Where the block fails or is interrupted, what the estimator was before it stays."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
