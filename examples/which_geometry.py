"""Which geometry fits my graph? Measures it, then embeds it in hyperbolic, flat and spherical space and compares.

    python examples/which_geometry.py small_tree
    python examples/which_geometry.py mygraph.csv

The measures (curvature by the parallelogram law, Gromov's δ) give a first guess; the distortion of three embeddings of
the same dimension decides. Curvatures are held where the graph's diameter and δ put them: learned ones may change sign.
"""

import sys

from kappagcn import GraphEmbedder
from kappagcn.graphs import describe, largest_component, load_graph

SPACES = {"H": "hyperbolic", "E": "flat", "S": "spherical"}


def main(name: str = "small_tree", dim: int = 3, epochs: int = 300) -> str:
    graph = largest_component(load_graph(name))
    statistics = describe(graph, dim=dim)
    print(f"{name}: {graph.report}")
    print(f"curvature {statistics.curvature}, {statistics.hyperbolicity}")
    print(f"first guess: {statistics.advice}")
    distortion = {}
    for letter in SPACES:
        embedder = GraphEmbedder(f"{letter}{dim}", epochs=epochs, curvature_lr=0, verbose=False).fit(graph)
        distortion[letter] = embedder.distortion_
        print(f"  {letter}{dim}, κ held at {embedder.curvatures_[0]:+.2g}: average distortion {distortion[letter]:.2g}")
    best, second = sorted(distortion, key=distortion.get)[:2]
    if distortion[best] > 0.9 * distortion[second]:
        print(f"{name} fits {SPACES[best]} and {SPACES[second]} space about equally well: take the flatter one.")
    else:
        times = distortion[second] / max(distortion[best], 1e-12)
        print(f"{name} fits {SPACES[best]} space best: {times:.1f} times less distortion than {SPACES[second]} space.")
    return best


if __name__ == "__main__":
    main(*sys.argv[1:2])
