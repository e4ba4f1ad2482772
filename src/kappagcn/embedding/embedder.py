"""GraphEmbedder: points whose distances follow those of a graph, in one line, in scikit-learn's manner."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from kappagcn.atomic import replacing
from kappagcn.embedding.distortion import Distortion, GraphDistances, distances_from, measure
from kappagcn.embedding.points import FreePoints, NetworkPoints
from kappagcn.embedding.precision import mean_average_precision
from kappagcn.embedding.start import STARTS, starting_point
from kappagcn.embedding.task import Embedding, SampledEmbedding
from kappagcn.errors import CheckpointError, GraphError, TrainingError
from kappagcn.geometry import Curvature
from kappagcn.geometry.signature import Factor, format_signature, parse_signature
from kappagcn.graphs import as_graph
from kappagcn.training import Trainer, TrainingConfig, TrainingResult, reporting, seeded, train_in
from kappagcn.training.estimator import Estimator
from kappagcn.training.run import fingerprint

__all__ = ["METHODS", "GraphEmbedder"]

Array = NDArray[Any]
METHODS = ("free", "kappa-gcn")
ALL_PAIRS = 5000  # nodes up to which every step takes all pairs
SOURCES = 64
WATCHED = 16  # sources whose distortion decides which epoch's points are kept
MEASURED = 256  # other sources for the final estimate, and nodes for the precision of a large graph


class GraphEmbedder(Estimator):
    """Points of a space, one for each node, whose distances are those of the graph as nearly as possible.

    A graph is PyG's ``Data``, a SciPy or NumPy adjacency matrix, or a NetworkX graph. Directed edges count in both
    directions; weights are lengths. Pairs of nodes without a path do not count.

    Args:
        space: Signature, such as ``"H10"``, ``"S5xS5"``, ``"E10"``.
        method: ``"free"`` trains the points themselves; ``"kappa-gcn"`` the paper's two layers on one-hot features.
        start: ``"graph"``: curvatures and scale from the graph's diameter and δ, where the signature does not say any;
            ``"paper"``: κ = ±1.
        hidden: Dimension of the κ-GCN's hidden layer.
        activation: Between the κ-GCN's layers; ``"none"`` in the paper.
        epochs: So many.
        lr: Of points or weights, by Adam. ``"auto"``: 0.01 for weights, a hundredth of the diameter for points.
            It falls to 0 by the last epoch but for a κ-GCN on all pairs, where it stays, as in the paper.
        curvature_lr: Of the curvatures, by gradient descent; 0 keeps them. ``"auto"``: (π/diameter)⁴, curvatures
            being of the size (π/diameter)².
        sources: Nodes whose distances each step takes; 0 for all pairs, ``"auto"``: all up to 5000 nodes, else 64.
        seed: Of starting points and draws.
        progress: Show epochs on standard error.

    Attributes:
        embedding_: Points, (N, D).
        tangent_: Their tangent vectors at the origin, (N, D), which tell points near the ball's boundary apart.
        space_: The space with its learned curvatures, as a signature.
        curvatures_: Learned, one per factor.
        distortion_: Average and worst-case distortion; for sampled pairs an estimate from sources that nothing was
            trained or chosen on, with its standard error.
        precision_: Mean average precision, of 256 nodes where pairs are sampled.
        history_: Numbers of each epoch.

    >>> from kappagcn.graphs import balanced_tree
    >>> embedder = GraphEmbedder("H2", epochs=500, lr=0.02)
    >>> embedder.fit_transform(balanced_tree(4, 2)).shape
    (31, 2)
    >>> embedder.distortion_.average < 0.05
    True
    """

    def __init__(
        self,
        space: str = "H10",
        *,
        method: str = "free",
        start: str = "graph",
        hidden: int = 16,
        activation: str = "none",
        epochs: int = 2000,
        lr: float | str = "auto",
        curvature_lr: float | str = "auto",
        sources: int | str = "auto",
        seed: int = 0,
        progress: bool = True,
    ) -> None:
        self.space, self.method, self.start = space, method, start
        self.hidden, self.activation = hidden, activation
        self.epochs, self.lr, self.curvature_lr = epochs, lr, curvature_lr
        self.sources, self.seed, self.progress = sources, seed, progress

    def fit(self, graph: Any, *, folder: str | Path | None = None, resume: bool = False) -> GraphEmbedder:
        """Embed a graph.

        Args:
            graph: The graph.
            folder: Where to keep the run; None to keep nothing.
            resume: Go on with the run in `folder`, if there is one, to the same numbers as without the interruption.
        """
        data = as_graph(graph)
        self._check()
        sources = self._sources(data.num_nodes)
        with seeded(self.seed):
            drawn = torch.randperm(data.num_nodes)[: WATCHED + MEASURED] if sources else None
        distances = GraphDistances.of(data, None if drawn is None else drawn[WATCHED:])
        space, diameter = starting_point(self.space, data, self.start, distances.longest)
        config = self._config(diameter, sampled=sources > 0)
        with seeded(self.seed):
            points = self._points(data, space, diameter)
        task: Embedding | SampledEmbedding = Embedding(points, distances)
        if drawn is not None:
            task = SampledEmbedding(points, data, sources, GraphDistances.of(data, drawn[:WATCHED]))
        trainer = Trainer(points, task, config)
        about = {
            "model": "embedding",
            "options": {**self._settings(), "start_space": space, "sources": sources},
            "training": asdict(config),
            "data": fingerprint(data.edge_index, data.get("edge_weight")),
        }
        with reporting("embedding", self.epochs) as report:
            result = train_in(trainer, folder, about, resume=resume, callbacks=[report] if self.progress else [])
        self._keep(points, data, distances, result, None if drawn is None else drawn[WATCHED:])
        if folder is not None:
            self._write(Path(folder), data)
        return self

    def fit_transform(self, graph: Any, *, folder: str | Path | None = None, resume: bool = False) -> Array:
        """Embed a graph; its points, (N, D)."""
        found: Array = self.fit(graph, folder=folder, resume=resume).embedding_
        return found

    def _check(self) -> None:
        for name, allowed in (("method", METHODS), ("start", STARTS)):
            if getattr(self, name) not in allowed:
                raise TrainingError(f"{name}: expected {' or '.join(allowed)}, found {getattr(self, name)!r}.")
        parse_signature(self.space)

    def _config(self, diameter: float, *, sampled: bool) -> TrainingConfig:
        usual = {
            "lr": 0.01 if self.method == "kappa-gcn" else 0.01 * diameter,
            "curvature_lr": (math.pi / diameter) ** 4,
        }
        rates: dict[str, Any] = {
            name: value if getattr(self, name) == "auto" else getattr(self, name) for name, value in usual.items()
        }
        decay = "cosine" if sampled or self.method == "free" else "none"
        return TrainingConfig(epochs=self.epochs, patience=self.epochs, **rates, l2=0.0, decay=decay, seed=self.seed)

    def _settings(self) -> dict[str, Any]:
        names = ("space", "method", "start", "hidden", "activation", "seed")
        return {name: getattr(self, name) for name in names}

    def _sources(self, nodes: int) -> int:
        """How many each step takes; 0 for all pairs."""
        if nodes < 1:
            raise GraphError("expected a graph with nodes, found none.")
        if self.sources == "auto":
            return 0 if nodes <= ALL_PAIRS else SOURCES
        if isinstance(self.sources, bool) or not isinstance(self.sources, int) or not self.sources >= 0:
            raise TrainingError(f'sources: expected "auto" or a number from 0, found {self.sources!r}.')
        return 0 if self.sources >= nodes or nodes <= 2 * WATCHED else self.sources

    def _points(self, data: Data, space: str, diameter: float) -> FreePoints | NetworkPoints:
        if self.method == "free":
            return FreePoints(data.num_nodes, space)
        points = NetworkPoints(data, space, hidden=self.hidden, activation=self.activation)
        if self.start == "graph":
            points.rescale(diameter)
        return points

    @torch.no_grad()
    def _keep(
        self,
        points: FreePoints | NetworkPoints,
        data: Data,
        distances: GraphDistances,
        result: TrainingResult,
        nodes: torch.Tensor | None,
    ) -> None:
        self.manifold_, self._v = points.manifold, points().detach()
        self.tangent_, self.embedding_ = self._v.numpy(), self.manifold_.expmap0(self._v).numpy()
        self.distortion_ = measure(self._v, self.manifold_, distances)
        self.precision_ = mean_average_precision(self._v, self.manifold_, data, nodes)
        self.result_, self.history_ = result, result.history
        if self.distortion_.left_out:
            warnings.warn(
                f"{self.distortion_.left_out} of {distances.pairs + self.distortion_.left_out} pairs of nodes have no "
                "path between them and did not count: how far apart components lie means nothing.",
                stacklevel=4,
            )

    def _fitted(self) -> None:
        if not hasattr(self, "manifold_"):
            raise TrainingError("expected an embedder that was fitted, found a new one. Call fit first.")

    @property
    def curvatures_(self) -> list[float]:
        """Learned, one per factor."""
        self._fitted()
        return [c.value for c in self.manifold_.modules() if isinstance(c, Curvature)]

    @property
    def space_(self) -> str:
        """The space with its learned curvatures; a factor whose curvature changed its sign is written U."""
        told = parse_signature(self.space)
        crossed = [f.letter in "HS" and kappa * f.kappa <= 0 for f, kappa in zip(told, self.curvatures_, strict=True)]
        return format_signature(
            [
                Factor("U" if over else f.letter, f.dim, kappa)
                for f, kappa, over in zip(told, self.curvatures_, crossed, strict=True)
            ]
        )

    def distances(self, nodes: Sequence[int] | None = None) -> Array:
        """Distances in the space of some nodes, or all, from all: (S, N)."""
        self._fitted()
        chosen = range(len(self._v)) if nodes is None else nodes
        found: Array = distances_from(self._v, self.manifold_, torch.as_tensor(chosen)).numpy()
        return found

    def summary(self) -> dict[str, Any]:
        """What it came to, as plain numbers and words."""
        self._fitted()
        found: Distortion = self.distortion_
        own = self.result_.epochs - self.result_.resumed_after  # a run that was interrupted is timed by its last part
        return {
            "space": self.space,
            "learned_space": self.space_,
            "curvatures": self.curvatures_,
            **found._asdict(),
            "precision": self.precision_,
            "epochs": self.result_.epochs,
            "best_epoch": self.result_.best_epoch,
            "seconds": round(self.result_.seconds * self.result_.epochs / max(own, 1), 2),
        }

    def _write(self, folder: Path, data: Data) -> None:
        """The points and what they came to, beside the run's other files."""
        arrays: dict[str, Array] = {
            "points": self.embedding_,
            "tangent": self.tangent_,
            "dims": np.array(self.manifold_.dims),
            "curvatures": np.array(self.curvatures_),
        }
        names = data.get("node_names")
        if names is not None:
            arrays["names"] = np.array([str(name) for name in names])
        plain = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in self.summary().items()}
        try:
            with replacing(folder / "embedding.npz") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)
            with replacing(folder / "summary.json") as file:
                file.write((json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode())
        except OSError as problem:
            raise CheckpointError(f"{folder}: cannot be written ({problem.strerror}).") from None
