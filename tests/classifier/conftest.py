import pytest

from astralearn.classifier import trees


@pytest.fixture
def few_trees(monkeypatch):
    """A committee with a tenth of its trees."""
    monkeypatch.setattr(trees, "TREES", 20)
