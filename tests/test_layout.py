"""The house in order: which rooms import which, which test belongs to which module, how long.

Tables named OPEN count, for each room, what does not follow a rule yet. They are exact: nothing new
may enter, and what is mended must leave them.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from astralearn.core import LOSSES

ROOT = Path(__file__).parent.parent
SOURCE, TESTS = ROOT / "src" / "astralearn", ROOT / "tests"
FILES = sorted(SOURCE.rglob("*.py"))
NAMES = [path.relative_to(SOURCE).as_posix() for path in FILES]
LONGEST_FILE, LONGEST_LINE, LONGEST_OPENING = 350, 100, 80

# Modules without a test file of their own, and why.
TESTED_ELSEWHERE = {
    "datasets/errors.py": "classes without code",
    "study/errors.py": "classes without code",
    "study/record.py": "classes without code",
    "keras/callbacks.py": "what check_fit trains with",
    "keras/optimizer.py": "what check_fit trains with",
    "keras/tensors.py": "what every check computes with",
    "engine/epoch.py": "the loop that test_training runs",
    "engine/lbfgs.py": "the search that test_training runs",
    "classifier/shard_fit.py": "the fit that tests/dask runs",
}
# Test files without a module, and what they are about.
WITHOUT_MODULE = {
    "layout.py": "the house",
    "imports.py": "the whole library in a fresh interpreter",
    "public_api.py": "the whole library's names",
    "scale_examples.py": "scripts",
    "snippets.py": "code in README and docs",
    "examples.py": "scripts",
    "site.py": "README, docs, and what they include",
    "release.py": "what a release publishes, and where",
    "reliability.py": "what docs/reliability.md promises, and what no file tells",
    "boosting/study_page.py": "the page that benchmarks/boosting_study.py writes",
    "keras/fit.py": "training from end to end, with optimizer and callbacks",
    "keras/saving.py": "models as a whole",
    "keras/data_parallel.py": "JAX's devices, in a process of its own",
    "keras/mirrored_eagerly.py": "TensorFlow's replicas, in a process of its own",
    "keras/backends.py": "runs the check_*.py of every module on each backend",
    "keras/examples.py": "scripts",
    "keras/import.py": "the room in a fresh interpreter",
    "torch/examples.py": "scripts",
    "torch/import.py": "the room in a fresh interpreter",
    "torch/graphs.py": "compiled and exported graphs across modules",
}

# What each room may import beside itself. Verbs may import every room but the command line.
BELOW = {
    "core": set(),
    "engine": {"core"},
    "classifier": {"core", "engine"},
    "tabular": {"core", "classifier"},
    "torch": {"core"},
    "keras": {"core"},
    "boosting": {"core"},
    "dask": {"engine", "classifier"},
    "onnx": {"core", "engine", "classifier", "tabular"},
    "datasets": {"core", "tabular"},
    "study": {"core", "classifier", "datasets", "tabular"},
    "report": {"core", "classifier", "datasets", "study"},
}
# Small modules that every room may use: they import the core and each other at most.
LEAVES = {
    "classifier.decision": "networks of every framework are cut alike",
    "classifier.evidence": "what decisions rest on",
    "classifier.labels": "which class is positive is one rule",
    "classifier.model_cut": "networks of every framework are cut alike",
    "classifier.left_whole": "every estimator keeps its earlier fit where a new one fails",
    "engine.fork": "every use of JAX by the library counts",
    "engine.interrupts": "whoever imports JAX first may be interrupted",
    "model_file": "models of every room are written alike",
}
# What a method of an estimator calls upwards, when it is called.
CALLED = {"onnx.to_onnx": "estimators write themselves"}

OPEN_UNTESTED: dict[str, int] = {}
OPEN_TESTS: dict[str, int] = {}
OPEN_LONG_FILES: dict[str, int] = {}
OPEN_LONG_LINES: dict[str, int] = {}
OPEN_OPENINGS: dict[str, int] = {}
OPEN_LOSS_NAMES: dict[str, int] = {}


def room_of(name: str) -> str:
    return name.split("/", maxsplit=1)[0] if "/" in name else "verbs"


def by_room(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(map(room_of, names)).items()))


def imported(name: str) -> set[str]:
    """What a file imports of the library, as dotted names without `astralearn.`."""
    found = set()
    for node in ast.walk(ast.parse((SOURCE / name).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {of.removeprefix("astralearn.") for of in found if of.startswith("astralearn.")}


def is_leaf(dotted: str) -> bool:
    return dotted in CALLED or any(
        dotted == leaf or dotted.startswith(f"{leaf}.") for leaf in LEAVES
    )


def test_imports_point_one_way():
    wrong = set()
    for name in NAMES:
        room = room_of(name)
        if room == "verbs":
            continue
        for dotted in imported(name):
            other = dotted.split(".")[0]
            if other != room and other not in BELOW[room] and not is_leaf(dotted):
                wrong.add((name, dotted))
    assert wrong == set()


def test_nothing_imports_the_command_line_but_its_entrance():
    users = {name for name in NAMES if any(of.split(".")[0] == "cli" for of in imported(name))}
    assert users <= {"__main__.py"}


@pytest.mark.parametrize("leaf", LEAVES)
def test_leaves_import_the_core_and_each_other_at_most(leaf):
    others = {
        dotted
        for dotted in imported(leaf.replace(".", "/") + ".py")
        if dotted.split(".")[0] != "core" and not is_leaf(dotted)
    }
    assert others <= {"__version__"}


@pytest.mark.slow
def test_studies_take_estimators_as_arguments():
    """What reads data, studies and reports imports no engine and no adapter."""
    code = """
import sys
import astralearn.datasets, astralearn.study, astralearn.report
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("astralearn.")}
print(*sorted(rooms & {"engine", "torch", "keras", "boosting"}))
"""
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert found == []


JAX = {
    "engine/objective.py",
    "engine/epoch.py",
    "engine/programs.py",
    "engine/lbfgs.py",
    "engine/places.py",
    "engine/training.py",
}


def test_numpy_and_jax_are_apart():
    """Of engine and classifier, these alone import JAX, or what does, when they are imported."""
    names = [name for name in NAMES if room_of(name) in ("engine", "classifier")]
    importing = set()
    for name in names:
        tree = ast.parse((SOURCE / name).read_text())
        modules = {
            node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        dotted = {"astralearn." + of.removesuffix(".py").replace("/", ".") for of in JAX}
        if modules & {"jax", "jax.numpy", "optax", *dotted}:
            importing.add(name)
    assert importing == JAX | {"classifier/fitting.py"}


def test_every_module_has_its_test_and_every_test_its_module():
    modules = {name for name in NAMES if not name.endswith(("__init__.py", "__main__.py"))}
    tested = {
        (path.parent / path.name.removeprefix(prefix)).relative_to(TESTS).as_posix()
        for prefix in ("test_", "check_")
        for path in TESTS.rglob(f"{prefix}*.py")
    }
    untested = modules - tested - set(TESTED_ELSEWHERE)
    astray = tested - modules - set(WITHOUT_MODULE)
    assert by_room(untested) == OPEN_UNTESTED, untested
    assert by_room(astray) == OPEN_TESTS, astray
    assert set(TESTED_ELSEWHERE) <= modules - tested
    assert set(WITHOUT_MODULE) <= tested - modules


def test_the_map_names_every_module():
    """docs/architecture.md has every room and every module in its tree."""
    tree = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    words = set(re.findall(r"\w+", tree))
    modules = [name.removesuffix(".py") for name in NAMES if not name.endswith("__main__.py")]
    assert not [name for name in modules if not words.issuperset(name.split("/"))]


def test_files_are_short():
    long = [
        name
        for name, path in zip(NAMES, FILES, strict=True)
        if len(path.read_text().splitlines()) > LONGEST_FILE
        and name != "classifier/estimator.py"  # It holds the table of its parameters.
    ]
    assert by_room(long) == OPEN_LONG_FILES, long


def test_lines_are_short():
    long = [
        name
        for name, path in zip(NAMES, FILES, strict=True)
        for line in path.read_text().splitlines()
        if len(line) > LONGEST_LINE
    ]
    assert by_room(long) == OPEN_LONG_LINES


def test_docstrings_open_with_one_short_line():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    long = []
    for name, path in zip(NAMES, FILES, strict=True):
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]
        openings = [(ast.get_docstring(node) or "").split("\n")[0] for node in nodes]
        long += [name for opening in openings if len(opening) > LONGEST_OPENING]
    assert by_room(long) == OPEN_OPENINGS


def test_no_loss_is_told_by_its_name():
    """Nothing is compared with a loss's name but in the table of losses."""
    branching = []
    for name, path in zip(NAMES, FILES, strict=True):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare) and _is_about_a_loss(node):
                branching.append(name)
    branching = [name for name in branching if name != "core/losses.py"]
    assert by_room(branching) == OPEN_LOSS_NAMES, branching


def _is_about_a_loss(node: ast.Compare) -> bool:
    parts = list(ast.walk(node))
    values = {part.value for part in parts if isinstance(part, ast.Constant)}
    words = {part.id for part in parts if isinstance(part, ast.Name)}
    words |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
    return bool(values & set(LOSSES)) and bool(words & {"loss", "name", "kind"})


def test_no_file_is_named_for_nothing():
    assert not [name for name in NAMES if name.endswith(("utils.py", "common.py", "helpers.py"))]
