"""Networks over the nodes of a graph: the paper's κ-GCN, κ-APPNP, and their baselines."""

from typing import Any

from kappagcn.errors import GraphError
from kappagcn.models.appnp import APPNP
from kappagcn.models.baselines import GCN, HGCN, MLP
from kappagcn.models.classifier import CommonOptions, NodeClassifier, Step
from kappagcn.models.kappa_gcn import KappaGCN
from kappagcn.models.link_predictor import LinkPredictor
from kappagcn.models.points import FreePoints, NetworkPoints, hidden_space

__all__ = [
    "APPNP",
    "GCN",
    "HGCN",
    "MLP",
    "MODELS",
    "CommonOptions",
    "FreePoints",
    "KappaGCN",
    "LinkPredictor",
    "NetworkPoints",
    "NodeClassifier",
    "Step",
    "build_model",
    "hidden_space",
]

MODELS: dict[str, type[NodeClassifier]] = {model.name: model for model in (KappaGCN, APPNP, GCN, HGCN, MLP)}
"""The networks by name."""


def build_model(name: str, **options: Any) -> NodeClassifier:
    """A network by name, from its ``options``.

    >>> model = KappaGCN(10, 2, "S4")
    >>> build_model(model.name, **model.options).options == model.options
    True
    """
    if name not in MODELS:
        raise GraphError(f"expected a model, one of {', '.join(MODELS)}, found {name!r}.")
    return MODELS[name](**options)
