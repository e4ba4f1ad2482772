"""Cells of the README's tables, drawn at random and made anew by the code of today, beside their records.

    python benchmarks/spot_check.py                twelve cells; needs KAPPAGCN_DATA
    python benchmarks/spot_check.py --cells 3      the first three of these
    python benchmarks/spot_check.py --estimate     the cells and the time that their records took, without running them

The cells are those of Table 1 (`kappagcn reproduce table1`), Table 2 (`table2`, `wider`, `self-training`; Table 3 has
the records of `table2`) and of the table of accuracy (`make accuracy`). Timings are not drawn: they depend on the
machine. The commit is the seed of the draw, so that nobody chooses the cells. They are run into an empty folder of this
commit; an interrupted check continues there.

A cell is missed if it is worse than its record: an accuracy by more than the record's interval, a distortion of a
single run or an error by more than 5 %. What is better is shown. The output goes into records/spot-check.md.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

import accuracy
import record
from kappagcn.paper.embeddings import VARIANTS, EmbeddingJob
from kappagcn.paper.machine import machine, versions
from kappagcn.paper.reproduce import plan
from kappagcn.paper.runs import Record, RecordFile, Run, run_all
from kappagcn.paper.tables import accuracy as mean_accuracy
from kappagcn.training.provenance import commit

ROOT = record.DOCS.parent
RECORDS, OUTPUT = record.RECORDS, record.RECORDS / "spot-check.md"
SHOWN = ("dist", "expmap", "logmap", "logmap0", "midpoint", "dist2plane")  # operations of the README's table
ITEMS = ("table1", "table2", "wider", "self-training")
TOLERANCE = 0.05  # relative, for values without an interval
LONGEST = 15 * 60  # seconds of a record above which a cell is not drawn
ERROR_SECONDS = 60.0  # of an operation's errors, whose record has no time


@dataclass
class Value:
    """A number of a table: what it is, the largest or least value that is no miss, and whether larger is better."""

    text: str
    mean: float
    margin: float
    larger_is_better: bool = False

    def verdict(self, fresh: Value) -> str:
        """``"as recorded"``, ``"better"`` or ``"MISS"``."""
        gain = fresh.mean - self.mean if self.larger_is_better else self.mean - fresh.mean
        if gain > self.margin:
            return "better"
        return "as recorded" if gain >= -self.margin else "MISS"


@dataclass
class Cell:
    """A cell of a table: its runs with their files, or an operation whose errors are measured."""

    name: str
    runs: list[tuple[Run, RecordFile]] = field(default_factory=list)
    operation: str | None = None
    recorded: list[Record] = field(default_factory=list)  # read once for all cells of an item

    @property
    def seconds(self) -> float:
        """Time that the records took."""
        if self.operation is not None:
            return ERROR_SECONDS
        return sum(each.get("seconds_in_all") or each.get("seconds") or 0.0 for each in self.records())

    def records(self) -> list[Record]:
        """Records of the runs that have one."""
        if self.recorded:
            return self.recorded
        finished = {file.path: file.finished() for _, file in self.runs}
        return [finished[file.path][job.key] for job, file in self.runs if job.key in finished[file.path]]

    def values(self) -> list[Value]:
        """Numbers of the table, as recorded."""
        if self.operation is not None:
            results = record.load("accuracy")["results"]
            return errors([r for r in results if r["case"] == self.operation and r["dtype"] == "float32"])
        return [value(self.records())]

    def in_folder(self, folder: Path) -> Cell:
        """The cell with its records in another folder."""
        runs: list[tuple[Run, RecordFile]] = []
        for job, file in self.runs:
            moved = RecordFile(folder / file.path.relative_to(RECORDS))
            in_scratch = replace(job, scratch=folder / "running") if isinstance(job, EmbeddingJob) else job
            runs.append((in_scratch, moved))
        return Cell(self.name, runs, self.operation)

    def fresh_values(self, folder: Path) -> list[Value]:
        """The same numbers from runs that were done again, as far as this folder does not have them."""
        if self.operation is not None:
            return errors([accuracy.measure(self.operation, k, torch.float32, count()) for k in accuracy.KAPPAS])
        anew = self.in_folder(folder)
        run_all(anew.runs, root=os.environ.get("KAPPAGCN_DATA"))
        foreign = {each["commit"] for each in anew.records()} - {commit()}
        if foreign:
            raise SystemExit(
                f"{folder}: expected records of {commit()}, found some of {foreign.pop()}. Empty the folder."
            )
        return [value(anew.records())]


def count() -> int:
    """Number of inputs of each operation in the record."""
    counts: int = record.load("accuracy")["results"][0]["count"]
    return counts


def value(records: list[Record]) -> Value:
    """Distortion of a single run, or the mean accuracy of several."""
    if not records or any("failed" in each for each in records):
        return Value("failed", float("nan"), 0.0)
    if "distortion" in records[0]:
        distortion = records[0]["distortion"]
        return Value(f"{distortion:.4f}", distortion, TOLERANCE * distortion)
    estimate = mean_accuracy(records)
    assert estimate is not None
    return Value(str(estimate), estimate.mean, estimate.interval or 0.0, larger_is_better=True)


def errors(results: list[Record]) -> list[Value]:
    """Largest errors of an operation and of its derivative with respect to κ."""
    worst = [accuracy.worst(results, "kappagcn", what) for what in ("value", "slope")]
    return [Value(f"{each:.1e}", each, TOLERANCE * each) for each in worst]


def recorded_cells() -> Iterator[Cell]:
    """All cells of the README's tables that have a record and are not timings."""
    for item in ITEMS:
        cells: dict[str, Cell] = {}
        of_item = plan(item, [], RECORDS)
        finished = of_item.file.finished()
        for of_table, job in ((each, job) for each in of_item.cells for job in of_item.jobs(each, finished)):
            name = f"{item} {of_table.name}"
            if isinstance(job, EmbeddingJob):
                settings = job.experiment.settings
                if settings.method == "free":  # README has the κ-GCN alone
                    continue
                name += f", {VARIANTS[settings.start][0]}"
            cell = cells.setdefault(name, Cell(name))
            cell.runs.append((job, of_item.file))
            cell.recorded += [finished[job.key]] if job.key in finished else []
        yield from (cell for cell in cells.values() if len(cell.records()) == len(cell.runs))
    yield from (Cell(f"accuracy {operation}", operation=operation) for operation in SHOWN)


def drawn(cells: list[Cell], seed: str, number: int) -> list[Cell]:
    """The first cells of a random order, which this seed determines."""
    in_order = sorted(cells, key=lambda cell: cell.name)
    random.Random(seed).shuffle(in_order)
    return in_order[:number]


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"


def check(cells: list[Cell], folder: Path, say: Callable[[str], None]) -> bool:
    """Run cells one after another, and say what came of each; returns whether none was missed."""
    say("| cell | record | made anew | verdict | the record took |\n|---|---|---|---|---|")
    missed = 0
    for cell in cells:
        old, new = cell.values(), cell.fresh_values(folder)
        verdicts = [before.verdict(after) for before, after in zip(old, new, strict=True)]
        missed += "MISS" in verdicts
        columns = [", ".join(value.text for value in old), ", ".join(value.text for value in new), ", ".join(verdicts)]
        say(f"| {cell.name} | {' | '.join(columns)} | {minutes(cell.seconds)} |")
    say(f"\n{missed} of {len(cells)} cells missed.")
    return missed == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=12, help="number of cells")
    parser.add_argument("--estimate", action="store_true", help="only show the cells and the time")
    parser.add_argument("--out", type=Path, help="folder of the runs; by default one of this commit in build/")
    options = parser.parse_args()
    seed = commit(Path(__file__).parent / "*.py")
    if seed is None or seed.endswith("-dirty"):
        print(f"expected the code of a commit, found {seed or 'no repository'}. Commit first.", file=sys.stderr)
        return 2
    every = list(recorded_cells())
    long = [cell for cell in every if cell.seconds > LONGEST]
    cells = drawn([cell for cell in every if cell.seconds <= LONGEST], seed, options.cells)
    estimate = f"about {minutes(sum(cell.seconds for cell in cells))} of one core, as the records took"
    if options.estimate:
        print("\n".join([*(f"{cell.name}: {minutes(cell.seconds)}" for cell in cells), estimate]))
        return 0
    print(estimate)
    lines = [
        f"# Spot check\n\n`python benchmarks/spot_check.py --cells {options.cells}` at commit {seed}:",
        f"{len(cells)} of {len(every)} cells of the README's tables, drawn with the commit as seed.\n",
    ]
    print("\n".join(lines))

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    fine = check(cells, options.out or ROOT / "build" / "spot-check" / seed, say)
    names = "; ".join(f"{cell.name} {minutes(cell.seconds)}" for cell in long) or "none"
    say(f"\nNot drawn, because their records took more than {LONGEST // 60} minutes: {names}.")
    say(f"\nMade with {', '.join(f'{name} {v}' for name, v in versions().items() if v)}; {machine()}.")
    OUTPUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
