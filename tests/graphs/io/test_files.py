import zipfile

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import (
    adjacency,
    cycle,
    from_networkx,
    from_scipy,
    load_graph,
    read_graph,
    read_npz,
    save_data,
    save_npz,
)
from kappagcn.graphs.io.npz import read_arrays
from random_graphs import as_data, networks


def put(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def same(one, two):
    assert torch.equal(one.edge_index, two.edge_index)
    assert one.num_nodes == two.num_nodes
    for key in ("x", "y", "edge_weight"):
        a, b = one.get(key), two.get(key)
        assert (a is None) == (b is None), key
        if a is not None:
            assert torch.equal(a.to_dense(), b.to_dense()), key
    for key in ("node_names", "class_names"):
        assert one.get(key) == two.get(key)


def test_features_and_labels_beside_the_edges(tmp_path):
    edges = put(tmp_path, "friends.csv", "ann,bob\nbob,cid\n")
    put(tmp_path, "friends.features.csv", "name,age,size\nbob,30,1.8\nann,20,1.6\ndan,50,1.9\ncid,40,1.7\n")
    put(tmp_path, "friends.labels.csv", "ann,x\ncid,y\nbob,x\n")
    data = read_graph(edges)
    assert data.node_names == ["ann", "bob", "cid", "dan"]
    assert data.x[:, 0].tolist() == [20, 30, 40, 50]
    assert data.attr_names == ["age", "size"]
    assert data.y.tolist() == [0, 0, 1, -1]
    assert data.class_names == ["x", "y"]
    assert "1 node only in friends.features.csv and friends.labels.csv" in data.report
    assert data.report.endswith("1 node without label")
    assert "1 isolated node" in data.report


def test_numbered_tables_in_npz(tmp_path):
    edges = put(tmp_path, "g.csv", "1,4\n4,2\n")
    np.savez(tmp_path / "x.npz", x=np.arange(12.0).reshape(6, 2), labels=np.array([0, 1, 0, 1, 0, -1]))
    data = read_graph(edges, features=tmp_path / "x.npz", labels=tmp_path / "x.npz")
    assert data.num_nodes == 6
    assert data.edge_index.tolist() == [[1, 2, 4, 4], [4, 4, 1, 2]]
    assert data.x[4].tolist() == [8, 9]
    assert data.y.tolist() == [0, 1, 0, 1, 0, -1]
    np.savez(tmp_path / "few.npz", x=np.ones((3, 2)))
    with pytest.raises(GraphFileError, match=r"its 3 rows do not number the nodes of g\.csv"):
        read_graph(edges, features=tmp_path / "few.npz")
    np.savez(tmp_path / "named.npz", x=np.arange(3.0).reshape(3, 1), node_names=np.array(["4", "2", "1"]))
    assert read_graph(edges, features=tmp_path / "named.npz").x.flatten().tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("features", "labels", "words"),
    [
        ("0,1\n1,x\n2,3\n", None, "x.csv: expected numbers as features, found 'x' for node '1'"),
        ("0,1\n1,nan\n2,3\n", None, "x.csv: expected finite features, found 1 entry"),
        ("0,1\n1,2\n", None, "x.csv: expected features for all 3 nodes, found none for 1 of them, such as .'2'"),
        ("0,1\n1,2,3\n", None, "x.csv, line 2: expected 2 columns, as above, found 3"),
        ("0,1\n0,2\n", None, "x.csv: expected every node once, found '0' twice"),
        ("0\n1\n", None, "expected a node and at least one value per line"),
        ("", None, "expected a line per node, found none"),
        (None, "0,1,2\n", "y.csv: expected two columns, node and label, found 3"),
        (None, "0,7\n1,0\n2,0\n", "y.csv: expected labels from 0 to 2, or −1 for unknown, found 0 to 7"),
        (None, "0,-3\n", "y.csv: expected labels from 0"),
    ],
)
def test_bad_tables_are_named(tmp_path, features, labels, words):
    edges = put(tmp_path, "g.csv", "0,1\n1,2\n")
    more = {}
    if features is not None:
        more["features"] = put(tmp_path, "x.csv", features)
    if labels is not None:
        more["labels"] = put(tmp_path, "y.csv", labels)
    with pytest.raises(GraphFileError, match=words):
        read_graph(edges, **more)


@settings(max_examples=30)
@given(networks(least=1), st.booleans(), st.booleans(), st.booleans())
def test_our_own_forms_come_back(tmp_path_factory, graph, weighted, sparse, named):
    folder = tmp_path_factory.mktemp("own")
    for i, (u, v) in enumerate(graph.edges):
        if weighted:
            graph.edges[u, v]["weight"] = i + 0.5
    data = as_data(graph)
    n = data.num_nodes
    x = sp.random_array((n, 4), density=0.4, rng=np.random.default_rng(n))
    from kappagcn.graphs.io.undirected import as_features

    data.x = as_features(x, sparse=sparse)
    data.y = torch.arange(n) % 3 - 1
    if n == 1:
        data.y = torch.tensor([0])
    if named:
        data.node_names, data.class_names = [f"node {i}" for i in range(n)], ["é", "b"]
        data.y = data.y.clamp_max(1)
    same(read_npz(save_npz(data, folder / "g.npz"), sparse=sparse), data)
    same(read_graph(save_data(data, folder / "g.pt")), data)
    torch.save(data, folder / "whole.pt")
    same(read_graph(folder / "whole.pt"), data)


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


def test_scipy_matrices():
    matrix = sp.random_array((20, 20), density=0.2, rng=np.random.default_rng(0), format="csr")
    data = from_scipy(matrix, x=np.ones((20, 3)), y=np.zeros(20, int))
    both = matrix.toarray() - np.diag(matrix.diagonal())
    count = (both > 0).astype(int) + (both.T > 0)
    want = np.divide(both + both.T, count, out=np.zeros_like(both), where=count > 0)
    assert np.allclose(adjacency(data).toarray(), want, rtol=1e-6)
    with pytest.raises(GraphError, match=r"square adjacency matrix, found shape \(2, 3\)"):
        from_scipy(sp.csr_array((2, 3)))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("g.graphml", b"<graphml>", "expected GRAPHML, found something else"),
        ("g.graphml", b"<!DOCTYPE x [<!ENTITY a 'b'>]><graphml/>", "without document types or entities"),
        ("g.graphml", b"\xff", "expected GRAPHML"),
        ("g.gml", b"graph [ node [ id 0", "expected GML"),
        ("g.gml", b"\xff\xfe", "expected GML"),
        ("g.pt", b"no", "expected a PyG Data that loads without running code"),
        ("g.npz", b"PK no", "expected an npz archive, found a damaged one"),
        ("g.zip", b"", "expected a file ending in .csv"),
        ("graph", b"", "no ending"),
    ],
)
def test_files_that_are_something_else(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(GraphFileError, match=words) as caught:
        read_graph(path)
    assert len(str(caught.value).splitlines()) == 1


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(GraphFileError, match="expected a file, found nothing at"):
        read_graph(tmp_path / "none.csv")
    with pytest.raises(GraphFileError, match="found a folder"):
        read_graph(tmp_path)
    with pytest.raises(GraphFileError, match="expected a file, found nothing"):
        load_graph(str(tmp_path / "none.csv"))


class Evil:
    ran = False

    def __reduce__(self):
        return (setattr, (Evil, "ran", True))


def test_pickled_code_does_not_run(tmp_path):
    torch.save({"edge_index": torch.zeros(2, 0, dtype=torch.long), "extra": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(GraphFileError, match="without running code"):
        read_graph(tmp_path / "evil.pt")
    np.savez(tmp_path / "evil.npz", edge_index=np.array([Evil()], dtype=object))
    with pytest.raises(GraphFileError, match="expected plain numbers or text, found pickled objects"):
        read_graph(tmp_path / "evil.npz")
    assert not Evil.ran


def npz_bytes(folder, **arrays):
    np.savez_compressed(folder / "g.npz", **arrays)
    return (folder / "g.npz").read_bytes()


GOOD = {
    "adj_data": np.ones(2, np.float32),
    "adj_indices": np.array([1, 0]),
    "adj_indptr": np.array([0, 1, 2, 2]),
    "adj_shape": np.array([3, 3]),
    "attr_dense": np.ones((3, 2), np.float32),
    "labels": np.array([0, 1, -1]),
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"adj_indices": np.array([1, 5])}, "expected adj_indices below 3, found 5"),
        ({"adj_indices": np.array([1, -1])}, "expected adj_indices below 3"),
        ({"adj_indices": np.array([1])}, "found 4 entries and 1 indices"),
        ({"adj_indptr": np.array([0, 2, 1, 2])}, "expected adj_indptr with 4 rising entries"),
        ({"adj_indptr": np.array([0, 1, 2])}, "expected adj_indptr with 4 rising entries"),
        ({"adj_shape": np.array([3, 4])}, r"expected a square adjacency matrix, found \(3, 4\)"),
        ({"adj_shape": np.array([3, 2**40])}, "two numbers below 2³¹"),
        ({"adj_shape": np.array([3.0, 3.0])}, "two numbers below 2³¹"),
        ({"adj_data": np.array(["a", "b"])}, "expected adj_data as a list of numbers"),
        ({"adj_data": np.array([1.0, np.nan])}, "weights that are positive and finite"),
        ({"attr_dense": np.ones((4, 2))}, "expected x for 3 nodes, found 4"),
        ({"attr_dense": np.full((3, 2), np.nan)}, "expected finite features, found 6 entries"),
        ({"attr_dense": np.array([["a"]] * 3)}, "features that are numbers"),
        ({"labels": np.array([0, 1])}, "expected y for 3 nodes, found 2"),
        ({"labels": np.array([0, 1, 9])}, "expected labels from 0 to 2"),
        ({"labels": np.array([0, 1, -2])}, "or −1 for unknown, found -2 to 1"),
        ({"class_names": np.array(["only"])}, "expected labels from 0 to 0"),
        ({"node_names": np.array(["a", "b"])}, "expected node_names for 3 nodes, found 2"),
        ({"node_names": np.arange(3)}, "expected node_names as a list of text"),
    ],
)
def test_npz_whose_parts_disagree(tmp_path, change, words):
    path = tmp_path / "bad.npz"
    np.savez(path, **{**GOOD, **change})
    with pytest.raises(GraphFileError, match=words):
        read_graph(path)
    np.savez(path, **GOOD)
    assert read_graph(path).num_nodes == 3


@pytest.mark.parametrize("missing", ["adj_indices", "adj_indptr", "adj_shape"])
def test_npz_with_a_part_missing(tmp_path, missing):
    np.savez(tmp_path / "bad.npz", **{k: v for k, v in GOOD.items() if k != missing})
    with pytest.raises(GraphFileError, match=f"expected {missing} beside the rest"):
        read_graph(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", labels=[0])
    with pytest.raises(GraphFileError, match="expected adj_data … or edge_index, found labels"):
        read_graph(tmp_path / "bad.npz")


@given(st.data())
def test_a_truncated_or_changed_npz_gives_one_clear_error_or_a_graph(tmp_path_factory, draw):
    folder = tmp_path_factory.mktemp("npz")
    content = bytearray(npz_bytes(folder, **GOOD))
    if draw.draw(st.booleans()):
        content = content[: draw.draw(st.integers(0, len(content) - 1))]
    for _ in range(draw.draw(st.integers(0, 4))):
        if content:
            content[draw.draw(st.integers(0, len(content) - 1))] = draw.draw(st.integers(0, 255))
    path = folder / "g.npz"
    path.write_bytes(bytes(content))
    try:
        read_graph(path)
    except GraphFileError as error:
        assert str(path) in str(error)
    assert path.read_bytes() == bytes(content)
    assert len(list(folder.iterdir())) == 1


def test_every_truncation_of_an_npz_is_noticed(tmp_path):
    content = npz_bytes(tmp_path, **GOOD)
    for length in range(0, len(content), 7):
        (tmp_path / "g.npz").write_bytes(content[:length])
        with pytest.raises(GraphFileError, match="expected an npz archive"):
            read_graph(tmp_path / "g.npz")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("adj_data.npy", "w") as file:
        for _ in range(64):
            file.write(bytes(2**20))
    with pytest.raises(GraphFileError, match=r"unpacks to at most 1,000,000 bytes .* found 67,108,864 from"):
        read_arrays(path, limit=1_000_000)
    assert path.stat().st_size < 100_000


def test_a_header_that_promises_too_much_is_refused(tmp_path):
    path = tmp_path / "lie.npz"
    np.save(tmp_path / "a.npy", np.zeros(4))
    content = (tmp_path / "a.npy").read_bytes().replace(b"(4,), }        ", b"(9999999999,), }")[:160]
    content = (tmp_path / "a.npy").read_bytes()
    shape = b"'shape': (4,), }          "
    assert shape in content
    content = content.replace(shape, b"'shape': (99999999999,), }")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("adj_data.npy", content)
    with pytest.raises(GraphFileError, match=r"expected 799,999,999,992 bytes for shape \(99999999999,\), found 160"):
        read_graph(path)


def test_dense_features_that_cannot_fit_are_refused(tmp_path):
    wide = {
        "attr_data": np.ones(1, np.float32),
        "attr_indices": np.array([2**30]),
        "attr_indptr": np.array([0, 1, 1, 1]),
        "attr_shape": np.array([3, 2**31 - 1]),
    }
    np.savez(tmp_path / "wide.npz", **{k: v for k, v in GOOD.items() if k != "attr_dense"}, **wide)
    with pytest.raises(GraphFileError, match="Keep them sparse with sparse=True"):
        read_graph(tmp_path / "wide.npz")
    assert read_graph(tmp_path / "wide.npz", sparse=True).x.shape == (3, 2**31 - 1)


@pytest.mark.parametrize(
    "found",
    [
        {"x": torch.ones(3, 2)},
        {"edge_index": torch.zeros(3, 2, dtype=torch.long)},
        {"edge_index": torch.zeros(2, 2)},
        {"edge_index": torch.tensor([[0], [5]]), "num_nodes": 3},
        {"edge_index": torch.tensor([[0], [1]]), "x": torch.full((2, 1), torch.nan)},
        {"edge_index": torch.tensor([[0], [1]]), "y": torch.tensor([0, 9])},
    ],
)
def test_saved_dicts_that_are_no_graph(tmp_path, found):
    torch.save(found, tmp_path / "g.pt")
    with pytest.raises(GraphFileError, match="expected"):
        read_graph(tmp_path / "g.pt")


@settings(max_examples=40)
@given(st.data())
def test_damaged_torch_files(tmp_path_factory, draw):
    path = save_data(cycle(5), tmp_path_factory.mktemp("pt") / "g.pt")
    content = bytearray(path.read_bytes())
    content = content[: draw.draw(st.integers(0, len(content)))]
    for _ in range(draw.draw(st.integers(0, 3))):
        if content:
            content[draw.draw(st.integers(0, len(content) - 1))] = draw.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    try:
        read_graph(path)
    except GraphFileError as error:
        assert len(str(error).splitlines()) == 1


@settings(max_examples=60)
@given(st.text(alphabet='<>/graphmlnodeidkyat ="[]0123456789\n', max_size=80), st.sampled_from(["graphml", "gml"]))
def test_fuzzed_markup(tmp_path_factory, text, kind):
    base = {"graphml": '<graphml><graph edgedefault="undirected"><node id="a"/>', "gml": "graph [ node [ id 0 ] "}[kind]
    path = put(tmp_path_factory.mktemp("markup"), f"g.{kind}", base + text)
    try:
        read_graph(path)
    except GraphFileError as error:
        assert str(path) in str(error)


def test_tables_for_graphs_that_have_their_nodes_already(tmp_path):
    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    path = save_data(data, tmp_path / "g.pt")
    labels = put(tmp_path, "y.csv", "0,b\n2,a\n")
    assert read_graph(path, labels=labels).y.tolist() == [1, -1, 0]
    labels = put(tmp_path, "y.csv", "0,b\n7,a\n")
    with pytest.raises(GraphFileError, match=r"expected the 3 nodes of g.pt, found unknown ones such as \['7'\]"):
        read_graph(path, labels=labels)
