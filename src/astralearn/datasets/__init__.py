"""Data: problems by name, readers of ARFF, CSV and Parquet, and `Problem`.

>>> from astralearn.datasets import load
>>> load("digits").labels
('other digits', '8')
"""

from astralearn.datasets.arff import read_arff
from astralearn.datasets.catalogue import (
    CATALOGUE,
    DEFAULT_PROBLEM,
    Entry,
    entry_named,
    fetch_entry,
    load,
)
from astralearn.datasets.errors import (
    DataError,
    MissingColumnError,
    MissingFileError,
    NotTwoClassesError,
    TooFewPositivesError,
    UnavailableError,
    UnreadableError,
)
from astralearn.datasets.problem import Problem, Redraw, problem_from_frame
from astralearn.datasets.source import cache_folder
from astralearn.datasets.tables import read_table

__all__ = [
    "CATALOGUE",
    "DEFAULT_PROBLEM",
    "DataError",
    "Entry",
    "MissingColumnError",
    "MissingFileError",
    "NotTwoClassesError",
    "Problem",
    "Redraw",
    "TooFewPositivesError",
    "UnavailableError",
    "UnreadableError",
    "cache_folder",
    "entry_named",
    "fetch_entry",
    "load",
    "problem_from_frame",
    "read_arff",
    "read_table",
]
