import numpy as np
import pytest

from astralearn.report.charts import (
    BOTTOM,
    LEFT,
    MOST_POINTS,
    RIGHT,
    TOP,
    Axis,
    Series,
    around,
    chart,
)


def places(points):
    return np.array([pair.split(",") for pair in points.split()], dtype=float)


def test_ends_of_the_axes_are_the_corners():
    x = np.array([0.0, 10.0])
    drawn = chart("t", {"a": Series(x, np.array([0.0, 1.0]))}, x=Axis(0, 10), y=Axis(0, 1))
    assert places(drawn.lines[0].points).tolist() == [[LEFT, BOTTOM], [RIGHT, TOP]]
    assert drawn.lines[0].outline == ""


def test_a_band_goes_there_and_back():
    x = np.array([0.0, 1.0])
    band = np.array([[0.0, 0.0], [1.0, 0.5]])
    drawn = chart("t", {"a": Series(x, x, band)}, x=Axis(0, 1), y=Axis(0, 1))
    middle = (TOP + BOTTOM) / 2
    assert places(drawn.lines[0].outline).tolist() == [
        [LEFT, BOTTOM], [RIGHT, BOTTOM], [RIGHT, middle], [LEFT, TOP],
    ]  # fmt: skip


def test_logarithms_are_evenly_spaced_and_values_beyond_lie_at_the_ends():
    axis = Axis(0.01, 100.0, is_log=True)
    assert axis.share(np.array([0.0, 0.01, 1.0, 1e9])).tolist() == pytest.approx([0, 0, 0.5, 1])


def test_axes_hold_what_is_finite():
    assert around([np.array([1.0, np.nan, 3.0])]) == Axis(1.0, 3.0)
    assert around([np.array([2.0, 2.0])]) == Axis(1.5, 2.5)
    assert around([np.array([0.0, 0.02, 7.0])], is_log=True) == Axis(0.01, 10.0, is_log=True)
    assert around([np.array([np.nan])]).low < around([np.array([np.nan])]).high


def test_long_series_are_thinned_to_their_ends():
    x = np.arange(10_000.0)
    drawn = chart("t", {"a": Series(x, x)}, x=Axis(0, 9_999), y=Axis(0, 9_999))
    found = places(drawn.lines[0].points)
    assert len(found) == MOST_POINTS
    assert found[0].tolist() == [LEFT, BOTTOM]
    assert found[-1].tolist() == [RIGHT, TOP]
