import numpy as np
import torch
from torch_geometric.data import Data

from kappagcn.embedding.files import node_columns


def test_few_features_are_kept_with_their_names_and_many_are_not():
    x = torch.arange(6.0).view(3, 2)
    kept = node_columns(Data(x=x.to_sparse_coo(), attr_names=["age", "wealth"]))
    assert kept["column_names"].tolist() == ["age", "wealth"]
    assert np.array_equal(kept["columns"], x.numpy())
    assert node_columns(Data(x=x))["column_names"].tolist() == ["feature 0", "feature 1"]
    assert node_columns(Data(x=torch.ones(3, 100))) == node_columns(Data(num_nodes=3)) == {}
