"""Provenance of a run: its call in Python or its command, versions of Python and packages, the commit of the code."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import torch

from kappagcn._version import __version__

PACKAGE = Path(__file__).parents[1]


def provenance(estimator: Any) -> dict[str, Any]:
    """The call of an estimator in Python, versions, and its command if there is one, for the summary of its run.

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
    command = {} if estimator.command is None else {"command": estimator.command}
    return {"call": f"{estimator!r}.fit(graph)", "versions": versions, **command}


@cache
def commit(*sources: str | Path) -> str | None:
    """Hash of the commit that this code is of, for records; ends in ``-dirty`` where the code differs from the commit.

    It is read once, so that a commit during a run does not count.

    Args:
        sources: Pathspecs of further code that counts; by default the package alone.

    Returns:
        The hash, or None where the package is not in a repository, as after an installation.
    """
    try:
        _git("ls-files", "--error-unmatch", "__init__.py")  # another project's repository may contain an environment
        changes = _git("status", "--porcelain", "--", str(PACKAGE), *map(str, sources))
        return _git("rev-parse", "HEAD") + ("-dirty" if changes else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(PACKAGE), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
