"""Errors and warnings of kappagcn: every message says what was expected, what was found and what to do."""

from pathlib import Path
from typing import Any


class KappaGCNError(Exception):
    """Base of all errors that kappagcn raises itself."""


class GeometryError(KappaGCNError, ValueError):
    """Wrong arguments of a κ-stereographic operation, points outside its space, or a signature that cannot be read."""


class GraphError(KappaGCNError, ValueError):
    """A graph, its data or a split of it that cannot be used; test nodes outside the final evaluation."""


class GraphFileError(GraphError):
    """A file that cannot be read in its format; the message names the file, and the line if there is one."""


class ConfigError(KappaGCNError, ValueError):
    """Settings or arguments that are wrong or contradict each other; raised before training starts."""


class DownloadError(KappaGCNError):
    """A dataset that is neither on this machine nor could be fetched; the message says where to put it."""


class IntegrityError(KappaGCNError):
    """A file whose hash differs from that of the catalogue."""


class CheckpointError(KappaGCNError):
    """A run folder or a file of records that cannot be written, read or resumed."""


class DivergedError(KappaGCNError):
    """A value that became NaN or infinite in training."""

    def __init__(self, quantity: str, value: float, epoch: int) -> None:
        self.quantity, self.value, self.epoch = quantity, value, epoch
        super().__init__(
            f"epoch {epoch}: expected a finite {quantity}, found {value}. The network holds the state of epoch "
            f"{epoch - 1}. A new run with a lower lr or curvature_lr, or smaller features, usually helps."
        )

    def saved_at(self, path: Path) -> None:
        """Add the path of the last good state to the message."""
        self.args = (f"{self.args[0]} It is saved in {path}.",)


class EmbeddingFailedError(KappaGCNError):
    """An embedding that is no better than all points at one place."""

    def __init__(self, quantity: str, value: float, trivial: float, space: str) -> None:
        self.quantity, self.value, self.trivial = quantity, value, trivial
        super().__init__(
            f"expected an embedding in {space} that is better than all points at one place ({quantity} {trivial:.3g}), "
            f"found {value:.3g}: this is a failure, not a result. More epochs, another space or the objective relative "
            "may help."
        )


class WorkerLostError(KappaGCNError):
    """A worker of a distributed run that died, or did not answer in time.

    Args:
        message: Names of the lost processes.
        report_here: Whether this process prints the message.
    """

    def __init__(self, message: str, report_here: bool = True) -> None:
        self.report_here = report_here
        super().__init__(message)


class ConvergenceWarning(UserWarning):
    """An iteration ended before it reached its tolerance."""


class NonUniqueMeanWarning(UserWarning):
    """The points do not lie in a ball of radius π/(2√κ): their Fréchet mean need not be unique."""


class PrecisionWarning(UserWarning):
    """Rows that lie farther out than the precision in use resolves."""


def described(value: Any) -> str:
    """The type of a value, and of an array or tensor its dtype and shape, for messages.

    >>> import numpy as np
    >>> described(np.zeros((2, 3))), described([1, 2])
    ('float64 of shape (2, 3)', 'list')
    """
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"
    return type(value).__name__
