"""The curves a figure holds are those of the paper; whether they can be read was judged by eye."""

import subprocess
import sys

import numpy as np
import pytest

from astralearn.study import LADDER

pytestmark = pytest.mark.slow

figures = pytest.importorskip("astralearn.report.figures", reason="matplotlib is not installed")


def lines(panel):
    return {
        line.get_label(): line.get_xydata()
        for line in panel.get_lines()
        if not line.get_label().startswith("_")
    }


def test_figure_1_passes_through_its_thresholds():
    curve, derivative = figures.figure_1().axes
    for label, points in lines(curve).items():
        tau = float(label.split()[2])
        assert np.interp(0.0, *points.T) == pytest.approx(tau, abs=1e-6)
    assert len(lines(curve)) == len(lines(derivative)) == 3
    for points in lines(derivative).values():
        x, y = points.T
        assert abs(x[y.argmax()]) < 0.01  # steepest at 0


def test_figure_2_crosses_where_the_paper_says():
    left, right = figures.figure_2().axes
    for panel, crossing in ((left, 0.0), (right, np.log((2**7.396 - 1) / 7.396) / 7.396)):
        zero, one = lines(panel)["target 0"], lines(panel)["target 1"]
        gap = zero[:, 1] - one[:, 1]
        assert np.interp(0.0, gap, zero[:, 0]) == pytest.approx(crossing, abs=1e-3)
    assert len(right.patches) == 1
    assert len(left.patches) == 0


def test_figure_3_crosses_at_tau():
    (panel,) = figures.figure_3().axes
    drawn = lines(panel)
    for tau in (0.5, 0.25, 0.05):
        z = drawn[f"z, τ = {tau}"]
        assert np.interp(tau, *z.T) == pytest.approx(0.5, abs=1e-6)
        np.testing.assert_allclose(drawn[f"1 − z, τ = {tau}"][:, 1], 1 - z[:, 1])


def history(values):
    return {"epoch": np.array([1.0, 50.0, 100.0]), "e_ratio": np.array(values)}


def test_figure_4_is_the_mean_logarithm_on_a_log_axis():
    drawn = figures.figure_4(
        {
            "BCE": [history([1e4, 1e3, 1e2]), history([1e6, 1e5, 1e4])],
            "GMN": [history([10, 1, 0.1])],
        },
        "skin-4000",
    )
    (panel,) = drawn.axes
    assert panel.get_yscale() == "log"
    np.testing.assert_allclose(lines(panel)["BCE"][:, 1], [1e5, 1e4, 1e3], rtol=1e-6)
    assert list(lines(panel)) == ["BCE", "GMN"]
    band, _ = panel.collections
    edges = band.get_paths()[0].vertices[:, 1]
    # Between two folds a tenth lies a tenth of the way.
    assert (edges.min(), edges.max()) == pytest.approx((10**2.2, 10**5.8), rel=1e-5)
    assert panel.get_xlabel() == "epoch"
    assert "e-ratio" in panel.get_ylabel()


def test_every_rung_has_a_line_of_its_own():
    assert len(set(figures.COLOURS)) == len(figures.COLOURS) >= len(LADDER)
    assert len(set(figures.DASHES)) == len(figures.DASHES) >= len(LADDER)


def test_dollars_in_names_are_no_formula(tmp_path):
    figures.save(
        figures.figure_4({"$x^^$": [history([1, 2, 3])]}, "v$1$x^^ a$_$b"), tmp_path / "figure"
    )
    assert (tmp_path / "figure.png").stat().st_size > 0


def test_an_e_ratio_without_a_logarithm_is_held_at_the_edge():
    _, ratio, *_ = figures.e_ratio_over_folds([history([0.0, np.inf, np.nan])])
    np.testing.assert_allclose(ratio, [1e-12, 1e12, 1.0])


def test_no_history_no_figure_4():
    assert figures.figure_4({}, "p") is None
    assert figures.figure_4({"lr": [{}]}, "p") is None


def test_saved_twice_alike(tmp_path):
    for name in ("one", "two"):
        figures.save(figures.figure_3(), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_without_matplotlib_the_extra_is_named():
    code = "import sys; sys.modules['matplotlib'] = None; import astralearn.report.figures"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    ).stderr.splitlines()[-1]
    assert said.startswith("ModuleNotFoundError: figures need matplotlib (")
    assert said.endswith("pip install 'astralearn[report]'")
