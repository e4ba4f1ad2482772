"""Small runs made for the report, in plain files."""

import json
from html.parser import HTMLParser

import numpy as np

from kappagcn.run_folder import Embedded, SavedRun, save_embedded, save_json
from kappagcn.view.film import Film, save_film
from kappagcn.view.report import write_report


def tree_edges(nodes, branching=3):
    children = np.arange(1, nodes)
    return np.column_stack([(children - 1) // branching, children])


def tree_vectors(nodes, branching=3, step=1.0):
    """A tree laid out in the hyperbolic plane: each node `step` farther out than its parent, amid its arc."""
    arcs, vectors = {0: (0.0, 2 * np.pi, 0)}, np.zeros((nodes, 2))
    for node in range(1, nodes):
        low, high, depth = arcs[(node - 1) // branching]
        width = (high - low) / branching
        start = low + (node - 1) % branching * width
        arcs[node] = (start, start + width, depth + 1)
        angle = start + width / 2
        vectors[node] = (depth + 1) * step / 2 * np.array([np.cos(angle), np.sin(angle)])
    return vectors


def embedded(tangent, dims, curvatures, edges, **more):
    tangent = np.asarray(tangent, np.float64)
    return Embedded(tangent, tangent, np.array(dims), np.array(curvatures, float), np.asarray(edges), **more)


def save_run(folder, arrays, summary=None, metrics=None):
    folder.mkdir(parents=True, exist_ok=True)
    save_embedded(folder / "embedding.npz", arrays)
    save_json(folder / "config.json", {})
    curvatures = arrays.curvatures.tolist()
    plain = {
        "graph": "made",
        "space": "X",
        "curvatures": curvatures,
        "distortion": 0.1,
        "worst_distortion": 2.0,
        "map": 0.9,
    }
    save_json(folder / "summary.json", summary or plain | {"epochs": 20, "best_epoch": 19, "seconds": 1.5})
    lines = metrics or [{"epoch": t, "distortion": 1 / t, "curvatures": curvatures} for t in range(1, 21)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return SavedRun(folder)


def tree_run(folder, nodes=121, names=None, **more):
    ratios = {"ratio_edges": np.linspace(0, 2, 51), "ratio_counts": np.arange(50)}
    names = None if names is None else np.array(names)
    arrays = embedded(tree_vectors(nodes), [2], [-1.0], tree_edges(nodes), names=names, **ratios, **more)
    return save_run(folder, arrays)


def film_run(folder, frames=6, nodes=40):
    """A tree that unfolds while its curvature goes from 0.4 to −1."""
    run = tree_run(folder, nodes=nodes)
    steps = np.linspace(0, 1, frames)
    tangent = np.stack([(0.3 + 0.7 * t) * run.embedded.tangent for t in steps]).astype(np.float32)
    kappas = np.linspace(0.4, -1, frames)[:, None]
    save_film(folder, Film(np.arange(frames) * 10, 1 - 0.9 * steps, kappas, tangent))
    return run


def classified_run(folder, nodes=90, classes=3, seed=0):
    """H2 × S2 with classes, predictions and several runs."""
    rng = np.random.default_rng(seed)
    labels = np.arange(nodes) % classes
    middles = rng.normal(size=(classes, 4))
    tangent = middles[labels] + 0.3 * rng.normal(size=(nodes, 4))
    scores = np.exp(-3 * ((tangent[:, None] - middles) ** 2).sum(-1))
    arrays = embedded(
        tangent,
        [2, 2],
        [-0.8, 0.3],
        np.column_stack([np.arange(nodes - classes), np.arange(classes, nodes)]),
        names=np.array([f"paper {node}" for node in range(nodes)]),
        labels=labels,
        class_names=np.array([f"topic {place}" for place in range(classes)]),
        probabilities=scores / scores.sum(1, keepdims=True),
        parts=(np.arange(nodes) % 4 + 1).astype(np.uint8),
    )
    test = {"accuracy": 0.8, "macro_f1": 0.7}
    record = {"split": 0, "split_name": "s0", "run": 0, "test": test, "epochs": 20, "seconds": 1.0}
    summary = {
        "graph": "papers",
        "space": "H2xS2",
        "learned_space": "H2(-0.8)xS2(0.3)",
        "accuracy": 0.8,
        "interval": [0.78, 0.82],
        "macro_f1": 0.7,
        "splits": 1,
        "runs": 2,
        "kept": {"split": 0, "run": 1},
        "curvatures": [-0.8, 0.3],
        "epochs": 20,
        "best_epoch": 18,
        "seconds": 2.0,
        "records": [record, record | {"run": 1}],
    }
    metrics = [
        {
            "epoch": t,
            "train_loss": 2 / t,
            "stopping_loss": 2.5 / t,
            "stopping_accuracy": 1 - 1 / t,
            "curvatures": [-1, 1],
        }
        for t in range(1, 21)
    ]
    return save_run(folder, arrays, summary, metrics)


HOSTILE = "</script><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """All tags with their attributes, and what is inside scripts of data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside, self.data, self.title = [], None, "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = "data" if dict(attrs).get("id") == "data" else tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, text):
        if self.inside == "data":
            self.data += text
        elif self.inside == "title":
            self.title += text


def written(run, tmp_path):
    return write_report(run, tmp_path / "out" / "report.html").read_text(encoding="utf-8")
