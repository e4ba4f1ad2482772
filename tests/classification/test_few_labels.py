"""Tables with few labels: level with a GCN of PyG that was prepared by hand for each of them."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import cross_entropy, dropout
from torch_geometric.nn import GCNConv

from kappagcn import KappaGCNClassifier

NODES = 400


def customers(seed):
    """Edges of a block model, columns of which some depend on the class, all classes, and a tenth of them."""
    random = np.random.default_rng(seed)
    sizes = [130, 130, 140]
    graph = nx.stochastic_block_model(sizes, 0.004 + 0.018 * np.eye(3), seed=seed)
    truth = np.repeat(np.arange(3), sizes)
    columns = random.normal(size=(NODES, 12))
    columns[:, :4] += 0.7 * random.normal(size=(3, 4))[truth]
    frame = pd.DataFrame(columns, columns=[f"c{i}" for i in range(12)])
    frame["region"] = np.array(list("nsw"))[np.where(random.random(NODES) < 0.6, truth, random.integers(0, 3, NODES))]
    frame.loc[random.random(NODES) < 0.1, "c0"] = np.nan
    labels = np.where(np.isin(np.arange(NODES), random.permutation(NODES)[: NODES // 10]), truth, -1)
    return nx.to_pandas_edgelist(graph)[["source", "target"]], frame, truth, labels


def by_hand(edges, frame, labels):
    """Predictions of two GCN layers with dropout, trained on all labels for 200 epochs."""
    x = pd.get_dummies(frame).astype(float)
    x = torch.tensor(((x - x.mean()) / x.std()).fillna(0).to_numpy(), dtype=torch.float32)
    index = torch.tensor(edges.to_numpy().T)
    index, y = torch.cat([index, index.flip(0)], 1), torch.tensor(labels)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first, second = GCNConv(x.shape[1], 64), GCNConv(64, 3)
        adam = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01, weight_decay=5e-4)
        for _ in range(200):
            adam.zero_grad()
            scores = second(dropout(first(dropout(x), index).relu()), index)
            cross_entropy(scores[y >= 0], y[y >= 0]).backward()
            adam.step()
        return second(first(x, index).relu(), index).argmax(1).numpy()


@pytest.mark.filterwarnings("ignore:.*without an edge")
def test_few_labels_are_not_worse_than_with_a_network_made_by_hand():
    differences = []
    for seed in range(3):
        edges, frame, truth, labels = customers(seed)
        classifier = KappaGCNClassifier(epochs=400, verbose=False).fit(edges, x=frame, y=pd.Series(labels, frame.index))
        predicted, hidden = classifier.predict(as_frame=True).iloc[:, 0], labels < 0
        predicted = predicted[frame.index.astype(predicted.index.dtype)].to_numpy()
        differences.append(
            (predicted == truth)[hidden].mean() - (by_hand(edges, frame, labels) == truth)[hidden].mean()
        )
    assert np.mean(differences) > -0.04, differences
