"""Public names in a page's code become links to the reference, each where a page first has it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"((?:astralearn\.)?[\w.]+?)(?:\(.*\))?")
# A word in small letters, say `compare`, may be a command, an option or a column.
IS_NO_WORD = re.compile(r"[A-Z]|._.|^astralearn\.")
# Which of several rooms that share a name a page speaks of.
ROOMS = {"keras": "astralearn.keras.", "pytorch": "astralearn.torch."}
LISTS = ("api", "changelog", "generated/", "gallery/")  # have links, or need none


class Names(SphinxPostTransform):
    """Link literals of Markdown pages to the objects that they name."""

    default_priority = 5  # before references are resolved

    def run(self, **_: Any) -> None:
        page = self.env.docname
        if page.startswith(LISTS):
            return
        done = set()
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, (nodes.reference, nodes.title)):
                continue
            full = named(literal.astext(), page, self.env.domains["py"].objects)
            if full is None or full in done:
                continue
            done.add(full)
            entry = self.env.domains["py"].objects[full]
            link = make_refnode(
                self.app.builder, page, entry.docname, entry.node_id, literal.deepcopy(), full
            )
            literal.replace_self(link)


def named(text: str, page: str, objects: Collection[str]) -> str | None:
    """The full name of what a page's code names; None where that is nothing, or not clear."""
    found = NAME.fullmatch(text)
    if found is None:
        return None
    name = found[1].removeprefix("astralearn.")
    if page in ROOMS and ROOMS[page] + name in objects:
        return ROOMS[page] + name
    if not IS_NO_WORD.search(found[1]) or (page in ROOMS and name.islower()):
        return None
    if f"astralearn.{name}" in objects:
        return f"astralearn.{name}"
    public = [full for full in objects if re.fullmatch(rf"[a-z_.]+\.{re.escape(name)}", full)]
    return public[0] if len(public) == 1 else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(Names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
