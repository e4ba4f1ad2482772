"""Link prediction: cost of a step, growth with the number of edges, HGCN's split of Airport; docs/link-prediction.md.

KAPPAGCN_DATA=... python benchmarks/links.py    (about five minutes; parts: step, size, folds, split, page)
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from functools import partial
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

import record
from kappagcn.classification.task import NodeClassification
from kappagcn.graphs import EdgeSplit, LabelledPairs, NegativeSampler, edge_split, load_graph, normalize_rows
from kappagcn.graphs.datasets.graph_dataset import load_benchmark
from kappagcn.graphs.io.undirected import assemble
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.links.task import LinkBatches, LinkPrediction
from kappagcn.models import KappaGCN, LinkPredictor
from kappagcn.nn import tangent_features
from kappagcn.paper.links import SEARCH_SEED, LinkExperiment, LinkJob
from kappagcn.training.resources import keep_freed_memory
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer, seeded

STEPS = 12
SIZES = (100_000, 1_000_000, 10_000_000)
PER_NODE, FEATURES, BATCH = 10, 16, 65_536
FOLD_EPOCHS = 150
HGCN_SEEDS, SHARE = (1234, 1, 2, 3, 4), 0.15


def cpu_milliseconds(action: Any, repeats: int = STEPS) -> float:
    """Median of the processor's time, which others on the machine do not change much; the first call warms up."""
    action()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(1000 * (time.process_time() - start))
    return float(np.median(times))


def steps() -> list[dict[str, Any]]:
    """A step of node classification, of link prediction, and of the decoder alone, on PubMed."""
    root = os.environ.get("KAPPAGCN_DATA")
    benchmark = load_benchmark("pubmed", root)
    data = benchmark[0]
    data.x = tangent_features(normalize_rows(data.x, order=2), scale=1.0)
    split, rows = edge_split(data, 0), []
    for space in ("H16(-0.1)", "S16(0.1)", "H8(-0.1)xS8(0.1)"):
        with seeded(0):
            classifier = KappaGCN(data.num_features, benchmark.num_classes, space)
            predictor = LinkPredictor(KappaGCN(data.num_features, None, space))
        config = TrainingSettings(epochs=10**6)
        nodes = Trainer(classifier, NodeClassification(classifier, data, benchmark.numbered_split(0)), config)
        task = LinkPrediction(predictor, data, split)
        links = Trainer(predictor, task, config)
        pairs = torch.cat((split.train, task.sampler.sample(split.train.shape[1])), 1)
        v = predictor(task.x, task.adjacency).detach().requires_grad_()

        def decode(predictor=predictor, v=v, pairs=pairs) -> None:
            predictor.decode(v, pairs).sum().backward()

        row = {
            "case": "step",
            "space": space,
            "pairs": pairs.shape[1],
            "nodes_ms": cpu_milliseconds(lambda trainer=nodes: trainer._step(1)),
            "links_ms": cpu_milliseconds(lambda trainer=links: trainer._step(1)),
            "decoder_ms": cpu_milliseconds(decode),
            "negatives_ms": cpu_milliseconds(lambda task=task: task.sampler.sample(task.edges.shape[1])),
        }
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def random_graph(edges: int) -> tuple[Data, EdgeSplit]:
    """Random edges among a tenth as many nodes, all but a thousand of them for training."""
    nodes, generator = edges // PER_NODE, torch.Generator().manual_seed(0)
    ends = torch.randint(nodes, (2, edges), generator=generator)
    data = assemble(ends[0].numpy(), ends[1].numpy(), nodes)
    data.x = 0.1 * torch.randn(nodes, FEATURES, generator=generator)
    first, second = data.edge_index
    once = data.edge_index[:, first < second]
    held, others = once[:, :1000], NegativeSampler(once, nodes).distinct(1000, generator)
    none = once[:, :0]
    return data, EdgeSplit(once[:, 1000:], LabelledPairs(held, others), LabelledPairs(none, none), nodes)


def size(edges: int) -> dict[str, Any]:
    """Processor's time of a step over the whole graph and of a mini-batch, and the process's peak of memory."""
    keep_freed_memory()
    start = time.process_time()
    data, split = random_graph(edges)
    read = time.process_time() - start
    with seeded(0):
        predictor = LinkPredictor(KappaGCN(FEATURES, None, "H16(-0.1)"))
    start = time.process_time()
    task = LinkPrediction(predictor, data, split)
    prepared = time.process_time() - start
    trainer = Trainer(predictor, task, TrainingSettings(epochs=10**6))
    whole = cpu_milliseconds(partial(trainer._step, 1), 3)
    row = {"case": "size", "edges": split.train.shape[1], "nodes": data.num_nodes, "read_s": read}
    row |= {"prepare_s": prepared, "step_ms": whole}
    row["memory_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    del task, trainer
    batches = LinkBatches(predictor, data, split, batch_size=BATCH, num_neighbors=5)
    drawn = batches.batches(seed=0, epoch=1)

    def batch() -> None:
        next(drawn)
        batches.loss().backward()

    if edges > BATCH * 5:
        row["batch_ms"] = cpu_milliseconds(batch, 3)
    return row


def sizes() -> list[dict[str, Any]]:
    """Each size in a process of its own, whose peak of memory is its own."""
    rows = []
    for edges in SIZES:
        command = [sys.executable, __file__, "one", str(edges)]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(made.stdout.splitlines()[-1]))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def folds() -> list[dict[str, Any]]:
    """Validation AUC on Disease with and without folds, whole graph's normalisation by rows or symmetric."""
    root, rows = os.environ.get("KAPPAGCN_DATA"), []
    for norm in ("symmetric", "row"):
        for count in (1, 5):
            options = {"adjacency_norm": norm, "folds": count, "num_layers": 2, "epochs": FOLD_EPOCHS}
            experiment = LinkExperiment("disease_lp", LinkPredictionSettings("H16(-0.1)", **options))
            made = LinkJob(experiment, SEARCH_SEED, "validation").run(root)
            row = {"case": "folds", "norm": norm, "folds": count, "validation_auc": made["validation_auc"]}
            print(json.dumps(row), flush=True)
            rows.append(row)
    return rows


def binary_split(labels: np.ndarray, seed: int, share: float = SHARE) -> tuple[list[int], list[int], list[int]]:
    """Validation, test and training nodes by HGCN's rule for two classes: those of a label ≠ 0, and those ≠ 1.

    With more than two classes a node whose label is neither is in both lists.
    """
    rng = np.random.RandomState(seed)
    lists = [np.flatnonzero(labels != 0), np.flatnonzero(labels != 1)]
    for nodes in lists:
        rng.shuffle(nodes)
    count = round(share * min(map(len, lists)))
    parts = [(nodes[:count], nodes[count : 2 * count], nodes[2 * count :]) for nodes in lists]
    validation, test, train = (np.concatenate(both).tolist() for both in zip(*parts, strict=True))
    return validation, test, train


def splits() -> list[dict[str, Any]]:
    """How many test nodes of Airport that rule also trains on."""
    labels = load_graph("airport", root=os.environ.get("KAPPAGCN_DATA")).y.numpy()
    rows = []
    for seed in HGCN_SEEDS:
        validation, test, train = map(set, binary_split(labels, seed))
        row = {"case": "split", "seed": seed, "train": len(train), "validation": len(validation), "test": len(test)}
        row |= {"test_in_train": len(test & train), "validation_in_train": len(validation & train)}
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


MEASURES = {"step": steps, "size": sizes, "folds": folds, "split": splits}

if __name__ == "__main__":
    torch.set_num_threads(1)
    parts = sys.argv[1:] or list(MEASURES)
    if parts[0] == "one":
        print(json.dumps(size(int(parts[1]))))
        sys.exit()
    try:
        rows = record.load("links")["results"]
    except FileNotFoundError:
        rows = []
    for part, measure in MEASURES.items():
        if part in parts:
            rows = [row for row in rows if row["case"] != part] + measure()
    record.save("links", {"threads": 1, "results": rows}, ("torch", "numba", "kappagcn"))
