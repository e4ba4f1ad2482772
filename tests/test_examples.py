"""The scripts in examples/ run."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_gcnconv_is_replaced_and_nothing_else(capsys):
    text = (EXAMPLES / "pyg_drop_in.py").read_text()
    assert "import KappaGCNConv as GCNConv" in text
    example = runpy.run_path(str(EXAMPLES / "pyg_drop_in.py"))
    assert example["main"](epochs=100) > 0.7
    assert "curvatures" in capsys.readouterr().out
