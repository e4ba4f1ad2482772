"""The named datasets: the real ones where KAPPAGCN_DATA names a folder, and small copies of every original format."""

import dataclasses
import hashlib
import io
import os
import pickle
import struct
import sys

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

import kappagcn.graphs.datasets.graph_dataset as datasets
from http_server import site
from kappagcn.errors import DataMissingError, GraphError, GraphFileError, IntegrityError
from kappagcn.graphs import (
    GraphDataset,
    airport_features,
    airport_labels,
    catalogue,
    classic,
    components,
    load_graph,
    normalize_rows,
    save_npz,
)
from kappagcn.graphs.datasets.raw_formats import READERS
from kappagcn.graphs.datasets.sources import Source, find_entry
from kappagcn.graphs.datasets.unpickle import NETWORKX, PLANETOID, restricted_load
from random_graphs import data_folder, needs_data


def digest(nodes):
    return hashlib.sha256(np.asarray(nodes).astype("<i8").tobytes()).hexdigest()[:16]


# ---- the real data


@needs_data
@pytest.mark.parametrize("name", list(catalogue()))
def test_every_dataset_loads_and_has_its_published_size(name, tmp_path):
    entry = catalogue()[name]
    dataset = GraphDataset(name, data_folder(), cache=tmp_path, download=False, sparse=True, largest=False)
    (data,) = dataset
    assert (data.num_nodes, data.num_edges // 2) == (entry.nodes, entry.edges)
    assert dataset.num_features == entry.features
    assert (dataset.num_classes if entry.classes else 0) == entry.classes
    assert data.x is None or data.x.layout == torch.sparse_csr
    if entry.classes:
        split = dataset.split(0)
        known = torch.cat([split.train, split.stopping, split.validation, split.final_test_nodes()])
        assert (data.y[known] >= 0).all()


LCC = {
    "citeseer": (2110, 3668),
    "cora_ml": (2810, 7981),
    "pubmed": (19717, 44324),
    "amazon_computers": (13381, 245778),
    "ms_academic_physics": (34493, 247962),
    "polblogs": (1222, 16714),
}


@needs_data
@pytest.mark.parametrize("name", LCC)
def test_the_largest_component_is_that_of_the_literature(name):
    data = load_graph(name, root=data_folder(), sparse=True, download=False)
    assert (data.num_nodes, data.num_edges // 2) == LCC[name]


@needs_data
def test_features_are_what_the_files_hold_and_not_binarised():
    data = load_graph("cora_ml", root=data_folder(), download=False)
    assert torch.allclose(data.x.norm(dim=1), torch.ones(2810), atol=1e-5)  # tf-idf, unit rows
    assert torch.allclose(normalize_rows(data.x).sum(dim=1), torch.ones(2810), atol=1e-5)
    assert set(load_graph("citeseer", root=data_folder(), download=False).x.unique().tolist()) == {0, 1}
    pubmed = load_graph("pubmed", root=data_folder(), download=False).x
    assert 1.26 < float(pubmed.max()) < 1.27


HASHES = {  # known, training, early stopping, validation, test for seed 2144199730
    "cora_ml": ("af4bca77189420b0", "b6f8d913d7fce439", "482c0051cebd55a4", "508067fda32eb644", "0e6dd742e2bb5d01"),
    "citeseer": ("ad091f5019221376", "b56edac9f4f6311a", "780036d5def9f86d", "53d63bfffda891ef", "31c3afe924ede569"),
    "pubmed": ("32b3f0b9aa70ac18", "9c3eb60c45cd9615", "6deca0b77a0c260f", "14b14c2cc6168e55", "695388ee2a46c868"),
}
FIRST = {
    "cora_ml": ([2479, 1147, 1371, 2399, 1250], [2065, 695, 636], [1185, 137, 90], [1, 2, 5]),
    "citeseer": ([1773, 1495, 247, 1329, 726], [1511, 1229, 1062], [1867, 524, 1354], [2, 14, 16]),
    "pubmed": ([17201, 15388, 9667, 7034, 19170], [19546, 11930, 2565], [19601, 17070, 18645], [0, 1, 2]),
}


@needs_data
@pytest.mark.parametrize("name", HASHES)
def test_splits_are_ppnps_node_for_node(name):
    dataset = GraphDataset(name, data_folder(), download=False, sparse=True)
    split = dataset.split(2144199730)
    found = (split.train, split.stopping, split.validation, split.final_test_nodes())
    for nodes, first, expected in zip(found, FIRST[name], HASHES[name][1:], strict=True):
        assert nodes[: len(first)].tolist() == first
        assert digest(nodes) == expected
    rng = np.random.RandomState(4143496719)
    known = rng.choice(np.arange(dataset[0].num_nodes), 1500, replace=False)
    assert digest(known) == HASHES[name][0]


@needs_data
def test_airport_follows_the_recipe():
    dataset = GraphDataset("airport", data_folder(), download=False)
    data = dataset[0]
    with np.load(data_folder() / "airport.npz", allow_pickle=False) as stored:
        feat, labels = stored["feat"], stored["labels"]
        raw = np.stack([stored["latitude"] / 90, stored["longitude"] / 180, stored["altitude_ft"] / 3000], axis=1)
    assert np.allclose(feat[:, :3], raw, atol=1e-12)
    assert (airport_labels(feat) == labels).all()
    assert data.y.bincount().tolist() == [521, 1443, 999, 225]
    assert data.x.shape == (3188, 11)
    assert data.x[:, 4:10].sum(dim=0).tolist() == [4, 713, 635, 386, 217, 1233]
    assert (data.x[:, 10] == 1).all()
    assert 285 < float(data.x.abs().max()) < 287
    assert torch.allclose(data.x[:, :4].double().sum(dim=1), torch.ones(3188, dtype=torch.float64), atol=1e-3)
    split = dataset.split(1)
    assert [len(split.train), len(split.stopping), len(split.validation), len(split.final_test_nodes())] == [
        2100,
        300,
        300,
        488,
    ]
    standard = airport_features(feat, data.degree.numpy(), scaling="standard")
    assert np.allclose(standard[:, :4].mean(axis=0), 0, atol=1e-12)
    assert np.allclose(standard[:, :4].std(axis=0), 1)
    with pytest.raises(GraphError, match="scaling hgcn, standard or none"):
        airport_features(feat, data.degree.numpy(), scaling="max")


@needs_data
def test_public_splits_survive_the_choice_of_component():
    whole = GraphDataset("citeseer_planetoid", data_folder(), download=False, sparse=True)
    part = GraphDataset("citeseer_planetoid", data_folder(), download=False, sparse=True, largest=True)
    assert (part[0].num_nodes, part[0].num_edges // 2) == (2120, 3679)
    assert [len(whole.public_splits[0].train), len(whole.public_splits[0].final_test_nodes())] == [120, 1000]
    inside = components(whole[0]) == 0
    for old, new in zip(whole.public_splits, part.public_splits, strict=True):
        for before, after in ((old.train, new.train), (old.final_test_nodes(), new.final_test_nodes())):
            kept = before[torch.from_numpy(inside)[before]]
            assert len(kept) < len(before)
            assert torch.equal(whole[0].y[kept], part[0].y[after])
            degrees = [dataset[0].edge_index[0].bincount() for dataset in (whole, part)]
            assert torch.equal(degrees[0][kept], degrees[1][after])
    texas = GraphDataset("texas", data_folder(), download=False)
    assert len(texas.public_splits) == 10
    assert torch.equal(texas.split(13).train, texas.public_splits[3].train)


@needs_data
def test_networkxs_karate_is_the_stored_one():
    with np.load(data_folder() / "karate.npz", allow_pickle=False) as stored:
        matrix = sp.csr_array((stored["adj_data"], stored["adj_indices"].astype(int), stored["adj_indptr"]))
    degrees = sorted(np.diff(matrix.indptr))
    assert sorted(classic("karate").edge_index[0].bincount().tolist()) == degrees


# ---- looking for files


@pytest.fixture
def server():
    with site() as found:
        yield found


@pytest.fixture
def small(server, monkeypatch, tmp_path):
    """A dataset 'mini' of one original file, an edge list, at a local server."""
    text = b"0 1\n1 2\n2 0\n2 3\n"
    entry = dataclasses.replace(
        catalogue()["phylo_tree"],
        name="mini",
        nodes=4,
        edges=4,
        sources=((server.source("mini.edges", text),),),
    )
    monkeypatch.setattr(datasets, "find_entry", lambda name: entry)
    return entry


def test_a_dataset_is_fetched_once_then_found_in_the_cache(small, server, tmp_path):
    for _ in range(2):
        data = GraphDataset("mini", cache=tmp_path)[0]
        assert data.edge_index.shape == (2, 8)
    assert len(server.requests) == 1
    assert (tmp_path / "mini" / "mini.edges").is_file()
    assert GraphDataset("mini", cache=tmp_path, download=False)[0].num_nodes == 4


def test_a_damaged_file_in_the_cache_is_fetched_again_and_never_read(small, server, tmp_path):
    GraphDataset("mini", cache=tmp_path)
    kept = tmp_path / "mini" / "mini.edges"
    kept.write_bytes(b"0 1\n")
    with pytest.raises(IntegrityError, match="It was not read"):
        GraphDataset("mini", cache=tmp_path, download=False)
    assert kept.read_bytes() == b"0 1\n"  # left as it was
    assert GraphDataset("mini", cache=tmp_path)[0].num_nodes == 4
    assert len(server.requests) == 2


def test_the_given_folder_comes_first_and_is_only_read(small, server, tmp_path):
    folder, cache = tmp_path / "data", tmp_path / "cache"
    (folder / "mini").mkdir(parents=True)
    (folder / "mini" / "mini.edges").write_bytes(server.files["/mini.edges"])
    assert GraphDataset("mini", folder, cache=cache)[0].num_nodes == 4
    assert not server.requests
    assert not cache.exists()
    (folder / "mini" / "mini.edges").write_bytes(b"0 1\n")
    with pytest.raises(IntegrityError, match="expected sha256"):
        GraphDataset("mini", folder, cache=cache)
    with pytest.raises(DataMissingError, match="expected a folder with datasets, found nothing"):
        GraphDataset("mini", tmp_path / "none", cache=cache)


def test_the_npz_form_is_checked_too(small, monkeypatch, tmp_path):
    path = save_npz(load_graph("cycle"), tmp_path / "mini.npz")
    with pytest.raises(IntegrityError, match=f"expected sha256 {small.sha256}"):
        GraphDataset("mini", tmp_path, cache=tmp_path / "cache")
    right = dataclasses.replace(small, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(datasets, "find_entry", lambda name: right)
    assert GraphDataset("mini", tmp_path)[0].num_nodes == 4


def test_offline_the_error_says_what_is_missing_where_it_may_be_put_and_its_hash(small, tmp_path, monkeypatch):
    source = dataclasses.replace(small.sources[0][0], url="http://127.0.0.1:9/mini.edges")
    monkeypatch.setattr(datasets, "find_entry", lambda name: dataclasses.replace(small, sources=((source,),)))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(DataMissingError) as caught:
        GraphDataset("mini", cache=tmp_path)
    text = str(caught.value)
    for part in ("mini.npz", small.sha256, "mini.edges", source.sha256, str(tmp_path / "mini"), "127.0.0.1:9"):
        assert part in text
    assert len(text.splitlines()) == 1
    with pytest.raises(DataMissingError, match="downloading was not allowed"):
        GraphDataset("mini", cache=tmp_path, download=False)


def test_a_second_source_is_tried_when_the_first_fails(small, server, tmp_path, monkeypatch):
    gone = dataclasses.replace(small.sources[0][0], url=f"{server.address}/gone")
    entry = dataclasses.replace(small, sources=((gone,), small.sources[0]))
    monkeypatch.setattr(datasets, "find_entry", lambda name: entry)
    assert GraphDataset("mini", cache=tmp_path)[0].num_nodes == 4
    assert server.requests == ["/gone", "/mini.edges"]


def test_a_graph_of_another_size_is_refused(small, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "find_entry", lambda name: dataclasses.replace(small, nodes=5))
    with pytest.raises(GraphFileError, match="expected 5 nodes and 4 edges, found 4 and 4"):
        GraphDataset("mini", cache=tmp_path)


def test_names_conventions_and_transforms(small, tmp_path):
    with pytest.raises(GraphError, match=r"expected the name of a dataset, found 'kora'. Did you mean cora"):
        find_entry("kora")
    dataset = GraphDataset("mini", cache=tmp_path, transform=lambda d: d.update({"seen": 1}))
    assert len(dataset) == 1
    assert dataset[0].seen == 1
    assert repr(dataset) == "GraphDataset(mini)"
    with pytest.raises(GraphError, match="expected labels to divide its nodes by"):
        dataset.split(0)
    once = GraphDataset("mini", cache=tmp_path, pre_transform=lambda d: d.update({"pre": 1}))
    assert once[0].pre == 1


def test_the_catalogue_is_complete_and_safe():
    for name, entry in catalogue().items():
        assert entry.reader in READERS
        assert len(entry.sha256) == 64
        for files in entry.sources:
            for file in files:
                assert file.url.startswith("https://raw.githubusercontent.com/")
                assert " " not in file.url
                assert file.sha256 or file.git_blob
                assert os.path.basename(file.name) == file.name
        assert entry.title, name


# ---- original formats


@needs_data
@pytest.mark.parametrize("name", ["disease_nc", "phylo_tree", "wordnet_nouns"])
def test_originals_rebuilt_to_the_byte_travel_all_the_way(name, server, tmp_path, monkeypatch):
    """The originals of these can be rebuilt from the npz form, byte for byte: their true hashes say so."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as stored:
        rows = np.repeat(np.arange(stored["adj_shape"][0]), np.diff(stored["adj_indptr"]))
        mark = "," if name == "disease_nc" else " "
        pairs = zip(rows.tolist(), stored["adj_indices"].tolist(), strict=True)
        contents = ["".join(f"{u}{mark}{v}\n" for u, v in pairs if u <= v).encode()]
        if name == "disease_nc":
            labels = io.BytesIO()
            np.save(labels, stored["labels"].astype(np.float64))
            contents.append(labels.getvalue())
    entry = catalogue()[name]
    for file, content in zip(entry.sources[0], contents, strict=True):
        assert hashlib.sha256(content).hexdigest() == file.sha256
        server.files[f"/{file.name}"] = content
    local = tuple(dataclasses.replace(file, url=f"{server.address}/{file.name}") for file in entry.sources[0])
    monkeypatch.setattr(datasets, "find_entry", lambda _: dataclasses.replace(entry, sources=(local,)))
    found = GraphDataset(name, cache=tmp_path)[0]
    stored_form = GraphDataset(name, data_folder(), download=False)[0]
    assert torch.equal(found.edge_index, stored_form.edge_index)
    if name == "disease_nc":
        assert torch.equal(found.y, stored_form.y)


def csr(arrays, prefix):
    return sp.csr_array(
        tuple(arrays[f"{prefix}_{part}"] for part in ("data", "indices", "indptr")), shape=arrays[f"{prefix}_shape"]
    ).toarray()


ADJACENCY = sp.csr_array(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 1.0]]))
FEATURES = sp.csr_array(np.array([[0, 0.5], [1, 0], [0, 0]]))


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parts(matrix, prefix):
    return {
        f"{prefix}data": matrix.data,
        f"{prefix}indices": matrix.indices,
        f"{prefix}indptr": matrix.indptr,
        f"{prefix}shape": matrix.shape,
    }


@pytest.mark.parametrize(("adj", "attr"), [("adj_matrix.", "attr_matrix."), ("adj_", "attr_")])
def test_sparse_graph_files(adj, attr):
    content = npz(
        **parts(ADJACENCY, adj),
        **parts(FEATURES, attr),
        labels=np.array([0, 1, 0]),
        node_names=np.array(["a\n", "b\n", "c\n"]),
        metadata=np.array(None, dtype=object),
        attr_names=np.array(None, dtype=object),
    )
    arrays = READERS["sparse_graph"]({"g.npz": content})
    assert (csr(arrays, "adj") == ADJACENCY.toarray()).all()
    assert (csr(arrays, "attr") == FEATURES.toarray()).all()
    assert arrays["labels"].tolist() == [0, 1, 0]
    assert arrays["node_names"].tolist() == ["a", "b", "c"]


def test_sparse_graph_files_with_pickled_matrices():
    content = npz(
        adj_matrix=np.array(sp.csr_matrix(ADJACENCY), dtype=object),
        node_attr=np.array(sp.csr_matrix(FEATURES), dtype=object),
        node_label=np.array([0, 1, 0]),
    )
    arrays = READERS["sparse_graph"]({"g.npz": content})
    assert (csr(arrays, "adj") == ADJACENCY.toarray()).all()
    assert (csr(arrays, "attr") == FEATURES.toarray()).all()


class Python2Pickler(pickle._Pickler):
    """Writes byte strings as Python 2 did, and classes under the names they had."""

    dispatch = dict(pickle._Pickler.dispatch)  # noqa: RUF012

    def __init__(self, file):
        super().__init__(file, protocol=2, fix_imports=True)

    def save_bytes(self, content):
        self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)
        self.memoize(content)

    dispatch[bytes] = save_bytes


PYTHON_2_NAMES = {b"scipy.sparse._csr": b"scipy.sparse.csr", b"numpy._core": b"numpy.core"}


def python2_pickle(thing):
    file = io.BytesIO()
    Python2Pickler(file).dump(thing)
    content = file.getvalue()
    for new, old in PYTHON_2_NAMES.items():
        content = content.replace(b"c" + new, b"c" + old)
    return content


def planetoid_files():
    from collections import defaultdict

    graph = defaultdict(list, {0: [1, 1], 1: [0, 2], 2: [1], 3: [3], 4: [0]})
    one_hot = np.eye(2, dtype=np.int32)
    things = {
        "x": sp.csr_matrix(np.array([[1, 0]], np.float32)),
        "y": one_hot[[0]],
        "allx": sp.csr_matrix(np.array([[1, 0], [0, 2.5], [0, 0]], np.float32)),
        "ally": np.array([[1, 0], [0, 1], [0, 1]], np.int32),
        "tx": sp.csr_matrix(np.array([[0, 7.0], [9, 0]], np.float32)),
        "ty": one_hot[[1, 0]],
        "graph": graph,
    }
    files = {f"ind.mini.{key}": python2_pickle(thing) for key, thing in things.items()}
    return files | {"ind.mini.test.index": b"5\n3\n"}


def test_planetoid_files():
    arrays = READERS["planetoid"](planetoid_files())
    assert csr(arrays, "attr").tolist() == [[1, 0], [0, 2.5], [0, 0], [9, 0], [0, 0], [0, 7]]
    assert arrays["labels"].tolist() == [0, 1, 1, 0, -1, 1]  # node 4 is in neither part
    adjacency = csr(arrays, "adj") > 0
    assert np.argwhere(np.triu(adjacency)).tolist() == [[0, 1], [0, 4], [1, 2], [3, 3]]
    assert arrays["idx_train"].tolist() == [0]
    assert arrays["idx_test"].tolist() == [3, 5]


def test_airport_files():
    graph = nx.Graph([(7, 9), (9, 9), (9, 4)])
    rows = [[0.5, 0.1, 0.2, 0.9, 0.99], [0.1, 0.2, 0.3, 1.0, 1.15], [0.3, 0.1, 0.1, 0.8, 1.3]]
    for node, feat in zip(graph, rows, strict=True):
        graph.nodes[node]["feat"] = feat
    graph.__dict__.pop("adj", None)  # the original keeps no other view than that of its nodes
    assert "nodes" in graph.__dict__
    arrays = READERS["airport"]({"airport.p": pickle.dumps(graph)})
    assert np.argwhere(np.triu(csr(arrays, "adj"))).tolist() == [[0, 1], [1, 1], [1, 2]]
    assert arrays["feat"].tolist() == rows
    assert arrays["labels"].tolist() == [0, 2, 3]


def test_other_original_files():
    masks = np.zeros((2, 3), bool)
    content = npz(
        edges=np.array([[0, 1], [1, 2]]),
        node_features=FEATURES.toarray(),
        node_labels=np.array([2, 0, 1]),
        train_masks=masks,
        val_masks=masks,
        test_masks=masks,
    )
    arrays = READERS["heterophilous"]({"texas.npz": content})
    assert (csr(arrays, "attr") == FEATURES.toarray().astype(np.float32)).all()
    assert arrays["train_masks"].shape == (2, 3)
    assert np.argwhere(np.triu(csr(arrays, "adj"))).tolist() == [[0, 1], [1, 2]]

    files = {"b-airports.edgelist": b"30 10\n10 20\n", "labels-b-airports.txt": b"node label\n30 1\n10 0\n20 3\n"}
    arrays = READERS["struc2vec"](files)
    assert arrays["node_names"].tolist() == ["10", "20", "30"]
    assert arrays["labels"].tolist() == [0, 3, 1]
    assert np.argwhere(np.triu(csr(arrays, "adj"))).tolist() == [[0, 1], [0, 2]]

    arrays = READERS["closure"]({"c.csv": b"id1,id2,weight\nb,a,1\nc,a,1\n"})
    assert arrays["node_names"].tolist() == ["a", "b", "c"]
    assert np.argwhere(csr(arrays, "adj")).tolist() == [[1, 0], [2, 0]]

    feats, labels = io.BytesIO(), io.BytesIO()
    sp.save_npz(feats, sp.csr_matrix(FEATURES))
    np.save(labels, np.array([1.0, 0.0, 1.0]))
    files = {"d.edges.csv": b"0,1\n1,2\n", "d.labels.npy": labels.getvalue(), "d.feats.npz": feats.getvalue()}
    arrays = READERS["disease"](files)
    assert arrays["attr_dense"].tolist() == FEATURES.toarray().tolist()
    assert arrays["labels"].tolist() == [1, 0, 1]


# ---- pickles from outside


class Evil:
    ran = False

    def __init__(self, how):
        self.how = how

    def __reduce__(self):
        return self.how


@pytest.mark.parametrize("allowed", [PLANETOID, NETWORKX])
@pytest.mark.parametrize(
    "how",
    [
        (os.system, ("true",)),
        (eval, ("1",)),
        (getattr, (1, "real")),
        (np.ndarray, ((10**12,),)),
        (sys.exit, ()),
        (np.load, ("x",)),
        (np.fromfile, ("x",)),
    ],
)
def test_a_pickle_with_a_foreign_name_is_refused(allowed, how):
    content = pickle.dumps({"graph": Evil(how)}, protocol=2)
    words = r"^evil: (refused to read this pickle: it mentions .*; nothing of it was run|expected a pickle)"
    with pytest.raises(GraphFileError, match=words):
        restricted_load(content, allowed, "evil")


def test_damaged_pickles_give_one_error():
    content = planetoid_files()["ind.mini.allx"]
    for length in range(len(content)):
        with pytest.raises(GraphFileError, match=r"^file: "):
            restricted_load(content[:length], PLANETOID, "file")


def test_an_evil_original_never_reaches_the_reader(small, server, tmp_path, monkeypatch):
    """Two doors: the hash, and, were the hash to match, the restricted reader."""
    evil = pickle.dumps(Evil((os.system, ("true",))), protocol=2)
    source = server.source("airport.p", evil)
    entry = dataclasses.replace(catalogue()["airport"], name="mini", sources=((source,),))
    monkeypatch.setattr(datasets, "find_entry", lambda _: entry)
    with pytest.raises(GraphFileError, match=r"it mentions posix\.system"):
        GraphDataset("mini", cache=tmp_path)
    wrong = Source(**{**dataclasses.asdict(source), "sha256": "0" * 64})
    monkeypatch.setattr(datasets, "find_entry", lambda _: dataclasses.replace(entry, sources=((wrong,),)))
    with pytest.raises(IntegrityError, match="expected sha256 0000"):
        GraphDataset("mini", cache=tmp_path / "other")
    assert not (tmp_path / "other").exists()
