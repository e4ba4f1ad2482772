"""Square matrices of distances."""

import numpy as np
import pytest

from kappagcn.errors import GraphFileError
from kappagcn.graphs import read_graph, shortest_paths

PLACES = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [3.0, 4.0], [1.0, 1.0]])
DISTANCES = np.linalg.norm(PLACES[:, None] - PLACES[None], axis=-1)
NAMES = ["Ulm", "Bonn", "Kiel", "Jena", "Köln"]


def written(path, matrix, *, header=False, first=False, separator=","):
    lines = [separator.join(([""] if first else []) + NAMES)] if header else []
    for name, row in zip(NAMES, matrix, strict=True):
        lines.append(separator.join(([name] if first else []) + [repr(float(x)) for x in row]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(("header", "first"), [(False, False), (True, False), (False, True), (True, True)])
def test_tables_with_and_without_names(tmp_path, header, first, separator):
    file = tmp_path / "cities.csv"
    graph = read_graph(written(file, DISTANCES, header=header, first=first, separator=separator))
    np.testing.assert_allclose(shortest_paths(graph).numpy(), DISTANCES, rtol=1e-6, atol=1e-6)
    assert graph.get("node_names") == (NAMES if header or first else None)
    assert graph.report == "5 nodes, 10 edges; weighted; a matrix of distances"


def test_numpy_files(tmp_path):
    np.save(tmp_path / "d.npy", DISTANCES.astype(np.float32))
    np.testing.assert_allclose(shortest_paths(read_graph(tmp_path / "d.npy")).numpy(), DISTANCES, rtol=1e-6, atol=1e-6)


def test_an_edge_list_stays_one(tmp_path):
    """Four columns, but not as many rows."""
    file = tmp_path / "edges.csv"
    file.write_text("source,target,weight,year\na,b,1,1999\nb,c,2,2001\n")
    assert read_graph(file).num_nodes == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (((1, 2), -1.0), "found -1.0 between nodes Bonn and Kiel"),
        (((1, 2), np.inf), "found inf between nodes Bonn and Kiel"),
        (((3, 0), 9.0), "expected the same number in both directions, found 5 and 9 between nodes Ulm and Jena"),
    ],
)
def test_wrong_entries_are_named(tmp_path, change, words):
    matrix = DISTANCES.copy()
    matrix[change[0]] = change[1]
    with pytest.raises(GraphFileError, match=words):
        read_graph(written(tmp_path / "cities.csv", matrix, header=True))


def test_what_is_no_matrix_is_refused(tmp_path):
    np.save(tmp_path / "d.npy", np.zeros((3, 2)))
    with pytest.raises(GraphFileError, match=r"expected a square matrix of numbers, found float64 of shape \(3, 2\)"):
        read_graph(tmp_path / "d.npy")
    (tmp_path / "e.npy").write_bytes(b"nothing")
    with pytest.raises(GraphFileError, match=r"e.npy: expected a matrix that numpy.save wrote"):
        read_graph(tmp_path / "e.npy")


def test_an_edge_of_length_zero_is_named(tmp_path):
    file = tmp_path / "edges.csv"
    file.write_text("a,b,1\nb,c,0\n")
    with pytest.raises(GraphFileError, match=r"found 0.0 at edge 1, b to c"):
        read_graph(file)


def test_adjacency_matrices_are_recognised(tmp_path):
    ring = np.roll(np.eye(5, dtype=int), 1, axis=1)  # directed, as people have it
    np.savetxt(tmp_path / "ring.csv", ring, "%d", delimiter=",")
    np.save(tmp_path / "ring.npy", ring)
    for name in ("ring.csv", "ring.npy"):
        graph = read_graph(tmp_path / name)
        assert graph.report == "5 nodes, 5 edges; made undirected (5 one-way); an adjacency matrix"
    np.savetxt(tmp_path / "three.csv", np.ones((3, 3)) - np.eye(3), "%d", delimiter=",")
    assert read_graph(tmp_path / "three.csv").report == "3 nodes, 3 edges; an adjacency matrix"
    (tmp_path / "edges.csv").write_text("0,1,1\n1,2,1\n2,0,1\n")
    assert read_graph(tmp_path / "edges.csv").report == "3 nodes, 3 edges"
