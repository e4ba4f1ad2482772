"""LinkPredictor: an encoder of nodes, any network or free points, and a decoder of pairs."""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn

from kappagcn.errors import GraphError
from kappagcn.geometry import ProductManifold, Stereographic
from kappagcn.models.classifier import NodeClassifier
from kappagcn.models.points import FreePoints
from kappagcn.nn import DotDecoder, FermiDiracDecoder

__all__ = ["DECODERS", "LinkPredictor"]

DECODERS = ("fermi-dirac", "dot", "bilinear")


class LinkPredictor(nn.Module):
    """Log-odds of links from the last hidden layer of a network, or from free points.

    The last layer has no activation here: a ReLU would place all points in one orthant of the space. The encoder that
    is given shares its layers with this network, and keeps its activation.

    Args:
        encoder: A network with ``num_classes=None``, or `FreePoints`.
        decoder: ``"fermi-dirac"`` by distance in the encoder's space, ``"dot"`` or ``"bilinear"`` by inner products of
            tangent vectors.
        r: Initial squared distance at which a link is as probable as none.
        t: Initial temperature.
        train_decoder: Whether r and t are trained.

    >>> from kappagcn.graphs import disease
    >>> from kappagcn.models import KappaGCN
    >>> data = disease()
    >>> model = LinkPredictor(KappaGCN(10, None, "H4", num_layers=2))
    >>> model.decode(model(data.x, data.edge_index), data.edge_index).shape
    torch.Size([1998])
    """

    def __init__(
        self,
        encoder: NodeClassifier | FreePoints,
        decoder: str = "fermi-dirac",
        *,
        r: float = 2.0,
        t: float = 1.0,
        train_decoder: bool = True,
    ) -> None:
        super().__init__()
        if decoder not in DECODERS:
            raise GraphError(f"decoder: expected {', '.join(DECODERS)}, found {decoder!r}.")
        if isinstance(encoder, NodeClassifier):
            if encoder.has_output:
                raise GraphError("encoder: expected a network with num_classes=None, found one with classes.")
            encoder = copy.copy(encoder)  # of the same layers
            encoder.activates_last = False
        self.encoder, self.free = encoder, isinstance(encoder, FreePoints)
        dim = encoder.points.shape[1] if isinstance(encoder, FreePoints) else _width(encoder)
        flat = ProductManifold.from_signature(f"E{dim}")
        self.manifold: Stereographic | ProductManifold = flat if encoder.manifold is None else encoder.manifold
        self.decoder: nn.Module
        if decoder == "fermi-dirac":
            self.decoder = FermiDiracDecoder(self.manifold, r=r, t=t, trainable=train_decoder)
        else:
            self.decoder = DotDecoder(dim, bilinear=decoder == "bilinear").to(next(encoder.parameters()).dtype)
        self.options: dict[str, Any] = {"decoder": decoder, "r": r, "t": t, "train_decoder": train_decoder}

    def forward(self, x: Any = None, adjacency: Any = None) -> Tensor:
        """Tangent vectors of all nodes at the origin, (N, D); free points need no arguments."""
        vectors: Tensor = self.encoder() if self.free else self.encoder(x, adjacency)
        return vectors

    def decode(self, v: Tensor, pairs: Tensor) -> Tensor:
        """Log-odds of links, (P,)."""
        log_odds: Tensor = self.decoder(v, pairs)
        return log_odds

    def regularised(self) -> list[nn.Parameter]:
        """Parameters with L² regularisation: the first layer of a network, or the free points."""
        return [self.encoder.points] if isinstance(self.encoder, FreePoints) else self.encoder.first_layer()


def _width(encoder: NodeClassifier) -> int:
    """Columns of the last hidden layer."""
    width: int = encoder.hidden[-1].out_channels
    return width
