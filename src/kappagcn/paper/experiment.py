"""An experiment of the paper's tables: a network on a dataset with its settings, without seeds and splits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from kappagcn.classification.network import build_network, prepare_features
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError, KappaGCNError
from kappagcn.graphs.io.node_data import one_hot
from kappagcn.io_atomic import atomic_write
from kappagcn.models import MODELS, NodeClassifier
from kappagcn.training.settings import TrainingSettings, read_toml

__all__ = ["Experiment", "load_settings", "save_settings"]

SETTINGS = Path(str(resources.files("kappagcn.paper"))) / "settings.toml"  # of Table 2 and the rows beside it
PROTOCOL = (
    "edge_weights",
    "batch_size",
    "num_neighbors",
    "random_state",
    "device",
    "verbose",
)  # settings that are the same for all cells and not in records

# Values of settings that are missing in a record or file of version 0.1, which did not have them.
OLD: dict[str, Any] = {"output": "paper", "self_features": "off", "input_dropout": 0.0, "stop_by": "loss"}


@dataclass(frozen=True)
class Experiment:
    """A network on a dataset.

    Args:
        dataset: A built-in name.
        model: ``"kappa-gcn"``, ``"appnp"``, ``"gcn"``, ``"hgcn"`` or ``"mlp"``; the last three take the dimension of
            the space, ``"hgcn"`` also its curvature.
        settings: All other settings, none of them "auto"; their `model` is replaced by that above, and
            weights of edges are taken as they are.

    >>> settings = ClassificationSettings("H8", feature_norm="rows", dropout=0.0, l2=0.0, self_features="off")
    >>> Experiment("disease", "kappa-gcn", settings).record()["space"]
    'H8'
    """

    dataset: str
    model: str
    settings: ClassificationSettings = field(
        default_factory=lambda: ClassificationSettings(
            "E16", feature_norm="rows", dropout=0.0, l2=5e-4, self_features="off"
        )
    )

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ConfigError(f"model: expected {', '.join(MODELS)}, found {self.model!r}.")
        object.__setattr__(self, "settings", replace(self.settings, model=self.model, edge_weights="raw"))
        self.settings.check()
        for name, value in asdict(self.settings).items():
            if value == "auto":
                raise ConfigError(f"{name}: expected a value, which a record needs, found 'auto'.")

    def prepare(self, data: Data) -> Data:
        """The graph with its features prepared for the network; without features every node is its own."""
        prepared = data.clone()
        features = one_hot(data.num_nodes) if data.get("x") is None else data.x
        prepared.x = prepare_features(self.settings, features)
        return prepared

    def build(self, in_channels: int, num_classes: int) -> NodeClassifier:
        """The network with new weights."""
        return build_network(self.settings, in_channels, num_classes)

    def training(self, seed: int) -> TrainingSettings:
        """Training configuration of the network."""
        return self.settings.training(random_state=seed)

    def shortened(self) -> Experiment:
        """The experiment with a tenth of the epochs, for a quick test."""
        return replace(self, settings=replace(self.settings, epochs=self.settings.epochs // 10))

    def record(self) -> dict[str, Any]:
        """The experiment as plain numbers and words, which `from_record` reads."""
        settings = {name: value for name, value in asdict(self.settings).items() if name not in PROTOCOL}
        return {"dataset": self.dataset, **settings}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], where: str = "experiment") -> Experiment:
        """An experiment from plain numbers and words, as a TOML file or a run's record has them."""
        known = [each.name for each in fields(ClassificationSettings) if each.name not in PROTOCOL]
        values = {**OLD, **{name: value for name, value in record.items() if name not in ("dataset", "model")}}
        unknown = set(values) - set(known)
        if unknown:
            raise ConfigError(f"{where}: expected dataset, model, {', '.join(known)}, found {min(unknown)!r}.")
        if not {"dataset", "model"} <= set(record):
            raise ConfigError(f"{where}: expected a dataset and a model, found {', '.join(record) or 'nothing'}.")
        try:
            return cls(str(record["dataset"]), str(record["model"]), ClassificationSettings(**values))
        except KappaGCNError as problem:
            raise ConfigError(f"{where}: {problem}") from None


def load_settings(path: str | Path = SETTINGS) -> dict[str, Experiment]:
    """The experiment of each cell, from a TOML file; values that most cells share stand in its table ``common``.

    >>> load_settings()["cora_ml/S16"].settings.space[:3]
    'S16'
    """
    table = read_toml(path)
    if set(table) - {"common", "cells"}:
        raise ConfigError(f"{path}: expected tables common and cells, found {min(set(table) - {'common', 'cells'})!r}.")
    experiments = {}
    for name, values in table.get("cells", {}).items():
        if not isinstance(values, dict):
            raise ConfigError(f"{path}, {name}: expected settings, found {values!r}.")
        record = {"dataset": name.split("/")[0], **table.get("common", {}), **values}
        experiments[name] = Experiment.from_record(record, f"{path}, {name}")
    return experiments


def save_settings(experiments: Mapping[str, Experiment], path: str | Path) -> None:
    """Write the TOML file that `load_settings` reads: a line for each cell, with the values that not most cells have.

    Args:
        experiments: The experiment of each cell, by its name: dataset and row.
        path: The file.

    >>> from tempfile import TemporaryDirectory
    >>> mine = {"disease/gcn": Experiment("disease", "gcn")}
    >>> with TemporaryDirectory() as folder:
    ...     save_settings(mine, Path(folder) / "mine.toml")
    ...     load_settings(Path(folder) / "mine.toml") == mine
    True
    """
    records = {name: e.record() for name, e in experiments.items()}
    common: dict[str, Any] = {}
    for name in dict.fromkeys(key for record in records.values() for key in record if key != "dataset"):
        values = [record[name] for record in records.values()]
        common[name] = max(values, key=values.count)
    lines = ["[common]", *(f"{name} = {_toml(value)}" for name, value in common.items()), "", "[cells]"]
    for name, record in records.items():
        differences = {key: value for key, value in record.items() if key != "dataset" and value != common[key]}
        inline = ", ".join(f"{key} = {_toml(value)}" for key, value in differences.items())
        lines.append(f'"{name}" = {{{inline}}}')
    try:
        with atomic_write(Path(path)) as file:
            file.write(("\n".join(lines) + "\n").encode())
    except OSError as problem:
        raise ConfigError(f"{path}: cannot be written ({problem.strerror}).") from None


def _toml(value: str | float) -> str:
    """A TOML value: as in JSON, except for one character that TOML requires to be escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
