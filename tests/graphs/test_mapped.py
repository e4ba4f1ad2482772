"""A mapped folder by rows, and as PyG's feature store and graph store."""

import numpy as np
import pytest
import torch
from torch_geometric.data import TensorAttr
from torch_geometric.data.graph_store import EdgeAttr
from torch_geometric.loader import NodeLoader
from torch_geometric.sampler import NodeSamplerInput

from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import MappedGraph, disease, mapped, save_graph
from kappagcn.graphs.io.node_data import as_features
from kappagcn.sparse import EdgeSampler, KappaNeighborLoader

EDGES = ("node", "to", "node")


@pytest.fixture
def data():
    graph = disease(60)
    graph.train_mask = torch.arange(60) < 30
    return graph


@pytest.fixture
def graph(data, tmp_path):
    save_graph(data, tmp_path / "folder")
    return MappedGraph(tmp_path / "folder")


def test_tensors_by_group_name_and_index(graph, data):
    attr = TensorAttr("node", "x", index=None)
    assert torch.equal(graph.get_tensor(attr), data.x)
    nodes = torch.tensor([7, 3, 3])
    assert torch.equal(graph.get_tensor("node", "x", index=nodes), data.x[nodes])
    assert torch.equal(graph.get_tensor("node", "x", index=slice(2, 5)), data.x[2:5])
    assert torch.equal(graph.get_tensor("node", "y", index=nodes), data.y[nodes])
    assert torch.equal(graph["node", "train_mask", None], data.train_mask)
    assert graph.get_tensor_size("node", "x") == (60, 10)
    assert graph.get_tensor_size("node", "nothing") is None
    with pytest.raises(KeyError):
        graph.get_tensor("node", "nothing", index=nodes)
    with pytest.raises(KeyError):
        graph.get_tensor("other", "x", index=nodes)
    assert [attr.attr_name for attr in graph.get_all_tensor_attrs()] == ["x", "y", "train_mask"]
    several = graph.multi_get_tensor([TensorAttr("node", "x", nodes), TensorAttr("node", "y", nodes)])
    assert torch.equal(several[0], data.x[nodes])
    assert torch.equal(graph.view("node").x[2:5], data.x[2:5])


def test_edges_in_all_layouts(graph, data):
    order = (data.edge_index[1] * 60 + data.edge_index[0]).argsort()
    row, colptr = graph.get_edge_index(EDGES, layout="csc")
    assert torch.equal(row.long(), data.edge_index[0][order])
    assert torch.equal(colptr.diff(), torch.bincount(data.edge_index[1], minlength=60))
    rowptr, col = graph.get_edge_index(EDGES, layout="csr")
    assert torch.equal(torch.stack([torch.arange(60).repeat_interleave(rowptr.diff()), col.long()]), data.edge_index)
    (attr,) = graph.get_all_edge_attrs()
    assert attr.size == (60, 60)
    with pytest.raises(KeyError):
        graph.get_edge_index(EdgeAttr(("a", "b", "c"), "csc"))


def test_nothing_can_be_put_or_removed(graph, data):
    assert not graph.put_tensor(data.x, "node", "z", index=None)
    assert not graph.remove_tensor("node", "x", index=None)
    assert not graph.put_edge_index((torch.zeros(1), torch.zeros(1)), EDGES, layout="csc")
    assert not graph.remove_edge_index(EDGES, layout="csc")
    assert torch.equal(graph.get_tensor("node", "x", index=None), data.x)


def test_pages_are_given_back_and_read_again(graph, data, monkeypatch):
    monkeypatch.setattr(mapped, "READS", 10)
    for _ in range(3):
        assert torch.equal(graph.features()[torch.arange(60)], data.x)
    assert torch.equal(torch.cat(list(graph.features().blocks())), data.x)


def test_sparse_features(data, tmp_path):
    data.x = as_features(data.x, sparse=True)
    save_graph(data, tmp_path / "folder")
    graph = MappedGraph(tmp_path / "folder")
    nodes = torch.tensor([7, 3, 3, 0])
    assert torch.equal(graph.features()[nodes].to_dense(), data.x.to_dense()[nodes])
    assert graph.get_tensor_size("node", "x") == (60, 10)
    assert torch.equal(graph.get_tensor("node", "x", index=nodes).to_dense(), data.x.to_dense()[nodes])


def test_splits_are_those_of_the_masks_or_random(graph, data, tmp_path):
    data.val_mask, data.test_mask = torch.arange(60) == 40, torch.arange(60) > 50
    save_graph(data, tmp_path / "masks")
    split = MappedGraph(tmp_path / "masks").split()
    assert torch.equal(split.train, torch.arange(30))
    assert split.stopping.tolist() == split.validation.tolist() == [40]
    del data.train_mask, data.val_mask, data.test_mask
    save_graph(data, tmp_path / "none")
    assert len(MappedGraph(tmp_path / "none").split().train) == 36


def test_a_folder_without_features_or_labels_says_so(data, tmp_path):
    del data.x, data.y
    save_graph(data, tmp_path / "bare")
    graph = MappedGraph(tmp_path / "bare")
    with pytest.raises(GraphError, match="expected features of the nodes, found none"):
        graph.features()
    with pytest.raises(GraphError, match="expected labels to learn from, found none"):
        graph.labels()
    np.save(tmp_path / "bare" / "indices.npy", np.full(118, 99, np.int32))
    with pytest.raises(GraphFileError, match="expected numbers from 0 to 59"):
        MappedGraph(tmp_path / "bare")
    MappedGraph(tmp_path / "bare", check=False)


def test_the_identity_changes_with_the_files(graph, data, tmp_path):
    save_graph(data, tmp_path / "other", half=True)
    assert MappedGraph(tmp_path / "folder").identity == graph.identity != MappedGraph(tmp_path / "other").identity


def test_loaders_give_the_batches_of_the_graph_in_memory(graph, data):
    options = {"num_neighbors": [3, 2], "batch_size": 8, "seed": 4}
    batches = zip(KappaNeighborLoader(graph, **options), KappaNeighborLoader(data, **options), strict=True)
    for mapped_batch, batch in batches:
        assert torch.equal(mapped_batch.n_id, batch.n_id)
        assert torch.equal(mapped_batch.x, batch.x)
        assert torch.equal(mapped_batch.y, batch.y)
        assert torch.equal(mapped_batch.edge_index, batch.edge_index)
        assert mapped_batch.batch_size == batch.batch_size
    seeds = torch.tensor([5, 9])
    (batch,) = KappaNeighborLoader(graph, [2], seeds, batch_size=2)
    assert batch.n_id[:2].tolist() == [5, 9]


def test_pygs_own_loader_takes_the_two_stores(graph, data):
    sampler = EdgeSampler(data.edge_index, 60, [-1], seed=0)
    sample = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([4])))
    loader = NodeLoader((graph, graph), sampler, input_nodes=("node", torch.tensor([4])), batch_size=1)
    (batch,) = loader
    assert torch.equal(batch.x, data.x[sample.node])
    assert torch.equal(batch.train_mask, data.train_mask[sample.node])
