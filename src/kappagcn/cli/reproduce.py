"""`kappagcn reproduce`: the paper's tables and figures, from existing records or new runs."""

import json
import os
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kappagcn.cli.app import command
from kappagcn.cli.options import AsJson, DataFolder
from kappagcn.cli.output import make_folder, print_table, refuse, say

Item = StrEnum(
    "Item",
    ["table1", "sweep", "large", "table2", "table3", "wider", "self-training", "further", "search", "wider-search",
     "links", "figures"],
)  # fmt: skip
ITEM_HELP = "What to repeat; see above."
PARTS_HELP = "Only these datasets, rows, figures, or cells (tree/H10)."
CONFIGS_HELP = "TOML file of settings that searches write and tables read."
OUT_HELP = "Folder with the records; runs that have one are not repeated."


@command("kappagcn reproduce further disease/H16 --quick --out quick")
def reproduce(
    item: Annotated[Item, typer.Argument(help=ITEM_HELP)],
    parts: Annotated[list[str] | None, typer.Argument(help=PARTS_HELP)] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, max=20, help="Splits per cell; 5 by default, 10 for links.")
    ] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs per split; 2 by default, 1 for further.")] = None,
    configs: Annotated[Path | None, typer.Option(help=CONFIGS_HELP)] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once; by default one per core.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One split, one run, few epochs.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print all settings and stop.")] = False,
    out: Annotated[Path, typer.Option(help=OUT_HELP)] = Path("records"),
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Repeat the paper's tables and figures; runs without a record are run, then the table is printed.

    ITEM is one of table1, sweep, large (distortion), table2, table3, wider, self-training, further (accuracy), links,
    figures, or search and wider-search, which choose settings on validation nodes.
    """
    if item.value == "figures":
        paths = _figures(parts or [], out, data)
        if as_json:
            print(json.dumps({"item": "figures", "files": [str(path) for path in paths]}))
        return
    from kappagcn.paper import reproduce as job

    start = time.monotonic()

    def report(record: dict[str, Any], done: int, count: int) -> None:
        left = (time.monotonic() - start) / done * (count - done)
        say(f"{done} of {count}: {job.line(record)}" + (f", about {left / 60:.0f} min left" if left > 30 else ""))

    plan = job.plan(item.value, parts or [], out, data, configs=configs, splits=splits, runs=runs, quick=quick)
    if dry_run:
        print(json.dumps([{"cell": cell.name, **each.record()} for cell, each in plan.experiments()], indent=1))
        return
    make_folder(out)
    try:
        plan.run(processes=jobs or os.cpu_count() or 1, report=report)
    except KeyboardInterrupt:
        raise refuse(f"stopped; finished runs are in {out}. The same command continues with the others.", 1) from None
    if item.value in job.SEARCHES and configs is not None:
        job.save_chosen(plan, configs)
    table = plan.table()
    if as_json:
        print(json.dumps({"item": item.value, "columns": table.columns, "rows": table.rows}, ensure_ascii=False))
    else:
        print_table(table.columns, table.rows)


def _figures(names: list[str], out: Path, data: Path | None) -> list[Path]:
    """Draw the paper's figures of these names; without names all that have records."""
    from kappagcn.errors import CheckpointError, DownloadError
    from kappagcn.paper.figures.catalogue import FIGURES, draw_paper_figure
    from kappagcn.paper.figures.measured import histograms

    for name in names:
        if name not in FIGURES:
            raise refuse(f"figures: expected {', '.join(FIGURES)}, found {name!r}.")
    make_folder(out)
    written = []
    for name in names or FIGURES:
        try:
            if name in ("curvatures", "degrees"):
                histograms(out, data)
            paths = draw_paper_figure(name, out / "figures", out)
        except (CheckpointError, DownloadError) as error:
            if names:
                raise
            say(f"{name}: left out. {error}")
            continue
        say(f"{name}: {FIGURES[name].title}, {', '.join(str(path) for path in paths)}")
        written += paths
    return written
