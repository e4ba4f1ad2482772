"""`kappagcn data`: list, fetch, locate and convert built-in graphs."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kappagcn.cli.app import app, command
from kappagcn.cli.options import AsJson, DataFolder, FileOptions, Graph
from kappagcn.cli.output import print_table, refuse, say

OUT_HELP = (
    "File to write, or a folder of arrays; .npz, .csv, .parquet, .mtx, .npy, .graphml, .gml or .pt, text also with "
    ".gz, .zst or .bz2; without an ending a folder of arrays that is opened at once, whatever its size."
)
METHOD_HELP = (
    "How nodes get their part; METIS in memory, a streaming rule (ldg), or ranges of numbers; auto: the first "
    "that the size and the installed packages allow."
)
data_app = typer.Typer(no_args_is_help=True, help="List, download, convert and partition graphs.")
app.add_typer(data_app, name="data")


@command("kappagcn data list", to=data_app, name="list")
def data_list(data: DataFolder = None, as_json: AsJson = False) -> None:
    """List built-in graphs and datasets; also where they are on this machine."""
    from kappagcn.graphs import BUILT_IN, catalogue
    from kappagcn.graphs.datasets.graph_dataset import locate

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
    short = {"generated": "generated", "": "to be fetched"}
    print_table(["name", "what", "where"], [[r["name"], r["what"], short.get(r["where"], "here")] for r in rows])


@command("kappagcn data fetch cora_ml citeseer", to=data_app, name="fetch")
def data_fetch(names: Annotated[list[str], typer.Argument(help="Datasets.")], data: DataFolder = None) -> None:
    """Download datasets, check them, and keep them in the cache."""
    from kappagcn.graphs import BUILT_IN
    from kappagcn.graphs.datasets.graph_dataset import dataset_arrays, locate
    from kappagcn.graphs.datasets.sources import find_entry

    entries = {name: None if name in BUILT_IN else find_entry(name) for name in names}
    for name, entry in entries.items():
        if entry is not None:
            dataset_arrays(entry, data)
        print(f"{name}\t{'generated' if entry is None else locate(entry, data)}")


@command("kappagcn data convert karate --out karate.mtx.gz", to=data_app, name="convert")
def data_convert(
    graph: Graph,
    *,
    out: Annotated[Path, typer.Option(help=OUT_HELP)],
    half: Annotated[bool, typer.Option("--half", help="Keep features as float16, in a folder.")] = False,
    files: FileOptions,
) -> None:
    """Write a graph in another format."""
    from kappagcn.graphs import save_graph

    loaded = files.load(graph)
    for note in save_graph(loaded, out, half=half):
        say(note)
    print(out)


class Method(StrEnum):
    """Methods to assign nodes to parts."""

    auto = "auto"
    metis = "metis"
    ldg = "ldg"
    range = "range"


@command("kappagcn data partition disease --parts 2 --out disease-parts", to=data_app, name="partition")
def data_partition(
    graph: Graph,
    *,
    parts: Annotated[int, typer.Option(min=1, help="Number of parts, one for each worker.")],
    out: Annotated[Path, typer.Option(help="Folder to write, with one folder for each part.")],
    method: Annotated[Method, typer.Option(help=METHOD_HELP)] = Method.auto,
    memory: Annotated[float, typer.Option(min=0.001, help="GiB for the buffer in which edges are sorted.")] = 1.0,
    split: Annotated[Path | None, typer.Option(help="File with a split; random by class without one.")] = None,
    files: FileOptions,
    as_json: AsJson = False,
) -> None:
    """Divide a graph of any size into parts; each is a folder for one worker of classify --distributed."""
    from kappagcn.training.part_sources import open_part_source
    from kappagcn.training.part_writing import write_parts

    source = open_part_source(graph, split=split, root=files.data, **files.arguments())
    edges, columns, identity = source
    written = write_parts(
        edges, columns, out, parts, method=method.value, memory=int(memory * 2**30), source=identity, say=say
    )
    about = json.loads((written / "partition.json").read_text())
    if as_json:
        print(json.dumps({"out": str(out), **about}))
        return
    rows = [[str(each[key]) for key in ("part", "own", "halo", "entries")] for each in about["summary"]]
    print_table(["part", "nodes", "halo", "entries"], rows)
    share = about["cut_edges"] / max(about["edges"], 1)
    say(f"{about['method']}: {share:.1%} of the edges lie between parts.")
    print(out)


@command("kappagcn data path", to=data_app, name="path")
def data_path(
    name: Annotated[str | None, typer.Argument(help="A dataset; without one, the cache.")] = None,
    data: DataFolder = None,
) -> None:
    """Print the path of a dataset on this machine, or of the cache."""
    from kappagcn.graphs import BUILT_IN
    from kappagcn.graphs.datasets.graph_dataset import cache_folder, locate
    from kappagcn.graphs.datasets.sources import find_entry

    if name is None:
        print(cache_folder())
        return
    if name in BUILT_IN:
        raise refuse(f"expected a dataset, found {name!r}, which is generated and has no file.")
    path = locate(find_entry(name), data)
    if path is None:
        raise refuse(f"{name} is not on this machine. Fetch it with: kappagcn data fetch {name}", 1)
    print(path)
