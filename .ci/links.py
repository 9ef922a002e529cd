"""Every link within the repository leads somewhere: in Markdown files, or in a built site.

python .ci/links.py                     README and the other Markdown files
python .ci/links.py docs/_build/html    the pages of a site, their pictures and scripts too
"""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# What Sphinx makes while it builds.
MADE = ("docs/gallery", "docs/generated")


def anchor(heading: str) -> str:
    """A heading as GitHub and MyST spell it in a link.

    >>> anchor("What `n` is, and why")
    'what-n-is-and-why'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken_in_markdown(path: Path) -> list[str]:
    """Links of a Markdown file to files or headings that are not there."""
    text = re.sub(r"```.*?```|``.*?``|`[^`\n]*`", "", path.read_text("utf-8"), flags=re.DOTALL)
    broken = []
    for target in LINK.findall(text):
        parts = urlsplit(target)
        if parts.scheme:
            continue
        to = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
        if any(str(to).startswith(str(ROOT / made)) for made in MADE):
            continue
        if not to.exists() or (
            parts.fragment
            and to.suffix == ".md"
            and parts.fragment not in map(anchor, HEADING.findall(to.read_text(encoding="utf-8")))
        ):
            broken.append(f"{path.relative_to(ROOT)}: {target}")
    return broken


class Page(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken_in_site(folder: Path) -> list[str]:
    """Links of a site's pages to files or places that are not there."""
    pages = {
        path: Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts
    }
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            place = unquote(parts.fragment)
            if not to.exists() or (to in pages and place not in pages[to].ids):
                broken.append(f"{path.relative_to(folder)}: {link}")
    return broken


def main() -> int:
    if sys.argv[1:]:
        broken = broken_in_site(Path(sys.argv[1]).resolve())
    else:
        command = ["git", "ls-files", "*.md"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        files = [ROOT / name for name in listed.stdout.split("\n") if name]
        files = files or [
            *ROOT.glob("*.md"),
            *ROOT.glob("docs/*.md"),
            *ROOT.glob("benchmarks/*.md"),
        ]
        broken = [line for path in files if path.exists() for line in broken_in_markdown(path)]
    print(*(f"broken link in {line}" for line in dict.fromkeys(broken)), sep="\n", end="")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
