"""Training states in one file that appears whole or not at all: tensors, and all else as JSON in the same header."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from kappagcn.errors import CheckpointError
from kappagcn.io_atomic import atomic_write

__all__ = ["load_tensors", "plain_json", "save_tensors"]

Tensors = dict[str, Tensor]


def plain_json(value: Any, indent: int | None = None) -> str:
    """As JSON, with NumPy's and torch's numbers as numbers."""
    try:
        return json.dumps(value, indent=indent, default=lambda number: number.item())
    except (AttributeError, TypeError, ValueError) as problem:
        raise CheckpointError(f"expected settings of plain numbers and words to write down, found {problem}.") from None


def save_tensors(path: Path, tensors: Tensors, about: dict[str, Any]) -> None:
    """Write tensors and what is to be known about them; numbers come back to the last digit."""
    # One copy per name: tensors that share memory cannot be stored.
    whole = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
    content = save(whole, {"kappagcn": plain_json(about)})
    try:
        with atomic_write(path) as file:
            file.write(content)
    except OSError as problem:
        raise CheckpointError(
            f"{path}: cannot be written ({problem.strerror}); nothing that was there is lost."
        ) from None


def load_tensors(path: Path) -> tuple[Tensors, dict[str, Any]]:
    """The tensors and what was written about them."""
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["kappagcn"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except FileNotFoundError:
        raise CheckpointError(f"{path}: expected a saved training state, found no such file.") from None
    except (SafetensorError, KeyError, ValueError, OSError) as problem:
        raise CheckpointError(f"{path}: expected a training state saved by kappagcn, found {problem}.") from None
