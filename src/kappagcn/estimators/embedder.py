"""GraphEmbedder: points whose distances follow those of a graph, in one line, in scikit-learn's manner."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
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
from kappagcn.estimators.settings import EmbeddingSettings
from kappagcn.estimators.start import in_units, scaled, starting_point
from kappagcn.geometry import Curvature
from kappagcn.geometry.signature import learned_signature, parse_signature
from kappagcn.graphs import as_graph, components
from kappagcn.models.points import FreePoints, NetworkPoints
from kappagcn.run_folder import Embedded, save_embedded, save_json
from kappagcn.training import PartTrainer, Trainer, TrainingConfig, reporting, run_training, seeded
from kappagcn.training.checkpoint import fingerprint
from kappagcn.training.distortion_loss import GraphDistances, distances_from, measure
from kappagcn.training.distortion_task import DistortionTask, SampledDistortionTask, SharedDistortionTask
from kappagcn.training.precision import mean_average_precision

__all__ = ["GraphEmbedder"]

Array = NDArray[Any]
ALL_PAIRS = 5000  # nodes up to which every step takes all pairs
SOURCES = 64
WATCHED = 16  # sources whose distortion decides which epoch's points are kept
RATIOS, BINS = 2.0, 50  # of the histogram of d/d_G
BLOCK = 256  # sources whose distances are held at once
MEASURED = 256  # other sources for the final estimate, and nodes for the precision of a large graph
OTHER = 0x9E3779B97F4A7C15  # turns a seed into one that draws other nodes than training does


class GraphEmbedder(Estimator, EmbeddingSettings):
    """Points of a space, one for each node, whose distances are those of the graph as nearly as possible.

    A graph is PyG's ``Data``, a SciPy or NumPy adjacency matrix, or a NetworkX graph. Directed edges count in both
    directions; weights are lengths. Pairs of nodes without a path do not count.

    The learning rate falls to 0 by the last epoch but for a κ-GCN on all pairs, where it stays, as in the paper.

    Attributes:
        embedding_: Points, (N, D).
        tangent_: Their tangent vectors at the origin, (N, D), which tell points near the ball's boundary apart.
        space_: The space with its learned curvatures, as a signature.
        curvatures_: Learned, one per factor.
        distortion_: Average distortion; for sampled pairs an estimate from sources that were drawn for it alone.
        distortion_std_error_: Standard error of that estimate; 0 over all pairs.
        worst_distortion_: Largest ratio of a distance in the space to that in the graph, over the smallest.
        unreachable_pairs_: Ordered pairs of nodes without a path, which do not count.
        map_: Mean average precision, of 256 nodes where pairs are sampled.
        history_: Numbers of each epoch; curvatures in units of the mean edge.

    >>> from kappagcn.graphs import balanced_tree
    >>> embedder = GraphEmbedder("H2", epochs=500, lr=0.02)
    >>> embedder.fit_transform(balanced_tree(4, 2)).shape
    (31, 2)
    >>> embedder.distortion_ < 0.05
    True
    """

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
        drawn = held_out(data.num_nodes, self.random_state) if sources else None
        distances = GraphDistances.of(data, None if drawn is None else drawn[WATCHED:])
        space, diameter = starting_point(scaled(self.space, unit), data, self.start, distances.longest)
        config = self._config(diameter, sampled=sources > 0)
        with seeded(self.random_state):
            points = self._points(data, space, diameter)
        task: DistortionTask | SampledDistortionTask = DistortionTask(points, distances)
        shared = communicator.world_size > 1
        if drawn is not None and shared:
            task = SharedDistortionTask(points, data, sources, drawn[:WATCHED], communicator, self.random_state)
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
        with reporting("embedding", self.epochs) if self.verbose and first else nullcontext() as report:
            options: dict[str, Any] = {"resume": resume, "callbacks": [] if report is None else [report]}
            trainer = (PartTrainer if shared else Trainer)(points, task, config, communicator=communicator)
            result = run_training(trainer, folder, about, **options)
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
        points: Array = self.fit(graph, y, folder=folder, resume=resume).embedding_
        return points

    def check(self) -> None:
        """Refuse arguments that no graph could be embedded with."""
        super().check()
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
        return TrainingConfig(
            epochs=self.epochs, patience=self.epochs, **rates, l2=0.0, decay=decay, seed=self.random_state
        )

    def _settings(self) -> dict[str, Any]:
        names = ("space", "method", "start", "hidden_channels", "act", "random_state")
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
        points = NetworkPoints(data, space, hidden_channels=self.hidden_channels, act=self.act)
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
        measured = measure(self._v, self.manifold_, distances)
        self.distortion_, self.worst_distortion_ = measured.distortion, measured.worst_distortion
        self.distortion_std_error_ = measured.distortion_std_error
        self.unreachable_pairs_ = data.num_nodes**2 - together
        self.map_ = mean_average_precision(self._v, self.manifold_, data, nodes)
        if unit != 1:
            self._v = unit * self._v
            for curvature in self._curvatures():
                curvature.raw.div_(unit**2)
        self.tangent_, self.embedding_ = self._v.numpy(), self.manifold_.expmap0(self._v).numpy()
        if self.unreachable_pairs_:
            warnings.warn(
                f"{self.unreachable_pairs_} of {data.num_nodes * (data.num_nodes - 1)} pairs of nodes have no path "
                "between them and did not count: how far apart components lie means nothing.",
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
        distances: Array = distances_from(self._v, self.manifold_, torch.as_tensor(chosen)).numpy()
        return distances

    def summary(self) -> dict[str, Any]:
        """What it came to, as plain numbers and words; None for what is not finite, or was not timed."""
        self._fitted()
        own = self.result_.epochs - self.result_.resumed_after  # a run that was interrupted is timed by its last part
        seconds = round(self.result_.seconds * self.result_.epochs / own, 2) if own else None
        values = {
            "space": self.space,
            "learned_space": self.space_,
            "curvatures": self.curvatures_,
            "distortion": self.distortion_,
            "worst_distortion": self.worst_distortion_,
            "distortion_std_error": self.distortion_std_error_,
            "map": self.map_,
            "unreachable_pairs": self.unreachable_pairs_,
            "epochs": self.result_.epochs,
            "best_epoch": self.result_.best_epoch,
            "seconds": seconds,
        }
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in values.items()}

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
        summary = {"graph": str(data.get("name") or "graph"), "edge_unit": unit, **self.summary()}
        save_json(folder / "summary.json", summary)


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
        stretch = distances_from(v, manifold, sources[some]).numpy() * np.sqrt(weights)
        counts += np.histogram(np.minimum(stretch[weights > 0], RATIOS), edges)[0]
    return counts, edges


def held_out(nodes: int, seed: int) -> torch.Tensor:
    """Nodes to watch and to measure, drawn apart from what training draws with the same seed."""
    generator = torch.Generator().manual_seed((seed + 1) * OTHER % 2**63)
    return torch.randperm(nodes, generator=generator)[: WATCHED + MEASURED]
