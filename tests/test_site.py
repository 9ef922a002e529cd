"""README and the site: every public name, option and code is in them, and pages stay short."""

import importlib
import importlib.util
import inspect
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

import astralearn
from astralearn import cli

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ROOMS = ("core", "tabular", "dask", "onnx", "torch", "keras", "boosting", "datasets", "study")


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def named_in_the_reference():
    """Modules and names of docs/api.md."""
    text = (DOCS / "api.md").read_text()
    blocks = re.findall(r"currentmodule:: (\S+)\n\n.*?:toctree: generated\n\n(.*?)```", text, re.S)
    return {(module, name) for module, names in blocks for name in names.split()}


@pytest.mark.slow
@pytest.mark.parametrize("room", [*ROOMS, "report"])
def test_every_public_name_is_in_the_reference(room, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    try:
        module = importlib.import_module(f"astralearn.{room}")
    except ImportError as error:
        pytest.skip(str(error))
    missing = {(module.__name__, name) for name in module.__all__} - named_in_the_reference()
    assert not missing


# Names whose example is shown and not run, and why.
SHOWN_ONLY = {
    "reproduce": "takes a minute and the paper's files",
    "Reproduction": "is what reproduce returns",
}


@pytest.mark.slow
def test_every_public_class_and_function_has_an_example(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    without, not_run = [], []
    for module, name in sorted(named_in_the_reference()):
        try:
            item = getattr(importlib.import_module(module), name)
        except ImportError:
            continue
        if not (inspect.isclass(item) or inspect.isroutine(item)):
            continue
        # A class must have its own: one without a docstring inherits none here.
        said = (vars(item) if inspect.isclass(item) else {"__doc__": item.__doc__}).get("__doc__")
        lines = [line for line in (said or "").splitlines() if ">>>" in line]
        without += [f"{module}.{name}"] * (not lines)
        not_run += [name] * (bool(lines) and all("+SKIP" in line for line in lines))
    assert not without
    assert set(not_run) <= set(SHOWN_ONLY)


def test_the_readme_is_read_to_the_end():
    text = (ROOT / "README.md").read_text()
    words = [word for word in text.split() if re.search(r"\w", word)]
    assert len(words) <= 700, "code, output and tables included"
    snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    lines = [len([line for line in snippet.splitlines() if line]) for snippet in snippets]
    assert lines[0] <= 5
    assert max(lines[1:]) <= 3
    assert not [line for line in text.splitlines() if len(line) > 100]


PAGES = sorted(DOCS.glob("*.md"))
LOOKED_UP = ("api", "cli", "files", "changelog")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_pages_are_short(page):
    """Tables count, and what a page includes; the reference is looked up."""
    text = re.sub(
        r"```\{include\} (\S+).*?```",
        lambda found: (DOCS / found[1]).read_text(),
        page.read_text(),
        flags=re.DOTALL,
    )
    said = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    words = [word for word in said.split() if re.search(r"\w", word)]
    assert page.stem in LOOKED_UP or len(words) <= 1_200


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_lines_are_short(page):
    """A row of a table cannot be broken."""
    lines = [line for line in page.read_text().splitlines() if not line.startswith("|")]
    assert not [line for line in lines if len(line) > 100]


def test_the_default_is_as_its_page_describes_it():
    text = " ".join((DOCS / "defaults.md").read_text().split())
    default = astralearn.ASTraClassifier()
    for said in (
        f"within ±{default.clip:g} deviations",
        f"of {default.hidden_layer_sizes} units, under ASTra and the `{default.loss}` loss",
        f"{default.epochs} steps of Adam at {default.learning_rate}, L2 of {default.alpha:g}",
    ):
        assert said in text, said


def test_every_exit_code_is_explained():
    codes = {0, 1, cli.USAGE, cli.WORKER_KILLED, cli.INTERRUPTED, *cli.EXIT_CODES.values()}
    table = (DOCS / "files.md").read_text().split("## Exit codes")[1]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.M)} == codes


def test_every_extra_is_in_the_table_of_what_to_install():
    extras = set(project()["optional-dependencies"]) - {"dev", "docs"}
    shown = re.findall(r"astralearn\[([\w,]+)\]", (DOCS / "install.md").read_text())
    assert {extra for each in shown for extra in each.split(",")} == extras


def test_a_name_in_a_pages_code_is_linked_where_it_is_clear(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    named = importlib.import_module("public_names").named
    objects = {
        "astralearn.ASTraClassifier",
        "astralearn.core.slope_rate",
        "astralearn.keras.decide",
        "astralearn.keras.GMNLoss",
        "astralearn.torch.GMNLoss",
        "astralearn.compare.compare",
        "astralearn.study.Record.fit_many",
    }
    for text, page, full in [
        ("ASTraClassifier(decision=…)", "costs", "astralearn.ASTraClassifier"),
        ("astralearn.slope_rate", "paper", "astralearn.core.slope_rate"),
        ("GMNLoss()", "pytorch", "astralearn.torch.GMNLoss"),
        ("GMNLoss()", "paper", None),  # of which room?
        ("decide", "keras", "astralearn.keras.decide"),
        ("slope_rate", "keras", None),  # an argument there
        ("compare", "decisions", None),  # the command
        ("fit_many", "speed", None),  # many classes have one
        ("astralearn fit", "files", None),
    ]:
        assert named(text, page, objects) == full, text


def test_every_example_of_the_gallery_ends_in_a_picture():
    examples = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
    assert len(examples) >= 8
    for path in examples:
        assert path.read_text().endswith("plt.show()\n"), path.name


def benchmark(name):
    """A script of benchmarks/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_result_is_older_than_the_code_that_makes_it_says():
    records = benchmark("records")
    of_code = {name: version for name, (_, version) in records.MADE_BY.items()}
    of_files = json.loads(records.VERSIONS.read_text())
    stale = [name for name, version in of_code.items() if of_files.get(name, 0) < version]
    assert not stale, f"make anew: {stale}"
    there = {path.name for path in records.RESULTS.iterdir()}
    assert there == {*of_code, records.VERSIONS.name}
    assert all((ROOT / script).exists() for script, _ in records.MADE_BY.values())


@pytest.mark.slow
def test_the_tables_of_rarebench_are_those_of_its_records(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "benchmarks")])
    rarebench = benchmark("rarebench")
    shown = []
    monkeypatch.setattr(rarebench, "put", lambda path, _script, text: shown.append((path, text)))
    rarebench.write_pages()
    assert len(shown) == 4
    for path, text in shown:
        said = benchmark("records").filled(text.strip())
        assert said in path.read_text(), f"python benchmarks/rarebench.py page: {path.name}"
