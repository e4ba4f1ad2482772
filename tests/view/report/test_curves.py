import json

from kappagcn.view.curves import _chart
from report_runs import Tags, embedded, save_run, tree_edges, tree_vectors, written


def test_numbers_by_epoch_are_in_the_graphs_unit_and_may_be_missing(tmp_path):
    metrics = [{"epoch": t, "distortion": float("nan") if t == 3 else 1 / t, "curvatures": [-4.0]} for t in range(1, 9)]
    summary = {"graph": "g", "distortion": float("nan"), "edge_unit": 2.0, "curvatures": [-1.0]}
    run = save_run(tmp_path / "run", embedded(tree_vectors(5), [2], [-1.0], tree_edges(5)), summary, metrics)
    distortion, curvature = json.loads(Tags(written(run, tmp_path)).data)["curves"]
    assert distortion["series"][0]["values"][1:4] == [0.5, None, 0.25]
    assert distortion["log"]
    assert curvature["series"][0]["values"] == [-1.0] * 8


def test_curvatures_of_ranks_end_at_the_result(tmp_path):
    metrics = [{"epoch": t, "ranking_loss": 1 / t, "curvatures": [-t / 10]} for t in range(1, 9)]
    summary = {"graph": "g", "objective": "neighbours", "best_epoch": 8, "curvatures": [-20.0]}
    run = save_run(tmp_path / "run", embedded(tree_vectors(5), [2], [-20.0], tree_edges(5)), summary, metrics)
    curvature = json.loads(Tags(written(run, tmp_path)).data)["curves"][-1]
    assert abs(curvature["series"][0]["values"][-1] + 20.0) < 1e-6


def test_lines_that_are_the_same_are_drawn_once_with_both_names():
    chart = _chart("Loss", [1.0, 2.0], {"early stopping": [0.5, 0.4], "validation": [0.5, 0.4], "training": [0.3, 0.2]})
    assert [each["name"] for each in chart["series"]] == ["early stopping and validation", "training"]
