"""What each worker of the tests does, with torchrun's variables: main(out, names)."""

import json
import warnings

import torch

from kappagcn.classification.fitting import fit
from kappagcn.classification.parts import PartClassification, Partitioned, node_owners
from kappagcn.distributed import cut, process_group
from kappagcn.graphs import disease, random_split
from kappagcn.models import build_model
from kappagcn.training.minibatch import PartTrainer
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import seeded

NODES, EPOCHS = 60, 4
MODELS = {
    "H4": ("kappa-gcn", {"space": "H4"}),
    "S4": ("kappa-gcn", {"space": "S4", "relative": True}),
    "H2xS2": ("kappa-gcn", {"space": "H2xS2", "num_layers": 2}),
    "node": ("kappa-gcn", {"space": "H4", "aggregation": "tangential-node", "adjacency_norm": "row"}),
    "relative": ("kappa-gcn", {"space": "H2xS2", "relative": True}),
    "frechet": ("kappa-gcn", {"space": "H4", "aggregation": "frechet"}),
    "gcn": ("gcn", {"hidden_channels": 4}),
    "hgcn": ("hgcn", {"hidden_channels": 4, "attention": True}),
    "mlp": ("mlp", {"hidden_channels": 4}),
}
CONFIG = TrainingSettings(epochs=EPOCHS, patience=EPOCHS, curvature_lr=0.05, l2=1e-3)


def prepared():
    """A graph, its split, all in float64."""
    data = disease(NODES)
    data.x = 0.1 * data.x.double()
    return data, random_split(data.y, 0)


def network(name):
    """The same weights wherever it is called."""
    kind, options = MODELS[name]
    with seeded(3):
        return build_model(kind, in_channels=10, num_classes=2, **options).double()


def trainer(model, task):
    """A trainer of all processes of the task."""
    options = {"regularised": model.first_layer(), "communicator": task.communicator}
    return PartTrainer(model, task, CONFIG, **options)


def gradients(trainer):
    """All gradients of a first step, before it is done."""
    trainer.model.train()
    loss = trainer.task.loss()
    (value,) = trainer.communicator.all_reduce_sum(loss)
    loss.backward()
    trainer.sum_gradients()
    return {"loss": value, **{name: p.grad.flatten().tolist() for name, p in trainer.named.items()}}


def main(out, names):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    data, split = prepared()
    results = {}
    with process_group(60) as communicator:
        for method in ("metis", "hash"):
            owner = node_owners(data, communicator.world_size, method)
            for name in names:
                if method == "metis" or name == "H2xS2":
                    model = network(name)
                    task = PartClassification(model, data, split, owner, communicator)
                    first = gradients(trainer(model, task))
                    model = network(name)
                    result = fit(model, data, split, CONFIG, strategy=Partitioned(communicator, method))
                    weights = {key: t.flatten().tolist() for key, t in model.state_dict().items()}
                    results[f"{name} {method}"] = {"first": first, "history": result.history, "weights": weights}
        results["boundary"] = boundary(data, owner, communicator)
        results["embedding"] = embedding(communicator)
    if communicator.rank == 0:
        with open(out, "w") as file:
            json.dump(results, file)


def boundary(data, owner, communicator):
    """Products with sampled boundary rows, on average, beside the exact one; and the bytes of one product."""
    from kappagcn.sparse import normalized_adjacency

    whole = normalized_adjacency(data.edge_index, num_nodes=NODES, dtype=torch.float64)
    own, part = cut(whole, owner, communicator)
    exact = whole.product(data.x)[own]
    before = part.exchange.sent
    same = part.product(data.x[own])
    sent = part.exchange.sent - before
    with seeded(communicator.rank):
        draws = torch.stack([part.sampled(0.5).product(data.x[own]) for _ in range(100)])
    error = (draws.mean(0) - exact) / (draws.std(0) / 10 + 1e-12)
    worst = float(error.abs().max())
    spread = torch.tensor([worst, float((same - exact).abs().max())], dtype=torch.float64)
    torch.distributed.all_reduce(spread, torch.distributed.ReduceOp.MAX)
    bytes_sent = torch.tensor([sent, len(part.exchange.sent_rows)])
    torch.distributed.all_reduce(bytes_sent)
    return {"worst": spread.tolist(), "bytes": bytes_sent.tolist(), "columns": data.x.shape[1]}


def embedding(communicator):
    """By how much the workers' sampled distortion and its gradients miss those of the same sources in one process."""
    from kappagcn.embedding.graph_distances import GraphDistances
    from kappagcn.embedding.pair_objectives import distortion
    from kappagcn.embedding.tasks import SharedEmbeddingTask
    from kappagcn.graphs import torus
    from kappagcn.models.points import FreePoints

    graph = torus(80, radius=0.2)
    with seeded(0):
        points = FreePoints(graph.num_nodes, "H2xS2").double()
        points.points.data.normal_()
    task = SharedEmbeddingTask(points, graph, 11, torch.arange(7), communicator, seed=5)
    trainer = PartTrainer(points, task, CONFIG, communicator=communicator)
    communicator.set_epoch(3)
    theirs = gradients(trainer)
    points.zero_grad()
    drawn = torch.randperm(80, generator=torch.Generator().manual_seed((5 << 32) + 3))[:11]
    whole = GraphDistances.of(graph, drawn, task.near)
    loss = distortion(points(), points.manifold, whole)
    loss.backward()
    ours = {"loss": float(loss), **{name: p.grad.flatten().tolist() for name, p in trainer.named.items()}}
    seen = {"watched": task.metrics()["distortion"]}
    seen["alone"] = float(distortion(points(), points.manifold, GraphDistances.of(graph, torch.arange(7))))
    return {"theirs": theirs, "ours": ours, **seen}
