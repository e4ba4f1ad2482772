"""Opening parts: errors that say what is wrong."""

import json

import pytest

from kappagcn.distributed import Part, is_partition
from kappagcn.errors import GraphFileError
from kappagcn.graphs import disease
from kappagcn.training.node_columns import NodeColumns, part_stream
from kappagcn.training.part_fitting import part_files
from kappagcn.training.part_writing import write_parts
from part_worker import network


@pytest.fixture
def folder(tmp_path):
    data = disease(30)
    return write_parts(part_stream(data), NodeColumns.of_data(data), tmp_path / "parts", 2)


def test_a_worker_needs_its_own_part_only(folder):
    for path in (folder / "part-0").iterdir():
        path.unlink()
    (folder / "partition.json").unlink()
    assert is_partition(folder)
    assert Part(folder, 1).features().shape == (Part(folder, 1).own, 10)


def test_damage_is_named(folder):
    with pytest.raises(GraphFileError, match="found no such folder"):
        Part(folder, 2)
    path = folder / "part-0" / "labels.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    Part(folder, 0)
    with pytest.raises(GraphFileError, match=r"labels.npy: expected the content that was written"):
        Part(folder, 0, verify=True)
    path.write_bytes(content[:-1])
    with pytest.raises(GraphFileError, match=r"labels.npy: expected [\d,]+ bytes"):
        Part(folder, 0)
    path.unlink()
    with pytest.raises(GraphFileError, match="found no such file"):
        Part(folder, 0)
    about = folder / "part-1" / "part.json"
    about.write_text(json.dumps({"form": "another"}))
    with pytest.raises(GraphFileError, match="in the form"):
        Part(folder, 1)
    about.write_text("{")
    with pytest.raises(GraphFileError, match="found damage"):
        Part(folder, 1)
    about.unlink()
    with pytest.raises(GraphFileError, match="a folder that was not finished"):
        Part(folder, 1)


def test_parts_of_two_partitions_do_not_mix(folder, tmp_path):
    data = disease(31)
    other = write_parts(part_stream(data), NodeColumns.of_data(data), tmp_path / "other", 2)
    for path in (other / "part-1").iterdir():
        path.replace(folder / "part-1" / path.name)
    with pytest.raises(GraphFileError, match="expected parts of one partition"), part_files(network("gcn"), folder):
        pass


def test_features_are_asked_for(tmp_path):
    data = disease(30)
    data.x = None
    folder = write_parts(part_stream(data), NodeColumns.of_data(data), tmp_path / "bare", 2)
    with pytest.raises(GraphFileError, match="expected features of the nodes"):
        Part(folder, 0).features()
