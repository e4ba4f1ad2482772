"""Features of a graph in a curved space: points of the model (the paper), or scaled tangent vectors.

Both give tangent vectors at the origin, which are fixed before training begins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from kappagcn.errors import GraphError
from kappagcn.geometry.numerics import artanc
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs.datasets.preprocess import standardize_columns
from kappagcn.graphs.io.node_data import as_features, from_tensor


def point_features(x: Tensor, kappas: Sequence[float], *, split: bool = False) -> Tensor:
    """The paper's scaling, x/(2√|κ| max‖x‖), read as points of the space: log_0 of them, (N, D) → (N, D).

    The curvatures are the initial ones. (With the current ones, as printed, the scale diverges at κ = 0.) A flat space
    counts as |κ| = 1. Sparse features stay sparse.

    Args:
        x: Features, dense or sparse CSR.
        kappas: The factors' starting curvatures.
        split: Whether each factor gets an equal share of the columns, scaled separately. Otherwise all factors get
            the same tangent vectors, scaled for the most curved one; log_0 is applied only if there is one factor.

    >>> point_features(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), [-1.0])  # the longest row at artanh(1/2)
    tensor([[0.3296, 0.4394],
            [0.0300, 0.0400]])
    """
    x = _floating(x)
    if split and len(kappas) > 1:
        columns = torch.arange(x.shape[1]).tensor_split(len(kappas))
        shares = [point_features(_columns(x, own), [kappa]) for own, kappa in zip(columns, kappas, strict=True)]
        if x.layout == torch.strided:
            return torch.cat(shares, 1)
        return as_features(sp.hstack([from_tensor(part) for part in shares]), sparse=True)
    curved = max((abs(kappa) for kappa in kappas), default=0.0) or 1.0
    norms = _row_norms(x)
    scale = 1 / (2 * curved**0.5 * norms.max().clamp(min=torch.finfo(norms.dtype).tiny)) if len(norms) else 1.0
    if len(kappas) != 1:
        return _scale_rows(x, torch.as_tensor(scale).expand(x.shape[0]))
    points = norms * scale
    return _scale_rows(x, scale * artanc(kappas[0] * points * points))


def tangent_features(x: Tensor, *, scale: float = 1.0, standardize: bool = False) -> Tensor:
    """Features as tangent vectors at the origin, (N, D) → (N, D).

    Args:
        x: Features, dense or sparse CSR.
        scale: Factor by which features are multiplied.
        standardize: First bring columns of dense features to mean 0 and standard deviation 1, except those of zeros
            and ones.

    >>> tangent_features(torch.tensor([[1.0, 2.0], [3.0, 2.0]]), scale=0.5)
    tensor([[0.5000, 1.0000],
            [1.5000, 1.0000]])
    """
    x = _floating(x)
    if standardize:
        x = standardize_columns(x)
    return _scale_rows(x, x.new_full((x.shape[0],), scale, layout=torch.strided))


def _floating(x: Tensor | None) -> Tensor:
    if not isinstance(x, Tensor):
        raise GraphError(f"expected features as a tensor (N, D), data.x, found {type(x).__name__}.")
    return x if x.is_floating_point() else x.float()


def _row_norms(x: Tensor) -> Tensor:
    if x.layout == torch.strided:
        norms: Tensor = torch.linalg.vector_norm(x, dim=1)
        return norms
    return torch.from_numpy(np.sqrt(from_tensor(x).power(2).sum(axis=1)))


def _scale_rows(x: Tensor, factors: Tensor) -> Tensor:
    factors = factors.to(x.dtype)
    if x.layout == torch.strided:
        return x * factors.unsqueeze(1)
    return as_features(sp.diags_array(factors.numpy()) @ from_tensor(x), sparse=True).to(x.dtype)


def _columns(x: Tensor, own: Tensor) -> Tensor:
    return x[:, own] if x.layout == torch.strided else as_features(from_tensor(x)[:, own.numpy()], sparse=True)


class PointFeatures(BaseTransform):
    """`point_features` of ``data.x``, for the starting curvatures of a signature.

    >>> from kappagcn.graphs import disease
    >>> float(PointFeatures("H16")(disease()).x.norm(dim=1).max())
    0.549...
    """

    def __init__(self, signature: str, *, split: bool = False) -> None:
        self.signature, self.split = signature, split

    def forward(self, data: Data) -> Data:
        """The graph with its features as tangent vectors."""
        kappas = [factor.kappa for factor in parse_signature(self.signature)]
        data.x = point_features(data.x, kappas, split=self.split)
        return data


class TangentFeatures(BaseTransform):
    """`tangent_features` of ``data.x``.

    >>> from kappagcn.graphs import disease
    >>> TangentFeatures(scale=0.5)(disease()).x.shape
    torch.Size([1000, 10])
    """

    def __init__(self, scale: float = 1.0, *, standardize: bool = False) -> None:
        self.scale, self.standardize = scale, standardize

    def forward(self, data: Data) -> Data:
        """The graph with its features as tangent vectors."""
        data.x = tangent_features(data.x, scale=self.scale, standardize=self.standardize)
        return data
