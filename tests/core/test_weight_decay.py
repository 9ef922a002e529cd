import pytest

from astralearn.core.weight_decay import weight_decay_for


@pytest.mark.parametrize(("positives", "decay"), [(1, 0.3), (10, 0.3), (20, 0.15), (3e6, 1e-6)])
def test_three_shared_out_among_the_positives(positives, decay):
    assert weight_decay_for(positives) == pytest.approx(decay)
