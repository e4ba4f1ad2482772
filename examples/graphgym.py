"""Registers the layers with PyG's GraphGym, so that its settings choose them.

python examples/graphgym.py

cfg.gnn.layer_type = "kappagcnconv"  # or "kappasageconv", "kappagatconv"
cfg.kappagcn.manifold = "H"          # or "S", "U", "E"; the dimension is that of the layer
"""

import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.models.layer import new_layer_config
from torch_geometric.graphgym.register import layer_dict, register_config, register_layer

from kappagcn.nn import KappaGATConv, KappaGCNConv, KappaSAGEConv


def settings(config) -> None:
    config.kappagcn = type(config)()
    config.kappagcn.manifold = "U"


class Layer(nn.Module):
    def __init__(self, conv, layer_config) -> None:
        super().__init__()
        letter, dim = getattr(getattr(cfg, "kappagcn", None), "manifold", "U"), layer_config.dim_out
        self.model = conv(layer_config.dim_in, dim, bias=layer_config.has_bias, manifold=f"{letter}{dim}")

    def forward(self, batch):
        batch.x = self.model(batch.x, batch.edge_index)
        return batch


def main() -> list[str]:
    register_config("kappagcn", settings)
    for conv in (KappaGCNConv, KappaSAGEConv, KappaGATConv):
        register_layer(conv.__name__.lower(), lambda config, conv=conv, **_: Layer(conv, config))
    graph = Data(x=torch.rand(4, 3), edge_index=torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]))
    names = [name for name in layer_dict if name.startswith("kappa")]
    for name in names:
        layer = layer_dict[name](new_layer_config(3, 5, 1, has_act=False, has_bias=True, cfg=cfg))
        print(f"{name}: {tuple(layer(Batch.from_data_list([graph])).x.shape)} rows and columns")
    return names


if __name__ == "__main__":
    main()
