import pytest

from astralearn.core.weight_decay import weight_decay_for


@pytest.mark.parametrize(("positives", "decay"), [(1, 1.0), (5, 1.0), (20, 0.25), (5e6, 1e-6)])
def test_five_shared_out_among_the_positives(positives, decay):
    assert weight_decay_for(positives) == pytest.approx(decay)
