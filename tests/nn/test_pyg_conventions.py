"""The record of GCNConv's conventions and ours is what comes of trying them."""

import random

import pytest
from torch_geometric.nn import GCNConv

import pyg_conventions
import record
from kappagcn.nn import KappaGCNConv

RECORD = {row["feature"]: row for row in record.load("pyg_conventions")["results"]}


@pytest.mark.parametrize("name", [name for name, _ in pyg_conventions.ROWS])
def test_the_record_says_what_happens(name):
    random.seed(name)  # PyG names the code that it generates by chance, and takes an older one of that name
    row = dict(pyg_conventions.ROWS)[name]
    theirs, ours = pyg_conventions.attempt(row, GCNConv), pyg_conventions.attempt(row, KappaGCNConv)
    assert (theirs, ours) == (RECORD[name]["GCNConv"], RECORD[name]["KappaGCNConv"])
    assert ours != "no" or "aggr" in name or "TorchScript" in name
