"""A curvature that starts on a sphere and crosses zero in training: every epoch's κ and loss.

    python benchmarks/crossing.py         trains, keeps records/crossing.json

The graph is the built-in epidemic on a tree; the network is a κ-GCN started at κ = +0.5.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from itertools import pairwise

import torch

import record
from kappagcn.classification.fitting import fit
from kappagcn.graphs import disease, random_split
from kappagcn.models import KappaGCN
from kappagcn.training.settings import TrainingSettings
from kappagcn.training.trainer import seeded

SPACE, SCALE = "S4(0.5)", 0.2
CONFIG = TrainingSettings(epochs=600, patience=600, curvature_lr=0.3, l2=0.0)


def main() -> int:
    torch.set_num_threads(1)
    data = disease()
    data.x = SCALE * data.x
    with seeded(0):
        model = KappaGCN(data.num_features, 2, SPACE)
    history = fit(model, data, random_split(data.y, 0), CONFIG).history
    rows = [{"epoch": h["epoch"], "kappa": h["curvatures"][0], "loss": h["train_loss"]} for h in history]
    crossing = next(row["epoch"] for row in rows if row["kappa"] < 0)
    steps = [b["loss"] - a["loss"] for a, b in pairwise(rows)]
    around = steps[crossing - 11 : crossing + 9]
    print(f"κ from {rows[0]['kappa']:+.3f} through 0 in epoch {crossing} to {rows[-1]['kappa']:+.3f}")
    print(f"steps of the loss in the twenty epochs around it: {min(around):+.4f} to {max(around):+.4f}")
    settings = {"graph": "disease", "feature_scale": SCALE, "model": model.options, "training": asdict(CONFIG)}
    record.save("crossing", {**settings, "crossing": crossing, "results": rows}, ("torch", "kappagcn"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
