"""Inputs that once gave a wrong graph, a wrong number, a leak or a traceback; each must stay right."""

import io
import json
import struct
import zipfile

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

import kappagcn.graphs.datasets.graph_dataset as datasets
import kappagcn.graphs.io.npz as archive
from kappagcn import graphs as G
from kappagcn.errors import GraphError, GraphFileError, KappaGCNError, SplitError
from kappagcn.graphs.io.undirected import as_features
from random_graphs import as_data, data_folder, needs_data


def put(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ---- splits and leaks


def test_a_saved_split_comes_back_whatever_the_nodes_are_called(tmp_path):
    for names in (
        [(5, 3), (3, 1), (1, 0), (0, 2), (2, 4)],
        [("e", "c"), ("c", "b"), ("b", "a"), ("a", "d"), ("d", "f")],
    ):
        data = G.from_networkx(nx.Graph(names))
        split = G.Split([0, 1], [2], [3], [4, 5])
        again = G.read_split(G.save_split(split, tmp_path / "s.json"), data)
        assert again.train.tolist() == [0, 1]
        assert again.final_test_nodes().tolist() == [4, 5]
    np.savez(tmp_path / "s.npz", train=[0, 1], test=[4])
    assert G.read_split(tmp_path / "s.npz", data).train.tolist() == [0, 1]
    np.savez(tmp_path / "s.npz", idx_train=[2], idx_val=[1], idx_test=[0], labels=[0, 1, 1])
    assert G.read_split(tmp_path / "s.npz", data).train.tolist() == [2]
    put(tmp_path, "s.json", '{"train": ["e"], "test": [5]}')
    assert G.read_split(tmp_path / "s.json", data).train.tolist() == [0]
    put(tmp_path, "s.json", '{"train": [0, %s]}' % ("9" * 5000))
    with pytest.raises(SplitError, match="something else"):
        G.read_split(tmp_path / "s.json", data)


def test_the_training_view_shows_nothing_of_test_nodes():
    data = G.cycle(6)
    data.y = torch.tensor([0, 1, 0, 1, 0, 1])
    data.test_mask = torch.tensor([0, 0, 0, 0, 1, 1]).bool()
    data.secret = data.y.clone()
    data.x = torch.ones(6, 2)
    view = G.Split([0, 1], [2], [3], [4, 5]).training_view(data)
    assert set(view.keys()) == {"edge_index", "num_nodes", "name", "report", "x", "y"}
    with pytest.raises(SplitError, match="expected labels to hide"):
        G.Split([0, 1], [2], [3], [4, 5]).training_view(G.cycle(6))


@needs_data
def test_airports_features_do_not_carry_the_label():
    data = G.load_graph("airport", root=data_folder(), download=False)
    assert data.feat.shape == (3188, 4)
    assert np.allclose(G.airport_features(data.feat.numpy(), data.degree.numpy()), data.x.numpy(), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: G.ppnp_split(torch.full((2000,), -1), 0),
        lambda: G.ppnp_split(torch.zeros(2000), 0, per_class=-1),
        lambda: G.ppnp_split(torch.zeros(2000), -1),
        lambda: G.ppnp_split(torch.zeros(2000), 2**32),
        lambda: G.airport_split(3188, -1),
        lambda: G.random_split(torch.zeros(50), -1),
    ],
)
def test_seeds_and_labels_no_split_can_take(call):
    with pytest.raises(SplitError, match="expected"):
        call()


# ---- numbers


def test_advice_looks_at_the_largest_component_alone():
    for main, space in ((nx.path_graph(10), "E16"), (nx.cycle_graph(10), "S16")):
        assert G.describe(as_data(nx.disjoint_union(main, nx.star_graph(3)))).advice.signature == space


@pytest.mark.parametrize("n", [0, 1, 5])
def test_graphs_with_nothing_to_measure_say_so(n):
    found = G.describe(as_data(nx.empty_graph(n)))
    assert str(found.curvature) == "none (no node has two neighbours)"
    assert found.advice.reasons == ("too small to tell spaces apart",)
    json.dumps(found.record(), allow_nan=False)
    with pytest.raises(GraphError, match="dimension of at least 1"):
        G.describe(as_data(nx.empty_graph(n)), dim=0)


def test_the_record_has_a_curvature_for_every_node_of_the_graph():
    record = G.describe(as_data(nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(8)))).record()
    values = record["curvature"]["per_node"]
    assert values[:3] == [None] * 3
    assert values[3:] == [round(1 / 7, 6)] * 8


def test_names_of_columns_and_classes_are_not_cut_with_the_nodes():
    data = as_data(nx.disjoint_union(nx.path_graph(2), nx.cycle_graph(3)))
    data.x, data.attr_names = torch.eye(5), list("abcde")
    data.y, data.class_names = torch.arange(5), list("VWXYZ")
    part = G.largest_component(data)
    assert part.x.shape == (3, 5)
    assert (part.attr_names, part.class_names) == (list("abcde"), list("VWXYZ"))
    assert part.y.tolist() == [2, 3, 4]


@pytest.mark.parametrize("weight", ["1e-50", "1e50"])
def test_weights_that_float32_cannot_hold_are_refused(tmp_path, weight):
    with pytest.raises(GraphFileError, match="weights are float32"):
        G.read_graph(put(tmp_path, "g.csv", f"a,b,{weight}\nb,c,2\n"))


@pytest.mark.parametrize(
    ("edges", "fault"),
    [
        ([[0, 1, 2], [1, 2, 3]], "edges in one direction only"),
        ([[0, 1, 1], [1, 0, 1]], "self-loops"),
        ([[0, 0, 1, 1], [1, 1, 0, 0]], "repeated edges"),
        ([[0, 1, 1, 2, 2, 0], [1, 2, 0, 1, 0, 1]], "repeated edges|one direction"),
    ],
)
def test_raw_data_is_not_measured_as_if_it_were_clean(edges, fault):
    data = Data(edge_index=torch.tensor(edges), num_nodes=4)
    for measure in (G.shortest_paths, G.describe, G.parallelogram_curvature, G.hyperbolicity, G.clustering):
        with pytest.raises(GraphError, match=f"found .*({fault}).*from_pyg"):
            measure(data)
    clean = G.from_pyg(data)
    assert G.shortest_paths(clean).shape == (4, 4)
    assert clean.is_undirected()


def test_a_weight_that_differs_by_direction_is_noticed():
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=torch.tensor([1.0, 2.0]), num_nodes=2)
    with pytest.raises(GraphError, match="one direction only"):
        G.shortest_paths(data)
    assert G.from_pyg(data).edge_weight.tolist() == [1.5, 1.5]


def test_a_cache_that_cannot_be_used_is_done_without(tmp_path):
    data = G.cycle(9)
    first = G.shortest_paths(data, cache=tmp_path)
    (kept,) = (tmp_path / "distances").iterdir()
    for damage in (b"PK\x03\x04 no zip", b"\x93NUMPY\x01\x00\x10\x00{'descr: oops    ", b"", b"\x80\x04."):
        kept.write_bytes(damage)
        assert torch.equal(G.shortest_paths(data, cache=tmp_path), first)
    with pytest.warns(UserWarning, match="could not be kept"):
        assert torch.equal(G.shortest_paths(data, cache=put(tmp_path, "file", "")), first)


def test_an_all_pairs_matrix_of_floats_counts_eight_bytes():
    n = 60_000
    rows = np.arange(n - 1)
    data = G.assemble(rows, rows + 1, n, weights=np.full(n - 1, 0.5))
    with pytest.raises(GraphError, match="27 GiB"):
        G.shortest_paths(data)


# ---- edge lists and tables


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0,1\n,2\n3 4,5\n", "line 2: expected two nodes, found an empty name"),
        ("0,1,\n1,2,3 4\n", "line 1: expected a number as weight"),
        ("1;2;0,5\n2;3;0,7\n", "expected a number as weight, found '0,5'"),
        ("0,1\r1,2\r", "expected a table"),
        ("a" * 140_000 + ",b\n", "expected a table"),
    ],
)
def test_edge_lists_that_once_slipped_through(tmp_path, text, want):
    with pytest.raises(GraphFileError, match=want):
        G.read_graph(put(tmp_path, "g.csv", text))


def test_short_names_are_not_a_heading_and_headings_are_reported(tmp_path):
    data = G.read_graph(put(tmp_path, "g.txt", "u v\nv w\nw u\n"))
    assert (data.num_nodes, data.num_edges) == (3, 6)
    data = G.read_graph(put(tmp_path, "g.csv", "u,v,w\na,b,0.5\n"))
    assert data.edge_weight.tolist() == [0.5, 0.5]
    assert data.report.endswith("heading: u, v, w")
    assert "heading:" not in G.read_graph(put(tmp_path, "g.csv", "a,b\nb,c\n")).report


@pytest.mark.parametrize(
    "text", ["person,team\nalice,red\nbob,blue\n", "# who\nalice,red\nbob,blue\n", ",0\nalice,red\nbob,blue\n"]
)
def test_headings_of_tables_are_known_by_the_nodes_below(tmp_path, text):
    edges = put(tmp_path, "g.csv", "alice,bob\n")
    data = G.read_graph(edges, labels=put(tmp_path, "y.csv", text))
    assert data.num_nodes == 2
    assert data.class_names == ["blue", "red"]
    assert data.y.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,²\n1,0\n", None),  # a word like any other
        ("0,--1\n1,0\n", None),
        ("0,99999999999999999999999\n1,0\n", None),
        ("0,a\n,b\n", "line 2: expected a node, found an empty name"),
    ],
)
def test_odd_labels(tmp_path, text, words):
    edges, labels = put(tmp_path, "g.csv", "0,1\n"), put(tmp_path, "y.csv", text)
    if words is None:
        assert sorted(G.read_graph(edges, labels=labels).y.tolist()) == [0, 1]
    else:
        with pytest.raises(GraphFileError, match=words):
            G.read_graph(edges, labels=labels)


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.ones((3, 1)), "node_names": np.array(["0", "1", "1"])},
        {"x": np.ones((3, 1)), "node_names": np.array(["0", "1"])},
        {"x": np.ones((3, 1)), "node_names": np.array("0")},
        {"labels": np.ones(3), "node_names": np.array(["0", "1", "2", "3"])},
        {"labels": np.ones(3, complex)},
        {"labels": np.array(["2001-01-01"] * 3, dtype="M8[D]")},
        {"labels": np.array([0, np.nan, 1])},
        {"labels": np.array(1)},
    ],
)
def test_node_tables_in_npz_that_make_no_sense(tmp_path, arrays):
    edges = put(tmp_path, "g.csv", "0,1\n1,2\n")
    np.savez(tmp_path / "t.npz", **arrays)
    key = "features" if "x" in arrays else "labels"
    with pytest.raises(GraphFileError, match="expected") as caught:
        G.read_graph(edges, **{key: tmp_path / "t.npz"})
    assert "-9223372036854775808" not in str(caught.value)


def test_node_names_as_bytes_or_numbers_are_names(tmp_path):
    edges = put(tmp_path, "g.csv", "0,1\n1,2\n")
    for names in (np.array([b"2", b"1", b"0"]), np.array([2, 1, 0])):
        np.savez(
            tmp_path / "t.npz", x=np.array([[2.0], [1.0], [0.0]]), labels=np.array([b"c", b"b", b"a"]), node_names=names
        )
        data = G.read_graph(edges, features=tmp_path / "t.npz", labels=tmp_path / "t.npz")
        assert data.x.flatten().tolist() == [0, 1, 2]
        assert data.class_names == ["a", "b", "c"]
        assert data.y.tolist() == [0, 1, 2]


def test_the_second_of_two_equal_names_is_found_quickly(tmp_path):
    import time

    edges = put(tmp_path, "g.csv", "0,1\n")
    rows = [f"{i},0" for i in range(100_000)]
    start = time.perf_counter()
    with pytest.raises(GraphFileError, match="found '99999' twice"):
        G.read_graph(edges, labels=put(tmp_path, "y.csv", "\n".join([*rows, "99999,1"])))
    assert time.perf_counter() - start < 5  # seconds, where it was minutes


# ---- npz and torch


@pytest.mark.parametrize("nodes", [-1, 3.7, np.nan, "three", [], [3, 3]])
def test_num_nodes_that_is_no_number_of_nodes(tmp_path, nodes):
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]), num_nodes=nodes)
    with pytest.raises(GraphFileError, match="expected num_nodes as one number from 0"):
        G.read_graph(tmp_path / "g.npz")


def test_a_tiny_file_cannot_ask_for_billions_of_nodes(tmp_path):
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]), num_nodes=2**31 - 1)
    with pytest.raises(GraphFileError, match="2,147,483,647 nodes for 1 of those"):
        G.read_graph(tmp_path / "g.npz")
    torch.save({"edge_index": torch.tensor([[0], [2**31 - 2]])}, tmp_path / "g.pt")
    with pytest.raises(GraphFileError, match="Number the nodes without gaps"):
        G.read_graph(tmp_path / "g.pt")


@pytest.mark.parametrize(
    "arrays",
    [
        {"labels": np.array(1)},
        {"edge_weight": np.array(["a"])},
        {"edge_weight": np.array([1 + 2j])},
        {"node_names": np.array([b"\xff", b"a"])},
        {"edge_weight": np.array([], np.float64)},
    ],
)
def test_npz_parts_of_the_wrong_kind(tmp_path, arrays):
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]), **arrays)
    with pytest.raises(GraphFileError, match="expected"):
        G.read_graph(tmp_path / "g.npz")


def header(text):
    body = text.encode() + b" " * (63 - len(text) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': ('<f8', (2, 2)), 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 2), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 0, 100000000000000000000), }",
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': {(1,) * 70}, }}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (2, 1000000000), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<M8[D]', 'fortran_order': False, 'shape': (99999999999,), }",
    ],
)
def test_npy_headers_that_lie(tmp_path, text):
    with zipfile.ZipFile(tmp_path / "g.npz", "w") as file:
        file.writestr("edge_index.npy", header(text) + b"\0" * 8)
    with pytest.raises(GraphFileError, match="expected"):
        G.read_graph(tmp_path / "g.npz")


def test_damaged_lzma_members(tmp_path):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_LZMA) as file, file.open("edge_index.npy", "w") as member:
        np.save(member, np.zeros((2, 2000), np.int64))
    content = bytearray(memory.getvalue())
    refused = 0
    for place in range(60, 110):
        changed = content.copy()
        changed[place] ^= 0xFF
        try:
            G.read_graph(put(tmp_path, "g.npz", bytes(changed)))
        except GraphFileError:
            refused += 1
    assert refused > 10


def test_an_archive_of_zeros_is_refused_by_its_ratio(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "SMALL", 2**20)
    np.savez_compressed(tmp_path / "g.npz", edge_index=np.zeros((2, 10**6), np.int64))
    with pytest.raises(GraphFileError, match="200 times its size, found 16,000,"):
        G.read_graph(tmp_path / "g.npz")
    assert G.read_npz(tmp_path / "g.npz", limit=2**30).num_nodes == 1


EDGES = torch.tensor([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("more", "check"),
    [
        ({"x": torch.eye(3).to_sparse_coo()}, lambda d: d.x.to_dense().tolist() == torch.eye(3).tolist()),
        ({"x": torch.eye(3).requires_grad_()}, lambda d: not d.x.requires_grad),
        ({"x": torch.eye(3, dtype=torch.bfloat16)}, lambda d: d.x.dtype == torch.float32),
        ({"y": torch.tensor([[0], [1], [0]])}, lambda d: d.y.tolist() == [0, 1, 0]),
        ({"y": torch.tensor([0.0, 1.0, 0.0])}, lambda d: d.y.tolist() == [0, 1, 0]),
        ({"edge_weight": torch.tensor([[2.0], [3.0]])}, lambda d: d.edge_weight.tolist() == [2, 2, 3, 3]),
        ({"train_mask": torch.tensor([True, False, True])}, lambda d: d.train_mask.tolist() == [True, False, True]),
        ({"edge_attr": torch.ones(2, 4)}, lambda d: d.report.endswith("left out: edge_attr")),
        ({"name": torch.ones(2)}, lambda d: d.name == "g"),
    ],
)
def test_odd_but_plausible_torch_files(tmp_path, more, check):
    torch.save({"edge_index": EDGES, **more}, tmp_path / "g.pt")
    assert check(G.read_graph(tmp_path / "g.pt"))


@pytest.mark.parametrize(
    "more",
    [
        {"x": [[1.0]]},
        {"x": torch.tensor(1.0)},
        {"y": [0, 1, 0]},
        {"y": 3},
        {"y": torch.tensor([0.5, 1, 0])},
        {"edge_weight": [1.0, 2.0]},
        {"num_nodes": torch.tensor([3, 3])},
        {"num_nodes": "3"},
        {"num_nodes": -3},
        {"edge_index": EDGES.to_sparse_coo()},
        {"edge_index": EDGES.to(torch.complex64)},
        {"x": torch.ones(3, 2, dtype=torch.complex64)},
    ],
)
def test_impossible_torch_files(tmp_path, more):
    torch.save({"edge_index": EDGES, **more}, tmp_path / "g.pt")
    with pytest.raises(GraphFileError, match="expected"):
        G.read_graph(tmp_path / "g.pt")


# ---- GML, NetworkX, SciPy


@pytest.mark.parametrize(
    "text",
    [
        'graph [ comment "label" node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 label "x" ] ]',
        'graph [ node [ id 0 label "a" ] node [ id 1 label "a" ] edge [ source 0 target 1 ] ]',
        "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] edge [ source 0 target 1 ] ]",
        "graph [ multigraph 0 node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] edge [ source 1 target 0 ] ]",
    ],
)
def test_gml_as_it_is_found(tmp_path, text):
    data = G.read_graph(put(tmp_path, "g.gml", text))
    assert (data.num_nodes, data.num_edges) == (2, 2)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_matrices_that_are_none():
    for matrix in (None, [["a"]], sp.csr_array(np.ones((2, 2), complex))):
        with pytest.raises(GraphError, match="expected an adjacency matrix of numbers"):
            G.from_scipy(matrix)
    data = G.from_scipy(sp.eye_array(3, k=1), x=torch.eye(3).to_sparse_csr())
    assert data.x.tolist() == torch.eye(3).tolist()
    assert as_features(torch.eye(2).to_sparse_csc(), sparse=True).layout == torch.sparse_csr


def test_names_given_twice_are_kept_but_cannot_be_looked_up(tmp_path):
    data = G.from_networkx(nx.Graph([(1, "1"), ("1", 2)]))
    assert data.node_names == ["1", "1", "2"]
    put(tmp_path, "s.json", '{"train": ["1"], "test": ["2"]}')
    with pytest.raises(SplitError, match="found '1' twice"):
        G.read_split(tmp_path / "s.json", data)


# ---- sources


def test_a_source_with_wrong_bytes_gives_way_to_the_next(tmp_path, monkeypatch):
    tried = []

    def refuse(file, folder, **_):
        tried.append(file.name)
        raise datasets.IntegrityError("wrong bytes")

    monkeypatch.setattr(datasets, "fetch", refuse)
    with pytest.raises(datasets.IntegrityError, match="wrong bytes"):
        G.GraphDataset("amazon_computers", cache=tmp_path)
    assert tried == ["amazon_cs.npz", "amazon_electronics_computers.npz"]


def test_built_in_graphs_take_no_tables():
    with pytest.raises(KappaGCNError, match="only beside a file"):
        G.load_graph("karate", features="x.csv")


def test_saving_makes_the_folder_and_leaves_no_part(tmp_path):
    path = G.save_data(G.cycle(4), tmp_path / "new" / "g.pt")
    assert G.read_graph(path).num_nodes == 4
    assert [p.name for p in path.parent.iterdir()] == ["g.pt"]


# ---- what a newcomer ran into


def test_tables_that_name_none_of_the_nodes_are_refused(tmp_path):
    edges = put(tmp_path, "g.csv", "a,b\nb,c\n")
    with pytest.raises(GraphFileError, match=r"expected the nodes of g\.csv, such as 'a', found none of them, but 'A'"):
        G.read_graph(edges, labels=put(tmp_path, "y.csv", "A,x\nB,y\n"))


def test_names_without_a_heading_are_reported_and_a_heading_can_be_said(tmp_path):
    path = put(tmp_path, "g.csv", "person,friend\nAnna,Bob\nBob,Carl\n")
    assert G.read_graph(path).report.endswith("no heading")
    data = G.read_graph(path, header=True)
    assert data.node_names == ["Anna", "Bob", "Carl"]
    assert data.report.endswith("heading: person, friend")


def test_labels_counted_from_one_become_classes(tmp_path):
    edges = put(tmp_path, "g.csv", "0,1\n1,2\n2,3\n")
    data = G.read_graph(edges, labels=put(tmp_path, "y.csv", "0,5\n1,10\n2,5\n"))
    assert data.y.tolist() == [0, 1, 0, -1]
    assert data.class_names == ["5", "10"]


@pytest.mark.parametrize(
    "parts", ['{"Train": [0], "val": [1], "test": [2]}', '{"train": [0], "valid": [1], "test": [2]}']
)
def test_usual_names_of_parts_are_understood(tmp_path, parts):
    split = G.read_split(put(tmp_path, "s.json", parts), G.cycle(4))
    assert split.validation.tolist() == [1]
    np.savez(tmp_path / "m.npz", train_mask=[True, False, False, False], val_mask=[False, True, False, False])
    assert G.read_split(tmp_path / "m.npz", G.cycle(4)).validation.tolist() == [1]


def test_things_that_are_no_graph_are_named():
    for thing in (nx.path_graph(3), "friends.csv", None):
        for measure in (G.describe, G.shortest_paths, G.parallelogram_curvature):
            with pytest.raises(GraphError, match="expected a PyG Data, found"):
                measure(thing)
    for thing in (G.cycle(4), None):
        with pytest.raises(SplitError, match=r"data\.y"):
            G.random_split(thing, 0)


def test_the_layer_takes_the_advised_signature():
    from kappagcn import KappaGCNConv

    x, edges = torch.ones(4, 3), G.cycle(4).edge_index
    assert KappaGCNConv(3, 16, "H8xS8")(x, edges).shape == (4, 16)
    assert float(KappaGCNConv(3, 2, -1.0).manifold.k) == -1
