"""The command line with cheap methods in place of the ladder, and what it says when something is wrong."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from astralearn import __version__, cli, methods, report
from astralearn.datasets import CATALOGUE, Problem, Redraw
from astralearn.methods import ChosenMethods
from astralearn.study import Method, RunProgress
from classifiers import Nearest, Raising, Stacked


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def cheap(monkeypatch):
    """Stand-ins for the ladder and one rival that fails on some folds."""
    rungs = [
        Method("BCE", Nearest(noise=3.0)),
        Method("GMN", Stacked()),
        Method("RUSBoost", Raising()),
    ]
    monkeypatch.setattr(
        methods,
        "choose",
        lambda names, epochs=None: ChosenMethods(
            rungs, ["LightGBM was left out: lightgbm is not installed"]
        ),
    )


@pytest.fixture
def no_figures(monkeypatch):
    """They take most of a cheap comparison's time."""
    monkeypatch.setattr(
        "astralearn.report.artefacts.write_figures", lambda out, study, problem, methods: []
    )


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    fraud = np.arange(201) < 8
    frame = pd.DataFrame(
        {"amount": random.normal(size=201) + 2 * fraud, "age": random.normal(size=201)}
    )
    frame["country"] = random.choice(["de", "fr"], size=201)
    frame.loc[3, "age"] = np.nan
    frame["fraud"] = np.where(fraud, "yes", "no")
    frame.to_csv(tmp_path / "cards.csv", index=False)
    return tmp_path / "cards.csv"


def ran(capsys, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_compare_reads_a_file_and_recommends(cheap, table, tmp_path, capsys):
    code, out, err = ran(
        capsys,
        "compare",
        table,
        "--target",
        "fraud",
        "--jobs",
        1,
        "--repetitions",
        2,
        "--out",
        tmp_path / "out",
    )
    assert (code, err) == (0, "")
    assert "missing as one of them: country" in out
    assert "note: gaps are filled with the column's median" in out
    assert "note: LightGBM was left out" in out
    assert "cards: 8 positives (yes) among 201 rows, IR 24.1" in out
    assert "RUSBoost failed on" in out
    assert re.search(r"Use (BCE|GMN): the least intervention", out)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "study.sqlite",
        "report.md",
        "records.csv",
        "comparison.md",
        "comparison.csv",
        "comparison.tex",
    } <= names
    assert {f"figure-{n}.{kind}" for n in (1, 2, 3, 4) for kind in ("png", "svg")} <= names
    assert "Use " in (tmp_path / "out" / "report.md").read_text()


def test_brackets_in_data_are_text_not_markup(cheap, tmp_path, capsys):
    fraud = np.arange(40) < 8
    frame = pd.DataFrame(
        {
            "amount [/EUR]": ["a [b]", "c"] * 20,
            "[usd] :x:": "d",
            "x": fraud * 1.0,
            "t": np.where(fraud, "[/yes]", "no"),
        }
    )
    frame.to_csv(tmp_path / "[cards].csv", index=False)
    code, out, _ = ran(
        capsys,
        "compare",
        tmp_path / "[cards].csv",
        "--target",
        "t",
        "--jobs",
        1,
        "--repetitions",
        1,
    )
    assert code == 0
    assert "missing as one of them: amount [/EUR], [usd] :x:" in out
    assert "0/15 folds · [cards] · BCE" in out
    assert "[cards]: 8 positives ([/yes]) among 40 rows" in out


def test_records_stay_in_the_cache_until_the_table_is_printed(cheap, table, tmp_path, monkeypatch):
    def broken(table, *, has_bold, width):
        raise RuntimeError("nobody has seen the table")

    monkeypatch.setattr(report, "to_rich", broken)
    with pytest.raises(RuntimeError):
        cli.main(["compare", str(table), "--target", "fraud", "--jobs", "1", "--repetitions", "1"])
    assert [
        path.suffix for path in (tmp_path / "cache" / "astralearn" / "studies").glob("*.sqlite")
    ] == [".sqlite"]


def test_compare_without_anything_takes_the_embedded_default(cheap, tmp_path, capsys):
    code, out, _ = ran(capsys, "compare", "--jobs", 1, "--repetitions", 1)
    assert code == 0
    assert "digits: 5 positives (8) among 1,628 rows, IR 324.6" in out
    assert (
        list((tmp_path / "cache" / "astralearn" / "studies").iterdir()) == []
    )  # nothing is left behind


def test_a_second_call_takes_records_from_the_file(cheap, table, tmp_path, capsys):
    arguments = (
        "compare",
        table,
        "--target",
        "fraud",
        "--jobs",
        1,
        "--repetitions",
        1,
        "--out",
        tmp_path / "out",
    )
    _, first, _ = ran(capsys, *arguments)
    code, second, _ = ran(capsys, *arguments)
    assert code == 0
    assert "15/15 folds · done" in second
    assert first.split("done\n")[1] == second.split("done\n")[1]


def test_added_methods_join_those_in_the_folder_in_an_order_of_their_own(
    no_figures, table, tmp_path, capsys, monkeypatch
):
    rungs = {
        "GMN": Method("GMN", Stacked()),
        "mine": Method("mine", Nearest()),
        "BCE": Method("BCE", Nearest(noise=3.0)),
    }
    monkeypatch.setattr(
        methods,
        "choose",
        lambda names, epochs=None: ChosenMethods([rungs[name] for name in names], []),
    )
    arguments = [
        "compare",
        table,
        "--target",
        "fraud",
        "--jobs",
        1,
        "--repetitions",
        1,
        "--out",
        tmp_path / "out",
        "--methods",
    ]
    for names in ("mine,GMN", "BCE"):
        assert ran(capsys, *arguments, names)[0] == 0
    assert (
        pd.read_csv(tmp_path / "out" / "records.csv")["method"].tolist()
        == ["BCE"] * 5 + ["GMN"] * 5 + ["mine"] * 5
    )
    assert pd.read_csv(tmp_path / "out" / "comparison.csv")["method"].tolist() == [
        "BCE",
        "GMN",
        "mine",
    ]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_without_all_characters_costs_no_run(cheap, table, monkeypatch, encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    assert (
        cli.main(["compare", str(table), "--target", "fraud", "--jobs", "1", "--repetitions", "1"])
        == 0
    )
    stream.flush()
    assert b"RUSBoost failed on" in stream.buffer.getvalue()


def test_leave_one_positive_out(cheap, table, capsys):
    code, out, _ = ran(
        capsys,
        "compare",
        table,
        "--target",
        "fraud",
        "--jobs",
        1,
        "--repetitions",
        1,
        "--leave-one-positive-out",
    )
    assert code == 0
    assert "n = 8 test folds per method (1 × 8), which test 8 positives in all" in out


def write(tmp_path, text, name="t.csv"):
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        (None, ["nowhere.csv", "--target", "t"], 3, "no such file: nowhere.csv"),
        (None, ["skin"], 3, "no such file or problem: skin; the catalogue has skin-588"),
        ("a,t\n1,0\n", ["--target", "fraud"], 4, "no column 'fraud'; there are 'a', 't'"),
        (
            "a,t\n1,0\n",
            [],
            4,
            "which column is to be predicted? Say --target COLUMN; there are 'a', 't'",
        ),
        ("a,t\n1,0\n2,0\n", ["--target", "t"], 5, "'t' has only one value, '0' (2)"),
        (
            "a,t\n1,0\n2,1\n3,2\n",
            ["--target", "t"],
            5,
            "choose the positive one (--positive)",
        ),
        (
            "a,t\n" + "1,0\n" * 20 + "2,1\n" * 3,
            ["--target", "t"],
            6,
            "ask for at most 3 folds (--folds 3)",
        ),
        ("a,t\n" + "1,0\n" * 20 + "2,1\n", ["--target", "t"], 6, "at least two are needed"),
        (
            "a,t\n" + "1,0\n" * 20 + "2,1\n",
            ["--target", "t", "--leave-one-positive-out"],
            6,
            "at least two are needed, one to learn from",
        ),
        (
            "a,t\n" + "1,0\n" * 20 + "2,1\n" * 9,
            ["--target", "t", "--out", "x" * 300],
            9,
            "cannot be written ([Errno 36] File name too long",
        ),
        ("", ["--target", "t"], 7, "cannot be read: No columns to parse from file"),
        ("a,t\n1,0\n2,1\n", ["--target", "t", "--methods", "kNN"], 2, "no such method: 'kNN'"),
        (
            "a,t\n" + "1,0\n" * 20 + "2,1\n" * 3,
            ["--target", "t", "--positive", "0"],
            6,
            "t has 3 negatives ('1'), fewer than 5 folds",
        ),
        (None, ["--epochs", "0"], 2, "--epochs must be at least 1; found 0"),
        (None, ["--epochs", "-5"], 2, "--epochs must be at least 1; found -5"),
        (None, ["--seed", "-1"], 2, "--seed must be at least 0; found -1"),
        (None, ["--jobs", "0"], 2, "--jobs must be at least 1, or -1 for one per core; found 0"),
        (
            None,
            ["--target", "t"],
            2,
            "--target t is for files, and digits is of the catalogue: name a file, or leave out --target",
        ),
        (
            None,
            ["digits", "--positive", "8"],
            2,
            "--positive 8 is for files, and digits is of the catalogue",
        ),
        (None, ["x" * 300], 3, "no such file or problem: xxx"),
        (None, ["x" * 300 + ".csv"], 3, "no such file: xxx"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_with_a_code_of_its_own(
    tmp_path, capsys, text, arguments, code, message
):
    data = [] if text is None else [write(tmp_path, text)]
    found, out, err = ran(capsys, "compare", *data, *arguments)
    assert found == code
    assert err.startswith("astralearn: ")
    assert message in err
    assert out == ""


def test_blanks_around_names_do_not_matter(monkeypatch, table, tmp_path, capsys):
    real = methods.choose
    monkeypatch.setattr(
        methods, "choose", lambda names, epochs=None: asked.append(names) or real(["logistic"])
    )
    asked = []
    assert (
        ran(
            capsys,
            "compare",
            table,
            "--target",
            "fraud",
            "--jobs",
            1,
            "--repetitions",
            1,
            "--methods",
            "BCE, weighted MLP ",
        )[0]
        == 0
    )
    assert asked == [["BCE", "weighted MLP"]]
    code, _, err = ran(capsys, "reproduce", "--problems", "skin-588, yeast6 ", "--out", tmp_path)
    assert code == 2
    assert "not in the paper: yeast6; its" in err


@pytest.mark.parametrize("out", ["taken", "taken/deeper", None])
def test_a_folder_that_cannot_be_written(cheap, table, tmp_path, capsys, monkeypatch, out):
    (tmp_path / "taken").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))
    options = [] if out is None else ["--out", tmp_path / out]
    code, _, err = ran(
        capsys, "compare", table, "--target", "fraud", "--jobs", 1, "--repetitions", 1, *options
    )
    assert code == 9
    assert err.startswith(f"astralearn: {tmp_path / 'taken'}")
    assert "cannot be written (" in err
    assert "use another --out" in err


def test_an_artefact_that_cannot_be_written(cheap, table, tmp_path, capsys):
    (tmp_path / "out" / "records.csv").mkdir(parents=True)
    arguments = (
        "compare",
        table,
        "--target",
        "fraud",
        "--jobs",
        1,
        "--repetitions",
        1,
        "--out",
        tmp_path / "out",
    )
    code, out, err = ran(capsys, *arguments)
    assert code == 9
    assert "cannot be written (" in err
    assert "records.csv" in err
    assert "cards: 8 positives (yes) among 201 rows" in out  # the comparison itself is not lost
    assert "Use " in out


def test_an_interruption_while_files_are_written_shows_the_table_and_says_how_to_get_them(
    cheap, table, tmp_path, capsys, monkeypatch
):
    def interrupted(out, study, problem, methods):
        raise KeyboardInterrupt

    monkeypatch.setattr("astralearn.report.artefacts.write_figures", interrupted)
    with pytest.raises(SystemExit) as stopped:
        ran(
            capsys,
            "compare",
            table,
            "--target",
            "fraud",
            "--jobs",
            1,
            "--repetitions",
            1,
            "--out",
            tmp_path / "out",
        )
    assert stopped.value.code == 130
    out, err = capsys.readouterr()
    assert (
        "interrupted while files were written. Every fold is kept: run the same command again."
        in err
    )
    assert "cards: 8 positives (yes) among 201 rows" in out


def test_methods_of_an_earlier_run_with_other_settings_are_named(
    no_figures, table, tmp_path, capsys, monkeypatch
):
    def chosen(names, epochs=None):
        return ChosenMethods(
            [Method(name, Nearest(seconds=(epochs or 0) / 1e6)) for name in names], []
        )

    monkeypatch.setattr(methods, "choose", chosen)
    arguments = [
        "compare",
        table,
        "--target",
        "fraud",
        "--jobs",
        1,
        "--repetitions",
        1,
        "--out",
        tmp_path / "out",
    ]
    assert ran(capsys, *arguments, "--methods", "BCE,SVM", "--epochs", 20)[0] == 0
    _, same, _ = ran(capsys, *arguments, "--methods", "logistic", "--epochs", 20)
    assert "earlier run" not in same
    _, other, _ = ran(capsys, *arguments, "--methods", "GMN", "--epochs", 300)
    said = "BCE is of an earlier run, with seconds=2e-05; this one has seconds=0.0003."
    assert said in " ".join(other.split())
    assert said in (tmp_path / "out" / "report.md").read_text()


def test_no_method_left_names_what_is_missing(table, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    code, _, err = ran(capsys, "compare", table, "--target", "fraud", "--methods", "ASTra-XGBoost")
    assert code == 2
    assert (
        "none of the methods can be run: ASTra-XGBoost was left out: xgboost is not installed"
        in err
    )


def test_folds_and_leave_one_positive_out_exclude_each_other(table, capsys):
    for folds in ("7", "5"):
        with pytest.raises(SystemExit) as stopped:
            ran(
                capsys,
                "compare",
                table,
                "--target",
                "fraud",
                "--folds",
                folds,
                "--leave-one-positive-out",
            )
        assert stopped.value.code == 2
        assert (
            "--leave-one-positive-out: not allowed with argument --folds" in capsys.readouterr().err
        )


@pytest.mark.parametrize(
    ("file", "name"),
    [(".hidden.csv", "hidden"), ("a\nb\x1b[31m.csv", "a b\N{REPLACEMENT CHARACTER}[31m")],
)
def test_any_file_name_gives_a_name_on_one_line(cheap, table, tmp_path, capsys, file, name):
    try:
        table.rename(tmp_path / file)
    except OSError:
        pytest.skip("this system has no such names")
    code, out, _ = ran(
        capsys, "compare", tmp_path / file, "--target", "fraud", "--jobs", 1, "--repetitions", 1
    )
    assert code == 0
    assert f"{name}: 8 positives (yes) among 201 rows" in out


@pytest.mark.parametrize(("system", "is_marked"), [(None, True), ("standard", False)])
def test_a_terminal_without_bold_has_asterisks(system, is_marked):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system=system, width=80)
    cli._show(console, report.Table("T", ["m"], [[report.Cell("0.5", bold=True)]]), [])
    assert ("0.5*" in file.getvalue()) == is_marked


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_an_output_on_a_full_disk_is_said_in_a_line():
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "astralearn", "data", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (
        1,
        "astralearn: the output cannot be written ([Errno 28] No space left on device)\n",
    )


def test_another_study_in_the_folder_is_refused(cheap, table, tmp_path, capsys):
    arguments = [
        "compare",
        table,
        "--target",
        "fraud",
        "--jobs",
        1,
        "--out",
        tmp_path / "out",
        "--repetitions",
    ]
    assert ran(capsys, *arguments, 1)[0] == 0
    code, _, err = ran(capsys, *arguments, 2)
    assert code == 9
    assert "holds another study: its repetitions is 1, now it is 2. Use another --out" in err


def test_an_interruption_says_how_to_resume(cheap, table, tmp_path, capsys, monkeypatch):
    from astralearn import study

    real = study.run

    def interrupted(plan, path, *, n_jobs, progress):
        def stop(state: RunProgress):
            progress(state)
            if state.done >= 3:
                raise KeyboardInterrupt

        return real(plan, path, n_jobs=n_jobs, progress=stop)

    arguments = [
        "compare",
        table,
        "--target",
        "fraud",
        "--jobs",
        1,
        "--repetitions",
        1,
        "--out",
        tmp_path / "out",
    ]
    monkeypatch.setattr(study, "run", interrupted)
    with pytest.raises(SystemExit) as stopped:
        ran(capsys, *arguments)
    assert stopped.value.code == 130
    _, err = capsys.readouterr()
    assert f"interrupted. 3 of 15 folds are kept in {tmp_path / 'out' / 'study.sqlite'}" in err
    assert "Run the same command again to continue" in err
    monkeypatch.setattr(study, "run", real)
    code, out, _ = ran(capsys, *arguments)
    assert code == 0
    assert out.startswith("note: ")
    assert "3/15 folds" in out


def test_an_interruption_counts_only_what_was_asked_for(
    cheap, no_figures, table, tmp_path, capsys, monkeypatch
):
    from astralearn import study

    def interrupted(plan, path, *, n_jobs, progress):
        raise KeyboardInterrupt

    arguments = [
        "compare",
        table,
        "--target",
        "fraud",
        "--jobs",
        1,
        "--repetitions",
        1,
        "--out",
        tmp_path / "out",
    ]
    assert ran(capsys, *arguments)[0] == 0
    monkeypatch.setattr(
        methods, "choose", lambda names, epochs=None: ChosenMethods([Method("SVM", Nearest())], [])
    )
    monkeypatch.setattr(study, "run", interrupted)
    with pytest.raises(SystemExit):
        ran(capsys, *arguments)
    assert "interrupted. 0 of 5 folds are kept in" in capsys.readouterr().err


def test_an_interruption_outside_the_run_is_said_in_a_line(table, capsys, monkeypatch):
    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "read_table", interrupted)
    assert ran(capsys, "compare", table, "--target", "fraud") == (
        130,
        "",
        "\nastralearn: interrupted.\n",
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_a_killed_worker_says_what_is_kept(no_figures, table, tmp_path, capsys, monkeypatch):
    dying = make_pipeline(
        FunctionTransformer(lambda X: os.kill(os.getpid(), signal.SIGKILL)), LogisticRegression()
    )
    arguments = [
        "compare",
        table,
        "--target",
        "fraud",
        "--repetitions",
        1,
        "--out",
        tmp_path / "out",
        "--jobs",
        2,
    ]
    monkeypatch.setattr(
        methods,
        "choose",
        lambda names, epochs=None: ChosenMethods([Method("BCE", LogisticRegression())], []),
    )
    assert ran(capsys, *arguments)[0] == 0
    both = [Method("BCE", LogisticRegression()), Method("GMN", dying)]
    monkeypatch.setattr(methods, "choose", lambda names, epochs=None: ChosenMethods(both, []))
    with pytest.raises(SystemExit) as stopped:
        ran(capsys, *arguments)
    assert stopped.value.code == 10
    err = capsys.readouterr().err
    assert (
        f"a worker process was killed, perhaps for want of memory. 5 of 10 folds are kept in {tmp_path / 'out'}"
        in err
    )
    assert "Run the same command again, with --jobs 1 to need less memory, to continue" in err


@pytest.mark.parametrize(
    ("jobs", "sent"), [("1", "SIGINT"), ("2", "SIGINT"), ("2", "SIGTERM"), ("2", "SIGHUP")]
)
def test_ctrl_c_and_its_likes_in_a_real_process(tmp_path, jobs, sent):
    """The pipe is closed when the last worker is gone, too."""
    command = [
        sys.executable,
        "-m",
        "astralearn",
        "compare",
        "--methods",
        "logistic",
        "--repetitions",
        "400",
        "--jobs",
        jobs,
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    options = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "text": True,
        "env": environment,
    }
    number = getattr(signal, sent)
    # The tests themselves may run under nohup, and what a parent ignores its child does too. No preexec_fn: that forks, of which JAX warns.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        process = subprocess.Popen([*command, "--out", tmp_path / "out"], **options)
    finally:
        signal.signal(number, before)
    with process:
        while process.poll() is None and not _has_records(tmp_path / "out" / "study.sqlite"):
            time.sleep(0.05)
        process.send_signal(number)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted." in said
    assert "Run the same command again to continue" in said
    assert "Traceback" not in said


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP")
def test_what_nohup_ignores_stays_ignored(capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(
        cli,
        "_main",
        lambda arguments: (
            seen.append([signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGHUP)]) or 0
        ),
    )
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        cli.main([])
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen == [[cli._interrupt, signal.SIG_IGN]]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def _has_records(path):
    from astralearn.study import StudyError, read_records

    try:
        return len(read_records(path)) > 2
    except StudyError:
        return False


def test_data_list_is_one_line_per_problem(capsys):
    code, out, _ = ran(capsys, "data", "list")
    header, *lines = out.splitlines()
    assert code == 0
    assert header.split() == ["name", "rows", "positives", "features", "IR", "where"]
    assert [line.split()[0] for line in lines] == list(CATALOGUE)
    assert lines[-1].split()[:5] == ["digits", "1628", "5", "64", "324.60"]


def test_data_fetch(capsys, monkeypatch, tmp_path):
    assert ran(capsys, "data", "fetch", "digits") == (0, "digits: inside scikit-learn\n", "")
    assert ran(capsys, "data", "fetch", "nothing")[0] == 3


def test_data_fetch_offline_says_which_file_to_put_where(capsys, monkeypatch, tmp_path):
    from dataclasses import replace

    monkeypatch.delenv("ASTRALEARN_DATA", raising=False)
    monkeypatch.setitem(
        CATALOGUE, "yeast6", replace(CATALOGUE["yeast6"], address="http://127.0.0.1:1/yeast6.arff")
    )
    code, _, err = ran(capsys, "data", "fetch", "yeast6")
    assert code == 8
    assert f"Put the file yeast6.arff into {tmp_path / 'cache' / 'astralearn'}" in err


@pytest.fixture
def cheap_ladder(monkeypatch):
    """A skin-4000 of the right size but random rows, and cheap methods under the paper's names."""
    y = np.repeat([0, 1], [20000, 34]).astype(np.int8)
    X = np.random.default_rng(0).normal(size=(len(y), 3)) + y[:, None]
    monkeypatch.setattr(cli, "load", lambda name: Problem(name, X, y, redraw=Redraw(5)))
    names = ("BCE", "GMN", "BCE-ASTra", "GMN-ASTra")
    monkeypatch.setattr(
        methods,
        "paper_ladder",
        lambda protocol: [Method(n, Stacked(noise=1.0), validates=True) for n in names],
    )


def test_reproduce_writes_every_artefact(cheap_ladder, capsys, tmp_path):
    code, out, err = ran(
        capsys, "reproduce", "--quick", "--problems", "skin-4000", "--jobs", 1, "--out", tmp_path
    )
    assert (code, err) == (0, "")
    assert "Table 1" in out
    assert "equal" in out
    assert "of 8 means lie inside the published mean's 95% interval" in out.replace("\n", " ")
    written = {path.name for path in tmp_path.iterdir()}
    tables = {f"table-{n}.{kind}" for n in (1, 2) for kind in ("md", "csv", "tex")}
    figures = {f"figure-{n}.{kind}" for n in (1, 2, 3, 4) for kind in ("png", "svg")}
    assert tables | figures | {"report.md", "records.csv", "study.sqlite"} <= written


def test_reproduce_adds_to_what_the_folder_has(cheap_ladder, no_figures, capsys, tmp_path):
    for problem in ("skin-4000", "skin-588"):
        code, out, _ = ran(
            capsys, "reproduce", "--quick", "--problems", problem, "--jobs", 1, "--out", tmp_path
        )
        assert code == 0
    assert "of 16 means lie inside" in " ".join(out.split())
    for number in (1, 2):
        assert list(dict.fromkeys(pd.read_csv(tmp_path / f"table-{number}.csv")["problem"])) == [
            "skin-588",
            "skin-4000",
        ]


def test_reproduce_shows_what_it_ran_where_an_earlier_problems_file_has_gone(
    cheap_ladder, no_figures, capsys, monkeypatch, tmp_path
):
    def gone(name):
        if name == "skin-4000":
            raise cli.UnavailableError("gone")
        return load(name)

    load = cli.load
    assert (
        ran(
            capsys,
            "reproduce",
            "--quick",
            "--problems",
            "skin-4000",
            "--jobs",
            1,
            "--out",
            tmp_path,
        )[0]
        == 0
    )
    monkeypatch.setattr(cli, "load", gone)
    code, out, _ = ran(
        capsys, "reproduce", "--quick", "--problems", "skin-588", "--jobs", 1, "--out", tmp_path
    )
    assert code == 0
    assert "skin-4000: run earlier, and left out here" in " ".join(out.split())
    assert set(pd.read_csv(tmp_path / "table-2.csv")["problem"]) == {"skin-588"}


@pytest.mark.parametrize(
    ("options", "folder"),
    [(["--quick"], "astralearn-reproduction-quick"), ([], "astralearn-reproduction")],
)
def test_reproduce_has_a_folder_for_each_protocol(
    cheap_ladder, no_figures, capsys, monkeypatch, tmp_path, options, folder
):
    monkeypatch.chdir(tmp_path)
    assert ran(capsys, "reproduce", *options, "--problems", "skin-4000", "--jobs", 1)[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == [folder]


def test_reproduce_knows_only_the_papers_problems(capsys, tmp_path):
    code, _, err = ran(capsys, "reproduce", "--problems", "yeast6", "--out", tmp_path)
    assert code == 2
    assert "not in the paper: yeast6; its problems are skin-588" in err


def test_no_command_shows_help(capsys):
    code, out, _ = ran(capsys)
    assert code == 2
    assert "compare" in out


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"astralearn {__version__}\n"


def test_python_m_astralearn():
    said = subprocess.run(
        [sys.executable, "-m", "astralearn", "--help"], check=True, capture_output=True, text=True
    ).stdout
    assert said.startswith("usage: astralearn")


def test_other_data_need_another_folder(tmp_path, capsys):
    for name in ("cards", "more"):
        rows = np.random.default_rng(0).normal(size=(60, 2))
        lines = [f"{a},{b},{int(i < 6)}" for i, (a, b) in enumerate(rows)]
        (tmp_path / f"{name}.csv").write_text("a,b,fraud\n" + "\n".join(lines))
    command = [
        "--target",
        "fraud",
        "--methods",
        "logistic",
        "--repetitions",
        "1",
        "--jobs",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]
    assert cli.main(["compare", str(tmp_path / "cards.csv"), *command]) == 0
    report = (tmp_path / "out" / "report.md").read_text()
    assert cli.main(["compare", str(tmp_path / "more.csv"), *command]) == 9
    assert (
        "holds a comparison on cards; this one is on more. Use another --out"
        in capsys.readouterr().err
    )
    assert (tmp_path / "out" / "report.md").read_text() == report


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_file_name_may_be_bytes_of_another_encoding(tmp_path, capsys):
    path = os.fsdecode(bytes(tmp_path) + b"/caf\xe9.csv")
    Path(path).write_text("a,fraud\n" + "\n".join(f"{i % 7},{int(i < 6)}" for i in range(60)))
    assert (
        cli.main(
            [
                "compare",
                path,
                "--target",
                "fraud",
                "--methods",
                "logistic",
                "--repetitions",
                "1",
                "--jobs",
                "1",
            ]
        )
        == 0
    )
    assert "caf\N{REPLACEMENT CHARACTER}: 6 positives" in capsys.readouterr().out


def test_without_bold_winners_have_an_asterisk(capsys):
    assert cli.main(["compare", "--methods", "logistic", "--repetitions", "1", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "*: best, or not distinguishable" in out
    assert re.search(r"logistic +0\.\d+ \(0\.\d+\)\*", out)


@pytest.mark.parametrize(
    ("option", "value"), [("--repetitions", "0"), ("--folds", "1"), ("--epochs", "0")]
)
def test_numbers_that_cannot_be_name_their_option(option, value, capsys):
    assert cli.main(["compare", option, value]) == 2
    assert f"{option} must be at least" in capsys.readouterr().err
