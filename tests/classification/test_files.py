"""Saved classifiers encode a new table as the one that they were trained on."""

import numpy as np
import pandas as pd
import pytest

from kappagcn import KappaGCNClassifier
from kappagcn.errors import GraphError

NODES = [f"c{i}" for i in range(30)]
EDGES = [(NODES[i], NODES[(i * k + 1) % 30]) for i in range(30) for k in (1, 3)]


def test_tables_of_new_nodes_are_encoded_as_in_fit(tmp_path) -> None:
    generator = np.random.default_rng(0)
    table = pd.DataFrame({"income": generator.lognormal(size=30), "plan": generator.choice(["a", "b", "c"], 30)}, NODES)
    table.loc["c3", "income"] = np.nan
    fitted = KappaGCNClassifier("H2", epochs=5, verbose=False).fit(EDGES, table.plan.rename("y"), x=table)
    loaded = KappaGCNClassifier.load(fitted.save(tmp_path / "plans.safetensors"))
    assert loaded.node_names_ is None
    shuffled = table.sample(frac=1, random_state=0)[["plan", "income"]]
    np.testing.assert_array_equal(loaded.predict_proba(EDGES, shuffled), fitted.predict_proba())
    two = table.loc[["c3", "c4"]].assign(plan=["b", "new"])  # another plan, and fewer of them
    rows = loaded.predict_proba([("c3", "c4")], two, as_frame=True)
    assert rows.index.tolist() == ["c3", "c4"]
    with pytest.raises(GraphError, match="expected the column 'income', as in fit, found none"):
        loaded.predict([("c3", "c4")], two[["plan"]])
    other = table.assign(plan=table.plan.replace("a", "d"))
    alone = KappaGCNClassifier("H2", epochs=1, verbose=False).fit(EDGES, table.plan.rename("y"), x=other)
    assert alone._data is not None
    with pytest.raises(GraphError, match="expected the feature 'plan=d', as in fit, found 'plan=a' in its place"):
        alone.predict(fitted._data)
