"""GraphEmbedder: points whose distances follow those of a graph, in one line, in scikit-learn's manner."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.distributed import ProcessGroup

from kappagcn.distributed import Communicator
from kappagcn.errors import TrainingError
from kappagcn.estimators.base import Estimator
from kappagcn.estimators.embedding_run import EmbeddingRun
from kappagcn.estimators.settings import EmbeddingSettings
from kappagcn.geometry import Curvature
from kappagcn.geometry.signature import learned_signature, parse_signature
from kappagcn.graphs import as_graph, components
from kappagcn.models.points import FreePoints, NetworkPoints
from kappagcn.run_folder import Embedded, save_embedded, save_json
from kappagcn.training import mean_average_precision, measure, reporting, run_training
from kappagcn.training.graph_distances import GraphDistances
from kappagcn.training.pair_loss import distances_from

__all__ = ["GraphEmbedder"]

Array = NDArray[Any]
RATIOS, BINS = 2.0, 50  # of the histogram of d/d_G
BLOCK = 256  # sources whose distances are held at once


class GraphEmbedder(Estimator, EmbeddingSettings):
    """Points of a space, one for each node, whose distances are those of the graph as nearly as possible.

    A graph is PyG's ``Data``, a SciPy or NumPy adjacency matrix, or a NetworkX graph. Directed edges count in both
    directions; weights are lengths. Pairs of nodes without a path do not count.

    Up to 5000 nodes every step takes all pairs and is one of L-BFGS, which goes downhill in each of them; larger graphs
    are trained by Adam on sampled pairs.

    Attributes:
        embedding_: Points, (N, D).
        tangent_: Their tangent vectors at the origin, (N, D), which tell points near the ball's boundary apart.
        space_: The space with its learned curvatures, as a signature.
        curvatures_: Learned, one per factor.
        d_avg_: Mean of abs(d/d_G − 1), which other papers call D_avg; likewise.
        distortion_: The paper's average distortion, mean of ((d/d_G)² − 1)²; for sampled pairs an estimate from
            sources that were drawn for it alone.
        distortion_std_error_: Standard error of that estimate; 0 over all pairs.
        worst_distortion_: Largest ratio of a distance in the space to that in the graph, over the smallest.
        unreachable_pairs_: Ordered pairs of nodes without a path, which do not count.
        map_: Mean average precision, of 256 nodes where pairs are sampled.
        history_: Numbers of each epoch; curvatures in units of the mean edge.

    >>> from kappagcn.graphs import balanced_tree
    >>> embedder = GraphEmbedder("H2", epochs=300)
    >>> embedder.fit_transform(balanced_tree(4, 2)).shape
    (31, 2)
    >>> embedder.distortion_ < 0.02
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
        run = EmbeddingRun(self, as_graph(graph), communicator)
        resumed = resume and folder is not None and (Path(folder) / "config.json").exists()
        first = communicator.rank == 0
        with reporting("embedding", self.epochs) if self.verbose and first else nullcontext() as report:
            trainer = run.trainer(resumed=resumed)
            callbacks = [] if report is None else [report]
            result = run_training(trainer, folder, run.identity(), resume=resume, callbacks=callbacks)
        points: Any = trainer.model
        counted = ratios(points, run.distances) if folder is not None and first else None
        self._keep(points, run)
        self.result_, self.history_ = result, result.history
        if folder is not None and counted is not None:
            self._write(Path(folder), run, counted)
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

    @torch.no_grad()
    def _keep(self, points: FreePoints | NetworkPoints, run: EmbeddingRun) -> None:
        data, unit = run.data, run.unit
        self.manifold_, self._v, self._asked = points.manifold, points().detach(), parse_signature(self.space)
        together = int((np.bincount(components(data)) ** 2).sum())
        quality = measure(self._v, self.manifold_, run.distances)
        self.distortion_, self.d_avg_, self.worst_distortion_ = (
            quality.distortion,
            quality.d_avg,
            quality.worst_distortion,
        )
        self.distortion_std_error_ = quality.distortion_std_error
        self.unreachable_pairs_ = data.num_nodes**2 - together
        self.map_ = mean_average_precision(self._v, self.manifold_, data, run.measured)
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
        return learned_signature(self._asked, self.curvatures_)

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
            "objective": self.objective,
            "distortion": self.distortion_,
            "d_avg": self.d_avg_,
            "worst_distortion": self.worst_distortion_,
            "distortion_std_error": self.distortion_std_error_,
            "map": self.map_,
            "unreachable_pairs": self.unreachable_pairs_,
            "epochs": self.result_.epochs,
            "best_epoch": self.result_.best_epoch,
            "stopped_by": self.result_.stopped_by,
            "seconds": seconds,
        }
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in values.items()}

    def _write(self, folder: Path, run: EmbeddingRun, counted: tuple[Array, Array]) -> None:
        """The points and what they came to, beside the run's other files."""
        data = run.data
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
        summary = {"graph": str(data.get("name") or "graph"), "edge_unit": run.unit, **self.summary()}
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
