import mpmath as mp
import numpy as np
import pytest

from astralearn.core.elementary import expm1, log1p, log1p_of_odds, one_minus_exp
from namespaces import NAMESPACES
from oracles import worst_relative_error


def at(dtype, low, high):
    return np.exp(np.linspace(np.log(low), np.log(high), 500)).astype(dtype)


FUNCTIONS = {  # what, of which values, and mpmath's word for it
    "log1p": (log1p, (1e-30, 1e6), mp.log1p),
    "log1p_of_odds": (lambda p, xp: log1p_of_odds(p, 1.0 + p, xp), (1e-30, 1e30), mp.log1p),
    "expm1": (expm1, (1e-30, 80.0), mp.expm1),
    "one_minus_exp": (
        lambda s, xp: one_minus_exp(s, xp.exp(-s), xp),
        (1e-30, 80.0),
        lambda s: -mp.expm1(-s),
    ),
}


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_against_mpmath(space, name, dtype):
    function, (low, high), oracle = FUNCTIONS[name]
    x = at(dtype, low, high)
    with space.double():
        array = space.asarray(x)
        xp = space.xp or __import__("array_api_compat").array_namespace(array)
        got = space.numpy(function(array, xp))
    with mp.workdps(60):
        exact = [oracle(mp.mpf(float(value))) for value in x]
    assert got.dtype == dtype
    assert worst_relative_error(got, exact) <= (4e-14 if dtype == np.float64 else 4e-6)
