import numpy as np
import pytest

from astralearn.tabular.choosing import FlagRule, suggested_rows


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (FlagRule(top=1, share=0.1), "exclude each other"),
        (FlagRule(top=-1), "`top` must be at least 0; found -1"),
        (FlagRule(share=1.5), "`share` must lie between 0 and 1; found 1.5"),
        (FlagRule(cost_miss=5), "`cost_alarm` must be above 0; found None"),
        (FlagRule(cost_miss=5, cost_alarm=np.inf), "`cost_alarm` must be finite; found inf"),
    ],
)
def test_rules_that_are_none(rule, message):
    with pytest.raises(ValueError, match=message):
        rule.check()


def test_suggested_rows_are_distinct():
    chosen = suggested_rows(np.random.default_rng(0).normal(size=50), 50)
    assert sorted(chosen) == list(range(50))
