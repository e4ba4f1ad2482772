"""The one reader of tables: the same columns from every source, and one rule for the names of nodes."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import as_graph, from_edges, read_graph
from kappagcn.graphs.io.edges import as_pairs, read_pairs
from kappagcn.graphs.io.tables import read_table
from kappagcn.graphs.io.undirected import node_id, node_index
from random_graphs import put

LARGE = 2**63


def test_every_source_gives_the_same_columns(tmp_path):
    table = pa.table({"source": ["ann", "bob, jr"], "target": ["bob, jr", "ann"], "amount": ["1", "2.5"]})
    csv.write_csv(table, tmp_path / "t.csv")
    parquet.write_table(table, tmp_path / "t.parquet")
    put(tmp_path, "t.tsv", '\ufeffsource\ttarget\tamount\nann\t"bob, jr"\t1\n"bob, jr"\tann\t2.5\n')
    frame = table.to_pandas()
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", tmp_path / "t.tsv", table, frame, pl.from_pandas(frame)):
        read = read_table(source, nodes=2)
        assert read.heading == table.column_names
        assert read.columns.cast(table.schema).equals(table)
        assert read.position("amount") == 2
        with pytest.raises(GraphError, match="expected one column 'sum', found source, target, amount"):
            read.position("sum")


@pytest.mark.parametrize("value", ["1", "1.0", "+1", 1, 1.0, np.int64(1), np.float32(1)])
def test_an_integer_in_any_form_is_one_node(value):
    assert node_id(value) == "1"


def test_ids_are_the_same_in_edges_labels_and_pairs(tmp_path):
    edges = put(tmp_path, "g.csv", "1.0,2\n2,3.0\n")
    for labels in ("1,a\n2,b\n3,a\n", "1.0,a\n2.0,b\n3.0,a\n", '"1",a\n+2,b\n3,a\n'):
        data = read_graph(edges, labels=put(tmp_path, "y.csv", labels))
        assert (data.num_nodes, data.y.tolist()) == (3, [0, 1, 0])
    mixed = read_graph(put(tmp_path, "m.csv", "1.0,ann\n1,bob\n007,7\n"))
    assert mixed.node_names == ["1", "ann", "bob", "007", "7"]
    index = node_index(mixed)
    assert read_pairs(put(tmp_path, "p.csv", "1.0,bob\n"), index).pairs.tolist() == [[0], [2]]
    assert as_pairs([(1.0, "bob")], index, 5).tolist() == [[0], [2]]
    for frame in (pd.DataFrame({"a": [1.0, 2], "b": [2, 3]}), pd.DataFrame({"a": ["1.0", "2"], "b": ["2", "3"]})):
        assert as_graph(frame).node_names == ["1", "2", "3"]


@pytest.mark.parametrize("large", [LARGE, 2**64, 10**30])
def test_integers_of_any_size_name_nodes(tmp_path, large):
    names = [str(large), str(large + 1), "5"]
    pairs = [(large, large + 1), (large + 1, 5)]
    assert from_edges(pairs).node_names == names
    assert read_graph(put(tmp_path, "g.csv", "".join(f"{u},{v}\n" for u, v in pairs))).node_names == names
    assert as_graph(pd.DataFrame(pairs, columns=["u", "v"])).node_names == names
    if large < 2**64 - 1:
        array = np.array(pairs, np.uint64)
        assert from_edges(array).node_names == names
        parquet.write_table(pa.table({"source": array[:, 0], "target": array[:, 1]}), tmp_path / "g.parquet")
        assert read_graph(tmp_path / "g.parquet").node_names == names


def test_columns_of_edges_by_name(tmp_path):
    path = put(tmp_path, "g.csv", "day,payer,payee,amount,fee\n1,ann,bob,2.5,1\n2,bob,cem,4,1\n")
    options = {"source": "payer", "target": "payee", "weight": "amount"}
    data = read_graph(path, **options)
    assert data.node_names == ["ann", "bob", "cem"]
    assert data.edge_weight.tolist() == [2.5, 2.5, 4, 4]
    assert data.report.endswith("columns not used: day, fee")
    assert read_graph(path, **{**options, "weight": False}).get("edge_weight") is None
    parquet.write_table(csv.read_csv(path), tmp_path / "g.parquet")
    assert read_graph(tmp_path / "g.parquet", **options).edge_weight.tolist() == [2.5, 2.5, 4, 4]
    with pytest.raises(GraphFileError, match=r"g.csv: expected one column 'sum', found day, payer"):
        read_graph(path, weight="sum")
    with pytest.raises(GraphFileError, match="line 2: expected a number as weight, found 'ann'"):
        read_graph(path, source="payee", target="fee", weight="payer")
    with pytest.raises(GraphFileError, match="expected different columns"):
        read_graph(path, source="payer", target="payer")


def test_weights_are_left_out_of_any_graph(tmp_path):
    put(tmp_path, "g.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 5\n3 2 7\n")
    data = read_graph(tmp_path / "g.mtx", weight=False)
    assert data.get("edge_weight") is None
    assert data.report == "3 nodes, 2 edges; weights not used"
    with pytest.raises(GraphFileError, match=r"g.mtx: expected a table of edges for the column 'w'"):
        read_graph(tmp_path / "g.mtx", weight="w")
