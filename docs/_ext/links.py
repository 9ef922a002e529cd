"""Links from a page to a file outside docs/: to the repository, where readers find it."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

OUTSIDE = re.compile(r"\]\(\.\./([^)\s]+)\)")


def to_repository(app: Sphinx, _page: str, source: list[str]) -> None:
    target = f"{app.config.html_theme_options['github_url']}/blob/main"
    source[0] = OUTSIDE.sub(rf"]({target}/\1)", source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", to_repository)
    return {"parallel_read_safe": True}
