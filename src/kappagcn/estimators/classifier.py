"""KappaGCNClassifier: node classification in one line, in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.errors import CheckpointError, GraphError, KappaGCNError, SplitError, TrainingError
from kappagcn.estimators.base import Estimator
from kappagcn.estimators.defaults import resolved, start_space
from kappagcn.estimators.labelled import encoded, label_array, read_labelled, unlabelled
from kappagcn.estimators.network import build_network, prepare_features, training_config
from kappagcn.estimators.settings import ClassificationSettings
from kappagcn.geometry.signature import learned_signature, parse_signature
from kappagcn.graphs import Split, random_split
from kappagcn.graphs.datasets.preprocess import column_statistics
from kappagcn.graphs.io.node_data import one_hot
from kappagcn.models import NodeClassifier, build_model
from kappagcn.training import FullGraph, MiniBatch, Partitioned, Strategy, fit, layerwise, reporting, seeded
from kappagcn.training.checkpoint import load_tensors, save_tensors
from kappagcn.training.minibatch import check_batches
from kappagcn.training.tasks import inputs

__all__ = ["KappaGCNClassifier"]

Array = NDArray[Any]
STOPPING = 0.1  # of the labelled nodes, where no mask says which


class KappaGCNClassifier(Estimator, ClassificationSettings):
    """Classes of a graph's nodes from some of them, by a κ-GCN.

    A graph is PyG's ``Data``; a SciPy or NumPy adjacency matrix with features `x` (N, D) and labels `y` (N,); or a
    NetworkX graph with `x` as names of node attributes and `y` as the name of one. Directed edges count in both
    directions. Labels may be numbers or words; −1, None, NaN and "" mean that there is none. Without features every
    node is a feature of its own; there can be no other graph to predict for then.

    Which nodes train is what ``data.train_mask`` says, ``val_mask`` deciding when to stop; nodes of ``test_mask`` do
    neither. Without masks all labelled nodes train but for a tenth of each class, which decides; where there is none to
    decide, the training loss does.

    Attributes:
        classes_: Labels in the order of `predict_proba`'s columns.
        model_: The network.
        curvatures_: Learned, one per factor of the space.
        labels_: Of the fitted nodes, as places among `classes_`, −1 for none.
        history_: Numbers of each epoch.

    >>> from kappagcn.graphs import disease, random_split
    >>> data = disease()
    >>> classifier = KappaGCNClassifier("H8", epochs=30).fit(data)
    >>> classifier.predict().shape, classifier.embed().shape
    ((1000,), (1000, 8))
    """

    def check(self) -> None:
        """Refuse arguments that no graph could be classified with."""
        super().check()
        parse_signature(self.space)
        self._check_batches()

    def _check_batches(self) -> None:
        check_batches(1 if self.batch_size is None else self.batch_size, self.num_neighbors, 0)
        if self.batch_size is not None:
            check_batches(self.batch_size, self.num_neighbors, self.num_layers + 1)

    def settings(self, x: Tensor) -> ClassificationSettings:
        """All settings for a graph with these features: no "auto", and curvatures to start from."""
        return replace(resolved(self, x), space=start_space(self.space))

    def fit(
        self,
        graph: Any,
        x: Any = None,
        y: Any = None,
        *,
        folder: str | Path | None = None,
        resume: bool = False,
        group: ProcessGroup | Communicator | None = None,
    ) -> KappaGCNClassifier:
        """Train on the labelled nodes of a graph.

        Args:
            graph: The graph.
            x: Features, where the graph does not have them.
            y: Labels, where the graph does not have them.
            folder: Where to keep the run; None to keep nothing.
            resume: Go on with the run in `folder`, if there is one, to the same numbers as without the interruption.
            group: Process group of torch.distributed to train with, by parts of the graph or of each batch; all its
                processes call `fit` with the same arguments, and rank 0 alone writes. None to work in this process
                alone.
        """
        data, labels = read_labelled(graph, x, y)
        if labels is None:
            raise GraphError("expected labels, data.y or y, found none.")
        return self.fit_split(data, labels, None, folder=folder, resume=resume, group=group)

    def fit_split(
        self,
        data: Data,
        labels: Array,
        split: Split | None,
        *,
        folder: str | Path | None = None,
        resume: bool = False,
        group: ProcessGroup | Communicator | None = None,
    ) -> KappaGCNClassifier:
        """Train on a graph as `kappagcn.graphs` reads it, without reading it again.

        Args:
            data: The graph; it is left as it is.
            labels: Label of each node, (N,).
            split: Which nodes are for what; None for masks of `data` or, without any, a random split.
            folder: Run directory; None to keep nothing.
            resume: Continue the run in `folder`, if there is one.
            group: Process group of torch.distributed to train with.
        """
        self.check()
        communicator = Communicator.of(group)
        data = copy(data)  # features and labels are replaced below, tensors are shared
        own_features = data.get("x") is not None
        data.x = data.x.float() if own_features else one_hot(data.num_nodes)
        settings = self.settings(data.x)
        classes, data.y = encoded(labels, data.get("class_names"))
        split = _split(data, self.random_state) if split is None else split
        statistics = column_statistics(data.x) if settings.feature_norm == "columns" else None
        data.x = prepare_features(settings, data.x, statistics)
        with seeded(self.random_state):
            model = build_network(settings, data.num_features, len(classes))
        config = training_config(settings, self.random_state)
        shown = self.verbose and communicator.rank == 0
        with reporting("training", self.epochs) if shown else nullcontext() as report:
            callbacks = [] if report is None else [report]
            strategy = self._strategy(communicator)
            options: dict[str, Any] = {"folder": folder, "resume": resume, "callbacks": callbacks}
            result = fit(model, data, split, config, strategy=strategy, **options)
        self.classes_, self.model_, self.history_, self.result_ = classes, model, result.history, result
        self._data: Data | None = data
        self.labels_: Array = data.y.numpy()
        self._params = self.get_params()
        self._settings, self._statistics, self._own_features = settings, statistics, own_features
        return self

    def _strategy(self, communicator: Communicator) -> Strategy:
        if self.batch_size is not None:
            return MiniBatch(self.batch_size, self.num_neighbors, group=communicator)
        return FullGraph() if communicator.world_size == 1 else Partitioned(communicator)

    @property
    def curvatures_(self) -> list[float]:
        """Learned, one per factor of the space."""
        return [curvature.value for curvature in self._fitted().curvatures()]

    @property
    def space_(self) -> str:
        """The space with its learned curvatures; a factor whose curvature changed its sign is written U."""
        return learned_signature(parse_signature(self._fitted().options["space"]), self.curvatures_)

    def _fitted(self) -> NodeClassifier:
        if not hasattr(self, "model_"):
            raise TrainingError("expected a classifier that was fitted or loaded, found a new one. Call fit first.")
        model: NodeClassifier = self.model_
        return model

    def _graph(self, graph: Any, x: Any, y: Any = None) -> tuple[Data, Array | None]:
        """The fitted graph, or another one with its features prepared as those of the fitted one were."""
        self._fitted()
        if graph is None:
            if self._data is None:
                raise TrainingError("expected a graph, which a saved classifier does not hold, found none.")
            if x is not None:
                raise GraphError("expected a graph with the features x, found features alone.")
            return self._data, None if y is None else label_array(y, self._data.num_nodes)
        data, labels = read_labelled(graph, x, y)
        if not self._own_features:
            raise GraphError(
                "expected no other graph: this classifier was fitted without features, so it knows its own nodes only."
            )
        if data.get("x") is None or data.x.shape[1] != self.model_.options["in_channels"]:
            width = "none" if data.get("x") is None else str(data.x.shape[1])
            raise GraphError(f"expected {self.model_.options['in_channels']} features, as in fit, found {width}.")
        data.x = prepare_features(self._settings, data.x, self._statistics)
        return data, labels

    @torch.no_grad()
    def _rows(self, data: Data) -> Tensor:
        """What the network makes of all nodes: at once, or where it was trained on batches layer by layer."""
        if self.batch_size is not None:
            return layerwise(self.model_, data.x, data.edge_index, data.get("edge_weight"))
        self.model_.eval()
        rows: Tensor = self.model_(*inputs(self.model_, data))
        return rows

    def scores(self, graph: Any = None, x: Any = None) -> Tensor:
        """Logits of the classes, (N, C)."""
        return self._rows(self._graph(graph, x)[0])

    def predict_proba(self, graph: Any = None, x: Any = None) -> Array:
        """Probabilities of the classes, (N, C): for the fitted graph, or another with the same features."""
        probabilities: Array = self.scores(graph, x).softmax(1).numpy()
        return probabilities

    def predict(self, graph: Any = None, x: Any = None) -> Array:
        """The most probable label of every node, (N,)."""
        places = self.predict_proba(graph, x).argmax(axis=1)
        labels: Array = self.classes_[places]
        return labels

    @torch.no_grad()
    def embed(self, graph: Any = None, x: Any = None) -> Array:
        """The last hidden layer as points of the space, (N, D)."""
        manifold = self._fitted().manifold
        assert manifold is not None
        points: Array = manifold.expmap0(torch.from_numpy(self.tangent(graph, x))).numpy()
        return points

    def tangent(self, graph: Any = None, x: Any = None) -> Array:
        """The last hidden layer as tangent vectors at the origin, (N, D), which points near a boundary come from."""
        data, _ = self._graph(graph, x)
        model: Any = self.model_
        logits, model.logits = model.logits, None  # without them the network ends in its hidden layer
        try:
            vectors: Array = self._rows(data).numpy()
        finally:
            model.logits = logits
        return vectors

    def score(self, graph: Any = None, x: Any = None, y: Any = None, *, nodes: Sequence[int] | None = None) -> float:
        """Accuracy on `nodes`, or those of ``data.test_mask``; on all labelled ones of another graph that has neither.

        Args:
            graph: A graph with labels; the fitted one by default.
            x: Its features, where it does not have them.
            y: Labels, where the graph does not have them.
            nodes: Which nodes count.
        """
        data, labels = self._graph(graph, x, y)
        if labels is None and graph is None:
            labels = np.array([None, *self.classes_], object)[data.y.numpy() + 1]
        if labels is None:
            raise GraphError("expected labels to compare with, data.y or y, found none.")
        if nodes is not None:
            where = _places(nodes, data.num_nodes)
        elif data.get("test_mask") is not None:
            where = data.test_mask.nonzero().flatten().numpy()
        elif graph is None:
            raise SplitError("expected nodes that did not train, as nodes= or data.test_mask, found neither.")
        else:
            where = np.flatnonzero(~unlabelled(labels))
        if not len(where) or unlabelled(labels)[where].any():
            raise GraphError("expected nodes that all have a label, found some without, or no nodes.")
        return float((self.predict_proba(graph, x).argmax(axis=1)[where] == self._numbers(labels[where])).mean())

    def _numbers(self, labels: Array) -> Array:
        """Places of labels among the classes, −1 for those that are none."""
        places = {label: i for i, label in enumerate(self.classes_.tolist())}
        numbers = np.array([places.get(label, -1) for label in labels.tolist()])
        if (numbers < 0).all():
            known, other = self.classes_.tolist()[0], labels.tolist()[0]
            raise GraphError(f"expected labels such as {known!r}, as in fit, found none of those, but {other!r}.")
        return numbers

    @property
    def can_be_saved(self) -> bool:
        """Whether it knows more than the nodes of its own graph, which it does when it was fitted with features."""
        return hasattr(self, "_own_features") and bool(self._own_features)

    def save(self, path: str | Path) -> Path:
        """Write everything but the graph to one file without pickles."""
        model = self._fitted()
        if not self.can_be_saved:
            raise GraphError("expected features: fitted without, a classifier knows the nodes of its graph only.")
        about = {
            "classifier": self._params,
            "classes": self.classes_.tolist(),
            "settings": asdict(self._settings),
            "options": model.options,
        }
        tensors = {f"model/{name}": t for name, t in model.state_dict().items()}
        if self._statistics is not None:
            tensors |= {"features/mean": self._statistics[0], "features/spread": self._statistics[1]}
        save_tensors(Path(path), tensors, about)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> KappaGCNClassifier:
        """A classifier as it was saved, to predict for graphs with the same features."""
        tensors, about = load_tensors(Path(path))
        try:
            classifier = cls(**about["classifier"])
            model = build_model("kappa-gcn", **about["options"])
            model.load_state_dict({name[6:]: t for name, t in tensors.items() if name.startswith("model/")})
            settings = ClassificationSettings(**about["settings"])
            columns = settings.feature_norm == "columns"
            statistics = (tensors["features/mean"], tensors["features/spread"]) if columns else None
            classes = np.array(about["classes"])
            if len(classes) != about["options"]["num_classes"]:
                raise ValueError(f"{len(classes)} classes for a network of {about['options']['num_classes']}")
        except (KappaGCNError, KeyError, TypeError, RuntimeError, ValueError) as problem:
            raise CheckpointError(
                f"{path}: expected a classifier of this version, found another ({problem})."
            ) from None
        classifier.classes_, classifier.model_, classifier.history_ = classes, model.eval(), []
        classifier._data, classifier._params = None, classifier.get_params()
        classifier._settings, classifier._statistics, classifier._own_features = settings, statistics, True
        return classifier


def _split(data: Data, seed: int) -> Split:
    """Masks decide as far as there are any; nodes of a test mask neither train nor stop in any case."""
    if data.get("train_mask") is not None:
        return Split.from_masks(data)
    labels, masks = data.y.clone(), {key: data.get(f"{key}_mask") for key in ("val", "test")}
    for mask in masks.values():
        if mask is not None:
            labels[mask] = -1
    if masks["val"] is None:
        return random_split(labels, seed, train=1 - STOPPING, stopping=STOPPING, validation=0.0)
    stopping = (masks["val"] & (data.y >= 0)).nonzero().flatten().numpy()
    return Split((labels >= 0).nonzero().flatten().numpy(), stopping, [], [], name="masks")


def _places(nodes: Any, count: int) -> Array:
    """Nodes as numbers, from numbers or a mask."""
    places = np.asarray(nodes)
    if places.dtype == bool and places.shape == (count,):
        return np.flatnonzero(places)
    if (
        places.ndim != 1
        or places.dtype.kind not in "iu"
        or (places.size and not 0 <= places.min() <= places.max() < count)
    ):
        raise GraphError(f"nodes: expected numbers from 0 to {count - 1}, or a mask of {count}, found others.")
    return places
