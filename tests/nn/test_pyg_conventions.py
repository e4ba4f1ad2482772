"""The table of GCNConv's conventions and ours is what comes of trying them."""

import random
from pathlib import Path

import pytest
from torch_geometric.nn import GCNConv

import pyg_conventions
from kappagcn.nn import KappaGCNConv

PAGE = Path(__file__).parents[2] / "docs" / "pyg-conventions.md"


@pytest.mark.parametrize("name", [name for name, _ in pyg_conventions.ROWS])
def test_the_page_says_what_happens(name):
    random.seed(name)  # PyG names the code that it generates by chance, and takes an older one of that name
    row = dict(pyg_conventions.ROWS)[name]
    theirs, ours = pyg_conventions.attempt(row, GCNConv), pyg_conventions.attempt(row, KappaGCNConv)
    assert f"| {name} | {theirs} | {ours} |" in PAGE.read_text().splitlines()
    assert ours != "no" or "aggr" in name or "TorchScript" in name


def test_the_page_names_what_replaces_torchscript():
    assert PAGE.read_text().endswith(f"\n\n{pyg_conventions.NOTE}\n")
