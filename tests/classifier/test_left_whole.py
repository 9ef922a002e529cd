import pytest

from astralearn.classifier.left_whole import left_whole


class Model:
    def __init__(self):
        self.fitted = 1


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_changes_nothing(error):
    model = Model()

    def fit():
        with left_whole(model):
            model.fitted, model.extra = 2, 3
            raise error

    with pytest.raises(error):
        fit()
    assert vars(model) == {"fitted": 1}


def test_a_block_that_ends_well_is_kept():
    model = Model()
    with left_whole(model):
        model.fitted = 2
        del model.fitted
        model.extra = 3
    assert vars(model) == {"extra": 3}
