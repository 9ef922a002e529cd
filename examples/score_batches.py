"""Score a file of any size in batches, with pyarrow or with Polars.

    python examples/score_batches.py

`astralearn score` does this for a model of `astralearn fit`, with ranks and flags. This is for a
classifier of your own, or where the rows come from elsewhere.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import astralearn

COLUMNS = ["a", "b", "c"]


def score_with_pyarrow(model, source: Path, out: Path) -> None:
    """Memory holds one batch, whatever the file's size."""
    schema = pa.schema([("risk", pa.float64())])
    with pq.ParquetFile(source) as file, pq.ParquetWriter(out, schema) as writer:
        for batch in file.iter_batches(batch_size=40_000, columns=COLUMNS):
            risk = model.predict_risk(batch.to_pandas())
            writer.write_table(pa.table({"risk": risk}))


def score_with_polars(model, source: Path, out: Path) -> None:
    """Polars streams the file through the model."""

    def risk(batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(pl.Series("risk", model.predict_risk(batch.to_pandas())))

    lazy = pl.scan_parquet(source).select(COLUMNS)
    lazy.map_batches(risk, schema={"risk": pl.Float64}, streamable=True).sink_parquet(out)


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3))
    y = (np.arange(len(X)) < 10).astype(int)
    X[:10] += 4
    table = pl.DataFrame(X, schema=COLUMNS)
    model = astralearn.ASTraClassifier(random_state=0, epochs=50).fit(
        table[:5_000].to_pandas(), y[:5_000]
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows.parquet"
        table.write_parquet(source)
        expected = model.predict_risk(table.to_pandas())
        for score in (score_with_pyarrow, score_with_polars):
            out = Path(folder) / "risk.parquet"
            score(model, source, out)
            risk = pl.read_parquet(out)["risk"].to_numpy()
            print(f"{score.__name__}: {len(risk)} rows, the same: {np.allclose(risk, expected)}")


if __name__ == "__main__":
    main()
