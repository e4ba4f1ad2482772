"""KappaGCNLinkPredictor: link prediction with the interface of scikit-learn."""

from __future__ import annotations

from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.errors import GraphError, described
from kappagcn.geometry import Curvature
from kappagcn.geometry.signature import learned_signature, parse_signature
from kappagcn.graphs import EdgeSplit, edge_split
from kappagcn.graphs.datasets.edge_splits import undirected_edges
from kappagcn.graphs.io.edges import as_pairs
from kappagcn.graphs.io.node_data import compact_features
from kappagcn.graphs.io.undirected import node_index
from kappagcn.graphs.node_rows import has_rows
from kappagcn.links.fitting import link_task
from kappagcn.links.metrics import link_metrics
from kappagcn.links.network import (
    build_link_predictor,
    link_inputs,
    resolved_links,
    train_links,
)
from kappagcn.links.search import top_pairs
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.links.task import test_scores
from kappagcn.models import FreePoints, LinkPredictor
from kappagcn.training.checkpoint import load_state, loading, save_tensors, state_tensors
from kappagcn.training.estimate import roc_auc
from kappagcn.training.labelled import read_labelled
from kappagcn.training.layer_by_layer import layerwise
from kappagcn.training.minibatch import check_neighbors
from kappagcn.training.networks import in_units, usage
from kappagcn.training.node_arrays import node_names
from kappagcn.training.resources import resolve_device, threads_for_graph
from kappagcn.training.sklearn_base import Estimator

Array = NDArray[Any]


class Link(NamedTuple):
    """A pair of nodes, by name or number, and the probability of a link.

    >>> Link("a", "b", 0.9).probability
    0.9
    """

    source: Any
    target: Any
    probability: float


class KappaGCNLinkPredictor(Estimator, LinkPredictionSettings):
    """Link prediction: trains on some of the edges, is tested on others, and names the most probable missing links.

    A graph is PyG's ``Data``, a SciPy or NumPy adjacency matrix, a NetworkX graph, edges in a data frame or list, or a
    path. Directed edges count in both directions, duplicates once, self-loops not at all; a node without edges is
    predicted from its features alone. Without features nodes get one-hot features.

    By default 85 % of the edges are for training, 5 % decide when to stop, and 10 % are for `score`, each with as many
    pairs without an edge. In training, messages pass along training edges only; `predict_proba` and `top_links` then
    use the messages of all edges.

    Attributes:
        model_: Encoder and decoder.
        split_: The edges for training, validation and test.
        curvatures_: Learned curvatures of the space in which distances are measured.
        node_names_: Names of the nodes; None where they are numbered.
        edge_weights_: How edge weights are used, in words; None for a graph without them.
        history_: Metrics of each epoch.

    >>> from kappagcn.graphs import disease
    >>> predictor = KappaGCNLinkPredictor("H8", epochs=20).fit(disease())
    >>> predictor.predict_proba([(0, 1), (0, 500)]).shape, len(predictor.top_links(3))
    ((2,), 3)
    """

    def check(self) -> None:
        """Refuse arguments that are wrong for any graph."""
        super().check()
        parse_signature(self.space)
        check_neighbors(self.num_neighbors, 0 if self.batch_size is None else self.num_layers)

    def settings(self, x: Tensor | None) -> LinkPredictionSettings:
        """All settings for a graph with these features: every "auto" resolved, initial curvatures filled in."""
        return resolved_links(self, None if x is None else compact_features(x.float()))

    def fit(
        self,
        graph: Any,
        y: Any = None,
        *,
        x: Any = None,
        split: EdgeSplit | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
        group: ProcessGroup | Communicator | None = None,
    ) -> Self:
        """Train on the edges of a graph, and keep the weights of the best epoch by validation AUC.

        Several processes share the pairs of each step; all of them call `fit` with the same arguments.

        Args:
            graph: The graph.
            y: Ignored; scikit-learn passes it.
            x: Features, where the graph does not have them; a data frame names its nodes, as in `KappaGCNClassifier`.
            split: Edges for training, validation and test; by default drawn at random by `kappagcn.graphs.edge_split`.
            folder: Run folder; None to keep nothing.
            resume: Continue the run in `folder`, if there is one, to the same numbers as without the interruption.
            group: Process group of torch.distributed; None for one process.
        """
        data = read_labelled(graph, x, None)[0]
        communicator = Communicator.of(group)
        self.say(data.report if has_rows(x) else "", communicator)
        self.fit_split(data, split, group=communicator, folder=folder, resume=resume)
        self.say(f"edge weights: {self.edge_weights_}" if self.edge_weights_ else "", communicator)
        return self

    def fit_split(self, data: Data, split: EdgeSplit | None, *, group: Any = None, **run: Any) -> Self:
        """Train on a graph as `kappagcn.graphs` reads it, without reading it again; arguments as in `fit`."""
        self.check()
        with threads_for_graph(data):
            return self._fit(data, split, Communicator.of(group), **run)

    def _fit(self, data: Data, split: EdgeSplit | None, communicator: Communicator, **run: Any) -> Self:
        device = resolve_device(self.device, on_cpu="several processes" if communicator.world_size > 1 else None)
        if split is None:
            split = edge_split(data, self.random_state, validation=self.validation, test=self.test)
        data = copy(data)
        x = split.training_view(data).get("x")  # degrees among its columns reveal no hidden edge
        data.x, data.attr_names = None if x is None else compact_features(x.float()), None
        settings = self.settings(data.x)
        data.x = link_inputs(settings, data)
        options = {**self._options(), "seed": self.random_state, "device": device, "group": communicator}
        with self.progress("training", communicator) as callbacks:
            run["callbacks"] = callbacks
            model, self.result_, self._unit = train_links(settings, data, split, run=run, **options)
        self.edge_weights_ = usage(settings, data.get("edge_weight"), self._unit)
        data = in_units(data, self._unit)
        self.model_, self.split_, self.history_ = model, split, self.result_.history
        self._settings, self._params, self._data = settings, self.get_params(), data
        self.node_names_ = node_names(data)
        self._edges, self._vectors = undirected_edges(data), self._encode(data)
        return self

    def _options(self) -> dict[str, Any]:
        names = ("folds", "negatives", "evaluate_every", "batch_size", "num_neighbors")
        options = {name: getattr(self, name) for name in names}
        return options if self.batch_size is None else {**options, "folds": 1}

    @torch.no_grad()
    def _encode(self, data: Data) -> Tensor:
        """Tangent vectors of all nodes, from messages along all edges of the graph."""
        encoder = self.model_.eval().encoder
        if isinstance(encoder, FreePoints):
            points: Tensor = encoder()
            return points.detach()
        return layerwise(encoder, data.x, data.edge_index, data.get("edge_weight"))

    @property
    def curvatures_(self) -> list[float]:
        """Learned curvatures of the space in which distances are measured, one per factor."""
        return [module.value for module in self._fitted().manifold.modules() if isinstance(module, Curvature)]

    @property
    def space_(self) -> str:
        """The space with its learned curvatures; each factor has the letter of its sign."""
        self._fitted()
        factors = parse_signature(self._settings.space)
        if len(self.curvatures_) != len(factors):  # a baseline has a single space for any signature
            return f"{'H' if self.curvatures_[0] < 0 else 'E'}{sum(factor.dim for factor in factors)}"
        return learned_signature(factors, self.curvatures_)

    def node_index(self) -> dict[str, int]:
        """Number of each node by name; nodes without names go by their number."""
        return node_index(Data(node_names=self.node_names_, num_nodes=len(self._vectors)))

    def _name(self, node: int) -> Any:
        return node if self.node_names_ is None else self.node_names_[node]

    @torch.no_grad()
    def log_odds(self, pairs: Any) -> Array:
        """Log-odds of links, (P,)."""
        model: LinkPredictor = self._fitted()
        numbers = as_pairs(pairs, self.node_index() if self.node_names_ is not None else {}, len(self._vectors))
        scores: Array = model.decode(self._vectors, numbers).double().numpy()
        return scores

    def predict_proba(self, pairs: Any) -> Array:
        """Probabilities of links, (P,).

        They are calibrated to as many edges as other pairs, as in training; among all pairs of nodes links are rare.

        Args:
            pairs: Pairs of nodes by number, (P, 2), or as a list of pairs of names.
        """
        probabilities: Array = torch.from_numpy(self.log_odds(pairs)).sigmoid().numpy()
        return probabilities

    def top_links(self, k: int = 10) -> list[Link]:
        """The k most probable pairs without an edge, best first.

        All pairs are compared, in blocks of rows, in graphs of up to 17,000 nodes; in larger ones pairs with a common
        neighbour, near points, and pairs of hubs.
        """
        model: LinkPredictor = self._fitted()
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise GraphError(f"k: expected a number of links from 1, found {k!r}.")
        pairs, scores = top_pairs(model, self._vectors, self._edges, k)
        rows = zip(pairs[0].tolist(), pairs[1].tolist(), scores.sigmoid().tolist(), strict=True)
        return [Link(self._name(i), self._name(j), p) for i, j, p in rows]

    def test_scores(self) -> tuple[Array, Array]:
        """Log-odds of the test edges and of the test non-edges, from messages along training edges alone."""
        self._fitted()
        if self._data is None:
            raise GraphError("expected a link predictor that was fitted, found a loaded one, without test pairs.")
        if not self.split_.final_test_pairs().edges.shape[1]:
            raise GraphError("expected test edges, found none: fitted with test=0.")
        options = {name: value for name, value in self._options().items() if name != "folds"}
        return test_scores(link_task(self.model_, self._data, self.split_, **options), self.split_)

    def evaluate(self) -> dict[str, float]:
        """ROC AUC, average precision, hits@k and MRR on the test pairs. Do not choose settings by its results."""
        return link_metrics(*self.test_scores())

    def score(self, pairs: Any = None, y: Any = None) -> float:
        """ROC AUC: on the test pairs of the split, or on `pairs` with labels `y`, 1 for links and 0 for others."""
        if pairs is None:
            return roc_auc(*self.test_scores())
        labels, scores = np.asarray(y), self.log_odds(pairs)
        if labels.shape != scores.shape or not np.isin(labels, (0, 1)).all():
            raise GraphError(
                f"y: expected {len(scores)} labels that are 0 or 1, found {described(labels)} with "
                f"{', '.join(map(str, np.unique(labels)[:3]))}, …."
            )
        return roc_auc(scores[labels == 1], scores[labels == 0])

    def tangent(self) -> Array:
        """Tangent vectors of the nodes at the origin, (N, D)."""
        self._fitted()
        vectors: Array = self._vectors.numpy()
        return vectors

    @torch.no_grad()
    def embed(self) -> Array:
        """The nodes as points of the space, (N, D)."""
        points: Array = self._fitted().manifold.expmap0(self._vectors).numpy()
        return points

    def save(self, path: str | Path) -> Path:
        """Write decoder, points, known edges and names to a safetensors file, from which `load` predicts."""
        model: LinkPredictor = self._fitted()
        about = {
            "link_predictor": self._params,
            "settings": asdict(self._settings),
            "names": self.node_names_,
            "in_channels": 1 if isinstance(model.encoder, FreePoints) else model.encoder.options["in_channels"],
        }
        tensors = {**state_tensors(model), "vectors": self._vectors, "edges": self._edges}
        return save_tensors(Path(path), tensors, about)

    @classmethod
    def load(cls, path: str | Path) -> KappaGCNLinkPredictor:
        """A saved link predictor, for the pairs of its graph."""
        with loading(Path(path), "a link predictor") as (tensors, about):
            predictor = cls(**about["link_predictor"])
            settings = LinkPredictionSettings(**about["settings"])
            vectors, edges, names = tensors["vectors"], tensors["edges"], about["names"]
            model = build_link_predictor(settings, about["in_channels"], len(vectors))
            load_state(model, tensors)
            if names is not None and len(names) != len(vectors):
                raise ValueError(f"{len(names)} names for {len(vectors)} nodes")
        predictor.model_, predictor.history_, predictor._data = model.eval(), [], None
        predictor._settings, predictor._params, predictor.node_names_ = settings, predictor.get_params(), names
        predictor._vectors, predictor._edges = vectors, edges
        return predictor
