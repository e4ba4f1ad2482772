import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kappagcn import graphs as G
from kappagcn.errors import GraphFileError
from kappagcn.graphs import read_graph
from kappagcn.graphs.io import edge_list
from kappagcn.graphs.io.delimited import DelimitedFile
from kappagcn.graphs.io.edge_list import read_edge_list


def write(tmp_path, text, name="graph.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def edges(result):
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
    graph = read_edge_list(write(tmp_path, text))
    assert edges(graph) == want
    assert (graph.weights is None) == (weights is None)
    if weights:
        assert graph.weights.tolist() == weights


def test_headings_can_be_said(tmp_path):
    path = write(tmp_path, "ann,bob\nbob,cid\n")
    assert edges(read_edge_list(path)) == [("ann", "bob"), ("bob", "cid")]
    assert edges(read_edge_list(path, header=True)) == [("bob", "cid")]
    path = write(tmp_path, "source,target\nx,y\n")
    assert edges(read_edge_list(path, header=False)) == [("source", "target"), ("x", "y")]


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
    path = write(tmp_path_factory.mktemp("edges"), "\n".join(lines) + "\n")
    graph = read_edge_list(path)
    assert edges(graph) == [(str(u), str(v)) for u, v in pairs]
    assert graph.names.tolist() == sorted({n for p in pairs for n in p})
    if weighted:
        assert graph.weights.tolist() == [i + 0.5 for i in range(len(pairs))]


def test_far_apart_numbers_are_renumbered_too(tmp_path):
    graph = read_edge_list(write(tmp_path, "1000000000000,5\n5,-7\n"))
    assert graph.names.tolist() == [-7, 5, 10**12]
    assert edges(graph) == [("1000000000000", "5"), ("5", "-7")]


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
        read_edge_list(write(tmp_path, text))
    assert "graph.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("weight", ["0", "-2", "nan", "inf"])
def test_impossible_weights_are_refused(tmp_path, weight):
    with pytest.raises(GraphFileError, match="expected weights that are positive and finite"):
        read_graph(write(tmp_path, f"0,1,{weight}\n"))


@given(st.binary(max_size=200) | st.text(alphabet='0123456789,;\t\n ab"#.e-', max_size=120))
def test_any_bytes_give_a_graph_or_one_clear_error(tmp_path_factory, content):
    path = write(tmp_path_factory.mktemp("fuzz"), content)
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


def put(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


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
    assert G.read_graph(path).report.endswith("no heading")
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
    quick = read_edge_list(file)
    monkeypatch.setattr(DelimitedFile, "integer_columns", lambda *_, **__: None)
    monkeypatch.setattr(edge_list, "_number_integers", lambda *_: None)
    slow = read_edge_list(file)
    assert [str(name) for name in quick.names] == [str(name) for name in slow.names]
    assert (quick.rows.tolist(), quick.cols.tolist()) == (slow.rows.tolist(), slow.cols.tolist())
    assert quick.notes == slow.notes


def test_names_are_numbered_in_order_of_appearance(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(f"n{a}", f"n{b}") for a, b in rng.integers(0, 50, (200, 2))]
    (tmp_path / "g.csv").write_text("\n".join(",".join(pair) for pair in pairs))
    edges = read_edge_list(tmp_path / "g.csv")
    assert edges.names == list(dict.fromkeys(name for pair in pairs for name in pair))
    assert [(edges.names[u], edges.names[v]) for u, v in zip(edges.rows, edges.cols, strict=True)] == pairs


@pytest.mark.parametrize("heading", ["quelle;ziel", "Von;Nach", "origen;destino", "sender;receiver", "user;item"])
def test_headings_in_other_words(tmp_path, heading):
    path = tmp_path / "edges.csv"
    path.write_text(f"{heading}\nanna;bert\nbert;carl\n")
    assert read_edge_list(path).names == ["anna", "bert", "carl"]


def test_a_first_line_that_may_be_a_heading_is_named(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("kto,komu\nanna,bert\nbert,carl\ncarl,dora\n")
    edges = read_edge_list(path)
    assert len(edges.rows) == 4
    assert "first line (kto, komu) is read as an edge" in edges.notes[0]
    path.write_text("anna,bert\nbert,carl\ncarl,dora\ndora,anna\n")
    assert read_edge_list(path).notes == ("no heading",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("who,whom,mails\n1,2,5\n2,3,4\n", "columns not used: mails (weights would be in a column weight)"),
        (",source,target\n0,1,2\n1,2,3\n", "heading: , source, target"),
        ("1,2,5\n2,3,4\n", "weights from the third column"),
    ],
)
def test_what_is_read_as_a_weight_is_reported(tmp_path, text, words):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    assert read_edge_list(path).notes[-1] == words
