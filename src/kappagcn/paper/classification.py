"""Networks that classify the nodes of a dataset: experiments, their runs, and the file of settings of Table 2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from torch_geometric.data import Data

from kappagcn.classification.evaluation import final_evaluation, run_record
from kappagcn.classification.fitting import fit
from kappagcn.classification.network import build_network, prepare_features
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import ConfigError
from kappagcn.graphs.datasets.graph_dataset import load_benchmark
from kappagcn.graphs.io.node_data import one_hot
from kappagcn.io_atomic import atomic_write
from kappagcn.models import MODELS
from kappagcn.paper.runs import BaseExperiment, Record, Run
from kappagcn.training.settings import read_toml
from kappagcn.training.trainer import seeded

__all__ = ["Experiment", "Job", "load_settings", "run", "save_settings"]

SETTINGS = Path(str(resources.files("kappagcn.paper"))) / "settings.toml"  # of Table 2 and the rows beside it


@dataclass(frozen=True)
class Experiment(BaseExperiment):
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

    KIND = ClassificationSettings
    REQUIRED = ("model",)
    # The same for all cells, and not in records.
    UNRECORDED = ("edge_weights", "batch_size", "num_neighbors", "random_state", "device", "verbose")
    OLD: ClassVar = {"output": "paper", "self_features": "off", "input_dropout": 0.0, "stop_by": "loss"}

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
        dropout = self.settings.input_dropout
        settings = replace(
            self.settings,
            model=self.model,
            edge_weights="raw",
            input_dropout=0.0 if dropout == "auto" else dropout,  # the paper has none
        )
        object.__setattr__(self, "settings", settings)
        self.settings.check()
        for name, value in asdict(self.settings).items():
            if value == "auto":
                raise ConfigError(f"{name}: expected a value, which a record needs, found 'auto'.")

    @classmethod
    def of(cls, dataset: str, settings: ClassificationSettings) -> Experiment:
        """The experiment with the network that the settings name."""
        return cls(dataset, settings.model, settings)

    def prepare(self, data: Data) -> Data:
        """The graph with its features prepared for the network; without features every node is its own."""
        prepared = data.clone()
        features = one_hot(data.num_nodes) if data.get("x") is None else data.x
        prepared.x = prepare_features(self.settings, features)
        return prepared


@dataclass(frozen=True)
class Job(Run, kind="experiment"):
    """One training run of a table.

    Args:
        experiment: Dataset, network and settings.
        split: Number of the split.
        number: Number of the run on this split; the seed is 1000 · split + number.
        purpose: ``"test"`` for reported numbers, ``"validation"`` for choosing: test nodes are then not used.

    >>> Job(Experiment("disease", "gcn"), split=2, number=1).seed
    2001
    """

    experiment: Experiment
    split: int
    number: int = 0
    purpose: str = "test"

    @property
    def seed(self) -> int:
        """Seed of weights and dropout."""
        return 1000 * self.split + self.number

    @property
    def identity(self) -> Record:
        """The part of the record that identifies the run."""
        numbers = {"purpose": self.purpose, "split": self.split, "run": self.number, "seed": self.seed}
        return {"experiment": self.experiment.record(), **numbers}

    @classmethod
    def from_record(cls, record: Record) -> Job:
        """The run of a record."""
        return cls(Experiment.from_record(record["experiment"]), record["split"], record["run"], record["purpose"])

    def results(self, root: str | Path | None) -> Record:
        """Train and evaluate."""
        settings = self.experiment.settings
        benchmark = load_benchmark(self.experiment.dataset, root)
        split = benchmark.numbered_split(self.split, self.purpose)
        data = self.experiment.prepare(benchmark[0])
        with seeded(self.seed):
            model = build_network(settings, data.num_features, benchmark.num_classes)
        record = run_record(fit(model, data, split, settings.training(random_state=self.seed)))
        if self.purpose == "test":
            record["test"] = final_evaluation(model, data, split)
        return {"split_name": split.name, **record}


def run(job: Run, root: str | Path | None = None) -> Record:
    """Train and evaluate; the record of a run that diverges says so.

    >>> run(Job(Experiment("disease", "gcn").changed(epochs=5), split=0))["epochs"]
    5
    """
    return job.run(root)


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

    def toml(values: Mapping[str, Any]) -> list[str]:
        """Assignments; values are written as in JSON, except for one character that TOML requires to be escaped."""
        plain = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
        return [f"{name} = {text}".replace("\x7f", "\\u007f") for name, text in plain.items()]

    cells = {name: experiment.record() for name, experiment in experiments.items()}
    records = [{key: value for key, value in record.items() if key != "dataset"} for record in cells.values()]
    columns = {key: [record[key] for record in records] for record in records for key in record}
    common = {key: max(values, key=values.count) for key, values in columns.items()}
    lines = ["[common]", *toml(common), "", "[cells]"]
    for name, record in zip(cells, records, strict=True):
        differences = {key: value for key, value in record.items() if value != common[key]}
        lines.append(f'"{name}" = {{{", ".join(toml(differences))}}}')
    try:
        with atomic_write(Path(path)) as file:
            file.write(("\n".join(lines) + "\n").encode())
    except OSError as problem:
        raise ConfigError(f"{path}: cannot be written ({problem.strerror}).") from None
