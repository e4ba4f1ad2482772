"""Edges from files, lists, arrays and data frames; all give the same graph."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kappagcn import graphs as G
from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import as_graph, from_edges, read_graph, save_npz
from kappagcn.graphs.io import edges as module
from kappagcn.graphs.io.edges import EdgeColumns, as_pairs, read_edges, read_pairs
from random_graphs import put

EDGES = [("ann", "bob", 2.0), ("bob", "cem", 0.5), ("cem", "ann", 1.5)]
COLUMNS = {"weight": [w for *_, w in EDGES], "to": [v for _, v, _ in EDGES], "from": [u for u, _, _ in EDGES]}


def same(one, other):
    assert one.num_nodes == other.num_nodes
    assert torch.equal(one.edge_index, other.edge_index)
    for name in ("edge_weight", "node_names"):
        first, second = one.get(name), other.get(name)
        assert (first is None and second is None) or list(first) == list(second)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_are_read_as_a_file_is(frame, tmp_path):
    (tmp_path / "friends.csv").write_text("weight,to,from\n2.0,bob,ann\n0.5,cem,bob\n1.5,ann,cem\n")
    wanted = read_graph(tmp_path / "friends.csv")
    same(as_graph(frame(COLUMNS)), wanted)
    same(from_edges(EDGES), wanted)
    categories = pd.DataFrame(COLUMNS).astype({"to": "category", "from": "category"})
    same(as_graph(categories), wanted)


def test_integers_in_every_form():
    pairs = [(0, 1), (3, 1), (3, 4)]
    wanted = as_graph(pairs)
    assert wanted.node_names == ["0", "1", "3", "4"]
    array = np.array(pairs)
    columns = {"a": array[:, 0], "b": array[:, 1]}
    for edges in (array, array.astype(np.uint16), [tuple(map(np.int32, p)) for p in pairs], torch.tensor(array.T)):
        same(as_graph(edges), wanted)
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pd.DataFrame(columns).astype(float)):
        same(as_graph(frame), wanted)
    whole = as_graph(pairs, num_nodes=6)
    assert whole.get("node_names") is None
    assert (whole.num_nodes, whole.num_edges) == (6, 6)
    assert whole.edge_index[0].tolist() == [0, 1, 1, 3, 3, 4]
    assert as_graph([]).num_nodes == 0


def test_a_square_frame_of_numbers_is_a_matrix():
    matrix = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0.0]])
    graph = as_graph(pd.DataFrame(matrix, columns=list("abcd")))
    assert graph.node_names == list("abcd")
    assert graph.num_edges == 12
    assert "a matrix" in graph.report
    same(as_graph(pd.DataFrame(matrix)), as_graph(matrix))
    named = pd.DataFrame({"source": [0, 1, 2, 3], "target": [1, 2, 3, 0], "x": [1, 2, 3, 4], "y": [1, 2, 3, 4]})
    assert as_graph(named).num_edges == 8


def test_paths_and_names(tmp_path):
    graph = as_graph([(0, 1), (1, 2)])
    same(as_graph(save_npz(graph, tmp_path / "mine.npz")), graph)
    same(as_graph(str(tmp_path / "mine.npz")), graph)
    assert as_graph("karate").num_nodes == 34
    with pytest.raises(GraphError, match="expected a file or a built-in name"):
        as_graph("karaoke")


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([(0, 1), (2,)], r"found \(2,\) at edge 1"),
        ([(0, 1), (1, 2, 3.0)], "at edge 1"),
        ([(0, "a"), (1.5, "b")], "fractions"),
        ([("a", "b", "heavy")], "row 0: expected a number as weight, found 'heavy'"),
        ([(0, 1), (None, 2)], "expected a node in every row of source, found 1 empty"),
        ([(0, 1, -2.0)], "expected weights that are positive"),
        (pd.DataFrame({"a": [1, 2]}), "found 1 columns"),
        (pd.DataFrame({"a": [1, None], "b": [1, 2]}), "expected a node in every row of a"),
        (np.zeros((5, 2)), r"expected edges as integers \(E, 2\), found float64"),
        (torch.zeros(3, 5), r"expected edges as a tensor \(2, E\)"),
        ({"a": [1]}, "expected PyG's Data"),
    ],
)
def test_wrong_edges_are_refused(edges, words):
    with pytest.raises(GraphError, match=words):
        as_graph(edges)


def named_edges(result):
    names = [str(n) for n in result.names]
    return [(names[u], names[v]) for u, v in zip(result.rows, result.cols, strict=True)]


@pytest.mark.parametrize(
    ("text", "want", "weights"),
    [
        ("0,1\n1,2\n", [("0", "1"), ("1", "2")], None),
        ("0,1", [("0", "1")], None),
        ("0 1\n1   2\n", [("0", "1"), ("1", "2")], None),
        ("0\t1\n1\t2\n", [("0", "1"), ("1", "2")], None),
        ("0;1\r\n1;2\r\n", [("0", "1"), ("1", "2")], None),
        ("0,1\r1,2\r", [("0", "1"), ("1", "2")], None),
        ("1.0,2.0\n2,+3\n", [("1", "2"), ("2", "3")], None),
        ("\ufeff0,1\n", [("0", "1")], None),
        ("# comment\n\n0,1\n% another\n1,2\n\n\n", [("0", "1"), ("1", "2")], None),
        ("source,target\n5,3\n", [("5", "3")], None),
        ("x,y\n5,3\n", [("5", "3")], None),
        ("a,b\nb,c\n", [("a", "b"), ("b", "c")], None),
        ("from,to\na,b\n", [("a", "b")], None),
        ("target,source,weight\n1,2,0.5\n", [("2", "1")], [0.5]),
        ("0,1,2.5\n1,2,3\n", [("0", "1"), ("1", "2")], [2.5, 3.0]),
        ("a b 1e-2\n", [("a", "b")], [0.01]),
        ("src;dst;since;w\na;b;2001;2\n", [("a", "b")], [2.0]),
        ('"Smith, John",Ann\nAnn,"O""Hara"\n', [("Smith, John", "Ann"), ("Ann", 'O"Hara')], None),
        ("007,7\n", [("007", "7")], None),
        ("1.5,2\n", [("1.5", "2")], None),
        ("9007199254740993,9007199254740992\n", [("9007199254740993", "9007199254740992")], None),
        ("-1,5\n", [("-1", "5")], None),
        ("é,ß\n", [("é", "ß")], None),
        (" a , b \n", [("a", "b")], None),
    ],
)
def test_edge_lists_as_people_have_them(tmp_path, text, want, weights):
    graph = read_edges(put(tmp_path, "graph.csv", text))
    assert named_edges(graph) == want
    assert (graph.weights is None) == (weights is None)
    if weights:
        assert graph.weights.tolist() == weights


def test_headings_can_be_said(tmp_path):
    path = put(tmp_path, "graph.csv", "ann,bob\nbob,cid\n")
    assert named_edges(read_edges(path)) == [("ann", "bob"), ("bob", "cid")]
    assert named_edges(read_edges(path, EdgeColumns(header=True))) == [("bob", "cid")]
    path = put(tmp_path, "graph.csv", "source,target\nx,y\n")
    assert named_edges(read_edges(path, EdgeColumns(header=False))) == [("source", "target"), ("x", "y")]


@given(
    st.lists(st.tuples(st.integers(-5, 40), st.integers(-5, 40)), min_size=1, max_size=40),
    st.sampled_from([",", "\t", ";", " "]),
    st.booleans(),
    st.booleans(),
)
def test_nodes_named_by_integers_are_in_their_order(tmp_path_factory, pairs, mark, weighted, comment):
    lines = [mark.join(map(str, (*p, i + 0.5) if weighted else p)) for i, p in enumerate(pairs)]
    if comment:
        lines.insert(len(lines) // 2 + 1, "# half way")
    path = put(tmp_path_factory.mktemp("edges"), "graph.csv", "\n".join(lines) + "\n")
    graph = read_edges(path)
    assert named_edges(graph) == [(str(u), str(v)) for u, v in pairs]
    assert graph.names.tolist() == sorted({n for p in pairs for n in p})
    if weighted:
        assert graph.weights.tolist() == [i + 0.5 for i in range(len(pairs))]


def test_far_apart_numbers_are_renumbered_too(tmp_path):
    graph = read_edges(put(tmp_path, "graph.csv", "1000000000000,5\n5,-7\n"))
    assert graph.names.tolist() == [-7, 5, 10**12]
    assert named_edges(graph) == [("1000000000000", "5"), ("5", "-7")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected edges, one per line, found none"),
        ("# nothing\n", "expected edges, one per line, found none"),
        ("source,target\n", "expected edges below the heading, found none"),
        ("abc\n", "line 1: expected two nodes per line"),
        ("0,1\n0,1,2\n", "line 2: expected 2 columns, as in the first line, found 3"),
        ("0,1\n2\n", "line 2: expected 2 columns, as in the first line, found 1"),
        ("a b\na b c\n", "line 2: expected 2 columns"),
        ("0,1,2,3\n", "line 1: expected two columns, or three with weights, found 4. Add a heading"),
        ("0,1,x\n", "line 1: expected a number as weight, found 'x'"),
        ("0,1,2\n1,2,\n", "line 2: expected a number as weight, found ''"),
        ("0,1\n,2\n", "line 2: expected two nodes, found an empty name"),
        (b"0,1\n\xff\xfe,2\n", "expected text in UTF-8"),
        (b"\x00\x01\x02\xff", "expected text in UTF-8"),
        ('a,b\n"c,d\n', "quotation mark"),
    ],
)
def test_malformed_edge_lists_are_named_with_their_line(tmp_path, text, words):
    with pytest.raises(GraphFileError, match=words) as caught:
        read_edges(put(tmp_path, "graph.csv", text))
    assert "graph.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("weight", ["0", "-2", "nan", "inf"])
def test_impossible_weights_are_refused(tmp_path, weight):
    with pytest.raises(GraphFileError, match="expected weights that are positive and finite"):
        read_graph(put(tmp_path, "graph.csv", f"0,1,{weight}\n"))


@given(st.binary(max_size=200) | st.text(alphabet='0123456789,;\t\n ab"#.e-', max_size=120))
def test_any_bytes_give_a_graph_or_one_clear_error(tmp_path_factory, content):
    path = put(tmp_path_factory.mktemp("fuzz"), "graph.csv", content)
    before = path.read_bytes()
    try:
        data = read_graph(path)
    except GraphFileError as error:
        assert str(path) in str(error)
        assert len(str(error).splitlines()) == 1
    else:
        assert data.num_nodes >= 1
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["graph.csv"]


def test_a_networkx_edge_list_comes_back(tmp_path):
    graph = nx.gnm_random_graph(50, 100, seed=0)
    nx.write_edgelist(graph, tmp_path / "g.edgelist", data=False)
    data = read_graph(tmp_path / "g.edgelist")
    names = data.get("node_names") or [str(i) for i in range(data.num_nodes)]
    result = {frozenset((int(names[u]), int(names[v]))) for u, v in data.edge_index.T.tolist()}
    assert result == {frozenset(e) for e in graph.edges}
    assert (np.array([int(n) for n in names]) == sorted(n for n in graph if graph.degree[n])).all()


@pytest.mark.parametrize("weight", ["1e-50", "1e50"])
def test_weights_that_float32_cannot_hold_are_refused(tmp_path, weight):
    with pytest.raises(GraphFileError, match="weights are float32"):
        G.read_graph(put(tmp_path, "g.csv", f"a,b,{weight}\nb,c,2\n"))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0,1\n,2\n3 4,5\n", "line 2: expected two nodes, found an empty name"),
        ("0,1,\n1,2,3 4\n", "line 1: expected a number as weight"),
        ("1;2;0,5\n2;3;0,7\n", "expected a number as weight, found '0,5'"),
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


def test_names_without_a_heading_are_reported_and_a_heading_can_be_said(tmp_path):
    path = put(tmp_path, "g.csv", "person,friend\nAnna,Bob\nBob,Carl\n")
    with pytest.raises(GraphFileError, match=r"line 1: expected a heading, or edges.*--header or --no-header"):
        G.read_graph(path)
    assert G.read_graph(path, header=False).report.endswith("no heading")
    data = G.read_graph(path, header=True)
    assert data.node_names == ["Anna", "Bob", "Carl"]
    assert data.report.endswith("heading: person, friend")


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n1,2\n2,0\n",
        "source,target\n5,7\n7,1000000\n-3,5\n",
        "# graph\n10\t20\n20\t30\n0\t10",
        "0 1\n100 0\n0 100\n",
        "1,2\n2,9223372036854775000\n",
        "007,7\n7,8\n",
        "0,01\n1,2\n",
        "+1,2\n2,3\n",
        "1.0,2\n2,3\n",
        "1,-0\n0,3\n",
        "1,2\n2,b\n",
    ],
)
def test_integers_are_read_as_text_is(tmp_path, monkeypatch, text):
    """The quick way for integers comes to the same nodes, edges and names as the way for any text."""
    file = tmp_path / "g.csv"
    file.write_text(text)
    quick = read_edges(file)
    monkeypatch.setattr(module, "_number_integers", lambda *_: None)
    slow = read_edges(file)
    assert [str(name) for name in quick.names] == [str(name) for name in slow.names]
    assert (quick.rows.tolist(), quick.cols.tolist()) == (slow.rows.tolist(), slow.cols.tolist())
    assert quick.notes == slow.notes


def test_names_are_numbered_in_order_of_appearance(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(f"n{a}", f"n{b}") for a, b in rng.integers(0, 50, (200, 2))]
    (tmp_path / "g.csv").write_text("\n".join(",".join(pair) for pair in pairs))
    edges = read_edges(tmp_path / "g.csv")
    assert edges.names == list(dict.fromkeys(name for pair in pairs for name in pair))
    assert [(edges.names[u], edges.names[v]) for u, v in zip(edges.rows, edges.cols, strict=True)] == pairs


@pytest.mark.parametrize("heading", ["quelle;ziel", "Von;Nach", "origen;destino", "sender;receiver", "user;item"])
def test_headings_in_other_words(tmp_path, heading):
    path = tmp_path / "edges.csv"
    path.write_text(f"{heading}\nanna;bert\nbert;carl\n")
    assert read_edges(path).names == ["anna", "bert", "carl"]


def test_a_heading_whose_names_never_occur_again_is_one(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("kto,komu\nanna,bert\nbert,carl\ncarl,dora\n")
    edges = read_edges(path)
    assert len(edges.rows) == 3
    assert edges.notes == ("heading: kto, komu",)
    path.write_text("anna,bert\nbert,carl\ncarl,dora\ndora,anna\n")
    assert read_edges(path).notes == ("no heading",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "who,whom,mails\n1,2,5\n2,3,4\n",
            "columns not used: mails (weights would be in a column weight, or named with --weight)",
        ),
        (",source,target\n0,1,2\n1,2,3\n", "heading: , source, target"),
        ("1,2,5\n2,3,4\n", "weights from the third column"),
    ],
)
def test_what_is_read_as_a_weight_is_reported(tmp_path, text, words):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    assert read_edges(path).notes[-1] == words


INDEX = {"a": 0, "b": 1, "c": 2}


def pairs_in(tmp_path, text):
    (tmp_path / "pairs.csv").write_text(text)
    return read_pairs(tmp_path / "pairs.csv", INDEX)


def test_two_columns_with_and_without_a_heading(tmp_path):
    assert pairs_in(tmp_path, "a,b\nb,c\n").pairs.tolist() == [[0, 1], [1, 2]]
    listed = pairs_in(tmp_path, "source,target\nc,a\n")
    assert (listed.pairs.tolist(), listed.third) == ([[2], [0]], None)


@pytest.mark.parametrize("order", [("source", "target", "Time"), ("Time", "source", "target")])
def test_the_third_column_is_the_one_without_nodes(tmp_path, order):
    cells = [{"source": "a", "target": "b", "Time": "3"}, {"source": "b", "target": "c", "Time": "4"}]
    rows = [order, *([row[name] for name in order] for row in cells)]
    listed = pairs_in(tmp_path, "\n".join(map("\t".join, rows)))
    assert listed.pairs.tolist() == [[0, 1], [1, 2]]
    assert listed.table.columns.column(listed.third).to_pylist() == ["3", "4"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected pairs of nodes, one per line, found none"),
        ("a,b\nb,z\n", "expected nodes of the graph, such as 'a', found 'z'"),
        ("a,b,1,2\n", "line 1: expected two nodes per line, and perhaps a third column, found 4"),
    ],
)
def test_other_files_are_named(text, words, tmp_path):
    with pytest.raises(GraphFileError, match=words):
        pairs_in(tmp_path, text)


def test_pairs_in_memory_by_number_or_name():
    assert as_pairs([("a", "b"), ("b", "c")], INDEX, 3).tolist() == [[0, 1], [1, 2]]
    assert as_pairs(np.array([[0, 1], [1, 2], [0, 2]]), INDEX, 3).tolist() == [[0, 1, 0], [1, 2, 2]]
    with pytest.raises(GraphError, match="pairs: expected nodes"):
        as_pairs([("a", "z")], INDEX, 3)
    with pytest.raises(GraphError, match="pairs: expected nodes from 0 to 2"):
        as_pairs(np.array([[0, 3]]), INDEX, 3)
    for loop in ([("a", "b"), ("c", "c")], np.array([[0, 1], [2, 2]])):
        with pytest.raises(GraphError, match="found node 2 with itself"):
            as_pairs(loop, INDEX, 3)
