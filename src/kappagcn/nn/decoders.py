"""Decoders: from the vectors of nodes to log-odds that pairs of them are linked."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.geometry.manifold import Manifold
from kappagcn.nn.pair_distances import pair_squares

__all__ = ["DotDecoder", "FermiDiracDecoder"]


class FermiDiracDecoder(nn.Module):
    r"""Links by distance: p = 1/(1 + exp((d² − r)/t)), on a space of constant curvature or a product.

    Args:
        manifold: The space of the nodes; its curvatures get gradients too.
        r: Squared distance at which the probability of a link is ½.
        t: Temperature: how slowly p falls around r, above 0.
        trainable: Whether r and t are trained.

    Shapes: v (N, D), tangent vectors at the origin; pairs (2, P) → log-odds (P,).

    >>> from kappagcn import Stereographic
    >>> decoder = FermiDiracDecoder(Stereographic(-1.0))
    >>> decoder(torch.zeros(2, 3), torch.tensor([[0], [1]])).tolist()
    [2.0]
    """

    def __init__(self, manifold: Manifold, *, r: float = 2.0, t: float = 1.0, trainable: bool = True) -> None:
        super().__init__()
        if not (math.isfinite(r) and 0 < t < math.inf):
            raise GraphError(f"expected r finite and t above 0, found r = {r} and t = {t}.")
        self.manifold = manifold
        self.radius = nn.Parameter(torch.tensor(float(r)), requires_grad=trainable)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(t)), requires_grad=trainable)

    @property
    def r(self) -> Tensor:
        """Squared distance at which p = ½."""
        return self.radius

    @property
    def t(self) -> Tensor:
        """Temperature, above 0."""
        return self.log_temperature.exp()

    def forward(self, v: Tensor, pairs: Tensor) -> Tensor:
        """Log-odds (r − d²)/t of links, (P,)."""
        return ((self.r - pair_squares(v, pairs, self.manifold)) / self.t).to(v.dtype)

    def extra_repr(self) -> str:
        """Radius and temperature."""
        return f"r={self.r.item():.4g}, t={self.t.item():.4g}"


class DotDecoder(nn.Module):
    """Links by inner product: log-odds v_iᵀ M v_j + b, with M the identity or a symmetric matrix that is trained.

    Args:
        dim: Dimension D of the vectors.
        bilinear: Whether to train M, from the identity.

    Shapes: v (N, D), pairs (2, P) → log-odds (P,).

    >>> decoder = DotDecoder(2)
    >>> decoder(torch.tensor([[1.0, 2.0], [3.0, 0.0]]), torch.tensor([[0], [1]])).tolist()
    [3.0]
    """

    def __init__(self, dim: int, *, bilinear: bool = False) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(()))
        self.matrix = nn.Parameter(torch.eye(dim)) if bilinear else None

    def forward(self, v: Tensor, pairs: Tensor) -> Tensor:
        """Log-odds of links, (P,)."""
        first, second = pairs
        left = v if self.matrix is None else v @ ((self.matrix + self.matrix.t()) / 2)
        products: Tensor = torch.linalg.vecdot(left[first], v[second])
        return products + self.bias
