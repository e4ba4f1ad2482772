"""What PyG's GCNConv and KappaGCNConv take and do, tried one by one.

python benchmarks/pyg_conventions.py        tries each and writes docs/pyg-conventions.md
"""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import EdgeIndex
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import GCNConv, MessagePassing, Sequential, to_hetero

import record
from kappagcn.nn import KappaGCNConv, normalized_adjacency

Make = Callable[..., Any]
EDGES = torch.tensor([[0, 1, 1, 2, 3, 2], [1, 0, 2, 1, 2, 3]])
X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
WEIGHT = torch.rand(6, generator=torch.Generator().manual_seed(1)) + 0.1


def runs(*args: Any, **options: Any) -> Callable[[Make], bool]:
    """Whether a layer with these options gives finite rows for these arguments."""
    return lambda make: bool(make(3, 2, **options)(*args).isfinite().all())


def improved_counts(make: Make) -> str:
    """Whether `improved` changes the result without weights."""
    layer = make(3, 2, improved=True)
    plain = copy.deepcopy(layer)
    plain.improved = False
    return "A + 2I" if not torch.allclose(layer(X, EDGES), plain(X, EDGES)) else "A + I without weights"


def state(make: Make) -> str:
    return ", ".join(sorted(make(3, 2).state_dict()))


def weight_gradient(make: Make) -> bool:
    weight = WEIGHT.clone().requires_grad_()
    make(3, 2)(X, EDGES, weight).square().sum().backward()
    return weight.grad is not None and bool((weight.grad != 0).any())


def sparse_weight_gradient(make: Make) -> bool:
    weight = WEIGHT.clone().requires_grad_()
    make(3, 2)(X, torch.sparse_coo_tensor(EDGES.flip(0), weight, (4, 4))).square().sum().backward()
    return weight.grad is not None and bool((weight.grad != 0).any())


def edge_mask(make: Make) -> bool:
    layer, mask = make(3, 2), nn.Parameter(torch.zeros(6))
    set_masks(layer, mask, EDGES)
    layer(X, EDGES).square().sum().backward()
    clear_masks(layer)
    return mask.grad is not None


def bipartite(make: Make) -> bool:
    edges = torch.tensor([[0, 1, 2], [0, 0, 1]])
    return make(3, 2)((X[:3], X[:2]), edges).shape == (2, 2)


class Hetero(nn.Module):
    """One layer, for to_hetero."""

    def __init__(self, make: Make) -> None:
        super().__init__()
        self.conv = make(-1, 2, add_self_loops=False)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The layer's result."""
        return self.conv(x, edge_index)


def hetero(make: Make) -> bool:
    types = (["a", "b"], [("a", "to", "b"), ("b", "to", "a")])
    edges = torch.tensor([[0, 1], [1, 0]])
    out = to_hetero(Hetero(make), types)({"a": X, "b": X[:, :2]}, dict.fromkeys(types[1], edges))
    return set(out) == {"a", "b"}


def compiled(make: Make) -> bool:
    layer = make(3, 2)
    layer(X, EDGES)
    return torch.allclose(torch.compile(layer, fullgraph=True, backend="eager")(X, EDGES), layer(X, EDGES), atol=1e-5)


def exported(make: Make) -> bool:
    layer = make(3, 2)
    n, e = torch.export.Dim("n", min=2), torch.export.Dim("e", min=2)
    program = torch.export.export(layer.eval(), (X, EDGES, WEIGHT), dynamic_shapes=({0: n}, {1: e}, {0: e}))
    return program.module()(X[:3], EDGES[:, :2], WEIGHT[:2]).shape == (3, 2)


def second(make: Make) -> bool:
    x = X.clone().requires_grad_()
    (grad,) = torch.autograd.grad(make(3, 2)(x, EDGES).square().sum(), x, create_graph=True)
    return bool(torch.autograd.grad(grad.square().sum(), x)[0].isfinite().all())


def vmapped(make: Make) -> bool:
    layer = make(3, 2)
    return torch.func.vmap(lambda x: layer(x, EDGES))(torch.stack([X, X])).shape == (2, 4, 2)


def meta(make: Make) -> bool:
    return bool(make(3, 2).to("meta")(X.to("meta"), EDGES.to("meta")).is_meta)


def loads_gcnconv(make: Make) -> bool:
    theirs, layer = GCNConv(3, 2), make(3, 2)
    layer.load_state_dict(theirs.state_dict(), strict=False)  # it has no κ
    return torch.allclose(layer(X, EDGES), theirs(X, EDGES), atol=1e-6)


def same_twice(copied: Callable[[Any], Any]) -> Callable[[Make], bool]:
    def attempt(make: Make) -> bool:
        layer = make(3, 2).eval()
        out = layer(X, EDGES)
        return torch.equal(copied(layer)(X, EDGES), out)

    return attempt


ROWS: list[tuple[str, Callable[[Make], Any]]] = [
    ("`repr`", lambda make: f"`{make(3, 2)}`"),
    ("entries of the state", lambda make: f"`{state(make)}`"),
    ("loads the state of a trained `GCNConv` and gives its numbers", loads_gcnconv),
    ("positional `improved, cached, add_self_loops, normalize, bias`",
     lambda make: make(3, 2, True, True, None, True, False)(X, EDGES).shape == (4, 2)),
    ("`improved=True`", improved_counts),
    ("lazy `in_channels=-1`", lambda make: make(-1, 2)(X, EDGES).shape == (4, 2)),
    ("`edge_weight`", runs(X, EDGES, WEIGHT)),
    ("negative `edge_weight`", runs(X, EDGES, -WEIGHT)),
    ("`edge_index` of int32", runs(X, EDGES.int())),
    ("`EdgeIndex`", runs(X, EdgeIndex(EDGES, sparse_size=(4, 4)))),
    ("sparse COO adjacency", lambda make: runs(
        X, torch.sparse_coo_tensor(EDGES.flip(0), WEIGHT, (4, 4)).coalesce())(make)),
    ("sparse CSR adjacency", lambda make: runs(
        X, torch.sparse_coo_tensor(EDGES.flip(0), WEIGHT, (4, 4)).to_sparse_csr())(make)),
    ("normalised adjacency shared by layers", runs(X, normalized_adjacency(EDGES))),
    ("sparse CSR features", lambda make: runs(X.relu().to_sparse_csr(), EDGES)(make)),
    ("signals on one graph, x (B, N, D)", lambda make: make(3, 2)(torch.stack([X, X]), EDGES).shape == (2, 4, 2)),
    ("two kinds of nodes, x (sources, targets)", bipartite),
    ('`flow="target_to_source"`', runs(X, EDGES, flow="target_to_source")),
    ('`aggr="max"`', runs(X, EDGES, aggr="max")),
    ('`normalize="row"` as a mean of neighbours', lambda make: torch.allclose(
        make(3, 2, normalize="row").eval()(torch.ones(4, 3), EDGES).std(0), torch.zeros(2), atol=1e-6)),
    ("`isinstance(layer, MessagePassing)`", lambda make: isinstance(make(3, 2), MessagePassing)),
    ("edge masks of explainers", edge_mask),
    ("`to_hetero`", hetero),
    ("`Sequential`", lambda make: Sequential("x, e", [(make(3, 2), "x, e -> x")])(X, EDGES).shape == (4, 2)),
    ("gradient of `edge_weight`", weight_gradient),
    ("gradient of the values of a sparse adjacency", sparse_weight_gradient),
    ("second derivatives", second),
    ("`torch.func.vmap`", vmapped),
    ("`torch.compile(fullgraph=True)`", compiled),
    ("`torch.export` with any number of nodes and edges", exported),
    ("TorchScript, `torch.jit.script`", lambda make: torch.jit.script(make(3, 2))(X, EDGES).shape == (4, 2)),
    ("meta tensors", meta),
    ("`copy.deepcopy` of a used layer", same_twice(copy.deepcopy)),
    ("pickle of a used layer", same_twice(lambda layer: pickle.loads(pickle.dumps(layer)))),
]  # fmt: skip


def attempt(try_it: Callable[[Make], Any], make: Make) -> str:
    """What came of it: yes, no, or what it gave."""
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = try_it(make)
    except Exception:  # whatever a layer raises, it does not take it
        return "no"
    return result if isinstance(result, str) else ("yes" if result else "no")


def main() -> int:
    rows = [
        {"feature": name, "GCNConv": attempt(row, GCNConv), "KappaGCNConv": attempt(row, KappaGCNConv)}
        for name, row in ROWS
    ]
    record.save("pyg_conventions", {"results": rows}, ("torch", "torch_geometric", "kappagcn"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
