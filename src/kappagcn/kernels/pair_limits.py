"""Where formulas for pairs of points change, the same for compiled loops and for torch."""

from kappagcn.geometry.numerics import SERIES

__all__ = [
    "CURVED",
    "FARTHEST",
    "LEAST_GAP",
    "LEAST_RATIO",
    "LEAST_ROOT",
    "NEAR",
    "SQUARE_SERIES",
    "TURN",
    "TURN_SERIES",
]

FARTHEST = 340.0  # √−κ·r, beyond which a product of two sines overflows
CURVED = 1.0  # √−κ·r from which exponentials are better than half-angle formulas
TURN = 0.05  # |κ|(Δr/2)² below which the series of ∂sin_κ/∂κ is exact to rounding
NEAR = 0.02  # |κS| below which the series of arsinc² and of its derivative are exact to rounding
LEAST_GAP = 1e-15  # smallest 1 − κS: at antipodes the distance has no derivative
LEAST_RATIO = 1e-24  # smallest d²w: the distance has no derivative where points coincide
LEAST_ROOT = 1e-300  # |x| has no derivative at 0, where this makes it 0

SQUARE_SERIES = tuple(SERIES["arsinc²"])  # series of arsinc²(z)
TURN_SERIES = tuple(n * c for n, c in enumerate(SERIES["sinc"][:6]) if n)  # series of ∂sin_κ(x)/∂κ/x³ in κx²
