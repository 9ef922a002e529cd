import gzip

import pytest

from astralearn.datasets import read_table
from astralearn.datasets.streams import row_stream
from astralearn.datasets.text_form import TextForm, text_form


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n", TextForm()),
        ("a;b\n1,5;x\n", TextForm(";", "utf-8", ",")),
        ("a;b\n1.234,5;x\n", TextForm(";", "utf-8", ",")),
        ("a;b\n1.5;2,5\n", TextForm(";")),
        ("a;b\n1.234;2,5\n", TextForm(";", "utf-8", ",")),
        ("a;b\n0.234;2,5\n", TextForm(";")),
        ("a;b\n1234.567;2,5\n", TextForm(";")),
        ('a;"b, or c, or d, or e"\n1;2\n', TextForm(";")),
        ('"a\n(EUR, net)";"b"\n1;2\n', TextForm(";")),
        ('12" disk;b\n1;"x"\n', TextForm(";")),
        ("\n\na;b\n1;2\n", TextForm(";")),
        ("a\tb\n1\t2\n", TextForm("\t")),
        ("a|b\n1|2\n", TextForm("|")),
        ("alone\n1\n", TextForm()),
        ("", TextForm()),
    ],
)
def test_separator_and_decimal_mark(tmp_path, text, expected):
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert text_form(path) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_read(tmp_path, encoding):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress("größe;preis\nä;1,5\n".encode(encoding)))
    assert text_form(path).encoding == encoding
    frame = read_table(path)
    assert frame.to_dict("list") == {"größe": ["ä"], "preis": [1.5]}


def test_what_is_named_is_not_guessed(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("a;b,c\né;2\n".encode("latin-1"))
    assert text_form(path, separator=";", encoding="latin1") == TextForm(";", "iso8859-1")
    with pytest.raises(ValueError, match="that Python knows; found 'klingon'"):
        text_form(path, encoding="klingon")
    with pytest.raises(ValueError, match="separator must be one character; found '::'"):
        text_form(path, separator="::")


def test_what_is_assumed_is_said():
    assert TextForm().said() == ""
    assert TextForm("\t").said() == "read with tabs between values"


def test_points_beside_decimal_commas_are_of_thousands_and_of_nothing_else(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "when;from;amount;count;paid\n"
        "31.12.2024;192.168.1.1;1.234,50;1.234;2,5 EUR\n"
        "01.02.2024;10.0.0.1;12,5;7;1.000,0 EUR\n"
    )
    frame = read_table(path)
    assert frame["when"].tolist() == ["31.12.2024", "01.02.2024"]
    assert frame["from"].tolist() == ["192.168.1.1", "10.0.0.1"]
    assert frame["amount"].tolist() == [1234.5, 12.5]
    assert frame["count"].tolist() == [1234, 7]
    assert frame["paid"].tolist() == ["2,5 EUR", "1.000,0 EUR"]
    # Columns that are known for numbers are read as such beside bad values, block by block.
    path.write_text("amount;word\n1.234;1.234\noops;5,5\n1.234,5;x\n")
    blocks = list(row_stream(path, rows=2).frames(["amount", "word"], ["word"]))
    assert [block["amount"].tolist() for block in blocks] == [[1234.0, "oops"], [1234.5]]
    assert [block["word"].tolist() for block in blocks] == [["1.234", "5,5"], ["x"]]
