"""The fast methods on RareBench's open half, and the tables of docs/rarebench.md.

python benchmarks/rarebench.py run FOLDER    # k = 5 and 20, two draws; continues where it stopped
python benchmarks/rarebench.py page FOLDER   # the tables, of the cases that every method has

"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from astralearn import ASTraClassifier
from astralearn.bench import BENCH_FILE, bench
from astralearn.datasets.rarebench import OPEN
from astralearn.report import to_markdown
from astralearn.report.leaderboard import rank_table
from astralearn.study import Method
from astralearn.study.draw_record import DRAW_SCORES, DrawRecord
from astralearn.study.draw_unit import BEST
from astralearn.study.store import read_kind


def complete(records: list[DrawRecord]) -> list[DrawRecord]:
    """Records of the cases that every method has, with all draws."""
    counts = Counter((r.problem, r.k) for r in records if r.method != BEST)
    whole = max(counts.values())
    return [record for record in records if counts[record.problem, record.k] == whole]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.what == "run":
        for_mcc = Method('ASTraClassifier, decision="mcc"', ASTraClassifier(decision="mcc"))
        bench(OPEN, methods=["fast", for_mcc], quick=True, out=options.folder)
        return
    records = complete(read_kind(options.folder / BENCH_FILE, DrawRecord))
    for score in DRAW_SCORES:
        print(to_markdown(rank_table(records, score)))


if __name__ == "__main__":
    main()
