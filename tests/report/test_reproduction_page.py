"""The page that a reproduction leaves, as a reader's browser gets it."""

from html.parser import HTMLParser

import pytest

from astralearn.report import Cell, Table
from astralearn.report.reproduction_page import TITLE, page

TABLE = Table(
    "Cells <b>",
    ["problem", "G-Mean"],
    [["a", Cell("0.9", bold=True)], ["b", "–"]],
    notes=["n & more"],
    sections=True,
)


class Reader(HTMLParser):
    """Collects text, elements, and whatever would be fetched."""

    def __init__(self):
        super().__init__()
        self.text, self.elements, self.sources = [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs).get("class")))
        self.sources += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def reader(tmp_path):
    figure = tmp_path / "figure-1.svg"
    figure.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    found = Reader()
    found.feed(
        page({"bounds": TABLE}, ["By a <rule>"], ["cod"], {"Figure 1": figure}, {"numpy": "2"})
    )
    return found


def test_everything_is_there_as_text(reader):
    text = " ".join(reader.text)
    for said in (TITLE, "Cells <b>", "n & more", "By a <rule>", "cod", "numpy 2", "Figure 1"):
        assert said in text
    assert ("td", "n best") in reader.elements


def test_it_asks_nothing_of_the_network(reader):
    assert len(reader.sources) == 1
    assert reader.sources[0].startswith("data:image/svg+xml;base64,")
