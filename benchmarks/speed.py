"""Run the benchmarks of speed and keep what they print: docs/speed.md shows it.

    python benchmarks/speed.py [core torch keras boosting engine]

Each prints ratios taken side by side in one run. The first line says on what.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from records import RESULTS, stamp

SCRIPTS = {
    "core": [],
    "torch": [],
    "keras": [],
    "boosting": [],
    "engine": ["a", "b", "c", "d"],
}


def machine() -> str:
    """The processor and the libraries that the ratios are of."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", info.read_text()) if info.exists() else None
    processor = found[1] if found else platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} processors, Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(SCRIPTS))
    for name in parser.parse_args().names:
        arguments = [f"benchmarks/{name}.py", *SCRIPTS[name]]
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=RESULTS.parent.parent,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        command = " ".join(["python", *arguments])
        file = RESULTS / f"speed_{name}.txt"
        file.write_text(f"{machine()}\n$ {command}\n{done.stdout}", encoding="utf-8")
        stamp(file.name)
        print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
