"""Layers on tangent vectors at the origin that need no graph: linear, activation, dropout, logits, pool."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot, zeros

from kappagcn.errors import GraphError
from kappagcn.nn.functional import linear, logits, pool
from kappagcn.nn.inputs import Features, Space, as_manifold, check_rows
from kappagcn.nn.prepared import as_features
from kappagcn.sparse import SparseMatrix


class KappaLinear(nn.Linear):
    r"""κ-right-multiplication, X ⊗ W = exp_0(log_0(X) W + b) (eq. 7), which on tangent vectors is V W + b.

    It does not depend on the curvature, so one layer serves every space and every product: ``torch.nn.Linear`` that
    takes sparse rows too.

    Args:
        in_channels: Columns of the input.
        out_channels: Columns of the result.
        bias: Whether to add a tangent vector b.
        dropconnect: Probability for each entry of W to be left out in a training step.

    >>> KappaLinear(3, 2)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    weight: nn.Parameter

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True, dropconnect: float = 0.0) -> None:
        super().__init__(in_channels, out_channels, bias)
        self.in_channels, self.out_channels, self.dropconnect = in_channels, out_channels, dropconnect

    def reset_parameters(self) -> None:
        """Initialise the weights."""
        glorot(self.weight)
        zeros(self.bias)

    def forward(self, x: Features) -> Tensor:
        """(N, in_channels) → (N, out_channels)."""
        check_rows(x, self.in_features, self.weight.dtype)
        weight = nn.functional.dropout(self.weight, self.dropconnect, self.training)
        return linear(as_features(x), weight.t(), self.bias)


class KappaActivation(nn.Module):
    """The Möbius version σ^⊗(x) = exp_0(σ(log_0 x)) of a pointwise function: on tangent vectors, σ itself.

    Args:
        function: σ, such as ``torch.relu``.

    >>> KappaActivation(torch.relu)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, function: Callable[[Tensor], Tensor] = torch.relu) -> None:
        super().__init__()
        self.function = function

    def forward(self, v: Tensor) -> Tensor:
        """σ(v)."""
        return self.function(v)

    def extra_repr(self) -> str:
        """Name of σ."""
        return str(getattr(self.function, "__name__", self.function))


class KappaDropout(nn.Dropout):
    """Dropout in the tangent space at the origin; a sparse matrix loses entries and stays sparse.

    Args:
        p: Probability of an entry to be set to 0; the others are divided by 1 − p.

    >>> KappaDropout(0.5).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, x: Features) -> Features:  # type: ignore[override]
        """x in evaluation mode; in training x with entries set to 0."""
        if isinstance(x, SparseMatrix):
            return x.dropout(self.p) if self.training else x
        dropped: Tensor = super().forward(x)
        return dropped


class KappaLogits(nn.Module):
    """κ-logits (eq. 12): signed distances to a trained hyperplane for each class, summed over the factors of a product.

    The points on the hyperplanes are kept as tangent vectors p, so that they stay in the space when κ changes. At
    κ = 0 the layer is linear, 4⟨a, v − p⟩; the normals start at a quarter of a linear layer's weights.

    With `bias` all hyperplanes go through the origin, the logits are divided by 4, and a trained number for each
    class is added: at κ = 0 the layer is ⟨a, v⟩ + b, with the initial weights and the gradients of a linear layer.

    Args:
        in_channels: D, the dimension of the space.
        num_classes: Number of classes C.
        manifold: The space, or product, of the points; a signature or a number as in `KappaGCNConv`.
        bias: Whether classes have a bias in place of a point on their hyperplane.
        dropconnect: Probability for each entry of the normals to be left out in a training step.

    >>> from kappagcn.geometry import Stereographic
    >>> KappaLogits(2, 3, Stereographic(-1.0))(torch.ones(5, 2)).shape
    torch.Size([5, 3])
    """

    def __init__(
        self, in_channels: int, num_classes: int, manifold: Space, *, bias: bool = False, dropconnect: float = 0.0
    ) -> None:
        super().__init__()
        if num_classes < 1:
            raise GraphError(f"expected at least one class, found {num_classes}.")
        self.manifold, self.dropconnect = as_manifold(manifold, in_channels), dropconnect
        self.normals = nn.Parameter(torch.empty(num_classes, in_channels))
        self.points = None if bias else nn.Parameter(torch.empty(num_classes, in_channels))
        self.bias = nn.Parameter(torch.empty(num_classes)) if bias else None
        self._reset_weights()

    def reset_parameters(self) -> None:
        """Initialise the weights, with all hyperplanes through the origin; curvatures get their initial values."""
        self.manifold.reset_parameters()
        self._reset_weights()

    def _reset_weights(self) -> None:
        glorot(self.normals)
        if self.points is not None:
            self.normals.data /= 4
        zeros(self.points)
        zeros(self.bias)

    def forward(self, v: Tensor) -> Tensor:
        """(N, D) → (N, C)."""
        signed = self.distances(v)
        return signed if self.bias is None else signed + self.bias

    def distances(self, v: Tensor) -> Tensor:
        """The logits without bias, (N, D) → (N, C)."""
        check_rows(v, self.normals.shape[1], self.normals.dtype)
        normals = nn.functional.dropout(self.normals, self.dropconnect, self.training)
        if self.points is None:
            return logits(v, torch.zeros_like(normals), normals / 4, self.manifold)
        return logits(v, self.points, normals, self.manifold)

    def extra_repr(self) -> str:
        """Numbers of columns and classes."""
        return f"{self.normals.shape[1]}, {self.normals.shape[0]}" + ("" if self.bias is None else ", bias=True")


class KappaPool(nn.Module):
    """Readout of whole graphs: the gyromidpoint of each graph's nodes. κ = 0: ``global_mean_pool``.

    Args:
        manifold: The space, or product, of the nodes; a signature or a number as in `KappaGCNConv`.
        double: Compute in float64, for nodes far from the origin.

    >>> from kappagcn.geometry import Stereographic
    >>> KappaPool(Stereographic(-1.0))(torch.ones(4, 2), torch.tensor([0, 0, 1, 1])).shape
    torch.Size([2, 2])
    """

    def __init__(self, manifold: Space, *, double: bool = False) -> None:
        super().__init__()
        self.manifold, self.double_precision = as_manifold(manifold, None), double

    def forward(self, v: Tensor, batch: Tensor | None = None, size: int | None = None) -> Tensor:
        """(N, D) and the graph of each node → (G, D)."""
        return pool(v, batch, self.manifold, num_graphs=size, double=self.double_precision)
