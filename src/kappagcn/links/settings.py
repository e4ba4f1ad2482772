"""The settings of a link prediction."""

from __future__ import annotations

from dataclasses import dataclass

from kappagcn.training.setting_field import setting
from kappagcn.training.settings import EPOCHS, NETWORKS, ON_GRAPHS, SPACE, NetworkSettings


@dataclass
class LinkPredictionSettings(NetworkSettings):
    """Settings of a link prediction.

    >>> LinkPredictionSettings("H8", decoder="dot").decoder
    'dot'
    """

    space: str = setting("H16", f"{SPACE}; curvatures start at ±0.1 by default.", kw_only=False, common=True)
    model: str = setting(
        "kappa-gcn",
        "Source of the points: a network, or free points that are trained as they are.",
        choices=("kappa-gcn", "gcn", "hgcn", "mlp", "free"),
        common=True,
    )
    adjacency_norm: str = setting(
        "row", "Normalise the adjacency matrix.", choices=("symmetric", "row", "none"), only={"model": ON_GRAPHS}
    )
    inputs: str = setting(
        "auto",
        "Inputs of the network: the features, a column for each node (identity), or both; auto: features if the graph "
        "has some.",
        choices=("auto", "features", "identity", "both"),
        only={"model": NETWORKS},
    )
    decoder: str = setting(
        "fermi-dirac",
        "How pairs are scored: by distance in the space (fermi-dirac), or by the inner product of tangent vectors.",
        choices=("fermi-dirac", "dot", "bilinear"),
    )
    train_decoder: bool = setting(
        True,
        "Whether the decoder is trained; radius and temperature of fermi-dirac.",
        only={"decoder": ("fermi-dirac",)},
    )
    input_dropout: float | str = setting(
        "auto",
        "Dropout of features; auto: 0.5 for sparse counts, otherwise 0.",
        range="[0, 1)",
        only={"model": NETWORKS},
    )
    dropout: float = setting(0.0, "Dropout of hidden rows.", range="[0, 1)", only={"model": NETWORKS})
    lr: float = setting(0.02, "Adam learning rate of the weights.", range="[0, inf)")
    epochs: int = setting(500, EPOCHS, range="[1, inf)", common=True)
    patience: int = setting(
        100, "Epochs without a higher AUC before training stops; on validation pairs.", range="[1, inf)"
    )
    evaluate_every: int = setting(2, "Epochs between evaluations on validation pairs.", range="[1, inf)")
    folds: int = setting(
        5,
        "Parts of the training edges; each step predicts one from messages along the others; 1: no parts, all edges "
        "are predicted from all.",
        range="[1, inf)",
        only={"model": ON_GRAPHS, "batch_size": (None,)},
    )
    negatives: str = setting(
        "uniform",
        "How pairs without an edge are drawn: uniformly, or hubs more often (degree).",
        choices=("uniform", "degree"),
    )
    validation: float = setting(0.05, "Share of edges for validation.", range="(0, 1)")
    test: float = setting(0.1, "Share of edges for test.", range="[0, 1)", common=True)
