"""Runs what the library computes with on the CPU and on a device that is not there, and prints what differs as JSON."""

import json
import os
import sys
import traceback
import warnings
from contextlib import suppress
from tempfile import TemporaryDirectory

import torch
from torch_geometric.data import Data

from cases import CASES, tensors
from kappagcn import ProductManifold, Stereographic
from kappagcn.classification import classifier
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.evaluation import predict
from kappagcn.classification.fitting import fit
from kappagcn.classification.minibatch import MiniBatch
from kappagcn.embedding import run as embedding_run
from kappagcn.embedding.embedder import GraphEmbedder
from kappagcn.embedding.graph_distances import GraphDistances, NearPairs
from kappagcn.embedding.pair_objectives import pair_loss
from kappagcn.embedding.quality import mean_average_precision, measure
from kappagcn.embedding.ranking import Neighbours, ranking_loss
from kappagcn.embedding.tasks import EmbeddingTask
from kappagcn.graphs import cycle, disease, edge_split, random_split
from kappagcn.links import predictor as link_predictor
from kappagcn.links.fitting import fit_links
from kappagcn.links.predictor import KappaGCNLinkPredictor
from kappagcn.models import FreePoints, KappaGCN, LinkPredictor
from kappagcn.nn import KappaGCNConv, KappaNeighborLoader, PointFeatures, TangentFeatures
from kappagcn.nn.point_distances import distances_from
from kappagcn.training.groups import parameter_groups
from kappagcn.training.layer_by_layer import layerwise
from kappagcn.training.quasi_newton import QuasiNewtonTrainer
from kappagcn.training.run import run_training
from kappagcn.training.settings import TrainingSettings
from layer_cases import EDGES, LAYERS, SPACE, X, moved
from pretend_device import DEVICE, PretendDevice, register, waits

QUIET = {"verbose": False}
MATRIX_MADE = {"aten._coalesce.default", "aten.index.Tensor"}  # what makes a matrix of edges waits for, as PyG does
RUNS = {}  # by name, a function of the device


def case(function):
    RUNS[function.__name__] = function
    return function


def learned(module, out):
    """Output and gradients of a module after one step of an optimiser."""
    out.square().sum().backward()
    parameters = [p for p in module.parameters() if p.grad is not None]
    gradients = [p.grad.clone() for p in parameters]
    if parameters:
        torch.optim.Adam(parameters).step()
    return [out, *gradients, *(0 * p for p in parameters)]


def layer(name, make, *arguments):
    """A layer or network: forward, backward, one step, forward without gradients."""

    def run(device):
        torch.manual_seed(0)
        module = make().to(device)
        inputs = moved(arguments, device)
        with torch.no_grad():
            module(*inputs)  # the first rows set scales
        before = waits.copy()
        results = learned(module, module(*inputs))
        assert not (waits - before).keys() - MATRIX_MADE, f"waits for the device: {waits - before}"
        return results

    RUNS[name] = run


for name, (make, arguments) in LAYERS.items():
    if name != "GCN by Fréchet means":  # which take long, and run on meta tensors
        layer(name, make, *arguments)


@case
def sparse_tensors(device):
    """Sparse features, and a sparse adjacency."""
    torch.manual_seed(0)
    conv, edges = KappaGCNConv(3, 3, manifold="S3").to(device), EDGES.to(device)
    results = learned(conv, conv(X.to_sparse_csr().to(device), edges))
    return results + learned(conv, conv(X.to(device), torch.eye(4).to_sparse_csr().to(device)))


@case
def geometry(device):
    """Every function of the geometry, with gradients."""
    results = []
    for function in CASES.values():
        for kappa in (-0.8, 0.6):
            k = torch.tensor(kappa, dtype=torch.float64, device=device, requires_grad=True)
            leaves = {name: t.to(device).requires_grad_() for name, t in tensors().items()}
            value = function(leaves, k)
            results += [value, torch.autograd.grad(value.sum(), k)[0]]
    return results


@case
def manifolds(device):
    product = ProductManifold.from_signature(SPACE, trainable=True).to(device)
    x, y = (0.1 * X[:2]).to(device), (0.2 * X[2:]).to(device)
    results = [product.dist(x, y), product.expmap(x, product.logmap(x, y)), product.transport(x, y, y), product.k]
    for space in (product, Stereographic(-1.0, dim=3).to(device)):
        torch.manual_seed(0)
        assert space.random_uniform(5, radius=1.0).device.type == device.type
        assert space.origin(2).device.type == device.type
    return results


@case
def features(device):
    data = Data(x=X, edge_index=EDGES).to(device)
    return [TangentFeatures(scale=0.5)(data.clone()).x, PointFeatures("H3")(data.clone()).x]


@case
def objectives(device):
    graph = cycle(12)
    distances, near = GraphDistances.of(graph), NearPairs.of(graph)
    some = GraphDistances.of(graph, torch.tensor([1, 5]), near)
    torch.manual_seed(0)
    points = FreePoints(12, "H2xS2").to(device)
    results = []
    for each in (distances, some):
        for objective in ("distortion", "relative", "stress"):
            results += learned(points, pair_loss(points(), points.manifold, each, objective))
            points.zero_grad()
    results += learned(points, ranking_loss(points(), points.manifold, Neighbours.of(graph)))
    with torch.no_grad():
        results.append(distances_from(points(), points.manifold, [0, 3]))
        results.append(torch.tensor(mean_average_precision(points(), points.manifold, graph)))
        results.append(torch.tensor(measure(points(), points.manifold, distances).distortion))
    return results


CONFIG = TrainingSettings(epochs=3, patience=3)


def small():
    """A graph with rows of at most length 1: farther out float32 keeps too few digits to compare two ways to sum."""
    data = disease(60)
    data.x = data.x / data.x.norm(dim=1).max()
    return data, random_split(data.y, 0)


@case
def classification(device):
    data, split = small()
    results = []
    for strategy in (None, MiniBatch(16, 5)):
        torch.manual_seed(0)
        model = KappaGCN(10, 2, "H2xS2").to(device)
        placed = data.clone().to(device)
        result = fit(model, placed, split, CONFIG, **({} if strategy is None else {"strategy": strategy}))
        results += [torch.tensor([each["train_loss"] for each in result.history])]
        results += [predict(model, placed), layerwise(model, placed.x, placed.edge_index)]
    return results


@case
def loop_of_one_s_own(device):
    data, _ = small()
    torch.manual_seed(0)
    model = KappaGCN(10, 2, "H4").to(device)
    optimiser = torch.optim.Adam(parameter_groups(model, lr=0.01))
    loader = KappaNeighborLoader(data, num_neighbors=[5, 5], batch_size=20)
    for batch in loader:
        moved = batch.to(device)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(moved.x, moved.edge_index), moved.y).backward()
        optimiser.step()
    return [p * 0 for p in model.parameters()]


@case
def links(device):
    data, _ = small()
    split = edge_split(data, 0)
    results = []
    for options in ({"folds": 3}, {"batch_size": 16}, {"free": True}):
        torch.manual_seed(0)
        free = options.pop("free", False)
        model = LinkPredictor(FreePoints(60, "H4") if free else KappaGCN(10, None, "H4")).to(device)
        result = fit_links(model, data.clone().to(device), split, CONFIG, **options)
        results.append(torch.tensor([each["train_loss"] for each in result.history]))
    return results


class Interrupted(Exception):
    """Stands for a lost process."""


def interrupt(record):
    if record["epoch"] == 2:
        raise Interrupted


@case
def resumed_runs(device):
    """A run that is interrupted after two epochs goes on to the same losses."""
    data, split = small()
    pairs, placed = edge_split(data, 0), data.clone().to(device)
    results = []
    for links_too in (False, True):
        with TemporaryDirectory() as folder:
            for callbacks in ([interrupt], []):
                torch.manual_seed(0)
                encoder = KappaGCN(10, None if links_too else 2, "H4")
                model = (LinkPredictor(encoder) if links_too else encoder).to(device)
                run = fit_links if links_too else fit
                options = {"folder": folder, "resume": True, "callbacks": callbacks, "checkpoint_seconds": 0.0}
                with suppress(Interrupted):
                    result = run(model, placed, pairs if links_too else split, CONFIG, **options)
        results.append(torch.tensor([each["train_loss"] for each in result.history]))
    return results


@case
def resumed_embedding(device):
    graph = cycle(12)
    with TemporaryDirectory() as folder:
        for callbacks in ([interrupt], []):
            torch.manual_seed(0)
            points = FreePoints(12, "S2(0.1)").to(device)
            task = EmbeddingTask(points, GraphDistances.of(graph))
            trainer = QuasiNewtonTrainer(points, task, CONFIG, units={"points": 3.0}, radius=3.0)
            with suppress(Interrupted):
                options = {"folder": folder, "resume": True, "callbacks": callbacks, "checkpoint_seconds": 0.0}
                result = run_training(trainer, {}, **options)
    return [torch.tensor([each["distortion"] for each in result.history])]


def estimator(module, make, use):
    """An estimator whose device is the one that is not there."""

    def run(device):
        before, module.resolve_device = module.resolve_device, lambda *_, **__: device
        try:
            return [torch.as_tensor(values) for values in use(make())]
        finally:
            module.resolve_device = before

    return run


def used_classifier(fitted):
    data, _ = small()
    fitted.fit(data)
    return fitted.predict_proba(), fitted.predict_proba(data), fitted.embed()


def used_predictor(fitted):
    data, _ = small()
    fitted.fit(data)
    top = [link.probability for link in fitted.top_links(3)]
    return fitted.predict_proba([(0, 1), (3, 50)]), top, fitted.embed(), [fitted.score()]


def used_embedder(fitted):
    fitted.fit(cycle(12))
    return fitted.distances(), fitted.curvatures_


for name, options in {"": {}, " in mini-batches": {"batch_size": 16}, " HGCN": {"model": "hgcn"}}.items():
    RUNS[f"KappaGCNClassifier{name}"] = estimator(
        classifier, lambda o=options: KappaGCNClassifier("H4", epochs=2, **QUIET, **o), used_classifier
    )
for name, options in {"": {}, " in mini-batches": {"batch_size": 16}, " free": {"model": "free"}}.items():
    RUNS[f"KappaGCNLinkPredictor{name}"] = estimator(
        link_predictor, lambda o=options: KappaGCNLinkPredictor("H4", epochs=2, **QUIET, **o), used_predictor
    )
for objective in ("distortion", "neighbours"):
    RUNS[f"GraphEmbedder {objective}"] = estimator(
        embedding_run, lambda o=objective: GraphEmbedder("S2", epochs=3, objective=o, **QUIET), used_embedder
    )


def compare(name):
    """None, or what is wrong."""
    try:
        expected = RUNS[name](torch.device("cpu"))
        with PretendDevice():
            actual = [t.cpu() for t in RUNS[name](DEVICE)]
    except Exception:
        return traceback.format_exc()
    for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
        if not torch.allclose(one.double(), other.double(), rtol=1e-3, atol=1e-4):
            return f"result {number}: {one} on the CPU, {other} on the device"
    return None


def main(*names):
    """Print what is wrong in each of these runs, or in all."""
    warnings.simplefilter("ignore")
    register()
    print(json.dumps({name: compare(name) for name in names or RUNS}), flush=True)
    os._exit(0)  # threads of autograd for a device that is not there do not end


if __name__ == "__main__":
    main(*sys.argv[1:])
