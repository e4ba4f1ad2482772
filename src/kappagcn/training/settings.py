"""The settings of each task, defined once: name, type, default, allowed values and one sentence of help.

Command-line flags, arguments of the estimators, TOML files, ``--dry-run``, ``config.json`` and the tables in the
documentation are all made from the fields of these dataclasses. A new setting is one line here; ``only=`` says which
choices of other settings it serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any

from kappagcn.errors import ConfigError
from kappagcn.objectives import METRICS
from kappagcn.training.setting_field import GIVEN, check_value, flag_of, idle_reason, parsed, purpose, setting
from kappagcn.training.toml_files import read_toml, write_toml

__all__ = [
    "ClassificationSettings",
    "EmbeddingSettings",
    "LinkPredictionSettings",
    "Settings",
    "as_settings",
    "read_toml",
    "write_toml",
]

SPACE = "Space, such as H16, S16, H8xS8, or E16 (flat)"
START = "curvatures start near zero, in units of the rows' length, unless given as in H16(-0.5)."
SEED_LIMIT = 2**32
EPOCHS = "Maximum number of training epochs."
NETWORKS = ("kappa-gcn", "appnp", "gcn", "hgcn", "mlp")
ON_GRAPHS = ("kappa-gcn", "appnp", "gcn", "hgcn")


@dataclass
class Settings:
    """Settings that every task has, and checks of values against their fields."""

    space: str = setting("H16", f"{SPACE}.", kw_only=False)
    epochs: int = setting(2000, EPOCHS, range="[1, inf)")
    random_state: int = setting(0, "Seed of all random numbers.", range=f"[0, {SEED_LIMIT})", flag="seed")
    device: str = setting(
        "cpu",
        "Device for training; auto: cuda if there is one. mps lacks float64. Only cpu was run on hardware.",
        choices=("cpu", "auto", "cuda", "mps"),
    )
    verbose: bool = setting(True, "Whether to show progress on standard error.", shown=False)

    def check(self) -> None:
        """Refuse values that their field does not allow.

        Raises:
            ConfigError: a value is of another type, outside of its range, or none of the allowed words.
        """
        for each in fields(self):
            check_value(each, getattr(self, each.name))

    def check_effects(self) -> None:
        """Refuse values that have no effect, because another setting is as it is.

        >>> ClassificationSettings(model="gcn", alpha=0.5).check_effects()
        Traceback (most recent call last):
        kappagcn.errors.ConfigError: alpha: expected its default 0.1 with model gcn, which does not use it, found 0.5. \
Leave it out, or take it with model appnp.
        """
        for each in fields(self):
            value, reason = getattr(self, each.name), idle_reason(each, self)
            if reason is not None and value != each.default:
                raise ConfigError(
                    f"{each.name}: expected its default {each.default} with {reason}, which does not use it, found "
                    f"{value}. Leave it out, or take it with {purpose(each, type(self))}."
                )

    def changed(self, **changes: Any) -> dict[str, Any]:
        """The settings by name after changes; those that have no effect any more are back at their defaults.

        >>> ClassificationSettings(model="appnp", alpha=0.5).changed(model="gcn")["alpha"]
        0.1
        """
        values = {each.name: getattr(self, each.name) for each in fields(self)} | changes
        after = SimpleNamespace(**values)
        defaults = {each.name: each.default for each in fields(self) if idle_reason(each, after) is not None}
        return values | defaults

    def run_seed(self, number: int) -> int:
        """The seed of a run, from its number; after the largest seed comes 0.

        >>> Settings(random_state=2**32 - 1).run_seed(1000)
        999
        """
        return (self.random_state + number) % SEED_LIMIT


@dataclass
class EmbeddingSettings(Settings):
    """Settings of an embedding.

    >>> EmbeddingSettings("H2", epochs=10).epochs
    10
    """

    space: str = setting("H10", f"{SPACE}; auto tries several of dimension --dim.", kw_only=False)
    dim: int = setting(
        10, "Dimension of the spaces that --space auto tries.", range="[1, inf)", only={"space": ("auto",)}
    )
    method: str = setting(
        "free",
        "What is trained: the points themselves (free), or the paper's network on one-hot features.",
        choices=("free", "kappa-gcn"),
    )
    objective: str = setting(
        "distortion",
        "What is minimised: the paper's distortion, the mean relative error D_avg (relative), the stress of "
        "multidimensional scaling, or a ranking loss by which neighbours become nearest points (neighbours).",
        choices=tuple(METRICS),
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
    )


@dataclass
class NetworkSettings(Settings):
    """Settings that all tasks of a network on features have."""

    num_layers: int = setting(1, "Number of hidden layers.", range="[1, inf)", only={"model": NETWORKS})
    feature_norm: str = setting(
        "auto",
        "Normalise features: rows to sum 1 (rows) or length 1 (lengths), columns to mean 0 and variance 1 "
        "(columns); auto: lengths for words, which are counts that are mostly zero, columns otherwise.",
        choices=("auto", "rows", "lengths", "columns", "none"),
        only={"model": NETWORKS, "inputs": ("auto", "features", "both")},
    )
    edge_weights: str = setting(
        "auto",
        "Edge weights: divided by their median (scaled), as they are (raw), or ignored (none); auto: scaled or none, "
        "whichever predicts stopping nodes (links: validation pairs) better in a trial of 50 epochs.",
        choices=("auto", "scaled", "raw", "none"),
        only={"model": ON_GRAPHS},
    )
    l2: float | str = setting(
        "auto",
        "L² regularisation of the first layer's weights; auto: 5e-4 for sparse counts, otherwise 0.",
        range="[0, inf)",
    )
    lr: float = setting(0.01, "Adam learning rate of the weights.", range="[0, inf)")
    curvature_lr: float = setting(
        0.01,
        "Learning rate of the curvatures, 0 to keep them.",
        range="[0, inf)",
        only={"model": ("kappa-gcn", "appnp", "hgcn", "free")},
    )
    batch_size: int | None = setting(
        None, "Training nodes or edges in a mini-batch; without it each step takes the whole graph.", range="[1, inf)"
    )
    num_neighbors: int | Sequence[int] = setting(
        10,
        "Neighbours sampled for each node, −1 for all; used in mini-batches; or one number for each hop: 10,5.",
        only={"batch_size": GIVEN, "model": ("kappa-gcn", "gcn", "hgcn")},
    )


@dataclass
class ClassificationSettings(NetworkSettings):
    """Settings of a node classification.

    >>> ClassificationSettings("H8", dropout=0.5).dropout
    0.5
    """

    space: str = setting("H16", f"{SPACE}; a flat one gives a GCN; {START}", kw_only=False)
    model: str = setting(
        "kappa-gcn",
        "Network: the κ-GCN; APPNP in the space (appnp); or a baseline that takes the dimension of the space alone.",
        choices=("kappa-gcn", "appnp", "gcn", "hgcn", "mlp"),
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
        "auto", "Dropout of hidden rows; auto: 0.5 for sparse counts, otherwise 0.", range="[0, 1)"
    )
    input_dropout: float = setting(0.0, "Dropout of features.", range="[0, 1)")
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
        only={"model": ("kappa-gcn", "appnp")},
    )
    self_training: int = setting(
        0,
        "Rounds of self-training; in each, training starts again and also learns the classes predicted for nodes that "
        "neither train nor stop, and the best weights on the stopping nodes are kept.",
        range="[0, inf)",
    )


@dataclass
class LinkPredictionSettings(NetworkSettings):
    """Settings of a link prediction.

    >>> LinkPredictionSettings("H8", decoder="dot").decoder
    'dot'
    """

    space: str = setting("H16", f"{SPACE}; curvatures start at ±0.1 by default.", kw_only=False)
    model: str = setting(
        "kappa-gcn",
        "Source of the points: a network, or free points that are trained as they are.",
        choices=("kappa-gcn", "gcn", "hgcn", "mlp", "free"),
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
    epochs: int = setting(500, EPOCHS, range="[1, inf)")
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
    test: float = setting(0.1, "Share of edges for test.", range="[0, 1)")


def as_settings(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Settings of a task from words or numbers by flag, as the command line and TOML files have them.

    >>> as_settings(ClassificationSettings, {"num_neighbors": "10,5", "batch_size": 64}).num_neighbors
    [10, 5]
    """
    by_flag = {flag_of(each): each for each in fields(kind)}
    unknown = [name for name in values if name not in by_flag]
    if unknown:
        raise ConfigError(f"expected {', '.join(by_flag)}, found {unknown[0]!r}.")
    settings = kind(**{by_flag[name].name: parsed(by_flag[name], value) for name, value in values.items()})
    settings.check()
    settings.check_effects()
    return settings
