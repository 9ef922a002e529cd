import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from astralearn import cli
from astralearn.cli_tables import _share, decision
from astralearn.tabular import TabularASTraClassifier

ROWS = 400


def ran(capsys, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table as a bank may send it: semicolons, decimal commas, cp1252."""
    folder = tmp_path_factory.mktemp("cli")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "amount": random.lognormal(3, 0.5, ROWS).round(2),
            "age": random.normal(40, 10, ROWS).round(1),
            "größe": random.choice(["klein", "groß"], ROWS),
            "fraud": np.where(np.arange(ROWS) < 8, "ja", "nein"),
        }
    )
    frame.loc[:7, "amount"] += 900
    frame.to_csv(folder / "cards.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    frame.drop(columns="fraud").to_parquet(folder / "new.parquet")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "cards.astra"
    arguments = ["fit", str(folder / "cards.csv"), "--target", "fraud", "--drop", "age"]
    assert cli.main([*arguments, "--out", str(path)]) == 0
    return path


@pytest.mark.slow
def test_from_a_table_to_decisions_in_three_commands(folder, model, capsys):
    code, out, err = ran(capsys, "show", model)
    assert (code, err) == (0, "")
    assert "`cards.csv`, 400 rows, 8 of them positive" in out
    assert (folder / "cards.astra.md").read_text() in out
    scored = folder / "scored.csv"
    code, out, err = ran(
        capsys,
        "score",
        model,
        folder / "new.parquet",
        "--out",
        scored,
        "--share",
        "2%",
        "--explain",
    )
    assert (code, err) == (0, "")
    assert "400 rows, 8 flagged, 0 not scored" in out
    frame = pd.read_csv(scored)
    assert (frame["flag"][:8] == 1).all()
    assert frame["reasons"][:8].str.startswith("amount ").all()
    code, out, err = ran(capsys, "suggest", model, folder / "new.parquet", "-n", 3)
    assert code == 0
    assert out.splitlines()[0] == "row,amount,age,größe,risk,reasons"
    assert len(out.splitlines()) == 4
    assert err.endswith("positives expected among all rows\n")
    code, out, _ = ran(
        capsys, "suggest", model, folder / "new.parquet", "-n", 3, "--out", folder / "look.csv"
    )
    assert (code, out, len(pd.read_csv(folder / "look.csv"))) == (0, "", 3)


@pytest.mark.slow
def test_exit_codes(folder, model, tmp_path, capsys):
    out = tmp_path / "out.csv"
    for arguments, expected, message in [
        (["score", model, tmp_path / "none.csv", "--out", out], 3, "no such file"),
        (["score", tmp_path / "none", folder / "new.parquet", "--out", out], 11, "no such file"),
        (
            ["score", folder / "cards.csv", folder / "new.parquet", "--out", out],
            11,
            "no model file",
        ),
        (
            ["score", model, folder / "new.parquet", "--out", "/nowhere/o.csv"],
            12,
            "cannot be written",
        ),
        (
            ["score", model, folder / "new.parquet", "--out", out, "--top", 1, "--share", "1%"],
            2,
            "--top, --share and costs exclude each other",
        ),
        (["fit", folder / "cards.csv", "--target", "x", "--out", out], 4, "no column 'x'"),
        (["suggest", model, folder / "new.parquet", "-n", 0], 2, "must be at least 1"),
    ]:
        code, _, err = ran(capsys, *arguments)
        assert code == expected, err
        assert message in err
        assert not out.exists()


def test_a_table_is_not_written_over_by_what_is_learned_from_it(folder, model, tmp_path, capsys):
    cards, pool = tmp_path / "cards.csv", tmp_path / "new.parquet"
    for path in (cards, pool):
        path.write_bytes((folder / path.name).read_bytes())
    code, _, err = ran(capsys, "fit", cards, "--target", "fraud", "--out", cards)
    assert (code, err) == (
        12,
        f"astralearn: {cards} is the table that is read: use another --out\n",
    )
    code, _, err = ran(capsys, "suggest", model, pool, "--out", tmp_path / "." / "new.parquet")
    assert code == 12
    assert "is the table that is read" in err
    for path in (cards, pool):
        assert path.read_bytes() == (folder / path.name).read_bytes()


def test_suggestions_that_have_a_column_of_their_rows_already(folder, model, tmp_path, capsys):
    pd.read_parquet(folder / "new.parquet").assign(row=1).to_parquet(tmp_path / "new.parquet")
    for out in ([], ["--out", tmp_path / "look.csv"]):
        code, _, err = ran(capsys, "suggest", model, tmp_path / "new.parquet", *out)
        assert (code, "the table has a column 'row' already" in err) == (2, True)


def test_what_was_assumed_is_said(folder, capsys, monkeypatch):
    fitted = []

    def fit(self, X, y):
        fitted.append((X, y))
        raise ValueError("enough")

    monkeypatch.setattr(TabularASTraClassifier, "fit", fit)
    code, _, err = ran(
        capsys, "fit", folder / "cards.csv", "--target", "fraud", "--out", folder / "x"
    )
    assert (code, err) == (2, "astralearn: enough\n")
    ((X, y),) = fitted
    assert X.columns.tolist() == ["amount", "age", "größe"]
    assert X["amount"].dtype == float
    assert y.value_counts().to_dict() == {"nein": 392, "ja": 8}


def test_shares_and_decisions():
    assert _share("1%") == _share("0.01") == 0.01
    assert decision("mcc") == "mcc"
    assert decision("alerts=0.01") == {"alerts": 0.01}
    assert decision("cost=yes:100,no:1") == {"cost": {"yes": 100.0, "no": 1.0}}


# No file may grow beyond so many bytes, which is how a full disk looks.
FULL = """
import resource, sys
from astralearn.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(folder, model, tmp_path):
    scored = tmp_path / "scored.csv"
    scored.write_text("old")
    command = [sys.executable, "-c", FULL, "score", model, folder / "new.parquet", "--out", scored]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 12
    assert ran.stderr == (
        f"astralearn: {scored} cannot be written (File too large): use another --out\n"
    )
    assert scored.read_text() == "old"
    assert os.listdir(tmp_path) == ["scored.csv"]


@pytest.mark.slow
def test_a_closed_pipe_ends_quietly(folder, model):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "astralearn", "suggest", model, folder / "new.parquet"]
    ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
