"""Elementary functions in float64 that LLVM can vectorise; without SVML it has no vector logarithm.

Polynomials were interpolated at Chebyshev nodes with 40 digits; their errors are below 4e-18.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from kappagcn.kernels.intrinsics import bits_of, float_of

__all__ = ["LOG2", "TAN_PI_8", "artanc_small", "atanc_small", "compiled", "exponent_and_mantissa", "inlined"]

# Sums may be reordered and divisions become products; infinities and NaN are respected.
FAST = {"reassoc", "contract", "nsz", "arcp"}
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)
# Inlined into the caller: a call that passes a dozen arrays takes longer than a block of pairs.
inlined = numba.njit(nogil=True, error_model="numpy", fastmath=FAST, forceinline=True)

LOG2 = math.log(2.0)
TAN_PI_8 = math.sqrt(2.0) - 1.0
SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of √½
EXPONENT = -(1 << 52)  # where sign and exponent are


@inlined
def exponent_and_mantissa(x: float) -> tuple[float, float]:
    """e and m with x = m·2^e and √½ ≤ m < √2, for normal x > 0."""
    bits = bits_of(x)
    above = bits - SQRT_HALF  # its exponent is e
    return float(np.int32(above >> 52)), float_of(bits - (above & EXPONENT))


@inlined
def artanc_small(g: float) -> float:
    """artanh(f)/f of g = f² up to ((√2 − 1)/(√2 + 1))²; log m = 2 artanh((m − 1)/(m + 1))."""
    total = 0.07656264066665706 + g * 0.07404855258932964
    total = 0.11111098528357863 + g * (0.09091815840395329 + g * total)
    total = 0.1999999999965117 + g * (0.14285714380320888 + g * total)
    return 1 + g * (0.33333333333333826 + g * total)


@inlined
def atanc_small(g: float) -> float:
    """atan(t)/t of g = t² up to tan²(π/8)."""
    total = 0.037965256099576565 - g * 0.017805395704537506
    total = 0.05846878285787001 + g * (-0.050351024039430294 + g * total)
    total = 0.07692045330765912 + g * (-0.06662951812061838 + g * total)
    total = 0.11111110744919396 + g * (-0.09090896809056438 + g * total)
    total = 0.1999999999994089 + g * (-0.1428571427925024 + g * total)
    return 1 + g * (-0.3333333333333312 + g * total)
