"""A model card: what a model is, learned from and promises, in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astralearn.report.escape import code, markdown
from astralearn.tabular.described import described

if TYPE_CHECKING:
    from astralearn.tabular import TabularASTraClassifier


def card(model: TabularASTraClassifier) -> str:
    """The card of a fitted model."""
    source = f"{code(model.data_)}, " if model.data_ else ""
    share = model.n_positives_ / model.n_rows_
    target = model.target_ or "y"
    lines = [
        f"# A model of {code(target)}",
        "",
        f"Finds rows of class {code(str(model.minority_class_))}, by "
        f"`{type(model.classifier_).__name__}` of astralearn "
        f"{markdown(model.versions_['astralearn'])}.",
        "",
        "## Data",
        "",
        f"- {source}{model.n_rows_:,} rows, {model.n_positives_:,} of them positive ({share:.3%})",
        f"- learned from {_columns(list(model.encoder_.kinds_))}",
    ]
    if model.encoder_.left_out_:
        lines.append(f"- left out: {_columns(model.encoder_.left_out_)}")
    lines += [f"- {markdown(sentence)}" for sentence in described(model.encoder_)]
    lines += ["", "## Decision and what to expect", "", *_expected(model)]
    lines += [
        "",
        "## Limits",
        "",
        f"- {model.n_positives_} positives were seen: kinds of them that are not among these may "
        "be missed.",
        "- Risks are calibrated to the share of positives among the training rows. Where new rows "
        "have another share, their order holds and their risks do not.",
        "- Rows that differ from the training rows, by time or by source, are beyond what the "
        "figures above tell.",
        "",
        "## Versions",
        "",
        markdown(", ".join(f"{name} {version}" for name, version in model.versions_.items())),
        "",
    ]
    return "\n".join(lines)


def _expected(model: TabularASTraClassifier) -> list[str]:
    """What the classifier says of new rows, a line each."""
    decision = getattr(model.classifier_, "decision", None)
    said = [] if decision is None else [f"Decision: {code(str(decision))}"]
    expectations = getattr(model.classifier_, "expectations_", None)
    if expectations is None:
        return [*said, "", "This classifier states no expectations of new rows."]
    first, *lines = str(expectations).splitlines()
    return [*said, "", first, "", *(f"- {' '.join(line.split())}" for line in lines)]


def _columns(names: list[str]) -> str:
    return ", ".join(map(code, names))
