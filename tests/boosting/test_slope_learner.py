import pytest

from astralearn.boosting.slope_learner import SlopeLearner, inverse_warp
from astralearn.core import rebalanced_logit
from astralearn.core.curve import LARGEST_SLOPE


def learner(**options):
    return SlopeLearner(0.25, **{"learnable": True, "minimum": 0.01, "maximum": 0.5, **options})


def test_a_path_goes_on_from_an_earlier_one_at_its_rate():
    first = learner()
    for _ in range(3):
        first.step(loss_db=-2.0, e_ratio=3.0)
    second = learner(maximum=0.011)
    second.continue_from(first.path, first.rates)
    assert second.path == first.path
    assert second.slope == first.slope
    assert second.rate == 0.011  # Within its own bounds.


def test_rounds_without_a_slope_count_as_the_first():
    one = learner()
    one.continue_after(5)
    assert one.path == [one.slope] * 6
    assert len(one.rates) == 6


def test_steps_that_belong_to_no_tree_are_forgotten():
    one = learner()
    for _ in range(3):
        one.step(loss_db=-2.0, e_ratio=3.0)
    one.forget_after(1)
    assert len(one.path) == len(one.rates) == 2
    assert one.path[-1] == one.slope


def test_a_step_stops_at_the_largest_slope():
    one = learner(maximum=0.5, minimum=0.5)
    one.step(loss_db=-1e30, e_ratio=1.0)
    assert one.slope == LARGEST_SLOPE
    one.step(loss_db=float("nan"), e_ratio=1.0)
    assert one.slope == LARGEST_SLOPE


def test_bounds_that_cross_are_refused():
    with pytest.raises(ValueError, match="slope_rate_min and slope_rate_max must satisfy"):
        learner(minimum=0.5, maximum=0.1)


@pytest.mark.parametrize("g", [-30.0, -1.0, 0.0, 2.0, 25.0])
@pytest.mark.parametrize("slope", [1.0, 7.396, 1e4])
def test_inverse_warp(g, slope):
    assert float(rebalanced_logit(inverse_warp(g, slope), slope)) == pytest.approx(g, abs=1e-9)
