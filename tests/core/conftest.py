import functools

import numpy as np
import pytest

from oracles import exact, points


@functools.cache
def judged(dtype):
    """Kept, because pytest makes a fixture anew whenever its parameter changes."""
    x, b = points(800, dtype)
    return x, b, [exact(float(a), float(c)) for a, c in zip(x, b, strict=True)]


@pytest.fixture(scope="session", params=[np.float64, np.float32], ids=["float64", "float32"])
def sample(request):
    """Logits, slopes, and what mpmath makes of them."""
    return judged(request.param)
