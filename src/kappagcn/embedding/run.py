"""An embedding of one graph in one space, ready to be trained: distances, starts, task and trainer."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.ranking import Neighbours
from kappagcn.embedding.settings import EmbeddingSettings
from kappagcn.embedding.start import Scaling, Start, in_units, scaled, starts
from kappagcn.embedding.tasks import EmbeddingTask, RankingTask, SampledEmbeddingTask, SharedEmbeddingTask
from kappagcn.embedding.trials import TRIALS, MakeFilm, Trial, best_trial
from kappagcn.errors import ConfigError, GraphError
from kappagcn.geometry import Curvature, ProductManifold
from kappagcn.geometry.signature import learned_signature, parse_signature
from kappagcn.models.points import FreePoints, NetworkPoints
from kappagcn.run_folder import save_json, should_resume
from kappagcn.sparse import SparseMatrix, normalized_adjacency
from kappagcn.training.checkpoint import fingerprint
from kappagcn.training.minibatch import PartTrainer
from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.resources import resolve_device
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer, seeded

AUTO = "auto"
ALL_PAIRS = 5000  # nodes up to which every step takes all pairs
SOURCES = 64
WATCHED = 16  # sources whose objective decides which epoch's points are kept
MEASURED = 256  # further sources for the final distortion, and nodes for the mAP, of a large graph
OTHER = 0x9E3779B97F4A7C15  # added to the seed, so that other nodes are drawn than in training
EPOCHS, MOST_STEPS = 2000, 5000  # epochs by default: of Adam, and at most of L-BFGS, which ends by itself
TRIAL, TRIAL_SHARE = 30, 1 / 20  # trial epochs of each start: at least TRIAL, and a share of all epochs up to EPOCHS
MOST_TRIED = 1 / 2  # share of these epochs after which starts are not compared any more
FIXED_SHARE = 1 / 3  # largest share of a trial in which curvatures may be fixed
# Adam learning rates: of points in units of the diameter (sampled pairs), of asinh(κR²), of a network's weights.
POINT_LR, CURVATURE_LR, NETWORK_LR = 0.003, 0.2, 0.03


class EmbeddingRun:
    """Model, task and trainer of one embedding.

    Args:
        settings: Settings of the embedding.
        graph: The graph.
        communicator: Connects the processes that share sampled pairs.
        folder: Run folder, which has the files of the trials too; None to keep nothing.
        make_film: As in `Trial`.

    Attributes:
        trials: Trials that may still be chosen.
        data: The graph with edges in units of their mean length.
        unit: Mean length of the edges in the graph's own unit.
        distances: Distances between all nodes, or from the nodes of the final measurement.
        measured: Nodes of the final measurement; None for all.
        epochs: Maximum number of epochs.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        graph: Data,
        communicator: Communicator,
        folder: Path | None = None,
        make_film: MakeFilm | None = None,
    ) -> None:
        self.settings, self.communicator, self.folder = settings, communicator, folder
        self.make_film = make_film if communicator.rank == 0 else None
        self.trials: list[Trial] = []
        alone = "several processes" if communicator.world_size > 1 else None
        alone = "the method kappa-gcn" if settings.method != "free" else alone
        self.device = resolve_device(settings.device, on_cpu=alone)
        self.data, self.unit = in_units(graph)
        self.sources = source_count(settings, self.data.num_nodes)
        descends = settings.method == "free" and not self.sources
        self.epochs = int(settings.epochs) if settings.epochs != "auto" else MOST_STEPS if descends else EPOCHS
        drawn = held_out(self.data.num_nodes, settings.random_state) if self.sources else None
        self.watched = None if drawn is None else drawn[:WATCHED]
        self.measured = None if drawn is None else drawn[WATCHED:]
        self.distances = GraphDistances.of(self.data, self.measured)
        self.diameter = self.distances.longest or 1.0
        self.scaling = Scaling(self.distances)
        self.space = settings.space if settings.space == AUTO else scaled(settings.space, self.unit)
        if communicator.world_size > 1 and not self.sources:
            raise ConfigError(
                "sources: expected sampled pairs for several processes, found all pairs. Set a number of sources."
            )

    def in_space(self, space: str, *, candidate: bool = False) -> EmbeddingRun:
        """The same graph and settings in another space; as a candidate in a folder of its own."""
        other = copy.copy(self)
        other.settings, other.space = replace(self.settings, space=space), scaled(space, self.unit)
        if candidate and self.folder is not None:
            other.folder = self.folder / TRIALS / space
        return other

    def open(self, *, resume: bool) -> None:
        """Write the configuration to the run folder, if there is one; that of a run to resume must be the same."""
        if self.folder is None:
            if resume:
                raise ConfigError("resume: expected the folder of the run to continue, found none.")
        elif not should_resume(self.folder, self.identity(), resume=resume):
            save_json(self.folder / "config.json", self.identity())

    def learned_space(self, manifold: ProductManifold) -> str:
        """The space with its current curvatures, in the graph's own unit of length."""
        kappas = [kappa / self.unit**2 for kappa in curvature_values(manifold)]
        return learned_signature(parse_signature(self.settings.space), kappas)

    def config(self) -> TrainingSettings:
        """Epochs and learning rates."""
        settings, point_lr = self.settings, POINT_LR * self.diameter
        rates = {"lr": point_lr if settings.method == "free" else NETWORK_LR, "curvature_lr": CURVATURE_LR}
        rates = {name: auto for name, auto in rates.items() if getattr(settings, name) == "auto"}
        return settings.training(epochs=self.epochs, patience=self.epochs, l2=0.0, decay="cosine", **rates)

    def identity(self) -> dict[str, Any]:
        """Configuration that a resumed run must share."""
        names = ("space", "dim", "objective", "method", "start", "hidden_channels", "act", "random_state")
        return {
            "model": "embedding",
            "options": {**{name: getattr(self.settings, name) for name in names}, "sources": self.sources},
            "training": {k: v for k, v in asdict(self.config()).items() if k not in ("epochs", "patience")},
            "nodes": self.data.num_nodes,
            "data": fingerprint(self.data.edge_index, self.data.get("edge_weight")),
        }

    def trial(self) -> Trial:
        """Training from the best of the starts, after their trials."""
        most = int(MOST_TRIED * min(self.epochs, EPOCHS))
        return self._best(self.trial_epochs, most, shown=bool(self.settings.verbose))

    def short_trial(self) -> Trial:
        """Training from the start that is best after the shortest trial."""
        return self._best(TRIAL, TRIAL)

    def _best(self, epochs: int, most: int, *, shown: bool = False) -> Trial:
        """Training from the best start; a single one, and a run with a checkpoint, which it loads, need no trials."""
        starts, earlier = self._starts(epochs), len(self.trials)
        if self.has_checkpoint() or len(starts) == 1 or self.epochs <= TRIAL or self.sources:
            chosen = Trial(self._trainer(starts[min(starts)]), self.folder, self.make_film, space=self.settings.space)
        else:
            chosen = best_trial(self._trials(starts), epochs, most, shown=shown)
            if self.folder is not None:
                chosen.move_to(self.folder)
        self.trials[earlier:] = [chosen]
        return chosen

    def has_checkpoint(self) -> bool:
        """Whether the run folder has a state to continue from."""
        folder = self.folder
        return folder is not None and self.communicator.run_on_rank0((folder / "checkpoint.safetensors").exists)

    @property
    def trial_epochs(self) -> int:
        """Epochs after which starts are compared for the first time."""
        return max(TRIAL, int(TRIAL_SHARE * min(self.epochs, EPOCHS)))

    def _trials(self, starts: dict[int, Start]) -> Iterator[Trial]:
        """A trial of each start, without those that are not better than the first one from the outset."""
        outset = math.inf
        for place, (number, start) in enumerate(starts.items(), 1):
            trainer = self._trainer(start)
            value = float(trainer.task.loss().detach())
            outset = value if place == 1 else outset
            if not start.if_better or value < outset:
                folder = None if self.folder is None else self.folder / TRIALS / str(number)
                name, space = f"start {place} of {len(starts)}", self.settings.space
                self.trials.append(Trial(trainer, folder, self.make_film, name=name, space=space))
                yield self.trials[-1]

    def _starts(self, trial_epochs: int) -> dict[int, Start]:
        """Starts that a trial of this length can compare, by number; fixed curvatures need more epochs when freed."""
        settings, held = self.settings, self.settings.curvature_lr == 0
        network = settings.method != "free"
        candidates = starts(self.space, self.scaling, settings.start, settings.random_state, held=held, network=network)
        return {n: start for n, start in enumerate(candidates) if FIXED_SHARE * trial_epochs >= start.fixed_epochs}

    def _trainer(self, start: Start) -> Trainer:
        config, objective = self.config(), self.settings.objective
        points, learns = self._points(start).to(self.device), config.curvature_lr > 0
        if self.watched is None and isinstance(points, FreePoints):
            return self.quasi_newton(points, learn_curvatures=learns, fixed_epochs=start.fixed_epochs)
        radius = self.diameter / 2 if learns else None
        if self.watched is None:  # L-BFGS on the weights of a network converges early to poor minima
            return Trainer(points, self.task(points), config, radius=radius)
        if self.communicator.world_size == 1:
            watched = GraphDistances.of(self.data, self.watched)
            task = SampledEmbeddingTask(points, self.data, self.sources, watched, objective)
            return Trainer(points, task, config, radius=radius)
        shared = SharedEmbeddingTask(
            points, self.data, self.sources, self.watched, self.communicator, config.random_state, objective
        )
        return PartTrainer(points, shared, config, communicator=self.communicator, radius=radius)

    def quasi_newton(self, points: FreePoints, *, learn_curvatures: bool, fixed_epochs: int = 0) -> QuasiNewtonTrainer:
        """A trainer of free points on all pairs; the unit of each point is a typical distance to near nodes."""
        near = self.distances.weights.double().mean(1, keepdim=True)
        units: dict[str, torch.Tensor | float] = {"points": torch.where(near > 0, near.rsqrt(), self.diameter)}
        radius = self.diameter / 2 if learn_curvatures else None
        return QuasiNewtonTrainer(
            points, self.task(points), self.config(), units=units, radius=radius, fixed_epochs=fixed_epochs
        )

    def task(self, points: FreePoints | NetworkPoints) -> EmbeddingTask:
        """The objective over all pairs."""
        if self.settings.objective == "neighbours":
            return RankingTask(points, Neighbours.of(self.data))
        return EmbeddingTask(points, self.distances, self.settings.objective)

    def _points(self, start: Start) -> FreePoints | NetworkPoints:
        settings, hidden = self.settings, self.settings.hidden_channels
        if settings.method == "free":
            return FreePoints(self.data.num_nodes, start.space, start.points)
        with seeded(settings.random_state):
            points = NetworkPoints(
                self.data, start.space, hidden_channels=hidden, act=settings.act, adjacency=self.adjacency
            )
        if settings.start == "graph":
            points.start_at(start.points)
        return points

    @cached_property
    def adjacency(self) -> SparseMatrix:
        """Normalised adjacency of the graph, for the κ-GCN."""
        return normalized_adjacency(self.data.edge_index, self.data.get("edge_weight"), self.data.num_nodes)


def source_count(settings: EmbeddingSettings, nodes: int) -> int:
    """Number of sources in each step for a graph with so many nodes; 0 for all pairs.

    Raises:
        ConfigError: There are learning rates, but points on all pairs are trained by L-BFGS.

    >>> source_count(EmbeddingSettings("H2"), 5000), source_count(EmbeddingSettings("H2"), 5001)
    (0, 64)
    """
    if nodes < 1:
        raise GraphError("expected a graph with nodes, found none.")
    if settings.sources == "auto":
        sources = 0 if nodes <= ALL_PAIRS else SOURCES
    else:
        sources = 0 if int(settings.sources) >= nodes or nodes <= 2 * WATCHED else int(settings.sources)
    if settings.method == "free" and not sources:
        rates = {"lr": ("auto", ("auto",)), "curvature_lr": ("auto, or 0 to keep them,", ("auto", 0))}
        for name, (expected, used) in rates.items():
            if getattr(settings, name) not in used:
                raise ConfigError(
                    f"{name}: expected {expected} for points on all pairs, which L-BFGS trains without learning rates, "
                    f"found {getattr(settings, name)}. Leave it out, or take sampled pairs (sources)."
                )
    return sources


def curvatures_of(manifold: ProductManifold) -> list[Curvature]:
    """The curvature modules of the factors."""
    return [module for module in manifold.modules() if isinstance(module, Curvature)]


def curvature_values(manifold: ProductManifold) -> list[float]:
    """Current curvatures of the factors."""
    return [curvature.value for curvature in curvatures_of(manifold)]


def held_out(nodes: int, seed: int) -> torch.Tensor:
    """Source nodes for early stopping and for the final measurement, drawn independently of training."""
    generator = torch.Generator().manual_seed((seed + 1) * OTHER % 2**63)
    return torch.randperm(nodes, generator=generator)[: WATCHED + MEASURED]
