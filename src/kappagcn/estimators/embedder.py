"""GraphEmbedder: points whose distances follow those of a graph, in one line, in scikit-learn's manner."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.distributed import ProcessGroup

from kappagcn.distributed import Communicator
from kappagcn.errors import CheckpointError, EmbeddingFailedError, TrainingError
from kappagcn.estimators.added_points import place
from kappagcn.estimators.base import Estimator
from kappagcn.estimators.curvature_interval import CurvatureInterval, curvature_intervals
from kappagcn.estimators.embedding_arrays import arrays_of
from kappagcn.estimators.embedding_measures import best_scale, coincident_nodes, ratio_histogram
from kappagcn.estimators.embedding_run import AUTO, EmbeddingRun, curvature_values
from kappagcn.estimators.settings import EmbeddingSettings
from kappagcn.estimators.space_choice import SpaceChoice, choose_space
from kappagcn.geometry import Curvature, ProductManifold
from kappagcn.geometry.signature import learned_signature, parse_signature
from kappagcn.graphs import as_graph, components
from kappagcn.models.points import FreePoints, NetworkPoints
from kappagcn.progress import line
from kappagcn.run_folder import SavedRun, read_json, save_embedded, save_json
from kappagcn.training import TrainingResult, mean_average_precision, measure, reporting, run_training
from kappagcn.training.pair_objectives import distances_from

__all__ = ["GraphEmbedder"]

Array = NDArray[Any]


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
        curvature_intervals_: For each factor the range of its curvature in which the objective is within 1 %; None for
            flat factors, sampled pairs and the κ-GCN.
        choice_: With ``space="auto"`` the candidates and the reason; None otherwise.
        distortion_: The paper's average distortion, mean of ((d/d_G)² − 1)²; for sampled pairs an estimate from
            sources that were drawn for it alone.
        d_avg_: Mean of abs(d/d_G − 1), which other papers call D_avg; likewise.
        distortion_std_error_: Standard error of `distortion_`; 0 over all pairs.
        worst_distortion_: Largest ratio of a distance in the space to that in the graph, over the smallest.
        coincident_nodes_: Numbers of nodes that share a place with another one, of those that were measured.
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
            resume: Go on with the run in `folder`, if there is one, to the same numbers as without the interruption;
                with more `epochs` also one that was finished.
            group: Process group of torch.distributed to share sampled pairs with; all its processes call `fit` with the
                same arguments, and rank 0 alone writes. None to work in this process alone.

        Raises:
            EmbeddingFailedError: The result is worse than all points at one place.
        """
        self.check()
        communicator = Communicator.of(group)
        run = EmbeddingRun(self, as_graph(graph), communicator)
        resumed = resume and folder is not None and (Path(folder) / "config.json").exists()
        self.choice_ = self._choose(run, Path(folder) if resumed and folder is not None else None)
        if self.choice_ is not None:
            run = run.in_space(self.choice_.space)
        shown = self.verbose and communicator.rank == 0
        with reporting("embedding", self.epochs) if shown else nullcontext() as report:
            trainer = run.trainer(resumed=resumed)
            callbacks = [] if report is None else [report]
            identity = run.identity()
            identity["options"]["space"] = self.space  # the chosen one of several is a result of the run
            try:
                result = run_training(trainer, folder, identity, resume=resume, callbacks=callbacks)
            except KeyboardInterrupt:
                if folder is not None and communicator.rank == 0 and trainer.epoch > 0:
                    trainer.take_best()
                    self._finish(trainer.model, run, _interrupted(trainer), Path(folder))
                raise
        self._finish(
            trainer.model, run, result, Path(folder) if folder is not None and communicator.rank == 0 else None
        )
        self._check_result(run)
        return self

    def _choose(self, run: EmbeddingRun, resumed: Path | None) -> SpaceChoice | None:
        if self.space != AUTO:
            return None
        if resumed is not None and (resumed / "choice.json").exists():
            return SpaceChoice.from_dict(read_json(resumed / "choice.json"))
        return choose_space(run, self.dim, line if self.verbose and run.communicator.rank == 0 else None)

    def _finish(self, points: Any, run: EmbeddingRun, result: TrainingResult, folder: Path | None) -> None:
        """Measure the points, and write them where there is a folder."""
        self.result_, self.history_ = result, result.history
        v = self._keep(points, run)
        if folder is not None:
            self._write(folder, run, ratio_histogram(v, points.manifold, run.distances))

    def fit_transform(
        self, graph: Any, y: Any = None, *, folder: str | Path | None = None, resume: bool = False
    ) -> Array:
        """Embed a graph; its points, (N, D)."""
        points: Array = self.fit(graph, y, folder=folder, resume=resume).embedding_
        return points

    def transform(self, graph: Any) -> Array:
        """Points of a graph that has all embedded nodes first and new ones after them; those embedded do not move.

        Args:
            graph: N embedded nodes in their order and M new ones, with the edges of all.

        Returns:
            All points, (N + M, D).
        """
        points: Array = self.manifold_.expmap0(torch.from_numpy(self.placed(graph))).detach().numpy()
        return points

    def placed(self, graph: Any) -> Array:
        """Tangent vectors at the origin of embedded and new nodes as in `transform`, (N + M, D)."""
        self._fitted()
        data = as_graph(graph)
        if data.get("edge_weight") is not None:
            data = data.clone()
            data.edge_weight = data.edge_weight.double()
        objective = "relative" if self.objective == "neighbours" else self.objective
        new = place(self._v, self.manifold_, data, objective, self.random_state)
        return np.concatenate([self.tangent_, new.numpy()])

    def check(self) -> None:
        """Refuse arguments that no graph could be embedded with."""
        super().check()
        if self.space != AUTO:
            parse_signature(self.space)

    @torch.no_grad()
    def _keep(self, points: FreePoints | NetworkPoints, run: EmbeddingRun) -> torch.Tensor:
        """Measure the points and take them in the graph's own unit of length; return them in that of the run."""
        data, unit = run.data, run.unit
        manifold = points.manifold
        v: torch.Tensor = points().detach().double()
        self.curvature_intervals_ = self._intervals(points, run)
        if self.objective == "neighbours":  # ranks have no unit of length: take the one that fits the graph
            v = self._rescale(manifold, v, best_scale(v, manifold, run.distances))
        together = int((np.bincount(components(data)) ** 2).sum())
        quality = measure(v, manifold, run.distances)
        self.distortion_, self.d_avg_ = quality.distortion, quality.d_avg
        self.worst_distortion_, self.distortion_std_error_ = quality.worst_distortion, quality.distortion_std_error
        self.unreachable_pairs_ = data.num_nodes**2 - together
        self.map_ = mean_average_precision(v, manifold, data, run.measured)
        self.coincident_nodes_ = coincident_nodes(v, manifold, run.distances)
        self._asked = parse_signature(run.settings.space)
        kappas = [kappa / unit**2 for kappa in curvature_values(manifold)]
        self._place(manifold.dims, kappas, unit * v)
        if self.unreachable_pairs_:
            warnings.warn(
                f"{self.unreachable_pairs_} of {data.num_nodes * (data.num_nodes - 1)} pairs of nodes have no path "
                "between them and did not count: how far apart components lie means nothing.",
                stacklevel=5,
            )
        return v

    def _rescale(self, manifold: ProductManifold, v: torch.Tensor, factor: float) -> torch.Tensor:
        """The same points with all distances multiplied."""
        for module in manifold.modules():
            if isinstance(module, Curvature):
                module.raw.div_(factor**2)
        intervals = self.curvature_intervals_
        self.curvature_intervals_ = intervals and [each and each.in_units(factor) for each in intervals]
        return factor * v

    def _intervals(self, points: Any, run: EmbeddingRun) -> list[CurvatureInterval | None] | None:
        interrupted = self.result_.stopped_by == "interrupted"
        all_pairs = isinstance(points, FreePoints) and not run.sources and run.distances.pairs > 0
        if not self.intervals or interrupted or not all_pairs or self.curvature_lr == 0:
            return None
        with torch.enable_grad():
            intervals = curvature_intervals(
                points, run.diameter / 2, lambda: run.quasi_newton(points, learn_curvatures=False)
            )
        return [None if each is None else each.in_units(run.unit) for each in intervals]

    def _place(self, dims: Sequence[int], kappas: Sequence[float], v: torch.Tensor) -> None:
        """Take these points in a space of these curvatures, which no longer move."""
        self.manifold_ = ProductManifold.from_signature("x".join(f"U{dim}" for dim in dims)).double()
        curvatures = [module for module in self.manifold_.modules() if isinstance(module, Curvature)]
        for curvature, kappa in zip(curvatures, kappas, strict=True):
            curvature.raw.fill_(kappa)
        self._v = v
        self.tangent_, self.embedding_ = v.numpy(), self.manifold_.expmap0(v).numpy()

    def _check_result(self, run: EmbeddingRun) -> None:
        """Refuse a result that is no better than all points at one place."""
        trivial = run.distances.pairs / max(1, run.distances.weights.numel())
        if self.objective == "distortion" and trivial > 0 and not self.distortion_ < trivial:
            raise EmbeddingFailedError("average distortion", self.distortion_, trivial, self.space)
        if self.objective in ("relative", "stress") and not self.d_avg_ < 1:
            raise EmbeddingFailedError("D_avg", self.d_avg_, 1.0, self.space)

    def _fitted(self) -> None:
        if not hasattr(self, "manifold_"):
            raise TrainingError("expected an embedder that was fitted, found a new one. Call fit first.")

    @property
    def curvatures_(self) -> list[float]:
        """Learned, one per factor."""
        self._fitted()
        return curvature_values(self.manifold_)

    @property
    def space_(self) -> str:
        """The space with its learned curvatures; each factor has the letter of its sign."""
        return learned_signature(self._asked, self.curvatures_)

    def distances(self, nodes: Sequence[int] | None = None) -> Array:
        """Distances in the space of some nodes, or all, from all: (S, N)."""
        self._fitted()
        chosen = range(len(self._v)) if nodes is None else nodes
        distances: Array = distances_from(self._v, self.manifold_, torch.as_tensor(chosen)).numpy()
        return distances

    def score(self, graph: Any = None, y: Any = None) -> float:
        """Minus D_avg of the embedded graph, so that larger is better, as scikit-learn expects."""
        self._fitted()
        return -self.d_avg_

    def summary(self) -> dict[str, Any]:
        """What it came to, as plain numbers and words; None for what is not finite, or was not timed."""
        self._fitted()
        own = self.result_.epochs - self.result_.resumed_after  # a run that was interrupted is timed by its last part
        seconds = round(self.result_.seconds * self.result_.epochs / own, 2) if own else None
        intervals = self.curvature_intervals_
        values = {
            "space": self.space,
            "learned_space": self.space_,
            "curvatures": self.curvatures_,
            "curvature_intervals": None if intervals is None else [each and each.as_dict() for each in intervals],
            "objective": self.objective,
            "distortion": self.distortion_,
            "d_avg": self.d_avg_,
            "worst_distortion": self.worst_distortion_,
            "distortion_std_error": self.distortion_std_error_,
            "map": self.map_,
            "unreachable_pairs": self.unreachable_pairs_,
            "coincident_nodes": len(self.coincident_nodes_),
            "epochs": self.result_.epochs,
            "best_epoch": self.result_.best_epoch,
            "stopped_by": self.result_.stopped_by,
            "seconds": seconds,
        }
        if self.choice_ is not None:
            values |= {"chosen_space": self.choice_.space, "choice": self.choice_.as_dict()}
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in values.items()}

    def _write(self, folder: Path, run: EmbeddingRun, counted: tuple[Array, Array]) -> None:
        """The points and what they came to, beside the run's other files."""
        embedded = arrays_of(run, self.manifold_.dims, self.curvatures_, self.tangent_, self.embedding_, counted)
        save_embedded(folder / "embedding.npz", embedded)
        if self.choice_ is not None:
            save_json(folder / "choice.json", self.choice_.as_dict())
        summary = {"graph": str(run.data.get("name") or "graph"), "edge_unit": run.unit, **self.summary()}
        save_json(folder / "summary.json", summary)

    @classmethod
    def load(cls, folder: str | Path) -> GraphEmbedder:
        """The embedder of a run folder, finished or interrupted.

        Args:
            folder: Folder that `fit` or `kappagcn embed` wrote.
        """
        run = SavedRun(Path(folder))
        if run.kind != "embedding":
            raise CheckpointError(f"{folder}: expected the run of an embedding, found a {run.kind}.")
        summary, options, embedded = run.summary, run.config["options"], run.embedded
        names = {each.name for each in fields(cls)}
        embedder = cls(**{name: value for name, value in options.items() if name in names})
        embedder._place(
            embedded.dims.tolist(), embedded.curvatures.tolist(), torch.from_numpy(embedded.tangent).double()
        )
        for name in ("distortion", "d_avg", "worst_distortion", "distortion_std_error", "map", "unreachable_pairs"):
            value = summary[name]
            setattr(embedder, f"{name}_", math.nan if value is None else value)
        embedder.choice_ = SpaceChoice.from_dict(summary["choice"]) if "choice" in summary else None
        embedder._asked = parse_signature(summary.get("chosen_space") or embedder.space)
        intervals = summary["curvature_intervals"]
        embedder.curvature_intervals_ = intervals and [CurvatureInterval.from_dict(each) for each in intervals]
        embedder.coincident_nodes_ = np.arange(0)
        embedder.history_ = run.metrics
        embedder.result_ = TrainingResult(
            summary["epochs"], summary["best_epoch"], summary["stopped_by"], summary["seconds"] or 0.0, run.metrics
        )
        return embedder


def _interrupted(trainer: Any) -> TrainingResult:
    return TrainingResult(trainer.epoch, trainer.stopping.best_epoch, "interrupted", 0.0, [])
