"""Registration with PyG's GraphGym, on import: layers ``kappagcnconv``, ``kappasageconv`` and ``kappagatconv``.

    import kappagcn.nn.graphgym
    cfg.gnn.layer_type = "kappagcnconv"
    cfg.kappagcn.manifold = "H"  # or "S", "U", "E"; the dimension is that of the layer

The network ``kappagcn`` is GraphGym's own with ``kappagcnconv`` for its layers.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.gnn import GNN
from torch_geometric.graphgym.models.layer import LayerConfig
from torch_geometric.graphgym.register import register_config, register_layer, register_network

from kappagcn.nn.conv import KappaGCNConv
from kappagcn.nn.gat import KappaGATConv
from kappagcn.nn.sage import KappaSAGEConv

__all__ = ["KappaNetwork", "configure"]


def configure(config: Any) -> None:
    """Add the settings of the layers: `kappagcn.manifold`, a letter H, S, E or U."""
    config.kappagcn = type(config)()
    config.kappagcn.manifold = "U"


register_config("kappagcn", configure)


class _Layer(nn.Module):
    """A layer that takes batches of GraphGym."""

    conv: type[Any]

    def __init__(self, layer_config: LayerConfig, **kwargs: Any) -> None:
        super().__init__()
        letter, dim = getattr(getattr(cfg, "kappagcn", None), "manifold", "U"), layer_config.dim_out
        self.model = self.conv(layer_config.dim_in, dim, bias=layer_config.has_bias, manifold=f"{letter}{dim}")

    def forward(self, batch: Any) -> Any:
        """The batch with new features."""
        rows: Tensor = self.model(batch.x, batch.edge_index)
        batch.x = rows
        return batch


@register_layer("kappagcnconv")
class _GCN(_Layer):
    conv = KappaGCNConv


@register_layer("kappasageconv")
class _SAGE(_Layer):
    conv = KappaSAGEConv


@register_layer("kappagatconv")
class _GAT(_Layer):
    conv = KappaGATConv


@register_network("kappagcn")
class KappaNetwork(GNN):
    """GraphGym's network with layers ``kappagcnconv``.

    Args:
        dim_in: Number of features.
        dim_out: Number of outputs.
        **kwargs: Arguments of GraphGym's ``GNN``.
    """

    def __init__(self, dim_in: int, dim_out: int, **kwargs: Any) -> None:
        cfg.gnn.layer_type = "kappagcnconv"
        super().__init__(dim_in, dim_out, **kwargs)
