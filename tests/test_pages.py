"""The page of a model and of a comparison: what they are made of."""

import re

import numpy as np
import pandas as pd
import pytest

from astralearn import ASTraClassifier
from astralearn.cli import main
from astralearn.compare import compare
from astralearn.pages import explained, model_page
from astralearn.study import Method
from astralearn.tabular import TabularASTraClassifier
from classifiers import Nearest, Stacked

pytestmark = pytest.mark.slow


def cards(rows=400, positives=8):
    rng = np.random.default_rng(0)
    is_fraud = np.arange(rows) < positives
    frame = pd.DataFrame(
        {"amount": rng.normal(size=rows) + 4 * is_fraud, "<i>age": rng.normal(size=rows)}
    )
    frame["fraud"] = np.where(is_fraud, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def model():
    frame = cards()
    small = ASTraClassifier(n_estimators=5, epochs=20, random_state=0)
    return TabularASTraClassifier(small).fit(frame.drop(columns="fraud"), frame["fraud"])


def test_a_models_page_says_what_its_expectations_say(model):
    page = model_page(model, table=cards(), command="astralearn show x")
    expected = page.explorer.expected
    assert expected.recall == model.expectations_.recall
    assert f"{100 * expected.recall.mean:.0f} of 100 positives" in page.verdict[0]
    start = page.explorer.start
    assert expected.curve["cut"][start] == pytest.approx(model.classifier_.cut_)
    assert expected.curve["recall"][0, start] == pytest.approx(expected.recall.mean)
    assert [placed.found for placed in page.positives] == [
        float(v >= model.classifier_.cut_) for v in model.classifier_.left_out_.positives
    ]
    html = page.html()
    assert "astralearn show x" in html
    assert "<i>age" not in html


def test_flagged_rows_have_reasons_and_the_nearest_known_positives(model):
    frame = cards()
    known = frame.iloc[:3]
    rows = explained(
        model, frame, rows=np.arange(100, 500), is_positive=(frame["fraud"] == "yes").to_numpy(),
        known=known, known_rows=[7, 8, 9],
    )  # fmt: skip
    assert rows
    assert [one.risk for one in rows] == sorted((one.risk for one in rows), reverse=True)
    first = rows[0]
    assert first.is_positive is True
    assert first.row == 100 + int(np.argmax(model.predict_risk(frame.drop(columns="fraud"))))
    assert "amount" in first.reasons
    assert set(first.nearest) == {7, 8, 9}
    scaled = frame[["amount", "<i>age"]] / frame[["amount", "<i>age"]].std(ddof=0)
    distance = ((scaled.iloc[:3] - scaled.iloc[first.row - 100]) ** 2).sum(axis=1).to_numpy()
    assert first.nearest == tuple(int(7 + i) for i in np.argsort(distance))


def test_a_model_without_a_committee_has_a_page(model):
    frame = cards()
    networks = ASTraClassifier(committee=False, n_estimators=1, epochs=5, random_state=0)
    fitted = TabularASTraClassifier(networks).fit(frame.drop(columns="fraud"), frame["fraud"])
    page = model_page(fitted)
    assert page.verdict == ["This classifier states no expectations of new rows."]
    assert page.explorer is None
    assert "soft FNR" in page.html()


def test_show_writes_the_page(model, tmp_path, capsys):
    model.save(tmp_path / "m.astra")
    assert main(["show", str(tmp_path / "m.astra"), "--html", str(tmp_path / "report.html")]) == 0
    assert f"Written: {tmp_path / 'report.html'}" in capsys.readouterr().out
    assert "A model of fraud" in (tmp_path / "report.html").read_text()
    assert main(["show", str(tmp_path / "m.astra"), "--data", "x.csv"]) == 2
    assert "--data goes with --html" in capsys.readouterr().err


def test_a_comparisons_page_has_every_section(tmp_path):
    methods = [Method("BCE", Stacked(noise=1.0)), Method("<b>mine", Nearest())]
    found = compare(
        cards(), target="fraud", methods=methods, repetitions=1, n_jobs=1, out=tmp_path,
        decision={"cost": {"yes": 50, "no": 1}},
    )  # fmt: skip
    html = (tmp_path / "report.html").read_text()
    sections = re.findall(r'<section id="([\w-]+)"', html)
    assert sections == [
        "methods", "explorer", "positives", "precision-recall", "training", "rows", "ladder",
        "data", "command",
    ]  # fmt: skip
    assert "<b>mine" not in html
    assert "<i>age" not in html
    assert f"{found.answer.best.score.mean:.3g}" in html
    assert "cost=yes:50,no:1" in html
    placed = {int(row) for row in re.findall(r"row (\d+): ", html)}
    assert placed == set(range(1, 9))
