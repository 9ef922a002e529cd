"""The command line: what it parses and prints, its exit codes, and how it ends."""

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from astralearn import __version__, cli, compare, report, reproduce
from astralearn.datasets import CATALOGUE, load
from astralearn.methods import ChosenMethods
from astralearn.study import Method, StudyError, read_records
from classifiers import CheapNetwork, Nearest, Raising, Stacked

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")


def offer(monkeypatch, *offered, absent=()):
    """Let `--methods` stand for these, whatever it says."""
    chosen = ChosenMethods(list(offered), list(absent))
    monkeypatch.setattr(compare, "choose", lambda names, **_: chosen)


@pytest.fixture
def cheap(monkeypatch):
    """Stand-ins for the ladder and one rival that fails on some folds; no figures."""
    offer(
        monkeypatch,
        Method("BCE", Nearest(noise=3.0)),
        Method("GMN", Stacked()),
        Method("RUSBoost", Raising()),
        absent=["LightGBM was left out: lightgbm is not installed"],
    )
    monkeypatch.setattr("astralearn.report.artefacts.write_figures", lambda *_, **__: [])
    monkeypatch.setattr("astralearn.pages._explained_rows", lambda _: ("", []))


@pytest.fixture
def table(tmp_path):
    random, fraud = np.random.default_rng(0), np.arange(201) < 8
    frame = pd.DataFrame({"amount": random.normal(size=201) + 2 * fraud})
    frame.assign(fraud=np.where(fraud, "yes", "no")).to_csv(tmp_path / "cards.csv", index=False)
    return tmp_path / "cards.csv"


def ran(capsys, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def compared(capsys, table, *options):
    command = ("compare", table, "--target", "fraud", "--jobs", 1, "--repetitions", 1)
    return ran(capsys, *command, *options)


def test_compare_prints_notes_progress_table_and_advice(cheap, table, tmp_path, capsys):
    code, out, err = compared(capsys, table, "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    said = [
        "note: left out: LightGBM: lightgbm is not installed",
        "0/15 folds · cards · BCE · about ",
        "GMN: found ",
        "15/15 folds · done",
        "cards: 8 positives (yes) among 201 rows",
        "RUSBoost failed on",
        "Use ",
        "In Python",
        " is the least intervention",
        f"Written to {tmp_path / 'out'}: report.html, report.md",
    ]
    places = [out.index(part) for part in said]
    assert places == sorted(places)
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!doctype html>")
    command = f"astralearn compare {table} --target fraud --repetitions 1 --out {tmp_path / 'out'}"
    assert command in (tmp_path / "out" / "report.html").read_text()


def test_every_option_reaches_the_comparison(monkeypatch, capsys):
    seen = {}

    def planned(data, **options):
        seen.update(options, data=data)
        raise ValueError("enough")

    monkeypatch.setattr(compare, "plan_comparison", planned)
    arguments = ["x.csv", "--methods", "BCE, weighted MLP ", "--target", "t", "--positive", "1"]
    arguments += ["--repetitions", "3", "--folds", "4", "--epochs", "7", "--seed", "9"]
    arguments += ["--out", "o", "--decision", "cost=1:9,0:2", "--group", "g", "--time", "d"]
    arguments += ["--budget", "2m"]
    assert ran(capsys, "compare", *arguments)[0] == 2
    assert seen == {
        "data": "x.csv",
        "target": "t",
        "positive": "1",
        "methods": ["BCE", "weighted MLP"],
        "decision": {"cost": {"1": 9.0, "0": 2.0}},
        "group": "g",
        "time": "d",
        "budget": 120.0,
        "folds": 4,
        "leave_one_positive_out": False,
        "repetitions": 3,
        "epochs": 7,
        "seed": 9,
        "out": "o",
    }


def test_every_option_reaches_the_reproduction(monkeypatch, capsys):
    seen = {}

    def planned(problems, **options):
        seen.update(options, problems=problems)
        raise ValueError("enough")

    monkeypatch.setattr(reproduce, "plan_reproduction", planned)
    options = ["--quick", "--problems", "skin-588, yeast6 ", "--seed", 1, "--out", "o"]
    assert ran(capsys, "reproduce", *options, "--starts", 3)[0] == 2
    expected = {"problems": ["skin-588", "yeast6"], "quick": True, "seed": 1, "out": "o"}
    assert seen == expected | {"starts": 3}


def test_reproduce_prints_both_tables(monkeypatch, capsys, tmp_path):
    skin = replace(load("digits"), name="ijcnn-971")
    ladder = [Method(name, CheapNetwork(2), validates=True) for name in ("BCE", "GMN-ASTra")]
    monkeypatch.setattr(reproduce, "load", lambda name: skin)
    monkeypatch.setattr(reproduce, "paper_ladder", lambda protocol: ladder)
    monkeypatch.setattr(reproduce, "choose", lambda names: ChosenMethods([], []))
    monkeypatch.setattr("astralearn.report.reproduction_page.write_figures", lambda *_, **__: [])
    code, out, err = ran(
        capsys, "reproduce", "--quick", "--problems", "ijcnn-971", "--jobs", 1, "--out", tmp_path
    )
    assert (code, err) == (0, "")
    order = ["Table 1", "0/40 folds", "Table 2 by the paper's rule", "Table 2 by the last epoch"]
    order += [
        "Cells that differ",
        "agrees better.",
        "ijcnn-971: BCE is the least intervention",
        "Written to",
    ]
    assert sorted(order, key=out.index) == order


def test_brackets_in_data_are_text_not_markup(cheap, tmp_path, capsys):
    fraud = np.arange(40) < 8
    frame = pd.DataFrame({"amount [/EUR]": ["a [b]", "c"] * 20, "[usd] :x:": "d", "x": fraud * 1.0})
    frame.assign(fraud=np.where(fraud, "[/yes]", "no")).to_csv(tmp_path / "[c].csv", index=False)
    code, out, _ = compared(capsys, tmp_path / "[c].csv")
    assert code == 0
    assert "missing as one of them: amount [/EUR], [usd] :x:" in out
    assert "0/15 folds · [c] · BCE" in out
    assert "[c]: 8 positives ([/yes]) among 40 rows" in out


def test_records_stay_in_the_cache_until_the_table_is_printed(cheap, table, tmp_path, monkeypatch):
    def broken(table, *, has_bold, width):
        raise RuntimeError("nobody has seen the table")

    monkeypatch.setattr(report, "to_rich", broken)
    command = ["compare", str(table), "--target", "fraud", "--jobs", "1", "--repetitions", "1"]
    with pytest.raises(RuntimeError):
        cli.main(command)
    assert len(list((tmp_path / "cache").glob("astralearn/studies/*.sqlite"))) == 1


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_without_all_characters_costs_no_run(cheap, table, monkeypatch, encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    command = ["compare", str(table), "--target", "fraud", "--jobs", "1", "--repetitions", "1"]
    assert cli.main(command) == 0
    stream.flush()
    assert b"RUSBoost failed on" in stream.buffer.getvalue()


FEW = "a,t\n" + "1,0\n2,0\n" * 10 + "2,1\n" * 3


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        (None, ["nowhere.csv", "--target", "t"], 3, "no such file: nowhere.csv"),
        ("a,t\n1,0\n", ["--target", "fraud"], 4, "no column 'fraud'; there are 'a', 't'"),
        ("a,t\n1,0\n", [], 4, "which column is to be predicted? Name it (--target)"),
        ("a,t\n1,0\n2,1\n3,2\n", ["--target", "t"], 5, "choose the positive one (--positive)"),
        (FEW, ["--target", "t"], 6, "ask for at most 3 folds (--folds 3)"),
        ("", ["--target", "t"], 7, "cannot be read: No columns to parse from file"),
        (FEW, ["--target", "t", "--folds", "3", "--out", "x" * 300], 9, "use another --out"),
        ("a,t\n1,0\n2,1\n", ["--target", "t", "--methods", "kNN"], 2, "no such method: 'kNN'"),
        (None, ["--epochs", "0"], 2, "--epochs must be at least 1; found 0"),
        (None, ["--folds", "1"], 2, "--folds must be at least 2; found 1"),
        (None, ["--repetitions", "0"], 2, "--repetitions must be at least 1; found 0"),
        (None, ["--seed", "-1"], 2, "--seed must be at least 0; found -1"),
        (None, ["--jobs", "0"], 2, "--jobs must be at least 1, or -1 for one per core; found 0"),
        (None, ["--target", "t"], 2, "--target t is for files and frames"),
        (
            None,
            ["--folds", "5", "--leave-one-positive-out"],
            2,
            "--folds and --leave-one-positive-out exclude each other",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_line_with_a_code_of_its_own(
    tmp_path, capsys, text, arguments, code, message
):
    if text is not None:
        (tmp_path / "t.csv").write_text(text)
        arguments = [str(tmp_path / "t.csv"), *arguments]
    found, out, err = ran(capsys, "compare", *arguments)
    assert found == code
    assert err.startswith("astralearn: ")
    assert err.count("\n") == 1
    assert message in err
    assert out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "--budget", "5x"], "write it like 90s, 5m or 1h; found '5x'"),
        (["compare", "--decision", "cost=1"], "cost=yes:100,no:1; found 'cost=1'"),
        (["bench", "--k", "few"], "write it like 5,10,20; found 'few'"),
        (["score", "m", "d", "--out", "o", "--share", "x%"], "write it like 1% or 0.01; found"),
    ],
)
def test_an_option_that_cannot_be_read_says_how_to_write_it(capsys, arguments, message):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("out", ["taken", "taken/deeper", None])
def test_a_folder_that_cannot_be_written(cheap, table, tmp_path, capsys, monkeypatch, out):
    (tmp_path / "taken").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))
    code, _, err = compared(capsys, table, *(["--out", tmp_path / out] if out else []))
    assert code == 9
    assert err.startswith(f"astralearn: {tmp_path / 'taken'}")
    assert "cannot be written (" in err
    assert "use another --out" in err


def test_a_damaged_study_is_said_in_a_line(cheap, table, tmp_path, capsys):
    (tmp_path / "study.sqlite").write_bytes(b"no study " * 1000)
    code, out, err = compared(capsys, table, "--out", tmp_path)
    assert (code, out) == (9, "")
    assert err.startswith(
        f"astralearn: {tmp_path / 'study.sqlite'} is not a study file, or damaged"
    )
    assert err.endswith("move it away to begin anew, or use another --out\n")
    assert err.count("\n") == 1


def test_an_artefact_that_cannot_be_written_costs_no_table(cheap, table, tmp_path, capsys):
    (tmp_path / "out" / "records.csv").mkdir(parents=True)
    code, out, err = compared(capsys, table, "--out", tmp_path / "out")
    assert code == 9
    assert "cannot be written (" in err
    assert "records.csv" in err
    assert "cards: 8 positives (yes) among 201 rows" in out
    assert "Use " in out


def test_an_interruption_while_files_are_written_shows_the_table_and_says_how_to_get_them(
    cheap, table, tmp_path, capsys, monkeypatch
):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("astralearn.report.artefacts.write_figures", interrupted)
    with pytest.raises(SystemExit) as stopped:
        compared(capsys, table, "--out", tmp_path / "out")
    assert stopped.value.code == 130
    out, err = capsys.readouterr()
    assert "interrupted while files were written. Every fold is kept: run the same command" in err
    assert "cards: 8 positives (yes) among 201 rows" in out


@pytest.mark.parametrize(("system", "is_marked"), [(None, True), ("standard", False)])
def test_a_terminal_without_bold_has_asterisks(system, is_marked):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system=system, width=80)
    cli._show(console, report.Table("T", ["m"], [[report.Cell("0.5", bold=True)]]), [])
    assert ("0.5*" in file.getvalue()) == is_marked


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_an_output_on_a_full_disk_is_said_in_a_line():
    command = [sys.executable, "-m", "astralearn", "data", "list"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "astralearn: the output cannot be written ([Errno 28] No space left on device)\n"
    assert (ended.returncode, ended.stderr) == (1, said)


def test_an_interruption_says_how_to_resume(cheap, table, tmp_path, capsys, monkeypatch):
    real = compare.run

    def interrupted(plan, path, *, n_jobs, progress, budget):
        def stop(state):
            progress(state)
            if state.done >= 3:
                raise KeyboardInterrupt

        return real(plan, path, n_jobs=n_jobs, progress=stop)

    monkeypatch.setattr(compare, "run", interrupted)
    with pytest.raises(SystemExit) as stopped:
        compared(capsys, table, "--out", tmp_path / "out")
    assert stopped.value.code == 130
    _, err = capsys.readouterr()
    assert f"interrupted. 3 of 15 folds are kept in {tmp_path / 'out' / 'study.sqlite'}" in err
    assert "Run the same command again to continue" in err
    monkeypatch.setattr(compare, "run", real)
    code, out, _ = compared(capsys, table, "--out", tmp_path / "out")
    assert code == 0
    assert "3/15 folds" in out


def test_an_interruption_outside_the_run_is_said_in_a_line(table, capsys, monkeypatch):
    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "read_table", interrupted)
    assert compared(capsys, table) == (130, "", "\nastralearn: interrupted.\n")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_a_killed_worker_says_what_is_kept(table, tmp_path, capsys, monkeypatch):
    dying = make_pipeline(
        FunctionTransformer(lambda X: os.kill(os.getpid(), signal.SIGKILL)), LogisticRegression()
    )
    living = Method("BCE", LogisticRegression())
    options = ["--out", tmp_path / "out", "--jobs", 2]
    monkeypatch.setattr("astralearn.report.artefacts.write_figures", lambda *_, **__: [])
    offer(monkeypatch, living)
    assert compared(capsys, table, *options)[0] == 0
    offer(monkeypatch, living, Method("GMN", dying))
    with pytest.raises(SystemExit) as stopped:
        compared(capsys, table, *options)
    assert stopped.value.code == 10
    err = capsys.readouterr().err
    assert "a worker process was killed, perhaps for want of memory. 5 of 10 folds are kept" in err
    assert "Run the same command again, with --jobs 1 to need less memory, to continue" in err


def has_records(path):
    try:
        return len(read_records(path)) > 2
    except StudyError:
        return False


@pytest.mark.parametrize(
    ("jobs", "sent"),
    [
        ("2", "SIGTERM"),
        *(
            pytest.param(jobs, sent, marks=pytest.mark.long)
            for jobs, sent in (("1", "SIGINT"), ("2", "SIGINT"), ("2", "SIGHUP"))
        ),
    ],
)
def test_ctrl_c_and_its_likes_in_a_real_process(tmp_path, jobs, sent):
    """The pipe is closed when the last worker is gone, too."""
    command = "compare --methods logistic --repetitions 400 --jobs"
    command = [sys.executable, "-m", "astralearn", *command.split(), jobs, "--out", tmp_path / "o"]
    number = getattr(signal, sent)
    # The tests themselves may run under nohup, and what a parent ignores its child does too. A
    # preexec_fn would fork, of which JAX warns.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    finally:
        signal.signal(number, before)
    with process:
        while process.poll() is None and not has_records(tmp_path / "o" / "study.sqlite"):
            time.sleep(0.05)
        process.send_signal(number)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted." in said
    assert "Run the same command again to continue" in said
    assert "Traceback" not in said


def test_data_list_is_one_line_per_problem(capsys):
    code, out, _ = ran(capsys, "data", "list")
    header, *lines = out.splitlines()
    assert code == 0
    assert header.split() == ["name", "rows", "positives", "features", "IR", "where"]
    assert [line.split()[0] for line in lines] == list(CATALOGUE)
    assert lines[-1].split()[:5] == ["digits", "1628", "5", "64", "324.60"]


def test_data_fetch(capsys):
    assert ran(capsys, "data", "fetch", "digits") == (0, "digits: inside scikit-learn\n", "")
    assert ran(capsys, "data", "fetch", "nothing")[0] == 3


def test_data_fetch_offline_says_which_file_to_put_where(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("ASTRALEARN_DATA", raising=False)
    nowhere = replace(CATALOGUE["yeast6"], address="http://127.0.0.1:1/yeast6.arff")
    monkeypatch.setitem(CATALOGUE, "yeast6", nowhere)
    code, _, err = ran(capsys, "data", "fetch", "yeast6")
    assert code == 8
    assert f"Put the file yeast6.arff into {tmp_path / 'cache' / 'astralearn'}" in err


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


def test_without_bold_winners_have_an_asterisk(cheap, table, capsys):
    _, out, _ = compared(capsys, table)
    assert "*: may be recommended" in out
    assert "GMN*" in out
