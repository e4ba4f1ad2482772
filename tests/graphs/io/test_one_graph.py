"""One graph by every way in: text of any layout, Parquet, data frames, lists, and the mapped folder."""

import bz2
import csv
import gzip
import io
import itertools

import pandas as pd
import polars as pl
import pyarrow as pa
import torch
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from kappagcn.graphs import as_graph, from_edges, read_graph, save_graph
from kappagcn.graphs.io.undirected import node_id
from kappagcn.training.labelled import read_labelled
from spaces import few

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.ZstdCompressor().compress}
ODD = [
    "1",
    "1.0",
    "+1",
    "007",
    "7",
    "-0",
    "0",
    "1e3",
    "NA",
    "nan",
    "None",
    "a b",
    " a",
    "a ",
    "a,b",
    "a;b",
    "a|b",
    "a\tb",
]
ODD += ['"', 'a"b', "#a", "# a", "%", "ä", "日本", "\ufeffx", "a\nb", "a\r\nb", "=1", "'", "source", "0x1", "9" * 30]
NAMES = st.sampled_from(ODD) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)
EDGES = st.lists(st.tuples(NAMES, NAMES, st.integers(1, 9).map(lambda n: n / 2)), min_size=1, max_size=12)
LAYOUTS = st.fixed_dictionaries(
    {
        "mark": st.sampled_from(",;\t|"),
        "end": st.sampled_from(["\n", "\r\n"]),
        "ending": st.sampled_from(sorted(PACKERS)),
        "start": st.sampled_from(["", "\ufeff", "# by hand\n", "\n\n% two\n"]),
    }
)


def written(path, rows, layout):
    """A text file of rows, every cell in quotation marks, in a layout."""
    text = io.StringIO()
    csv.writer(text, delimiter=layout["mark"], lineterminator=layout["end"], quoting=csv.QUOTE_ALL).writerows(rows)
    path = path.with_name(path.name + layout["ending"])
    path.write_bytes(PACKERS[layout["ending"]]((layout["start"] + text.getvalue()).encode()))
    return path


def same(one, two):
    assert one.get("node_names") == two.get("node_names")
    assert one.num_nodes == two.num_nodes
    assert torch.equal(one.edge_index, two.edge_index)
    weights = one.get("edge_weight"), two.get("edge_weight")
    assert weights[0] is weights[1] is None or torch.equal(*weights)


@few(60)
@given(EDGES, LAYOUTS, st.permutations(["source", "target", "weight", 'note, "odd"']))
def test_edges(tmp_path_factory, edges, layout, order):
    folder = tmp_path_factory.mktemp("ways")
    columns = {"source": [u for u, *_ in edges], "target": [v for _, v, _ in edges], "weight": [w for *_, w in edges]}
    columns = {name: columns.get(name, ["x"] * len(edges)) for name in order}
    wanted = from_edges(edges)
    table = pa.table(columns)
    parquet.write_table(table, folder / "g.parquet")
    file = written(folder / "g.csv", [order, *zip(*columns.values(), strict=True)], layout)
    for source in (file, folder / "g.parquet", table, pd.DataFrame(columns), pl.DataFrame(columns)):
        same(as_graph(source), wanted)
    save_graph(wanted, folder / "mapped")
    same(read_graph(folder / "mapped"), wanted)
    if len(wanted.edge_index.unique()) == wanted.num_nodes:  # edge lists hold no node without an edge
        for name in ("again.tsv", "again.parquet", "again.csv.gz"):
            save_graph(wanted, folder / name)
            assert named(read_graph(folder / name)) == named(wanted)


def named(data):
    """The edges by the names of their nodes."""
    names = data.get("node_names") or [str(node) for node in range(data.num_nodes)]
    return {(names[u], names[v]) for u, v in data.edge_index.T.tolist()}


@few(60)
@given(st.lists(NAMES, min_size=3, max_size=8, unique_by=node_id), LAYOUTS, st.randoms())
def test_features_and_labels(tmp_path_factory, names, layout, random):
    folder = tmp_path_factory.mktemp("nodes")
    edges = [("node", "neighbour"), *itertools.pairwise(names)]
    columns = {"age": [random.randrange(90) for _ in names], "plan": [random.choice("ab") for _ in names]}
    columns["kind"] = [random.choice(["x", "y"]) for _ in names]
    order = random.sample(sorted(columns), 3)
    rows = [["id", *order], *zip(names, *(columns[name] for name in order), strict=True)]
    path = written(folder / "g.csv", edges, layout)
    data = read_graph(path, header=True, nodes=written(folder / "n.csv", rows, layout), label="kind")
    frame = pd.DataFrame(columns, index=pd.Index(names, name="id"))[order]
    for nodes in (frame, frame.reset_index(), pl.from_pandas(frame.reset_index())):
        other, labels = read_labelled(edges[1:], nodes, "kind")
        assert other.get("node_names") == data.get("node_names")
        assert torch.equal(other.x, data.x)
        assert other.attr_names == data.attr_names
        words = data.class_names
        assert labels.tolist() == [words[label] for label in data.y]
