"""`kappagcn data`: list, fetch, locate and convert built-in graphs."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from kappagcn.cli.app import app, command
from kappagcn.cli.options import AsJson, DataFolder, FileOptions, Graph
from kappagcn.cli.output import print_table, refuse, say

OUT_HELP = (
    "File to write, or a folder of arrays; .npz, .csv, .parquet, .mtx, .npy, .graphml, .gml or .pt, text also with "
    ".gz, .zst or .bz2; without an ending a folder of arrays that is opened at once, whatever its size."
)
PARTS_HELP = "Order the nodes of a folder by parts with few edges between them, one for each process."
data_app = typer.Typer(no_args_is_help=True, help="List, download and convert graphs.")
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
    parts: Annotated[int, typer.Option(min=1, help=PARTS_HELP)] = 1,
    memory: Annotated[float, typer.Option(min=0.1, help="GiB for sorting a table that is larger than 64 MiB.")] = 0.5,
    files: FileOptions,
) -> None:
    """Write a graph in another format; tables larger than memory are streamed into a folder of arrays."""
    from kappagcn.graphs.io.folder import is_graph_folder
    from kappagcn.graphs.partition import order_by_parts

    if parts == 1:
        _convert(graph, out, half, memory, files)
    elif out.suffix:
        raise refuse(f"--parts: expected a folder as --out, found {out}.")
    elif is_graph_folder(Path(graph)) and not half and not files.tables:
        order_by_parts(Path(graph), out, parts)
    else:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f"{out.name}.", dir=out.absolute().parent) as temporary:
            _convert(graph, Path(temporary) / out.name, half, memory, files)
            order_by_parts(Path(temporary) / out.name, out, parts)
    if parts > 1:
        about = json.loads((out / "graph.json").read_text(encoding="utf-8"))
        say(f"{parts} parts, {about['cut_edges']:,} edges between them.")
    print(out)


def _convert(graph: str, out: Path, half: bool, memory: float, files: FileOptions) -> None:
    """Write a graph that is read whole, or a large table block by block."""
    from kappagcn.graphs import save_graph
    from kappagcn.graphs.io.convert import convert_table, is_streamed
    from kappagcn.graphs.io.edges import EdgeColumns

    by_number = any(file is not None and Path(file).suffix == ".npy" for file in (files.features, files.labels))
    if out.suffix or not (by_number or is_streamed(Path(graph))):
        for note in save_graph(files.load(graph), out, half=half):
            say(note)
        return
    for name, file in (("features", files.features), ("labels", files.labels), ("nodes", files.nodes)):
        if file is not None and (name == "nodes" or Path(file).suffix != ".npy"):
            raise refuse(f"--{name}: expected features and labels as .npy files for a large table, found {file}.")
    columns = EdgeColumns(**{name: files.arguments()[name] for name in ("source", "target", "weight", "header")})
    written = convert_table(
        graph,
        out,
        columns=columns,
        features=files.features,
        labels=files.labels,
        half=half,
        memory=int(memory * 2**30),
    )
    say(f"{graph}: {json.loads((written / 'graph.json').read_text(encoding='utf-8'))['report']}")


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
