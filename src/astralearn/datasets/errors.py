"""What can be wrong with data, in messages that a person can act on.

All are `DataError`s, which are ValueErrors. The command line gives each its own exit code.
"""

from __future__ import annotations


class DataError(ValueError):
    """The data cannot be used as asked; the message says why and what to do."""


class MissingFileError(DataError):
    """No file or problem of that name."""


class UnreadableError(DataError):
    """The file is there, but is not what its ending promises."""


class UnavailableError(DataError):
    """A catalogue file is not on this machine and could not be downloaded."""


class MissingColumnError(DataError):
    """No column of that name."""


class NotTwoClassesError(DataError):
    """The target has one value, or more than two and none was chosen as positive."""


class TooFewPositivesError(DataError):
    """Fewer positives, or negatives, than folds."""


class UnwritableError(DataError):
    """A result cannot be written where it is to go."""
