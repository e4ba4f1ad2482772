"""The settings of an embedding."""

from __future__ import annotations

from dataclasses import dataclass

from kappagcn.objectives import METRICS
from kappagcn.training.setting_field import setting
from kappagcn.training.settings import SPACE, Settings


@dataclass
class EmbeddingSettings(Settings):
    """Settings of an embedding.

    >>> EmbeddingSettings("H2", epochs=10).epochs
    10
    """

    space: str = setting("H10", f"{SPACE}; auto tries several of dimension --dim.", kw_only=False, common=True)
    epochs: int | str = setting(  # type: ignore[assignment]
        "auto",
        "Maximum number of training epochs; auto: until convergence, at most 5000 steps of L-BFGS, which trains points "
        "on all pairs, or 2000 of Adam, which trains the others.",
        range="[1, inf)",
        common=True,
    )
    dim: int = setting(
        10, "Dimension of the spaces that --space auto tries.", range="[1, inf)", common=True, only={"space": ("auto",)}
    )
    method: str = setting(
        "free",
        "What is trained: the points themselves (free), or the paper's network on one-hot features.",
        choices=("free", "kappa-gcn"),
        common=True,
    )
    objective: str = setting(
        "distortion",
        "What is minimised: the paper's distortion, the mean relative error D_avg (relative), the stress of "
        "multidimensional scaling, or a ranking loss by which neighbours become nearest points (neighbours).",
        choices=tuple(METRICS),
        common=True,
    )
    start: str = setting(
        "graph",
        "Initial points and curvatures: nearly flat, by multidimensional scaling of the graph's distances, or small "
        "random points and ±1 as in the paper. Curvatures in the signature are initial values.",
        choices=("graph", "paper"),
    )
    hidden_channels: int = setting(
        16, "Dimension of the hidden layer of the κ-GCN.", range="[1, inf)", only={"method": ("kappa-gcn",)}
    )
    act: str = setting(
        "none", "Activation of the κ-GCN.", choices=("none", "relu", "tanh", "elu"), only={"method": ("kappa-gcn",)}
    )
    lr: float | str = setting(
        "auto",
        "Adam learning rate; auto: 0.03 for the κ-GCN's weights, 0.003 times the diameter for points whose pairs are "
        "sampled. Points on all pairs are trained by L-BFGS, which has no learning rate.",
        range="[0, inf)",
    )
    curvature_lr: float | str = setting(
        "auto",
        "Learning rate of curvatures, 0 to keep them; it is that of asinh(κR²), with R half the diameter; not used by "
        "L-BFGS; auto: 0.2.",
        range="[0, inf)",
    )
    sources: int | str = setting(
        "auto",
        "Number of source nodes of each step; it uses their pairs with all nodes; 0 for all pairs; auto: all pairs up "
        "to 5000 nodes, otherwise 64.",
        range="[0, inf)",
    )
    intervals: bool = setting(
        False,
        "Whether to compute an interval of each curvature once training has converged; in it the objective is at most "
        "1 % above its minimum.",
        common=True,
    )
