"""The tables that people have: the command line and Python give the same predictions."""

import numpy as np
import pandas as pd

from command_runs import run
from kappagcn import KappaGCNClassifier
from kappagcn.classification.cross_validation import splits_of
from kappagcn.graphs import load_graph
from kappagcn.training.labelled import read_labelled

EPOCHS = 40


def tables(folder):
    """Edges with a weight and a time, and nodes with mixed columns, missing values and few labels, as CSV files."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 150)
    names = np.array([f"C{number}" for number in rng.permutation(150)])
    ends = [(a, rng.choice(np.flatnonzero(group == group[a]))) for a in range(150) for _ in range(2)]
    edges = pd.DataFrame([(names[a], names[b]) for a, b in ends if a != b], columns=["payer", "payee"])
    edges["amount"], edges["day"] = rng.lognormal(3, 1, len(edges)).round(2), "2024-03-01"
    nodes = pd.DataFrame({"income": 1e4 * (3 + group + rng.normal(size=150)), "age": rng.integers(20, 80, 150)})
    nodes["region"] = np.where(rng.random(150) < 0.7, np.array(["north", "south"])[group], "west")
    nodes["segment"] = np.where(rng.random(150) < 0.3, np.array(["gold", "basic"])[group], None)
    nodes.loc[rng.random(150) < 0.1, ["income", "region"]] = None
    nodes.insert(0, "customer_id", names)
    nodes = nodes.sample(frac=1, random_state=0)
    edges.to_csv(folder / "payments.csv", index=False)
    nodes.to_csv(folder / "customers.csv", index=False)
    return edges, nodes.set_index("customer_id")


def test_the_command_line_and_python_give_the_same_predictions(tmp_path):
    edges, nodes = tables(tmp_path)
    command = ["classify", tmp_path / "payments.csv", "--nodes", tmp_path / "customers.csv", "--label", "segment"]
    options = ["--set", "weight=amount", "--epochs", EPOCHS, "--set", "no-baselines=true", "--out", tmp_path / "run"]
    assert run(*command, *options).exit_code == 0
    assert run("predict", tmp_path / "run", "--out", tmp_path / "predicted").exit_code == 0
    printed = pd.read_csv(tmp_path / "predicted" / "predictions.csv").set_index("node")

    weighted = edges.rename(columns={"amount": "weight"})[["payer", "payee", "weight"]]
    data, labels = read_labelled(weighted, nodes.drop(columns="segment"), nodes.segment)
    from_files = load_graph(
        tmp_path / "payments.csv", nodes=tmp_path / "customers.csv", label="segment", weight="amount"
    )
    classifier = KappaGCNClassifier(epochs=EPOCHS, verbose=False)
    classifier.fit_split(data, labels, splits_of("payments", from_files, 1)[0])
    own = classifier.predict_proba(as_frame=True).loc[printed.index]
    np.testing.assert_allclose(own, printed[[f"p({name})" for name in own.columns]], atol=2e-3)
