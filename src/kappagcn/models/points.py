"""What is trained to embed a graph: the points themselves, or a κ-GCN that makes them from one-hot features."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold
from kappagcn.geometry.signature import format_signature, parse_signature
from kappagcn.graphs.io.node_data import one_hot
from kappagcn.models.kappa_gcn import KappaGCN
from kappagcn.sparse import SparseMatrix, normalized_adjacency

__all__ = ["FreePoints", "NetworkPoints", "hidden_space"]


class FreePoints(nn.Module):
    """Tangent vectors that are trained as they are.

    Args:
        nodes: N.
        space: Signature of the space.

    >>> FreePoints(5, "H2xS2")().shape
    torch.Size([5, 4])
    """

    def __init__(self, nodes: int, space: str) -> None:
        super().__init__()
        self.manifold = ProductManifold.from_signature(space, trainable=True)
        self.points = nn.Parameter(0.1 * torch.randn(nodes, self.manifold.dim))  # near the origin, to unfold from there

    def forward(self) -> Tensor:
        """One tangent vector at the origin for each node, (N, D)."""
        return self.points


class NetworkPoints(nn.Module):
    """Tangent vectors from a κ-GCN on one-hot features, with a hidden layer of a space of the same form (the paper).

    Args:
        graph: The graph.
        space: Signature of the space.
        hidden_channels: Dimension of the hidden layer, shared out among as many factors.
        act: Activation between the layers; the paper has none in curved spaces.

    >>> from kappagcn.graphs import cycle
    >>> NetworkPoints(cycle(6), "S2^2", hidden_channels=8)().shape
    torch.Size([6, 4])
    """

    def __init__(self, graph: Data, space: str, *, hidden_channels: int = 16, act: str = "none") -> None:
        super().__init__()
        nodes = graph.num_nodes
        self.network = KappaGCN(
            nodes, None, [hidden_space(space, hidden_channels), space], act=act, bias=False, double=True
        )
        self.features = SparseMatrix.from_tensor(one_hot(nodes))
        self.adjacency = normalized_adjacency(graph.edge_index, graph.get("edge_weight"), nodes)
        self.manifold: ProductManifold = self.network.hidden[-1].manifold

    def forward(self) -> Tensor:
        """One tangent vector at the origin for each node, (N, D)."""
        vectors: Tensor = self.network(self.features, self.adjacency)
        return vectors

    def rescale(self, factor: float) -> None:
        """Multiply the weights of the last layer, so that a step of training moves points by so much more."""
        with torch.no_grad():
            self.network.hidden[-1].weight.mul_(factor)


def hidden_space(space: str, hidden: int) -> str:
    """A space with the same factors and starting curvatures, of another dimension.

    >>> hidden_space("H2^4", 16), hidden_space("H5xS5(0.3)", 16)
    ('H4^4', 'H8xS8(0.3)')
    """
    factors = parse_signature(space)
    if hidden < len(factors):
        raise GraphError(f"hidden: expected at least {len(factors)} dimensions, one for each factor, found {hidden}.")
    share, more = divmod(hidden, len(factors))
    return format_signature([f._replace(dim=share + (i < more)) for i, f in enumerate(factors)])
