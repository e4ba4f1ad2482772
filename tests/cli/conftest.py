"""Runs that several tests read."""

import pytest

from command_runs import run


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """An embedding and a classification, made once; tests copy what they break."""
    folder = tmp_path_factory.mktemp("runs")
    assert run("embed", "karate", "--space", "H2", "--epochs", "3", "--out", folder / "embedding").exit_code == 0
    made = run("classify", "disease", "--space", "H4", "--epochs", "3", "--out", folder / "classes")
    assert made.exit_code == 0, made.output
    assert run("classify", "karate", "--space", "H2", "--epochs", "2", "--out", folder / "bare").exit_code == 0
    return folder


@pytest.fixture
def files(tmp_path):
    """Things that are not what they should be."""
    (tmp_path / "edges.csv").write_text("a,b\nb,c\nc,a\nc,d\nd,e\ne,a\n")
    (tmp_path / "labels.csv").write_text("a,x\nb,y\nc,x\nd,y\ne,x\n")
    (tmp_path / "features.csv").write_text("a,1\nb,2\nc,3\nd,4\ne,5\n")
    (tmp_path / "words.csv").write_text("a,one\nb,two\nc,three\nd,four\ne,five\n")
    (tmp_path / "one_class.csv").write_text("a,x\nb,x\nc,x\nd,x\ne,x\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 4)
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 this is no archive")
    (tmp_path / "broken.graphml").write_text("<graphml><node id=")
    (tmp_path / "bad.toml").write_text("epochs = = 3")
    (tmp_path / "unknown.toml").write_text('epoch = 3\ngraph = "karate"')
    (tmp_path / "list.toml").write_text("epochs = [1, 2]")
    (tmp_path / "negative.toml").write_text("epochs = -3")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").write_text("mine")
    return tmp_path
