import gzip

import pandas as pd
import pytest

from astralearn.datasets import MissingFileError, UnreadableError, read_table

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


def test_no_such_file(tmp_path):
    with pytest.raises(MissingFileError, match=r"no such file: .*nowhere.csv"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(MissingFileError, match="it is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "cannot be read: No columns to parse"),
        ("a.csv", b"a,b\n", "has no rows"),
        ("a.csv", b'a,b\n1,2\n"1,2\n', "cannot be read: "),
        ("a.csv", bytes(range(128, 256)), "cannot be read: "),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "cannot be read: "),
        ("a.parquet", b"not parquet", "cannot be read: "),
        ("a.arff", b"not arff", "not ARFF"),
        ("a.xlsx", b"", "unknown ending; known are .csv"),
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
