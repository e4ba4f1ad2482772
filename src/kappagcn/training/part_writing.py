"""`write_parts`: a graph of any size from a stream of edges to one folder per part, with bounded memory.

1. The edges are made symmetric, sorted and freed of repetitions on disk (`kappagcn.graphs.io.external_sort`).
2. Every node gets a part (`kappagcn.training.part_assignment`).
3. One pass over the sorted edges gives each part its rows; then each part is finished: halo, features, labels, hashes.

Memory is a buffer and some 40 bytes per node, whatever the number of edges. All is written to ``OUT.unfinished``, which
becomes OUT at the end; an interrupted run continues after the last of these steps that was complete.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kappagcn._version import __version__
from kappagcn.distributed.part_folder import FORM, hash_files, part_path
from kappagcn.errors import GraphError
from kappagcn.graphs.io.array_file import ArrayFile, ArrayWriter
from kappagcn.graphs.io.edge_stream import EdgeStream
from kappagcn.graphs.io.external_sort import SortedEdges, sort_edges
from kappagcn.graphs.io.undirected import Array
from kappagcn.progress import bar
from kappagcn.training.node_columns import NodeColumns
from kappagcn.training.part_assignment import assign_parts, row_blocks

__all__ = ["write_parts"]

BLOCK = 2**22  # entries
Say = Callable[[str], None]


def write_parts(
    edges: EdgeStream,
    columns: NodeColumns,
    out: str | Path,
    parts: int,
    *,
    method: str = "auto",
    memory: int = 2**30,
    source: dict[str, Any] | None = None,
    say: Say = lambda text: None,
) -> Path:
    """Write a graph as parts that processes open one by one; see `kappagcn.distributed.part_folder` for the files.

    Args:
        edges: The edges.
        columns: Features, labels and roles of the nodes.
        out: A folder that does not exist yet.
        parts: Number of parts.
        method: ``"metis"``, ``"ldg"``, ``"range"`` or ``"auto"``, see `assign_parts`.
        memory: Bytes for the buffer of the sort; about twice as much is used in all, beside 40 bytes per node.
        source: Identity of the input; an interrupted run with the same one is resumed; None to start again.
        say: Called with a line after each step.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.graphs import disease
    >>> from kappagcn.training import NodeColumns, part_stream
    >>> data = disease(100)
    >>> with TemporaryDirectory() as folder:
    ...     written = write_parts(part_stream(data), NodeColumns.of_data(data), f"{folder}/parts", 2)
    ...     sorted(path.name for path in written.iterdir())
    ['part-0', 'part-1', 'partition.json']
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GraphError(f"{out}: expected a new or empty folder for the parts, found a file or a folder with files.")
    if parts < 1:
        raise GraphError(f"parts: expected a number from 1, found {parts}.")
    steps = _Steps(out.with_name(f"{out.name}.unfinished"), {"parts": parts, "method": method, "source": source}, say)
    work = steps.folder
    steps.run("sorted", lambda: _sort(edges, columns, work, memory))
    kept = steps.results["sorted"]
    graph = SortedEdges(work, kept["nodes"], kept["entries"], kept["weighted"], kept["report"])
    if parts > graph.nodes:
        raise GraphError(f"parts: expected from 1 to {graph.nodes}, as many as there are nodes, found {parts}.")
    say(graph.report)
    steps.run("assigned", lambda: _assign(graph, parts, method, work))
    owner = np.load(work / "owner.npy")
    about: dict[str, Any] = {}
    steps.run("rows and features", lambda: about.update(_distribute(graph, columns, owner, parts, work)), kept=False)
    about |= {"nodes": graph.nodes, "edges": graph.entries // 2, "report": graph.report, "parts": parts}
    about |= {"form": FORM, "kappagcn": __version__, **steps.results["assigned"]}
    steps.run("halos", lambda: _finish(graph, owner, parts, work, about), kept=False)
    for path in work.glob("*.npy"):
        path.unlink()
    (work / "steps.json").unlink()
    if out.exists():
        out.rmdir()
    work.replace(out)
    return out


class _Steps:
    """The steps of a partition, of which those that are complete are not repeated."""

    def __init__(self, folder: Path, identity: dict[str, Any], say: Say) -> None:
        self.folder, self.say, self.results = folder, say, {}
        self.identity = {**identity, "form": FORM}
        path = folder / "steps.json"
        if path.is_file() and identity["source"] is not None:
            state = json.loads(path.read_text())
            if state["identity"] == json.loads(json.dumps(self.identity)):
                self.results = state["results"]
                say(f"{folder}: continues after {', '.join(self.results) or 'nothing'}")
        if not self.results and folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._save()

    def run(self, name: str, action: Callable[[], Any], *, kept: bool = True) -> None:
        """Run a step, unless it is complete; `kept` is whether a later run takes it as complete."""
        if name in self.results:
            return
        start = time.perf_counter()
        result = action()
        self.say(f"{name}: {time.perf_counter() - start:.1f} s")
        if kept:
            self.results[name] = result
            self._save()

    def _save(self) -> None:
        part = self.folder / "steps.json.part"
        part.write_text(json.dumps({"identity": self.identity, "results": self.results}))
        part.replace(self.folder / "steps.json")


def _sort(edges: EdgeStream, columns: NodeColumns, work: Path, memory: int) -> dict[str, Any]:
    total = None if edges.edges is None else 2 * edges.edges
    with bar("sorting edges", total) as advance:
        graph = sort_edges(edges, work, num_nodes=columns.count, memory=memory, advance=advance)
    return {"nodes": graph.nodes, "entries": graph.entries, "weighted": graph.weighted, "report": graph.report}


def _assign(graph: SortedEdges, parts: int, method: str, work: Path) -> dict[str, Any]:
    owner, used, cut = assign_parts(graph, parts, method)
    np.save(work / "owner.npy", owner)
    return {"method": used, "cut_edges": cut}


def _distribute(graph: SortedEdges, columns: NodeColumns, owner: Array, parts: int, work: Path) -> dict[str, Any]:
    """Give each part its neighbours, by numbers in the graph, and its rows of the nodes' columns."""
    folders = [part_path(work, part) for part in range(parts)]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    ends = [ArrayWriter(folder / "indices.npy", np.int32) for folder in folders]
    weights = [ArrayWriter(folder / "weights.npy", np.float32) for folder in folders] if graph.weighted else []
    with bar("rows of the parts", graph.entries) as advance:
        for first, starts, neighbours, values in row_blocks(graph, BLOCK):
            owners = np.repeat(owner[first : first + len(starts) - 1], np.diff(starts))
            order = owners.argsort(kind="stable")
            cuts = np.cumsum(np.bincount(owners, minlength=parts))[:-1]
            for part, some in enumerate(np.split(order, cuts)):
                ends[part].write(neighbours[some])
                if values is not None:
                    weights[part].write(values[some])
            advance(len(neighbours))
    for writer in (*ends, *weights):
        writer.close()
    return columns.distribute(owner, folders)


def _finish(graph: SortedEdges, owner: Array, parts: int, work: Path, about: dict[str, Any]) -> None:
    """Write halos, local columns and descriptions of all parts."""
    degrees, strengths = graph.degrees(), graph.strengths()
    local = np.empty(graph.nodes, np.int32)  # number of each node in its own part
    owned = []
    for part in range(parts):
        nodes = np.flatnonzero(owner == part).astype(np.int32)
        local[nodes] = np.arange(len(nodes), dtype=np.int32)
        owned.append(nodes)
    receives = np.zeros((parts, parts), np.int64)
    columns = np.empty(graph.nodes, np.int32)
    with bar("halos of the parts", parts) as advance:
        for part, nodes in enumerate(owned):
            folder = part_path(work, part)
            halo = _halo(folder, nodes, owner)
            receives[part] = np.bincount(owner[halo], minlength=parts)
            columns[nodes] = np.arange(len(nodes), dtype=np.int32)
            columns[halo] = np.arange(len(nodes), len(nodes) + len(halo), dtype=np.int32)
            _renumber(folder, columns)
            np.save(folder / "nodes.npy", nodes)
            np.save(folder / "indptr.npy", np.concatenate([[0], np.cumsum(degrees[nodes], dtype=np.int64)]))
            np.save(folder / "degrees.npy", strengths[np.concatenate([nodes, halo])].astype(np.float64))
            np.save(folder / "halo_nodes.npy", halo)
            np.save(folder / "halo_rows.npy", local[halo])
            advance(1)
    identity = hashlib.sha256(json.dumps([about, receives.tolist()], default=str).encode())
    identity.update(owner.tobytes())
    about |= {"id": identity.hexdigest(), "own": 0, "halo": 0}
    summary = []
    for part in range(parts):
        folder = part_path(work, part)
        _write_sent_rows(work, part, receives)
        own = {"part": part, "own": len(owned[part]), "halo": int(receives[part].sum())}
        own |= {"entries": len(ArrayFile(folder / "indices.npy"))}
        summary.append(own)
        exchanged = {"receives": receives[part].tolist(), "sends": receives[:, part].tolist()}
        description = {**about, **own, **exchanged, "files": hash_files(folder)}
        (folder / "part.json").write_text(json.dumps(description, indent=1))
    whole = {name: value for name, value in about.items() if name not in ("own", "halo")}
    (work / "partition.json").write_text(json.dumps({**whole, "summary": summary}, indent=1))


def _blocks(file: ArrayFile) -> Any:
    for start in range(0, len(file), BLOCK):
        yield file.read(start, min(start + BLOCK, len(file)))


def _halo(folder: Path, nodes: Array, owner: Array) -> Array:
    """Neighbours that other parts have, ordered by part and number."""
    needed = np.zeros(len(owner), bool)
    for block in _blocks(ArrayFile(folder / "indices.npy")):
        needed[block] = True
    needed[nodes] = False
    halo = np.flatnonzero(needed).astype(np.int32)
    ordered: Array = halo[owner[halo].argsort(kind="stable")]
    return ordered


def _renumber(folder: Path, columns: Array) -> None:
    """Replace numbers in the graph by columns of the part."""
    changed = ArrayWriter(folder / "columns.npy", np.int32)
    for block in _blocks(ArrayFile(folder / "indices.npy")):
        changed.write(columns[block])
    changed.close()
    changed.path.replace(folder / "indices.npy")


def _write_sent_rows(work: Path, part: int, receives: Array) -> None:
    """Write which own rows the other parts need: the nodes of this part in their halos."""
    rows = []
    for other in range(len(receives)):
        start = int(receives[other, :part].sum())
        halo = ArrayFile(part_path(work, other) / "halo_rows.npy")
        rows.append(halo.read(start, start + int(receives[other, part])))
    np.save(part_path(work, part) / "sent_rows.npy", np.concatenate(rows))
