import jax
import numpy as np
import pytest

from oracles import exact, points


@pytest.fixture(scope="session", params=[np.float64, np.float32], ids=["float64", "float32"])
def sample(request):
    """Logits, slopes, and what mpmath makes of them."""
    x, b = points(1500, request.param)
    return x, b, [exact(float(a), float(c)) for a, c in zip(x, b, strict=True)]


@pytest.fixture(scope="module", autouse=True)
def _compiled_is_given_back():
    """JAX keeps every program that it compiled, here a gigabyte of them."""
    yield
    jax.clear_caches()
