"""GraphEmbedder: points whose distances follow those of a graph, in one line, in scikit-learn's manner."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.errors import GraphError, TrainingError
from kappagcn.estimators.base import Estimator
from kappagcn.estimators.start import STARTS, in_units, scaled, starting_point
from kappagcn.geometry import Curvature
from kappagcn.geometry.signature import learned_signature, parse_signature
from kappagcn.graphs import as_graph, components
from kappagcn.models.points import FreePoints, NetworkPoints
from kappagcn.saved import Embedded, save_embedded, save_json
from kappagcn.training import PartTrainer, Trainer, TrainingConfig, reporting, seeded, train_in
from kappagcn.training.distortion_loss import Distortion, GraphDistances, distances_from, measure
from kappagcn.training.distortion_task import DistortionTask, SampledDistortionTask, SharedDistortionTask
from kappagcn.training.precision import mean_average_precision
from kappagcn.training.run import fingerprint

__all__ = ["METHODS", "GraphEmbedder"]

Array = NDArray[Any]
METHODS = ("free", "kappa-gcn")
ALL_PAIRS = 5000  # nodes up to which every step takes all pairs
SOURCES = 64
WATCHED = 16  # sources whose distortion decides which epoch's points are kept
RATIOS, BINS = 2.0, 50  # of the histogram of d/d_G
BLOCK = 256  # sources whose distances are held at once
MEASURED = 256  # other sources for the final estimate, and nodes for the precision of a large graph
OTHER = 0x9E3779B97F4A7C15  # turns a seed into one that draws other nodes than training does


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
        distortion_: Average and worst-case distortion; for sampled pairs an estimate from sources that were drawn for
            it alone, with its standard error.
        precision_: Mean average precision, of 256 nodes where pairs are sampled.
        history_: Numbers of each epoch; curvatures in units of the mean edge.

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

    def fit(
        self,
        graph: Any,
        y: Any = None,
        *,
        folder: str | Path | None = None,
        resume: bool = False,
        group: ProcessGroup | Communicator | None = None,
    ) -> GraphEmbedder:
        """Embed a graph.

        Args:
            graph: The graph.
            y: Not looked at; scikit-learn passes it.
            folder: Where to keep the run; None to keep nothing.
            resume: Go on with the run in `folder`, if there is one, to the same numbers as without the interruption.
            group: Process group of torch.distributed to share sampled pairs with; all its processes call `fit` with the
                same arguments, and rank 0 alone writes. None to work in this process alone.
        """
        self.check()
        communicator = Communicator.of(group)
        data, unit = in_units(as_graph(graph))
        sources = self._sources(data.num_nodes)
        drawn = held_out(data.num_nodes, self.seed) if sources else None
        distances = GraphDistances.of(data, None if drawn is None else drawn[WATCHED:])
        space, diameter = starting_point(scaled(self.space, unit), data, self.start, distances.longest)
        config = self._config(diameter, sampled=sources > 0)
        with seeded(self.seed):
            points = self._points(data, space, diameter)
        task: DistortionTask | SampledDistortionTask = DistortionTask(points, distances)
        shared = communicator.world_size > 1
        if drawn is not None and shared:
            task = SharedDistortionTask(points, data, sources, drawn[:WATCHED], communicator, self.seed)
        elif drawn is not None:
            task = SampledDistortionTask(points, data, sources, GraphDistances.of(data, drawn[:WATCHED]))
        elif shared:
            raise TrainingError(
                "sources: expected sampled pairs for several processes, found all pairs. Name a number of sources."
            )
        about = {
            "model": "embedding",
            "options": {**self._settings(), "start_space": space, "sources": sources},
            "training": asdict(config),
            "nodes": data.num_nodes,
            "data": fingerprint(data.edge_index, data.get("edge_weight")),
        }
        first = communicator.rank == 0
        with reporting("embedding", self.epochs) if self.progress and first else nullcontext() as report:
            options: dict[str, Any] = {"resume": resume, "callbacks": [] if report is None else [report]}
            trainer = (PartTrainer if shared else Trainer)(points, task, config, communicator=communicator)
            result = train_in(trainer, folder, about, **options)
        counted = ratios(points, distances) if folder is not None and first else None
        self._keep(points, data, distances, unit, None if drawn is None else drawn[WATCHED:])
        self.result_, self.history_ = result, result.history
        if folder is not None and counted is not None:
            self._write(Path(folder), data, unit, counted)
        return self

    def fit_transform(
        self, graph: Any, y: Any = None, *, folder: str | Path | None = None, resume: bool = False
    ) -> Array:
        """Embed a graph; its points, (N, D)."""
        found: Array = self.fit(graph, y, folder=folder, resume=resume).embedding_
        return found

    def check(self) -> None:
        """Refuse arguments that no graph could be embedded with."""
        for name, allowed in (("method", METHODS), ("start", STARTS)):
            if getattr(self, name) not in allowed:
                raise TrainingError(f"{name}: expected {' or '.join(allowed)}, found {getattr(self, name)!r}.")
        parse_signature(self.space)
        TrainingConfig(epochs=self.epochs, seed=self.seed)
        if isinstance(self.hidden, bool) or not isinstance(self.hidden, Integral) or self.hidden < 1:
            raise TrainingError(f"hidden: expected a number from 1, found {self.hidden!r}.")
        for name in ("lr", "curvature_lr"):
            value = getattr(self, name)
            if value != "auto":
                TrainingConfig(**{name: value})
        whole = isinstance(self.sources, Integral) and not isinstance(self.sources, bool)
        if self.sources != "auto" and not (whole and int(self.sources) >= 0):
            raise TrainingError(f'sources: expected "auto" or a number from 0, found {self.sources!r}.')

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
        return 0 if int(self.sources) >= nodes or nodes <= 2 * WATCHED else int(self.sources)

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
        unit: float,
        nodes: torch.Tensor | None,
    ) -> None:
        self.manifold_, self._v, self._told = points.manifold, points().detach(), parse_signature(self.space)
        together = int((np.bincount(components(data)) ** 2).sum())
        left_out = data.num_nodes**2 - together
        self.distortion_ = measure(self._v, self.manifold_, distances)._replace(left_out=left_out)
        self.precision_ = mean_average_precision(self._v, self.manifold_, data, nodes)
        if unit != 1:
            self._v = unit * self._v
            for curvature in self._curvatures():
                curvature.raw.div_(unit**2)
        self.tangent_, self.embedding_ = self._v.numpy(), self.manifold_.expmap0(self._v).numpy()
        if left_out:
            warnings.warn(
                f"{left_out} of {data.num_nodes * (data.num_nodes - 1)} pairs of nodes have no path between them and "
                "did not count: how far apart components lie means nothing.",
                stacklevel=4,
            )

    def _fitted(self) -> None:
        if not hasattr(self, "manifold_"):
            raise TrainingError("expected an embedder that was fitted, found a new one. Call fit first.")

    @property
    def curvatures_(self) -> list[float]:
        """Learned, one per factor."""
        self._fitted()
        return [curvature.value for curvature in self._curvatures()]

    def _curvatures(self) -> list[Curvature]:
        return [module for module in self.manifold_.modules() if isinstance(module, Curvature)]

    @property
    def space_(self) -> str:
        """The space with its learned curvatures; a factor whose curvature changed its sign is written U."""
        return learned_signature(self._told, self.curvatures_)

    def distances(self, nodes: Sequence[int] | None = None) -> Array:
        """Distances in the space of some nodes, or all, from all: (S, N)."""
        self._fitted()
        chosen = range(len(self._v)) if nodes is None else nodes
        found: Array = distances_from(self._v, self.manifold_, torch.as_tensor(chosen)).numpy()
        return found

    def summary(self) -> dict[str, Any]:
        """What it came to, as plain numbers and words; None for what is not finite, or was not timed."""
        self._fitted()
        found: Distortion = self.distortion_
        own = self.result_.epochs - self.result_.resumed_after  # a run that was interrupted is timed by its last part
        seconds = round(self.result_.seconds * self.result_.epochs / own, 2) if own else None
        told = {
            "space": self.space,
            "learned_space": self.space_,
            "curvatures": self.curvatures_,
            **found._asdict(),
            "precision": self.precision_,
            "epochs": self.result_.epochs,
            "best_epoch": self.result_.best_epoch,
            "seconds": seconds,
        }
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in told.items()}

    def _write(self, folder: Path, data: Data, unit: float, counted: tuple[Array, Array]) -> None:
        """The points and what they came to, beside the run's other files."""
        labels, names = data.get("y"), data.get("class_names")
        if labels is not None and names is None:
            names = range(int(labels.max()) + 1)
        first, second = data.edge_index.numpy()
        embedded = Embedded(
            tangent=self.tangent_,
            points=self.embedding_,
            dims=np.array(self.manifold_.dims),
            curvatures=np.array(self.curvatures_),
            edges=np.stack([first, second], 1)[first < second],
            names=_words(data.get("node_names")),
            labels=None if labels is None else labels.numpy(),
            class_names=_words(names),
            ratio_edges=counted[1],
            ratio_counts=counted[0],
        )
        save_embedded(folder / "embedding.npz", embedded)
        told = {"graph": str(data.get("name") or "graph"), "edge_unit": unit, **self.summary()}
        save_json(folder / "summary.json", told)


def _words(names: Any) -> Array | None:
    return None if names is None else np.array([str(name) for name in names])


@torch.no_grad()
def ratios(points: FreePoints | NetworkPoints, distances: GraphDistances) -> tuple[Array, Array]:
    """How many pairs have their distance in the space so many times that in the graph; the last bin is open."""
    v, manifold = points().detach(), points.manifold
    edges = np.linspace(0, RATIOS, BINS + 1)
    counts = np.zeros(BINS, np.int64)
    sources = torch.arange(len(v)) if distances.sources is None else distances.sources
    for some in torch.arange(len(sources)).split(BLOCK):
        weights = distances.weights[some].numpy()
        found = distances_from(v, manifold, sources[some]).numpy() * np.sqrt(weights)
        counts += np.histogram(np.minimum(found[weights > 0], RATIOS), edges)[0]
    return counts, edges


def held_out(nodes: int, seed: int) -> torch.Tensor:
    """Nodes to watch and to measure, drawn apart from what training draws with the same seed."""
    generator = torch.Generator().manual_seed((seed + 1) * OTHER % 2**63)
    return torch.randperm(nodes, generator=generator)[: WATCHED + MEASURED]
