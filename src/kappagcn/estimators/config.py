"""An experiment as a file says it: dataset, features, network, training. Seeds and splits are the protocol's."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from kappagcn.errors import ConfigError, KappaGCNError
from kappagcn.geometry.signature import parse_signature
from kappagcn.graphs import normalize_rows, standardize_columns
from kappagcn.io_atomic import replacing
from kappagcn.models import MODELS, NodeClassifier, build_model
from kappagcn.nn.features import point_features, tangent_features
from kappagcn.training import TrainingConfig

__all__ = ["Experiment", "FeatureConfig", "load_experiment", "read_toml", "save_experiment"]

NORMALIZE = ("none", "rows", "lengths", "columns")
ENTER = ("points", "tangent")


@dataclass(frozen=True)
class FeatureConfig:
    """What happens to features before training, once.

    Args:
        normalize: ``"rows"`` divides each row by its L¹ norm, ``"lengths"`` by its length; ``"columns"`` standardises
            each real-valued column.
        enter: ``"points"`` scales rows as the paper does and reads them as points; ``"tangent"`` reads them as tangent
            vectors.
        scale: Tangent vectors are multiplied by it.

    >>> FeatureConfig("columns", "tangent", scale=0.5)
    FeatureConfig(normalize='columns', enter='tangent', scale=0.5)
    """

    normalize: str = "rows"
    enter: str = "points"
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name, allowed in (("normalize", NORMALIZE), ("enter", ENTER)):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"features.{name}: expected {', '.join(allowed)}, found {getattr(self, name)!r}.")
        if isinstance(self.scale, bool) or not isinstance(self.scale, int | float) or not 0 < self.scale < math.inf:
            raise ConfigError(f"features.scale: expected a number above 0, found {self.scale!r}.")

    def normalized(self, x: Tensor, statistics: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """Features with rows or columns made comparable; columns by `statistics`, where others than their own count."""
        if self.normalize in ("rows", "lengths"):
            return normalize_rows(x, order=1 if self.normalize == "rows" else 2)
        return standardize_columns(x, statistics) if self.normalize == "columns" else x


@dataclass(frozen=True)
class Experiment:
    """A network on a dataset.

    Args:
        dataset: A built-in name.
        model: ``"kappa-gcn"``, ``"gcn"``, ``"hgcn"`` or ``"mlp"``.
        options: Arguments of the network but for the numbers of features and classes.
        features: How features enter.
        training: How it is trained; its seed is the protocol's.

    >>> Experiment("disease", "kappa-gcn", {"space": "H8"}).space
    'H8'
    """

    dataset: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ConfigError(f"model: expected {', '.join(MODELS)}, found {self.model!r}.")
        if not isinstance(self.options, Mapping):
            raise ConfigError(f"options: expected a table of settings, found {self.options!r}.")

    @property
    def space(self) -> str:
        """The signature of the hidden layer."""
        if self.model == "kappa-gcn":
            return str(self.options.get("space", "H16"))
        return f"{'H' if self.model == 'hgcn' else 'E'}{self.options.get('hidden', 16)}"

    def kappas(self) -> list[float]:
        """Curvatures at the start of the hidden layer's factors."""
        if self.model == "hgcn":
            return [float(self.options.get("curvature", -1.0))]
        return [factor.kappa for factor in parse_signature(self.space)]

    def prepare(self, data: Data) -> Data:
        """The graph with its features as the network takes them."""
        prepared = data.clone()
        prepared.x = self.features.normalized(prepared.x)
        if self.features.enter == "points":
            split = bool(self.options.get("split_input", False))
            prepared.x = point_features(prepared.x, self.kappas(), split=split)
        prepared.x = tangent_features(prepared.x, scale=self.features.scale)
        return prepared

    def build(self, in_channels: int, num_classes: int) -> NodeClassifier:
        """The network with fresh weights."""
        try:
            return build_model(self.model, in_channels=in_channels, num_classes=num_classes, **self.options)
        except TypeError as problem:
            raise ConfigError(f"options: expected arguments of {self.model}, found {problem}.") from None

    def seeded(self, seed: int) -> TrainingConfig:
        """The training settings with a seed."""
        return replace(self.training, seed=seed)

    def record(self) -> dict[str, Any]:
        """Everything as plain numbers and words; `from_record` is the way back."""
        training = {name: value for name, value in asdict(self.training).items() if name != "seed"}
        return {
            "dataset": self.dataset,
            "model": self.model,
            "options": dict(self.options),
            "features": asdict(self.features),
            "training": training,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], where: str = "experiment") -> Experiment:
        """An experiment from plain numbers and words, as a TOML file or a run's record has them."""
        unknown = set(record) - {each.name for each in fields(cls)}
        if unknown:
            raise ConfigError(f"{where}: expected dataset, model, options, features, training, found {min(unknown)!r}.")
        if not {"dataset", "model"} <= set(record):
            raise ConfigError(f"{where}: expected a dataset and a model, found {', '.join(record) or 'nothing'}.")
        try:
            return cls(
                str(record["dataset"]),
                str(record["model"]),
                record.get("options", {}),
                _part(FeatureConfig, record.get("features", {}), "features"),
                _part(TrainingConfig, record.get("training", {}), "training"),
            )
        except KappaGCNError as problem:
            raise ConfigError(f"{where}: {problem}") from None


def _part(kind: Any, values: Any, name: str) -> Any:
    if not isinstance(values, Mapping):
        raise ConfigError(f"{name}: expected a table of settings, found {values!r}.")
    known = [each.name for each in fields(kind) if each.name != "seed"]  # seeds are the protocol's
    unknown = set(values) - set(known)
    if unknown:
        raise ConfigError(f"{name}: expected {', '.join(known)}, found {min(unknown)!r}.")
    return kind(**values)


def read_toml(path: str | Path) -> dict[str, Any]:
    """The settings in a TOML file."""
    try:
        with Path(path).open("rb") as file:
            found: dict[str, Any] = tomllib.load(file)
            return found
    except OSError as problem:
        raise ConfigError(f"{path}: expected a TOML file, found {problem.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path}: expected TOML, found {problem}.") from None


def load_experiment(path: str | Path) -> Experiment:
    """An experiment from a TOML file.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.estimators import default_experiment
    >>> mine = default_experiment("disease", "H8", words=False)
    >>> with TemporaryDirectory() as folder:
    ...     save_experiment(mine, Path(folder) / "mine.toml")
    ...     load_experiment(Path(folder) / "mine.toml") == mine
    True
    """
    return Experiment.from_record(read_toml(path), str(path))


def _toml(value: Any) -> str:
    """Words, numbers and lists: JSON's way of writing them, but for one sign that TOML wants escaped."""
    values = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(each, str) or (isinstance(each, int | float) and math.isfinite(each)) for each in values):
        raise ConfigError(f"expected settings that are words, finite numbers or lists of them, found {value!r}.")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def save_experiment(experiment: Experiment, path: str | Path) -> None:
    """Write the TOML file that `load_experiment` reads.

    >>> from tempfile import TemporaryDirectory
    >>> from kappagcn.estimators import default_experiment
    >>> mine = default_experiment("disease", "H8", words=False)
    >>> with TemporaryDirectory() as folder:
    ...     save_experiment(mine, Path(folder) / "mine.toml")
    ...     (Path(folder) / "mine.toml").read_text().splitlines()[0]
    'dataset = "disease"'
    """
    record = experiment.record()
    lines = [f"{name} = {_toml(record.pop(name))}" for name in ("dataset", "model")]
    for name, table in record.items():
        lines += ["", f"[{name}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in table.items())]
    try:
        with replacing(Path(path)) as file:
            file.write(("\n".join(lines) + "\n").encode())
    except OSError as problem:
        raise ConfigError(f"{path}: cannot be written ({problem.strerror}).") from None
