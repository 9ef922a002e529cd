"""What can be wrong with data, in messages that a person can act on.

All are `DataError`s, which are ValueErrors. The command line gives each its own exit code.
"""

from __future__ import annotations


class DataError(ValueError):
    """The data cannot be used as asked; the message says why and what to do.

    >>> from astralearn.datasets import load
    >>> try:
    ...     load("unknown")
    ... except DataError as error:
    ...     print(type(error).__name__)
    MissingFileError
    """


class MissingFileError(DataError):
    """No file or problem of that name.

    >>> from astralearn.datasets import read_table
    >>> try:
    ...     read_table("absent.csv")
    ... except MissingFileError as error:
    ...     print(error)
    no such file: absent.csv
    """


class UnreadableError(DataError):
    """The file is there, but is not what its ending promises.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from astralearn.datasets import read_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = Path(folder.name, "empty.csv").write_text("")
    >>> try:
    ...     _ = read_table(Path(folder.name, "empty.csv"))
    ... except UnreadableError as error:
    ...     print(type(error).__name__)
    UnreadableError
    >>> folder.cleanup()
    """


class UnavailableError(DataError):
    """A catalogue file is not on this machine and could not be downloaded.

    >>> issubclass(UnavailableError, DataError)
    True
    """


class MissingColumnError(DataError):
    """No column of that name.

    >>> import pandas as pd
    >>> from astralearn.datasets import problem_from_frame
    >>> try:
    ...     problem_from_frame(pd.DataFrame({"x": [1, 2]}), "fraud", name="cards")
    ... except MissingColumnError as error:
    ...     print(error)
    no column 'fraud'; there are 'x'
    """


class NotTwoClassesError(DataError):
    """The target has one value, or more than two and none was chosen as positive.

    >>> import pandas as pd
    >>> from astralearn.datasets import problem_from_frame
    >>> table = pd.DataFrame({"x": [1, 2, 3], "fraud": [0, 0, 0]})
    >>> try:
    ...     problem_from_frame(table, "fraud", name="cards")
    ... except NotTwoClassesError as error:
    ...     print(type(error).__name__)
    NotTwoClassesError
    """


class TooFewPositivesError(DataError):
    """Fewer positives, or negatives, than folds.

    >>> from astralearn.datasets import load
    >>> from astralearn.study import make_splits
    >>> try:
    ...     make_splits(load("digits"), folds=10)
    ... except TooFewPositivesError as error:
    ...     print(error)
    digits has 5 positives ('8'), fewer than 10 folds: ask for at most 5 folds (`folds=5`)
    """


class UnwritableError(DataError):
    """A result cannot be written where it is to go."""
