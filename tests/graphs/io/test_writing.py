"""A graph written in each format is the same graph when it is read."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn.errors import GraphError
from kappagcn.graphs import assemble, disease, from_networkx, read_graph, save_graph
from kappagcn.graphs.io.undirected import node_id
from spaces import few

WHOLE = [".npz", ".pt"]  # hold everything
EDGES = [".csv", ".tsv", ".txt", ".edges", ".parquet"]


def named():
    """A weighted graph with names that need quoting, labels of which one is unknown, features and an isolated node."""
    club = from_networkx(nx.krackhardt_kite_graph())
    first, second = club.edge_index[:, club.edge_index[0] < club.edge_index[1]].numpy()
    names = ["Ann, the first", "Bob", "Ç é", "a b", "x", "y", 'q"t', "007", "u", "v", "alone"]
    return assemble(
        first,
        second,
        11,
        weights=np.linspace(0.1, 2, len(first)),
        x=torch.eye(11),
        y=torch.tensor([0, 1] * 5 + [-1]),
        node_names=names,
        class_names=["red", "blue"],
    )


def by_name(data):
    """Edges with weights, features and labels of nodes, by the nodes' names."""
    names = data.get("node_names") or [str(i) for i in range(data.num_nodes)]
    weights = [1.0] * data.num_edges if data.get("edge_weight") is None else data.edge_weight.tolist()
    edges = {(names[u], names[v]): w for (u, v), w in zip(data.edge_index.T.tolist(), weights, strict=True)}
    classes, y = data.get("class_names"), data.get("y")
    labels = y is not None and {n: classes[c] if c >= 0 else None for n, c in zip(names, y.tolist(), strict=True)}
    features = dict(zip(names, data.x.tolist(), strict=True)) if data.get("x") is not None else None
    return edges, labels, features


@pytest.mark.parametrize("ending", [*WHOLE, *EDGES, ".csv.gz", ".tsv.zst", ".edgelist.bz2"])
def test_everything_comes_back(tmp_path, ending):
    data = named()
    notes = save_graph(data, tmp_path / f"mine{ending}")
    assert not any("left out" in note for note in notes)
    again = read_graph(tmp_path / f"mine{ending}")
    assert by_name(again) == by_name(data)


@pytest.mark.parametrize("ending", [".graphml", ".gml", ".graphml.gz", ".gml.zst"])
def test_networkx_formats_hold_labels_but_no_features(tmp_path, ending):
    data = named()
    notes = save_graph(data, tmp_path / f"mine{ending}")
    assert "left out: features" in notes
    again = read_graph(tmp_path / f"mine{ending}", labels="class")
    edges, labels, _ = by_name(again)
    wanted = by_name(data)
    assert labels == wanted[1]
    assert edges == pytest.approx(wanted[0])


@pytest.mark.parametrize("ending", [".npz", ".pt", ".csv", ".parquet", ".mtx", ".mtx.gz", ".npy", ".graphml"])
def test_numbered_nodes_keep_their_numbers(tmp_path, ending):
    data = disease(30)
    save_graph(data, tmp_path / f"mine{ending}")
    again = read_graph(tmp_path / f"mine{ending}")
    if ending == ".graphml":  # whose nodes are names
        assert again.node_names == [str(i) for i in range(30)]
    else:
        assert again.get("node_names") is None
    assert torch.equal(again.edge_index, data.edge_index)
    if ending not in (".npy", ".graphml"):
        assert torch.equal(again.x.to_dense(), data.x)
        assert [again.class_names[y] for y in again.y] == [data.class_names[y] for y in data.y]


def test_weights_in_matrices(tmp_path):
    data = named()
    for name in ("a.mtx", "a.npy"):
        notes = save_graph(data, tmp_path / name)
        assert any("names of nodes" in note for note in notes)
        again = read_graph(tmp_path / name)
        assert torch.equal(again.edge_index, data.edge_index)
        assert torch.equal(again.edge_weight, data.edge_weight)


def test_masks_in_npz(tmp_path):
    data = disease(30)
    masks = {f"{part}_mask": torch.arange(30) % 3 == i for i, part in enumerate(("train", "val", "test"))}
    save_graph(data.update(masks), tmp_path / "one.npz")
    again = read_graph(tmp_path / "one.npz")
    assert all(torch.equal(again[name], mask) for name, mask in masks.items())
    several = {name: torch.stack([mask, ~mask], 1) for name, mask in masks.items()}
    save_graph(data.update(several), tmp_path / "two.npz")
    again = read_graph(tmp_path / "two.npz")
    assert all(torch.equal(again[name], mask) for name, mask in several.items())
    assert "left out: train_mask, val_mask, test_mask" in save_graph(data, tmp_path / "two.csv")


def test_what_cannot_be_written_is_refused(tmp_path):
    data = disease(30)
    for name in ("a.xlsx", "a.npz.gz", "a.gz"):
        with pytest.raises(GraphError, match="expected a file ending in"):
            save_graph(data, tmp_path / name)
    alone = assemble(np.array([0]), np.array([1]), 3)
    assert save_graph(alone, tmp_path / "a.csv") == ["left out: 1 isolated node"]
    large = assemble(np.arange(20_000), np.arange(1, 20_001), 20_001)
    with pytest.raises(GraphError, match="expected at most 20,000 nodes"):
        save_graph(large, tmp_path / "a.npy")


ODD_NAMES = [
    "#a",
    "%b",
    '"',
    "a,b",
    "a\tb",
    "a;b",
    "a\nb",
    "a\r\nb",
    "\r",
    " a",
    "a ",
    " ",
    "\u00a0x",
    "nan",
    "NA",
    "?",
]
ODD_NAMES += [
    "''",
    "source",
    "node",
    "007",
    "-0.5",
    "1e3",
    "9223372036854775808",
    "é",
    "日本",
    "=1+1",
    "a|b",
    "\x1f",
    "#",
]


@few(60)
@given(
    st.lists(
        st.sampled_from(ODD_NAMES)
        | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
        min_size=4,
        max_size=8,
        unique_by=node_id,
    ),
    st.sampled_from([*EDGES, ".csv.gz"]),
    st.booleans(),
    st.booleans(),
)
def test_odd_names_come_back(tmp_path_factory, names, ending, weighted, labelled):
    """Whatever nodes are called, a file has the same nodes, edges, weights, features and labels."""
    first = np.arange(len(names) - 1)
    extra = {"y": torch.arange(len(names)) % 2, "class_names": ["#red", "blue, or so "]} if labelled else {}
    data = assemble(
        first,
        first + 1,
        len(names),
        weights=first + 0.5 if weighted else None,
        x=torch.eye(len(names)) if labelled else None,
        node_names=[node_id(name) for name in names],
        **extra,
    )
    path = tmp_path_factory.mktemp("odd") / f"graph{ending}"
    save_graph(data, path)
    again = read_graph(path)
    assert by_name(again) == by_name(data)


def test_names_that_a_file_cannot_tell_apart_are_refused(tmp_path):
    pair = np.array([0]), np.array([1])
    for names, words in ((["1", "1.0"], "found '1' twice"), (["a", ""], "expected names of all nodes")):
        for ending in (".csv", ".parquet", ".graphml"):
            with pytest.raises(GraphError, match=words):
                save_graph(assemble(*pair, 2, node_names=names), tmp_path / f"g{ending}")
    labelled = assemble(*pair, 2, y=torch.tensor([0, 1]), class_names=["a", "NA"])
    with pytest.raises(GraphError, match="found 'NA', which would be read as no label"):
        save_graph(labelled, tmp_path / "g.csv")
