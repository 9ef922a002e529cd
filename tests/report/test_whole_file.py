import pytest

from astralearn.report.whole_file import whole_file, write_whole


def test_a_file_is_there_as_a_whole(tmp_path):
    path = write_whole(tmp_path / "new" / "a.md", "one\r\ntwo\n")
    assert path.read_bytes() == b"one\r\ntwo\n"
    assert [found.name for found in path.parent.iterdir()] == ["a.md"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_was_there_stays_where_writing_fails(tmp_path, error):
    path = write_whole(tmp_path / "a.md", "before")

    def write():
        with whole_file(path) as beside:
            beside.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_that_never_begins_says_so(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "a.md"):
        pass
    assert list(tmp_path.iterdir()) == []
