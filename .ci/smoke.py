"""A newcomer's first minute, in an environment that has the wheel and nothing else."""

import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

import astralearn

FRAMEWORKS = {"jax", "sklearn", "pandas", "torch", "keras", "matplotlib"}
EXTRAS = ["torch", "keras", "lightgbm", "xgboost", "catboost", "matplotlib", "dask", "onnx"]

assert "site-packages" in astralearn.__file__, astralearn.__file__
assert not FRAMEWORKS & set(sys.modules), "import astralearn imports a framework"
assert not [name for name in EXTRAS if importlib.util.find_spec(name)], "an extra was installed"
assert (Path(astralearn.__file__).parent / "py.typed").exists()


def command(*arguments: str) -> str:
    done = subprocess.run(
        [Path(sys.executable).parent / "astralearn", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


version = importlib.metadata.version("astralearn")
assert command("--version") == f"astralearn {version}\n" == f"astralearn {astralearn.__version__}\n"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

rng = np.random.default_rng(0)
is_fraud = np.arange(2000) < 8
amount = rng.lognormal(3, 1, 2000) + 4000 * is_fraud
cards = pd.DataFrame({"amount": amount, "shop": rng.choice(["food", "fuel"], 2000)})
cards.assign(fraud=np.where(is_fraud, "yes", "no")).to_csv("cards.csv", index=False)
cards.to_csv("new.csv", index=False)
command("fit", "cards.csv", "--target", "fraud", "--out", "cards.astra")
command("score", "cards.astra", "new.csv", "--out", "scored.csv", "--top", "8", "--explain")
scored = pd.read_csv("scored.csv")
assert scored.loc[:7, "flag"].sum() == 8, scored.head(8)

model = astralearn.ASTraClassifier(random_state=0).fit(
    np.log(cards[["amount"]].to_numpy()), is_fraud
)
model.save("model.astra")
same = astralearn.load("model.astra")
assert model.expectations_.recall == same.expectations_.recall
command("compare", "--methods", "BCE,logistic", "--repetitions", "1", "--epochs", "20")
installed = sorted(each.name for each in importlib.metadata.distributions())
print(f"astralearn {version} works in an environment of {len(installed)} packages:", *installed)
