"""A two-layer GCN as in PyG's documentation, with GCNConv replaced by KappaGCNConv and nothing else changed.

    python examples/pyg_drop_in.py

Trains on the built-in epidemic on a tree. Each layer starts flat and learns the curvature of its space.
"""

import torch
import torch.nn.functional as F

from kappagcn import KappaGCNConv as GCNConv
from kappagcn.graphs import disease, random_split


class GCN(torch.nn.Module):
    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(num_features, 16, cached=True)
        self.conv2 = GCNConv(16, num_classes, cached=True)

    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        x = self.conv1(x, edge_index)
        x = F.relu(x)
        x = F.dropout(x, training=self.training)
        x = self.conv2(x, edge_index)
        return F.log_softmax(x, dim=1)


def main(epochs: int = 200) -> float:
    torch.manual_seed(0)
    data = disease()
    data.x = F.normalize(data.x)
    split = random_split(data.y, seed=0)
    model = GCN(data.num_features, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        out = model(data)
        loss = F.nll_loss(out[split.train], data.y[split.train])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        predicted = model(data).argmax(dim=1)
    right = (predicted == data.y)[split.validation].float().mean()
    signs = [f"{conv.manifold.curvature.sign:+d}" for conv in (model.conv1, model.conv2)]
    print(f"validation accuracy {right:.1f}, signs of the curvatures {' and '.join(signs)}")
    return float(right)


if __name__ == "__main__":
    main()
