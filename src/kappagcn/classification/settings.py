"""The settings of a node classification."""

from __future__ import annotations

from dataclasses import dataclass

from kappagcn.training.setting_field import setting
from kappagcn.training.settings import ON_GRAPHS, SPACE, NetworkSettings

START = "curvatures start near zero, in units of the rows' length, unless given as in H16(-0.5)."


@dataclass
class ClassificationSettings(NetworkSettings):
    """Settings of a node classification.

    >>> ClassificationSettings("H8", dropout=0.5).dropout
    0.5
    """

    space: str = setting("H16", f"{SPACE}; a flat one gives a GCN; {START}", kw_only=False, common=True)
    model: str = setting(
        "kappa-gcn",
        "Network: the κ-GCN; APPNP in the space (appnp); or a baseline that takes the dimension of the space alone.",
        choices=("kappa-gcn", "appnp", "gcn", "hgcn", "mlp"),
        common=True,
    )
    output: str = setting(
        "midpoint",
        "Output layer: the paper's average of logits, the same with a bias after it, or logits of midpoints.",
        choices=("paper", "paper-bias", "midpoint"),
        only={"model": ("kappa-gcn",)},
    )
    self_features: str = setting(
        "auto",
        "Use a node's own features separately; the κ-GCN then does not mix them with its neighbours'; auto: if "
        "neighbours share a class hardly more often than by chance and own features predict better, judged on training "
        "and stopping nodes.",
        choices=("auto", "on", "off"),
        only={"model": ("kappa-gcn",)},
    )
    propagation_steps: int = setting(
        10, "Number of propagation steps of appnp.", range="[1, inf)", only={"model": ("appnp",)}
    )
    alpha: float = setting(
        0.1, "Share of a node's own row in each step of appnp.", range="[0, 1]", only={"model": ("appnp",)}
    )
    split_input: bool = setting(
        False, "Whether each factor gets only its share of features.", only={"model": ("kappa-gcn",)}
    )
    feature_map: str = setting(
        "tangent",
        "Meaning of the features: tangent vectors at the origin, or points, scaled as in the paper.",
        choices=("tangent", "points"),
    )
    feature_scale: float = setting(1.0, "Factor by which features are multiplied.", range="(0, inf)")
    adjacency_norm: str = setting(
        "symmetric", "Normalise the adjacency matrix.", choices=("symmetric", "row", "none"), only={"model": ON_GRAPHS}
    )
    dropout: float | str = setting(
        "auto",
        "Dropout of hidden rows; auto: 0.5 for sparse counts, and for measurements with fewer than ten labels a "
        "feature, otherwise 0.",
        range="[0, 1)",
    )
    input_dropout: float | str = setting(
        "auto",
        "Dropout of features; auto: 0.5 for measurements with fewer than ten labels a feature, otherwise 0.",
        range="[0, 1)",
    )
    adjacency_dropout: float = setting(
        0.0, "Dropout of edges.", range="[0, 1)", only={"model": ("kappa-gcn", "appnp", "gcn")}
    )
    dropconnect: float = setting(0.0, "Dropout of weights.", range="[0, 1)")
    patience: int = setting(200, "Epochs without improvement before training stops.", range="[1, inf)")
    stop_by: str = setting(
        "loss",
        "Improvement that patience waits for: on the stopping nodes, a lower loss, or a lower loss or higher accuracy.",
        choices=("loss", "either"),
    )
    intervals: bool = setting(
        False,
        "Whether to compute an interval of each curvature of a run that has converged; in it the cross-entropy on "
        "validation nodes is at most 1 % above that of the learned one, weights fixed.",
        common=True,
        only={"model": ("kappa-gcn", "appnp")},
    )
    self_training: int = setting(
        0,
        "Rounds of self-training; in each, training starts again and also learns the classes predicted for nodes that "
        "neither train nor stop, and the best weights on the stopping nodes are kept.",
        range="[0, inf)",
    )
