"""Signatures of product spaces: "H8xS8", "H2^4", "E16", "U8", "H8(-0.5)"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from kappagcn.errors import GeometryError

STARTS = {"H": -1.0, "S": 1.0, "E": 0.0, "U": 0.0}
MEANING = "H (hyperbolic), S (spherical), E (Euclidean) or U (free sign, starts flat)"
PART = re.compile(r"(?P<letter>[A-Za-z])(?P<dim>\d+)(\((?P<kappa>[^()]*)\))?(\^(?P<power>\d+))?")


class Factor(NamedTuple):
    """One space of a product."""

    letter: str  # H, S, E or U
    dim: int
    kappa: float  # initial curvature


def parse_signature(signature: str, *, start: float = 1.0) -> list[Factor]:
    """The factors of a signature.

    Factors are joined by ``x`` (or ``×`` or ``*``). A factor is a letter and a dimension, then optionally the
    starting curvature in parentheses and a power. H starts at −1, S at 1, U at 0; E stays flat.

    Args:
        signature: Signature such as ``"H8xS8"``.
        start: Initial |κ| of H and S factors that do not state one.

    >>> parse_signature("H2^2xE3")
    [Factor(letter='H', dim=2, kappa=-1.0), Factor(letter='H', dim=2, kappa=-1.0), Factor(letter='E', dim=3, kappa=0.0)]
    """
    if not isinstance(signature, str) or not signature.strip():
        raise GeometryError(f'signature: expected factors such as "H8xS8", found {signature!r}.')
    parts = re.split(r"\s*[x×*]\s*(?![^(]*\))", signature.strip())
    if not 0 < start < float("inf"):
        raise GeometryError(f"start: expected a size of curvature above 0, found {start}.")
    return [factor for part in parts for factor in _parse_part(part, signature, start)]


def _parse_part(part: str, signature: str, start: float) -> list[Factor]:
    where = f"in {signature!r}" if part != signature else "as a signature"
    match = PART.fullmatch(part)
    if match is None:
        raise GeometryError(
            f'expected a letter and a dimension such as "H8", "H8(-0.5)" or "H2^4", found {part!r} {where}.'
        )
    letter = match["letter"].upper()
    if letter not in STARTS:
        raise GeometryError(f"expected {MEANING}, found {match['letter']!r} in {part!r} {where}.")
    dim, power = int(match["dim"]), int(match["power"] or 1)
    if dim < 1 or power < 1:
        raise GeometryError(f"expected dimension and power of at least 1, found {part!r} {where}.")
    return [Factor(letter, dim, _start(letter, match["kappa"], start, part, where))] * power


def _start(letter: str, kappa: str | None, start: float, part: str, where: str) -> float:
    if kappa is None:
        return start * STARTS[letter]
    try:
        value = float(kappa.replace("−", "-"))
    except ValueError:
        raise GeometryError(f"expected a number in the parentheses of {part!r} {where}, found {kappa!r}.") from None
    fits = {"H": value < 0, "S": value > 0, "E": value == 0, "U": abs(value) < float("inf")}[letter]
    if not fits or abs(value) == float("inf"):
        wanted = {"H": "below 0", "S": "above 0", "E": "of 0", "U": "that is finite"}[letter]
        raise GeometryError(f"expected a curvature {wanted} for {letter}, found {kappa} in {part!r} {where}.")
    return value


def format_signature(factors: list[Factor]) -> str:
    """The shortest signature with these factors.

    >>> format_signature(parse_signature("H2xH2 x S3(0.5)"))
    'H2^2xS3(0.5)'
    """
    runs = [(factor, len(list(run))) for factor, run in groupby(factors)]
    return "x".join(
        f"{f.letter}{f.dim}"
        + (f"({f.kappa:g})" if f.kappa != STARTS[f.letter] else "")
        + (f"^{count}" if count > 1 else "")
        for f, count in runs
    )


def learned_signature(factors: Sequence[Factor], curvatures: Sequence[float]) -> str:
    """The factors with their learned curvatures, each with the letter of its sign; E stays E.

    >>> learned_signature(parse_signature("H2xS3xE1"), [-0.5, -0.1, 0.0])
    'H2(-0.5)xH3(-0.1)xE1'
    """
    ended = zip(factors, curvatures, strict=True)
    return format_signature([Factor(_letter(f.letter, kappa), f.dim, kappa) for f, kappa in ended])


def _letter(letter: str, kappa: float) -> str:
    return letter if letter == "E" else "H" if kappa < 0 else "S" if kappa > 0 else "U"
