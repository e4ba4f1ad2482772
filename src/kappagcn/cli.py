"""The command line: reads arguments, calls, prints. Heavy imports wait until a command needs them."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from kappagcn._version import __version__
from kappagcn.errors import DownloadError, KappaGCNError

__all__ = ["app"]

app = typer.Typer(
    name="kappagcn",
    help="Graph learning in spaces of constant curvature: hyperbolic, Euclidean, spherical and products of them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
messages = Console(stderr=True, highlight=False)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kappagcn {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _refuse(message: str) -> typer.Exit:
    messages.print(f"[red]kappagcn:[/red] {escape(message)}", soft_wrap=True)
    return typer.Exit(2)


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refuse(f"--out: expected a folder that can be written, found {str(out)!r} ({error.strerror}).") from None


def _failed(error: Exception) -> typer.Exit:
    _refuse(str(error))
    return typer.Exit(1 if isinstance(error, DownloadError) else 2)


DataFolder = Annotated[
    Path | None, typer.Option("--data", envvar="KAPPAGCN_DATA", help="Folder in which datasets are looked for first.")
]


@app.command(epilog="Example: kappagcn demo --out demo --seed 0")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the starting points.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Optimisation steps per space.")] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Embed a tree on a sphere, in the plane and with its curvature learned; print a table, write a picture."""
    _make(out)
    from kappagcn import demo as job

    try:
        results = job.run(seed=seed, steps=steps, console=messages)
        picture = job.draw(results, out / "tree.png")
    except (KappaGCNError, OSError) as error:
        raise _refuse(str(error)) from None
    if as_json:
        print(
            json.dumps(
                {
                    "seed": seed,
                    "steps": steps,
                    "picture": str(picture),
                    "spaces": [r.record() for r in results],
                }
            )
        )
    else:
        job.show(results, picture, Console(highlight=False))


@app.command(epilog="Example: kappagcn info karate")
def info(
    graph: Annotated[str, typer.Argument(help="A built-in name (see kappagcn data list) or a file.")],
    features: Annotated[
        str | None, typer.Option(help="File with node features; for GraphML and GML names of attributes, by commas.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="File with node labels; for GraphML and GML the name of an attribute.")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether an edge list has a heading; found out otherwise."),
    ] = None,
    dim: Annotated[int, typer.Option(min=1, help="Dimension of the space to suggest.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="Seed of whatever is sampled.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for info.json, curvature of every node included.")] = None,
    data: DataFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Size, degrees, components, distances, curvature and δ-hyperbolicity of a graph, and the space to try first."""
    if out is not None:
        _make(out)
    from kappagcn.graphs import describe, load_graph

    try:
        found = load_graph(
            graph, root=data, features=features, labels=labels, header=header, sparse=True, progress=True
        )
        messages.print(escape(f"{graph}: {found.report}"), soft_wrap=True)
        result = describe(found, dim=dim, seed=seed, progress=True)
        record = {"graph": graph, "seed": seed, "report": found.report, **result.record()}
        if out is not None:
            (out / "info.json").write_text(json.dumps(record))
    except (KappaGCNError, OSError) as error:
        raise _failed(error) from None
    if as_json:
        print(json.dumps(record))
    else:
        _print_rows(result.rows())


def _print_rows(rows: list[tuple[str, str]]) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(escape(name), escape(value))
    Console(highlight=False).print(table)


class Item(str, Enum):
    """What `reproduce` knows."""

    table1 = "table1"
    sweep = "sweep"
    large = "large"
    table2 = "table2"
    table3 = "table3"
    further = "further"
    search = "search"


@app.command(epilog="Example: kappagcn reproduce table2 cora_ml/S16 --quick --out quick")
def reproduce(
    item: Annotated[
        Item,
        typer.Argument(help="Distortion, by curvature, of a large graph; accuracy, curvatures; more datasets."),
    ],
    parts: Annotated[
        list[str] | None,
        typer.Argument(help="Only these datasets and rows, or cells such as cora_ml/H16 or tree/H10."),
    ] = None,
    splits: Annotated[int | None, typer.Option(min=1, max=20, help="Splits per cell; 5 by default.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs per split; 2 by default, 1 for further.")] = None,
    configs: Annotated[
        Path | None, typer.Option(help="Folder of settings: the search writes what it chose there, tables read it.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once; by default one per core.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One split, one run, few epochs.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print all settings and stop.")] = False,
    out: Annotated[Path, typer.Option(help="Folder with the records; runs that are there are not done again.")] = Path(
        "results"
    ),
    data: DataFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON on standard output.")] = False,
) -> None:
    """Repeat the paper's tables: what is not yet in the records is run, then the table is printed."""
    import os
    import time

    from kappagcn.experiments import reproduce as job

    start = time.monotonic()

    def report(record: dict[str, Any], done: int, count: int) -> None:
        left = (time.monotonic() - start) / done * (count - done)
        left_words = f", about {left / 60:.0f} min left" if left > 30 else ""
        messages.print(escape(f"{done} of {count}: {job.line(record)}{left_words}"), soft_wrap=True)

    try:
        plan = job.plan(item.value, parts or [], out, data, configs=configs, splits=splits, runs=runs, quick=quick)
        if dry_run:
            print(json.dumps([{"cell": cell.name, **each.record()} for cell, each in plan.experiments()], indent=1))
            return
        _make(out)
        plan.run(processes=jobs or os.cpu_count() or 1, report=report)
        if isinstance(plan, job.Plan) and item is Item.search and configs is not None:
            plan.save_chosen(configs)
        table = plan.table()
    except KeyboardInterrupt:
        messages.print(
            escape(f"kappagcn: stopped; finished runs are in {out}. The same command does the others."), soft_wrap=True
        )
        raise typer.Exit(1) from None
    except (KappaGCNError, OSError) as error:
        raise _failed(error) from None
    if as_json:
        print(json.dumps({"item": item.value, "columns": table.columns, "rows": table.rows}, ensure_ascii=False))
    else:
        _print_table(table.columns, table.rows)


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(escape(word) for word in row))
    Console(highlight=False).print(table)


data_app = typer.Typer(no_args_is_help=True, help="What is built in, where it is, and fetching it.")
app.add_typer(data_app, name="data")


@data_app.command("list", epilog="Example: kappagcn data list")
def data_list(
    data: DataFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """All built-in graphs and datasets, and which of them are on this machine."""
    from kappagcn.graphs import BUILT_IN, catalogue
    from kappagcn.graphs.datasets import locate

    rows: list[dict[str, Any]] = [
        {"name": name, "what": title, "where": "generated"} for name, (title, _) in BUILT_IN.items()
    ]
    for entry in catalogue().values():
        size = f"{entry.nodes:,} nodes, {entry.edges:,} edges"
        size += f", {entry.features:,} features" if entry.features else ""
        size += f", {entry.classes} classes" if entry.classes else ""
        rows.append({"name": entry.name, "what": f"{entry.title}; {size}", "where": str(locate(entry, data) or "")})
    if as_json:
        print(json.dumps(rows))
        return
    from rich.table import Table

    table = Table("name", "what", "where", box=None, pad_edge=False)
    for row in rows:
        where = row["where"] or "to be fetched"
        table.add_row(row["name"], escape(row["what"]), where if where in ("generated", "to be fetched") else "here")
    Console(highlight=False).print(table)


@data_app.command("fetch", epilog="Example: kappagcn data fetch cora_ml citeseer")
def data_fetch(
    names: Annotated[list[str], typer.Argument(help="Datasets.")],
    data: DataFolder = None,
) -> None:
    """Download datasets, check them, and keep them in the cache."""
    from kappagcn.graphs import BUILT_IN
    from kappagcn.graphs.datasets import dataset_arrays, locate
    from kappagcn.graphs.sources import find_entry

    for name in names:
        if name in BUILT_IN:
            print(f"{name}\tgenerated")
    try:
        for entry in [find_entry(name) for name in names if name not in BUILT_IN]:
            dataset_arrays(entry, data)
            print(f"{entry.name}\t{locate(entry, data)}")
    except (KappaGCNError, OSError) as error:
        raise _failed(error) from None


@data_app.command("path", epilog="Example: kappagcn data path cora_ml")
def data_path(
    name: Annotated[str | None, typer.Argument(help="A dataset; without one, the cache.")] = None,
    data: DataFolder = None,
) -> None:
    """Where a dataset is on this machine, or where the cache is."""
    from kappagcn.graphs import BUILT_IN
    from kappagcn.graphs.datasets import cache_folder, locate
    from kappagcn.graphs.sources import find_entry

    if name is None:
        print(cache_folder())
        return
    if name in BUILT_IN:
        raise _refuse(f"expected a dataset, found {name!r}, which is generated and has no file.")
    try:
        found = locate(find_entry(name), data)
    except KappaGCNError as error:
        raise _failed(error) from None
    if found is None:
        _refuse(f"{name} is not on this machine. Fetch it with: kappagcn data fetch {name}")
        raise typer.Exit(1)
    print(found)
