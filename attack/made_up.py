"""Tables and model files that hypothesis makes up, shrunk to the least that breaks."""

from __future__ import annotations

import gzip
import itertools
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from trial import Trial

AT_ONCE = 50  # examples between two looks at the clock
CELLS = st.one_of(
    st.text(max_size=12),
    st.floats().map(str),
    st.integers().map(str),
    st.sampled_from(
        ["", "NA", "1,5", '"', "2024-12-31", "31.12.2024", "?", "{", "'", "%", "1e999"]
    ),
)
ROWS = st.lists(st.lists(CELLS, max_size=5), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["object", "state", "array", "dict", "tuple", "tree", "type", "slice"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


def _text(rows: list[list[str]], separator: str) -> bytes:
    return "\n".join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass")


def _arff(rows: list[list[str]]) -> bytes:
    kinds = itertools.cycle(["numeric", "{a,b}", "string", "date"])
    head = "".join(f"@attribute {name} {next(kinds)}\n" for row in rows[:1] for name in row)
    return b"@relation r\n" + head.encode("utf-8", "surrogatepass") + b"@data\n" + _text(rows, ",")


def _readers(folder: Path) -> dict[str, Callable[[], None]]:
    """{what: a test that hypothesis runs with examples of its own}."""
    import astralearn
    from astralearn.datasets.errors import DataError
    from astralearn.datasets.tables import read_table
    from astralearn.model_file import FORMAT, MANIFEST, ModelFileError
    from astralearn.tabular import TableEncoder

    def read(name: str, content: bytes) -> None:
        (folder / name).write_bytes(content)
        try:
            frame = read_table(folder / name)
        except DataError:
            return
        # What can be read can be learned from.
        if frame.columns.map(str).is_unique:
            encoded = TableEncoder().fit(frame).transform(frame)
            assert np.isfinite(encoded).all()

    @given(ROWS, st.sampled_from(",;\t|"))
    def csv(rows: list[list[str]], separator: str) -> None:
        read("made.csv", _text(rows, separator))

    @given(ROWS)
    def compressed(rows: list[list[str]]) -> None:
        read("made.csv.gz", gzip.compress(_text(rows, ",")))

    @given(ROWS)
    def arff(rows: list[list[str]]) -> None:
        read("made.arff", _arff(rows))

    @given(st.binary(max_size=200), st.sampled_from(["csv", "arff", "parquet", "xlsx", "csv.gz"]))
    def binary(content: bytes, ending: str) -> None:
        read(f"made.{ending}", content)

    @given(JSON, st.lists(st.binary(max_size=80), max_size=2))
    def model(tree: object, arrays: list[bytes]) -> None:
        import hashlib

        sums = [hashlib.sha256(data).hexdigest() for data in arrays]
        manifest = {"format": FORMAT, "astralearn": "0", "arrays": sums, "model": tree}
        described = json.dumps(manifest).encode()
        with zipfile.ZipFile(folder / "made.astra", "w") as archive:
            archive.comment = hashlib.sha256(described).hexdigest().encode()
            archive.writestr(MANIFEST, described)
            for number, data in enumerate(arrays):
                archive.writestr(f"arrays/{number}.npy", data)
        try:
            astralearn.load(folder / "made.astra")
        except ModelFileError:
            return

    return {
        "csv": csv,
        "csv.gz": compressed,
        "arff": arff,
        "any bytes": binary,
        "model file": model,
    }


def made_up_tables(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """Read and encoded, or refused by name."""
    checks = list(HealthCheck)
    usual = settings(
        max_examples=AT_ONCE, deadline=None, database=None, suppress_health_check=checks
    )
    for what in itertools.cycle(_readers(folder)):
        wrong = ""
        try:
            # Made anew, as settings can be given to a test once.
            seed(int(rng.integers(1 << 31)))(usual(_readers(folder)[what]))()
        except Exception as error:
            notes = " ".join(getattr(error, "__notes__", []))
            wrong = f"{error!r} {notes}"[:400]
        yield Trial(f"made up, {AT_ONCE} at a time: {what}", wrong)
