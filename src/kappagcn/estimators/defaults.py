"""Settings that depend on the features of a graph."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from kappagcn.estimators.settings import ClassificationSettings
from kappagcn.geometry.signature import format_signature, parse_signature

__all__ = ["are_words", "default_normalization", "resolved", "start_space"]

START = 0.1  # |κ|: mild, so that a wrong sign costs little; training moves it
WORDS = {"dropout": 0.5, "l2": 5e-4}
COLUMNS = {"dropout": 0.0, "l2": 0.0}


def are_words(x: Tensor) -> bool:
    """Whether features are counts or marks of which most are zero, as words of documents are.

    >>> are_words(torch.eye(5)), are_words(torch.randn(5, 2))
    (True, False)
    """
    values = x if x.layout == torch.strided else x.values()
    return bool((values >= 0).all()) and 2 * int((values != 0).sum()) < x.shape[0] * x.shape[1]


def default_normalization(x: Tensor) -> str:
    """``"columns"`` for measurements, which are dense; ``"lengths"`` otherwise."""
    return "columns" if x.layout == torch.strided and not are_words(x) else "lengths"


def resolved(settings: ClassificationSettings, x: Tensor) -> ClassificationSettings:
    """Settings with every "auto" replaced by what the features ask for.

    Single words of a document say little each: much dropout and L². Columns of measurements: neither.

    >>> resolved(ClassificationSettings(), torch.eye(5)).dropout
    0.5
    """
    chosen: dict[str, Any] = {**(WORDS if are_words(x) else COLUMNS), "feature_norm": default_normalization(x)}
    plain = ClassificationSettings(**{each.name: getattr(settings, each.name) for each in fields(settings)})
    return replace(plain, **{name: value for name, value in chosen.items() if getattr(plain, name) == "auto"})


def start_space(space: str) -> str:
    """A signature whose factors start at curvatures of ±0.1 where it does not say otherwise.

    >>> start_space("H8xS8")
    'H8(-0.1)xS8(0.1)'
    """
    return format_signature(parse_signature(space, start=START))
