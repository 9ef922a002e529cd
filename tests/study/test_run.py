import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from astralearn.datasets import Problem, Redraw, TooFewPositivesError
from astralearn.study import (
    InUseError,
    Method,
    MismatchError,
    Plan,
    every_method,
    every_problem,
    kept,
    read_records,
    read_sessions,
    run,
    versions,
)
from astralearn.study.record import Outcome, Record
from astralearn.study.store import Store
from classifiers import Nearest, Raising, Stacked

pytestmark = pytest.mark.slow

# Everything a study must agree in: times are measured, not decided.
DECIDED = [field.name for field in fields(Record) if field.name != "fit_seconds"]
CONTENT = {
    "settings": "SELECT * FROM settings ORDER BY name",
    "records": f"SELECT {', '.join(DECIDED)} FROM records ORDER BY 1, 2, 3, 4",
    "histories": "SELECT * FROM histories ORDER BY 1, 2, 3, 4, 5",
}


def content(path):
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {name: database.execute(query).fetchall() for name, query in CONTENT.items()}


def problem(name="p", **options):
    y = (np.arange(120) < 6).astype(np.int8)
    return Problem(name, np.random.default_rng(0).normal(size=(120, 2)) + y[:, None], y, **options)


METHODS = [
    Method("nearest", Nearest(noise=1.0)),
    Method("stacked", Stacked(noise=1.0), validates=True),
    Method("raising", Raising()),
]


def plan(**options):
    return Plan(
        **{"problems": [problem()], "methods": METHODS, "repetitions": 2, "stack": 4, **options}
    )


def test_every_problem_method_repetition_and_fold_has_one_record_in_the_plans_order(tmp_path):
    work = plan(problems=[problem("z"), problem("a", redraw=Redraw(5, 60))])
    found = [(r.problem, r.method, r.repetition, r.fold) for r in run(work, tmp_path / "s.sqlite")]
    names = [m.name for m in METHODS]
    assert found == [
        (p, m, r, f) for p in ("z", "a") for m in names for r in range(2) for f in range(5)
    ]


def test_progress_counts_folds_and_names_the_current_unit(tmp_path):
    seen = []
    run(plan(), tmp_path / "s.sqlite", progress=seen.append)
    assert [p.done for p in seen] == [*range(11), 14, 18, 20, *range(21, 31)]
    assert {p.total for p in seen} == {30}
    assert seen[0][2:4] == ("p", "nearest")
    assert seen[10][2:4] == ("p", "stacked")
    assert seen[-1][2:5] == ("", "", 0.0)


def test_a_finished_study_runs_nothing(tmp_path):
    first = run(plan(), tmp_path / "s.sqlite")
    calls, seen = Stacked.calls, []
    assert run(plan(), tmp_path / "s.sqlite", progress=seen.append) == first
    assert Stacked.calls == calls
    assert seen == [(30, 30, "", "", 0.0, [])]
    assert len(read_sessions(tmp_path / "s.sqlite")) == 1


def test_an_interrupted_study_continues(tmp_path):
    def stop(progress):
        if progress.done >= 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(plan(), tmp_path / "s.sqlite", progress=stop)
    assert len(read_records(tmp_path / "s.sqlite")) == 14
    seen = []
    run(plan(), tmp_path / "s.sqlite", progress=seen.append)
    assert seen[0].done == 14
    run(plan(), tmp_path / "whole.sqlite")
    assert content(tmp_path / "s.sqlite") == content(tmp_path / "whole.sqlite")
    assert len(read_sessions(tmp_path / "s.sqlite")) == 2


def test_methods_and_problems_may_be_added(tmp_path):
    run(plan(methods=METHODS[:1]), tmp_path / "s.sqlite")
    run(plan(problems=[problem(), problem("q")]), tmp_path / "s.sqlite")
    run(plan(problems=[problem(), problem("q")]), tmp_path / "whole.sqlite")
    assert content(tmp_path / "s.sqlite") == content(tmp_path / "whole.sqlite")


def test_a_fold_that_lacked_something_runs_again(tmp_path):
    whole = run(plan(methods=METHODS[:1]), tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as store:
        store.add([Outcome(replace(whole[3], tp=0, fn=1, error="MemoryError: "), {})])
    assert kept(plan(methods=METHODS[:1]), tmp_path / "s.sqlite") == (9, 10)
    again = run(plan(methods=METHODS[:1]), tmp_path / "s.sqlite")
    assert [replace(record, fit_seconds=0.0) for record in again] == [
        replace(record, fit_seconds=0.0) for record in whole
    ]


def test_kept_counts_the_plans_own_folds(tmp_path):
    path = tmp_path / "s.sqlite"
    assert kept(plan(), path) == (0, 30)
    run(plan(methods=METHODS[:1]), path)
    assert kept(plan(), path) == (10, 30)
    assert kept(plan(methods=METHODS[1:]), path) == (0, 20)


def test_every_method_that_is_complete_is_found_again(tmp_path):
    def stop(progress):
        if progress.done >= 4:
            raise KeyboardInterrupt

    path = tmp_path / "s.sqlite"
    first = run(plan(methods=METHODS[:1]), path)
    run(plan(problems=[problem("q")], methods=METHODS[:1]), path)
    with pytest.raises(KeyboardInterrupt):
        run(plan(methods=METHODS[1:2]), path, progress=stop)
    last = run(plan(methods=METHODS[2:]), path)
    assert every_method(plan(methods=METHODS[2:]), path) == [*first, *last]


def test_every_problem_on_which_all_methods_are_complete_is_found_again(tmp_path):
    path = tmp_path / "s.sqlite"
    first = run(plan(problems=[problem("q")], methods=METHODS[:2]), path)
    run(plan(problems=[problem("r")], methods=METHODS[:1]), path)
    last = run(plan(methods=METHODS[:2]), path)
    assert sorted(r.key for r in every_problem(plan(methods=METHODS[:2]), path)) == sorted(
        r.key for r in [*first, *last]
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"repetitions": 3}, "its repetitions is 2, now it is 3"),
        ({"seed": 1}, "its seed is 0, now it is 1"),
        (
            {"methods": [Method("nearest", Nearest(noise=2.0))]},
            r"its method nearest is .*noise=1\.0.*now it is .*noise=2\.0",
        ),
        (
            {"problems": [Problem("p", problem().X + 1e-9, problem().y)]},
            "its problem p is 120 rows",
        ),
    ],
)
def test_another_study_in_the_file_is_refused(tmp_path, changes, message):
    run(plan(methods=METHODS[:1]), tmp_path / "s.sqlite")
    before = content(tmp_path / "s.sqlite")
    with pytest.raises(MismatchError, match=message):
        run(plan(**{"methods": METHODS[:1], **changes}), tmp_path / "s.sqlite")
    assert content(tmp_path / "s.sqlite") == before


def test_two_runs_on_one_file(tmp_path):
    with Store(tmp_path / "s.sqlite"), pytest.raises(InUseError):
        run(plan(), tmp_path / "s.sqlite")
    assert len(run(plan(), tmp_path / "s.sqlite")) == 30


def test_two_processes_write_the_same_as_one(tmp_path):
    run(plan(), tmp_path / "one.sqlite")
    run(plan(), tmp_path / "two.sqlite", n_jobs=2)
    assert content(tmp_path / "two.sqlite") == content(tmp_path / "one.sqlite")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the script that kills forks its victims")
@pytest.mark.parametrize(
    ("kills", "jobs"),
    [
        (6, 1),
        pytest.param(20, 1, marks=pytest.mark.long),
        pytest.param(3, 2, marks=pytest.mark.long),
    ],
)
def test_killed_at_random_moments_a_study_ends_as_if_it_had_run_through(tmp_path, kills, jobs):
    script = Path(__file__).parent / "kill_and_resume.py"

    def study(name, kills, jobs):
        command = [sys.executable, script, tmp_path / name, str(kills), str(jobs), "5"]
        # Not through a pipe: workers of a killed run outlive it for a moment and would hold its
        # end. Joblib complains of what they leave.
        with (
            (tmp_path / "said").open("w+") as said,
            (tmp_path / "complaints").open("w") as complaints,
        ):
            subprocess.run(command, check=True, stdout=said, stderr=complaints)
            said.seek(0)
            return said.read().splitlines()

    lines = study("killed.sqlite", kills, jobs)
    assert lines[-1] == "finished"
    assert [line.split(" at ")[0] for line in lines[:-1]] == ["killed"] * kills
    progress = [int(line.split(" at ")[1]) for line in lines[:-1]]
    assert progress == sorted(progress)  # nothing that was written is ever lost
    assert 0 < progress[-1] < 150  # the kills came in the midst of it
    assert study("whole.sqlite", 0, 1) == ["finished"]
    assert content(tmp_path / "killed.sqlite") == content(tmp_path / "whole.sqlite")
    assert len(content(tmp_path / "killed.sqlite")["records"]) == 150


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_dask_cluster_of_two_workers_writes_the_same(tmp_path, processes):
    distributed = pytest.importorskip("distributed")
    methods = [
        Method("lr", LogisticRegression(class_weight="balanced")),
        Method("dummy", DummyClassifier()),
    ]
    run(plan(methods=methods), tmp_path / "here.sqlite")
    with (
        # Any port will do: another test may have a cluster too.
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=processes
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        seen = []
        run(plan(methods=methods), tmp_path / "there.sqlite", progress=seen.append)
    assert [p.done for p in seen] == list(range(21))
    assert content(tmp_path / "there.sqlite") == content(tmp_path / "here.sqlite")


def test_versions_are_stored_with_the_run(tmp_path):
    run(plan(methods=METHODS[:1]), tmp_path / "s.sqlite")
    ((_, stored),) = read_sessions(tmp_path / "s.sqlite")
    assert stored == versions()
    assert stored["numpy"] == np.__version__
    assert "python" in stored


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"methods": []}, ValueError, "at least one method"),
        ({"problems": [problem(), problem()]}, ValueError, "no name twice"),
        ({"repetitions": 0}, ValueError, "`repetitions` must be at least 1; found 0"),
        ({"folds": 2}, ValueError, "a method that validates needs at least 3 folds"),
        ({"folds": 7}, TooFewPositivesError, "fewer than 7 folds"),
    ],
)
def test_impossible_plans_are_refused_before_anything_runs(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        run(plan(**options), tmp_path / "s.sqlite")
    assert not (tmp_path / "s.sqlite").exists()


def test_a_budget_keeps_what_is_done_and_every_method_has_its_first_repetition_first(tmp_path):
    methods = [Method("quick", Nearest()), Method("slow", Nearest(seconds=0.3))]
    work = plan(methods=methods, repetitions=40, stack=1, by_repetition=True)
    assert [unit.splits[0].repetition for unit in work.units()][:20] == [0] * 10 + [1] * 10
    made = run(work, tmp_path / "s.sqlite", n_jobs=1, budget=3.0)
    assert 0 < len(made) < 400
    assert len(read_records(tmp_path / "s.sqlite")) == len(made)
    whole = every_method(work, tmp_path / "s.sqlite")
    assert {(r.method, r.repetition) for r in whole if r.method == "slow"} <= {
        ("slow", i) for i in range(3)
    }
    assert all(
        sum((o.method, o.repetition) == (r.method, r.repetition) for o in whole) == 5 for r in whole
    )


def test_positives_are_ranked_among_the_negatives_of_their_fold(tmp_path):
    records = run(plan(methods=[Method("nearest", Nearest())]), tmp_path / "s.sqlite")
    rows = [p.row for r in records if r.repetition == 0 for p in r.positives()]
    assert sorted(rows) == list(range(6))
    for record in records:
        assert sum(p.found for p in record.positives()) == record.tp
        assert all(0 <= p.above <= record.tn + record.fp for p in record.positives())
        # What is found lies above the cut, so no more than the false alarms lie above it.
        assert all(p.above <= record.fp for p in record.positives() if p.found)
