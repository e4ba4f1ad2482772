"""geoopt's calls and ours: the table that the tests evaluate and docs/how-to/geometry.md shows.

python tests/geometry/geoopt_calls.py     prints the table for the page
"""

from __future__ import annotations

from typing import NamedTuple


class Call(NamedTuple):
    """One thing under three names; ``kappagcn.geometry`` has it as a function with ``k=k`` too."""

    function: str | None  # of geoopt.manifolds.stereographic.math, which takes k=k besides
    method: str  # of geoopt.Stereographic
    ours: str  # of kappagcn.geometry.Stereographic
    in_products: bool = True  # whether geoopt's StereographicProductManifold means the same
    sign: int = 0  # of the curvatures for which both are defined; 0 for all


def same(call: str, ours: str | None = None, **settings: object) -> Call:
    return Call(call, call, call if ours is None else ours, **settings)


CALLS = [
    same("mobius_add(x, y)", "add(x, y)"),
    same("mobius_sub(x, y)", "sub(x, y)"),
    same("mobius_coadd(x, y)", "coadd(x, y)"),
    same("mobius_cosub(x, y)", "cosub(x, y)"),
    same("mobius_scalar_mul(r, x)", "scale(r, x)"),
    same("mobius_pointwise_mul(w, x)", "pointwise_mul(w, x)"),
    same("mobius_matvec(m, x)", "matmul_right(x, m.mT)", in_products=False),
    same("mobius_fn_apply(f, x)", "fn_apply(x, f)"),
    same("mobius_fn_apply_chain(x, f, g)", "fn_apply(x, f, g)"),
    same("gyration(x, y, v)"),
    same("dist(x, y)"),
    Call(None, "dist2(x, y)", "dist2(x, y)"),
    same("dist0(x)"),
    same("lambda_x(x)", in_products=False),
    same("inner(x, u, v, keepdim=True)[..., 0]", "inner(x, u, v)"),
    Call(None, "component_inner(x, u, v)", "component_inner(x, u, v)"),
    same("norm(x, v)"),
    same("egrad2rgrad(x, v)"),
    same("expmap(x, v)"),
    same("expmap0(v)"),
    same("logmap(x, y)"),
    same("logmap0(x)"),
    same("geodesic(t, x, y)"),
    same("geodesic_unit(t, x, v)", in_products=False),
    Call("project(x)", "projx(x)", "project(x)"),
    Call(None, "retr(x, v)", "retract(x, v)"),
    Call("parallel_transport(x, y, v)", "transp(x, y, v)", "transport(x, y, v)"),
    Call("parallel_transport0(y, v)", "transp0(y, v)", "transport0(y, v)"),
    Call("parallel_transport0back(x, v)", "transp0back(x, v)", "transport0back(x, v)"),
    same("dist2plane(x, p, a, signed=True)", "dist2plane(x, p, a)"),
    same("dist2plane(x, p, a, signed=True, scaled=True)", "dist2plane(x, p, a) * a.norm(dim=-1)", in_products=False),
    same("antipode(x)", sign=1, in_products=False),
    same("inv_sproj(x)", "to_ambient(x)", in_products=False),
    same("sproj(e)", "from_ambient(e)", in_products=False),
    same("weighted_midpoint(x, n)", "midpoint(x, n)", in_products=False),
    same("weighted_midpoint(x, n, lincomb=True)", "matmul_left(n[None], x)[0]", in_products=False),
    Call(None, "check_point_on_manifold(x)", "check_point(x)"),
    Call(None, "check_vector_on_tangent(x, v)", "check_vector(x, v)"),
    Call(None, "origin(6, 3)", "origin(6)", in_products=False),
]


def table() -> str:
    """The page's table."""
    head = "| `geoopt…stereographic.math` | `geoopt.Stereographic` | `kappagcn.geometry` |\n|---|---|---|\n"
    rows = (f"| {f'`{c.function}`' if c.function else ''} | `{c.method}` | `{c.ours}` |\n" for c in CALLS)
    return head + "".join(rows)


if __name__ == "__main__":
    print(table())
