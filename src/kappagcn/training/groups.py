"""Parameter groups for other optimisers: weights, points and curvatures need different settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn

from kappagcn.errors import ConfigError
from kappagcn.geometry import Curvature
from kappagcn.optim import ManifoldParameter


def parameter_groups(
    model: nn.Module,
    lr: float = 0.01,
    *,
    curvature_lr: float | None = None,
    weight_decay: float = 0.0,
    decayed: Iterable[nn.Parameter] | None = None,
) -> list[dict[str, Any]]:
    """Groups of a model's parameters for any optimiser of torch: weights, points of a space, curvatures.

    Weight decay is for weights alone: it would pull curvatures towards flat space and points towards the origin,
    whatever the loss says. Curvatures have a learning rate of their own. A parameter that several layers share is in
    one group, once.

    Args:
        model: Any module.
        lr: Learning rate of weights and points.
        curvature_lr: Learning rate of curvatures; `lr` by default, 0 keeps them fixed.
        weight_decay: Weight decay of the weights.
        decayed: Parameters that have the weight decay; by default all weights.

    Returns:
        At most four groups with a ``name``: "decayed", "weights", "points", "curvatures"; empty ones are left out.

    >>> import torch
    >>> from kappagcn.models import KappaGCN
    >>> groups = parameter_groups(KappaGCN(10, 2, "H8xS8"), lr=0.01, curvature_lr=0.001, weight_decay=5e-4)
    >>> [(group["name"], group["lr"], group["weight_decay"]) for group in groups]
    [('decayed', 0.01, 0.0005), ('curvatures', 0.001, 0.0)]
    >>> optimizer = torch.optim.AdamW(groups)
    """
    curvature_lr = lr if curvature_lr is None else curvature_lr
    for name, value in (("lr", lr), ("curvature_lr", curvature_lr), ("weight_decay", weight_decay)):
        if not value >= 0:
            raise ConfigError(f"{name}: expected a number from 0, found {value!r}.")
    trained = {id(parameter): parameter for parameter in model.parameters() if parameter.requires_grad}
    kappas = {id(module.raw) for module in model.modules() if isinstance(module, Curvature)}
    chosen = None if decayed is None else {id(parameter) for parameter in decayed}
    groups: dict[str, dict[str, Any]] = {
        "decayed": {"lr": lr, "weight_decay": weight_decay},
        "weights": {"lr": lr, "weight_decay": 0.0},
        "points": {"lr": lr, "weight_decay": 0.0},
        "curvatures": {"lr": curvature_lr, "weight_decay": 0.0},
    }
    members: dict[str, list[nn.Parameter]] = {name: [] for name in groups}
    for key, parameter in trained.items():
        if key in kappas:
            name = "curvatures"
        elif isinstance(parameter, ManifoldParameter):
            name = "points"
        else:
            name = "decayed" if weight_decay and (chosen is None or key in chosen) else "weights"
        members[name].append(parameter)
    return [{"name": name, "params": members[name], **options} for name, options in groups.items() if members[name]]
