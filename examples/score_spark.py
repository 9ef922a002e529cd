"""Score a Spark table with a model that was fitted elsewhere.

    python examples/score_spark.py

Each Python worker loads the model file once and scores Arrow batches; the driver sees no row.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

import astralearn

COLUMNS = ["a", "b", "c"]


def scorer(path: str):
    """What `mapInPandas` calls with the batches of a partition."""

    def score(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        model = astralearn.load(path)
        model.n_jobs = 1  # Spark has a worker for each core already.
        for batch in batches:
            yield batch[["id"]].assign(risk=model.predict_risk(batch[COLUMNS]))

    return score


def main() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(5_000, 3)), columns=COLUMNS)
    y = (np.arange(len(table)) < 10).astype(int)
    table.loc[:9, "a"] += 4
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        model = astralearn.ASTraClassifier(random_state=0, epochs=50).fit(table, y)
        model.save(path)

        # On a cluster every worker has this package in its own Python; here it is this one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        spark = SparkSession.builder.master("local[2]").getOrCreate()
        rows = spark.createDataFrame(table.assign(id=np.arange(len(table))))
        scored = rows.repartition(4).mapInPandas(scorer(path), schema="id long, risk double")
        risk = scored.toPandas().sort_values("id")["risk"].to_numpy()
        spark.stop()
    print(
        f"{len(risk)} rows, as the model scores them here: "
        f"{np.allclose(risk, model.predict_risk(table))}"
    )


if __name__ == "__main__":
    main()
