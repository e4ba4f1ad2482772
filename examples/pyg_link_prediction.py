"""Link prediction as in PyG's examples, with GCNConv replaced by KappaGCNConv and nothing else changed.

    python examples/pyg_link_prediction.py

An encoder of two convolutions; links are scored by dot products, and trained against pairs drawn at random.
"""

import torch
import torch.nn.functional as F
from torch_geometric.transforms import RandomLinkSplit
from torch_geometric.utils import negative_sampling

from kappagcn import KappaGCNConv as GCNConv
from kappagcn.graphs import torus


class Encoder(torch.nn.Module):
    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(num_features, 32)
        self.conv2 = GCNConv(32, 16)

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)


def score(z, pairs):
    return (z[pairs[0]] * z[pairs[1]]).sum(-1)


def main(epochs: int = 100, nodes: int = 500) -> float:
    torch.manual_seed(0)
    split = RandomLinkSplit(num_val=0.05, num_test=0.1, is_undirected=True, add_negative_train_samples=False)
    data = torus(nodes)
    data.x = torch.eye(nodes)
    train, _, test = split(data)
    model = Encoder(data.num_features)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        z = model(train.x, train.edge_index)
        absent = negative_sampling(train.edge_index, nodes, train.edge_label_index.shape[1])
        out = score(z, torch.cat([train.edge_label_index, absent], 1))
        label = torch.cat([train.edge_label, torch.zeros(absent.shape[1])])
        F.binary_cross_entropy_with_logits(out, label).backward()
        optimizer.step()
    with torch.no_grad():
        out = score(model(test.x, test.edge_index), test.edge_label_index)
    present, absent = out[test.edge_label == 1], out[test.edge_label == 0]
    auc = (present.unsqueeze(1) > absent).float().mean()
    print(f"a held-out link scores above a pair that is none in {auc:.0%} of cases")
    return float(auc)


if __name__ == "__main__":
    main()
