"""Every layer, network and decoder with arguments to call it on, for tests that hold for all of them."""

import torch
from torch.nn import Sequential

from kappagcn import ProductManifold
from kappagcn.models import APPNP, GCN, HGCN, MLP, KappaGCN
from kappagcn.nn import (
    DotDecoder,
    FermiDiracDecoder,
    HGCNConv,
    KappaActivation,
    KappaAPPNP,
    KappaDropout,
    KappaGATConv,
    KappaGCNConv,
    KappaLinear,
    KappaLogits,
    KappaPool,
    KappaSAGEConv,
)

EDGES = torch.tensor([[0, 1, 1, 2, 3, 2, 3], [1, 0, 2, 1, 2, 3, 3]])  # with a self-loop
X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
WEIGHT = torch.rand(7, generator=torch.Generator().manual_seed(1)) + 0.1
PAIRS = torch.tensor([[0, 1, 2], [1, 3, 0]])
SPACE = "H1(-1)xS2(0.5)"

# name -> how it is made, and what it is given
LAYERS = {
    "GCN": (lambda: KappaGCNConv(3, 3), (X, EDGES, WEIGHT)),
    "GCN in H3": (lambda: KappaGCNConv(3, 3, manifold="H3"), (X, EDGES)),
    "GCN in a product": (lambda: KappaGCNConv(3, 3, manifold=SPACE, normalize="row"), (X, EDGES)),
    "GCN cached": (lambda: KappaGCNConv(3, 3, cached=True, improved=True, manifold=-1.0), (X, EDGES)),
    "GCN in the tangent space": (lambda: KappaGCNConv(3, 3, manifold=SPACE, aggregation="tangential"), (X, EDGES)),
    "GCN at the node": (lambda: KappaGCNConv(3, 3, manifold=SPACE, aggregation="tangential-node"), (X, EDGES)),
    "GCN by Fréchet means": (lambda: KappaGCNConv(3, 3, manifold=SPACE, aggregation="frechet"), (X, EDGES)),
    "GCN of two kinds of nodes": (
        lambda: KappaGCNConv(3, 3, manifold=-1.0),
        ((X, X[:2]), torch.tensor([[0, 1, 2, 3], [0, 1, 1, 0]])),
    ),
    "GAT": (lambda: KappaGATConv(3, 2, heads=2, manifold=-1.0), (X, EDGES)),
    "GATv2": (lambda: KappaGATConv(3, 2, heads=2, score="gatv2"), (X, EDGES)),
    "SAGE": (lambda: KappaSAGEConv(3, 3, manifold="H3"), (X, EDGES)),
    "APPNP layer": (lambda: KappaAPPNP(3, 0.1, manifold=SPACE), (X, EDGES)),
    "HGCN layer": (lambda: HGCNConv(3, 3), (X, EDGES)),
    "HGCN with attention": (lambda: HGCNConv(3, 3, attention=True), (X, EDGES)),
    "HGCN at the node": (lambda: HGCNConv(3, 3, at_node=True), (X, EDGES)),
    "logits": (lambda: KappaLogits(3, 2, SPACE), (X,)),
    "linear": (lambda: Sequential(KappaLinear(3, 3), KappaActivation(), KappaDropout(0.0)), (X,)),
    "pool": (lambda: KappaPool(SPACE), (X, torch.tensor([0, 0, 1, 1]), 2)),
    "κ-GCN": (lambda: KappaGCN(3, 2, SPACE, num_layers=2), (X, EDGES)),
    "κ-GCN of the paper": (lambda: KappaGCN(3, 2, "S3", output="paper"), (X, EDGES)),
    "κ-GCN with own features": (lambda: KappaGCN(3, 2, "H3", self_features=True), (X, EDGES)),
    "κ-APPNP": (lambda: APPNP(3, 2, SPACE), (X, EDGES)),
    "GCN network": (lambda: GCN(3, 2), (X, EDGES)),
    "HGCN network": (lambda: HGCN(3, 2), (X, EDGES)),
    "MLP": (lambda: MLP(3, 2), (X,)),
    "Fermi–Dirac": (lambda: FermiDiracDecoder(ProductManifold.from_signature(SPACE, trainable=True)), (X, PAIRS)),
    "bilinear": (lambda: DotDecoder(3, bilinear=True), (X, PAIRS)),
}


def moved(value, device, how=lambda tensor, device: tensor.to(device)):
    """Arguments of a layer on a device."""
    if isinstance(value, tuple):
        return tuple(moved(part, device, how) for part in value)
    return how(value, device) if isinstance(value, torch.Tensor) else value
