"""How well the curvatures of an embedding are determined: its objective as each one is moved, points refined."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from kappagcn.distributed import Communicator
from kappagcn.embedding.run import EmbeddingRun, curvatures_of
from kappagcn.embedding.settings import EmbeddingSettings
from kappagcn.errors import ConfigError
from kappagcn.geometry import Curvature
from kappagcn.graphs import assemble
from kappagcn.models.points import FreePoints
from kappagcn.run_folder import Embedded, SavedRun, save_json
from kappagcn.training.curvature_interval import CurvatureInterval, interval_of, upper_limit

REFINE = 60  # epochs at each value, at most: fewer where the objective falls below the limit


def embedding_intervals(points: FreePoints, run: EmbeddingRun) -> list[CurvatureInterval | None]:
    """Intervals of all learned curvatures; None for factors that are flat by definition. The points stay as they are.

    Args:
        points: Trained points, in the run's unit of length.
        run: The embedding on all pairs.
    """
    trained = {name: t.detach().clone() for name, t in points.state_dict().items()}
    reached = run.quasi_newton(points, learn_curvatures=False)
    limit = max(upper_limit(reached.value), run.task(points).perfect)

    def refined() -> float:
        trainer = run.quasi_newton(points, learn_curvatures=False)
        while trainer.epoch < REFINE and not trainer.stuck and trainer.value > limit * 0.999:
            trainer.run_epoch()
        return trainer.value

    def restore() -> None:
        points.load_state_dict(trained)

    def interval(curvature: Curvature) -> CurvatureInterval | None:
        raw = curvature.raw
        if not raw.requires_grad:
            return None
        learned = interval_of(raw, run.diameter / 2, refined, restore, reached.value, limit)
        return learned.in_units(run.unit)

    return [interval(curvature) for curvature in curvatures_of(points.manifold)]


def add_intervals(folder: Path) -> None:
    """Compute the intervals of a finished embedding from its run folder, and add them to the summary there."""
    saved = SavedRun(folder)
    summary = saved.summary
    if saved.kind != "embedding":
        raise ConfigError(
            f"{folder}: expected an embedding, found a {saved.kind}, whose run has no features. Intervals are computed "
            "together with it: --intervals of kappagcn classify."
        )
    options = saved.config["options"]
    if summary["stopped_by"] != "converged":
        raise ConfigError(
            f"{folder}: expected a run that has converged, found one of {summary['epochs']} epochs that has not. "
            "Continue it with kappagcn embed --resume and more --epochs."
        )
    if options["method"] != "free" or options["sources"] or options["objective"] == "neighbours":
        raise ConfigError(f"{folder}: expected free points on all pairs by their distances, found another embedding.")
    points, run = _restored(saved.embedded, summary.get("chosen_space") or options["space"], options["objective"])
    intervals = embedding_intervals(points, run)
    summary["curvature_intervals"] = [each and each.as_dict() for each in intervals]
    save_json(folder / "summary.json", summary)


@torch.no_grad()
def _restored(embedded: Embedded, space: str, objective: str) -> tuple[FreePoints, EmbeddingRun]:
    """The points of a finished run, and the run, in its unit of length."""
    rows, cols = np.asarray(embedded.edges, np.int64).T
    graph = assemble(rows, cols, len(embedded.tangent), weights=embedded.lengths)
    run = EmbeddingRun(EmbeddingSettings(space, objective=objective), graph, Communicator())
    points = FreePoints(graph.num_nodes, space, torch.from_numpy(embedded.tangent) / run.unit)
    for curvature, kappa in zip(curvatures_of(points.manifold), embedded.curvatures.tolist(), strict=True):
        curvature.raw.fill_(kappa * run.unit**2)
    return points, run
