"""Settings that several tasks share: of every task, of networks on features, and what a `Trainer` reads.

The settings of a task stand in its room: `embedding/settings.py`, `classification/settings.py`, `links/settings.py`.
Options, arguments of the estimators, TOML files, ``--dry-run``, ``config.json`` and the tables in the documentation are
all made from the fields of these dataclasses. A new setting is one line there; ``only=`` says which choices of other
settings it serves.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from kappagcn.errors import ConfigError
from kappagcn.training.setting_field import GIVEN, check_value, flag_of, idle_reason, parsed, purpose, setting

SPACE = "Space, such as H16, S16, H8xS8, or E16 (flat)"
SEED_LIMIT = 2**32
EPOCHS = "Maximum number of training epochs."
NETWORKS = ("kappa-gcn", "appnp", "gcn", "hgcn", "mlp")
ON_GRAPHS = ("kappa-gcn", "appnp", "gcn", "hgcn")


class CheckedSettings:
    """Checks of a settings dataclass against its fields."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def check(self) -> None:
        """Refuse values that their field does not allow.

        Raises:
            ConfigError: a value is of another type, outside of its range, or none of the allowed words.
        """
        for each in fields(self):
            check_value(each, getattr(self, each.name))

    def check_effects(self) -> None:
        """Refuse values that have no effect, because another setting is as it is.

        >>> from kappagcn.classification.settings import ClassificationSettings
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

        >>> from kappagcn.classification.settings import ClassificationSettings
        >>> ClassificationSettings(model="appnp", alpha=0.5).changed(model="gcn")["alpha"]
        0.1
        """
        values = {each.name: getattr(self, each.name) for each in fields(self)} | changes
        after = SimpleNamespace(**values)
        defaults = {each.name: each.default for each in fields(self) if idle_reason(each, after) is not None}
        return values | defaults


@dataclass(frozen=True)
class TrainingSettings(CheckedSettings):
    """Settings that a `Trainer` reads; the defaults are the paper's protocol (appendix).

    They are checked when they are made. `Settings.training` takes them from the settings of a task.

    >>> TrainingSettings(epochs=500, lr=0.02).patience
    200
    """

    epochs: int = setting(2000, EPOCHS, range="[1, inf)")
    patience: int = setting(200, "Epochs without improvement before training stops.", range="[1, inf)")
    stop_by: str = setting(
        "loss",
        "Improvement that counts: a lower loss on the stopping nodes (the paper), or a lower loss or a higher score "
        "(PPNP).",
        choices=("loss", "either"),
    )
    lr: float = setting(0.01, "Adam learning rate of the weights.", range="[0, inf)")
    curvature_lr: float = setting(
        0.01,
        "Learning rate of the curvatures: of gradient descent, or of Adam if they are in units of rows.",
        range="[0, inf)",
    )
    l2: float = setting(
        5e-4, "Factor of half the sum of the squared weights of the first layer, in the loss.", range="[0, inf)"
    )
    decay: str = setting(
        "none",
        "Decay of both rates: none, or to 0 along half a cosine wave over all epochs.",
        choices=("none", "cosine"),
    )
    self_training: int = setting(
        0,
        "Rounds of self-training after the first training, see `SelfTraining`; each has full patience, and all share "
        "the epochs.",
        range="[0, inf)",
    )
    random_state: int = setting(
        0, "Seed of all random numbers in training, except the initial weights (see `seeded`).", range=f"[0, {2**63})"
    )

    def __post_init__(self) -> None:
        self.check()

    def rate(self, epoch: int) -> float:
        """Factor of both learning rates in an epoch, counted from 1.

        >>> [TrainingSettings(epochs=4, decay="cosine").rate(epoch) for epoch in (1, 3)]
        [1.0, 0.5]
        """
        return 1.0 if self.decay == "none" else (1 + math.cos(math.pi * (epoch - 1) / self.epochs)) / 2


@dataclass
class Settings(CheckedSettings):
    """Settings that every task has."""

    space: str = setting("H16", f"{SPACE}.", kw_only=False, common=True)
    epochs: int = setting(2000, EPOCHS, range="[1, inf)", common=True)
    random_state: int = setting(0, "Seed of all random numbers.", range=f"[0, {SEED_LIMIT})", flag="seed", common=True)
    device: str = setting(
        "cpu",
        "Device for training; auto: cuda if there is one. mps lacks float64. Only cpu was run on hardware.",
        choices=("cpu", "auto", "cuda", "mps"),
    )
    verbose: bool = setting(True, "Whether to show progress on standard error.", python_only=True)

    def training(self, **changes: Any) -> TrainingSettings:
        """What a `Trainer` reads of these settings, after changes; none of it may be "auto".

        >>> Settings(epochs=7).training(lr=0.5).epochs
        7
        """
        shared = {each.name: getattr(self, each.name) for each in fields(TrainingSettings) if hasattr(self, each.name)}
        return TrainingSettings(**shared | changes)

    def run_seed(self, number: int) -> int:
        """The seed of a run, from its number; after the largest seed comes 0.

        >>> Settings(random_state=2**32 - 1).run_seed(1000)
        999
        """
        return (self.random_state + number) % SEED_LIMIT


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
        "L² regularisation of the first layer's weights; auto: 5e-4 where hidden rows (links: features) get dropout.",
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


def as_settings(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Settings of a task from words or numbers by flag, as the command line and TOML files have them.

    >>> as_settings(NetworkSettings, {"num_neighbors": "10,5", "batch_size": 64}).num_neighbors
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


def read_toml(path: str | Path) -> dict[str, Any]:
    """The settings in a TOML file."""
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except OSError as problem:
        raise ConfigError(f"{path}: expected a TOML file, found {problem.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path}: expected TOML, found {problem}.") from None
