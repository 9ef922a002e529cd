"""What was asked of a comparison, in words: command, facts, how to train."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from astralearn.classifier.decision import check_decision
from astralearn.datasets import Problem
from astralearn.methods import DEFAULT_METHOD, METHOD_NAMES, PAPER_NETWORKS
from astralearn.study import Method, MismatchError, Plan, problems_in
from astralearn.study.answer import PER, Answer

# What a command need not say, in its order.
USUAL = {
    "target": None,
    "positive": None,
    "decision": "g_mean",
    "methods": ["default"],
    "group": None,
    "time": None,
    "folds": None,
    "leave_one_positive_out": False,
    "repetitions": None,
    "epochs": None,
    "seed": 0,
    "budget": None,
    "out": None,
}


@dataclass(frozen=True)
class Asked:
    """The arguments of a comparison.

    plan: what is to be run.
    options: the arguments of `plan_comparison`, by name.
    """

    plan: Plan
    options: Mapping[str, Any]

    @property
    def command(self) -> str:
        """What makes it again, on the command line."""
        given = ["astralearn", "compare", self.source]
        for name, usual in USUAL.items():
            value = self.options[name]
            value = list(value) if isinstance(value, tuple) else value
            if value is None or value == usual:
                continue
            option = f"--{name.replace('_', '-')}"
            given += [option] if value is True else [option, as_option(value)]
        return shlex.join(given)

    @property
    def source(self) -> str:
        """The file, or the name of a problem or table."""
        data = self.options["data"]
        return str(data) if isinstance(data, str | Path) else self.plan.problems[0].name

    def facts(self) -> list[tuple[str, str]]:
        """The data, the folds, the decision and the seed, for a reader."""
        (problem,) = self.plan.problems
        target = self.options["target"]
        asked = [("target", f"{target}; positive is {problem.labels[1]}")] if target else []
        return [
            ("file", self.source),
            *asked,
            ("rows", f"{problem.rows:,}, of them {problem.positives:,} positive, "
                     f"{problem.features} columns"),
            ("folds", self._folds()),
            ("decision", as_option(self.options["decision"])),
            ("seed", str(self.plan.seed)),
        ]  # fmt: skip

    def _folds(self) -> str:
        if self.options["time"]:
            return f"{self.plan.folds}, each tested by rows of an earlier {self.options['time']}"
        within = f", keeping {self.options['group']} together" if self.options["group"] else ""
        return f"{self.plan.folds}, {self.plan.repetitions} times over{within}"

    def training_lines(self, found: Answer) -> list[tuple[str, str]]:
        """The lines of Python and the command that train the recommended method.

        Each with what it is, in words.
        """
        if found.is_useless:
            return []
        command = self._command_to_train(found.best.method)
        lines = [self._python_to_train(found)]
        return [*lines, ("On the command line:", command)] if command else lines

    def _python_to_train(self, found: Answer) -> tuple[str, str]:
        name, decision = found.best.method, self.options["decision"]
        if name == DEFAULT_METHOD:
            maker = f"ASTraClassifier(decision={decision!r})"
            source = "from astralearn import ASTraClassifier\n"
        elif name in METHOD_NAMES:
            maker, source = f"make({name!r})", "from astralearn.methods import make\n"
        else:
            own = [method.estimator for method in self.plan.methods if method.name == name]
            maker, source = repr(own[0]) if own else name, ""
        what = "In Python, with X a table of features and y its labels:"
        if not isinstance(decision, str) and name != DEFAULT_METHOD:
            share = found.best.false_alarms.mean / PER
            what = f"In Python; then flag the {share:.2%} of the rows that score highest:"
        return what, (
            f"{source}from astralearn.tabular import TabularASTraClassifier\n"
            f"model = TabularASTraClassifier({maker}).fit(X, y)"
        )

    def _command_to_train(self, name: str) -> str:
        """`astralearn fit`, for the library's own and a file; "" elsewhere."""
        if name not in (DEFAULT_METHOD, *PAPER_NETWORKS) or not self.options["target"]:
            return ""
        given = ["astralearn", "fit", self.source]
        for name_of_option in ("target", "positive"):
            value = self.options[name_of_option]
            given += [] if value is None else [f"--{name_of_option}", str(value)]
        if name == DEFAULT_METHOD:
            given += ["--decision", as_option(self.options["decision"])]
        else:
            given += ["--method", name]
        return shlex.join([*given, "--out", f"{self.plan.problems[0].name}.astra"])


def as_option(value: Any) -> str:
    """An argument as the command line spells it."""
    if isinstance(value, Mapping):
        ((kind, number),) = value.items()
        if kind == "cost":
            number = ",".join(f"{label}:{cost:g}" for label, cost in number.items())
        return f"{kind}={number}"
    if isinstance(value, list | tuple):
        return ",".join(one.name if isinstance(one, Method) else str(one) for one in value)
    return f"{value:g}s" if isinstance(value, float) else str(value)


def study_decision(decision: Any, problem: Problem) -> Any:
    """A decision with costs of the labels 1 and 0, as the study has them."""
    check_decision(decision, list(problem.labels))
    if isinstance(decision, Mapping) and "cost" in decision:
        majority, minority = problem.labels
        return {"cost": {1: decision["cost"][minority], 0: decision["cost"][majority]}}
    return decision


def said_of_absent(said: Sequence[str]) -> list[str]:
    """Methods that cannot be run, in one sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for sentence in said:
        name, _, reason = sentence.partition(" was left out: ")
        reasons.setdefault(reason, []).append(name)
    return [f"left out: {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def check_folder(path: Path, problem: str) -> None:
    """Refuse a study's file of another problem: report and figures are of one."""
    others = [name for name in problems_in(path) if name != problem] if os.path.isfile(path) else []
    if others:
        raise MismatchError(
            f"{path} holds a comparison on {', '.join(others)}; this one is on {problem}. "
            "Use another `out`."
        )
