"""The estimators in scikit-learn's tools."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.errors import ConfigError, GraphError
from kappagcn.graphs import balanced_tree, load_graph
from kappagcn.links.predictor import KappaGCNLinkPredictor
from kappagcn.training.graph_nodes import GraphNodes
from kappagcn.training.sklearn_base import EXPECTED_FAILED_CHECKS


def test_parameters_as_scikit_learn_asks_for_them():
    classifier = KappaGCNClassifier("S8", lr=0.02)
    assert repr(classifier) == "KappaGCNClassifier(space='S8', lr=0.02)"
    assert type(classifier)(**classifier.get_params()).get_params() == classifier.get_params()
    assert classifier.set_params(lr=0.5).lr == 0.5


@pytest.fixture
def data(epidemic):
    return epidemic


FEW = {"epochs": 5, "verbose": False}
EMBEDDER = GraphEmbedder("H2", epochs=20, intervals=False, verbose=False)


def test_they_are_scikit_learns():
    classifier, embedder = KappaGCNClassifier(), GraphEmbedder()
    assert isinstance(classifier, BaseEstimator)
    assert isinstance(classifier, ClassifierMixin)
    assert isinstance(embedder, TransformerMixin)
    assert is_classifier(classifier)
    assert get_tags(classifier).target_tags.required
    assert get_tags(embedder).input_tags.sparse
    assert not get_tags(embedder).target_tags.required
    for each in (classifier, embedder):
        with pytest.raises(NotFittedError, match="Call fit first"):
            each.score(balanced_tree(2, 2))
    assert issubclass(NotFittedError, ValueError)
    with pytest.raises(ConfigError):
        classifier.predict()


@pytest.mark.parametrize(
    "estimator",
    [KappaGCNClassifier("H4", **FEW), EMBEDDER, KappaGCNLinkPredictor("H4", **FEW)],
    ids=["classifier", "embedder", "link predictor"],
)
def test_check_estimator_fails_only_where_it_feeds_tables(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(estimator, expected_failed_checks=EXPECTED_FAILED_CHECKS)
    passed = {each["check_name"] for each in checks if each["status"] == "passed"}
    assert len(passed) >= 13
    assert not passed & set(EXPECTED_FAILED_CHECKS), "declared, but they pass"


class OnTables:
    """An estimator for tables, by the graph of nearest neighbours, so that scikit-learn can check the rest of it."""

    def graph(self, table):
        nearest = kneighbors_graph(np.asarray(table, float), min(4, len(table) - 1))
        return sp.csr_array(nearest.maximum(nearest.T))


class TableClassifier(OnTables, KappaGCNClassifier):
    def fit(self, X, y):
        return super().fit(self.graph(X), y, x=np.asarray(X, float))

    def predict_proba(self, X):
        return super().predict_proba(self.graph(X), np.asarray(X, float))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]

    def score(self, X, y):
        return float((self.predict(X) == np.asarray(y)).mean())


class TableEmbedder(OnTables, GraphEmbedder):
    def fit(self, X, y=None):
        return super().fit(self.graph(X))

    def fit_transform(self, X, y=None):
        return self.fit(X).embedding_

    def transform(self, X):
        return self.embedding_

    def score(self, X=None, y=None):
        return -self.d_avg_


MECHANICS = {
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_pipeline_consistency",
    "check_readonly_memmap_input",
}


@pytest.mark.parametrize(
    "estimator",
    [TableClassifier("H4", **FEW), TableEmbedder("H2", intervals=False, **FEW)],
    ids=["classifier", "embedder"],
)
def test_what_does_not_depend_on_the_input_passes_scikit_learns_checks(estimator):
    checks = [
        (each, check) for each, check in estimator_checks_generator(estimator) if check.func.__name__ in MECHANICS
    ]
    assert {check.func.__name__ for _, check in checks} == MECHANICS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each, check in checks:
            check(each)


def test_clones_copies_and_pickles(data, fitted):
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert not hasattr(twin, "model_")
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(again.predict_proba(), fitted.predict_proba())
        next(again.model_.parameters()).data.zero_()
    assert next(fitted.model_.parameters()).any()
    sparse = KappaGCNClassifier("H4", **FEW).fit(load_graph("karate"))
    assert np.array_equal(copy.deepcopy(sparse).predict_proba(), sparse.predict_proba())
    links = KappaGCNLinkPredictor("H4", **FEW).fit(load_graph("karate"))
    assert np.array_equal(copy.deepcopy(links).predict_proba([(0, 1)]), links.predict_proba([(0, 1)]))
    embedder = clone(EMBEDDER).fit(balanced_tree(2, 3))
    assert np.array_equal(pickle.loads(pickle.dumps(embedder)).distances(), embedder.distances())
    assert "GraphEmbedder" in embedder._repr_html_()


def test_a_grid_search_over_spaces(data):
    nodes, y = GraphNodes.labelled(data)
    search = GridSearchCV(KappaGCNClassifier(**FEW), {"space": ["H4", "S4"], "lr": [0.01]}, cv=2, error_score="raise")
    search.fit(nodes, y)
    assert search.best_params_["space"] in ("H4", "S4")
    assert search.cv_results_["mean_test_score"].shape == (2,)
    assert search.best_estimator_.space == search.best_params_["space"]
    assert search.predict(nodes[:7]).shape == (7,)
    assert search.score(nodes, y) == (search.predict(nodes) == y).mean()


def test_cross_validation_never_sees_labels_of_its_test_nodes(data):
    nodes, y = GraphNodes.labelled(data)
    other, _ = GraphNodes.labelled(data, y=1 - data.y)
    other.data.train_mask = data.y > 0  # masks are not looked at either
    classifier = KappaGCNClassifier("H4", **FEW)
    for method in ("predict", "predict_proba"):
        first, second = (cross_val_predict(classifier, each, y, cv=3, method=method) for each in (nodes, other))
        assert np.array_equal(first, second)
    train, test, y_train, _ = train_test_split(nodes, y, random_state=0, stratify=y)
    changed = data.clone()
    changed.y = data.y.clone()
    changed.y[test.indices] = 1 - changed.y[test.indices]
    fits = [classifier.fit(GraphNodes(d)[train.indices], y_train).predict_proba(test) for d in (data, changed)]
    assert np.array_equal(*fits)
    assert cross_val_score(classifier, nodes, y, cv=2, scoring="roc_auc", error_score="raise").shape == (2,)


def test_a_pipeline_with_the_embedder_as_transformer():
    club = load_graph("karate")
    nodes, y = GraphNodes.labelled(club)
    pipeline = make_pipeline(clone(EMBEDDER), LogisticRegression())
    assert cross_val_score(pipeline, nodes, y, cv=3, error_score="raise").mean() > 0.7
    assert (pipeline.fit(club, y).predict(club) == y).mean() > 0.7
    frame = clone(EMBEDDER).set_output(transform="pandas").fit_transform(club)
    assert list(frame.columns) == ["x1", "x2"]
    embedder = clone(EMBEDDER).fit(nodes[:10])
    assert embedder.embedding_.shape == (34, 2), "the whole graph"
    assert np.array_equal(embedder.transform(nodes[5:9]), embedder.embedding_[5:9])
    assert -1 < embedder.score(nodes[:3]) < 0
    assert embedder.score(club) == pytest.approx(embedder.score(), rel=1e-6)


def test_labels_are_not_taken_for_features(data):
    matrix = sp.csr_array((np.ones(data.num_edges), data.edge_index.numpy()), shape=(200, 200))
    classifier = KappaGCNClassifier("H4", **FEW).fit(matrix, data.y.numpy())
    assert not classifier.can_be_saved, "no features"
    with pytest.raises(GraphError, match="expected labels of 200 nodes, found shape"):
        KappaGCNClassifier("H4", **FEW).fit(matrix, data.x.numpy())
