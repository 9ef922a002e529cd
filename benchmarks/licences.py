"""List the licences of what astralearn installs, run time and extras: results/licences.csv.

    python benchmarks/licences.py

A package's licence is what its own metadata say; those that say nothing are printed. Asserts that
nothing the library needs at run time is under a licence that would bind its users' own code.
"""

from __future__ import annotations

import csv
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from records import stamp

RESULTS = Path(__file__).parent / "results" / "licences.csv"
BINDING = re.compile(r"\b(A?GPL|GNU (Affero )?General)", re.IGNORECASE)


def needed_by(name: str, extras: frozenset[str]) -> dict[str, Distribution]:
    """The installed packages that a package with these extras needs, by name, itself left out."""
    from packaging.requirements import Requirement

    found: dict[str, Distribution] = {}
    waiting = [(name, extras)]
    while waiting:
        package, of = waiting.pop()
        for text in distribution(package).requires or []:
            wanted = Requirement(text)
            environments = [{"extra": extra} for extra in (of or {""})]
            if wanted.marker and not any(map(wanted.marker.evaluate, environments)):
                continue
            key = wanted.name.lower().replace("_", "-")
            if key in found or key == name:
                continue
            try:
                found[key] = distribution(wanted.name)
            except PackageNotFoundError:
                continue
            waiting.append((wanted.name, frozenset(wanted.extras)))
    return found


def licence(package: Distribution) -> str:
    """One line."""
    about = package.metadata
    said = about.get("License-Expression") or ""
    classified = [
        line.split(" :: ")[-1]
        for line in about.get_all("Classifier") or []
        if line.startswith("License ::")
    ]
    text = (about.get("License") or "").strip().split("\n")[0]
    return said or "; ".join(classified) or text[:80]


def main() -> None:
    declared = distribution("astralearn").metadata.get_all("Provides-Extra") or []
    at_run_time = needed_by("astralearn", frozenset())
    with_extras = needed_by("astralearn", frozenset(set(declared) - {"all"}))
    rows = [
        {
            "package": name,
            "version": package.version,
            "licence": licence(package),
            "needed": "run time" if name in at_run_time else "extras",
        }
        for name, package in sorted(
            with_extras.items() | at_run_time.items(), key=lambda item: item[0]
        )
    ]
    rows = list({row["package"]: row for row in rows}.values())
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    stamp(RESULTS.name)
    silent = [row["package"] for row in rows if not row["licence"]]
    print(f"{len(rows)} packages, {len(at_run_time)} of them at run time; without a word: {silent}")
    binding = [
        row for row in rows if row["needed"] == "run time" and BINDING.search(row["licence"])
    ]
    assert not binding, binding


if __name__ == "__main__":
    main()
