"""The plan of a benchmark: every problem × method × k × draw is a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from astralearn.datasets.errors import TooFewPositivesError
from astralearn.datasets.problem import Problem
from astralearn.datasets.rarebench import PROBLEMS
from astralearn.study.draw_record import DrawRecord
from astralearn.study.draw_unit import BestUnit, DrawUnit
from astralearn.study.draws import Drawing, check_k, make_draws
from astralearn.study.identity import identities
from astralearn.study.method import Method
from astralearn.study.run import check_names


@dataclass(frozen=True)
class DrawPlan:
    """What a benchmark is.

    A problem that has too few positives for some k is left out there; `left_out` says so. More
    draws and other k may be added to a file later: they change nothing that is in it.

    ks: numbers of positives to learn from.
    draws: how many times they are drawn.
    seed: decides draws and every fit.
    limit: seconds that one draw may take to learn and predict.
    """

    problems: Sequence[Problem]
    methods: Sequence[Method]
    ks: Sequence[int] = (5, 10, 20, 50, 100)
    draws: int = 5
    seed: int = 0
    drawing: Drawing = field(default_factory=Drawing)
    limit: float = 600.0

    kind = DrawRecord
    in_threads = True

    def __post_init__(self) -> None:
        check_names(self.problems, self.methods)
        for name in ("draws", "limit"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0; found {getattr(self, name)}")
        if not self.ks or min(self.ks) < 1:
            raise ValueError(f"ks must be numbers of at least 1; found {list(self.ks)}")

    def units(self) -> list[BestUnit]:
        """Every unit, problem after problem; the best possible first, where it is known."""
        listed: list[BestUnit] = []
        for problem in self.problems:
            for k in self._possible(problem):
                splits = make_draws(
                    problem, k, draws=self.draws, seed=self.seed, drawing=self.drawing
                )
                if problem.name in PROBLEMS and not PROBLEMS[problem.name].is_real:
                    listed.append(BestUnit(problem, splits, k))
                for method in self.methods:
                    whole = DrawUnit(problem, splits, k, method, self.seed, self.limit)
                    alone = [replace(whole, splits=[split]) for split in splits]
                    listed += [whole] if method.stacks else alone
        return listed

    def settings(self) -> dict[str, str]:
        """What a file's records depend on."""
        numbers = {"seed": str(self.seed), "drawing": repr(self.drawing)}
        return numbers | identities(self.problems, self.methods)

    def left_out(self) -> list[str]:
        """Problems and k that cannot be, a sentence each."""
        said = []
        for problem in self.problems:
            missing = [str(k) for k in self.ks if k not in self._possible(problem)]
            if missing:
                said.append(
                    f"{problem.name} has {problem.positives} positives, too few for "
                    f"k = {', '.join(missing)}"
                )
        return said

    def _possible(self, problem: Problem) -> list[int]:
        possible = []
        for k in self.ks:
            try:
                check_k(problem, k)
            except TooFewPositivesError:
                continue
            possible.append(k)
        return possible
