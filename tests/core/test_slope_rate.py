import numpy as np
import pytest

from astralearn.core import slope_rate
from namespaces import NAMESPACES


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
def test_equation_ten(space):
    rate = np.asarray([0.01, 0.1, 0.48, 0.5, 0.01, 0.0101, 0.3, 0.2])
    e_ratio = np.asarray([2.0, 1.1, 5.0, 5.0, 0.5, 0.5, 0.5, 1.0])
    expected = [0.011, 0.11, 0.5, 0.5, 0.01, 0.01, 0.297, 0.2]
    with space.double():
        np.testing.assert_allclose(
            space.numpy(slope_rate(space.asarray(rate), space.asarray(e_ratio), **space.options)),
            expected,
            rtol=1e-12,
        )


def test_bounds_and_steps_are_the_callers():
    assert float(slope_rate(1.0, 2.0, maximum=3.0, growth=2.0)) == 2.0
    assert float(slope_rate(1.0, 0.5, minimum=0.1, maximum=3.0, decay=0.5)) == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, r"rate must be finite and above 0; found 0\.0"),
        ({"e_ratio": -1.0}, r"e_ratio must be at least 0; found -1\.0"),
        ({"minimum": 0.6}, r"0 < minimum <= maximum; found 0\.6 and 0\.5"),
        ({"growth": 0.9}, r"growth must be at least 1; found 0\.9"),
        ({"decay": 0.0}, r"decay must be in \(0, 1\]; found 0\.0"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        slope_rate(**{"rate": 0.01, "e_ratio": 1.0, **options})
