import numpy as np
import pytest

import astralearn.core
from astralearn.core import LOSSES


@pytest.mark.parametrize("name", LOSSES)
def test_each_loss_of_the_table_has_its_two_functions(name):
    g, y = np.asarray([[-2.0, 0.5], [0.3, 1.0], [1.5, -3.0]]), np.asarray([[0, 0], [1, 1], [0, 1]])
    weight = np.asarray([[1.0], [2.0], [0.5]])
    for kind, expected in (("loss", LOSSES[name].value), ("gradient", LOSSES[name].gradient)):
        function = getattr(astralearn.core, f"{name}_{kind}")
        np.testing.assert_array_equal(
            function(g, y, weight, axis=0), expected(g, y, weight, axis=0)
        )
        assert function.__doc__
