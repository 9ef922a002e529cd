"""Public names in a page's code become links to the reference, each where a page first has it."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from public_names import named
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

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


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(Names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
