"""GraphEmbedder: low-distortion embeddings of graphs with the interface of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.embedding.added_points import place
from kappagcn.embedding.curvature_profile import embedding_intervals
from kappagcn.embedding.files import export_vectors, restore, save_embedder, summary_of, write_run
from kappagcn.embedding.film_recorder import FilmRecorder
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.quality import (
    Distortion,
    best_scale,
    check_result,
    mean_average_precision,
    measure,
)
from kappagcn.embedding.run import AUTO, EmbeddingRun, curvature_values, curvatures_of
from kappagcn.embedding.settings import EmbeddingSettings
from kappagcn.embedding.space_choice import SpaceChoice, first_trial, unfinished_choice
from kappagcn.embedding.trials import Trial
from kappagcn.errors import ConfigError, GraphError
from kappagcn.geometry import ProductManifold
from kappagcn.geometry.signature import learned_signature, parse_signature
from kappagcn.graphs import as_graph, components
from kappagcn.models.points import FreePoints, NetworkPoints
from kappagcn.nn.point_distances import distances_from
from kappagcn.run_folder import holds_run
from kappagcn.training.curvature_interval import CurvatureInterval
from kappagcn.training.graph_nodes import GraphNodes, chosen_rows
from kappagcn.training.node_arrays import node_names
from kappagcn.training.resources import threads_for_pairs
from kappagcn.training.run import TrainingResult
from kappagcn.training.run_lock import locked
from kappagcn.training.sklearn_base import Estimator, NotFittedError

Array = NDArray[Any]


class GraphEmbedder(TransformerMixin, Estimator, EmbeddingSettings):
    """Embedding of a graph: a point for each node, so that distances between points are close to those in the graph.

    A graph is PyG's ``Data``, a SciPy or NumPy adjacency matrix, a NetworkX graph, a data frame or list of edges, or a
    path. Of `GraphNodes` the whole graph is embedded. Directed edges count in both directions; weights are lengths.
    Pairs of nodes without a path do not count.

    Graphs of up to 5000 nodes are trained on all pairs by L-BFGS, whose every step lowers the objective; larger graphs
    are trained on sampled pairs by Adam.

    Attributes:
        embedding_: Points, (N, D).
        tangent_: Tangent vectors of the points at the origin, (N, D), which stay precise near the ball's boundary.
        space_: The space with its learned curvatures, as a signature.
        curvatures_: Learned curvatures, one per factor.
        curvature_intervals_: With ``intervals``, for each factor the range of its curvature in which the objective is
            within 1 %, around this minimum; None for flat factors. None as a whole before training has converged, for
            sampled pairs and the κ-GCN.
        choice_: With ``space="auto"`` the candidates and the reason; None otherwise.
        distortion_: The paper's average distortion, mean of ((d/d_G)² − 1)²; for sampled pairs an estimate from
            sources that were drawn for it alone.
        d_avg_: Mean of abs(d/d_G − 1), which other papers call D_avg; estimated in the same way.
        distortion_std_error_: Standard error of `distortion_`; 0 over all pairs.
        worst_distortion_: Largest d/d_G divided by the smallest.
        coincident_nodes_: Numbers of the measured nodes that have the same position as another node.
        unreachable_pairs_: Ordered pairs of nodes without a path, which do not count.
        map_: Mean average precision; over 256 nodes where pairs are sampled.
        node_names_: Names of the nodes; None where they are numbered.
        history_: Metrics of each epoch; curvatures are in units of the mean length of edges.

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
            y: Ignored; scikit-learn passes it.
            folder: Run folder; None to keep nothing.
            resume: Continue the run in `folder`, if there is one, to the same numbers as without the interruption;
                with more `epochs` also a finished one.
            group: Process group of torch.distributed to share sampled pairs with; all its processes call `fit` with the
                same arguments, and rank 0 alone writes. None to work in this process alone.

        Raises:
            EmbeddingFailedError: The result is worse than all points at one place.
        """
        return self.fit_graph(_read(graph), folder=folder, resume=resume, group=group)

    def fit_graph(self, data: Data, *, folder: Any = None, resume: bool = False, group: Any = None) -> GraphEmbedder:
        """Embed a graph as `kappagcn.graphs` reads it, without reading it again; other arguments as in `fit`."""
        self.check()
        communicator, path = Communicator.of(group), None if folder is None else Path(folder)
        communicator.run_on_rank0(lambda: path is not None and holds_run(path, resume=resume))
        self.node_names_ = node_names(data)
        self.choice_: SpaceChoice | None = None
        with threads_for_pairs(data), locked(path, communicator):
            run = EmbeddingRun(self, data, communicator, path, FilmRecorder)
            communicator.run_on_rank0(lambda: run.open(resume=resume))
            try:
                self.choice_, trial = first_trial(run)
                with self.progress("embedding", communicator, run.epochs) as callbacks:
                    result = trial.finish(run.identity(), callbacks=callbacks)
            except KeyboardInterrupt as stop:
                raise self._interrupted(run, stop) from None
            self._finish(trial, run.in_space(trial.space), result)
        check_result(self, run)
        return self

    def _interrupted(self, run: EmbeddingRun, stop: KeyboardInterrupt) -> KeyboardInterrupt:
        """Keep the best trial so far in the run folder; returns the interrupt with the epoch and the folder."""
        trials = [trial for trial in run.trials if trial.trainer.epoch > 0]
        if run.folder is None or run.communicator.rank > 0 or not trials:
            return stop
        best = min(trials, key=lambda trial: trial.trainer.stopping.lowest_loss)
        trainer = best.trainer
        trainer.take_best()
        if self.space == AUTO and self.choice_ is None:
            self.choice_ = unfinished_choice(run, best)
        so_far = TrainingResult(trainer.epoch, trainer.stopping.best_epoch, "interrupted", trainer.seconds, [])
        self._finish(best, run.in_space(best.space), so_far)
        where = f"saved in {run.folder}; resume=True continues from there"
        return KeyboardInterrupt(f"after epoch {trainer.epoch}, {where}")

    def _finish(self, trial: Trial, run: EmbeddingRun, result: TrainingResult) -> None:
        """Measure the points, and write them where there is a folder, with the film of their training."""
        points: Any = trial.trainer.model.cpu()
        self.result_, self.history_ = result, result.history
        quality = self._keep(points, run)
        if run.folder is not None and trial.film is not None:
            write_run(self, run.folder, run, quality)
            trial.copy_metrics(run.folder)
            trial.film.finish(run.folder, self.tangent_, self.curvatures_, result)

    def fit_transform(
        self, graph: Any, y: Any = None, *, folder: str | Path | None = None, resume: bool = False
    ) -> Array:
        """Embed a graph, and return its points, (N, D)."""
        points: Array = chosen_rows(self.fit(graph, y, folder=folder, resume=resume).embedding_, graph)
        return points

    def transform(self, graph: Any) -> Array:
        """Points of embedded and new nodes; the embedded nodes do not move.

        Args:
            graph: Graph of the N embedded nodes, in their order, followed by M ≥ 0 new ones; or `GraphNodes` of it.

        Returns:
            All points, (N + M, D), or those of the chosen nodes.
        """
        self._fitted()
        points: Array = self.manifold_.expmap0(torch.from_numpy(self.placed(graph))).detach().numpy()
        rows: Array = chosen_rows(points, graph)
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of `transform`, as scikit-learn asks for them."""
        self._fitted()
        return np.array([f"x{k + 1}" for k in range(self.embedding_.shape[1])], object)

    def placed(self, graph: Any) -> Array:
        """Tangent vectors at the origin of embedded and new nodes as in `transform`, (N + M, D)."""
        self._fitted()
        data = _read(graph)
        if data.num_nodes == len(self._v):
            return self.tangent_
        if data.get("edge_weight") is not None:
            data = data.clone()
            data.edge_weight = data.edge_weight.double()
        objective = "relative" if self.objective == "neighbours" else self.objective
        new = place(self._v, self.manifold_, data, objective, self.random_state)
        return np.concatenate([self.tangent_, new.numpy()])

    def check(self) -> None:
        """Refuse arguments that are wrong for any graph."""
        super().check()
        if self.space != AUTO:
            parse_signature(self.space)

    @torch.no_grad()
    def _keep(self, points: FreePoints | NetworkPoints, run: EmbeddingRun) -> Distortion:
        """Measure the points, and keep them in the graph's unit of length."""
        data, unit = run.data, run.unit
        manifold = points.manifold
        v: torch.Tensor = points().detach().double()
        self.curvature_intervals_ = self._intervals(points, run)
        if self.objective == "neighbours":  # a ranking loss has no unit of length: take the one that fits the graph
            v = self._rescale(manifold, v, best_scale(v, manifold, run.distances))
        connected_pairs = int((np.bincount(components(data)) ** 2).sum())
        quality = measure(v, manifold, run.distances)
        self.distortion_, self.d_avg_ = quality.distortion, quality.d_avg
        self.worst_distortion_, self.distortion_std_error_ = quality.worst_distortion, quality.distortion_std_error
        self.unreachable_pairs_ = data.num_nodes**2 - connected_pairs
        self.map_ = mean_average_precision(v, manifold, data, run.measured)
        self.coincident_nodes_ = quality.coincident_nodes
        self._asked = parse_signature(run.settings.space)
        kappas = [kappa / unit**2 for kappa in curvature_values(manifold)]
        self._place(manifold.dims, kappas, unit * v)
        if self.unreachable_pairs_:
            warnings.warn(
                f"{self.unreachable_pairs_} of {data.num_nodes * (data.num_nodes - 1)} pairs of nodes have no path "
                "between them and did not count: distances between components are arbitrary.",
                stacklevel=5,
            )
        return quality

    def _rescale(self, manifold: ProductManifold, v: torch.Tensor, factor: float) -> torch.Tensor:
        """The points after all distances are multiplied by a factor."""
        for curvature in curvatures_of(manifold):
            curvature.raw.div_(factor**2)
        intervals = self.curvature_intervals_
        self.curvature_intervals_ = intervals and [each and each.in_units(factor) for each in intervals]
        return factor * v

    def _intervals(self, points: Any, run: EmbeddingRun) -> list[CurvatureInterval | None] | None:
        """The intervals that were asked for; None before training has converged, and where there is nothing to walk."""
        walkable = isinstance(points, FreePoints) and not run.sources and run.distances.pairs > 0
        if not self.intervals or self.result_.stopped_by != "converged" or not walkable or self.curvature_lr == 0:
            return None
        with torch.enable_grad():
            return embedding_intervals(points, run)

    def _place(self, dims: Sequence[int], kappas: Sequence[float], v: torch.Tensor) -> None:
        """Keep these points, in a space of these fixed curvatures."""
        self.manifold_ = ProductManifold.from_signature("x".join(f"U{dim}" for dim in dims)).double()
        for curvature, kappa in zip(curvatures_of(self.manifold_), kappas, strict=True):
            curvature.raw.fill_(kappa)
        self._v = v
        self.tangent_, self.embedding_ = v.numpy(), self.manifold_.expmap0(v).numpy()

    def _fitted(self) -> None:
        if not hasattr(self, "manifold_"):
            raise NotFittedError("expected an embedder that was fitted, found a new one. Call fit first.")

    @property
    def curvatures_(self) -> list[float]:
        """Learned curvatures, one per factor."""
        self._fitted()
        return curvature_values(self.manifold_)

    @property
    def space_(self) -> str:
        """The space with its learned curvatures; each factor has the letter of its sign."""
        return learned_signature(self._asked, self.curvatures_)

    def distances(self, nodes: Sequence[int] | None = None) -> Array:
        """Distances in the space from some nodes, or from all, to all nodes: (S, N)."""
        self._fitted()
        chosen = range(len(self._v)) if nodes is None else nodes
        distances: Array = distances_from(self._v, self.manifold_, torch.as_tensor(chosen)).numpy()
        return distances

    def score(self, graph: Any = None, y: Any = None) -> float:
        """Minus D_avg, so that larger is better, as scikit-learn expects.

        Args:
            graph: A graph as in `transform`, or `GraphNodes` for the distances from these nodes to all; the embedded
                graph by default.
            y: Ignored; scikit-learn passes it.
        """
        self._fitted()
        if graph is None:
            return -self.d_avg_
        sources = torch.from_numpy(graph.indices) if isinstance(graph, GraphNodes) else None
        data = _read(graph)
        return -measure(torch.from_numpy(self.placed(data)), self.manifold_, GraphDistances.of(data, sources)).d_avg

    def summary(self) -> dict[str, Any]:
        """Results as plain numbers and words; None for values that are not finite or were not measured."""
        self._fitted()
        return summary_of(self)

    def most_similar(self, node: Any, k: int = 10) -> list[tuple[Any, float]]:
        """The `k` nearest other nodes and their distances in the space, nearest first.

        Args:
            node: Name of a node, or its number where nodes have no names.
            k: Number of nodes.

        >>> from kappagcn.graphs import path
        >>> [near for near, _ in GraphEmbedder("E1", epochs=100, verbose=False).fit(path(5)).most_similar(0, k=2)]
        [1, 2]
        """
        self._fitted()
        names: Any = self.node_names_ or range(len(self._v))
        if (str(node) if self.node_names_ else node) not in names:
            raise GraphError(f"expected a node such as {names[0]!r}, found {node!r}.")
        number = names.index(str(node) if self.node_names_ else node)
        distances = self.distances([number])[0]
        order = [i for i in np.argsort(distances, kind="stable").tolist() if i != number]
        return [(names[i], float(distances[i])) for i in order[:k]]

    def export(self, path: str | Path, *, vectors: str = "points") -> Path:
        """Write a vector for each node, for other tools; the ending of the file determines the format.

        Args:
            path: ``.vec``, ``.w2v`` or ``.txt`` for word2vec's text format, ``.csv``, ``.npy``, ``.npz``, ``.parquet``.
            vectors: ``"points"`` of the space, or ``"tangent"`` vectors at the origin.
        """
        self._fitted()
        if vectors not in ("points", "tangent"):
            raise ConfigError(f"vectors: expected points or tangent, found {vectors!r}.")
        names = self.node_names_ or [str(i) for i in range(len(self._v))]
        return export_vectors(path, names, self.embedding_ if vectors == "points" else self.tangent_)

    def save(self, path: str | Path) -> Path:
        """Write the embedder, without the graph, to a safetensors file."""
        self._fitted()
        return save_embedder(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> GraphEmbedder:
        """Load an embedder from a file that `save` wrote, or from a run folder, finished or interrupted.

        Args:
            path: File, or folder that `fit` or `kappagcn embed` wrote.
        """
        embedder: GraphEmbedder = restore(cls, Path(path))
        return embedder


def _read(graph: Any) -> Data:
    return graph.data if isinstance(graph, GraphNodes) else as_graph(graph)
