"""Networks that tests of training share."""

import math

import torch

from kappagcn.models import KappaGCN
from kappagcn.training.trainer import seeded


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
