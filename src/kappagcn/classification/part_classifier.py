"""A classifier on the parts of a graph in files, in a run folder; no process ever has the whole graph or all scores."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributed import ProcessGroup

from kappagcn._version import __version__
from kappagcn.classification import network
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.distributed import Communicator, Part
from kappagcn.errors import ConfigError
from kappagcn.run_folder import save_json
from kappagcn.sparse.compressed import csr_tensor
from kappagcn.training.part_fitting import evaluate_parts, fit_parts, part_files, save_predictions
from kappagcn.training.provenance import provenance
from kappagcn.training.trainer import seeded

__all__ = ["classify_parts"]

Record = dict[str, Any]
SAMPLE = 10_000  # nodes of part 0 by which settings that depend on the features are chosen


def classify_parts(
    classifier: KappaGCNClassifier,
    parts: str | Path,
    folder: str | Path,
    *,
    resume: bool = False,
    group: ProcessGroup | Communicator | None = None,
    scratch: str | Path | None = None,
) -> Record:
    """Train on the parts of a graph, evaluate on its test nodes, and write predictions part by part.

    Settings that depend on the features are chosen by the first nodes of part 0; own features are mixed with those of
    neighbours unless `self_features` is on.

    Args:
        classifier: Classifier with the settings.
        parts: Folder that `kappagcn data partition` wrote.
        folder: Run folder: network, metrics and summary as in any run, and ``predictions/part-K.npz`` with nodes,
            predicted classes and their probabilities.
        resume: Continue the run in `folder`, if there is one.
        group: Process group of torch.distributed, one process for each part or fewer, which then take turns.
        scratch: Folder for temporary files where parts take turns; all processes must have access to it.

    Returns:
        The summary; on ranks above 0 an empty one.
    """
    communicator, folder = Communicator.of(group), Path(folder)
    about = Part(parts, communicator.rank).about
    settings = communicator.run_on_rank0(lambda: _settings(classifier, Part(parts, 0)))
    _check(settings, about)
    statistics = None
    if settings.feature_norm == "columns":
        statistics = torch.tensor(about["features"]["mean"]), torch.tensor(about["features"]["deviation"])
    with seeded(classifier.random_state):
        model = network.build_network(settings, about["columns"], about["classes"])
    config = settings.training(random_state=classifier.random_state)
    prepare = partial(network.prepare_features, settings, statistics=statistics)
    with part_files(model, parts, group=communicator, scratch=scratch, prepare=prepare) as task:
        with classifier.progress("training", communicator) as callbacks:
            result = fit_parts(model, task, config, folder=folder / "run", resume=resume, callbacks=callbacks)
        test = evaluate_parts(task, save=partial(save_predictions, folder / "predictions"))
    if communicator.rank > 0:
        return {}
    fitted = _fitted(classifier, model, settings, statistics, about)
    fitted.save(folder / "model.safetensors")
    summary: Record = {
        "kappagcn": __version__,
        "graph": str(Path(parts).name),
        "report": about["report"],
        "parts": about["parts"],
        "processes": communicator.world_size,
        "model": settings.model,
        "space": classifier.space,
        "learned_space": fitted.space_,
        **test,
        "test_nodes": about["roles"]["test"],
        "curvatures": fitted.curvatures_,
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "seconds": round(result.seconds, 2),
        "history": result.history,
    }
    save_json(folder / "summary.json", summary | provenance(classifier))
    return summary


def _settings(classifier: KappaGCNClassifier, part: Part) -> ClassificationSettings:
    classifier.check()
    settings = classifier.settings(_first_rows(part.features()))
    if classifier.feature_norm == "auto" and part.about["features"]["sparse"]:
        settings = replace(settings, feature_norm="lengths")  # no process can hold them dense
    return replace(settings, self_features="off") if settings.self_features == "auto" else settings


def _first_rows(x: Tensor) -> Tensor:
    if x.layout == torch.strided:
        return x[:SAMPLE]
    count = min(SAMPLE, x.shape[0])
    starts = x.crow_indices()[: count + 1]
    entries = int(starts[-1])
    return csr_tensor(starts, x.col_indices()[:entries], x.values()[:entries], (count, x.shape[1]))


def _check(settings: ClassificationSettings, about: Record) -> None:
    """Refuse settings that need the whole graph in one process."""
    if settings.batch_size is not None:
        raise ConfigError("batch_size: expected none for a graph in parts, which takes whole parts; use more parts.")
    if settings.feature_map == "points":
        raise ConfigError("feature_map: expected tangent for a graph in parts, found points.")
    if settings.feature_norm == "columns" and about["features"]["sparse"]:
        raise ConfigError("feature_norm: expected rows, lengths or none for sparse features in parts, found columns.")
    if settings.edge_weights not in ("auto", "raw"):
        raise ConfigError(
            f"edge_weights: expected auto or raw for a graph in parts, whose weights count as they are, found "
            f"{settings.edge_weights}."
        )
    if settings.device != "cpu":
        raise ConfigError(f"device: expected cpu for a graph in parts, found {settings.device}.")


def _fitted(
    classifier: KappaGCNClassifier, model: Any, settings: ClassificationSettings, statistics: Any, about: Record
) -> KappaGCNClassifier:
    """The classifier as if it had been loaded: it predicts for graphs with the same features."""
    fitted = type(classifier)(**classifier.get_params())
    fitted.classes_ = np.array(about["class_names"] or list(range(about["classes"])))
    fitted.model_, fitted.history_ = model.eval(), []
    fitted._unit, fitted._data, fitted._params, fitted.node_names_ = 1.0, None, fitted.get_params(), None
    fitted.feature_names_, fitted.column_rules_, fitted._is_weighted = None, None, False
    fitted._settings, fitted._statistics, fitted._own_features = settings, statistics, True
    return fitted
