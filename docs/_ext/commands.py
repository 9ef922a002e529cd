"""The directive `commands`: the command line's reference, from its parser."""

from __future__ import annotations

import argparse
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from astralearn.cli import _parser

# Wide enough for a usage line to break where a phone breaks it too.
WIDTH = 72


class Commands(SphinxDirective):
    """A section for each command: what it does, its usage, its arguments."""

    def run(self) -> list[nodes.Node]:
        return [self.section(parser, says) for parser, says in _commands(_parser())]

    def section(self, parser: argparse.ArgumentParser, says: str) -> nodes.section:
        name = parser.prog
        section = nodes.section(ids=[nodes.make_id(name)], names=[name])
        section += nodes.title(text=name)
        section += nodes.paragraph(text=f"{says[:1].upper()}{says[1:]}.")
        parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=WIDTH)
        usage = parser.format_usage().removeprefix("usage: ").rstrip()
        section += nodes.literal_block(usage, usage, language="none")
        arguments = nodes.definition_list(classes=["options"])
        for action in parser._actions:
            if not isinstance(action, argparse._HelpAction):
                arguments += _argument(action, parser)
        section += arguments
        if parser.epilog:
            example = parser.epilog.removeprefix("example: ")
            section += nodes.literal_block(example, example, language="sh")
        self.state.document.note_explicit_target(section)
        return section


def _commands(parser: argparse.ArgumentParser) -> list[tuple[argparse.ArgumentParser, str]]:
    """Every command that does something, and the sentence that says what."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            says = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, within in action.choices.items():
                found += _commands(within) or [(within, says[name])]
    return found


def _argument(action: argparse.Action, parser: argparse.ArgumentParser) -> nodes.Node:
    takes = "" if action.nargs == 0 else action.metavar or action.dest.upper()
    if action.option_strings:
        names = [f"{option} {takes}".strip() for option in action.option_strings]
    else:
        names = [str(action.metavar or action.dest)]
    term = nodes.term()
    for number, name in enumerate(names):
        term += [nodes.Text(", ")] if number else []
        term += nodes.literal(text=name)
    values = {**vars(action), "prog": parser.prog}
    says = (action.help or "") % values
    needed = " Needed." if action.required and action.option_strings else ""
    sentence = nodes.paragraph()
    for place, part in enumerate(f"{says}.{needed}".split("`")):
        sentence += nodes.literal(text=part) if place % 2 else nodes.Text(part)
    definition = nodes.definition("", sentence)
    return nodes.definition_list_item("", term, definition)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
