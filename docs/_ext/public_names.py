"""Which public name a page's code means."""

from __future__ import annotations

import re
from collections.abc import Collection

NAME = re.compile(r"((?:astralearn\.)?[\w.]+?)(?:\(.*\))?")
# A word in small letters, say `compare`, may be a command, an option or a column.
IS_NO_WORD = re.compile(r"[A-Z]|._.|^astralearn\.")
# Which of several rooms that share a name a page speaks of.
ROOMS = {"keras": "astralearn.keras.", "pytorch": "astralearn.torch."}


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
