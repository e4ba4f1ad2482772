"""Mini-batches on several processes as in PyG's examples, with layer and loader replaced and nothing else changed.

python examples/pyg_distributed.py
"""

import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from kappagcn.graphs import disease, random_split
from kappagcn.nn import KappaGCNConv as GCNConv
from kappagcn.nn import KappaNeighborLoader as NeighborLoader


class GCN(torch.nn.Module):
    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = GCNConv(num_features, 16), GCNConv(16, num_classes)

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)


def run(rank: int, world_size: int, init: str, epochs: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=init, rank=rank, world_size=world_size)
    # The model is gone when this returns: a process group that a DistributedDataParallel outlives can block for ever.
    train(rank, world_size, epochs)
    dist.destroy_process_group()


def train(rank: int, world_size: int, epochs: int) -> None:
    torch.manual_seed(0)
    data = disease()
    split = random_split(data.y, seed=0)
    share = split.train[rank::world_size]
    loader = NeighborLoader(data, num_neighbors=[10, 10], input_nodes=share, batch_size=64, shuffle=True)
    model = DistributedDataParallel(GCN(data.num_features, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            F.cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()
    right = model.module.eval()(data.x, data.edge_index).argmax(1) == data.y
    if rank == 0:
        print(f"validation accuracy {right[split.validation].float().mean():.3f} on {world_size} processes")


def main(epochs: int = 20, world_size: int = 2) -> None:
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(run, (world_size, f"file://{folder}/init", epochs), nprocs=world_size)


if __name__ == "__main__":
    main()
