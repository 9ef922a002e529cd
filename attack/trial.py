"""What every area of the attack gives, and the damage that several of them do."""

from typing import NamedTuple

import numpy as np


class Trial(NamedTuple):
    """One attempt: what was done, and what went wrong, "" where it held."""

    what: str
    wrong: str


def damaged(data: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """The bytes with something wrong, and what."""
    at = int(rng.integers(len(data)))
    some = rng.bytes(int(rng.integers(1, 40)))
    return [
        (
            "one byte changed",
            data[:at] + bytes([data[at] ^ int(rng.integers(1, 256))]) + data[at + 1 :],
        ),
        ("cut short", data[:at]),
        ("bytes put in", data[:at] + some + data[at:]),
        ("bytes taken out", data[:at] + data[at + len(some) :]),
        ("random bytes", rng.bytes(len(data))),
    ][int(rng.integers(5))]
