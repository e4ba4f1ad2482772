import json

import pytest

from kappagcn.graphs import load_graph
from kappagcn.paper.figures import measured as counted


def test_every_node_is_counted_once_and_the_record_is_made_once(tmp_path, monkeypatch):
    asked = []

    def graph(name, root):
        asked.append((name, root))
        return load_graph("karate")

    monkeypatch.setattr(counted, "load_graph", graph)
    path = counted.histograms(tmp_path, "data")
    arrays = json.loads(path.read_text())
    assert path == tmp_path / "histograms.json"
    assert list(arrays["datasets"]) == ["citeseer", "cora_ml", "pubmed", "airport"]
    assert {"seed", "versions", "machine"} < set(arrays)
    for result in arrays["datasets"].values():
        spread = result["curvature"]
        assert sum(result["degrees"].values()) == result["nodes"] == 34
        assert sum(int(d) * n for d, n in result["degrees"].items()) == 2 * result["edges"] == 156
        assert sum(spread["counts"]) + spread["none"] == 34
        assert len(spread["bins"]) == len(spread["counts"]) + 1
        assert spread["bins"] == sorted(spread["bins"])
        middles = [(a + b) / 2 for a, b in zip(spread["bins"], spread["bins"][1:], strict=False)]
        weighted = sum(m * n for m, n in zip(middles, spread["counts"], strict=True)) / sum(spread["counts"])
        assert weighted == pytest.approx(spread["mean"], abs=1 / 60)
    assert counted.histograms(tmp_path, "elsewhere") == path
    assert asked == [(name, "data") for name in arrays["datasets"]]
