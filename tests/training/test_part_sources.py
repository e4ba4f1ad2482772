"""What is streamed into a partition, and what is read whole."""

import numpy as np
import pytest
import torch

from kappagcn.errors import GraphFileError
from kappagcn.graphs import disease, save_graph
from kappagcn.training.part_sources import open_part_source


@pytest.fixture
def edges(tmp_path):
    data = disease(30)
    np.save(tmp_path / "g.npy", data.edge_index.t().contiguous().numpy())
    np.save(tmp_path / "g.features.npy", data.x.numpy())
    np.save(tmp_path / "g.labels.npy", data.y.numpy())
    return tmp_path / "g.npy"


def test_arrays_beside_an_edge_list_are_found(edges):
    source = open_part_source(edges)
    assert len(source.identity) == 3
    assert source.columns.count == 30
    assert source.columns.features.shape == (30, 10)
    np.save(edges.with_name("split.npy"), np.full(30, 3))
    assert open_part_source(edges, split=edges.with_name("split.npy")).columns.roles.tolist() == [3] * 30


def test_folders_bring_their_columns(tmp_path):
    data = disease(30)
    data.train_mask = torch.arange(30) < 10
    data.val_mask = torch.arange(30) >= 20
    save_graph(data, tmp_path / "folder")
    columns = open_part_source(tmp_path / "folder").columns
    assert columns.class_names == tuple(data.class_names)
    assert columns.roles.tolist() == [1] * 10 + [0] * 10 + [6] * 10
    data.x = data.x.to_sparse_csr()
    save_graph(data, tmp_path / "sparse", half=True)
    sparse = open_part_source(tmp_path / "sparse").columns.features
    assert sparse.dtype == np.float16
    assert np.allclose(sparse.read(5, 9).toarray(), data.x.to_dense()[5:9].numpy(), rtol=1e-3)


def test_names_and_tables_are_read_whole(tmp_path):
    (tmp_path / "w.csv").write_text("ann,bob\nbob,cem\n")
    (tmp_path / "w.labels.csv").write_text("ann,x\nbob,y\ncem,x\n")
    for graph in (tmp_path / "w.csv", "karate"):
        source = open_part_source(graph)
        assert source.identity is None
        assert source.columns.labels is not None


@pytest.mark.parametrize(
    ("role", "array"),
    [("features", np.ones(30)), ("labels", np.ones(30)), ("labels", np.ones(3, int)), ("split", np.full(30, 99))],
)
def test_wrong_arrays_are_refused(edges, role, array):
    path = edges.with_name("wrong.npy")
    np.save(path, array)
    with pytest.raises(GraphFileError, match=r"wrong.npy: expected"):
        open_part_source(edges, **{role: str(path)})
