import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from kappagcn import graphs as G
from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import adjacency, from_scipy, load_graph, read_graph, read_npz, save_data, save_npz
from kappagcn.graphs.io.node_data import as_features
from random_graphs import as_data, networks, put
from spaces import few


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


@few(30)
@given(networks(least=1), st.booleans(), st.booleans(), st.booleans())
def test_our_own_forms_come_back(tmp_path_factory, graph, weighted, sparse, named):
    folder = tmp_path_factory.mktemp("own")
    for i, (u, v) in enumerate(graph.edges):
        if weighted:
            graph.edges[u, v]["weight"] = i + 0.5
    data = as_data(graph)
    n = data.num_nodes
    x = sp.random_array((n, 4), density=0.4, random_state=np.random.default_rng(n))

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


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("g.graphml", b"<graphml>", "expected a GRAPHML file, found something else"),
        ("g.graphml", b"<!DOCTYPE x [<!ENTITY a 'b'>]><graphml/>", "without document types or entities"),
        ("g.graphml", b"\xff", "expected a GRAPHML file"),
        ("g.gml", b"graph [ node [ id 0", "expected a GML file"),
        ("g.gml", b"\xff\xfe", "expected a GML file"),
        ("g.pt", b"no", "expected a PyG Data that loads without running code"),
        ("g.npz", b"PK no", "expected an npz archive, found something else or damage"),
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
    with pytest.raises(GraphFileError, match=r"pickled objects \(edge_index\), which are not read"):
        read_graph(tmp_path / "evil.npz")
    assert not Evil.ran


def test_tables_for_graphs_that_have_their_nodes_already(tmp_path):
    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    path = save_data(data, tmp_path / "g.pt")
    labels = put(tmp_path, "y.csv", "0,b\n2,a\n")
    assert read_graph(path, labels=labels).y.tolist() == [1, -1, 0]
    labels = put(tmp_path, "y.csv", "0,b\n7,a\n")
    with pytest.raises(GraphFileError, match=r"y.csv: labels: expected nodes of the graph, .* found 1 other node: '7'"):
        read_graph(path, labels=labels)


def test_tables_that_name_none_of_the_nodes_are_refused(tmp_path):
    edges = put(tmp_path, "g.csv", "a,b\nb,c\n")
    with pytest.raises(GraphFileError, match=r"expected the nodes of g\.csv, such as 'a', found none of them, but 'A'"):
        G.read_graph(edges, labels=put(tmp_path, "y.csv", "A,x\nB,y\n"))


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_matrices_that_are_none():
    for matrix in (None, [["a"]], sp.csr_array(np.ones((2, 2), complex))):
        with pytest.raises(GraphError, match="expected an adjacency matrix of numbers"):
            G.from_scipy(matrix)
    data = G.from_scipy(sp.eye_array(3, k=1), x=torch.eye(3).to_sparse_csr())
    assert data.x.tolist() == torch.eye(3).tolist()
    assert as_features(torch.eye(2).to_sparse_csc(), sparse=True).layout == torch.sparse_csr


def test_scipy_matrices():
    matrix = sp.random_array((20, 20), density=0.2, random_state=np.random.default_rng(0), format="csr")
    data = from_scipy(matrix, x=np.ones((20, 3)), y=np.zeros(20, int))
    both = matrix.toarray() - np.diag(matrix.diagonal())
    count = (both > 0).astype(int) + (both.T > 0)
    want = np.divide(both + both.T, count, out=np.zeros_like(both), where=count > 0)
    assert np.allclose(adjacency(data).toarray(), want, rtol=1e-6)
    with pytest.raises(GraphError, match=r"square adjacency matrix, found shape \(2, 3\)"):
        from_scipy(sp.csr_array((2, 3)))
