"""A process of the test of sharded parameters."""

import copy

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from kappagcn.graphs import disease
from kappagcn.models import KappaGCN


def train_sharded(rank, folder):
    """Train a network in shards beside a whole one, and print how far apart its parameters end."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    data = disease(60)
    torch.manual_seed(0)
    whole = KappaGCN(10, 2, "H2xS2", relative=True, num_layers=2)
    sharded = copy.deepcopy(whole)
    fully_shard(sharded, mesh=init_device_mesh("cpu", (2,)))
    optimizers = [torch.optim.Adam(model.parameters(), lr=0.1) for model in (sharded, whole)]
    for _ in range(3):
        for model, optimizer in zip((sharded, whole), optimizers, strict=True):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(data.x, data.edge_index), data.y).backward()
            optimizer.step()
    gaps = [
        float((shards.full_tensor() - parameter).detach().abs().max())
        for shards, parameter in zip(sharded.parameters(), whole.parameters(), strict=True)
    ]
    print(max(gaps), repr(sharded).count("Curvature(nan, trainable)"))
    distributed.destroy_process_group()
