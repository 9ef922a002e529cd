"""What training takes and what it gives: a stack of networks, in NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from astralearn.core.curve import raw_from_slope, slope_from_raw
from astralearn.core.inputs import Array
from astralearn.engine.network import Architecture
from astralearn.engine.rows import Fold, share_rows

History = dict[str, np.ndarray]

GROUP = 13  # networks in one group at most: more gain nothing

# Networks × rows in one group where each network has its own rows: more spill out of the cache.
GROUP_NUMBERS = 1 << 16


@dataclass(frozen=True)
class Settings:
    """How to train, under the classifier's names; the defaults are the paper's.

    Numbers may change without compiling anew, words may not.

    selection: "last", or the soft score by whose best value on the rows held out an epoch is kept.
    sam: "off", or whose loss the weights are perturbed to raise: "positives" or "all".
    solver: "adam"; or "lbfgs", for which an epoch is an iteration, without selection and sam.
    burn_in: epochs before selection begins.
    positive_share: of the cost of one mistake on each class.
    records: epochs kept in the history, about. None: the first, and 200 or every tenth.
    trail: whether the history keeps the networks' parameters too.
    time_limit: seconds. Training stops after the segment in which they run out, the first at the
        earliest.
    """

    loss: str = "gmn"
    activation: str = "astra"
    selection: str = "last"
    sam: str = "off"
    solver: str = "adam"
    epochs: int = 10_000
    learning_rate: float = 0.001
    slope_rate_min: float = 0.01
    slope_rate_max: float = 0.5
    burn_in: int = 1_000
    sam_radius: float = 0.0
    positive_share: float = 0.5
    records: int | None = None
    trail: bool = False
    time_limit: float = float("inf")

    @property
    def astra(self) -> bool:
        return self.activation == "astra"


class State(NamedTuple):
    """Where training stands; it goes on from there to the bit. Leading axis: networks.

    mean, square: Adam's two moments, (K, P + 1), of the parameters and the raw slope.
    """

    parameters: Array
    raw_slope: Array
    rate: Array
    mean: Array
    square: Array
    epoch: Array
    best_parameters: Array
    best_raw_slope: Array
    best_score: Array
    best_epoch: Array


@dataclass(frozen=True)
class Stack:
    """Networks to train: the k-th on `folds[fold_of[k]]`.

    parameters, slope: where they start, (K, P) and (K,).
    alpha: L2 on the weights of each network, shared out over its rows, (K,); none unless given.
    slope_max: what the slope of each network never exceeds, ≥ 1, (K,).
    states: where each stands, instead of a start.
    """

    architecture: Architecture
    folds: Sequence[Fold]
    fold_of: Sequence[int]
    parameters: np.ndarray
    slope: np.ndarray
    alpha: np.ndarray | None = None
    slope_max: np.ndarray | None = None
    states: Sequence[State] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.parameters.dtype

    @property
    def data_bytes(self) -> int:
        return sum(fold.train.X.nbytes for fold in self.folds)

    @property
    def is_spread(self) -> bool:
        """Whether the rows are those of one place among several."""
        return self.folds[0].everywhere is not None

    def own_alpha(self, members: list[int]) -> np.ndarray:
        """L2 of these networks, (members,)."""
        alpha = np.zeros(len(members)) if self.alpha is None else self.alpha[members]
        return np.asarray(alpha, self.dtype)

    def own_raw_slope_max(self, members: list[int]) -> np.ndarray:
        """The highest raw slope of these networks, (members,)."""
        highest = np.inf if self.slope_max is None else self.slope_max[members]
        highest = np.broadcast_to(highest, len(members))
        return np.asarray(raw_from_slope(highest, xp=np)).astype(self.dtype)

    def start(self, members: list[int], slope_rate: float) -> State:
        """Where these networks begin or go on, their slopes within their limits."""
        highest = self.own_raw_slope_max(members)
        if self.states is not None:
            states = [self.states[k] for k in members]
            state = State(*(np.stack(leaves) for leaves in zip(*states, strict=True)))
            return state._replace(
                raw_slope=np.minimum(state.raw_slope, highest),
                best_raw_slope=np.minimum(state.best_raw_slope, highest),
            )
        parameters, n = self.parameters[members], len(members)
        raw = np.asarray(raw_from_slope(self.slope[members], xp=np)).astype(self.dtype)
        raw = np.minimum(raw, highest)
        moments = np.zeros((n, parameters.shape[1] + 1), self.dtype)
        return State(
            parameters=parameters,
            raw_slope=raw,
            rate=np.full(n, slope_rate, self.dtype),
            mean=moments,
            square=moments,
            epoch=np.zeros(n, np.int32),
            best_parameters=parameters,
            best_raw_slope=raw,
            best_score=np.full(n, np.inf, self.dtype),
            best_epoch=np.full(n, -1, np.int32),
        )

    def groups(self, size: int | None = None) -> list[list[int]]:
        """The networks that train as one; see `split`."""
        alone = len(set(self.fold_of)) == len(self.fold_of)
        own_rows = alone and not share_rows(self.folds)
        most = max(len(fold.train.X) for fold in self.folds)
        return split(self.fold_of, most if own_rows else 0, size)

    def folds_of(self, members: list[int]) -> list[Fold]:
        """One fold for each of these networks, or the one that they share."""
        numbers = [self.fold_of[k] for k in members]
        return [self.folds[f] for f in (numbers[:1] if len(set(numbers)) == 1 else numbers)]


@dataclass(frozen=True)
class Trained:
    """What came out, in NumPy.

    parameters, slope: the chosen ones, (K, P) and (K,).
    n_epochs, chosen_epoch: of each network, (K,).
    history, states: of each network.
    """

    parameters: np.ndarray
    slope: np.ndarray
    n_epochs: np.ndarray
    chosen_epoch: np.ndarray
    history: list[History]
    states: list[State]
    interrupted: bool

    @classmethod
    def of_states(
        cls, states: list[State], history: list[History], *, interrupted: bool
    ) -> Trained:
        """Of each network the parameters that were selected, or the last."""
        chosen = [state.best_epoch >= 0 for state in states]

        def pick(best: str, last: str) -> np.ndarray:
            return np.stack(
                [getattr(s, best if c else last) for s, c in zip(states, chosen, strict=True)]
            )

        return cls(
            parameters=pick("best_parameters", "parameters"),
            slope=np.asarray(slope_from_raw(pick("best_raw_slope", "raw_slope"), xp=np)),
            n_epochs=np.asarray([int(state.epoch) for state in states]),
            chosen_epoch=pick("best_epoch", "epoch"),
            history=history,
            states=states,
            interrupted=interrupted,
        )

    def take(self, networks: slice) -> Trained:
        of_each = [of.name for of in fields(self) if of.name != "interrupted"]
        return replace(self, **{name: getattr(self, name)[networks] for name in of_each})


def split(fold_of: Sequence[int], n_rows: int, size: int | None = None) -> list[list[int]]:
    """Networks in groups of one size, filled up with repeats.

    Within a fold where it has several networks, across folds otherwise. A group holds as many as
    the cache does at n_rows for each, but no more than half of a single block, so that a second
    core has work too. Nothing but the data decides.
    """
    n = len(fold_of)
    blocks = [list(range(n))]
    if len(set(fold_of)) < n:
        blocks = [[k for k in range(n) if fold_of[k] == f] for f in dict.fromkeys(fold_of)]
    longest = max(len(block) for block in blocks)
    if size is None:
        in_cache = max(2, GROUP_NUMBERS // max(1, n_rows))
        most = min(GROUP, in_cache, -(-longest // 2) if len(blocks) == 1 else longest)
        # Of sizes from half of that, the one that leaves the fewest places to fill up, and the
        # largest such.
        size = min(range(-(-most // 2), most + 1), key=lambda s: (-(-longest // s) * s, -s))
    cut = [block[start : start + size] for block in blocks for start in range(0, len(block), size)]
    return [members + members[:1] * (size - len(members)) for members in cut]
