"""Docstrings in the house's form, `name: text`, as numpydoc's sections.

Estimators have sections in the source, as scikit-learn's users expect. Everywhere else arguments
stand one per line; here these lines become a section with types from the signature, formulas become
literal blocks, and doctests become examples.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

ARGUMENT = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*): (.+)")
# What a reader of the reference knows by another word.
WORDS = {"ArrayLike": "array-like", "Array": "array", "np.ndarray": "array", "Any": ""}


def with_sections(lines: list[str], types: dict[str, str], *, fields: bool = False) -> list[str]:
    """The docstring's lines, with what they say of arguments and examples in sections.

    types: of each argument, or of each field where `fields` says so.
    """
    if any(set(line) == {"-"} for line in lines):
        return lines
    text, arguments, examples = [], [], []
    number = 0
    while number < len(lines):
        line = lines[number]
        found = ARGUMENT.match(line)
        if line.startswith(">>>"):
            examples = lines[number:]
            break
        if found and set(found[1].replace("*", "").split(", ")) <= set(types):
            names = found[1].replace("*", "").split(", ")
            arguments.append(f"{', '.join(names)} : {types[names[0]]}".removesuffix(" : "))
            arguments.append(f"    {escaped(found[2])}")
            number += 1
            while number < len(lines) and lines[number].startswith(" "):
                arguments.append(f"    {escaped(lines[number].strip())}")
                number += 1
            continue
        if found:
            text += ["", found[1], f"    {escaped(found[2])}"]
            number += 1
            while number < len(lines) and lines[number].startswith(" "):
                text.append(f"    {escaped(lines[number].strip())}")
                number += 1
            text.append("")
            continue
        if line.startswith("    ") and text and not text[-1]:
            text += ["::", ""]
            while number < len(lines) and (lines[number].startswith("    ") or not lines[number]):
                text.append(lines[number])
                number += 1
            text.append("")
            continue
        text.append(escaped(line))
        number += 1
    heading = "Attributes" if fields else "Parameters"
    return [
        *text,
        "",
        *([heading, "-" * len(heading), *arguments, ""] if arguments else []),
        *(["Examples", "--------", *examples, ""] if examples else []),
    ]


def escaped(line: str) -> str:
    """Prose in which stars, bars and final underscores stand for themselves."""
    parts = re.split(r"(`+[^`]*`+)", line)
    for place in range(0, len(parts), 2):
        parts[place] = re.sub(r"([*|])", r"\\\1", parts[place])
        parts[place] = re.sub(r"(\w)_(?=\W|$)", r"\1\\_", parts[place])
    return "".join(parts)


def types_of(obj: Any) -> dict[str, str]:
    """The annotation of each argument, as text."""
    try:
        signature = inspect.signature(obj)
    except (TypeError, ValueError):
        return {}
    found = {}
    for name, parameter in signature.parameters.items():
        kind = parameter.annotation
        kind = "" if kind is inspect.Parameter.empty else kind
        kind = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
        found[name] = WORDS.get(kind, kind.replace(" | None", ", optional"))
    return found


def said_of_constant(name: str, constant: Any) -> list[str]:
    """What the comment `#:` above a constant says, in the module that makes it."""
    for module in list(sys.modules):
        if module.startswith("astralearn.") and vars(sys.modules[module]).get(name) is constant:
            said = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name))
            if said:
                return said
    return []


def in_sections(
    _app: Sphinx, what: str, name: str, obj: Any, _options: Any, lines: list[str]
) -> None:
    """Sphinx's hook."""
    if what == "module":
        return
    if what == "data":
        lines[:] = said_of_constant(name.rpartition(".")[2], obj)
        return
    fields = dataclasses.is_dataclass(obj) or hasattr(obj, "_fields")
    lines[:] = with_sections(list(lines), types_of(obj), fields=fields)


def skipped(_app: Sphinx, _what: str, name: str, obj: Any, skip: bool, _options: Any) -> bool:
    """Whether a member says nothing: a tuple's field, or one that scikit-learn adds."""
    text = getattr(obj, "__doc__", None) or ""
    return skip or text.startswith("Alias for field number") or name.endswith("_request")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", in_sections, priority=100)
    app.connect("autodoc-skip-member", skipped)
    return {"parallel_read_safe": True}
