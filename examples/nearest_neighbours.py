"""Embed your own graph from a CSV file of edges, and list who is nearest to whom.

    python examples/nearest_neighbours.py friends.csv ann

Without arguments it writes a small file of its own first. Nearest by distance in the space: nodes that share many short
paths come close even where there is no edge between them.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from kappagcn import GraphEmbedder
from kappagcn.graphs import read_graph

# Two groups of friends; gus and hal know each other.
FRIENDS = """source,target
ann,bea\nann,cem\nann,dia\nbea,cem\nbea,dia\ncem,dia\ndia,gus
gus,hal
hal,max\nmax,nia\nmax,oto\nmax,pia\nnia,oto\nnia,pia\noto,pia
"""


def main(path: str | None = None, who: str = "ann", space: str = "H2", count: int = 3, epochs: int = 400) -> list[str]:
    with TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder) / "friends.csv"
            path.write_text(FRIENDS)
        graph = read_graph(path)
    print(f"{Path(path).name}: {graph.report}")
    names = list(graph.node_names)
    embedder = GraphEmbedder(space, epochs=epochs, verbose=False).fit(graph)
    print(f"in {embedder.space_}: average distortion {embedder.distortion_:.3f}")
    away = np.asarray(embedder.distances([names.index(who)]))[0]
    nearest = [names[i] for i in np.argsort(away, kind="stable") if names[i] != who]
    for name in nearest[:count]:
        print(f"  {name}: {away[names.index(name)]:.2f}")
    print(f"Nearest to {who}: {', '.join(nearest[:count])}; farthest: {nearest[-1]}.")
    return nearest


if __name__ == "__main__":
    main(*sys.argv[1:3])
