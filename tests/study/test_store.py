import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from astralearn.study import (
    InUseError,
    MismatchError,
    StudyError,
    methods_in,
    problems_in,
    read_histories,
    read_records,
    read_sessions,
)
from astralearn.study.record import Outcome, Record
from astralearn.study.store import TABLES, Store, _read_only, delete


def record(method="m", fold=0, **changes):
    values = {
        "tn": 90,
        "fp": 5,
        "fn": 1,
        "tp": 4,
        "average_precision": 0.25,
        "fit_seconds": 0.5,
        "error": None,
        **changes,
    }
    return Record("p", method, 0, fold, 400, **values)


HISTORY = {
    "epoch": np.arange(3, dtype=np.float32),
    "e_ratio": np.array([9.5, 3.25, 1e-9], dtype=np.float32),
}


def test_what_goes_in_comes_out(tmp_path):
    kept = [
        record(),
        record(fold=1, average_precision=None, error="ValueError: no"),
        record(method="n"),
    ]
    with Store(tmp_path / "s.sqlite") as store:
        store.add([Outcome(kept[0], HISTORY)])
        store.add([Outcome(kept[1], {}), Outcome(kept[2], {})])
        store.begin_session("today", {"numpy": "2"})
        assert store.finished() == {("p", "m", 0, 0), ("p", "m", 0, 1), ("p", "n", 0, 0)}
        assert read_records(tmp_path / "s.sqlite") == kept  # a reader is not kept out
    histories = read_histories(tmp_path / "s.sqlite", "p")
    assert list(histories) == ["m"]
    np.testing.assert_array_equal(histories["m"][0]["e_ratio"], HISTORY["e_ratio"])
    assert read_sessions(tmp_path / "s.sqlite") == [("today", {"numpy": "2"})]


def test_a_unit_is_written_whole_or_not_at_all(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.add([Outcome(record(), {}), Outcome(record(fold=1, tn=None), {})])
        assert store.finished() == set()


def test_nothing_is_left_of_a_study_that_is_deleted(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.add([Outcome(record(), HISTORY)])
    delete(tmp_path / "s.sqlite")
    delete(tmp_path / "s.sqlite")  # nor is anything missed
    assert list(tmp_path.iterdir()) == []


def test_wal(tmp_path):
    with Store(tmp_path / "s.sqlite"):
        assert sqlite3.connect(tmp_path / "s.sqlite").execute("PRAGMA journal_mode").fetchone() == (
            "wal",
        )


def test_settings_may_grow_but_not_change(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.agree({"folds": "5"})
        store.agree({"folds": "5", "method GMN": "x"})
        with pytest.raises(
            MismatchError, match=r"its method GMN is x, now it is y\. Use another `path`"
        ):
            store.agree({"method GMN": "y", "seed": "1"})
        store.agree({"seed": "2"})  # the refused call has stored nothing


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        (
            "m.C(a=1, b=(2, 3), c='x')",
            "m.C(a=1, b=(2, 4), c='x')",
            r"is b=\(2, 3\), now it is b=\(2, 4\)\.",
        ),
        ("m.C(a=1, c='x')", "m.C(a=1, c='y')", r"is c='x', now it is c='y'\."),
        ("m.C(a=1)", "m.C(a=1, b=2)", r"is without it, now it is b=2\."),
        ("m.C(a=1)", "n.D(a=1)", r"is m\.C, now it is n\.D\."),
        ("m.C(a=1)", "m.C(a=1) with validation", r"is without it, now it is with validation\."),
    ],
)
def test_only_what_differs_between_methods_is_said(tmp_path, before, now, change):
    with Store(tmp_path / "s.sqlite") as store:
        store.agree({"method GMN": before})
        with pytest.raises(MismatchError, match=f"its method GMN {change} Use another `path`"):
            store.agree({"method GMN": now})


@pytest.mark.parametrize(
    ("error", "is_finished"),
    [
        ("ValueError: no", True),
        ("ValueError: ImportError: no", True),
        ("LightGBMError: b'KeyboardInterrupt'", False),
        ("MemoryError: ", False),
        ("_ArrayMemoryError: Unable to allocate 9 GiB", False),
        ("ImportError: no", False),
        ("ModuleNotFoundError: no", False),
    ],
)
def test_folds_that_were_interrupted_or_lacked_something_are_not_finished(
    tmp_path, error, is_finished
):
    with Store(tmp_path / "s.sqlite") as store:
        store.add([Outcome(record(error=error), {})])
        assert bool(store.finished()) == is_finished


def test_a_second_writer_is_refused(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(InUseError, match="in use by another run: wait"):
            Store(tmp_path / "s.sqlite")
        store.add([Outcome(record(), {})])
    Store(tmp_path / "s.sqlite").__exit__(None, None, None)


@pytest.mark.parametrize(
    "name", ["out/s.sqlite", "out/deeper/s.sqlite", "taken.sqlite", "locked.sqlite"]
)
def test_what_cannot_be_written_is_not_in_use(tmp_path, name):
    (tmp_path / "out").write_text("a file where the folder should be")
    (tmp_path / "taken.sqlite").mkdir()
    (tmp_path / "locked.sqlite.lock").mkdir()
    with pytest.raises(
        StudyError, match=rf"{name} cannot be written \(.+\): use another `path`"
    ) as caught:
        Store(tmp_path / name)
    assert not isinstance(caught.value, InUseError)


def test_a_full_disk_is_said_to_be(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store._database.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StudyError, match=r"cannot be written \(database or disk is full\)"):
            store.add(Outcome(record(fold=fold, error="e" * 10_000), {}) for fold in range(100))


def test_a_second_writer_may_wait(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    opened = []

    def wait():
        with Store(tmp_path / "s.sqlite", wait_seconds=20) as second:
            opened.append(second)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not opened
    store.__exit__(None, None, None)
    waiting.join(20)
    assert opened


@pytest.mark.slow
def test_a_killed_writer_leaves_no_lock(tmp_path):
    code = f"""
import sys; from pathlib import Path; from astralearn.study.store import Store
store = Store(Path({str(tmp_path / "s.sqlite")!r})); print("open", flush=True); sys.stdin.read()"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(InUseError):
            Store(tmp_path / "s.sqlite")
        holder.kill()
        holder.wait()
    with Store(tmp_path / "s.sqlite") as store:
        assert store.finished() == set()


def test_records_go_to_their_columns_whatever_order_these_have(tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add([Outcome(record(), {})])
    with closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE records DROP COLUMN learned")
        database.execute("ALTER TABLE records ADD COLUMN learned INTEGER NOT NULL DEFAULT 0")
        database.commit()
    with Store(path) as store:
        store.add([Outcome(record(fold=1), {})])
    assert record(fold=1) in read_records(path)


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_that_was_made_but_not_filled_is_an_empty_study(tmp_path, mode):
    """As a run leaves it that is killed at once."""
    path = tmp_path / "s.sqlite"
    made = sqlite3.connect(path)
    made.execute(f"PRAGMA journal_mode = {mode}")
    made.close()
    assert (read_records(path), read_sessions(path), problems_in(path), methods_in(path)) == (
        [],
        [],
        [],
        {},
    )
    with Store(path) as store:
        store.add([Outcome(record(), {})])
    assert read_records(path) == [record()]


def test_reading_leaves_the_file_alone(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.agree({"method GMN": "m.C(a=1)", "problem p": "3 rows"})
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert methods_in(tmp_path / "s.sqlite") == {"GMN": "m.C(a=1)"}
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@contextmanager
def as_nobody():
    """As a user whom modes bind: root may do anything. Not below pytest's folders, which are closed
    to others.
    """
    if not hasattr(os, "geteuid"):
        pytest.skip("there are no such permissions")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study" / "s.sqlite"
        with Store(path) as store:
            store.add([Outcome(record(), {})])

        def read(folder_mode, file_mode):
            Path(folder).chmod(0o755)
            path.chmod(file_mode)
            path.parent.chmod(folder_mode)
            is_root = os.geteuid() == 0
            if is_root:
                os.seteuid(65534)
            try:
                return read_records(path)
            finally:
                if is_root:
                    os.seteuid(0)
                path.parent.chmod(0o755)

        yield read


def test_a_folder_that_cannot_be_written_can_be_read():
    with as_nobody() as read:
        assert read(0o555, 0o444) == [record()]


def test_what_cannot_be_read_is_not_called_another_kind_of_file():
    with as_nobody() as read:
        with pytest.raises(
            StudyError, match=r"s\.sqlite cannot be read \(unable to open database file\)"
        ):
            read(0o755, 0o000)
        with pytest.raises(StudyError, match="no study file"):
            read(0o000, 0o444)


def test_other_files_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.sqlite"
    path.write_text(
        "my notes, which are not a database and longer than a header of one hundred bytes" * 3
    )
    before = path.read_bytes()
    with pytest.raises(StudyError, match="is not a study file"):
        Store(path)
    assert path.read_bytes() == before
    sqlite3.connect(tmp_path / "new.sqlite").executescript(
        "PRAGMA user_version = 99; CREATE TABLE t (x);"
    )
    with pytest.raises(StudyError, match="written in format 99"):
        Store(tmp_path / "new.sqlite")
    with pytest.raises(StudyError, match="no study file"):
        read_records(tmp_path / "absent.sqlite")


def test_a_link_to_a_study_that_is_being_written_shows_what_is_there(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (tmp_path / "link.sqlite").symlink_to(folder / "s.sqlite")
    code = f"""
import sqlite3
database = sqlite3.connect({str(folder / "s.sqlite")!r}, isolation_level=None)
database.execute("PRAGMA journal_mode=WAL"); database.execute("CREATE TABLE t (x)")
database.execute("INSERT INTO t VALUES (1)")
import os; os._exit(0)"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (folder / "s.sqlite-wal").exists()
    database = _read_only(tmp_path / "link.sqlite")
    assert database.execute("SELECT x FROM t").fetchall() == [(1,)]
    database.close()


def stored(path, count=12):
    """A sound study with a few records and series."""
    with Store(path) as store:
        store.agree({"seed": "1", "problem p": "3 rows", "method GMN": "m.C()"})
        store.begin_session("today", {"python": "3"})
        series = {"epoch": np.arange(5.0), "e_ratio": np.ones(5)}
        store.add([Outcome(record(fold=fold), series) for fold in range(count)])
    return path


def use(path):
    """Everything that a comparison asks of a study's file."""
    problems_in(path)
    with Store(path) as store:
        store.agree({"seed": "1"})
        store.finished()
        store.begin_session("now", {})
        store.add([Outcome(record(fold=99), {"epoch": np.arange(5.0)})])
    read_records(path), read_sessions(path), methods_in(path), read_histories(path, "p")


def sql(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


DAMAGE = {
    "random bytes": lambda path: path.write_bytes(np.random.default_rng(0).bytes(9_000)),
    "its second half lost": lambda path: path.write_bytes(
        path.read_bytes()[: path.stat().st_size // 2]
    ),
    "zeros in the middle": lambda path: path.write_bytes(
        path.read_bytes()[:4_096] + bytes(path.stat().st_size - 4_096)
    ),
    **{f"no {name}": lambda path, name=name: sql(path, f"DROP TABLE {name}") for name in TABLES},
    "no column": lambda path: sql(path, "ALTER TABLE records DROP COLUMN learned"),
    "words for numbers": lambda path: sql(path, "UPDATE records SET tp = 'many'"),
    "bytes for words": lambda path: sql(path, "UPDATE records SET error = x'ff00'"),
    "no text": lambda path: sql(path, "UPDATE settings SET value = CAST(x'ff' AS TEXT)"),
    "versions that are none": lambda path: sql(path, "UPDATE sessions SET versions = '{'"),
    "half a number": lambda path: sql(path, "UPDATE histories SET points = x'ffffff'"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_study_is_said_in_a_sentence_that_says_how_to_go_on(tmp_path, damage):
    path = stored(tmp_path / "s.sqlite")
    use(path)
    DAMAGE[damage](path)
    with pytest.raises(StudyError, match=r"s\.sqlite is not a study file, or damaged \(.+\): move"):
        use(path)


def test_whatever_byte_is_wrong_a_study_is_read_or_refused(tmp_path):
    sound = stored(tmp_path / "s.sqlite").read_bytes()
    random, path = np.random.default_rng(0), tmp_path / "t.sqlite"
    refused = 0
    for _ in range(150):
        content = bytearray(sound)
        for place in random.integers(0, len(content), size=random.integers(1, 200)):
            content[place] = random.integers(256)
        path.write_bytes(content)
        try:
            use(path)
        except StudyError:
            refused += 1
        for beside in tmp_path.glob("t.sqlite*"):
            beside.unlink()
    assert 10 < refused < 150


@pytest.mark.parametrize("word", [b"NULL", b"ROWID"])
def test_a_schema_that_is_no_text_is_said(tmp_path, word):
    content = stored(tmp_path / "s.sqlite").read_bytes()
    path = tmp_path / "t.sqlite"
    path.write_bytes(content.replace(word, b"\xa3" + word[1:]))
    for open_study in (Store, read_records):
        with pytest.raises(StudyError, match="is not a study file, or damaged"):
            open_study(path)


def test_a_lock_that_is_none_is_named(tmp_path):
    path = stored(tmp_path / "s.sqlite")
    lock = tmp_path / "s.sqlite.lock"
    lock.write_bytes(b"garbage " * 200)
    with pytest.raises(StudyError, match=r"s\.sqlite\.lock is not a study's lock: delete it"):
        Store(path)
    lock.unlink()
    use(path)


def test_another_programs_database_is_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    sql(path, "CREATE TABLE customers (name)")
    before = path.read_bytes()
    with pytest.raises(StudyError, match="it has no table of settings"):
        Store(path)
    assert path.read_bytes() == before
