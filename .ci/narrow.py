"""No page of the built site scrolls sideways on a phone: each is opened 400 pixels wide.

python .ci/narrow.py docs/_build/html       needs Chromium; says so and passes without it
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
MILLISECONDS = 120_000
# Every page in turn in one frame, for loading all at once takes as long as the slowest.
HARNESS = """<!doctype html><meta charset="utf-8">
<iframe id="page" width="400" height="800" style="border:0"></iframe><pre id="found"></pre>
<script>
const pages = PAGES, found = [], frame = document.getElementById("page");
function next() {
  if (!pages.length) {
    document.getElementById("found").textContent = JSON.stringify(found) + "done";
    return;
  }
  const page = pages.shift();
  frame.onload = () => setTimeout(() => {
    const root = frame.contentDocument.documentElement;
    if (root.scrollWidth > 400) found.push([page, root.scrollWidth]);
    next();
  }, 20);
  frame.src = page;
}
next();
</script>"""


def main() -> int:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("no Chromium: pages were not opened at 400 pixels")
        return 0
    folder = Path(sys.argv[1]).resolve()
    pages = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    with tempfile.TemporaryDirectory() as place:
        harness = Path(place) / "harness.html"
        links = json.dumps([path.as_uri() for path in pages])
        harness.write_text(HARNESS.replace("PAGES", links), encoding="utf-8")
        command = [
            browser,
            *FLAGS.split(),
            "--allow-file-access-from-files",
            f"--user-data-dir={place}/profile",
            f"--virtual-time-budget={MILLISECONDS}",
            "--dump-dom",
            harness.as_uri(),
        ]
        shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    result = re.search(r'<pre id="found">(.*?)done</pre>', shown, re.DOTALL)
    if result is None:
        print("the browser did not open every page")
        return 1
    wide = json.loads(result[1])
    for page, width in wide:
        print(f"{Path(page).name} is {width} pixels wide on a screen of 400")
    print(f"{len(pages)} pages opened at 400 pixels, {len(wide)} of them too wide")
    return 1 if wide else 0


if __name__ == "__main__":
    sys.exit(main())
