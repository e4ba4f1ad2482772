import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn import graphs as G
from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import from_networkx, read_graph
from random_graphs import put
from spaces import few


@pytest.mark.parametrize(
    "text",
    [
        'graph [ comment "label" node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 label "x" ] ]',
        'graph [ node [ id 0 label "a" ] node [ id 1 label "a" ] edge [ source 0 target 1 ] ]',
        "graph [ multigraph 1 node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] edge [ source 1 target 0 ] ]",
    ],
)
def test_gml_as_it_is_found(tmp_path, text):
    data = G.read_graph(put(tmp_path, "g.gml", text))
    assert (data.num_nodes, data.num_edges) == (2, 2)


def test_repeated_edges_that_are_not_declared_are_refused(tmp_path):
    text = "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] edge [ source 1 target 0 ] ]"
    with pytest.raises(GraphFileError, match=r"found one twice\. Write multigraph 1 below"):
        read_graph(put(tmp_path, "g.gml", text))


def test_words_of_gml_inside_labels_stand_as_they_are(tmp_path):
    text = """# the "graph [ multigraph 1
    Creator "graph [ of us"
    graph [ multigraph 1 node [ id 0 label "multigraph 1" ] node [ id 1 label "graph [" ]
    edge [ source 0 target 1 ] ]"""
    assert G.read_graph(put(tmp_path, "g.gml", text)).node_names == ["multigraph 1", "graph ["]


def test_weights_by_name(tmp_path):
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): 2.0, (1, 2): 3.0}, "amount")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert G.read_graph(tmp_path / "g.graphml", weight="amount").edge_weight.tolist() == [2, 2, 3, 3]
    assert "edge attributes not used: amount" in G.read_graph(tmp_path / "g.graphml").report
    with pytest.raises(GraphFileError, match="expected edges with an attribute 'sum', found none"):
        G.read_graph(tmp_path / "g.graphml", weight="sum")


@pytest.mark.parametrize("kind", ["graphml", "gml"])
def test_markup(tmp_path, kind):
    graph = nx.karate_club_graph()
    for node in graph:
        graph.nodes[node]["age"] = node * 1.5
    path = tmp_path / f"karate.{kind}"
    (nx.write_graphml if kind == "graphml" else nx.write_gml)(graph, path)
    data = read_graph(path, labels="club", features=["age"])
    want = from_networkx(graph, label="club", features=["age"])
    assert torch.equal(data.edge_index, want.edge_index)
    assert torch.equal(data.y, want.y)
    assert torch.equal(data.x, want.x)
    assert torch.equal(data.edge_weight, want.edge_weight)
    assert "not used" not in data.report
    assert "node attributes not used: age, club (see --labels and --features)" in read_graph(path).report
    with pytest.raises(GraphFileError, match=r"expected nodes with an attribute 'clubb', found age, club"):
        read_graph(path, labels="clubb")
    with pytest.raises(GraphFileError, match="expected every node with 'agee'"):
        read_graph(path, features=["agee"])
    with pytest.raises(GraphFileError, match="expected numbers, as many for every node"):
        read_graph(path, features=["club"])


def test_directed_and_multiple_edges_from_networkx():
    graph = nx.MultiDiGraph([(0, 1), (0, 1), (1, 0), (2, 1), (2, 2)])
    data = from_networkx(graph)
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.report == ("3 nodes, 2 edges; made undirected (1 one-way); 1 repeated edge merged; 1 self-loop removed")
    with pytest.raises(GraphError, match="expected numbers as weight"):
        from_networkx(nx.Graph([(0, 1, {"weight": "heavy"})]))


@few(60)
@given(st.text(alphabet='<>/graphmlnodeidkyat ="[]0123456789\n', max_size=80), st.sampled_from(["graphml", "gml"]))
def test_fuzzed_markup(tmp_path_factory, text, kind):
    base = {"graphml": '<graphml><graph edgedefault="undirected"><node id="a"/>', "gml": "graph [ node [ id 0 ] "}[kind]
    path = put(tmp_path_factory.mktemp("markup"), f"g.{kind}", base + text)
    try:
        read_graph(path)
    except GraphFileError as error:
        assert str(path) in str(error)
