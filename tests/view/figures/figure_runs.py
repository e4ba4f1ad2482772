"""Small runs to draw."""

import json

import numpy as np
import torch

from kappagcn.geometry import expmap0
from kappagcn.run_folder import PARTS, Embedded, SavedRun, save_embedded, save_json

KAPPAS = [-1.0, 0.0, 0.5]


def tree_edges(nodes):
    return np.array([[child, (child - 1) // 3] for child in range(1, nodes)])


def embedded(dims=(2, 2, 3), nodes=40, **more):
    tangent = 0.4 * np.random.default_rng(0).standard_normal((nodes, sum(dims)))
    kappas = np.array(KAPPAS[: len(dims)])
    parts, start = [], 0
    for dim, k in zip(dims, kappas, strict=True):
        parts.append(expmap0(torch.from_numpy(tangent[:, start : start + dim]), k=float(k)).numpy())
        start += dim
    return Embedded(
        tangent=tangent,
        points=np.concatenate(parts, axis=1),
        dims=np.array(dims),
        curvatures=kappas,
        edges=tree_edges(nodes),
        **more,
    )


def labelled(nodes=40):
    rng = np.random.default_rng(1)
    return {
        "labels": rng.integers(-1, 3, nodes),
        "class_names": np.array(["area/one", "area/two", "area/three"]),
        "probabilities": rng.dirichlet([1, 1, 1], nodes),
        "parts": np.full(nodes, PARTS.index("test")),
    }


def saved(folder, arrays, summary, metrics):
    folder.mkdir()
    save_json(folder / "config.json", {})
    save_json(folder / "summary.json", {"graph": "some tree", "best_epoch": 2} | summary)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in metrics))
    save_embedded(folder / "embedding.npz", arrays)
    return SavedRun(folder)
