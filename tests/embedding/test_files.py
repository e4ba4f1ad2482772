"""Embeddings in files: what other tools read, and embedders that are loaded again."""

import numpy as np
import pytest
from pyarrow import parquet

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.errors import CheckpointError, ConfigError, GraphError
from kappagcn.graphs import load_graph, path


@pytest.fixture(scope="module")
def embedder():
    return GraphEmbedder("H2xE1", epochs=20, verbose=False).fit(load_graph("florentine"))


def word2vec(file):
    """A reader of word2vec's text format, as gensim has it."""
    head, *lines = file.read_text().splitlines()
    count, width = map(int, head.split())
    words = {line.split(" ")[0]: np.array(line.split(" ")[1:], float) for line in lines}
    assert len(words) == count
    assert all(len(vector) == width for vector in words.values())
    return words


def test_other_tools_read_the_same_vectors(embedder, tmp_path):
    names, points = embedder.node_names_, embedder.embedding_
    words = word2vec(embedder.export(tmp_path / "points.vec"))
    assert list(words) == names
    assert np.array_equal(np.stack(list(words.values())), points)
    assert np.array_equal(np.load(embedder.export(tmp_path / "points.npy")), points)
    with np.load(embedder.export(tmp_path / "tangent.npz", vectors="tangent")) as arrays:
        assert arrays["names"].tolist() == names
        assert np.array_equal(arrays["vectors"], embedder.tangent_)
    table = parquet.read_table(embedder.export(tmp_path / "points.parquet"))
    assert table.column_names == ["node", "x1", "x2", "x3"]
    assert table["node"].to_pylist() == names
    assert np.array_equal(table["x2"].to_numpy(), points[:, 1])
    head, *rows = embedder.export(tmp_path / "points.csv").read_text().splitlines()
    assert head == "node,x1,x2,x3"
    assert np.array_equal(np.array([row.split(",")[1:] for row in rows], float), points)


def test_names_with_blanks_in_word2vecs_format(tmp_path):
    spaced = GraphEmbedder("E1", epochs=5, verbose=False).fit([("New York", "Bern"), ("Bern", "Rome")])
    assert list(word2vec(spaced.export(tmp_path / "cities.txt"))) == ["New_York", "Bern", "Rome"]
    clash = GraphEmbedder("E1", epochs=5, verbose=False).fit([("a b", "a_b"), ("a_b", "c")])
    with pytest.raises(GraphError, match=r"Export as \.parquet"):
        clash.export(tmp_path / "clash.vec")


def test_what_cannot_be_exported_is_refused(embedder, tmp_path):
    with pytest.raises(ConfigError, match=r"expected a file ending in \.csv"):
        embedder.export(tmp_path / "points.xlsx")
    with pytest.raises(ConfigError, match="expected points or tangent"):
        embedder.export(tmp_path / "points.csv", vectors="all")
    with pytest.raises(ConfigError, match="Call fit first"):
        GraphEmbedder().export(tmp_path / "points.csv")


def test_a_saved_embedder_is_loaded_again(embedder, tmp_path):
    loaded = GraphEmbedder.load(embedder.save(tmp_path / "mine.safetensors"))
    assert np.array_equal(loaded.embedding_, embedder.embedding_)
    assert loaded.get_params() == embedder.get_params()
    assert loaded.summary() == {**embedder.summary(), "coincident_nodes": 0}
    assert loaded.most_similar("Medici", k=3) == embedder.most_similar("Medici", k=3)


def test_other_files_are_refused(tmp_path, fitted):
    with pytest.raises(CheckpointError, match="expected an embedder of this version"):
        GraphEmbedder.load(fitted.save(tmp_path / "classifier.safetensors"))
    (tmp_path / "mine.safetensors").write_text("nonsense")
    with pytest.raises(CheckpointError, match="expected a training state saved by kappagcn"):
        GraphEmbedder.load(tmp_path / "mine.safetensors")
    with pytest.raises(CheckpointError):
        KappaGCNClassifier.load(GraphEmbedder("E1", epochs=2, verbose=False).fit(path(3)).save(tmp_path / "e"))


def test_most_similar(embedder):
    near = embedder.most_similar("Medici", k=4)
    distances = embedder.distances([embedder.node_names_.index("Medici")])[0]
    assert [name for name, _ in near] == [embedder.node_names_[i] for i in np.argsort(distances)[1:5]]
    assert [d for _, d in near] == np.sort(distances)[1:5].tolist()
    assert len(embedder.most_similar("Medici", k=100)) == len(distances) - 1
    with pytest.raises(GraphError, match="expected a node such as 'Acciaiuoli', found 'Borgia'"):
        embedder.most_similar("Borgia")
    with pytest.raises(GraphError, match="expected a node such as 0"):
        GraphEmbedder("E1", epochs=2, verbose=False).fit(path(3)).most_similar(7)
