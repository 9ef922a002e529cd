from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from sklearn.linear_model import LogisticRegression

from astralearn.model_card import card
from astralearn.tabular import TabularASTraClassifier
from hostile import HOSTILE


def test_a_card_of_a_frame_and_of_expectations():
    frame = pd.DataFrame({"x": np.linspace(0, 1, 200), "kind": ["a", "b"] * 100})
    model = TabularASTraClassifier(LogisticRegression()).fit(frame, np.arange(200) > 189)
    said = card(model)
    assert said.startswith("# A model of `y`\n")
    assert "- 200 rows, 10 of them positive (5.000%)\n- learned from `x`, `kind`\n" in said
    assert "states no expectations" in said
    model.classifier_ = SimpleNamespace(
        expectations_="On new rows:\n  recall  0.9\n", decision="mcc"
    )
    assert "Decision: `mcc`\n\nOn new rows:\n\n- recall 0.9\n\n## Limits" in card(model)
    model.versions_ = {"astralearn": "7.1"}
    assert "of astralearn 7.1." in card(model)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_in_a_card(name):
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])

    def kinds(words):
        target, column, positive = words
        frame = pd.DataFrame({column: np.linspace(0, 1, 200), "kind": ["a", "b"] * 100})
        y = pd.Series(np.where(np.arange(200) > 189, positive, "usual"), name=target)
        model = TabularASTraClassifier(LogisticRegression()).fit(frame, y)
        model.data_ = target
        tokens = parser.parse(card(model))
        inner = [child.type for token in tokens for child in token.children or ()]
        named = {"text", "text_special", "code_inline", "softbreak"}
        return [token.type for token in tokens], set(inner) - named

    assert kinds([f"{name} `", f"`{name}`", name]) == kinds(["target", "column", "rare"])
