"""Provenance of a run: the call of the estimator, and versions of Python and packages."""

from __future__ import annotations

import platform
from typing import Any

import numpy
import torch

from kappagcn._version import __version__

__all__ = ["provenance"]


def provenance(estimator: Any) -> dict[str, Any]:
    """The call of an estimator in Python, and versions, for the summary of its run.

    >>> from kappagcn import GraphEmbedder
    >>> provenance(GraphEmbedder("H2", epochs=30))["call"]
    "GraphEmbedder(space='H2', epochs=30).fit(graph)"
    """
    versions = {
        "kappagcn": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
    }
    return {"call": f"{estimator!r}.fit(graph)", "versions": versions}
