"""KappaGCNLinkPredictor: fit, probabilities, the most probable links, saved and loaded, wrong input."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from kappagcn import KappaGCNLinkPredictor
from kappagcn.errors import CheckpointError, ConfigError, GraphError
from kappagcn.graphs import classic, disease, edge_split, torus
from kappagcn.graphs.datasets.preprocess import AIRPORT_NAMES, airport_features
from kappagcn.graphs.negatives import pair_keys
from kappagcn.links.predictor import Link


@pytest.fixture(scope="module")
def data():
    return torus(150)


@pytest.fixture(scope="module")
def fitted(data):
    return KappaGCNLinkPredictor("H4xS2", epochs=60, lr=0.05, verbose=False).fit(data)


def test_links_of_a_torus_are_predicted(fitted):
    """Its edges join near points: 20 seeds gave an AUC of at least 0.9."""
    assert fitted.score() > 0.8
    assert fitted.evaluate()["roc_auc"] == fitted.score()
    assert len(fitted.curvatures_) == 2
    assert fitted.embed().shape == fitted.tangent().shape == (150, 6)


def test_probabilities_are_symmetric_and_in_order(fitted, data):
    pairs = edge_split(data, 3).train[:, :40].t().numpy()
    p = fitted.predict_proba(pairs)
    np.testing.assert_allclose(p, fitted.predict_proba(pairs[:, ::-1].copy()), rtol=1e-12)
    assert ((p > 0) & (p < 1)).all()
    labels = np.repeat([1, 0], 20)
    assert 0 <= fitted.score(pairs, labels) <= 1


def test_the_best_links_are_those_of_all_pairs(fitted, data):
    links = fitted.top_links(12)
    assert links == sorted(links, key=lambda link: -link.probability)
    first, second = np.triu_indices(150, 1)
    known = set(pair_keys(data.edge_index, 150).tolist())
    free = np.array([i * 150 + j not in known for i, j in zip(first, second, strict=True)])
    pairs = np.stack([first[free], second[free]], 1)
    best = np.sort(fitted.predict_proba(pairs))[::-1][:12]
    np.testing.assert_allclose([link.probability for link in links], best, rtol=1e-6)
    assert all(link.source * 150 + link.target not in known for link in links)


def test_settings_that_depend_on_the_graph():
    predictor = KappaGCNLinkPredictor("H8")
    assert predictor.settings(None).inputs == "identity"
    words = predictor.settings(torch.eye(6))
    assert (words.input_dropout, words.l2, words.feature_norm) == (0.5, 5e-4, "lengths")
    dense = predictor.settings(torch.randn(6, 3))
    assert (dense.input_dropout, dense.l2, dense.feature_norm) == (0.0, 0.0, "columns")
    assert dense.space == "H8(-0.1)"
    assert predictor.settings(torch.randn(6, 3).to_sparse_csr()) == dense


@pytest.mark.parametrize(
    "options",
    [
        {"model": "gcn"},
        {"model": "hgcn"},
        {"model": "mlp", "decoder": "bilinear"},
        {"model": "free"},
        {"inputs": "both", "num_layers": 2},
        {"batch_size": 50, "num_neighbors": 3, "decoder": "dot"},
        {"negatives": "degree", "train_decoder": False, "adjacency_norm": "symmetric", "folds": 1},
    ],
)
def test_every_setting_gives_a_predictor_that_is_saved(options, tmp_path):
    data = disease(150)
    predictor = KappaGCNLinkPredictor("H4", epochs=3, verbose=False, **options).fit(data)
    loaded = KappaGCNLinkPredictor.load(predictor.save(tmp_path / "links.safetensors"))
    pairs = [(0, 1), (5, 70)]
    np.testing.assert_array_equal(loaded.predict_proba(pairs), predictor.predict_proba(pairs))
    assert loaded.top_links(4) == predictor.top_links(4)
    assert loaded.space_ == predictor.space_
    assert 0 <= predictor.score() <= 1


def test_a_hidden_edge_removed_beforehand_changes_nothing_in_training():
    """Airport's features count neighbours: those over hidden edges must not be among them."""
    data = classic("karate")
    split = edge_split(data, 0)
    hidden = pair_keys(split.final_test_pairs().edges, 34)
    histories = []
    for edges in (data.edge_index, data.edge_index[:, ~torch.isin(pair_keys(data.edge_index, 34), hidden)]):
        degree = torch.bincount(edges[0], minlength=34)
        x = torch.from_numpy(airport_features(torch.eye(34, 4), degree, scaling="none")).float()
        graph = Data(edge_index=edges, x=x, attr_names=list(AIRPORT_NAMES))
        predictor = KappaGCNLinkPredictor("H2", epochs=3, verbose=False, negatives="degree").fit(graph, split=split)
        histories.append([{**record, "seconds": 0} for record in predictor.history_])
    assert histories[0] == histories[1]


def test_names_weights_and_components(tmp_path):
    graph = nx.les_miserables_graph()
    graph.add_edge("far", "away", weight=2)
    predictor = KappaGCNLinkPredictor("H2", epochs=5, verbose=False).fit(graph)
    (link,) = predictor.top_links(1)
    assert isinstance(link, Link)
    assert link.source in graph
    assert predictor.predict_proba([("Javert", "Cosette")]).shape == (1,)
    loaded = KappaGCNLinkPredictor.load(predictor.save(tmp_path / "one.safetensors"))
    assert loaded.top_links(1) == [link]
    with pytest.raises(GraphError, match="expected nodes of the graph, found 'Nobody'"):
        predictor.predict_proba([("Javert", "Nobody")])


def test_a_seed_gives_the_same_numbers():
    one, two = (KappaGCNLinkPredictor("H2", epochs=6, verbose=False).fit(classic("karate")) for _ in range(2))
    assert one.history_ == two.history_
    assert one.top_links(5) == two.top_links(5)


def test_an_isolated_node_gets_a_probability():
    graph = nx.karate_club_graph()
    graph.add_node(34)
    predictor = KappaGCNLinkPredictor("H2", epochs=3, verbose=False).fit(graph)
    assert 0 < predictor.predict_proba([(34, 0)])[0] < 1


def test_wrong_input_is_refused(fitted, tmp_path):
    with pytest.raises(ConfigError, match="KappaGCNLinkPredictor that was fitted"):
        KappaGCNLinkPredictor().top_links(1)
    with pytest.raises(GraphError, match="expected edges left to train on"):
        KappaGCNLinkPredictor("H2").fit(nx.path_graph(2))
    with pytest.raises(GraphError, match="every two are linked"):
        KappaGCNLinkPredictor("H2").fit(nx.complete_graph(6))
    with pytest.raises(GraphError, match="expected nodes from 0 to 149, found 0 to 150"):
        fitted.predict_proba([(0, 150)])
    with pytest.raises(GraphError, match="expected pairs of nodes"):
        fitted.predict_proba([1, 2, 3])
    with pytest.raises(GraphError, match="a number of links from 1, found 0"):
        fitted.top_links(0)
    with pytest.raises(GraphError, match="expected 1 labels"):
        fitted.score([(0, 1)], [2])
    with pytest.raises(GraphError, match="a graph with features for 'both'"):
        KappaGCNLinkPredictor("H2", inputs="both").fit(nx.karate_club_graph())
    loaded = KappaGCNLinkPredictor.load(fitted.save(tmp_path / "links.safetensors"))
    with pytest.raises(GraphError, match="without test pairs"):
        loaded.score()
    (tmp_path / "broken.safetensors").write_bytes(b"no")
    with pytest.raises(CheckpointError, match="broken"):
        KappaGCNLinkPredictor.load(tmp_path / "broken.safetensors")
