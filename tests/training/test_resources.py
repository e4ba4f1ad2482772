"""Devices by name, threads on small and large graphs, memory between steps."""

import ctypes
import math
import sys

import pytest
import torch
from torch_geometric.data import Data

from command_runs import message_of, run
from kappagcn import GraphEmbedder, KappaGCNClassifier, KappaGCNLinkPredictor
from kappagcn.classification import classifier, network
from kappagcn.embedding import run as embedding_run
from kappagcn.errors import ConfigError
from kappagcn.graphs import disease, path
from kappagcn.kernels.dispatch import torch_only
from kappagcn.links import network as link_network
from kappagcn.links import predictor as link_predictor
from kappagcn.training.resources import SMALL, keep_freed_memory, resolve_device, threads_for_graph, threads_for_pairs
from kappagcn.training.trainer import Trainer


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


@pytest.fixture
def two_threads(set_torch_threads):
    set_torch_threads(2)


def threads_in(context):
    with context:
        return torch.get_num_threads()


@pytest.mark.usefixtures("two_threads")
def test_the_largest_array_of_a_step_decides():
    edges = torch.zeros(2, 10, dtype=torch.long)
    assert threads_in(threads_for_graph(Data(edge_index=edges, num_nodes=100))) == 1
    assert threads_in(threads_for_graph(Data(edge_index=edges, num_nodes=SMALL // 32))) == 2
    assert threads_in(threads_for_graph(Data(edge_index=edges.repeat(1, SMALL // 10 + 1), num_nodes=100))) == 2
    wide = torch.ones(100, SMALL // 100 + 1)
    assert threads_in(threads_for_graph(Data(x=wide, edge_index=edges))) == 2
    sparse = torch.eye(100).to_sparse()
    assert threads_in(threads_for_graph(Data(x=sparse, edge_index=edges, num_nodes=100))) == 1


@pytest.mark.usefixtures("two_threads")
def test_all_pairs_count_where_torch_computes_them():
    data = Data(num_nodes=math.isqrt(SMALL) + 1)
    with torch_only():
        assert threads_in(threads_for_pairs(data)) == 2
        assert threads_in(threads_for_pairs(Data(num_nodes=100))) == 1


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("estimator", [GraphEmbedder, KappaGCNClassifier, KappaGCNLinkPredictor])
def test_estimators_train_with_one_thread(estimator, monkeypatch):
    threads, run_epoch = [], Trainer.run_epoch

    def counted(self):
        threads.append(torch.get_num_threads())
        return run_epoch(self)

    monkeypatch.setattr(Trainer, "run_epoch", counted)
    estimator("H2", epochs=2, verbose=False).fit(disease(60))
    assert set(threads) == {1}
    assert torch.get_num_threads() == 2


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert keep_freed_memory() is False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the C library of Linux")
def test_another_c_library_is_no_error(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())  # has no mallopt
    assert keep_freed_memory() is False
