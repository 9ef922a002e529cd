"""Compare methods on the same folds: records, scores, significance, advice.

Any scikit-learn classifier may enter as a `Method`. `run` works through a `Plan` in parallel,
keeps every record in one SQLite file and continues where an earlier run stopped.
"""

from astralearn.study.errors import InUseError, MismatchError, StudyError
from astralearn.study.identity import versions
from astralearn.study.method import Method
from astralearn.study.recommendation import LADDER, Recommendation, recommend, what_n_is
from astralearn.study.record import Record
from astralearn.study.run import Plan, RunProgress, every_method, every_problem, kept, run
from astralearn.study.scores import Interval, Summary, by_method, summarise, wilson
from astralearn.study.significance import Standing, TTest, corrected_t_test, holm, standings
from astralearn.study.splits import Split, make_splits
from astralearn.study.store import (
    methods_in,
    problems_in,
    read_histories,
    read_records,
    read_sessions,
)

__all__ = [
    "InUseError",
    "Interval",
    "LADDER",
    "Method",
    "MismatchError",
    "Plan",
    "Recommendation",
    "Record",
    "RunProgress",
    "Split",
    "Standing",
    "StudyError",
    "Summary",
    "TTest",
    "by_method",
    "corrected_t_test",
    "every_method",
    "every_problem",
    "holm",
    "kept",
    "make_splits",
    "methods_in",
    "problems_in",
    "read_histories",
    "read_records",
    "read_sessions",
    "recommend",
    "run",
    "standings",
    "summarise",
    "versions",
    "what_n_is",
    "wilson",
]
