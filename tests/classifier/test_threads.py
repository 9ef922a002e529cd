import warnings

import pytest

from astralearn.classifier import threads
from rare_problems import quick, rare


def test_a_message_about_processes_is_kept_from_users_of_threads(monkeypatch):
    def effective(n_jobs):
        warnings.warn(
            "Loky-backed parallel loops cannot be called in a multiprocessing, setting n_jobs=1",
            stacklevel=2,
        )
        return abs(n_jobs)

    monkeypatch.setattr("joblib.effective_n_jobs", effective)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick().fit(*rare(60))


@pytest.mark.parametrize(
    ("n_jobs", "parent", "expected"),
    [(None, None, 8), (-1, None, 8), (-2, None, 7), (-9, None, 1), (None, 1, 1), (3, 1, 3)],
)
def test_how_many_threads_there_are_is_found_without_touching_the_filters_of_warnings(
    n_jobs, parent, expected, monkeypatch
):
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    monkeypatch.setattr("multiprocessing.parent_process", lambda: parent)
    with monkeypatch.context() as patch:
        patch.setattr(
            "warnings.catch_warnings",
            lambda *_, **__: pytest.fail("other threads lose their filters"),
        )
        found = threads.threads(n_jobs)
    assert found == expected


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        quick(n_jobs=0).fit(*rare(60))
