"""What kappagcn raises and warns with: every message names the expected, the found and the remedy."""

__all__ = [
    "ConvergenceWarning",
    "GeometryError",
    "KappaGCNError",
    "NonUniqueMeanWarning",
    "OutsideBallError",
    "SignatureError",
    "UndefinedMidpointError",
]


class KappaGCNError(Exception):
    """Base of every error kappagcn raises on purpose."""


class GeometryError(KappaGCNError, ValueError):
    """Arguments that no κ-stereographic operation can take: shapes, dtypes, NaN."""


class OutsideBallError(GeometryError):
    """Points with 1 + κ|x|² ≤ 0: outside the ball of radius 1/√(−κ)."""


class UndefinedMidpointError(GeometryError):
    """Weights for which the weighted sum of lifted points has no direction in the space."""


class SignatureError(KappaGCNError, ValueError):
    """A signature such as ``"H8xS8"`` that cannot be read."""


class ConvergenceWarning(UserWarning):
    """An iteration ended before it reached its tolerance."""


class NonUniqueMeanWarning(UserWarning):
    """The points do not lie in a ball of radius π/(2√κ): their Fréchet mean need not be unique."""
