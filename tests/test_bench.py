"""The benchmark as a function and as a verb, on three tiny problems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from astralearn import bench as module
from astralearn.bench import bench, plan_bench
from astralearn.cli import main
from astralearn.datasets import Problem, UnavailableError
from astralearn.datasets.rarebench import OPEN, SEALED
from astralearn.study import Method
from astralearn.study.draws import Drawing

pytestmark = pytest.mark.slow

METHODS = [Method("logistic", LogisticRegression()), Method("neighbours", KNeighborsClassifier())]


def tiny(name: str, shift: float) -> Problem:
    random = np.random.default_rng(len(name))
    y = np.repeat(np.array([1, 0], dtype=np.int8), [40, 300])
    return Problem(name, random.normal(size=(340, 3)) + shift * y[:, None], y)


PROBLEMS = [tiny("easy", 3.0), tiny("middle", 1.5), tiny("hard", 0.5)]


def test_three_tiny_problems_give_a_table_and_a_page(tmp_path: Path) -> None:
    found = bench(PROBLEMS, methods=METHODS, ks=(5, 10), draws=2, out=tmp_path, n_jobs=1)
    assert len(found.records) == 3 * 2 * 2 * 2
    assert [str(row[0]) for row in found.table.rows] == ["logistic", "neighbours"]
    page = (tmp_path / "leaderboard.html").read_text(encoding="utf-8")
    assert "easy" in page
    assert "LogisticRegression(C=1.0" in page
    again = bench(PROBLEMS, methods=METHODS[:1], ks=(5, 10), draws=2, out=tmp_path, n_jobs=1)
    assert len(again.records) == len(found.records), "methods of earlier runs stay in the ranking"


@pytest.mark.parametrize(("name", "number"), [("draws", 0), ("ks", [])])
def test_nothing_is_not_the_default(tmp_path: Path, name: str, number: object) -> None:
    with pytest.raises(ValueError, match=name):
        plan_bench(PROBLEMS, methods=METHODS, out=tmp_path, **{name: number})


def test_quick_is_a_third_of_the_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_problem", lambda name: tiny(name, 1.0))
    planned = plan_bench("sealed", methods=METHODS, quick=True, out=tmp_path)
    assert [problem.name for problem in planned.plan.problems] == SEALED[::3]
    assert (tuple(planned.plan.ks), planned.plan.draws) == ((5, 20), 2)
    assert planned.plan.drawing == module.QUICK_DRAWING
    whole = plan_bench(methods=METHODS, out=tmp_path)
    assert [problem.name for problem in whole.plan.problems] == OPEN
    assert whole.plan.drawing == Drawing()
    assert whole.command == "astralearn bench --open --methods logistic,neighbours"
    named = plan_bench(["digits-3", "chess"], ks=(5, 20), draws=1, quick=True, out=tmp_path)
    assert named.command == (
        "astralearn bench --problems digits-3,chess --k 5,20 --draws 1 --quick"
    )


def test_tables_that_cannot_be_had_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> Problem:
        if name == "digits-3":
            raise UnavailableError("could not download it. Put it there.")
        return tiny(name, 1.0)

    monkeypatch.setattr(module, "load_problem", load)
    planned = plan_bench(["digits-3", "phoneme"], methods=METHODS, ks=(50,), out=tmp_path)
    assert planned.notes == (
        "digits-3 was left out: could not download it",
        "phoneme has 40 positives, too few for k = 50",
    )


def test_verb_says_what_it_needs_and_shows_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--problems", "breast-cancer"]) == 2
    assert "(--out)" in capsys.readouterr().err
    arguments = ["bench", "--problems", "breast-cancer", "--methods", "logistic,LDA", "--k", "5"]
    assert main([*arguments, "--draws", "1", "--jobs", "1", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "RareBench by AP" in printed
    assert "leaderboard.html" in printed
    assert main(["bench", "--problems", "nothing", "--out", str(tmp_path)]) == 3


@pytest.mark.parametrize(
    ("flags", "problems"), [([], "open"), (["--sealed"], "sealed"), (["--open"], "open")]
)
def test_without_a_half_it_is_the_open_one(
    flags: list[str], problems: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def planned(**arguments: object) -> None:
        asked.append(arguments["problems"])
        raise UnavailableError("enough")

    monkeypatch.setattr(module, "plan_bench", planned)
    assert main(["bench", "--quick", *flags, "--out", str(tmp_path)]) != 0
    assert asked == [problems]
