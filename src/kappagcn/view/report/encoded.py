"""Arrays as base64 text, so that a page of 20 000 nodes is small and opens fast."""

import base64

import numpy as np

from kappagcn.run_folder import Array

TYPES = {"f8": "<f8", "f4": "<f4", "u2": "<u2", "i4": "<i4", "i2": "<i2"}


def encoded(values: Array, kind: str) -> dict[str, str]:
    """An array in base64, by its type: f8, f4, u2, i4 or i2.

    >>> encoded(np.array([1, 2]), "u2")
    {'u2': 'AQACAA=='}
    """
    content = np.ascontiguousarray(values, dtype=TYPES[kind]).tobytes()
    return {kind: base64.b64encode(content).decode()}


def quantised(frames: Array) -> dict[str, object]:
    """Frames of numbers, (T, N), in two bytes each: integers, and the unit of each frame that they are multiples of.

    >>> quantised(np.array([[0.0, 32767.0], [0.5, -1.0]]))["unit"]
    [1.0, 3.05185e-05]
    """
    unit = np.abs(frames).max(1) / (2**15 - 1)
    values = np.rint(frames / np.where(unit == 0, 1, unit)[:, None])
    return {"unit": [float(f"{each:.6g}") for each in unit.tolist()], "values": encoded(values, "i2")}


def whole(values: Array) -> dict[str, str]:
    """Integers from 0 in two bytes each if they fit, otherwise in four."""
    return encoded(values, "u2" if values.size == 0 or int(values.max()) < 2**16 else "i4")
