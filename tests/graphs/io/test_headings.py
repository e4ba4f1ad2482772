"""The rule for headings, for edges, nodes and pairs; a doubt is an error that says how to settle it."""

import pytest

from kappagcn.errors import GraphFileError
from kappagcn.graphs import read_graph
from kappagcn.graphs.io.edges import read_pairs
from random_graphs import put

CHAIN = "anna,bert\nbert,carl\ncarl,dora\n"


@pytest.mark.parametrize(
    ("heading", "rows"),
    [
        ("a,b", CHAIN),
        ("from_id,to_id", CHAIN),
        ("from_id,to_id", "1,2\n"),
        ("from_id,to_id", "C1,C2\nC3,C4\n"),
        ("Source,TARGET", "x,y\n"),
        ("a,b,amount", "x,y,2\n"),
        ("source,target,weight,year", "1,2,1,1999\n2,3,2,2000\n3,4,3,2001\n4,1,4,2002\n"),
        ("payer,payee,amount,year", "ann,bob,1,1999\nbob,cem,2,2000\ncem,dan,3,2001\ndan,ann,4,2002\n"),
        ('"first name","last, name"', CHAIN),
    ],
)
def test_headings_of_edges(tmp_path, heading, rows):
    data = read_graph(put(tmp_path, "g.csv", f"{heading}\n{rows}"))
    assert "heading: " in data.report
    assert not {"a", "from_id", "Source", "payer", "first name"} & set(data.get("node_names") or [])
    assert data.num_nodes == len({cell for row in rows.split() for cell in row.split(",")[:2]})


@pytest.mark.parametrize("first", ["anna,eva", "eva,fred", "1,anna", "x,y,0.5"])
def test_first_edges_that_are_no_heading(tmp_path, first):
    rows = CHAIN.replace("\n", ",1\n") if first.count(",") == 2 else CHAIN
    rows += "fred,gina\n" if "fred" in first else ""
    data = read_graph(put(tmp_path, "g.csv", f"{first}\n{rows}"))
    assert set(first.split(",")[:2]) <= set(data.node_names)


@pytest.mark.parametrize("rows", ["ann,bob\n", "ann,bob\ncem,dan\ndan,eva\neva,ann\nfritz,gina\n"])
def test_a_doubt_about_edges_is_an_error_that_both_options_settle(tmp_path, rows):
    """The names of the first row do not occur again, but neither do those of another row."""
    path = put(tmp_path, "g.csv", f"one,other\n{rows}")
    with pytest.raises(GraphFileError, match=r"line 1: .*'one, other', which may be either.*--header or --no-header"):
        read_graph(path)
    assert "one" in read_graph(path, header=False).node_names
    assert "one" not in read_graph(path, header=True).node_names


def test_four_by_four_numbers_are_a_matrix_only_if_they_look_like_one(tmp_path):
    numbers = "1,2,1,9\n2,3,2,8\n3,4,3,7\n4,1,4,6\n"
    for text in (numbers, "u,v,money,hour\n" + numbers):
        path = put(tmp_path, "g.csv", text)
        with pytest.raises(GraphFileError, match=r"expected a square matrix, or edges.*--matrix or --no-matrix"):
            read_graph(path)
        assert "an adjacency matrix" in read_graph(path, matrix=True).report
    assert read_graph(path, matrix=False).num_edges == 8
    assert "a matrix" in read_graph(put(tmp_path, "g.csv", "a,b,c,d\n0,1,1,2\n1,0,2,1\n1,2,0,1\n2,1,1,0\n")).report
    with pytest.raises(GraphFileError, match="expected a square matrix of numbers, found another table"):
        read_graph(put(tmp_path, "g.csv", CHAIN), matrix=True)


@pytest.mark.parametrize("first", ["ana,bert", "Anna,Berta"])
def test_a_typo_in_the_first_pair_is_no_heading(tmp_path, first):
    index = {"anna": 0, "bert": 1, "carl": 2, "dora": 3}
    path = put(tmp_path, "pairs.csv", f"{first}\n{CHAIN}")
    with pytest.raises(GraphFileError, match="line 1: expected"):
        read_pairs(path, index)
    assert read_pairs(path, index, header=True).pairs.shape == (2, 3)
    with pytest.raises(GraphFileError, match=f"line 1: expected nodes of the graph, .* found '{first[:3]}"):
        read_pairs(path, index, header=False)
    path = put(
        tmp_path, "parts.csv", f"ana,berta,train\n{CHAIN}".replace("\n", ",train\n").replace(",train,train", ",train")
    )
    with pytest.raises(GraphFileError, match=r"line 1: expected nodes of the graph, .* found 'ana'"):
        read_pairs(path, index)


def test_a_typo_in_the_first_label_is_no_heading(tmp_path):
    edges = put(tmp_path, "g.csv", CHAIN)
    data = read_graph(edges, labels=put(tmp_path, "y.csv", "ana,red\nbert,blue\ncarl,red\ndora,blue\n"))
    assert "1 node only in y.csv, such as " in data.report
    assert data.class_names == ["blue", "red"]
    labels = put(tmp_path, "y.csv", "ana,red\nbert,blue\ncarl,blue\ndora,blue\n")
    with pytest.raises(GraphFileError, match=r"y.csv, line 1: .*'ana, red', .*write node,label above"):
        read_graph(edges, labels=labels)
    put(tmp_path, "y.csv", "node,label\n" + labels.read_text())
    assert read_graph(edges, labels=labels).num_nodes == 5


def test_headings_of_labels(tmp_path):
    edges = put(tmp_path, "g.csv", "\n".join(f"n{chr(97 + i)},n{chr(98 + i)}" for i in range(12)))
    rows = "".join(f"n{chr(97 + i)},{'red' if i % 2 else 'blue'}\n" for i in range(13))
    for heading in ("member,team", "node,team", "member,label"):
        data = read_graph(edges, labels=put(tmp_path, "y.csv", f"{heading}\n{rows}"))
        assert (data.num_nodes, data.class_names) == (13, ["blue", "red"])
