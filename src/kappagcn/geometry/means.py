r"""Gyromidpoints and the matrix products built on them (arXiv:1911.05076, definitions 1 to 3).

The gyromidpoint of points x_j with weights α_j is the point along the weighted sum of their lifts
(`kappagcn.geometry.ambient`): with N = Σ α_j λ_j x_j and h = Σ α_j (λ_j − 1),

    m = N / (h + √R),    R = h² + κ|N|²,

equal to the paper's ½ ⊗ (N/h) wherever that is defined, and valid beyond the equator too. For points far from the
origin R is a small difference of large numbers: it is computed in float64 for any dtype, and for one midpoint from
the points' differences.

Fréchet means, argmin_m Σ α_i d(m, x_i)², are computed by damped Newton steps from the gyromidpoint. The gradient of
half the sum is −Σ α_i log_m(x_i); in constant curvature the Hessian of half a squared distance has a closed form: 1
along the geodesic to x_i, and across it c_i = d_i / tan_κ(d_i). Only the last two steps record gradients. Newton's
method squares an error, so one step from the solution has the right first derivatives (this is the implicit function
theorem) and two steps have the right second ones, while the search before them needs no memory.
"""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor

from kappagcn.errors import ConvergenceWarning, GeometryError, NonUniqueMeanWarning
from kappagcn.geometry import numerics, vectors
from kappagcn.geometry.ambient import NO_DIRECTION, project_ray
from kappagcn.geometry.checks import (
    Scalar,
    all_hold,
    as_curvature,
    broadcast,
    conformal_at,
    conformal_in_double,
    demand,
    read_sets,
    read_vectors,
)
from kappagcn.geometry.numerics import positive_root, tanc
from kappagcn.geometry.stereographic import expmap, expmap0, logmap, logmap0, scale
from kappagcn.geometry.vectors import dot, matmul

# Smallest c_i during the search: beyond a quarter of a great circle the Hessian becomes indefinite.
LEAST_CURVATURE = 0.1
UNDEFINED = NO_DIRECTION.format(
    name="weights", what="sums of lifted points", remedy="use non-negative weights, and no antipodes of equal weight."
)


def read_points(x: Tensor, weights: Tensor | None, name: str = "weights") -> tuple[Tensor, torch.Size]:
    """Weights (uniform by default) for points (..., N, D), and the batch shape κ is to broadcast against."""
    batch = read_sets(x=x)
    if weights is None:
        weights = torch.full(x.shape[-2:-1], 1 / max(x.shape[-2], 1), dtype=x.dtype, device=x.device)
    if not isinstance(weights, Tensor) or weights.dtype != x.dtype:
        actual = weights.dtype if isinstance(weights, Tensor) else type(weights).__name__
        raise GeometryError(f"{name}: expected a tensor of {x.dtype} as the points, found {actual}; use .to(x.dtype).")
    if weights.dim() == 0:
        raise GeometryError(f"{name}: expected shape (..., N), found a single number.")
    if weights.shape[-1] != x.shape[-2]:
        raise GeometryError(
            f"{name}: expected one weight per point, found {weights.shape[-1]} columns for {x.shape[-2]} points."
        )
    if weights.layout != torch.strided and x.dim() != 2:
        raise GeometryError(f"x: expected (N, D) with sparse {name}, found {tuple(x.shape)}; loop over the batch.")
    return weights, batch


def midpoint(x: Tensor, weights: Tensor | None = None, *, k: Scalar) -> Tensor:
    """Weighted gyromidpoint of N points (eq. 9). κ → 0: the weighted arithmetic mean.

    Commutes with isometries; unchanged when all weights are multiplied by the same number.

    Args:
        x: Points, (..., N, D).
        weights: Weights, (..., N) for one midpoint, → (..., D); or, with as many axes as x, a matrix (..., M, N) for
            M of them, → (..., M, D). Uniform by default.
        k: Curvature: a number, or a tensor that broadcasts against the batch shape (...).

    Raises:
        GeometryError: The sum of the weighted lifts is not in the space, as for weights that are all zero, for
            (1, −1) with κ ≤ 0, or for two antipodes of equal weight.

    >>> midpoint(torch.tensor([[0.5, 0.1], [-0.3, 0.0], [0.0, 0.2]]), k=-1.0)
    tensor([0.0882, 0.0875])
    """
    weights, batch = read_points(x, weights)
    one = weights.dim() < x.dim()
    batch = broadcast({"x": batch, "weights": weights.shape[: -1 if one else -2]})
    lifted, mass, share, kappa = _lifted_sums(weights.unsqueeze(-2) if one else weights, x, k, batch)
    resultant = _resultant(weights.unsqueeze(-1) * share, x.double(), mass, kappa) if one else None
    point = project_ray(lifted, mass, kappa, GeometryError, UNDEFINED, resultant).to(x.dtype)
    return point.squeeze(-2) if one else point


def _resultant(share: Tensor, x: Tensor, mass: Tensor, k: Tensor) -> Tensor:
    r"""h² + κ|N|² of weighted lifts from the points' differences: (..., N, 1), (..., N, D) → (..., 1, 1).

    With a_i = α_i/(1 + κ|x_i|²), A = Σ a_i, M = Σ α_i and any point c,

        h² + κ|N|² = M² − 4κ(A Σ a_i|x_i − c|² − |Σ a_i (x_i − c)|²);

    with c between the points, no digits are lost for a close cluster of points far from the origin.
    """
    size = share.detach().abs()
    total = size.sum(-2, keepdim=True)
    center = (size * x.detach()).sum(-2, keepdim=True) / torch.where(total == 0, 1, total)
    offset = x - center
    scatter = share.sum(-2, keepdim=True) * (share * dot(offset, offset)).sum(-2, keepdim=True)
    moment = (share * offset).sum(-2, keepdim=True)
    return mass * mass - 4 * k * (scatter - dot(moment, moment))


def _lifted_sums(a: Tensor, x: Tensor, k: Scalar, batch: torch.Size) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Weighted sums of lifts for each row of a (dense or sparse), row sums, 1/(1 + κ|x|²), and κ, in float64.

    They take one matrix product.
    """
    k = as_curvature(k, x, batch, trailing=2)
    share = 1 / conformal_in_double(x, k)
    total = matmul(a.to(torch.float64), torch.cat((2 * share * x, 2 * share - 1, torch.ones_like(share)), -1))
    mass = total[..., -1:]
    return total[..., :-1] * torch.where(mass < 0, -1, 1), mass, share, k.double()


def matmul_left(a: Tensor, x: Tensor, *, k: Scalar) -> Tensor:
    """κ-left-multiplication A ⊠ X (eq. 8): row i is (Σ_j A_ij) ⊗ midpoint(X; A_i). κ → 0: A·X.

    Laws: I ⊠ X = X; r ⊗ (A ⊠ X) = (rA) ⊠ X; commutes with isometries when the rows of A sum to 1. A row of zeros
    gives the origin; any other row must have a midpoint, so for κ ≤ 0 its sum must not be 0.

    Args:
        a: Weights, (M, N), dense or ``torch.sparse`` COO or CSR; dense also (..., M, N).
        x: Points, (N, D), with a dense ``a`` also (..., N, D).
        k: Curvature: a number, or a tensor that broadcasts against the batch shape (...).

    >>> x = torch.tensor([[0.5, 0.1], [-0.3, 0.1], [0.1, 0.2]])
    >>> matmul_left(torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]), x, k=-1.0)
    tensor([[0.1196, 0.0860],
            [0.1000, 0.2000]])
    """
    if not isinstance(a, Tensor):
        raise GeometryError(f"a: expected a matrix (..., M, N), found {type(a).__name__}.")
    a, batch = read_points(x, a, "a")
    if a.dim() < 2:
        raise GeometryError(f"a: expected a matrix (..., M, N), found {tuple(a.shape)}; use midpoint for one row.")
    if a.layout != torch.strided and isinstance(k, Tensor) and k.dim() > 0:
        raise GeometryError(f"k: expected one curvature with a sparse matrix, found {tuple(k.shape)}; loop over them.")
    lifted, mass, _, kappa = _lifted_sums(a, x, k, broadcast({"x": batch, "a": a.shape[:-2]}))
    # A row without weights has no midpoint; since it is multiplied by the sum 0, the origin can be used.
    empty = (lifted == 0).all(-1, keepdim=True) & (mass == 0)
    height = torch.arange(lifted.shape[-1], device=x.device) == lifted.shape[-1] - 1
    point = project_ray(torch.where(empty & height, 1, lifted), mass, kappa, GeometryError, UNDEFINED)
    return scale(mass.squeeze(-1), point, k=kappa.squeeze(-1)).to(x.dtype)


def matmul_right(x: Tensor, w: Tensor, *, k: Scalar) -> Tensor:
    """κ-right-multiplication X ⊗ W = exp_0(log_0(X)·W) (eq. 7'): (..., D) and (D, E) → (..., E). κ → 0: X·W.

    >>> matmul_right(torch.tensor([[0.3, 0.4]]), 2 * torch.eye(2), k=-1.0)
    tensor([[0.4800, 0.6400]])
    """
    read_vectors(w=w)
    if w.dim() != 2:
        raise GeometryError(f"w: expected a matrix (D, E), found {tuple(w.shape)}.")
    read_vectors(x=x)
    if w.shape[0] != x.shape[-1] or w.dtype != x.dtype:
        raise GeometryError(
            f"w: expected ({x.shape[-1]}, E) {x.dtype} for x: {tuple(x.shape)}, found {tuple(w.shape)} {w.dtype}."
        )
    return expmap0(matmul(logmap0(x, k=k), w), k=k)


def tangential_mean(x: Tensor, weights: Tensor | None = None, *, k: Scalar, base: Tensor | None = None) -> Tensor:
    """Tangential aggregation exp_b(Σ α_i log_b(x_i)) (definition 3): (..., N, D) → (..., D).

    κ → 0: b + Σ α_i (x_i − b). Commutes with isometries that move the base point too. Weights are used as they are, not
    normalised.

    Args:
        x: Points, (..., N, D).
        weights: Weights, (..., N); uniform, 1/N each, by default.
        k: Curvature: a number, or a tensor that broadcasts against the batch shape (...).
        base: Point b (..., D) at whose tangent space to average; the origin by default.

    >>> tangential_mean(torch.tensor([[0.5, 0.1], [-0.3, 0.0], [0.0, 0.3]]), k=1.0)
    tensor([0.0574, 0.1288])
    """
    weights, batch = read_points(x, weights)
    batch = broadcast({"x": batch, "weights": weights.shape[:-1]})
    if base is None:
        v = logmap0(x, k=as_curvature(k, x, batch))
        return expmap0((weights.unsqueeze(-1) * v).sum(-2), k=k)
    read_vectors(base=base)
    read_sets(x=x, base=base.unsqueeze(-2))
    batch = broadcast({"x": batch, "base": base.shape[:-1]})
    v = logmap(base.unsqueeze(-2), x, k=as_curvature(k, x, batch))
    return expmap(base, (weights.unsqueeze(-1) * v).sum(-2), k=k)


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
