"""The paper's figures as the documentation shows them: docs/images, light and dark.

python benchmarks/figures.py
"""

from __future__ import annotations

import os
import sys

import record
from kappagcn.paper.figures.catalogue import FIGURES, draw_paper_figure
from kappagcn.paper.histograms import histograms

RECORDS = record.DOCS.parent / "results"


def main() -> int:
    histograms(RECORDS, os.environ.get("KAPPAGCN_DATA"))
    for name in FIGURES:
        for path in draw_paper_figure(name, record.DOCS / "images", RECORDS, formats=("svg",)):
            print(path.relative_to(record.DOCS.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
