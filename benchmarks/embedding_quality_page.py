"""The page docs/embedding-quality.md from the record of benchmarks/embedding_quality.py."""

from __future__ import annotations

from typing import Any

import record
from kappagcn.embedding.space_choice import candidate_spaces

Row = dict[str, Any]
CLOSE = 1.05  # of the least D_avg
MOST_RUNS = 5  # time that a choice may take, in units of one run
TRIALS = "halving"  # how starts are compared; rows of an earlier state have none
WITHOUT_SECOND = {("power", "H5xS5"), ("power", "H5^2"), ("facebook", "H5^2")}  # earlier rows with one start less

# Mean relative error in ten dimensions: overlapping spaces, NeurIPS 2021, Adam with 2000 steps.
PUBLISHED = {
    "power": {"E10": 0.0410, "H10": 0.0348, "S10": 0.0481, "H5^2": 0.0255, "H5xS5": 0.0255, "H2^5": 0.0273},
    "facebook": {"E10": 0.0494, "H10": 0.0483, "S10": 0.0597, "H5^2": 0.0372, "H5xS5": 0.0336, "H2^5": 0.0439},
}


def page(kept: dict[str, Any]) -> str:
    rows = kept["results"]

    def table(part: str, measure: str, *, larger: bool = False) -> str:
        chosen = [row for row in rows if row["part"] == part]
        busy = any("cpu_seconds" in row for row in chosen)
        titles = ["graph", "space", measure, "asked or published", "learned space", "epochs", "seconds"]
        titles += ["of processor"] if busy else []
        lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
        for r in chosen:
            target = "" if r["target"] is None else f"{r['target']:.4g}"
            good = r["target"] is not None and (r[measure] >= r["target"] if larger else r[measure] <= r["target"])
            value = f"**{r[measure]:.4f}**" if good else f"{r[measure]:.4f}"
            name = r["graph"] + (f" (seed {r['seed']})" if r["seed"] else "")
            name += f", `{r['objective']}`" if part == "lengths" else ""
            cells = [name, r["space"], value, target, r["learned_space"], r["epochs"], r["seconds"]]
            cells += [r.get("cpu_seconds", "")] if busy else []
            lines.append(f"| {' | '.join(map(str, cells))} |")
        return "\n".join(lines)

    auto_rows = [row for row in rows if row["part"] == "auto"]
    near = sum(row["d_avg"] <= CLOSE * row["best"] for row in auto_rows)
    advised = sum(row["candidates"][row["advised"]] <= CLOSE * row["best"] for row in auto_rows)
    ratios = {r["graph"]: r["cpu_seconds"] / r["one_run"] for r in auto_rows}
    slow = [graph for graph, ratio in ratios.items() if ratio > MOST_RUNS]
    auto_lines = [
        f"| {r['graph']} | {r['space']} | {r['d_avg']:.4f} | {r['best']:.4f} | {ratios[r['graph']]:.1f} | "
        f"{r['advised']} | {r['candidates'][r['advised']]:.4f} |"
        for r in auto_rows
    ]
    speed = [row for row in rows if row["part"] == "time"]
    timed = "".join(
        f"The tree is below the paper's 0.0029 after {r['epochs']} epochs and {r['seconds']} seconds; peak memory "
        f"{r['memory_gib']} GiB.\n"
        for r in speed
    )
    return f"""# Quality of embeddings

Embeddings with the defaults of `GraphEmbedder` on many graphs; bold where the value that was asked for, or that others
published, is reached. `make quality` repeats all of it; runs may stop early, and some were given fewer epochs than the
published ones, as their column says. Seconds are those of a machine with other work; those of the processor, where they
were recorded, are of all its cores. Rows without a time of the processor are of an earlier state of 0.2.0, before a
single hyperbolic factor also tried the start of a sphere; those that have no `trials` in the record are of a state
before starts were compared by halving, as described below. Record:
[embedding_quality.json](../records/embedding_quality.json).

## Trees: average distortion

{table("trees", "distortion")}

{timed}
## The paper's torus and sphere: average distortion within 1000 epochs

{table("paper", "distortion")}

## The κ-GCN on the paper's graphs: average distortion, beside half the paper's

With the defaults and the paper's 10,000 epochs: [all cells of the paper's table](embeddings.md). A
network's points are a choice of free points, whose least distortion is that of the tables above; on torus and sphere
free points do not reach half the paper's either. A number in the space is the curvature at the start, in the place of
several that are tried: runs that end at about the same distortion show that another start would hardly help.

{table("network", "distortion")}

## Complete graphs of distances: D_avg

{table("lengths", "d_avg")}

## D_avg in ten dimensions, objective `relative`

Published: overlapping spaces (NeurIPS 2021), Adam with 2000 steps. Epochs are those of the chosen start; those of the
other starts come on top. There is one start in E10, two in S10, up to four in H10 and five in products. All of them
are trained for a twentieth of the epochs, the more promising half, and the one that is lowest, for a tenth, and so on;
the one that is left continues to the end. What is expected of a start is its objective after twice as many epochs, if
that falls by the same factor as in the second half of the epochs so far, because a start that falls later may end
lower. Of the two starts of products whose curvatures are fixed at first, one was chosen on polblogs, airports_usa and
yeast, and the other on the first two; runs of less than 1200 epochs try neither.

{earlier_trials(rows)}

{relative_gaps(rows)}

{table("relative", "d_avg")}

## Mean average precision, objective `neighbours`

{table("neighbours", "map", larger=True)}

## `--space auto`

The choice among {len(candidate_spaces(10))} signatures of ten dimensions, 300 epochs, beside the best of all of them
run to the end: within 5 % on {near} of {len(auto_rows)} graphs. The chosen one is continued from its trial. Time is
that of the processor for the choice and the final run, in units of the median of the full runs; above {MOST_RUNS} on
{", ".join(slow) or "none"}. The advice of `kappagcn info`, a rule of thumb that trains nothing, is within 5 % on
{advised} of them.

| graph | chosen | D_avg | best of all | time | advice | its D_avg |
|---|---|---|---|---|---|---|
{chr(10).join(auto_lines)}

{record.made_with(kept)}
"""


def earlier_trials(rows: list[Row]) -> str:
    """Rows that were made before starts were compared by halving, in words."""
    own = [(r["graph"], r["space"]) for r in rows if r["part"] == "relative" and r.get("trials") != TRIALS]
    names, fewer = (", ".join(" ".join(cell) for cell in own if cell in of) for of in (own, WITHOUT_SECOND))
    if not own:
        return "All rows were made in this way."
    without = f" Of these without the second of these starts: {fewer}." if fewer else ""
    return (
        f"Of an earlier state, which trained all starts for 100 epochs and began anew with the best: {names}.{without}"
    )


def relative_gaps(rows: list[Row]) -> str:
    """Published cells that are missed or were not run, in words."""
    own = {(row["graph"], row["space"]): row["d_avg"] for row in rows if row["part"] == "relative"}
    cells = [(graph, space, value) for graph, row in PUBLISHED.items() for space, value in row.items()]
    missed = [f"{graph} {space}" for graph, space, value in cells if own.get((graph, space), 0.0) > value]
    absent = [f"{graph} {space}" for graph, space, _ in cells if (graph, space) not in own]
    return f"Missed: {', '.join(missed) or 'none'}. Not run: {', '.join(absent) or 'none'}."
