"""Amounts as people write them are numbers; what may be something else is none."""

import numpy as np
import pytest

from astralearn.tabular.amounts import amounts_of, written_amounts

AMOUNTS = [
    (["$1,234.50", "$3.00", "-$7.25", "($8.00)", "$12"], ".", [1234.5, 3, -7.25, -8, 12]),
    (["1.234,50", "12,5", "-0,25", "1.234.567", "7"], ",", [1234.5, 12.5, -0.25, 1234567, 7]),
    (["1.234,50 €", "3 €"], ",", [1234.5, 3]),
    (["EUR 5.00", "EUR 1"], ".", [5, 1]),
    (["1 234,50", "1\u00a0234,00"], ",", [1234.5, 1234]),
    (["1'234.50", "99.95"], ".", [1234.5, 99.95]),
    (["5 %", "12.5%"], ".", [5, 12.5]),
    (["1,234,567", "12"], ".", [1234567, 12]),
    (["£5", "£7"], ".", [5, 7]),
]
NO_AMOUNTS = [
    ["1,234", "5,678"],  # thousands or decimals
    ["$5.00", "€5.00"],  # two currencies
    ["5 %", "$5"],
    ["612 345 678", "600 100 200"],  # telephone numbers
    ["192.168.100.200", "10.0.0.1"],
    ["31.12.2024", "01.02.2024"],
    ["1,23,456", "1,2"],
    ["0,123.5", "12"],
    ["12", "345"],
    ["1.5", "2.5"],  # plain numbers
    ["a", "$"],
    ["$1,234.50", "cash"],
]


@pytest.mark.parametrize(("texts", "mark", "numbers"), AMOUNTS)
def test_amounts(texts, mark, numbers):
    found = written_amounts(texts, 1.0)
    assert found.mark == mark
    assert found.numbers.tolist() == numbers


@pytest.mark.parametrize("texts", NO_AMOUNTS)
def test_no_amounts(texts):
    assert written_amounts(texts, 1.0) is None


def test_nearly_all_have_to_be_amounts():
    texts = ["$1.50"] * 99 + ["?"]
    assert written_amounts(texts, 0.99).mark == "."
    assert written_amounts(texts, 0.995) is None
    assert np.isnan(amounts_of([None, 5], ".").numbers).all()
