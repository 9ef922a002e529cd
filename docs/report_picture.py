"""Photographs a report.html into docs/img.

    python examples/quickstart.py && python docs/report_picture.py report.html report.png
    astralearn compare --out D && python docs/report_picture.py D/report.html comparison.png

It needs Chromium.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import Browser  # noqa: E402

HEIGHT = 1_030.0

if __name__ == "__main__":
    with Browser() as browser:
        browser.open(Path(sys.argv[1]).resolve(), width=1_000)
        browser.picture(ROOT / "docs" / "img" / sys.argv[2], tallest=HEIGHT)
