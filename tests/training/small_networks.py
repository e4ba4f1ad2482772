"""Networks that tests of training share."""

import math

import torch

from kappagcn.models import GCN, HGCN, MLP, KappaGCN
from kappagcn.training.trainer import seeded

MODELS = {
    "hyperbolic": lambda: KappaGCN(10, 2, "H4"),
    "product, three layers": lambda: KappaGCN(10, 2, "H2xS2xE2", num_layers=3, split_input=True),
    "a space for each layer": lambda: KappaGCN(10, 2, ["S3", "H4"], adjacency_norm="row", act="tanh"),
    "without classes": lambda: KappaGCN(10, None, "S4"),
    "at the nodes": lambda: KappaGCN(10, 2, "H4", aggregation="tangential-node", adjacency_norm="row"),
    "Fréchet means": lambda: KappaGCN(10, 2, "H4", aggregation="frechet", double=True),
    "without loops": lambda: KappaGCN(10, 2, "H4", adjacency_norm="none"),
    "gcn": lambda: GCN(10, 2, num_layers=2),
    "hgcn": lambda: HGCN(10, 2, num_layers=2),
    "hgcn at nodes": lambda: HGCN(10, 2, num_layers=2, at_node=True),
    "hgcn with attention": lambda: HGCN(10, 2, num_layers=2, attention=True),
    "mlp": lambda: MLP(10, 2, num_layers=2),
}


def build(name):
    with seeded(0):
        model = MODELS[name]()
        for p in model.parameters():  # biases and points that start at 0 as well
            if p.dim():
                p.data += 0.1 * torch.randn_like(p)
    return model


def network(signature="H4", seed=0, **options):
    with seeded(seed):
        return KappaGCN(10, 2, signature, **{"dropout": 0.3, "adjacency_dropout": 0.2, "dropconnect": 0.1, **options})


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


class Poisoned(KappaGCN):
    """A network that breaks in the middle of training, where it is told."""

    def __init__(self, where, at, **options):
        super().__init__(10, 2, "H4", **options)
        self.where, self.at, self.calls = where, at, 0

    def forward(self, x, edge_index, edge_weight=None):
        out = super().forward(x, edge_index, edge_weight)
        self.calls += self.training
        now = self.calls == self.at
        if now and self.where == "loss" and self.training:
            return out * math.nan
        if now and self.where == "gradient" and self.training:
            weight = self.hidden[0].lin.weight
            return out + 0 * (weight.sum() - weight.sum().detach()).sqrt()  # the root's slope at 0 is infinite
        if now and self.where == "stopping" and not self.training:
            return out + math.inf
        return out
