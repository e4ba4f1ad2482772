"""A classifier on a mapped folder: no process ever holds the graph, its features, or the rows of a layer."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn._version import __version__
from kappagcn.classification import network
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.evaluation import class_metrics, run_record
from kappagcn.classification.files import as_loaded
from kappagcn.classification.minibatch import MiniBatch
from kappagcn.classification.parts import HaloParts
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError
from kappagcn.graphs import MappedGraph, MappedRows, Split
from kappagcn.models import NodeClassifier
from kappagcn.nn.inputs import Features
from kappagcn.run_folder import save_json
from kappagcn.sparse import MappedAdjacency, NeighbourSampler, SparseMatrix
from kappagcn.training.layer_by_layer import Inference
from kappagcn.training.provenance import provenance
from kappagcn.training.run import run_training
from kappagcn.training.run_lock import locked
from kappagcn.training.tasks import mapped_adjacency
from kappagcn.training.trainer import seeded

Record = dict[str, Any]
STRATEGIES = ("batches", "halo")
SAMPLE = 10_000  # nodes by which settings that depend on the features are chosen
BATCH_SIZE = 512
BLOCK = 2**16  # nodes whose predictions are computed together


def classify_folder(
    classifier: KappaGCNClassifier,
    path: str | Path,
    folder: str | Path,
    *,
    strategy: str = "batches",
    resume: bool = False,
    group: ProcessGroup | Communicator | None = None,
) -> Record:
    """Train on a mapped folder, evaluate on its test nodes, and write predictions for all nodes.

    The split is that of the masks, or random by class. Weights of edges count as they are. Own features are mixed with
    those of neighbours unless `self_features` is on.

    Args:
        classifier: Classifier with the settings.
        path: Folder that `kappagcn data convert` wrote.
        folder: Run folder, as of any run, and ``predictions.npz`` with the class of each node and its probability.
        strategy: ``"batches"`` with sampled neighbours, of which each process takes its share; ``"halo"`` for
            full-graph training, each process on the rows of its part.
        resume: Continue the run in `folder`, if there is one.
        group: Process group of torch.distributed; None for one process. On ranks above 0 the summary is empty.
    """
    communicator, folder = Communicator.of(group), Path(folder)
    if strategy not in STRATEGIES:
        raise ConfigError(f"strategy: expected {' or '.join(STRATEGIES)}, found {strategy!r}.")
    classifier.check()
    graph = MappedGraph(path, check=communicator.rank == 0)
    settings, statistics = _settings(classifier, graph)
    data, split, classes = folder_data(graph, settings, statistics), graph.split(), _classes(graph)
    with seeded(classifier.random_state):
        model = network.build_network(settings, graph.features().shape[1], len(classes))
    config = settings.training(random_state=classifier.random_state)
    chosen: Any = HaloParts(communicator)
    if strategy == "batches":
        chosen = MiniBatch(classifier.batch_size or BATCH_SIZE, classifier.num_neighbors, group=communicator)
    trainer = chosen.trainer(model, data, split, config)
    about = {
        "kappagcn": __version__,
        "model": model.name,
        "options": model.options,
        "settings": asdict(settings),
        "training": asdict(config),
        "graph": graph.identity,
        "strategy": strategy,
        **trainer.task.identity(),
    }
    with locked(folder, communicator), classifier.progress("training", communicator) as callbacks:
        result = run_training(trainer, about, folder=folder, resume=resume, callbacks=callbacks)
    if communicator.rank > 0:
        return {}
    tested = _predict(model, data, split, folder)
    fitted = as_loaded(classifier, classes, model, settings, statistics)
    fitted.save(folder / "model.safetensors")
    summary: Record = {
        "kappagcn": __version__,
        "graph": str(graph.about.get("name") or graph.path.name),
        "report": graph.about.get("report", ""),
        "model": settings.model,
        "space": classifier.space,
        "learned_space": fitted.space_,
        "strategy": strategy,
        "processes": communicator.world_size,
        **tested,
        "features": True,
        "curvatures": fitted.curvatures_,
        **run_record(result),
        "history": result.history,
    }
    save_json(folder / "summary.json", summary | provenance(classifier))
    return summary


def folder_data(graph: MappedGraph, settings: ClassificationSettings, statistics: tuple[Tensor, Tensor] | None) -> Data:
    """The graph for training tasks: features and edges are read when their rows are."""
    adjacency = MappedAdjacency(
        *(graph.arrays.get(name) for name in ("indptr", "indices", "weights", "strengths")),  # type: ignore[arg-type]
        on_read=graph.count_reads,
    )

    def prepared(rows: Tensor) -> Features:
        x = network.prepare_features(settings, rows, statistics)
        return x if x.layout == torch.strided else SparseMatrix.from_tensor(x)

    data = Data(x=graph.features().map(prepared), edge_index=adjacency, y=graph.labels(), num_nodes=graph.num_nodes)
    data.parts = graph.parts
    return data


def _settings(
    classifier: KappaGCNClassifier, graph: MappedGraph
) -> tuple[ClassificationSettings, tuple[Tensor, Tensor] | None]:
    """The settings, by a sample of nodes, and the statistics of the columns of features that they need."""
    rows = graph.features()
    every = max(1, graph.num_nodes // SAMPLE)
    sample, labels = rows[torch.arange(0, graph.num_nodes, every)[:SAMPLE]], int((graph.labels() >= 0).sum())
    settings = classifier.settings(sample, labels)
    if classifier.feature_norm == "auto" and "features" not in graph.arrays:
        settings = replace(settings, feature_norm="lengths")  # no process can hold them dense
    if settings.self_features == "auto":
        settings = replace(settings, self_features="off")
    refused = {
        "feature_map": (settings.feature_map == "points", "tangent"),
        "edge_weights": (settings.edge_weights not in ("auto", "raw"), "auto or raw"),
        "self_training": (settings.self_training > 0, "0"),
        "device": (settings.device != "cpu", "cpu"),
    }
    for name, (wrong, expected) in refused.items():
        if wrong:
            found = getattr(settings, name)
            raise ConfigError(f"{name}: expected {expected} for a graph that is read by rows, found {found}.")
    if settings.feature_norm == "columns" and "features" not in graph.arrays:
        raise ConfigError("feature_norm: expected rows, lengths or none for sparse features in a folder, found columns")
    return settings, _column_statistics(rows) if settings.feature_norm == "columns" else None


def _column_statistics(rows: MappedRows) -> tuple[Tensor, Tensor]:
    """Means and deviations of the columns block by block, as `kappagcn.graphs.standardize_columns` takes them."""
    sums, squares = (torch.zeros(rows.shape[1], dtype=torch.float64) for _ in range(2))
    shift, binary = None, torch.ones(rows.shape[1], dtype=torch.bool)
    for block in rows.blocks():
        dense = block.double()
        shift = dense.mean(0) if shift is None else shift  # squares of large means would cancel
        binary &= ((block == 0) | (block == 1)).all(0)
        sums += (dense - shift).sum(0)
        squares += (dense - shift).square().sum(0)
    assert shift is not None
    mean = sums / len(rows)
    deviation = (squares / len(rows) - mean.square()).clamp(min=0).sqrt()
    unchanged = (deviation == 0) | binary
    return torch.where(unchanged, 0, shift + mean).float(), torch.where(unchanged, 1, deviation).float()


def _classes(graph: MappedGraph) -> np.ndarray[Any, Any]:
    """Names of the classes, or their numbers."""
    names = graph.about.get("class_names")
    return np.array(names or range(int(graph.labels().max()) + 1))


@torch.no_grad()
def _predict(model: NodeClassifier, data: Data, split: Split, folder: Path) -> Record:
    """Write predictions of all nodes, exact and layer by layer; returns the metrics on the test nodes."""
    adjacency = mapped_adjacency(model, data.edge_index)
    sampler = None if adjacency is None else NeighbourSampler(adjacency, (-1,))
    classes, nodes = int(model.options["num_classes"]), int(data.num_nodes)
    predicted, probability = np.empty(nodes, np.int32), np.empty(nodes, np.float32)
    if model.needs_whole_graph:
        raise ConfigError(f"model: expected a network that takes blocks of rows, found {model.name}.")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        scores = Inference(model.eval(), data.x, sampler, scratch=Path(scratch)).scores()
        for start in range(0, nodes, BLOCK):
            values, places = scores[start : start + BLOCK].softmax(1).max(1)
            predicted[start : start + BLOCK], probability[start : start + BLOCK] = places.numpy(), values.numpy()
    np.savez(folder / "predictions.npz", predicted=predicted, probability=probability)
    tested = split.final_test_nodes()
    if not len(tested):
        return {"accuracy": None, "test_nodes": 0}
    truth, guess = data.y[tested].long(), torch.from_numpy(predicted)[tested]
    return {**class_metrics(truth, guess, classes), "test_nodes": len(tested)}
