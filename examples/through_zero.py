"""Learn a curvature through zero: a tree that starts on a sphere ends in hyperbolic space.

    python examples/through_zero.py

Points are tangent vectors at the origin, so they stay points of the space while κ moves. Values and ∂/∂κ hold near
κ = 0, so plain gradient descent walks through it; nobody tells it which sign to take.
"""

import torch

from kappagcn import Curvature, ProductManifold, Stereographic
from kappagcn.embedding.graph_distances import GraphDistances
from kappagcn.embedding.pair_objectives import distortion
from kappagcn.graphs import balanced_tree


def main(start: float = 0.2, epochs: int = 300, dim: int = 2) -> list[float]:
    torch.manual_seed(0)
    tree = balanced_tree(4, 2)
    distances = GraphDistances.of(tree)
    curvature = Curvature(start, trainable=True)
    space = ProductManifold([Stereographic(curvature, dim=dim)])
    v = (0.3 * torch.randn(tree.num_nodes, dim)).requires_grad_()
    points, kappas = torch.optim.Adam([v], lr=0.03), torch.optim.SGD([curvature.raw], lr=0.05)
    path = []
    for epoch in range(epochs + 1):
        points.zero_grad()
        kappas.zero_grad()
        loss = distortion(v, space, distances)
        loss.backward()
        path.append(curvature.value)
        if epoch % (epochs // 10 or 1) == 0:
            print(f"epoch {epoch:4}: κ = {curvature.value:+.3f}, distortion {loss.item():.4f}")
        points.step()
        kappas.step()
    crossing = next((epoch for epoch, kappa in enumerate(path) if kappa < 0), None)
    if crossing is None:
        print(f"κ stayed positive, at {path[-1]:+.3f}: train longer.")
    else:
        print(f"κ passed zero in epoch {crossing}: this tree is hyperbolic.")
    return path


if __name__ == "__main__":
    main()
