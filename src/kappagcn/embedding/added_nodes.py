"""New nodes of an embedded graph: a new run folder with the old points, unmoved, and the points of the new nodes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.quality import measure
from kappagcn.errors import CheckpointError, GraphError
from kappagcn.graphs import assemble
from kappagcn.run_folder import Embedded, SavedRun, save_embedded, save_json


def add_nodes(run: str | Path, new: Data, folder: str | Path) -> dict[str, Any]:
    """Place the nodes of `new` that a run does not have, and write all points as a new run.

    Args:
        run: Folder of an embedding.
        new: Edges of the new nodes, to nodes of the run and to each other; nodes are matched by name.
        folder: New run folder.

    Returns:
        Summary of the new run: that of the old one, the number of `added_nodes`, and their D_avg as `added_d_avg`.
    """
    old, target = SavedRun(Path(run)), Path(folder)
    if target.exists() and any(target.iterdir()):
        raise CheckpointError(f"{target}: expected a new folder for the run with added nodes, found files in it.")
    embedder = GraphEmbedder.load(run)
    graph, names = extended_graph(old.embedded, new)
    tangent = embedder.placed(graph)
    added = len(tangent) - len(old.embedded.tangent)
    if added < 1:
        raise GraphError(f"expected nodes that {run} does not have, found none. Nodes are matched by name.")
    sources = torch.arange(len(tangent) - added, len(tangent))
    v = torch.from_numpy(tangent)
    quality = measure(v, embedder.manifold_, GraphDistances.of(graph, sources))
    first, second = graph.edge_index.numpy()
    once = first < second
    weights = graph.get("edge_weight")
    embedded = replace(
        old.embedded,
        tangent=tangent,
        points=embedder.manifold_.expmap0(v).numpy(),
        edges=np.stack([first, second], 1)[once],
        lengths=None if weights is None else weights.double().numpy()[once],
        names=np.array(names),
        labels=None if old.embedded.labels is None else np.concatenate([old.embedded.labels, np.full(added, -1)]),
    )
    target.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "metrics.jsonl"):
        shutil.copyfile(old.path / name, target / name)
    save_embedded(target / "embedding.npz", embedded)
    summary = {**old.summary, "added_nodes": added, "added_d_avg": quality.d_avg}
    save_json(target / "summary.json", summary)
    return summary


def extended_graph(embedded: Embedded, new: Data) -> tuple[Data, list[str]]:
    """The graph of a run with the edges of another one, and all names; nodes are matched by name, old nodes first."""
    names = [embedded.name(node) for node in range(len(embedded.tangent))]
    places = {name: node for node, name in enumerate(names)}
    theirs = [str(name) for name in (new.get("node_names") or range(new.num_nodes))]
    for name in theirs:
        if name not in places:
            places[name] = len(names)
            names.append(name)
    once = (new.edge_index[0] < new.edge_index[1]).numpy()
    mapped = np.array([places[name] for name in theirs], dtype=np.int64)[new.edge_index.numpy()[:, once]]
    weighted = new.get("edge_weight") is not None
    if weighted != (embedded.lengths is not None) and once.any():
        old_kind, new_kind = ("no lengths", "lengths") if weighted else ("lengths", "no lengths")
        raise GraphError(f"expected edges with {old_kind} as in the run, found {new_kind}.")
    rows, cols = np.concatenate([np.asarray(embedded.edges, np.int64).T, mapped], 1)
    lengths = None
    if weighted and embedded.lengths is not None:
        lengths = np.concatenate([embedded.lengths, new.edge_weight.double().numpy()[once]])
    return assemble(rows, cols, len(names), weights=lengths), names
