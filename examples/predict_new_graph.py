"""Classify nodes in a product space, keep the classifier, and predict for a graph it has not seen.

    python examples/predict_new_graph.py

Two epidemics on two trees: the first has known outcomes and trains, the second is new. Both have the same columns of
features, which is all that a new graph needs.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from kappagcn import KappaGCNClassifier
from kappagcn.graphs import disease


def main(space: str = "H4xS4", nodes: int = 500, epochs: int = 150) -> tuple[float, float]:
    known, new = disease(nodes, seed=0), disease(nodes, seed=1)
    classifier = KappaGCNClassifier(space, epochs=epochs, verbose=False).fit(known)
    print(f"trained in {space}, which became {classifier.space_}")
    with TemporaryDirectory() as folder:
        classifier.save(Path(folder) / "epidemic.safetensors")  # no pickle, and no part of the graph
        loaded = KappaGCNClassifier.load(Path(folder) / "epidemic.safetensors")
    for node, p in enumerate(loaded.predict_proba(new)[:3]):
        print(f"  node {node}: {loaded.classes_[p.argmax()]} ({p.max():.2f})")
    right = loaded.score(new)
    _, counts = np.unique(new.y.numpy(), return_counts=True)
    guess = counts.max() / counts.sum()
    print(f"On the new graph {right:.0%} of the nodes are right; guessing the larger class would give {guess:.0%}.")
    return float(right), float(guess)


if __name__ == "__main__":
    main()
