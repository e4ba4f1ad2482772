"""Every form that the guide's table names is written and read, plain and compressed."""

import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs import classic, read_graph, save_graph
from kappagcn.graphs.io.formats import FORMATS, formats_table
from kappagcn.graphs.io.text import CODECS

PLAIN = [ending for form in FORMATS for ending in form.endings]
PACKED = [ending + packed for form in FORMATS if form.is_text for ending in form.endings for packed in CODECS]


@pytest.mark.parametrize("ending", ["", *PLAIN, *PACKED])
def test_a_graph_comes_back_from_every_form(tmp_path, ending):
    data = classic("les_miserables")
    save_graph(data, tmp_path / f"graph{ending}")
    again = read_graph(tmp_path / f"graph{ending}")
    assert (again.num_nodes, again.num_edges) == (data.num_nodes, data.num_edges)
    assert torch.allclose(again.edge_weight.sum(), data.edge_weight.sum())


def test_the_table_names_all_endings_and_no_others(tmp_path):
    cells = " ".join(row.split("|")[1] for row in formats_table().splitlines())
    assert [word.strip("`") for word in cells.split() if word.startswith("`")] == [*PLAIN, *CODECS]
    for ending in (".npz.gz", ".xlsx", ".newick"):
        with pytest.raises(GraphError, match=r"expected a file ending in \.csv"):
            save_graph(classic("karate"), tmp_path / f"graph{ending}")
