"""Kills a study again and again at random moments, then lets it finish. Run by test_run.py in an
interpreter of its own.

A child is forked for every attempt, so that twenty of them need one import of scikit-learn, not
twenty.

usage: kill_and_resume.py FILE KILLS JOBS SEED
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import joblib
import numpy as np

from astralearn.datasets import Problem
from astralearn.study import Method, Plan, StudyError, read_records, run
from classifiers import Nearest, Raising, Stacked


def plan():
    values = np.random.default_rng(0)
    y = (np.arange(151) < 7).astype(np.int8)
    data = Problem("p", values.normal(size=(151, 2)) + y[:, None], y)
    methods = [
        Method("nearest", Nearest(noise=1.0, seconds=0.02)),
        Method("stacked", Stacked(noise=1.0, seconds=0.005), validates=True),
        Method("raising", Raising(seconds=0.02)),
    ]
    return Plan([data], methods, folds=5, repetitions=10, stack=5)


def records(path):
    try:
        return len(read_records(path))
    except StudyError:  # the child has not come so far as to make its tables
        return 0


def main(path, kills, jobs, seed):
    work, moments = plan(), random.Random(seed)
    work.units()  # imports what a child would otherwise import every time
    if jobs > 1:
        joblib.parallel_config(
            backend="loky", idle_worker_timeout=3
        )  # orphans of a killed run need not linger
    for _ in range(kills):
        child = os.fork()
        if child == 0:
            run(work, path, n_jobs=jobs)
            os._exit(3)  # too early: the parent meant to kill it
        # By progress and then by the clock, so that the moments are spread over the whole study on
        # fast and slow machines alike.
        enough = records(path) + moments.randrange(0, 9)
        while records(path) < enough:
            time.sleep(0.002)
        time.sleep(moments.uniform(0.0, 0.05))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(
            f"killed at {records(path)}"
            if os.WIFSIGNALED(status)
            else "finished before it was killed",
            flush=True,
        )
    run(work, path, n_jobs=jobs)
    print("finished", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
