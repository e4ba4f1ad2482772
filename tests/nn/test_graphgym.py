"""Layers, network and settings through GraphGym's registers."""

from types import SimpleNamespace

import pytest
import torch
from torch_geometric.data import Batch, Data

from kappagcn.nn import KappaGCNConv

GRAPH = Data(x=torch.randn(4, 3), edge_index=torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]))


@pytest.fixture
def graphgym():
    import kappagcn.nn.graphgym as module

    return module


@pytest.mark.parametrize("name", ["kappagcnconv", "kappasageconv", "kappagatconv"])
def test_layers(name, graphgym, monkeypatch):
    from torch_geometric.graphgym.models.layer import LayerConfig
    from torch_geometric.graphgym.register import config_dict, layer_dict, network_dict

    config = SimpleNamespace()
    config_dict["kappagcn"](config)
    assert config.kappagcn.manifold == "U"
    config.kappagcn.manifold = "H"
    monkeypatch.setattr(graphgym, "cfg", config)
    layer = layer_dict[name](LayerConfig(dim_in=3, dim_out=5, has_bias=True))
    assert layer.model.manifold.signature == "H5"
    assert layer(Batch.from_data_list([GRAPH])).x.shape == (4, 5)
    assert network_dict["kappagcn"] is graphgym.KappaNetwork


def test_network(graphgym):
    pytest.importorskip("yacs", reason="GraphGym's networks need yacs")
    from torch_geometric.graphgym.config import assert_cfg, cfg, set_cfg

    set_cfg(cfg)
    cfg.kappagcn.manifold = "S"
    assert_cfg(cfg)  # as load_cfg does: the head is that of the task
    network = graphgym.KappaNetwork(3, 2)
    assert cfg.gnn.layer_type == "kappagcnconv"
    assert sum(isinstance(module, KappaGCNConv) for module in network.modules()) == cfg.gnn.layers_mp
    batch = Batch.from_data_list([Data(**GRAPH.to_dict(), y=torch.arange(4), train_mask=torch.arange(4) > 0)])
    batch.split = "train"
    predictions, labels = network(batch)
    assert predictions.shape == (3, 2)
    assert labels.tolist() == [1, 2, 3]
