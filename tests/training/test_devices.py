"""Devices by name; what is trained is moved to them."""

import pytest
import torch

from command_runs import message_of, run
from kappagcn.classification import classifier, network
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.embedding import run as embedding_run
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.errors import ConfigError
from kappagcn.graphs import path
from kappagcn.links import network as link_network
from kappagcn.links import predictor as link_predictor
from kappagcn.links.predictor import KappaGCNLinkPredictor
from kappagcn.training.resources import resolve_device


@pytest.fixture
def data(epidemic):
    return epidemic


def having(monkeypatch, *kinds):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: "cuda" in kinds)


def test_auto_takes_cuda_if_there_is_one(monkeypatch):
    for kinds, wanted in ((("cuda",), "cuda"), ((), "cpu")):
        having(monkeypatch, *kinds)
        assert resolve_device("auto").type == wanted
        assert resolve_device("cpu").type == "cpu"
    having(monkeypatch, "cuda")
    assert resolve_device("auto", on_cpu="several processes").type == "cpu"


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    having(monkeypatch)
    with pytest.raises(ConfigError, match=r"\(cpu\), found 'cuda': no cuda that torch can use"):
        resolve_device("cuda")
    with pytest.raises(ConfigError, match="no float64"):
        resolve_device("mps")
    with pytest.raises(ConfigError, match="expected cpu for several processes"):
        resolve_device("cuda", on_cpu="several processes")
    with pytest.raises(ConfigError, match="expected auto, cpu, cuda, mps, found 'tpu'"):
        resolve_device("tpu")
    having(monkeypatch, "cuda")
    with pytest.raises(ConfigError, match="expected cpu for the method kappa-gcn"):
        GraphEmbedder("H2", method="kappa-gcn", device="cuda").fit(path(4))


def test_the_command_line_refuses_it_in_one_line(monkeypatch, tmp_path):
    having(monkeypatch)
    for command in ("embed", "classify", "link"):
        words = message_of(run(command, "karate", "--set", "device=cuda", "--epochs", "1", "--out", tmp_path / "run"))
        assert "device: expected a device of this machine" in words


class Moved(Exception):
    """Carries the devices that training was started with."""


def test_graph_and_network_are_moved(monkeypatch, data):
    def stop(model, graph, *_, **__):
        tensors = [*model.parameters(), *(t for t in graph.to_dict().values() if isinstance(t, torch.Tensor))]
        raise Moved({t.device.type for t in tensors})

    monkeypatch.setattr(network, "fit", stop)
    monkeypatch.setattr(classifier, "resolve_device", lambda name, **_: torch.device("meta"))
    with pytest.raises(Moved, match=r"{'meta'}"):
        KappaGCNClassifier("H4", verbose=False).fit(data)
    assert data.x.device.type == "cpu", "the user's graph stays where it is"


def test_points_are_moved(monkeypatch):
    def stop(points, *_, **__):
        raise Moved({p.device.type for p in points.parameters()})

    monkeypatch.setattr(embedding_run, "QuasiNewtonTrainer", stop)
    monkeypatch.setattr(embedding_run, "resolve_device", lambda name, **_: torch.device("meta"))
    with pytest.raises(Moved, match=r"{'meta'}"):
        GraphEmbedder("H2", verbose=False).fit(path(5))


def test_a_link_predictor_is_moved(monkeypatch, data):
    def stop(model, graph, *_, **__):
        raise Moved({t.device.type for t in (*model.parameters(), graph.x, graph.edge_index)})

    monkeypatch.setattr(link_network, "fit_links", stop)
    monkeypatch.setattr(link_predictor, "resolve_device", lambda name, **_: torch.device("meta"))
    with pytest.raises(Moved, match=r"{'meta'}"):
        KappaGCNLinkPredictor("H4", verbose=False).fit(data)
