r"""Fréchet means: argmin_m Σ α_i d(m, x_i)², for any sign of κ.

They are computed by damped Newton steps from the gyromidpoint. The gradient of half the sum is −Σ α_i log_m(x_i); in
constant curvature the Hessian of half a squared distance has a closed form: 1 along the geodesic to x_i, and across it

    c_i = d_i / tan_κ(d_i).

Only the last two steps record gradients. Newton's method squares an error, so one step from the solution has the right
first derivatives (this is the implicit function theorem) and two steps have the right second ones, while the search
before them needs no memory.
"""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor

from kappagcn.errors import ConvergenceWarning, GeometryError, NonUniqueMeanWarning
from kappagcn.geometry import numerics, vectors
from kappagcn.geometry.checks import Scalar, all_hold, as_curvature, broadcast, conformal_at, demand
from kappagcn.geometry.means import midpoint, read_points
from kappagcn.geometry.numerics import positive_root, tanc
from kappagcn.geometry.stereographic import expmap, logmap
from kappagcn.geometry.vectors import dot, matmul

# Smallest c_i during the search: beyond a quarter of a great circle the Hessian becomes indefinite.
LEAST_CURVATURE = 0.1


def frechet_mean(x: Tensor, weights: Tensor | None = None, *, k: Scalar, steps: int = 30) -> Tensor:
    """Weighted Fréchet mean of N points: (..., N, D) → (..., D). κ → 0: the weighted arithmetic mean.

    Differentiable in the points, the weights and κ. Unique for κ ≤ 0, and for κ > 0 when the points lie in a ball of
    radius π/(2√κ). Commutes with isometries.

    Args:
        x: Points, (..., N, D).
        weights: Weights, (..., N), non-negative and not all zero; uniform by default. Their scale does not matter.
        k: Curvature: a number, or a tensor that broadcasts against the batch shape (...).
        steps: Largest number of Newton steps; where values can be read (eager, on the CPU) the search ends when it has
            converged, elsewhere it takes them all.

    Warns:
        NonUniqueMeanWarning: κ > 0 and some point is π/(2√κ) or more from the mean.
        ConvergenceWarning: The gradient has not vanished after ``steps``. Both only where values can be read.

    >>> frechet_mean(torch.tensor([[0.5, 0.1], [-0.3, 0.0], [0.0, 0.2]]), k=-1.0)
    tensor([0.0807, 0.0904])
    """
    weights, batch = read_points(x, weights)
    if weights.layout != torch.strided:
        raise GeometryError("weights: expected a dense tensor (..., N), found a sparse one; use .to_dense().")
    batch = broadcast({"x": batch, "weights": weights.shape[:-1]})
    k = as_curvature(k, x, batch, trailing=0)
    positive = (weights >= 0).all(-1) & (weights.sum(-1) > 0)
    demand(positive, GeometryError, "weights: expected non-negative weights that are not all zero; found {count} rows.")
    weights = weights / weights.sum(-1, keepdim=True)
    with torch.no_grad():
        mean = _search(x.detach(), weights.detach(), k.detach(), steps)
    for _ in range(2):
        state = _State(mean, x, weights, k)
        mean = expmap(mean, state.newton_step(), k=k)
    return mean


class _State:
    """Logarithms of the points at a candidate for the mean, and derived values."""

    def __init__(self, mean: Tensor, x: Tensor, weights: Tensor, k: Tensor) -> None:
        self.mean, self.weights, self.k = mean, weights.unsqueeze(-1), k
        self.v = logmap(mean.unsqueeze(-2), x, k=k.unsqueeze(-1))
        self.pull = (self.weights * self.v).sum(-2)
        self.p = conformal_at(mean, k.unsqueeze(-1))  # 2/λ

    def newton_step(self, least: float = -math.inf) -> Tensor:
        """Hessian⁻¹·pull, where the Hessian is Σ α_i (c_i + (1 − c_i) v_i v_iᵀ/|v_i|²)."""
        square = dot(self.v, self.v)
        across = (1 / tanc(4 * self.k[..., None, None] * square / self.p.unsqueeze(-2) ** 2)).clamp(min=least)
        along = (1 - across) / torch.where(square > 0, square, 1)
        eye = torch.eye(self.v.shape[-1], dtype=self.v.dtype, device=self.v.device)
        hessian = (self.weights * across).sum(-2, keepdim=True) * eye + matmul(
            (self.weights * along * self.v).mT, self.v
        )
        step: Tensor = torch.linalg.solve(hessian, self.pull.unsqueeze(-1)).squeeze(-1)
        return step

    def damped_step(self) -> Tensor:
        """Newton's step cut by the Newton decrement: squared distances are self-concordant on the scale 1/√|κ|."""
        step = self.newton_step(LEAST_CURVATURE)
        decrement = 2 / self.p * dot(step, self.pull).clamp(min=0).sqrt()
        return step / (1 + 0.5 * self.k.abs().sqrt().unsqueeze(-1) * decrement)

    def distances(self) -> Tensor:
        return (2 / self.p.unsqueeze(-2) * vectors.norm(self.v)).squeeze(-1)

    def converged(self) -> Tensor:
        """Whether two more Newton steps will end in rounding error."""
        mean_distance = (self.weights * self.distances().unsqueeze(-1)).sum(-2)
        rounding = numerics.eps(self.v) * (mean_distance + vectors.norm(self.mean) / self.p)
        tolerance = 0.1 * numerics.eps(self.v) ** 0.5 * mean_distance + 32 * rounding
        done: Tensor = 2 / self.p * vectors.norm(self.pull) <= tolerance
        return done


def _search(x: Tensor, weights: Tensor, k: Tensor, steps: int) -> Tensor:
    state = _State(midpoint(x, weights, k=k), x, weights, k)
    for _ in range(steps):
        if all_hold(state.converged()):
            break
        state = _State(expmap(state.mean, state.damped_step(), k=k), x, weights, k)
    _warn(state)
    return state.mean


def _warn(state: _State) -> None:
    converged = state.converged()
    if all_hold(converged) is False:
        warnings.warn(
            f"frechet_mean: {int((~converged).sum())} of {converged.numel()} means have not converged; raise steps, or "
            f"check for points near each other's antipodes.",
            ConvergenceWarning,
            stacklevel=4,
        )
    k = state.k.unsqueeze(-1)
    near = state.distances() < math.pi / (2 * positive_root(k))
    unique = ((k <= 0) | near | (state.weights.squeeze(-1) == 0)).all(-1)
    if all_hold(unique) is False:
        warnings.warn(
            f"frechet_mean: {int((~unique).sum())} of {unique.numel()} sets reach beyond a quarter of a great circle, "
            f"π/(2√κ), from the mean; there may be other means.",
            NonUniqueMeanWarning,
            stacklevel=4,
        )
