"""The directive `prints`: what the page's Python above it prints, run while the site is built."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SNIPPET = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Prints(SphinxDirective):
    """Run the snippets since the last `prints` of the page; show what they print."""

    def run(self) -> list[nodes.Node]:
        path = Path(self.env.doc2path(self.env.docname))
        above = "".join(path.read_text(encoding="utf-8").splitlines(True)[: self.lineno - 1])
        page = self.env.temp_data.setdefault("prints", {"done": 0, "names": {}})
        snippets = SNIPPET.findall(above)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for snippet in snippets[page["done"] :]:
                exec(compile(snippet, str(path), "exec"), page["names"])
        page["done"] = len(snippets)
        text = printed.getvalue().rstrip()
        return [nodes.literal_block(text, text, language="none", classes=["prints"])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("prints", Prints)
    return {"parallel_read_safe": False}  # A fit in a forked process is refused.
