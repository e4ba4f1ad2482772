"""The demonstration: one tree on a sphere, in the plane, and where its curvature leads when it is learned too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from torch import Tensor

from kappagcn.geometry import Curvature, Stereographic
from kappagcn.graphs import balanced_tree, shortest_paths

__all__ = ["Embedding", "draw", "run", "show"]

DEPTH, BRANCHING = 5, 2
SPACES = [
    ("sphere", 0.05, False),
    ("plane", 0.0, False),
    ("learned curvature", 0.3, True),
]  # name, κ, trained


@dataclass(frozen=True)
class Embedding:
    """A tree in one space: tangent vectors at the origin, the curvature they ended with, and the distortion."""

    name: str
    start: float
    curvature: float
    distortion: float
    tangent: Tensor
    edges: Tensor

    def record(self) -> dict[str, Any]:
        """What a machine wants to know."""
        return {
            "space": self.name,
            "start": self.start,
            "curvature": self.curvature,
            "distortion": self.distortion,
        }


def average_distortion(lengths: Tensor, paths: Tensor) -> Tensor:
    """(1/n²) Σ_{i≠j} ((d_ij / d_G(i,j))² − 1)²."""
    n = paths.shape[0]
    i, j = torch.triu_indices(n, n, 1)
    return 2 * ((lengths[i, j] / paths[i, j]) ** 2 - 1).square().sum() / n**2


def run(*, seed: int, steps: int, console: Console) -> list[Embedding]:
    """Embed the tree in each space: points, and where it is trained the curvature with them."""
    tree = balanced_tree(DEPTH, BRANCHING)
    edges = tree.edge_index[:, tree.edge_index[0] < tree.edge_index[1]].T
    paths = shortest_paths(tree).float()
    results = []
    with Progress(console=console, disable=not console.is_terminal) as progress:
        for name, start, trained in SPACES:
            task = progress.add_task(name, total=steps)
            space = Stereographic(Curvature(start, trainable=trained), dim=2)
            tangent = _optimise(space, paths, seed, steps, lambda task=task: progress.advance(task))
            with torch.no_grad():
                loss = float(average_distortion(_lengths(space, tangent), paths))
            results.append(Embedding(name, start, space.curvature.value, loss, tangent, edges))
            if not console.is_terminal:
                console.print(f"{name}: distortion {loss:.4f} after {steps} steps")
    return results


def _lengths(space: Stereographic, tangent: Tensor) -> Tensor:
    return space.tangent_dist(tangent.unsqueeze(1), tangent.unsqueeze(0))


def _optimise(space: Stereographic, paths: Tensor, seed: int, steps: int, advance: Any) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    tangent = (0.01 * torch.randn(paths.shape[0], 2, generator=generator)).requires_grad_()
    groups: list[dict[str, Any]] = [
        {"params": [tangent], "lr": 0.1},
        {"params": list(space.parameters()), "lr": 0.01},
    ]
    optimiser = torch.optim.Adam([group for group in groups if group["params"]])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        optimiser.zero_grad()
        average_distortion(_lengths(space, tangent), paths).backward()
        optimiser.step()
        schedule.step()
        advance()
    return tangent.detach()


def show(results: list[Embedding], picture: Path, console: Console) -> None:
    """The table and the conclusion in words."""
    nodes = results[0].tangent.shape[0]
    table = Table(title=f"A binary tree of {nodes} nodes in two dimensions")
    for column, side in (
        ("space", "left"),
        ("κ at the start", "right"),
        ("κ at the end", "right"),
        ("distortion", "right"),
    ):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for r in results:
        table.add_row(r.name, f"{r.start:g}", f"{r.curvature:.3g}", f"{r.distortion:.4f}")
    console.print(table)
    plane, best = next(r for r in results if r.start == 0), min(results, key=lambda r: r.distortion)
    if best is plane:
        words = "The plane did best here; more steps would tell the others apart."
    else:
        if best.start > 0 > best.curvature:
            words = f"Started on a sphere, κ crossed zero and settled at {best.curvature:.2f}: a tree is hyperbolic."
        else:
            words = f"Best: {best.name}."
        words += f" Its distortion is {plane.distortion / best.distortion:.1f} times below the plane's."
    console.print(f"{words}\nPicture: {picture}", soft_wrap=True)


def draw(results: list[Embedding], path: Path) -> Path:
    """All embeddings in one picture."""
    from kappagcn.figures.embedding import draw_embeddings

    panels = [
        (f"{r.name}, κ = {r.curvature:.3g}\ndistortion {r.distortion:.3f}", r.tangent, r.edges, r.curvature)
        for r in results
    ]
    return draw_embeddings(panels, path)
