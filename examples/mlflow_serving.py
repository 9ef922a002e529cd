"""Serve a model with MLflow: log it, start `mlflow models serve`, ask it over HTTP.

    python examples/mlflow_serving.py

Needs mlflow, or mlflow-skinny with fastapi and uvicorn. The server answers with `predict_proba`,
which is the calibrated risk because the classifier has probability="risk".
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd

from astralearn.tabular import TabularASTraClassifier

rng = np.random.default_rng(0)
cards = pd.DataFrame({"amount": rng.lognormal(3, 1, 2000), "shop": rng.choice(["a", "b"], 2000)})
fraud = np.where(np.arange(2000) < 8, "yes", "no")
cards.loc[fraud == "yes", "amount"] += 900
model = TabularASTraClassifier(probability="risk", random_state=0).fit(cards, fraud)


def answers(url: str, rows: pd.DataFrame, seconds: float = 120) -> np.ndarray:
    """What the server says of the rows, once it is up."""
    asked = json.dumps({"dataframe_split": rows.to_dict(orient="split", index=False)}).encode()
    request = urllib.request.Request(url, asked, {"Content-Type": "application/json"})
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(request) as response:
                return np.asarray(json.load(response)["predictions"])
        except OSError:  # It is not up yet.
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


# A folder stands for the server that keeps runs; mlflow-skinny asks whether that is meant.
os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
    runs = (Path(folder) / "runs").as_uri()
    mlflow.set_tracking_uri(runs)
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(
            model,
            name="cards",
            serialization_format="cloudpickle",
            pyfunc_predict_fn="predict_proba",
            pip_requirements=["astralearn"],
        )
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    # The server is this interpreter's, and its tools are found first.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "mlflow", "models", "serve", "--env-manager", "local"]
    server = subprocess.Popen(
        [*command, "--model-uri", logged.model_uri, "--port", str(port)],
        env=os.environ | {"PATH": path, "MLFLOW_TRACKING_URI": runs},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        risk = answers(f"http://127.0.0.1:{port}/invocations", cards.head(20))[:, 1]
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()

print(pd.DataFrame({"fraud": fraud[:20], "risk": risk.round(4)}).to_string())
np.testing.assert_allclose(risk, model.predict_risk(cards.head(20)), atol=1e-9)
print("The server says what the model says.")
