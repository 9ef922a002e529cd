import gzip
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from astralearn.datasets import MissingFileError, UnreadableError
from astralearn.datasets.streams import RowWriter, row_stream

FRAME = pd.DataFrame({"a": [1.5, np.nan, 3.0], "b": ["007", "NA", "x,y"], "c": [1, 2, 3]})


@pytest.fixture(params=["t.csv", "t.csv.gz", "t.tsv", "t.parquet"])
def path(request, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def test_blocks_are_the_table(path):
    stream = row_stream(path, rows=2)
    assert stream.columns() == ["a", "b", "c"]
    blocks = list(stream.frames(["a", "b"], ["b"]))
    assert [len(block) for block in blocks] == [2, 1]
    whole = pd.concat(blocks)
    np.testing.assert_array_equal(whole["a"], FRAME["a"])
    assert whole["b"].iloc[0] == "007"


@pytest.mark.filterwarnings("error")
def test_a_line_above_the_header_is_refused_without_a_word_of_pandas(tmp_path):
    (tmp_path / "t.csv").write_text("Report\na,b,c\n1,2,3\n")
    with pytest.raises(UnreadableError, match="rows of more values than its header has names"):
        row_stream(tmp_path / "t.csv", rows=2)


def test_an_index_is_a_column_of_blocks(tmp_path):
    FRAME.set_index("b").to_parquet(tmp_path / "t.parquet")
    blocks = row_stream(tmp_path / "t.parquet", rows=2).frames(["a", "b"], [])
    pd.testing.assert_frame_equal(pd.concat(blocks, ignore_index=True), FRAME[["a", "b"]])


@pytest.mark.parametrize(
    ("frame", "name"),
    [(FRAME.set_index("b"), "b"), (FRAME.iloc[[2, 0, 1]], "__index_level_0__")],
    ids=["named", "unnamed"],
)
def test_an_index_is_written_to_text_too(tmp_path, frame, name):
    frame.to_parquet(tmp_path / "t.parquet")
    with RowWriter(tmp_path / "o.csv") as writer:
        for original in row_stream(tmp_path / "t.parquet", rows=2).originals():
            writer.write(original, {})
    written = pd.read_csv(tmp_path / "o.csv", dtype=str, keep_default_na=False)
    assert written[name].tolist() == frame.index.astype(str).tolist()


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.parquet"])
def test_what_stands_is_written_and_columns_added(path, tmp_path, name):
    stream = row_stream(path, rows=2)
    with RowWriter(tmp_path / name) as writer:
        for start, original in zip((0, 2), stream.originals(), strict=True):
            rank = pd.array([start, pd.NA][: len(original)], dtype="Int64")
            writer.write(original, {"risk": np.full(len(original), np.nan), "rank": rank})
    read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
    options = {} if name.endswith("parquet") else {"dtype": str, "keep_default_na": False}
    written = read(tmp_path / name, **options)
    assert written.columns.tolist() == ["a", "b", "c", "risk", "rank"]
    assert written["b"].tolist() == ["007", "NA", "x,y"]
    assert written["c"].astype(int).tolist() == [1, 2, 3]
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, name])


def test_the_form_of_the_text_is_kept(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;p\nä;1,50\n".encode("cp1252"))
    stream = row_stream(path, rows=10)
    assert next(stream.frames(["p"], []))["p"].tolist() == [1.5]
    with RowWriter(tmp_path / "o.csv", stream.form) as writer:
        for original in stream.originals():
            writer.write(original, {"risk": [0.25]})
    assert (tmp_path / "o.csv").read_text() == "größe;p;risk\nä;1,50;0,25\n"


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "o.csv"
    path.write_text("old")
    writer = RowWriter(path)
    writer.__enter__()
    writer.write(FRAME, {})
    writer.__exit__(RuntimeError, RuntimeError("stop"), None)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["o.csv"]


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "o.csv"
    path.write_text("old")
    code = (
        "import os, signal, pandas as pd\n"
        "from astralearn.datasets.streams import RowWriter\n"
        f"with RowWriter({str(path)!r}) as writer:\n"
        "    writer.write(pd.DataFrame({'a': range(100000)}), {})\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"


def test_what_cannot_be_read_or_written(tmp_path):
    with pytest.raises(MissingFileError, match="no such file"):
        row_stream(tmp_path / "t.csv", rows=1)
    for name, content, message in [
        ("t.arff", b"", "is not ARFF"),
        ("t.txt", b"", "unknown ending; known are .csv"),
        ("t.parquet", b"no", "cannot be read"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UnreadableError, match=message):
            row_stream(tmp_path / name, rows=1)
    with pytest.raises(ValueError, match="unknown ending; rows are written to"):
        RowWriter(tmp_path / "o.xlsx")


def test_a_compressed_result_is_gzip(tmp_path):
    with RowWriter(tmp_path / "o.csv.gz") as writer:
        writer.write(FRAME[["c"]], {})
    assert gzip.decompress((tmp_path / "o.csv.gz").read_bytes()) == b"c\n1\n2\n3\n"


def test_what_a_parquet_file_says_of_pandas_may_be_damaged(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": np.arange(40) / 3}).to_parquet(path)
    content = path.read_bytes()
    assert content.count(b'"index_columns"') == 1
    path.write_bytes(content.replace(b'"index_columns"', b'"index_columns\xff'))
    with pytest.raises(UnreadableError, match=r"t\.parquet .*utf-8"):
        list(row_stream(path, rows=16).frames(["a"], []))


def test_names_that_stand_twice_are_refused_in_parquet_too(tmp_path):
    columns = pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    pq.write_table(columns, tmp_path / "t.parquet")
    with pytest.raises(UnreadableError, match=r"t\.parquet has a second column 'a'"):
        row_stream(tmp_path / "t.parquet", rows=16)
