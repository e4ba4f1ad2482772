"""KappaGCNClassifier: node classification with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from torch import Tensor
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn.classification import network
from kappagcn.classification.evaluation import classifier_intervals
from kappagcn.classification.files import restore_classifier, save_classifier
from kappagcn.classification.fitting import FullGraph, Strategy
from kappagcn.classification.settings import ClassificationSettings
from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError, GraphError
from kappagcn.geometry.signature import Factor, learned_signature, parse_signature
from kappagcn.graphs import Split
from kappagcn.graphs.io.node_data import compact_features, one_hot
from kappagcn.graphs.io.undirected import node_index
from kappagcn.models import NodeClassifier
from kappagcn.training import labelled
from kappagcn.training.curvature_interval import CurvatureInterval
from kappagcn.training.graph_nodes import GraphNodes, as_indices, chosen_rows, training_graph
from kappagcn.training.layer_by_layer import layerwise
from kappagcn.training.minibatch import check_neighbors
from kappagcn.training.networks import in_units, usage
from kappagcn.training.node_arrays import node_frame, node_names
from kappagcn.training.resources import resolve_device, threads_for_graph
from kappagcn.training.sklearn_base import Estimator
from kappagcn.training.tasks import inputs

Array = NDArray[Any]


class KappaGCNClassifier(ClassifierMixin, Estimator, ClassificationSettings):
    """Node classification by a κ-GCN.

    A graph is PyG's ``Data``; a SciPy or NumPy adjacency matrix, a data frame or list of edges with labels `y` (N,) and
    features `x` (N, D); a NetworkX graph with `y` as the name of a node attribute and `x` as names of some; a path; or
    `GraphNodes`, some nodes of a graph, which scikit-learn can divide. Directed edges count in both directions. Labels
    may be numbers or words; −1, None, NaN, "" and "NA" mean that there is none (−1 and 1 alone are two classes).
    Without features nodes get one-hot features, and the classifier cannot predict for other graphs.

    Features and labels in a data frame, a Series or a dict belong to the nodes that its index, its keys, or a column
    such as "id" name; nodes of them that no edge names are added to a graph of edges. Those in arrays, lists and
    tensors belong to the nodes in the order of `node_names_`. Columns of a data frame may be numbers, categories or
    dates, with missing values, see `kappagcn.graphs.columns.encode_columns`.

    Nodes of ``data.train_mask`` train, those of ``val_mask`` decide when to stop, those of ``test_mask`` do neither.
    Without masks all labelled nodes train, except a tenth of each class, which decides when to stop; without stopping
    nodes the training loss decides.

    Attributes:
        classes_: Labels in the order of `predict_proba`'s columns.
        model_: The network.
        curvatures_: Learned curvatures, one per factor of the space.
        node_names_: Names of the fitted nodes, in the order of predictions; None where they are numbered, or loaded.
        feature_names_: Names of the features, where they have some.
        column_rules_: How columns of a table became features, for `kappagcn.graphs.columns.encode_columns`; or None.
        labels_: Labels of the fitted nodes, as indices into `classes_`, −1 for none.
        edge_weights_: How edge weights are used, in words; None for a graph without them.
        history_: Metrics of each epoch.

    >>> from kappagcn.graphs import disease
    >>> classifier = KappaGCNClassifier("H8", epochs=30).fit(disease())
    >>> classifier.predict().shape, classifier.embed().shape
    ((1000,), (1000, 8))
    """

    _source: Data | None = None  # graph of the `GraphNodes` that it was fitted to

    def check(self) -> None:
        """Refuse arguments that are wrong for any graph."""
        super().check()
        parse_signature(self.space)
        whole = "appnp" if self.model == "appnp" else "self_training" if self.self_training else None
        if whole is not None and self.batch_size is not None:
            raise ConfigError(f"batch_size: expected none with {whole}, which needs the whole graph in every step.")
        check_neighbors(self.num_neighbors, 0 if self.batch_size is None else self.num_layers + 1)

    def settings(self, x: Tensor, labels: int) -> ClassificationSettings:
        """All settings for a graph with these features and this number of labels: every "auto" resolved."""
        return network.resolved(self, x, labels)

    def fit(
        self,
        graph: Any,
        y: Any = None,
        *,
        x: Any = None,
        folder: str | Path | None = None,
        resume: bool = False,
        group: ProcessGroup | Communicator | None = None,
    ) -> Self:
        """Train on the labelled nodes of a graph.

        With a group its processes share the graph, or each mini-batch. All of them call `fit` with the same arguments,
        and rank 0 alone writes.

        Args:
            graph: The graph, or `GraphNodes` of it with their labels as `y`.
            y: Labels, where the graph does not have them; or the column of x that holds them, by name.
            x: Features, where the graph does not have them.
            folder: Run folder; None to keep nothing.
            resume: Continue the run in `folder`, if there is one, to the same numbers as without the interruption.
            group: Process group of torch.distributed; None for one process.
        """
        self._source = graph.data if isinstance(graph, GraphNodes) else None
        data, labels, notes = training_graph(graph, x, y)
        communicator = Communicator.of(group)
        self.say(notes, communicator)
        self.fit_split(data, labels, None, folder=folder, resume=resume, group=communicator)
        self.say(f"edge weights: {self.edge_weights_}" if self.edge_weights_ else "", communicator)
        return self

    def fit_split(self, data: Data, labels: Array, split: Split | None, *, group: Any = None, **run: Any) -> Self:
        """Train on a graph as `kappagcn.graphs` reads it, without reading it again.

        Args:
            data: The graph; it is not changed.
            labels: Label of each node, (N,).
            split: Nodes for training, stopping and validation; None for masks of `data` or a random split.
            group: Process group of torch.distributed, as in `fit`.
            run: Arguments `folder` and `resume` of `fit`.
        """
        self.check()
        with threads_for_graph(data):
            return self._fit(data, labels, split, Communicator.of(group), **run)

    def _fit(self, data: Data, labels: Array, split: Split | None, communicator: Communicator, **run: Any) -> Self:
        device = resolve_device(self.device, on_cpu="several processes" if communicator.world_size > 1 else None)
        self._given, data = data, copy(data)  # features, labels and weights are replaced below, tensors are shared
        own_features = data.get("x") is not None
        data.x = compact_features(data.x.float()) if own_features else one_hot(data.num_nodes)
        classes, data.y = labelled.encode_labels(labels, data.get("class_names"))
        settings = self.settings(data.x, int((data.y >= 0).sum()))
        split = labelled.mask_split(data, self.random_state) if split is None else split
        statistics = network.feature_statistics(settings, data.x)
        data.x = network.prepare_features(settings, data.x, statistics)
        settings = network.decide_self_features(settings, data, split, own_features)
        options: dict[str, Any] = {"seed": self.random_state, "device": device}
        options["strategy"] = self._strategy(communicator)
        with self.progress("training", communicator) as callbacks:
            run["callbacks"] = callbacks
            model, self.result_, self._unit = network.train(settings, len(classes), data, split, run=run, **options)
        self.edge_weights_ = usage(settings, data.get("edge_weight"), self._unit)
        self._is_weighted = self.edge_weights_ is not None and self._unit is not None
        data = in_units(data, self._unit)
        self.classes_, self.model_, self.history_ = classes, model, self.result_.history
        self._data: Data | None = data
        self._validation = split.validation if len(split.validation) else split.stopping
        self.labels_: Array = data.y.numpy()
        self.node_names_ = node_names(data)
        self.feature_names_, self.column_rules_ = data.get("attr_names"), data.get("column_rules")
        self._params = self.get_params()
        self._settings, self._statistics, self._own_features = settings, statistics, own_features
        return self

    def _strategy(self, communicator: Communicator) -> Strategy:
        """How training takes the graph: in mini-batches, as a whole, or partitioned among the processes."""
        if self.batch_size is not None:
            from kappagcn.classification.minibatch import MiniBatch

            return MiniBatch(self.batch_size, self.num_neighbors, group=communicator)
        if communicator.world_size == 1:
            return FullGraph()
        from kappagcn.classification.parts import Partitioned

        return Partitioned(communicator)

    @property
    def curvatures_(self) -> list[float]:
        """Learned curvatures, one per factor of the space."""
        manifold = self._fitted().manifold
        return [0.0] if manifold is None else manifold.k.reshape(-1).tolist()

    def curvature_intervals(self) -> list[CurvatureInterval | None]:
        """The range of each curvature in which the validation cross-entropy rises by at most 1 %, weights fixed."""
        model: NodeClassifier = self._fitted()
        if self._data is None:
            raise ConfigError("expected a classifier that was fitted, found one that was loaded: it has no graph.")
        data = self._data
        with threads_for_graph(data):
            adjacency = model.adjacency(data.x, data.edge_index, data.get("edge_weight"))
            intervals = classifier_intervals(model, data.x, adjacency, data.y, self._validation)
        return [None] if model.manifold is None else intervals[-len(self.curvatures_) :]

    @property
    def space_(self) -> str:
        """The space with its learned curvatures; each factor has the letter of its sign."""
        return learned_signature(self._factors(), self.curvatures_)

    def _factors(self) -> list[Factor]:
        """Factors of the space of the last hidden layer, which is flat or hyperbolic as a whole in baselines."""
        options, letter = self._fitted().options, "E" if self.model_.manifold is None else "H"
        return parse_signature(options.get("space") or f"{letter}{options['hidden_channels']}")

    @property
    def dims_(self) -> list[int]:
        """Dimension of each factor of the space."""
        return [factor.dim for factor in self._factors()]

    def _graph(self, graph: Any, x: Any, y: Any = None) -> tuple[Data, Array | None]:
        """The fitted graph, or another one with its features prepared in the same way; its labels."""
        self._fitted()
        if graph is None:
            if self._data is None:
                raise ConfigError("expected a graph, which a saved classifier does not hold, found none.")
            if x is not None:
                raise GraphError("expected a graph with the features x, found features alone.")
            return self._data, None if y is None else labelled.node_labels(y, node_index(self._data))
        if isinstance(graph, GraphNodes):
            featureless = not self._own_features and self._data is not None and graph.is_of(self._given)
            if self._data is not None and (graph.data is self._source or featureless):
                return self._data, None
            data, labels = copy(graph.data), None
        else:
            data, labels = labelled.read_labelled(graph, x, y, self.column_rules_)
            if self._data is not None and data.get("x") is None and GraphNodes(data).is_of(self._given):
                return self._data, labels
        if not self._own_features:
            raise GraphError(
                "expected no other graph: fitted without features, a classifier can predict for its own graph only."
            )
        width = self.model_.options["in_channels"]
        network.check_like_fitted(data, width, self.feature_names_, is_weighted=self._is_weighted)
        data.x = network.prepare_features(self._settings, data.x, self._statistics)
        return in_units(data, self._unit), labels

    @torch.no_grad()
    def _rows(self, data: Data) -> Tensor:
        """Output of the network for all nodes; with mini-batches layer by layer."""
        if self.batch_size is not None:
            return layerwise(self.model_, data.x, data.edge_index, data.get("edge_weight"))
        rows: Tensor = self.model_.eval()(*inputs(self.model_, data))
        return rows

    def scores(self, graph: Any = None, x: Any = None) -> Tensor:
        """Logits of the classes, (N, C)."""
        scores: Tensor = chosen_rows(self._rows(self._graph(graph, x)[0]), graph)
        return scores

    def predict_proba(self, graph: Any = None, x: Any = None, *, as_frame: bool = False) -> Any:
        """Probabilities of the classes, (N, C): for the fitted graph, or another with the same features.

        With `as_frame` they are a pandas data frame, with names of nodes as index and classes as columns.
        """
        data, _ = self._graph(graph, x)
        probabilities: Array = chosen_rows(self._rows(data), graph).softmax(1).numpy()
        if not as_frame:
            return probabilities
        rows = chosen_rows(np.arange(data.num_nodes), graph)
        return node_frame(node_names(data), rows, self.classes_.tolist(), list(probabilities.T))

    def predict(self, graph: Any = None, x: Any = None, *, as_frame: bool = False) -> Any:
        """The most probable label of every node, (N,).

        With `as_frame` labels and their probabilities are columns of a pandas data frame, with names of nodes as index.
        """
        probabilities = self.predict_proba(graph, x, as_frame=as_frame)
        labels: Array = self.classes_[np.asarray(probabilities).argmax(axis=1)]
        if not as_frame:
            return labels
        return probabilities.assign(label=labels, probability=probabilities.max(axis=1))[["label", "probability"]]

    @torch.no_grad()
    def embed(self, graph: Any = None, x: Any = None) -> Array:
        """The last hidden layer as points of the space, (N, D)."""
        manifold, vectors = self._fitted().manifold, self.tangent(graph, x)
        points: Array = vectors if manifold is None else manifold.expmap0(torch.from_numpy(vectors)).numpy()
        return points

    @torch.no_grad()
    def tangent(self, graph: Any = None, x: Any = None) -> Array:
        """The last hidden layer as tangent vectors at the origin, (N, D)."""
        data, _ = self._graph(graph, x)
        model = self.model_.eval()
        if self.batch_size is None:
            rows = model.tangent(*inputs(model, data))
        else:
            hidden = model.steps()[: len(model.hidden)]
            rows = layerwise(model, data.x, data.edge_index, data.get("edge_weight"), steps=hidden)
        vectors: Array = chosen_rows(rows[:, : sum(self.dims_)], graph).numpy()
        return vectors

    def score(self, graph: Any = None, y: Any = None, *, x: Any = None, nodes: Sequence[int] | None = None) -> float:
        """Accuracy on `nodes`, by default those of ``data.test_mask``, or all labelled nodes of another graph.

        Args:
            graph: A graph with labels; the fitted one by default; or `GraphNodes` with their labels as `y`.
            y: Labels, where the graph does not have them.
            x: Features, where the graph does not have them.
            nodes: Nodes to compare, as indices or a mask.
        """
        if isinstance(graph, GraphNodes):
            indices = labelled.class_indices(graph.labels_of(y), self.classes_)
            return float((self.scores(graph).argmax(1).numpy() == indices).mean())
        data, labels = self._graph(graph, x, y)
        if labels is None and graph is None:
            labels = np.array([None, *self.classes_], object)[data.y.numpy() + 1]
        if labels is None:
            raise GraphError("expected labels to compare with, data.y or y, found none.")
        if nodes is not None:
            where = as_indices(nodes, data.num_nodes)
        elif data.get("test_mask") is not None:
            where = data.test_mask.nonzero().flatten().numpy()
        elif graph is None:
            raise GraphError("expected nodes that did not train, as nodes= or data.test_mask, found neither.")
        else:
            where = np.flatnonzero(~labelled.unlabelled(labels, self.classes_))
        if not len(where) or labelled.unlabelled(labels, self.classes_)[where].any():
            raise GraphError("expected nodes that all have a label, found some without, or no nodes.")
        indices = labelled.class_indices(labels[where], self.classes_)
        return float((self.predict_proba(graph, x).argmax(axis=1)[where] == indices).mean())

    @property
    def can_be_saved(self) -> bool:
        """Whether it was fitted with features; otherwise it can predict only for the nodes of its own graph."""
        return bool(getattr(self, "_own_features", False))

    def save(self, path: str | Path) -> Path:
        """Write the classifier, without the graph, to a safetensors file."""
        self._fitted()
        return save_classifier(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> KappaGCNClassifier:
        """A saved classifier, which predicts for graphs with the same features."""
        classifier: KappaGCNClassifier = restore_classifier(cls, Path(path))
        return classifier
