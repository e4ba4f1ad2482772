"""Every function of the geometry with arguments to call it on, for tests that hold for all of them."""

from functools import partial

import torch

import kappagcn.geometry as G


def tensors(dtype=torch.float64):
    generator = torch.Generator().manual_seed(11)
    draw = lambda *shape: 0.35 * torch.randn(*shape, dtype=dtype, generator=generator)  # noqa: E731
    return {
        "x": draw(4, 3),
        "y": draw(4, 3),
        "v": draw(4, 3),
        "r": draw(4).abs() + 0.3,
        "w": draw(4).abs() + 0.1,
    }


# Names of arguments, of `tensors` or made from them.
CALLS = {
    "lambda_x": "x", "add": "x y", "neg": "x", "sub": "x y", "scale": "r x", "dist": "x y", "dist0": "x",
    "cdist": "x y", "cdist2": "x y", "tangent_dist": "x y", "geodesic": "r x y", "expmap": "x v", "logmap": "x y",
    "expmap0": "v", "logmap0": "x", "transport": "x y v", "gyration": "x y v", "project": "x", "antipode": "x",
    "inner": "x y v", "norm": "x v", "egrad2rgrad": "x v", "lift": "v", "to_ambient": "x", "midpoint": "x w",
    "tangential_mean": "x w", "frechet_mean": "x w", "matmul_right": "x W", "dist2plane": "x y v", "logits": "x y v",
    "matmul_left": "A x", "lower": "e", "from_ambient": "e", "coadd": "x y", "cosub": "x y", "pointwise_mul": "v x",
    "fn_apply": "x f", "dist2": "x y", "geodesic_unit": "r x v", "retract": "x v", "transport0": "y v",
    "transport0back": "x v",
}  # fmt: skip
MADE = {
    "W": lambda t, k: t["y"][:3],
    "A": lambda t, k: t["w"].unsqueeze(-1) * t["r"],
    "e": lambda t, k: G.lift(t["x"], k=k) * t["r"].unsqueeze(-1),
    "f": lambda t, k: torch.tanh,
}


def arguments(name, t, k):
    """Arguments of a function but for κ."""
    return [MADE[key](t, k) if key in MADE else t[key] for key in CALLS[name].split()]


def call(name, t, k):
    return getattr(G, name)(*arguments(name, t, k), k=k)


# name -> f(tensors, k)
CASES = {name: partial(call, name) for name in CALLS} | {
    "neg": lambda t, k: G.neg(t["x"]) * k,
    "antipode": lambda t, k: G.antipode(t["x"], k=k * k + 0.5),
    "tangential_mean": lambda t, k: G.tangential_mean(t["x"], t["w"], k=k, base=t["y"][0]),
    "frechet_mean": lambda t, k: G.frechet_mean(t["x"], t["w"], k=k, steps=3),
}
# Not differentiable functions of points: sampling, checks and names.
OTHERS = {"random_uniform", "random_wrapped_normal", "parse_signature", "to_geoopt", "from_geoopt"}
OTHERS |= {"origin", "check_point", "check_vector"}
