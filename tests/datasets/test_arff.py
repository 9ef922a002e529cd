"""Hand-written files of each form; every expectation was read off the file by eye."""

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astralearn.datasets import UnreadableError, read_arff

SPARSE = """% a comment
@relation 'with spaces'
@ATTRIBUTE red numeric
@attribute 'deep blue' REAL
@attribute class {yes,no}

@DATA
{0 74, 1 -1.5, 2 no}
{1 3}
{}
{2 no}
% another
{0 ?,2 yes}
"""

DENSE = """@relation dense
@attribute a integer
@attribute colour {red,'dark green',"it\\'s"}
@attribute note string
@attribute when date "yyyy-MM-dd"
@attribute class {0,1}
@data
1,red,hello,2020-01-01,1
 2 , 'dark green' , 'a, b' , ? , 0
?,"it\\'s",'',2020-01-02,1
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "hand.arff"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_value_left_out_is_zero_and_a_class_left_out_is_the_first(tmp_path):
    frame = read_arff(written(tmp_path, SPARSE))
    assert list(frame.columns) == ["red", "deep blue", "class"]
    np.testing.assert_array_equal(frame["red"], [74, 0, 0, 0, np.nan])
    np.testing.assert_array_equal(frame["deep blue"], [-1.5, 3, 0, 0, 0])
    assert list(frame["class"]) == ["no", "yes", "yes", "no", "yes"]


@pytest.mark.parametrize(
    ("declared", "left_out"), [("{1,2}", "1"), ("{-1,1}", "-1"), ("{0,1}", "0"), ("{1,0}", "1")]
)
def test_left_out_follows_the_declaration_not_the_spelling(tmp_path, declared, left_out):
    frame = read_arff(
        written(
            tmp_path,
            f"@relation r\n@attribute x numeric\n@attribute class {declared}\n@data\n{{0 5}}\n",
        )
    )
    assert frame["class"].tolist() == [left_out]


def test_dense_with_quotes_and_missing_values(tmp_path):
    frame = read_arff(written(tmp_path, DENSE))
    np.testing.assert_array_equal(frame["a"], [1, 2, np.nan])
    assert frame["colour"].tolist() == ["red", "dark green", "it's"]
    assert frame["note"].tolist() == ["hello", "a, b", ""]
    assert frame["when"].isna().tolist() == [False, True, False]
    assert frame["class"].tolist() == ["1", "0", "1"]
    assert isinstance(frame["class"].dtype, pd.CategoricalDtype)


def test_sparse_with_quoted_values(tmp_path):
    text = (
        "@relation r\n@attribute x numeric\n@attribute c {'a, b',\"c d\"}\n"
        "@data\n{0 1, 1 'a, b'}\n{1 \"c d\"}\n{0 2}\n"
    )
    frame = read_arff(written(tmp_path, text))
    assert frame["x"].tolist() == [1, 0, 2]
    assert frame["c"].tolist() == ["a, b", "c d", "a, b"]


def test_tabs_in_sparse_rows(tmp_path):
    text = (
        "@relation r\n@attribute x numeric\n@attribute c {a,'b c'}\n"
        "@data\n{0\t5,1\ta}\n{0 \t 6, 1\t'b c'}\n"
    )
    frame = read_arff(written(tmp_path, text))
    assert frame["x"].tolist() == [5, 6]
    assert frame["c"].tolist() == ["a", "b c"]


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path):
    frame = read_arff(written(tmp_path, "\ufeff@relation r\n@attribute x numeric\n@data\n1\n"))
    assert frame["x"].tolist() == [1]


def test_keels_lines_of_inputs_and_outputs_are_skipped(tmp_path):
    text = (
        "@relation r\n@attribute x real [0.0, 9.0]\n@attribute c{a,b}\n@inputs x\n@outputs c\n"
        "@input x\n@output c\n@data\n1,a\n"
    )
    assert read_arff(written(tmp_path, text)).to_dict("list") == {"x": [1.0], "c": ["a"]}


# Of the processor, for files that a linear reader reads in less than one.
SECONDS = 10

HEAD = "@relation r\n@attribute x numeric\n@attribute c {a,b}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n", r"line 1: not ARFF: 'x,y'"),
        ("", "no @attribute lines followed by @data"),
        ("@relation r\n@data\n1\n", "no @attribute lines followed by @data"),
        (HEAD, "no @attribute lines followed by @data"),
        (
            HEAD + "@attribute x numeric\n@data\n1,a,2\n",
            "line 4: a second attribute 'x': rename one of the two",
        ),
        (HEAD + "@data\n", "no rows after @data"),
        (HEAD + "@data\n1,a,2\n", "line 5: expected 2 values, found '1,a,2'"),
        (HEAD + "@data\n{0 1,1 a\n", "line 5: expected 2 values"),
        (HEAD + "@data\n{7 1}\n", "line 5: expected 2 values"),
        (HEAD + "@data\n{0}\n", "line 5: expected 2 values"),
        (HEAD + "@data\n{0 1,}\n", "line 5: expected 2 values"),
        (HEAD + "@data\n{0 1, 1 'a',}\n", "line 5: expected 2 values"),
        (HEAD + "@data\n{1 'a', x 3, 0 1}\n", "line 5: expected 2 values"),
        (HEAD + "@data\n{1 'a' 7, 0 1}\n", "line 5: expected 2 values"),
        (HEAD + "@data\n{1 'a' 0 1}\n", "line 5: expected 2 values"),
        (HEAD + "@data\n1,'a',\n", "line 5: expected 2 values"),
        (
            HEAD + "@data\nhello,a\n",
            "'x' is numeric, but: could not convert string to float: 'hello'",
        ),
        (HEAD + "@data\n1,z\n", r"column 'c' has \['z'\], not among \['a', 'b'\]"),
        (HEAD + "@data\n1,'a\n", "line 5: expected 2 values"),
        (
            "@relation r\n@attribute x relational\n@data\n1\n",
            "line 2: cannot read '@attribute x relational'",
        ),
    ],
)
def test_unreadable(tmp_path, text, message):
    with pytest.raises(UnreadableError, match=message):
        read_arff(written(tmp_path, text))


@pytest.mark.parametrize(
    "row",
    [
        "1,'a' {blanks}x",
        "1,'a{blanks}",
        "1,'a'{blanks}'",
        "{{0 1, 1 'a'{blanks}x}}",
        "{{0{blanks}'a' 1}}",
        '{{0 1, 1 a{blanks}"}}',
    ],
)
def test_blanks_within_a_malformed_row_take_no_time(tmp_path, row):
    """A reader that tries every division of a hundred thousand blanks would take years: it fails
    at the first three thousand.
    """
    for count in (3_000, 100_000):
        path = written(tmp_path, HEAD + "@data\n" + row.format(blanks=" " * count) + "\n")
        start = time.process_time()
        with pytest.raises(UnreadableError, match="line 5: expected 2 values"):
            read_arff(path)
        assert time.process_time() - start < SECONDS


def test_many_attributes_take_time_in_proportion(tmp_path):
    """Comparing every name with every other would take minutes."""
    count = 60_000
    names = "".join(f"@attribute a{place} numeric\n" for place in range(count))
    path = written(tmp_path, f"@relation r\n{names}@data\n{{}}\n{{59999 1}}\n")
    start = time.process_time()
    frame = read_arff(path)
    assert time.process_time() - start < SECONDS
    assert frame.shape == (2, count)
    assert frame.to_numpy().sum() == frame["a59999"].iloc[1] == 1


@pytest.mark.skipif(
    "ASTRALEARN_DATA" not in os.environ,
    reason="the ARFF files are not here: ASTRALEARN_DATA is not set",
)
@pytest.mark.parametrize("name", ["skin_nonskin", "cod-rna", "ijcnn1", "yeast6"])
def test_the_papers_files_against_an_independent_reading(name):
    """A second reading that shares nothing with the parser: zeros, then a loop over each row's
    pairs.
    """
    path = Path(os.environ["ASTRALEARN_DATA"]) / f"{name}.arff"
    lines = path.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.lower() == "@data")
    first = lines[start - 2].split("{")[1].split(",")[0]
    expected = []
    for line in filter(None, lines[start + 1 :]):
        if line[0] != "{":
            expected.append(dict(enumerate(line.split(","))))
            continue
        expected.append(
            {int(pair.split()[0]): pair.split()[1] for pair in line.strip("{}").split(",")}
        )
    frame = read_arff(path)
    columns = frame.shape[1]
    np.testing.assert_array_equal(
        frame.iloc[:, :-1], [[float(row.get(i, 0)) for i in range(columns - 1)] for row in expected]
    )
    assert frame.iloc[:, -1].tolist() == [row.get(columns - 1, first) for row in expected]
