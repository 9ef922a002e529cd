"""The leaderboard: what it shows, without and with a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from astralearn.report import to_markdown
from astralearn.report.leaderboard import NAME_HEIGHT, _apart, leaderboard_page, rank_table
from astralearn.study.draw_record import DRAW_SCORES, DrawRecord
from astralearn.study.draw_unit import BEST

PROBLEMS = ["digits-3", "gauss-shift", "my table"]
QUALITY = {"good": 0.9, "fair": 0.8, "<poor>": 0.6}


def record(problem: str, method: str, k: int, draw: int, auc: float) -> DrawRecord:
    return DrawRecord(
        problem=problem,
        method=method,
        k=k,
        draw=draw,
        negatives=1_000,
        tn=900,
        fp=100,
        fn=20,
        tp=int(80 * auc),
        average_precision=auc / 2,
        auc=auc,
        top_recall=auc / 3,
        fit_seconds=2 - auc,
        predict_seconds=0.1,
    )


@pytest.fixture(scope="module")
def records() -> list[DrawRecord]:
    made = [
        record(problem, method, k, draw, auc + k / 1_000 + draw / 500)
        for problem in PROBLEMS
        for k in (5, 20)
        for draw in (0, 1)
        for method, auc in QUALITY.items()
    ]
    best = [record("gauss-shift", BEST, k, draw, 0.95) for k in (5, 20) for draw in (0, 1)]
    failed = DrawRecord(**{**vars(made[2]), "error": "ValueError: a <b> too few"})
    return [*made[:2], failed, *made[3:], *best]


@pytest.fixture(scope="module")
def page(records: list[DrawRecord]) -> str:
    return leaderboard_page(
        records,
        settings={name: f"Classifier({name})" for name in QUALITY},
        versions={"numpy": "2.4"},
        command="astralearn bench --open",
    )


def test_page_is_one_file_that_asks_nothing_of_the_network(page: str) -> None:
    assert not re.findall(r"(?:src|href)\s*=|@import|url\(|fetch\(|https?://", page)


def test_page_shows_every_score_k_problem_method_and_failure(page: str) -> None:
    for score in DRAW_SCORES:
        for k in ("all", "5", "20"):
            assert page.count(f'data-score="{score}" data-k="{k}"') == 2
    for shown in ("digits-3", "real, open", "synthetic, open", "of your own", "numpy 2.4"):
        assert shown in page
    assert "ValueError: a &lt;b&gt; too few" in page
    assert "<poor>" not in page
    assert "Classifier(good)" in page
    assert "n is 3 problems; 6 cases" in page
    assert "Share of what is attainable" in page


def test_table_is_in_the_order_of_ranks(records: list[DrawRecord]) -> None:
    table = rank_table(records, "auc")
    methods = [str(row[0]) for row in table.rows]
    assert methods == ["good", "fair", "<poor> †"]
    assert [row[-1] for row in table.rows] == ["0/0", "0/6", "0/6"]
    assert "failed on 1 draws, which score zero" in to_markdown(table)


def test_names_beside_a_chart_do_not_overlap() -> None:
    heights = _apart([100.0, 101.0, 99.0, 240.0, 249.0, 20.0])
    gaps = np.diff(sorted(heights))
    assert gaps.min() >= NAME_HEIGHT - 0.1
    assert heights[5] < heights[2] < heights[0] < heights[1] < heights[3] < heights[4]


@pytest.mark.slow
def test_browser_shows_one_score_and_hides_the_others(page: str, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    path = tmp_path / "leaderboard.html"
    path.write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    shown = subprocess.run(
        [browser, *options, "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    sections = re.findall(r'<section class="panel"[^>]*>', shown)
    visible = [section for section in sections if "hidden" not in section]
    assert len(sections) == 2 * len(DRAW_SCORES) * 3
    assert len(visible) == 2
    assert all('data-score="average_precision" data-k="all"' in section for section in visible)
    assert '<html lang="en" class="js">' in shown
    picture = tmp_path / "page.png"
    subprocess.run(
        [browser, *options, f"--screenshot={picture}", "--window-size=900,1200", path.as_uri()],
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert picture.stat().st_size > 20_000
