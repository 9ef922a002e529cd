"""The paper's Tables 1 and 2 as printed, and its protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

PAPER_METHODS = ("BCE", "GMN", "BCE-ASTra", "GMN-ASTra")
# The two best methods of the study that the data are from; the paper compares with them in words.
RIVALS = ("RUSBoost", "HD-Ensemble (rebuilt)")


class PublishedData(NamedTuple):
    """A row of Table 1: IR, n_x, m_tot, m_1."""

    imbalance_ratio: float
    features: int
    rows: int
    positives: int


TABLE_1 = {
    "skin-588": PublishedData(588.24, 3, 20034, 34),
    "skin-4000": PublishedData(4000.0, 3, 20005, 5),
    "cod-763": PublishedData(763.27, 8, 19871, 26),
    "cod-3500": PublishedData(3500.0, 8, 17505, 5),
    "ijcnn-971": PublishedData(970.60, 22, 4858, 5),
}

# The deviations of Table 2 on problems with one positive per fold are those of 25 yes-or-no
# trials, not of 50: 0.760 (0.436) is 19 of 25. So published means are taken as over 25 folds.
TRIALS = 25
DRAWS = 5  # of the positives, or of the folds; five folds share one


@dataclass(frozen=True)
class PublishedScore:
    """One cell of Table 2.

    wins: whether it is printed as a winner or tie.
    hits: of TRIALS, where a fold has one positive; None elsewhere.
    """

    mean: float
    deviation: float
    wins: bool
    hits: int | None = None


def _scores(printed: str, hits: str = "") -> dict[str, PublishedScore]:
    """Cells in the order of PAPER_METHODS: "mean deviation", winners with an asterisk."""
    found: list[int | None] = [*map(int, hits.split())] or [None] * len(PAPER_METHODS)
    scores = {}
    for method, cell, hit in zip(PAPER_METHODS, printed.split(", "), found, strict=True):
        mean, deviation = map(float, cell.rstrip("*").split())
        scores[method] = PublishedScore(mean, deviation, wins=cell.endswith("*"), hits=hit)
    return scores


# These are read as problem → score → method.
TABLE_2: dict[str, dict[str, dict[str, PublishedScore]]] = {
    "skin-588": {
        "g_mean": _scores("0.892 0.273*, 0.966 0.051*, 0.981 0.041*, 0.946 0.126*"),
        "mcc": _scores("0.892 0.273*, 0.966 0.051*, 0.976 0.042*, 0.763 0.273"),
    },
    "skin-4000": {
        "g_mean": _scores("0.760 0.436*, 0.879 0.331*, 0.800 0.408*, 0.840 0.374*", "19 22 20 21"),
        "mcc": _scores("0.760 0.436, 0.843 0.368*, 0.800 0.408*, 0.688 0.382"),
    },
    "cod-763": {
        "g_mean": _scores("0.449 0.396, 0.768 0.206, 0.862 0.208*, 0.843 0.206*"),
        "mcc": _scores("0.433 0.391, 0.419 0.301, 0.760 0.229*, 0.542 0.291"),
    },
    "cod-3500": {
        "g_mean": _scores("0.240 0.436, 0.357 0.486, 0.640 0.490*, 0.519 0.509*", "6 9 16 13"),
        "mcc": _scores("0.240 0.436, 0.255 0.397, 0.421 0.369*, 0.206 0.225"),
    },
    "ijcnn-971": {
        "g_mean": _scores("0.000 0.000, 0.120 0.331, 0.478 0.508*, 0.596 0.497*", "0 3 12 15"),
        "mcc": _scores("-0.000 0.001, 0.072 0.208, 0.162 0.179*, 0.179 0.162*"),
    },
}


@dataclass(frozen=True)
class Protocol:
    """How the paper's study is run: repetitions × folds × starts of every method.

    rivals: methods of the paper's text, which learn from the validation fold too.
    starts: initial weights on each fold.
    epochs: of each network.
    burn_in: epochs before the best by validation is chosen.
    figure_4: the problem whose e-ratio is drawn.
    """

    problems: tuple[str, ...] = tuple(TABLE_1)
    methods: tuple[str, ...] = PAPER_METHODS
    rivals: tuple[str, ...] = RIVALS
    folds: int = 5
    repetitions: int = 10
    starts: int = 2
    epochs: int = 10_000
    burn_in: int = 1_000
    figure_4: str = "skin-4000"


PROTOCOL = Protocol()
# This makes the same artefacts in about a minute, with too few epochs to agree with Table 2.
QUICK = Protocol(repetitions=2, epochs=1_000, burn_in=300)
