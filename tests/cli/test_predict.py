import csv
import json
import shutil

import numpy as np
import pytest

from command_runs import message_of, run


def test_classify_then_predict_for_the_same_and_for_new_nodes(tmp_path):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 60)
    edges = [(i, j) for i in range(60) for j in range(i) if rng.random() < (0.2 if kinds[i] == kinds[j] else 0.02)]
    _graph(tmp_path, "old", edges, kinds, rng)
    _graph(tmp_path, "new", edges[: len(edges) // 2], kinds, rng)
    folder = tmp_path / "run"
    options = ["--features", str(tmp_path / "old-features.csv"), "--labels", str(tmp_path / "old-labels.csv")]
    output = run(
        "classify", str(tmp_path / "old.csv"), *options, "--space", "H4", "--splits", "2", "--set", "runs=2",
        "--epochs", "100", "--out", str(folder), "--json",
    )  # fmt: skip
    summary = json.loads(output.stdout)
    assert (summary["splits"], summary["runs"], len(summary["records"])) == (2, 4, 4)
    assert summary["accuracy"] > 0.8
    assert summary["interval"][0] <= summary["accuracy"] <= summary["interval"][1]
    kept = max(summary["records"], key=lambda r: (r["stopping_accuracy"], -r["stopping_loss"]))
    assert summary["kept"] == {"split": kept["split"], "run": kept["run"]}, "stopping nodes choose, never test nodes"
    rows = list(csv.DictReader(run("predict", str(folder)).stdout.splitlines()))
    assert len(rows) == 60
    assert {row["given"] for row in rows} == {"even", "odd"}
    assert float(rows[0]["p(even)"]) + float(rows[0]["p(odd)"]) == pytest.approx(1, abs=1e-5)
    new = ["--features", str(tmp_path / "new-features.csv"), "--labels", str(tmp_path / "new-labels.csv")]
    result = run("predict", str(folder), str(tmp_path / "new.csv"), *new, "--json")
    printed = {row["node"]: row["label"] for row in json.loads(result.stdout)["nodes"]}
    right = np.mean([printed[f"new{i}"] == ("odd" if kinds[i] else "even") for i in range(60) if f"new{i}" in printed])
    assert right > 0.65, "20 seeds show 0.77 at least"
    assert f"{right:.3f}" in result.stderr
    again = run("predict", str(folder), str(tmp_path / "old.csv"), *options)
    assert again.stdout == run("predict", str(folder)).stdout, "the saved network gives the run's own numbers"


def test_one_file_of_mixed_columns_and_weights_by_name(tmp_path):
    """Labels, features and weights are columns by name, and another file is encoded as the first was."""
    rng = np.random.default_rng(0)
    kinds = np.arange(40) % 2
    pairs = [(i, j) for i in range(40) for j in range(i) if rng.random() < (0.3 if kinds[i] == kinds[j] else 0.03)]
    (tmp_path / "g.csv").write_text("day,payer,payee,amount\n" + "".join(f"1,c{i},c{j},{i + 1}\n" for i, j in pairs))
    rows = [f"c{i},{i / 40 if i % 5 else ''},{('free', 'paid')[k]},{('low', 'high')[k]}" for i, k in enumerate(kinds)]
    (tmp_path / "people.csv").write_text("id,age,plan,segment\n" + "\n".join(rows))
    edges = [tmp_path / "g.csv", "--source", "payer", "--target", "payee"]
    nodes = ["--nodes", tmp_path / "people.csv", "--label", "segment"]
    common = ["--space", "H4", "--epochs", "30", "--set", "no-baselines=true", "--out", tmp_path / "run"]
    columns = [f"--set={each}" for each in ("source=payer", "target=payee", "weight=amount", "edge-weights=raw")]
    result = run("classify", edges[0], *columns, *nodes, *common)
    assert result.exit_code == 0, result.output
    assert "weighted" in result.stderr
    assert "1 numeric column, 1 categorical column as 2 indicators" in result.stderr.replace("\n", " ")
    (tmp_path / "others.csv").write_text("plan,id,age\n" + "".join(f"paid,c{i},0.5\n" for i in range(40)))
    others = ["--nodes", tmp_path / "others.csv", "--json"]
    without = run("predict", tmp_path / "run", *edges, "--no-weights", *others)
    assert "expected a graph with edge weights, as in fit" in message_of(without)
    result = run("predict", tmp_path / "run", *edges, "--weight", "amount", *others)
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["nodes"]) == 40
    assert "found both" in message_of(run("info", *edges, "--weight", "amount", "--no-weights"))
    assert "expected one column 'money'" in message_of(run("info", *edges, "--weight", "money"))


def _graph(folder, name, edges, kinds, rng):
    (folder / f"{name}.csv").write_text("".join(f"{name}{i},{name}{j}\n" for i, j in edges))
    used = sorted({node for edge in edges for node in edge})
    noisy = [(i, kinds[i] + 0.5 * rng.standard_normal(), rng.standard_normal()) for i in used]
    (folder / f"{name}-features.csv").write_text("".join(f"{name}{i},{a},{b}\n" for i, a, b in noisy))
    (folder / f"{name}-labels.csv").write_text("".join(f"{name}{i},{('even', 'odd')[kinds[i]]}\n" for i in used))


def test_weights_of_another_network_are_refused(runs, tmp_path):
    shutil.copytree(runs / "classes", tmp_path / "run")
    shutil.copy(runs / "embedding" / "model.safetensors", tmp_path / "run")
    assert "expected a classifier of this version" in message_of(run("predict", tmp_path / "run", "disease"))
