"""Larger graphs and several workers: agreement with one process, bytes sent, time and memory; docs/growing.md.

KAPPAGCN_DATA=... python benchmarks/growing.py    (about ten minutes; parts: exact, large)
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import growing_page
import record
from growing_page import CLASSES, FAR, FEATURES, bytes_per_epoch, columns
from kappagcn.classification.fitting import fit
from kappagcn.classification.parts import PartClassification, Partitioned
from kappagcn.classification.task import NodeClassification
from kappagcn.distributed import partition, process_group
from kappagcn.graphs import Split, normalize_rows
from kappagcn.graphs.datasets.benchmark import load_benchmark
from kappagcn.models import KappaGCN
from kappagcn.nn.features import tangent_features
from kappagcn.sparse import normalized_adjacency
from kappagcn.training.memory import keep_freed_memory
from kappagcn.training.parts import PartTrainer
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import Trainer, seeded

# Slight curvatures, as the classifier starts with: rows that lie far out are sent in float64.
SPACES = {"H16": "H16(-0.01)", "S16": "S16(0.01)", "H8xS8": "H8(-0.01)xS8(0.01)"}
WORKERS, EPOCHS = (1, 2, 4), 50
SIZES = [
    ("local", 10_000, 100_000),
    ("local", 100_000, 1_000_000),
    ("local", 1_000_000, 5_000_000),
    ("local", 1_000_000, 10_000_000),
    ("local", 3_000_000, 30_000_000),
    ("random", 100_000, 1_000_000),
    ("random", 1_000_000, 10_000_000),
]
NEAR, STRAYING = 500, 0.1  # a local graph joins nodes whose numbers are that close, but for a tenth of its edges
TIMED = 4  # epochs


def pubmed(dtype: torch.dtype) -> tuple[Any, Split]:
    benchmark = load_benchmark("pubmed", os.environ.get("KAPPAGCN_DATA"))
    data = benchmark.data.clone()
    data.x = tangent_features(normalize_rows(data.x, order=2), scale=1.0).to(dtype)
    return data, benchmark.split(0)


def network(data: Any, space: str, dtype: torch.dtype) -> KappaGCN:
    with seeded(0):
        return KappaGCN(data.num_features, 3, SPACES[space]).to(dtype)


CONFIG = TrainingSettings(epochs=EPOCHS, patience=EPOCHS, l2=5e-4, curvature_lr=0.01)


def loopback() -> int:
    """Bytes that went over this machine's own network so far."""
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


def gradients(trainer: Trainer) -> tuple[float, list[torch.Tensor]]:
    trainer.model.train()
    loss = trainer.task.loss()
    value = trainer.communicator.all_reduce_sum(loss)[0]
    loss.backward()
    trainer.sum_gradients()
    return value, [p.grad.clone() for p in trainer.named.values()]


def off(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """The largest difference, as a part of the largest entry."""
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-30))


def exact(out: Path, space: str, dtype_name: str) -> None:
    """One worker's part of the comparison with one process."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dtype = getattr(torch, dtype_name)
    data, split = pubmed(dtype)
    with process_group(120) as communicator:
        owner = partition(data.edge_index, data.num_nodes, communicator.world_size)
        model = network(data, space, dtype)
        task = PartClassification(model, data, split, owner, communicator)
        options = {"regularised": model.first_layer(), "communicator": communicator}
        _, theirs = gradients(PartTrainer(model, task, CONFIG, **options))
        rows = torch.tensor(task.adjacency.exchange.halo)
        dist.all_reduce(rows)
        model = network(data, space, dtype)
        dist.barrier()
        before = loopback()
        result = fit(model, data, split, CONFIG, strategy=Partitioned(communicator))
        dist.barrier()
        sent = loopback() - before
        if communicator.rank == 0:
            alone = network(data, space, dtype)
            trainer = Trainer(alone, NodeClassification(alone, data, split), CONFIG, regularised=alone.first_layer())
            _, ours = gradients(trainer)
            alone = network(data, space, dtype)
            single = fit(alone, data, split, CONFIG)
            pairs = list(zip(result.history, single.history, strict=True))
            width = columns(16, len(alone.manifold.dims), 3)
            parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
            size = torch.finfo(dtype).bits // 8
            output = {
                "case": "exact",
                "space": space,
                "workers": communicator.world_size,
                "dtype": dtype_name,
                "gradients": max(off(a, b) for a, b in zip(theirs, ours, strict=True)),
                "loss": max(abs(a["train_loss"] - b["train_loss"]) / b["train_loss"] for a, b in pairs),
                "curvatures": max(
                    abs(x - y) / abs(y) for a, b in pairs for x, y in zip(a["curvatures"], b["curvatures"], strict=True)
                ),
                "weights": max(
                    off(a, b) for a, b in zip(model.state_dict().values(), alone.state_dict().values(), strict=True)
                ),
                "boundary_rows": int(rows),
                "bytes_model": bytes_per_epoch(
                    int(rows), width, parameters, communicator.world_size, size, dropout=False
                ),
                "bytes_measured": sent / EPOCHS,
                "seconds": result.seconds / EPOCHS,
                "seconds_alone": single.seconds / EPOCHS,
            }
            out.write_text(json.dumps(output))


def generated(kind: str, nodes: int, edges: int) -> Any:
    """Edges at random, or between nodes of close numbers as a partition orders them; features tell the class."""
    from torch_geometric.data import Data

    generator = torch.Generator().manual_seed(0)
    ends = torch.randint(nodes, (2, edges), generator=generator)
    if kind == "local":
        close = (ends[0] + torch.randint(1, NEAR, (edges,), generator=generator)) % nodes
        ends[1] = torch.where(torch.rand(edges, generator=generator) < STRAYING, ends[1], close)
    y = torch.randint(CLASSES, (nodes,), generator=generator)
    x = 0.1 * torch.randn(nodes, FEATURES, generator=generator)
    x[torch.arange(nodes), y] += 0.1
    return Data(x=x, edge_index=torch.cat([ends, ends.flip(0)], 1), y=y, num_nodes=nodes)


def large(out: Path, kind: str, nodes: int, edges: int) -> None:
    """A few epochs of full-batch training on all cores; the largest graph takes 10 GiB."""
    keep_freed_memory()  # as the command line does
    data = generated(kind, nodes, edges)
    order = torch.randperm(nodes, generator=torch.Generator().manual_seed(1)).numpy()
    split = Split(order[: nodes // 10], order[nodes // 10 : nodes // 5], [], order[nodes // 5 :], name="random")
    own = sum(t.numel() * t.element_size() for t in (data.x, data.edge_index, data.y))
    with seeded(0):
        model = KappaGCN(FEATURES, CLASSES, "H16")
    times = [time.perf_counter()]
    config = TrainingSettings(epochs=TIMED, patience=TIMED)
    fit(model, data, split, config, callbacks=[lambda metrics: times.append(time.perf_counter())])
    output = {
        "case": "large",
        "kind": kind,
        "nodes": nodes,
        "edges": edges,
        "graph_bytes": own,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "seconds": min(b - a for a, b in pairwise(times[1:])),
    }
    out.write_text(json.dumps(output))


def boundaries() -> list[dict[str, Any]]:
    """Boundary rows of Pubmed, as a part of its nodes, in more parts than there are cores here."""
    data, _ = pubmed(torch.float32)
    whole = normalized_adjacency(data.edge_index, num_nodes=data.num_nodes)
    rows = []
    for parts in FAR["machines"]:
        for method in ("metis", "hash"):
            owner = partition(data.edge_index, data.num_nodes, parts, method=method)
            keys = owner[whole.rows] * data.num_nodes + whole.cols
            needed = len(keys[owner[whole.rows] != owner[whole.cols]].unique())
            rows.append({"case": "boundary", "parts": parts, "method": method, "share": needed / data.num_nodes})
    return rows


def run(start: list[str], part: str, *arguments: str) -> dict[str, Any]:
    """A part in processes of its own; what it found."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        subprocess.run([sys.executable, *start, str(Path(__file__)), part, str(out), *arguments], check=True)
        actual: dict[str, Any] = json.loads(out.read_text())
    print(json.dumps(actual), flush=True)
    return actual


def main() -> int:
    rows = [run([], "large", kind, str(nodes), str(edges)) for kind, nodes, edges in SIZES]
    for workers in WORKERS:
        start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers)]
        rows += [run(start, "exact", space, dtype) for dtype in ("float64", "float32") for space in SPACES]
    rows += boundaries()
    record.save(
        "growing",
        {"epochs": EPOCHS, "spaces": SPACES, "results": rows},
        ("torch", "torch_geometric", "pymetis", "kappagcn"),
    )
    growing_page.PAGE.write_text(growing_page.page(record.load("growing")))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["exact"]:
        exact(Path(sys.argv[2]), *sys.argv[3:])
    elif sys.argv[1:2] == ["large"]:
        large(Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))
    else:
        sys.exit(main())
