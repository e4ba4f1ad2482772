"""Graphs as folders of mapped arrays."""

import json
import shutil

import numpy as np
import pytest
import torch

from command_runs import message_of, run
from kappagcn.errors import GraphError, GraphFileError
from kappagcn.graphs import adjacency, assemble, disease, read_graph, save_graph
from kappagcn.graphs.io.folder import map_folder, read_folder, release_pages, save_folder
from kappagcn.graphs.io.node_data import as_features


@pytest.fixture(scope="module")
def graph():
    data = disease(40)
    weights = np.linspace(0.5, 2, 39)
    first, second = data.edge_index[:, data.edge_index[0] < data.edge_index[1]].numpy()
    names = [f"n{i}" for i in range(40)]
    y, words = data.y, data.class_names
    made = assemble(first, second, 40, weights=weights, x=data.x, y=y, node_names=names, class_names=words, name="g")
    made.train_mask = torch.arange(40) < 20
    return made


def same(one, other):
    keys = set(one.keys()) | set(other.keys())
    for key in keys:
        first, second = one[key], other[key]
        if isinstance(first, torch.Tensor):
            dense = [t.to_dense() if t.layout != torch.strided else t for t in (first, second)]
            assert torch.equal(*dense), key
        else:
            assert first == second, key


def test_everything_comes_back(graph, tmp_path):
    assert save_graph(graph, tmp_path / "here") == []
    again = read_graph(tmp_path / "here")
    same(again, graph)
    sparse = graph.clone()
    sparse.x = as_features(graph.x, sparse=True)
    same(read_folder(save_folder(sparse, tmp_path / "sparse")), sparse)
    half = read_folder(save_folder(graph, tmp_path / "half", half=True))
    assert half.x.dtype == torch.float16
    torch.testing.assert_close(half.x.float(), graph.x, rtol=1e-3, atol=1e-3)
    empty = assemble(np.empty(0, int), np.empty(0, int), 3, name="empty")
    same(read_folder(save_folder(empty, tmp_path / "empty")), empty)


def test_arrays_are_mapped_and_files_do_not_change(graph, tmp_path):
    save_folder(graph, tmp_path / "here")
    loaded = read_folder(tmp_path / "here")
    loaded.x.zero_()
    loaded.edge_weight += 1
    same(read_folder(tmp_path / "here"), graph)
    _, arrays = map_folder(tmp_path / "here")
    assert all(isinstance(arrays[name].base, np.memmap) for name in ("indices", "features", "weights"))
    release_pages(arrays)
    assert np.array_equal(arrays["features"], graph.x.numpy())


def test_rows_are_those_of_csr(graph, tmp_path):
    save_folder(graph, tmp_path / "here")
    _, arrays = map_folder(tmp_path / "here")
    matrix = adjacency(graph)
    assert np.array_equal(arrays["indptr"], matrix.indptr)
    assert np.array_equal(arrays["indices"], matrix.indices)
    assert np.allclose(arrays["strengths"], matrix.sum(1))


def test_what_is_there_is_not_touched(graph, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(GraphError, match="expected a new or empty folder"):
        save_folder(graph, tmp_path / "mine")
    large = graph.clone()
    large.x = 1e6 * graph.x.abs() + 1e6
    with pytest.raises(GraphError, match="expected features below 65504"):
        save_folder(large, tmp_path / "half", half=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"], "nothing is left of a failure"


def test_damage_is_named(graph, tmp_path):
    whole = save_folder(graph, tmp_path / "whole")

    def damaged(change):
        shutil.rmtree(tmp_path / "other", ignore_errors=True)
        shutil.copytree(whole, tmp_path / "other")
        change(tmp_path / "other")
        return tmp_path / "other"

    def cut(folder):
        (folder / "indices.npy").write_bytes((folder / "indices.npy").read_bytes()[:-8])

    def changed(name, place, value):
        def change(folder):
            array = np.load(folder / f"{name}.npy")
            array[place] = value
            np.save(folder / f"{name}.npy", array)

        return change

    def with_parts(offsets):
        def change(folder):
            about = json.loads((folder / "graph.json").read_text())
            (folder / "graph.json").write_text(json.dumps({**about, "parts": offsets}))

        return change

    def renamed(folder):
        (folder / "graph.json").write_text(json.dumps({"form": "another"}))

    for change, words in (
        (cut, "expected a folder that kappagcn data convert wrote"),
        (renamed, "expected the form"),
        (lambda f: (f / "indices.npy").unlink(), "expected indices.npy, found no such file"),
        (lambda f: (f / "labels.npy").unlink(), "expected labels.npy, found no such file"),
        (lambda f: np.save(f / "labels.npy", np.zeros(3, int)), r"labels.npy: expected \(40,\), found int64 \(3,\)"),
        (lambda f: np.save(f / "features.npy", np.zeros((3, 2))), r"features.npy: expected \(40, D\)"),
        (lambda f: np.save(f / "labels.npy", np.zeros(40)), "labels.npy: expected"),
        (changed("indices", 7, 40), "indices.npy: expected numbers from 0 to 39, found 0 to 40"),
        (changed("indices", 0, -1), "indices.npy: expected numbers from 0 to 39, found -1 to 39"),
        (lambda f: np.save(f / "weights.npy", np.ones(3, "f4")), r"weights.npy: expected \(78,\)"),
        (lambda f: (f / "strengths.npy").unlink(), "expected strengths.npy, found no such file"),
        (with_parts([0, 50]), "expected offsets of parts that rise from 0 to 40"),
        (with_parts([0, 30, 20, 40]), "expected offsets of parts that rise from 0 to 40"),
        (changed("indptr", 3, 1000), "indptr.npy: expected numbers that rise from 0 to 78"),
        (changed("indptr", -1, 77), "indptr.npy: expected numbers that rise from 0 to 78"),
        (changed("labels", 0, 40), "labels.npy: expected numbers from -1 to 39"),
        (lambda f: np.save(f / "train_mask.npy", np.ones(39, bool)), r"train_mask.npy: expected \(40,\)"),
    ):
        with pytest.raises(GraphFileError, match=words):
            read_graph(damaged(change))


def test_damaged_sparse_features_are_named(graph, tmp_path):
    graph = graph.clone()
    graph.x = as_features(graph.x, sparse=True)
    folder = save_folder(graph, tmp_path / "here")
    for name, place, words in (
        ("features_indices", 5, "features_indices.npy: expected numbers from 0 to"),
        ("features_indptr", 1, "features_indptr.npy: expected numbers that rise"),
        ("features_shape", 0, "features_shape.npy: expected 40 rows, found 1000000000"),
    ):
        array = np.load(folder / f"{name}.npy")
        wrong = array.copy()
        wrong[place] = 10**9
        np.save(folder / f"{name}.npy", wrong)
        with pytest.raises(GraphFileError, match=words):
            read_folder(folder)
        np.save(folder / f"{name}.npy", array)
    (folder / "features_indices.npy").unlink()
    with pytest.raises(GraphFileError, match="features_indices"):
        read_folder(folder)


def test_commands_open_a_folder(graph, tmp_path):
    save_graph(graph, tmp_path / "g.npz")
    result = run("data", "convert", tmp_path / "g.npz", "--out", tmp_path / "mapped", "--half")
    assert result.exit_code == 0, result.output
    for command in (("info",), ("embed", "--epochs", "2"), ("classify", "--epochs", "2", "--space", "H4")):
        name, *options = command
        out = tmp_path / f"run-{name}"
        result = run(name, tmp_path / "mapped", *options, "--out", out)
        assert result.exit_code == 0, result.output
    assert "expected a file" in message_of(run("info", tmp_path / "run-embed"))
