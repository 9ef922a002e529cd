"""What every area of the attack gives."""

from typing import NamedTuple


class Trial(NamedTuple):
    """One attempt: what was done, and what went wrong, "" where it held."""

    what: str
    wrong: str
