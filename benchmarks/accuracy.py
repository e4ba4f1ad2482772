"""Errors of every operation against 50-digit mpmath, beside geoopt's: values and derivatives by κ.

    python benchmarks/accuracy.py             measures, keeps records/accuracy.json
    python benchmarks/accuracy.py --count 50  a short version, not kept

A value's error is relative to its length. A derivative's is relative to its length too, or to
0.05·|value|·max|x|² where it nearly cancels. Inputs are drawn with a fixed seed, exactly representable in the dtype
under test, and well-conditioned: for κ < 0 within 3/4 of the ball's radius; for κ > 0 points that result within two
radii of the sphere's origin, and logarithms of points not nearer than a fifth of the way to the antipode; no sums,
differences, midpoints or distances to planes that nearly vanish.

A second table is by distance from the origin, κ = −1, where stereographic points crowd against the boundary of the
ball, and a third by distance from the antipode, κ = 1. There an error of a vector is relative to its length, one of a
point or of a distance is a length.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import geoopt
import torch
from mpmath import mp, mpf
from torch import Tensor

import kappagcn.geometry as G
import record

sys.path.insert(1, str(Path(__file__).parents[1] / "tests" / "geometry"))
import reference as R

SIZES = [1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 0.5, 1.0, 5.0]
KAPPAS = [-s for s in reversed(SIZES)] + [0.0] + SIZES
TARGETS = {torch.float32: (2e-6, 2e-5), torch.float64: (1e-13, 1e-10)}
MAPS = {"geodesic": 3}  # a composition of maps: targets are this many times as large
POINTS = 4  # in a midpoint
RADII = [2.0, 4.0, 6.0, 8.0, 10.0]
FROM_ANTIPODE = [1.0, 0.1, 0.01, 0.001]
APART = 0.3  # distance between points that are called close


class Case(NamedTuple):
    """One operation: what it takes, ours, the reference, and geoopt's where it has one."""

    inputs: str  # a letter each: x point, v tangent vector, r number, w weights, X set of points, a normal
    ours: Callable[..., Tensor]
    exact: Callable[..., Any]
    geoopt: Callable[..., Tensor] | None = None


g = geoopt.manifolds.stereographic.math
CASES = {
    "dist": Case("xx", G.dist, R.dist, lambda x, y, k: g.dist(x, y, k=k, keepdim=True)),
    "dist0": Case("x", G.dist0, R.dist0, lambda x, k: g.dist0(x, k=k, keepdim=True)),
    "add": Case("xx", G.add, R.add, lambda x, y, k: g.mobius_add(x, y, k=k)),
    "scale": Case("rx", G.scale, R.scale, lambda r, x, k: g.mobius_scalar_mul(r.unsqueeze(-1), x, k=k)),
    "expmap": Case("xv", G.expmap, R.expmap, lambda x, v, k: g.expmap(x, v, k=k)),
    "expmap0": Case("v", G.expmap0, R.expmap0, lambda v, k: g.expmap0(v, k=k)),
    "logmap": Case("xx", G.logmap, R.logmap, lambda x, y, k: g.logmap(x, y, k=k)),
    "logmap0": Case("x", G.logmap0, R.logmap0, lambda x, k: g.logmap0(x, k=k)),
    "midpoint": Case(
        "Xw",
        G.midpoint,
        R.midpoint,
        lambda x, w, k: g.weighted_midpoint(x, w, k=k.unsqueeze(-1), reducedim=[1], keepdim=True).squeeze(1),
    ),
    "dist2plane": Case(
        "xxa",
        G.dist2plane,
        R.dist2plane,
        lambda x, p, a, k: g.dist2plane(x, p, a, k=k, signed=True, keepdim=True),
    ),
    "geodesic": Case("rxx", G.geodesic, R.geodesic, lambda r, x, y, k: g.geodesic(r.unsqueeze(-1), x, y, k=k)),
    "gyration": Case("xxv", G.gyration, R.gyration, lambda x, y, v, k: g.gyration(x, y, v, k=k)),
    "transport": Case("xxv", G.transport, R.transport, lambda x, y, v, k: g.parallel_transport(x, y, v, k=k)),
    "lift": Case("v", G.lift, R.lift),
    "lower": Case("e", G.lower, R.lower),
    "tangent_dist": Case("vv", G.tangent_dist, R.tangent_dist),
}


def draw(kind: str, count: int, dim: int, kappa: float, generator: torch.Generator) -> Tensor:
    """Float64 inputs of one kind, before rounding to the dtype under test."""
    s = abs(kappa) ** 0.5

    def inside(*shape: int, low: float, high: float) -> Tensor:
        direction = torch.randn(*shape, dim, dtype=torch.float64, generator=generator)
        radius = low + (high - low) * torch.rand(*shape, 1, dtype=torch.float64, generator=generator)
        return radius * direction / direction.norm(dim=-1, keepdim=True)

    ball = min(1.0, 0.75 / s) if kappa < 0 else 1.0
    if kind == "X":
        return inside(count, POINTS, low=0.1 * ball, high=ball)
    if kind == "w":
        return 0.1 + torch.rand(count, POINTS, dtype=torch.float64, generator=generator)
    if kind == "r":
        return 0.2 + torch.rand(count, dtype=torch.float64, generator=generator)
    if kind == "v":
        reach = min(1.0, 1.1 / s) if s > 0 else 1.0
        return inside(count, low=0.1 * reach, high=reach)
    if kind == "e":
        v = draw("v", count, dim, kappa, generator)
        return (0.5 + torch.rand(count, 1, dtype=torch.float64, generator=generator)) * G.lift(v, k=kappa)
    return inside(count, low=0.1 * ball, high=ball)


def well_conditioned(name: str, args: list[Tensor], kappa: float) -> Tensor:
    """Rows whose result does not itself magnify a rounding of the inputs."""
    value = rows(CASES[name].ours(*args, k=kappa))
    length = value.norm(dim=-1)
    fine = torch.ones_like(length, dtype=torch.bool)
    if name == "dist2plane":
        x, p, _ = args
        fine &= length > 0.2 * G.dist(x, p, k=kappa)
    if name in ("add", "expmap", "logmap", "midpoint"):
        fine &= length > 0.1 * args[0].flatten(1).norm(dim=-1)
    if name == "geodesic":
        fine &= length > 0.5 * args[1].norm(dim=-1)
    if kappa > 0 and name in ("add", "scale", "expmap", "geodesic", "midpoint"):
        fine &= length < 2 / kappa**0.5
    if kappa > 0 and name in ("geodesic", "gyration", "logmap", "transport"):
        x, y = {"geodesic": args[1:], "gyration": (args[0], -args[1])}.get(name, args)[:2]
        fine &= G.dist(x, y, k=kappa) < 0.8 * torch.pi / kappa**0.5
    return fine


def sample(name: str, kappa: float, dtype: torch.dtype, count: int, dim: int, seed: int) -> tuple[list[Tensor], Tensor]:
    """Inputs of the dtype under test and κ, one per row."""
    generator = torch.Generator().manual_seed(seed)
    k = torch.full((count,), kappa, dtype=dtype)
    exact_kappa = float(k[0])
    kept: list[Tensor] = []
    while not kept or kept[0].shape[0] < count:
        drawn = [draw(kind, 2 * count, dim, exact_kappa, generator).to(dtype) for kind in CASES[name].inputs]
        fine = well_conditioned(name, [t.double() for t in drawn], exact_kappa)
        drawn = [t[fine] for t in drawn]
        kept = drawn if not kept else [torch.cat(pair) for pair in zip(kept, drawn, strict=True)]
    return [t[:count] for t in kept], k


def targets(name: str, dtype: torch.dtype) -> tuple[float, float]:
    """Largest errors allowed of an operation's value and of its derivative by κ."""
    value, slope = TARGETS[dtype]
    return MAPS.get(name, 1) * value, MAPS.get(name, 1) * slope


def rows(value: Tensor) -> Tensor:
    return value.unsqueeze(-1) if value.dim() == 1 else value


def with_slope(f: Callable[..., Tensor], args: list[Tensor], k: Tensor) -> tuple[Tensor, Tensor]:
    """F and its derivative by κ, each (count, outputs)."""
    k = k.clone().requires_grad_()
    value = rows(f(*args, k))
    slopes = [torch.autograd.grad(value[:, i].sum(), k, retain_graph=True)[0] for i in range(value.shape[1])]
    return value.detach(), torch.stack(slopes, -1)


def exactly(t: Any) -> Any:
    return mpf(t) if isinstance(t, float) else [exactly(s) for s in t]


def exact(name: str, args: list[Tensor], k: Tensor) -> tuple[list[Any], list[Any]]:
    """The reference's values and derivatives, a list of mpf per row."""
    values, slopes = [], []
    f = CASES[name].exact
    for row in zip(*(t.tolist() for t in args), strict=True):
        inputs, kappa = [exactly(t) for t in row], mpf(float(k[0]))
        value, slope = f(*inputs, kappa), R.slope(lambda s, inputs=inputs: f(*inputs, s), kappa)
        values.append(value if isinstance(value, list) else [value])
        slopes.append(slope if isinstance(slope, list) else [slope])
    return values, slopes


def relative_errors(actual: Tensor, expected: list[Any], floor: list[float]) -> Tensor:
    """|found − expected| / max(|expected|, floor), row by row."""
    errors = []
    for f, e, least in zip(actual.tolist(), expected, floor, strict=True):
        if not all(abs(a) < float("inf") for a in f):
            errors.append(float("nan"))
            continue
        gap = R.length([mpf(a) - b for a, b in zip(f, e, strict=True)])
        errors.append(float(gap / max(R.length(e), mpf(least), mpf(10) ** -40)))
    return torch.tensor(errors)


def measure(name: str, kappa: float, dtype: torch.dtype, count: int, dim: int = 3, seed: int = 0) -> dict[str, Any]:
    """Largest relative errors of ours and of geoopt's for one operation at one curvature."""
    torch.set_num_threads(1)
    args, k = sample(name, kappa, dtype, count, dim, seed)
    values, slopes = exact(name, args, k)
    lengths = [t.reshape(count, -1, t.shape[-1]).norm(dim=-1).amax(-1) for t in args if t.dim() > 1]
    square = torch.stack(lengths).amax(0).square().tolist()
    floor = [0.05 * float(R.length(v)) * s for v, s in zip(values, square, strict=True)]
    case = CASES[name]
    systems = {"kappagcn": lambda *a: case.ours(*a[:-1], k=a[-1])}
    if case.geoopt is not None:
        systems["geoopt"] = lambda *a: case.geoopt(*a[:-1], a[-1].unsqueeze(-1))
    result: dict[str, Any] = {
        "case": name,
        "kappa": kappa,
        "dtype": str(dtype).removeprefix("torch."),
        "count": count,
    }
    for system, f in systems.items():
        value, slope = with_slope(f, args, k)
        result[system] = {
            "value": float(relative_errors(value, values, [0.0] * count).max()),
            "slope": float(relative_errors(slope, slopes, floor).max()),
        }
    return result


def at_distance(x: Tensor, kappa: float, length: float, generator: torch.Generator) -> Tensor:
    """A point at a given distance from each point of x, in a random direction, in float64."""
    v = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    return G.geodesic_unit(length, x, v, k=kappa)


def far_inputs(kappa: float, size: float, close: bool, dtype: torch.dtype, count: int) -> dict[str, Tensor]:
    """Points at distance ``size`` from the origin (κ < 0), close together or not; or as far from antipodes (κ > 0)."""
    generator = torch.Generator().manual_seed(0)
    origin = torch.zeros(count, 3, dtype=torch.float64)
    x = at_distance(origin, kappa, size if kappa < 0 else 1.0, generator).to(dtype).double()
    if kappa > 0:
        y = at_distance(G.antipode(x, k=kappa), kappa, size, generator)
    else:
        y = at_distance(x, kappa, APART, generator) if close else at_distance(origin, kappa, size, generator)
    z = at_distance(x, kappa, APART, generator) if close else at_distance(origin, kappa, size, generator)
    v = torch.randn(count, 3, dtype=torch.float64, generator=generator)
    step = APART * v / v.norm(dim=-1, keepdim=True) / G.lambda_x(x, k=kappa, keepdim=True)
    return {name: t.to(dtype) for name, t in {"x": x, "y": y, "z": z, "v": step}.items()}


# name -> what it is called with, and what its error is: of a "vector", a "point" or a "length"
FAR_CASES = {
    "dist": ("xy", "length"),
    "logmap": ("xy", "vector"),
    "expmap": ("xv", "point"),
    "geodesic": ("txy", "point"),
    "gyration": ("xyv", "vector"),
    "transport": ("xyv", "vector"),
    "midpoint": ("X", "point"),
    "dist2plane": ("xyv", "length"),
}


def far_error(name: str, t: dict[str, Tensor], kappa: float) -> float:
    """Largest error of an operation on points far from the origin, or near antipodes."""
    letters, kind = FAR_CASES[name]
    count, dtype, k = len(t["x"]), t["x"].dtype, mpf(kappa)
    sets = torch.stack([t["x"], t["y"], t["z"]], 1)
    inputs = {**t, "t": torch.full((count,), 0.25, dtype=dtype), "X": sets}
    if name == "gyration":
        inputs["y"] = -t["y"]  # gyr[x, −y], the rotation in the transport from y to x
    args = [inputs[letter] for letter in letters]
    if name == "midpoint":
        args.append(torch.full((count, 3), 0.25, dtype=dtype))
    results = rows(CASES[name].ours(*args, k=kappa)).tolist()
    errors = []
    for result, *row in zip(results, *(a.tolist() for a in args), strict=True):
        value = CASES[name].exact(*(exactly(r) for r in row), k)
        expected = value if isinstance(value, list) else [value]
        gap = R.length([mpf(a) - b for a, b in zip(result, expected, strict=True)])
        unit = {"vector": 1 / R.length(expected), "point": R.lambda_x(expected, k), "length": 1}[kind]
        errors.append(float(gap * unit))
    return float(torch.tensor(errors).max())


def measure_far(name: str, kappa: float, size: float, dtype: torch.dtype, count: int) -> dict[str, Any]:
    """Largest error at one distance from the origin (κ < 0, close points and others) or from the antipode (κ > 0)."""
    torch.set_num_threads(1)
    kinds = (True, False) if kappa < 0 else (False,)
    error = max(far_error(name, far_inputs(kappa, size, close, dtype, count), kappa) for close in kinds)
    return {"case": name, "kappa": kappa, "size": size, "dtype": str(dtype).removeprefix("torch."), "error": error}


def worst(results: list[dict[str, Any]], system: str, what: str) -> float:
    actual = [r[system][what] for r in results if system in r]
    return float(torch.tensor(actual).max()) if actual else float("nan")


def _run(job: tuple[Any, ...]) -> dict[str, Any]:
    return measure(*job)


def _run_far(job: tuple[Any, ...]) -> dict[str, Any]:
    return measure_far(*job)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="inputs per operation, κ and dtype")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    jobs = [(name, kappa, dtype, options.count) for dtype in TARGETS for name in CASES for kappa in KAPPAS]
    results = []
    with ProcessPoolExecutor(options.workers) as pool:
        for done, result in enumerate(pool.map(_run, jobs), 1):
            results.append(result)
            if done % len(KAPPAS) == 0:
                print(f"{done}/{len(jobs)} {result['dtype']} {result['case']}", file=sys.stderr, flush=True)
        far_jobs = [
            (name, kappa, size, dtype, options.count)
            for dtype in TARGETS
            for kappa, sizes in ((-1.0, RADII), (1.0, FROM_ANTIPODE))
            for name in FAR_CASES
            for size in sizes
        ]
        far = list(pool.map(_run_far, far_jobs))
    failures = [
        (r["case"], r["kappa"], r["dtype"], r["kappagcn"])
        for r in results
        for target in [targets(r["case"], getattr(torch, r["dtype"]))]
        if not (r["kappagcn"]["value"] <= target[0] and r["kappagcn"]["slope"] <= target[1])
    ]
    print(f"\n{len(failures)} of {len(results)} above the targets", *failures, sep="\n")
    if options.count >= 1000:
        record.save(
            "accuracy", {"digits": mp.dps, "dim": 3, "seed": 0, "count": options.count, "results": results, "far": far}
        )
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
