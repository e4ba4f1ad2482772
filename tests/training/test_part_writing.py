"""Parts in files: what they hold, that they are the whole graph, and runs that were interrupted."""

import json

import numpy as np
import pytest
import torch

from kappagcn.distributed import Part
from kappagcn.errors import GraphError
from kappagcn.graphs import assemble, disease
from kappagcn.graphs.io.node_data import as_features
from kappagcn.training import part_writing
from kappagcn.training.node_columns import NodeColumns, part_stream
from kappagcn.training.part_writing import write_parts


@pytest.fixture(scope="module")
def weighted():
    """A graph with weights, sparse features and masks."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(50, size=(2, 150))
    y = torch.arange(50) % 3
    x = as_features(np.eye(50, 7, dtype=np.float32) + np.eye(50, 7, k=3, dtype=np.float32), sparse=True)
    data = assemble(first, second, 50, weights=rng.uniform(0.5, 2, 150), x=x, y=y, class_names=["a", "b", "c"])
    data.train_mask, data.val_mask, data.test_mask = (torch.arange(50) % 5 == i for i in (0, 1, 2))
    return data


def test_the_parts_together_are_the_graph(weighted, tmp_path):
    folder = write_parts(part_stream(weighted), NodeColumns.of_data(weighted), tmp_path / "parts", 3)
    matrix, seen = np.zeros((50, 50)), []
    degrees = np.bincount(weighted.edge_index[0].numpy(), weighted.edge_weight.numpy().astype(float), 50)
    for number in range(3):
        part = Part(folder, number, verify=True)
        nodes, halo = part.array("nodes"), part.array("halo_nodes")
        columns = np.concatenate([nodes, halo])
        rows = np.repeat(nodes, np.diff(part.array("indptr")))
        matrix[rows, columns[part.array("indices")]] = part.array("weights")
        seen.append(nodes)
        np.testing.assert_allclose(part.array("degrees"), degrees[columns], rtol=1e-6)
        assert torch.equal(part.features().to_dense(), weighted.x.to_dense()[nodes])
        assert np.array_equal(part.array("labels"), weighted.y.numpy()[nodes])
        assert np.array_equal(nodes[part.rows_in_role("train").numpy()], nodes[weighted.train_mask.numpy()[nodes]])
        assert torch.equal(part.rows_in_role("stopping"), part.rows_in_role("validation"))
        wanted = np.split(part.array("halo_rows"), np.cumsum(part.receives)[:-1])
        for other in range(3):
            theirs = Part(folder, other)
            assert np.array_equal(
                theirs.array("nodes")[wanted[other]], np.split(halo, np.cumsum(part.receives)[:-1])[other]
            )
            sent = np.split(theirs.array("sent_rows"), np.cumsum(theirs.sends)[:-1])[number]
            assert np.array_equal(sent, wanted[other])
    expected = np.zeros((50, 50))
    expected[tuple(weighted.edge_index.numpy())] = weighted.edge_weight.numpy()
    np.testing.assert_allclose(matrix, expected, rtol=1e-6)
    assert sorted(np.concatenate(seen)) == list(range(50))
    about = json.loads((folder / "partition.json").read_text())
    assert about["class_names"] == ["a", "b", "c"]
    assert about["roles"] == {"train": 10, "stopping": 10, "validation": 10, "test": 10}


def test_statistics_of_columns_are_those_of_the_whole(tmp_path):
    data = disease(60)
    data.x[:, 0] = 7.0
    data.x[:, 1] = (data.x[:, 1] > 0).float()
    folder = write_parts(part_stream(data), NodeColumns.of_data(data), tmp_path / "parts", 2)
    about = Part(folder, 1).about["features"]
    deviation = data.x.double().std(0, correction=0)
    np.testing.assert_allclose(about["deviation"][2:], deviation[2:], rtol=1e-6)
    np.testing.assert_allclose(about["mean"][2:], data.x.double().mean(0)[2:], atol=1e-7)
    assert (about["mean"][:2], about["deviation"][:2]) == ([0, 0], [1, 1])


def test_an_interrupted_run_continues_after_the_last_complete_step(tmp_path, monkeypatch):
    data, source = disease(60), {"file": [1, 2]}
    arguments = (part_stream(data), NodeColumns.of_data(data), tmp_path / "parts", 2)
    with monkeypatch.context() as broken:
        broken.setattr(part_writing, "_finish", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_parts(*arguments, source=source)
    assert (tmp_path / "parts.unfinished").is_dir()
    assert not (tmp_path / "parts").exists()
    with monkeypatch.context() as once:
        once.setattr(part_writing, "sort_edges", lambda *arguments, **options: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_parts(*arguments, source={"file": [1, 3]})  # another file: all over again
        with pytest.raises(ZeroDivisionError):
            write_parts(*arguments)
    lines = []
    write_parts(*arguments, source=source, say=lines.append)
    with monkeypatch.context() as broken:
        broken.setattr(part_writing, "_finish", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_parts(*arguments[:2], tmp_path / "other", 2, source=source)
        broken.setattr(part_writing, "sort_edges", lambda *arguments, **options: pytest.fail("sorted again"))
        with pytest.raises(ZeroDivisionError):
            write_parts(*arguments[:2], tmp_path / "other", 2, source=source)
    write_parts(*arguments[:2], tmp_path / "other", 2, source=source, say=lines.append)
    assert any("continues after sorted, assigned" in line for line in lines)
    ids = {Part(tmp_path / name, 0).about["id"] for name in ("parts", "other")}
    assert len(ids) == 1


def test_wrong_arguments_are_refused(tmp_path):
    data = disease(20)
    stream, columns = part_stream(data), NodeColumns.of_data(data)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(GraphError, match="expected a new or empty folder"):
        write_parts(stream, columns, tmp_path / "full", 2)
    for parts in (0, 21):
        with pytest.raises(GraphError, match="parts: expected"):
            write_parts(stream, columns, tmp_path / "parts", parts)
    with pytest.raises(GraphError, match="expected nodes from 0 to 4"):
        write_parts(stream, NodeColumns(labels=np.zeros(5, int)), tmp_path / "few", 2)
