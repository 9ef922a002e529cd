import numpy as np
import pytest

from oracles import exact, points


@pytest.fixture(scope="session", params=[np.float64, np.float32], ids=["float64", "float32"])
def sample(request):
    """Logits, slopes, and what mpmath makes of them."""
    x, b = points(800, request.param)
    return x, b, [exact(float(a), float(c)) for a, c in zip(x, b, strict=True)]
