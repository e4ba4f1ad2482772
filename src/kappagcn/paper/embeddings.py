"""An embedding of a graph as a run with a record; an interrupted one continues from its last checkpoint."""

from __future__ import annotations

import hashlib
import shutil
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.errors import ConfigError, DivergedError, EmbeddingFailedError
from kappagcn.graphs import load_graph
from kappagcn.paper.machine import made_by, peak_memory
from kappagcn.paper.runs import Record, canonical, one_thread
from kappagcn.training.run import curvature_path, thinned

__all__ = ["EmbeddingExperiment", "EmbeddingJob"]

# Arguments that change no point of an embedding: the seed stands beside them, intervals are computed afterwards.
NOT_SETTINGS = ("random_state", "device", "verbose", "intervals")


@dataclass(frozen=True)
class EmbeddingExperiment:
    """A graph and the arguments of `GraphEmbedder`, except the seed.

    >>> EmbeddingExperiment("tree", {"space": "H10"}).embedder(seed=0)
    GraphEmbedder(verbose=False)
    """

    graph: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def embedder(self, seed: int) -> GraphEmbedder:
        """The embedder with these arguments."""
        try:
            return GraphEmbedder(**self.options, random_state=seed, verbose=False)
        except TypeError as problem:
            raise ConfigError(f"expected arguments of GraphEmbedder, found {problem}.") from None

    def record(self) -> Record:
        """All settings, including the defaults."""
        params = self.embedder(seed=0).get_params()
        return {
            "graph": self.graph,
            **{name: value for name, value in params.items() if name not in NOT_SETTINGS},
        }

    def shortened(self) -> EmbeddingExperiment:
        """The experiment with a hundredth of the epochs, for a quick test."""
        return EmbeddingExperiment(self.graph, {**self.options, "epochs": max(1, self.options["epochs"] // 100)})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> EmbeddingExperiment:
        """The experiment of a record."""
        options = {name: value for name, value in record.items() if name not in ("graph", *NOT_SETTINGS)}
        return cls(str(record["graph"]), options)


@dataclass(frozen=True)
class EmbeddingJob:
    """One embedding to compute.

    Args:
        experiment: Graph and settings.
        seed: Seed of the initial points.
        scratch: Folder for the checkpoints of unfinished runs; None for no checkpoints.
    """

    experiment: EmbeddingExperiment
    seed: int = 0
    scratch: Path | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """Key that identifies the run."""
        return canonical([self.experiment.record(), self.seed])

    @property
    def folder(self) -> Path | None:
        """Folder for the checkpoint of this run."""
        name = hashlib.sha256(self.key.encode()).hexdigest()[:16]
        return None if self.scratch is None else self.scratch / name

    def tidy(self) -> None:
        """Remove the checkpoint of a finished run."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @classmethod
    def from_record(cls, record: Record) -> EmbeddingJob:
        """The run of a record."""
        return cls(EmbeddingExperiment.from_record(record["embedding"]), record["seed"])

    def run(self, root: str | Path | None = None) -> Record:
        """Embed the graph, and return the record.

        >>> job = EmbeddingJob(EmbeddingExperiment("karate", {"space": "H2", "epochs": 5}))
        >>> job.run()["epochs"]
        5
        """
        record: Record = {
            "embedding": self.experiment.record(),
            "seed": self.seed,
            **made_by(),
        }
        embedder, start = self.experiment.embedder(self.seed), time.perf_counter()
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the record has the number of pairs without a path
            try:
                embedder.fit(load_graph(self.experiment.graph, root=root), folder=self.folder, resume=bool(self.folder))
            except (DivergedError, EmbeddingFailedError) as problem:
                return record | {"failed": str(problem)}
        summary, history = embedder.summary(), embedder.history_
        return record | {
            **{name: value for name, value in summary.items() if name != "space"},
            "seconds_in_all": round(time.perf_counter() - start, 2),
            "memory_gib": peak_memory(),
            "curvature_path": curvature_path(history),
            "distortion_path": [[each["epoch"], each["distortion"]] for each in thinned(history)],
        }
