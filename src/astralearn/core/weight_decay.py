"""How much a network's weights decay beside a handful of positives."""

from __future__ import annotations

MOST, POSITIVES = 1.0, 5.0


def weight_decay_for(positives: float) -> float:
    """AdamW's weight decay for so many positives n₁: 5/n₁, at most 1.

    Decay keeps a network from learning every positive by heart. The more there are, the less of it
    is needed.

    >>> weight_decay_for(5), weight_decay_for(100)
    (1.0, 0.05)
    """
    return min(MOST, POSITIVES / positives)
