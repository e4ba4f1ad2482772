"""A step of each layer beside PyG's, and of layers compiled by ``torch.compile``; measured and shown by layers.py."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import APPNP, GATConv, GATv2Conv, GCNConv, SAGEConv

from kappagcn.graphs import load_graph
from kappagcn.nn import KappaAPPNP, KappaGATConv, KappaGCNConv, KappaSAGEConv, SparseMatrix, normalized_adjacency
from timing import medians

COLUMNS = 16
HEADS = 8

Step = Callable[[], None]
Steps = dict[str, Step]


def pairs(columns: int) -> dict[str, tuple[nn.Module, nn.Module]]:
    """PyG's layers and ours with the same arguments, whose curvatures are trained."""
    space, head = f"H{COLUMNS}", f"H{COLUMNS // 2}"
    heads: Any = {"heads": HEADS}
    return {
        "GCN": (GCNConv(columns, COLUMNS), KappaGCNConv(columns, COLUMNS, manifold=space)),
        "SAGE": (SAGEConv(columns, COLUMNS), KappaSAGEConv(columns, COLUMNS, manifold=space)),
        "GAT": (GATConv(columns, COLUMNS), KappaGATConv(columns, COLUMNS, manifold=space)),
        f"GAT, {HEADS} heads of {COLUMNS // 2}": (
            GATConv(columns, COLUMNS // 2, **heads),
            KappaGATConv(columns, COLUMNS // 2, manifold=head, **heads),
        ),
        "GATv2": (GATv2Conv(columns, COLUMNS), KappaGATConv(columns, COLUMNS, manifold=space, score="gatv2")),
        "APPNP, 10 steps": (APPNP(10, 0.1), KappaAPPNP(10, 0.1, manifold=f"H{COLUMNS}(-1)")),
    }


def step_of(layer: Callable[..., Tensor], parameters: nn.Module, *inputs: Any) -> Step:
    """Forward and backward."""

    def step() -> None:
        parameters.zero_grad()
        layer(*inputs).sum().backward()

    return step


def beside_pyg(name: str, root: str, repeats: int) -> dict[str, Any]:
    """Seconds of one layer on dense features and edge_index; APPNP propagates rows of 16 columns."""
    torch.manual_seed(0)
    data = load_graph(name, root=root, download=False)
    x, steps = data.x.to_dense(), {}
    rows = torch.randn(len(x), COLUMNS, requires_grad=True)
    for label, (theirs, ours) in pairs(x.shape[1]).items():
        features = rows if "APPNP" in label else x
        steps[f"{label}, PyG"] = step_of(theirs, theirs, features, data.edge_index)
        steps[f"{label}, ours"] = step_of(ours, ours, features, data.edge_index)
    return {"case": "beside PyG", "graph": name, "beside": medians(steps, repeats)}


def compiled(name: str, root: str, repeats: int) -> dict[str, Any] | None:
    """Seconds of layers as they are and compiled by inductor; None where there is no C++ compiler."""
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        return None
    torch.manual_seed(0)
    data = load_graph(name, root=root, download=False)
    x, edges, steps = data.x.to_dense(), data.edge_index, {}
    matrices = SparseMatrix.from_tensor(data.x), normalized_adjacency(edges, num_nodes=len(x))
    ours, space = KappaGCNConv(x.shape[1], COLUMNS, manifold=f"H{COLUMNS}"), f"H{COLUMNS}"
    attention = KappaGATConv(x.shape[1], COLUMNS, manifold=space)
    cases = {
        "KappaGCNConv, dense features and edge_index": (ours, (x, edges)),
        "KappaGCNConv, sparse matrices": (ours, matrices),
        "KappaGATConv": (attention, (x, edges)),
        "GCNConv": (GCNConv(x.shape[1], COLUMNS), (x, edges)),
    }
    for label, (layer, inputs) in cases.items():
        step_of(layer, layer, *inputs)()  # scales of rows are set outside
        steps[label] = step_of(layer, layer, *inputs)
        torch.compiler.reset()
        whole = torch.compile(layer, fullgraph=True)
        steps[f"{label}, compiled"] = step_of(whole, layer, *inputs)
        for _ in range(3):
            steps[f"{label}, compiled"]()
    return {"case": "compiled", "graph": name, "compiled": medians(steps, repeats)}
