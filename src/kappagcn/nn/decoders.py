"""Decoders: from the vectors of nodes to log-odds that pairs of them are linked."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.geometry.curvature import add_axis
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
        self.manifold, self._initial = manifold, (float(r), math.log(t))
        self.radius = nn.Parameter(torch.empty(1), requires_grad=trainable)
        self.log_temperature = nn.Parameter(torch.empty(1), requires_grad=trainable)
        self._reset_weights()

    def reset_parameters(self) -> None:
        """Set r, t and curvatures to their initial values."""
        self.manifold.reset_parameters()
        self._reset_weights()

    def _reset_weights(self) -> None:
        radius, log_temperature = self._initial
        nn.init.constant_(self.radius, radius)
        nn.init.constant_(self.log_temperature, log_temperature)

    @property
    def r(self) -> Tensor:
        """Squared distance at which p = ½, as a tensor without axes."""
        return self.radius.reshape(())

    @property
    def t(self) -> Tensor:
        """Temperature, above 0, as a tensor without axes."""
        return self.log_temperature.exp().reshape(())

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        add_axis(state_dict, f"{prefix}radius", f"{prefix}log_temperature")
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def forward(self, v: Tensor, pairs: Tensor) -> Tensor:
        """Log-odds (r − d²)/t of links, (P,)."""
        return ((self.r - pair_squares(v, pairs, self.manifold)) / self.t).to(v.dtype)

    def extra_repr(self) -> str:
        """Radius and temperature."""
        radius, log_temperature = self._initial
        return f"initial r={radius:.4g}, t={math.exp(log_temperature):.4g}"


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
        self.bias = nn.Parameter(torch.empty(1))
        self.matrix = nn.Parameter(torch.empty(dim, dim)) if bilinear else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set b to 0 and M to the identity."""
        nn.init.zeros_(self.bias)
        if self.matrix is not None:
            nn.init.eye_(self.matrix)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        add_axis(state_dict, f"{prefix}bias")
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def forward(self, v: Tensor, pairs: Tensor) -> Tensor:
        """Log-odds of links, (P,)."""
        first, second = pairs
        left = v if self.matrix is None else v @ ((self.matrix + self.matrix.t()) / 2)
        products: Tensor = torch.linalg.vecdot(left[first], v[second])
        return products + self.bias
