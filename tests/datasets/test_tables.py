import gzip

import pandas as pd
import pytest

from astralearn.datasets import MissingFileError, UnreadableError, read_table, tables

FRAME = pd.DataFrame({"amount": [1.5, 2.0, None], "kind": ["a", "b", "a"], "fraud": [0, 1, 0]})


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", ".CSV"])
def test_what_was_written_is_read(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    pd.testing.assert_frame_equal(read_table(path), FRAME)


@pytest.mark.parametrize("names", [["kind"], ["kind", "fraud"]])
def test_an_index_is_a_column_of_a_parquet_file(tmp_path, names):
    pytest.importorskip("pyarrow")
    FRAME.set_index(names).to_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet")[FRAME.columns], FRAME)


def test_an_index_without_a_name_is_no_column(tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.iloc[[2, 0, 1]].to_parquet(tmp_path / "t.parquet")
    expected = FRAME.iloc[[2, 0, 1]].reset_index(drop=True)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), expected)


@pytest.mark.parametrize(("ending", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_a_separator_at_the_end_of_rows_moves_no_column(tmp_path, ending, separator):
    path = tmp_path / f"table{ending}"
    path.write_text("fraud,owner,amount\n1,1,2.5,\n0,1,3.5,\n".replace(",", separator))
    pd.testing.assert_frame_equal(
        read_table(path), pd.DataFrame({"fraud": [1, 0], "owner": [1, 1], "amount": [2.5, 3.5]})
    )


def test_blanks_after_commas_are_no_part_of_names_and_values(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('a, "b, c", t\n1, "d, e", x\n2, , y\n')
    pd.testing.assert_frame_equal(
        read_table(path), pd.DataFrame({"a": [1, 2], "b, c": ["d, e", None], "t": ["x", "y"]})
    )


def test_names_left_blank_are_no_repetition(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,,\n1,2,3\n")
    assert read_table(path).shape == (1, 3)


def test_the_types_of_a_large_file_are_guessed_once(tmp_path):
    """pandas guesses block by block otherwise: integers far above a text stay integers, and "1" and
    1 are two values.
    """
    path = tmp_path / "table.csv"
    path.write_text("t,x\n" + "1,2\n" * 400_000 + "1.0,2\nb,2\n")
    assert set(read_table(path)["t"]) == {"1", "1.0", "b"}


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    def missing(path):
        raise ImportError("pandas lists every engine it has tried here")

    (tmp_path / "a.parquet").touch()
    monkeypatch.setitem(tables.READERS, ".parquet", missing)
    with pytest.raises(
        UnreadableError,
        match=r"a.parquet: reading Parquet needs pyarrow: pip install 'astralearn\[parquet\]'",
    ):
        read_table(tmp_path / "a.parquet")


def test_no_such_file(tmp_path):
    with pytest.raises(MissingFileError, match=r"no such file: .*nowhere.csv"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(MissingFileError, match="it is a folder"):
        read_table(tmp_path)
    with pytest.raises(MissingFileError, match="no such file"):
        read_table("x" * 300 + ".csv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "cannot be read: No columns to parse"),
        ("a.csv", b"a,b\n", "has no rows"),
        ("a.csv", b'a,b\n1,2\n"1,2\n', "cannot be read: "),
        ("a.csv", b"name,t\nM\x81ller,1\n", "is not UTF-8 text: save it as UTF-8"),
        (
            "a.csv",
            b"a,b\n1,2,3\n4,5,6\n",
            r"rows of more values than its header has names \(2\): name every column",
        ),
        ("a.csv", b"a,b\n1,2,\n4,5,6\n", r"rows of more values than its header has names \(2\)"),
        ("a.csv", b"y,x,y\n1,2,3\n", "has a second column 'y': rename one of the two"),
        ("a.csv", b"NA,x,NA\n1,2,3\n", "has a second column 'NA'"),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "cannot be read: "),
        ("a.parquet", b"not parquet", "cannot be read: "),
        ("a.arff", b"not arff", "not ARFF"),
        (
            "a.arff",
            b"@relation r\n@attribute a {n\xe9,n\xe8}\n@data\nn\xe9\n",
            "is not UTF-8 text: save it as UTF-8",
        ),
        ("a.xlsx", b"", "cannot be read: |reading Excel needs"),
        ("a.xls", b"", "unknown ending; known are .csv"),
    ],
)
def test_unreadable_files_say_so_in_one_line(tmp_path, name, content, message):
    if name == "a.parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=message) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_compressed_file_that_becomes_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_DECOMPRESSED_BYTES", 1 << 20)
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * (1 << 19))
    assert path.stat().st_size < 1 << 14
    with pytest.raises(
        UnreadableError, match=r"bomb\.csv\.gz becomes more than .* when it is read"
    ):
        read_table(path)
    monkeypatch.setattr(tables, "MOST_DECOMPRESSED_BYTES", 1 << 22)
    assert len(read_table(path)) == 1 << 19


def test_a_parquet_file_of_too_many_values_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "bomb.parquet"
    pd.DataFrame({"a": [0.0] * 10_000}).to_parquet(path)
    assert len(read_table(path)) == 10_000
    monkeypatch.setattr(tables, "MOST_DECOMPRESSED_BYTES", 8 * 9_999)
    with pytest.raises(UnreadableError, match=r"bomb\.parquet becomes more than .* leave out rows"):
        read_table(path)
