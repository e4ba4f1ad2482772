"""Elementary functions in float64 that LLVM can vectorise; without SVML it has no vector logarithm.

Polynomials of arcs were interpolated at Chebyshev nodes with 40 digits, those of exponential, sine and cosine are
Taylor polynomials; all errors are below 4e-18.
"""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = [
    "LARGEST_TURN",
    "LOG2",
    "TAN_PI_8",
    "artanc_small",
    "atanc_small",
    "compiled",
    "exponent_and_mantissa",
    "exponential",
    "inlined",
    "logarithm",
    "polar_angle",
    "sine_and_cosine",
]

# Sums may be reordered and divisions become products; infinities and NaN are respected.
FAST = {"reassoc", "contract", "nsz", "arcp"}
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
# Inlined into the caller: a call that passes a dozen arrays takes longer than a block of pairs.
inlined = numba.njit(nogil=True, error_model="numpy", fastmath=FAST, forceinline=True)
# Without reordering, which would join a constant that is split into parts.
in_order = numba.njit(nogil=True, error_model="numpy", fastmath={"contract", "nsz"}, forceinline=True)

LOG2 = math.log(2.0)
TAN_PI_8 = math.sqrt(2.0) - 1.0
SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of √½
EXPONENT = -(1 << 52)  # where sign and exponent are
# Sums of numbers of few bits, whose products with integers are exact.
LOG2_PARTS = (float.fromhex("0x1.62e42fefa2p-1"), float.fromhex("0x1.9ef35793c7673p-41"))
QUARTER_PARTS = tuple(map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69")))
LARGEST_TURN = 1e5  # angle up to which multiples of a quarter turn can be subtracted exactly
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13 = (1 / math.factorial(n) for n in range(2, 14))
S3, S5, S7, S9, S11, S13, S15, S17 = ((-1) ** (n // 2) / math.factorial(n) for n in range(3, 18, 2))
C2, C4, C6, C8, C10, C12, C14, C16 = ((-1) ** (n // 2) / math.factorial(n) for n in range(2, 17, 2))


@inlined
def exponent_and_mantissa(x: float) -> tuple[float, float]:
    """e and m with x = m·2^e and √½ ≤ m < √2, for normal x > 0."""
    bits = np.float64(x).view(np.int64)
    above = bits - SQRT_HALF  # its exponent is e
    return float(np.int32(above >> 52)), np.int64(bits - (above & EXPONENT)).view(np.float64)


@inlined
def artanc_small(g: float) -> float:
    """artanh(f)/f of g = f² up to ((√2 − 1)/(√2 + 1))²; log m = 2 artanh((m − 1)/(m + 1))."""
    g2 = g * g
    low = (1 + g * 0.33333333333333826) + g2 * (0.1999999999965117 + g * 0.14285714380320888)
    high = (0.11111098528357863 + g * 0.09091815840395329) + g2 * (0.07656264066665706 + g * 0.07404855258932964)
    return low + (g2 * g2) * high


@inlined
def atanc_small(g: float) -> float:
    """atan(t)/t of g = t² up to tan²(π/8)."""
    g2 = g * g
    g4 = g2 * g2
    low = (1 + g * -0.3333333333333312) + g2 * (0.1999999999994089 + g * -0.1428571427925024)
    middle = (0.11111110744919396 + g * -0.09090896809056438) + g2 * (0.07692045330765912 + g * -0.06662951812061838)
    high = (0.05846878285787001 + g * -0.050351024039430294) + g2 * (0.037965256099576565 + g * -0.017805395704537506)
    return low + g4 * (middle + g4 * high)


@inlined
def logarithm(x: float) -> float:
    """Log x of normal x > 0; what is not a number stays so."""
    power, m = exponent_and_mantissa(x)
    f = (m - 1) / (m + 1)
    return LOG2 * power + 2 * f * artanc_small(f * f) if x == x else x


@in_order
def _less_multiples(x: float, n: float, parts: tuple[float, ...]) -> float:
    """x − n·c for the constant c that is the sum of these parts."""
    rest = x
    for part in parts:
        rest -= n * part
    return rest


@inlined
def exponential(x: float) -> float:
    """exp x for |x| up to 700."""
    n = math.floor(x / LOG2 + 0.5)
    r = _less_multiples(x, n, LOG2_PARTS)
    total = E10 + r * (E11 + r * (E12 + r * E13))
    total = E6 + r * (E7 + r * (E8 + r * (E9 + r * total)))
    total = 1 + r * (1 + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * total)))))
    bits = np.float64(total).view(np.int64) + (np.int64(np.int32(n)) << 52)
    grown: float = np.int64(bits).view(np.float64)
    return grown


@inlined
def sine_and_cosine(x: float) -> tuple[float, float]:
    """Sine and cosine of x from 0 to LARGEST_TURN."""
    n = math.floor(x * (2 / math.pi) + 0.5)
    r = _less_multiples(x, n, QUARTER_PARTS)
    g = r * r
    sine = S9 + g * (S11 + g * (S13 + g * (S15 + g * S17)))
    sine = r + r * (g * (S3 + g * (S5 + g * (S7 + g * sine))))
    cosine = C8 + g * (C10 + g * (C12 + g * (C14 + g * C16)))
    cosine = 1 + g * (C2 + g * (C4 + g * (C6 + g * cosine)))
    quarter = np.int32(n) & 3
    even = quarter & 1 == 0
    one, other = (sine if even else cosine), (cosine if even else -sine)
    return (one if quarter < 2 else -one), (other if quarter < 2 else -other)


@inlined
def polar_angle(y: float, x: float) -> float:
    """The angle of the vector (x, y) ≠ 0 with y ≥ 0, from 0 to π."""
    across = abs(x)
    small, large = (y if y < across else across), (across if y < across else y)
    middle = small > TAN_PI_8 * large
    above, below = (small - large if middle else small), (small + large if middle else large)
    t = above / below
    angle = t * atanc_small(t * t) + (0.25 * math.pi if middle else 0.0)
    angle = angle if y < across else 0.5 * math.pi - angle
    return angle if x >= 0 else math.pi - angle
