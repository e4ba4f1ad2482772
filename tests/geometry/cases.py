"""Every function of the geometry with arguments to call it on, for tests that hold for all of them."""

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


def lifted(t, k):
    return G.lift(t["x"], k=k) * t["r"].unsqueeze(-1)


# name -> f(tensors, k)
CASES = {
    "lambda_x": lambda t, k: G.lambda_x(t["x"], k=k),
    "add": lambda t, k: G.add(t["x"], t["y"], k=k),
    "neg": lambda t, k: G.neg(t["x"]) * k,
    "sub": lambda t, k: G.sub(t["x"], t["y"], k=k),
    "coadd": lambda t, k: G.coadd(t["x"], t["y"], k=k),
    "cosub": lambda t, k: G.cosub(t["x"], t["y"], k=k),
    "pointwise_mul": lambda t, k: G.pointwise_mul(t["v"], t["x"], k=k),
    "fn_apply": lambda t, k: G.fn_apply(t["x"], torch.tanh, k=k),
    "scale": lambda t, k: G.scale(t["r"], t["x"], k=k),
    "dist": lambda t, k: G.dist(t["x"], t["y"], k=k),
    "dist2": lambda t, k: G.dist2(t["x"], t["y"], k=k),
    "dist0": lambda t, k: G.dist0(t["x"], k=k),
    "cdist": lambda t, k: G.cdist(t["x"], t["y"], k=k),
    "cdist2": lambda t, k: G.cdist2(t["x"], t["y"], k=k),
    "tangent_dist": lambda t, k: G.tangent_dist(t["x"], t["y"], k=k),
    "geodesic": lambda t, k: G.geodesic(t["r"], t["x"], t["y"], k=k),
    "geodesic_unit": lambda t, k: G.geodesic_unit(t["r"], t["x"], t["v"], k=k),
    "retract": lambda t, k: G.retract(t["x"], t["v"], k=k),
    "expmap": lambda t, k: G.expmap(t["x"], t["v"], k=k),
    "logmap": lambda t, k: G.logmap(t["x"], t["y"], k=k),
    "expmap0": lambda t, k: G.expmap0(t["v"], k=k),
    "logmap0": lambda t, k: G.logmap0(t["x"], k=k),
    "transport": lambda t, k: G.transport(t["x"], t["y"], t["v"], k=k),
    "transport0": lambda t, k: G.transport0(t["y"], t["v"], k=k),
    "transport0back": lambda t, k: G.transport0back(t["x"], t["v"], k=k),
    "gyration": lambda t, k: G.gyration(t["x"], t["y"], t["v"], k=k),
    "project": lambda t, k: G.project(t["x"], k=k),
    "antipode": lambda t, k: G.antipode(t["x"], k=k * k + 0.5),
    "inner": lambda t, k: G.inner(t["x"], t["y"], t["v"], k=k),
    "norm": lambda t, k: G.norm(t["x"], t["v"], k=k),
    "egrad2rgrad": lambda t, k: G.egrad2rgrad(t["x"], t["v"], k=k),
    "lift": lambda t, k: G.lift(t["v"], k=k),
    "lower": lambda t, k: G.lower(lifted(t, k), k=k),
    "to_ambient": lambda t, k: G.to_ambient(t["x"], k=k),
    "from_ambient": lambda t, k: G.from_ambient(lifted(t, k), k=k),
    "midpoint": lambda t, k: G.midpoint(t["x"], t["w"], k=k),
    "tangential_mean": lambda t, k: G.tangential_mean(t["x"], t["w"], k=k, base=t["y"][0]),
    "frechet_mean": lambda t, k: G.frechet_mean(t["x"], t["w"], k=k, steps=3),
    "matmul_left": lambda t, k: G.matmul_left(t["w"].unsqueeze(-1) * t["r"], t["x"], k=k),
    "matmul_right": lambda t, k: G.matmul_right(t["x"], t["y"][:3], k=k),
    "dist2plane": lambda t, k: G.dist2plane(t["x"], t["y"], t["v"], k=k),
    "logits": lambda t, k: G.logits(t["x"], t["y"], t["v"], k=k),
}
# Not differentiable functions of points: sampling, checks and names.
OTHERS = {"random_uniform", "random_wrapped_normal", "parse_signature", "to_geoopt", "from_geoopt"}
OTHERS |= {"origin", "check_point", "check_vector"}
