"""Trained points of an embedding: free parameters, or the output of a κ-GCN on one-hot features."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
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

DAMPING = 0.1  # damping of the least squares for the weights, because Â² is nearly singular


class FreePoints(nn.Module):
    """Tangent vectors that are parameters themselves, in float64.

    Args:
        nodes: Number of nodes N.
        space: Signature of the space.
        points: Initial tangent vectors, (N, D); random ones near the origin by default.

    >>> FreePoints(5, "H2xS2")().shape
    torch.Size([5, 4])
    """

    def __init__(self, nodes: int, space: str, points: Tensor | None = None) -> None:
        super().__init__()
        self.manifold = ProductManifold.from_signature(space, trainable=True).double()
        start = 0.1 * torch.randn(nodes, self.manifold.dim) if points is None else points
        self.points = nn.Parameter(start.double().clone())

    def forward(self) -> Tensor:
        """One tangent vector at the origin for each node, (N, D)."""
        return self.points


class NetworkPoints(nn.Module):
    """Tangent vectors from a κ-GCN on one-hot features, with a hidden layer of a space of the same form; in float64.

    Args:
        graph: The graph.
        space: Signature of the space.
        adjacency: Normalised adjacency of the graph, if already computed.
        hidden_channels: Dimension of the hidden layer, divided among as many factors as the space has.
        act: Activation between the layers; the paper has none in curved spaces.

    >>> from kappagcn.graphs import cycle
    >>> NetworkPoints(cycle(6), "S2^2", hidden_channels=8)().shape
    torch.Size([6, 4])
    """

    def __init__(
        self,
        graph: Data,
        space: str,
        *,
        adjacency: SparseMatrix | None = None,
        hidden_channels: int = 16,
        act: str = "none",
    ) -> None:
        super().__init__()
        nodes = graph.num_nodes
        self.network = KappaGCN(
            nodes, None, [hidden_space(space, hidden_channels), space], act=act, bias=False
        ).double()
        self.features = SparseMatrix.from_tensor(one_hot(nodes)).to(torch.float64)
        if adjacency is None:
            adjacency = normalized_adjacency(graph.edge_index, graph.get("edge_weight"), nodes)
        self.adjacency = adjacency.to(torch.float64)
        self.manifold: ProductManifold = self.network.hidden[-1].manifold

    def forward(self) -> Tensor:
        """One tangent vector at the origin for each node, (N, D)."""
        vectors: Tensor = self.network(self.features, self.adjacency)
        return vectors

    @torch.no_grad()
    def start_at(self, points: Tensor) -> None:
        """Choose weights whose output, in nearly flat space, is near these tangent vectors, (N, D)."""
        first, last = (layer.lin.weight.t() for layer in self.network.hidden)
        width = points.shape[1]
        entries = (self.adjacency.values.numpy(), (self.adjacency.rows.numpy(), self.adjacency.cols.numpy()))
        once = sp.csr_array(entries, shape=self.adjacency.shape, dtype=np.float64)
        square = once @ once
        columns = [sla.lsmr(square, column, damp=DAMPING)[0] for column in points.double().numpy().T]
        first[:, :width] = torch.from_numpy(np.stack(columns, 1)).to(first)
        first[:, width:] *= first[:, :width].std()
        last.copy_(torch.eye(*last.shape))


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
