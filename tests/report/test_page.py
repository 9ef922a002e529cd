"""report.html: what it shows, that data are text in it, and how a browser reads it."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from astralearn.report.charts import LEFT, RIGHT, WIDTH
from astralearn.report.page import Explained, Explorer, Placed, ReportPage, mean_series
from astralearn.study import Record
from astralearn.study.answer import answer
from browser import Browser, chromium
from hostile import HOSTILE


def judged(names=("GMN", "BCE")):
    return answer(
        {
            name: [
                Record(
                    "p", name, 0, fold, 800, 198, 2, int(fold % (2 + place) == 0),
                    int(fold % (2 + place) > 0), 0.5, 0.1,
                    ranks=f"{fold}:{7 * fold}{'+' if fold % (2 + place) else '-'}",
                )
                for fold in range(10)
            ]
            for place, name in enumerate(names)
        }
    )  # fmt: skip


def page_of(name="GMN", **options):
    """A page with every section, all of whose texts are `name`."""
    found = judged((name, "BCE"))
    best = found.best
    expected = best.tested.expectations(best.cut)
    history = {"epoch": np.arange(1, 40), "threshold": np.full(39, 0.2), "e_ratio": np.ones(39),
               "fnr": np.linspace(1, 0, 39)}  # fmt: skip
    given = {
        "title": name, "verdict": [name], "lines": [(name, name)], "answer": found,
        "seconds": {name: 1.0}, "explorer": Explorer(name, expected, best.cut, best.tested.prior),
        "positives": [Placed(3, 0.01, 1.0), Placed(4, 0.5, 0.2)], "negatives": 2000,
        "curves": {name: expected}, "training": {name: [history]},
        "explained": [Explained(9, 0.2, True, name, (3, 4))], "explained_by": name,
        "ladder": [name], "notes": [name], "facts": [(name, name)], "command": name,
        "versions": {name: "1"},
    }  # fmt: skip
    return ReportPage(**{**given, **options})


class Read(HTMLParser):
    """Tags, attributes and text of a page, without its scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.texts, self.inside = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.inside.append(tag)

    def handle_endtag(self, tag):
        self.inside = [open_tag for open_tag in self.inside if open_tag != tag]

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.texts.append(data)


def test_page_is_one_file_that_asks_nothing_of_the_network():
    assert not re.findall(r"(?:src|href)\s*=|@import|url\(|fetch\(|https?://", page_of().html())


@pytest.fixture(scope="module")
def plain():
    return Read(page_of("GMN").html())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name, plain):
    hostile = Read(page_of(name).html())
    assert hostile.tags == plain.tags
    assert {key for key, _ in hostile.attributes} == {key for key, _ in plain.attributes}
    shown = " ".join(" ".join(hostile.texts).split())
    assert shown.count(" ".join(name.split())) >= 12 or "\x1b" in name


def test_the_script_has_the_numbers_that_the_table_shows():
    page = page_of()
    html = page.html()
    data = json.loads(re.search(r'id="cuts">(.*?)</script>', html, re.S)[1])
    expected, explorer = page.explorer.expected, page.explorer
    assert len(data) == len(expected.curve["cut"])
    for place in (0, explorer.start, len(data) - 1):
        recall = expected.curve["recall"][:, place]
        assert data[place]["recall"].startswith(f"{100 * recall[0]:.2g}"[:1])
        prior = explorer.prior
        assert data[place]["missed"] == pytest.approx(1000 * prior * (1 - recall[0]), rel=1e-5)
        alarms = (1 - prior) * expected.curve["false_alarms"][0, place]
        assert data[place]["alarms"] == pytest.approx(alarms, rel=1e-5)
    listed = re.findall(r'<tr><td class="n">([\d,.e-]+)</td>\s*<td>([^<]*%[^<]*)</td>', html)
    assert [tuple(cells) for cells in listed] == [
        (data[place]["flagged"], data[place]["recall"]) for place in explorer.listed()
    ]


def test_sections_without_anything_are_left_out():
    html = ReportPage(title="t", verdict=["v"]).html()
    assert re.findall(r'<section id="(\w+)"', html) == ["data", "command"]
    assert "<script" not in html


def test_series_are_averaged_on_the_first_folds_epochs():
    folds = [
        {"epoch": np.array([1.0, 3.0]), "e_ratio": np.array([1.0, 100.0])},
        {"epoch": np.array([1.0, 2.0, 3.0]), "e_ratio": np.array([1.0, 5.0, 1.0])},
    ]
    assert mean_series(folds, "e_ratio", is_log=True).y == pytest.approx([1.0, 10.0])
    assert mean_series(folds, "e_ratio", is_log=False).y == pytest.approx([1.0, 50.5])


@pytest.fixture(scope="module")
def browser():
    if chromium() is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page_of("<b>GMN</b>").html(), encoding="utf-8")
    return path


def text_of(browser, name):
    return browser.evaluate(f"document.getElementById('{name}').textContent")


def test_the_slider_lies_below_the_charts_axis():
    (right, left) = re.findall(r"\.slide { margin: 0 ([\d.]+)% 0 ([\d.]+)%", page_of().html())[0]
    assert float(left) == pytest.approx(100 * LEFT / WIDTH, abs=0.1)
    assert float(right) == pytest.approx(100 * (1 - RIGHT / WIDTH), abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_the_slider_shows_pythons_numbers(browser, file, dark):
    page = page_of("<b>GMN</b>")
    cuts, start = page.explorer.shown(), page.explorer.start
    browser.open(file, dark=dark)
    assert browser.requests() == [file.as_uri()]
    browser.evaluate("document.getElementById('cut').focus()")
    for key, place in (
        (None, start),
        ("ArrowRight", start + 1),
        ("Home", 0),
        ("End", len(cuts) - 1),
    ):
        if key:
            browser.press(key)
        for name in ("flagged", "recall", "precision"):
            assert text_of(browser, name) == cuts[place][name]
        cost = float(text_of(browser, "cost").replace(",", ""))
        assert cost == pytest.approx(100 * cuts[place]["missed"] + cuts[place]["alarms"], rel=6e-3)
    browser.evaluate(
        "document.getElementById('miss').value = 7; document.getElementById('cheapest').click()"
    )
    costs = [7 * cut["missed"] + cut["alarms"] for cut in cuts]
    assert text_of(browser, "flagged") == cuts[int(np.argmin(costs))]["flagged"]
    colour = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(18, 22, 29)" if dark else "rgb(255, 255, 255)")


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(browser, file, width):
    browser.open(file, width=width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_without_javascript_the_numbers_are_in_a_table(browser, file):
    browser.open(file, script=False)
    shown = "getComputedStyle(document.querySelector('{}')).display"
    assert browser.evaluate(shown.format(".explorer")) == "none"
    assert browser.evaluate(shown.format(".listed")) == "block"
    rows = browser.evaluate("document.querySelectorAll('.listed tbody tr').length")
    assert rows == len(page_of().explorer.listed())
    assert browser.evaluate("document.querySelectorAll('b b, h1 b').length") == 0
