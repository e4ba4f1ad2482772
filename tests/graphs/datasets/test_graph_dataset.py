"""The named datasets: the real ones where KAPPAGCN_DATA names a folder, and small copies of every original format."""

import dataclasses
import hashlib
import io

import numpy as np
import pytest
import torch

import kappagcn.graphs.datasets.graph_dataset as datasets
from http_server import site
from kappagcn import graphs as G
from kappagcn.errors import DownloadError, GraphError, GraphFileError, IntegrityError
from kappagcn.graphs import GraphDataset, catalogue, components, load_graph, normalize_rows, save_npz
from kappagcn.graphs.datasets.sources import find_entry
from random_graphs import data_folder, needs_data


def digest(nodes):
    return hashlib.sha256(np.asarray(nodes).astype("<i8").tobytes()).hexdigest()[:16]


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


@needs_data
@pytest.mark.parametrize("name", HASHES)
def test_splits_are_ppnps_node_for_node(name):
    dataset = GraphDataset(name, data_folder(), download=False, sparse=True)
    split = dataset.split(2144199730)
    actual = (split.train, split.stopping, split.validation, split.final_test_nodes())
    assert tuple(map(digest, actual)) == HASHES[name][1:]
    rng = np.random.RandomState(4143496719)
    known = rng.choice(np.arange(dataset[0].num_nodes), 1500, replace=False)
    assert digest(known) == HASHES[name][0]


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


@pytest.fixture
def server():
    with site() as result:
        yield result


@pytest.fixture
def small(server, monkeypatch, tmp_path):
    """A dataset 'mini' of one original file, an edge list, at a local server."""
    text = b"0 1\n1 2\n2 0\n2 3\n"
    entry = dataclasses.replace(
        catalogue()["phylo_tree"], name="mini", nodes=4, edges=4, sources=((server.source("mini.edges", text),),)
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
    with pytest.raises(IntegrityError, match="expected SHA-256"):
        GraphDataset("mini", folder, cache=cache)
    with pytest.raises(DownloadError, match="expected a folder with datasets, found nothing"):
        GraphDataset("mini", tmp_path / "none", cache=cache)


def test_the_npz_form_is_checked_too(small, monkeypatch, tmp_path):
    path = save_npz(load_graph("cycle"), tmp_path / "mini.npz")
    with pytest.raises(IntegrityError, match=f"expected SHA-256 {small.sha256}"):
        GraphDataset("mini", tmp_path, cache=tmp_path / "cache")
    right = dataclasses.replace(small, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(datasets, "find_entry", lambda name: right)
    assert GraphDataset("mini", tmp_path)[0].num_nodes == 4


def test_offline_the_error_says_what_is_missing_where_it_may_be_put_and_its_hash(small, tmp_path, monkeypatch):
    source = dataclasses.replace(small.sources[0][0], url="http://127.0.0.1:9/mini.edges")
    monkeypatch.setattr(datasets, "find_entry", lambda name: dataclasses.replace(small, sources=((source,),)))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(DownloadError) as caught:
        GraphDataset("mini", cache=tmp_path)
    text = str(caught.value)
    for part in ("mini.npz", small.sha256, "mini.edges", source.sha256, str(tmp_path / "mini"), "127.0.0.1:9"):
        assert part in text
    assert len(text.splitlines()) == 1
    assert "a folder that is passed as root" in text
    assert "KAPPAGCN_DATA" not in text, "the library reads no environment"
    with pytest.raises(DownloadError, match="downloading was not allowed"):
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
    result = GraphDataset(name, cache=tmp_path)[0]
    stored_form = GraphDataset(name, data_folder(), download=False)[0]
    assert torch.equal(result.edge_index, stored_form.edge_index)
    if name == "disease_nc":
        assert torch.equal(result.y, stored_form.y)


def test_a_source_with_wrong_bytes_is_refused(tmp_path, monkeypatch):
    tried = []

    def refuse(file, folder, **_):
        tried.append(file.name)
        raise datasets.IntegrityError("wrong bytes")

    monkeypatch.setattr(datasets, "fetch", refuse)
    with pytest.raises(datasets.IntegrityError, match="wrong bytes"):
        G.GraphDataset("amazon_computers", cache=tmp_path)
    assert tried == ["amazon_electronics_computers.npz"]
