"""Cells by name."""

import pytest

from kappagcn.errors import ConfigError
from kappagcn.paper import DATASETS, ROWS, cells

EVERY = cells()


def test_cells_by_name():
    assert len(EVERY) == 20
    assert [cell.name for cell in cells(["cora_ml"])] == [f"cora_ml/{row}" for row in ROWS]
    assert [cell.name for cell in cells(["cora_ml", "S16", "gcn"])] == ["cora_ml/gcn", "cora_ml/S16"]
    assert [cell.name for cell in cells(["cora_ml/prod", "airport", "S16"])] == ["cora_ml/prod", "airport/S16"]
    assert [cell.name for cell in cells(["S16"])] == [f"{dataset}/S16" for dataset in DATASETS]
    with pytest.raises(ConfigError, match=r"expected one of .*gcn.*, or two as in citeseer/gcn, found 'cora'"):
        cells(["cora"])
