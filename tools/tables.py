"""Tables of the pages, from the records of `kappagcn reproduce` and of the benchmarks of classifiers."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kappagcn.paper import embeddings as table1
from kappagcn.paper import links, reproduce
from kappagcn.paper.cells import CURVED, DATASETS, ROWS, WIDER_ROWS, Cell
from kappagcn.paper.classification import Job
from kappagcn.paper.links import LINK_DATASETS, LINK_ROWS
from kappagcn.paper.runs import Record, record_lines
from kappagcn.paper.searching import FLAT_ROW
from kappagcn.paper.tables import Table, accuracy, paper
from kappagcn.training.estimate import Estimate, bootstrapped

__all__ = [
    "accuracy_errors",
    "baselines",
    "by_candidate",
    "candidates",
    "cell_accuracy",
    "curvature_pays",
    "distortion",
    "drop_in",
    "dropped",
    "earlier_search",
    "embeddings",
    "fitting",
    "hours",
    "link_differences",
    "link_scores",
    "links_beside",
    "nodes",
    "nodes_beside",
    "own_features",
    "ppnp_splits",
    "quality",
    "reproduced",
    "rounds",
    "sides",
    "slopes",
    "spread_of_splits",
    "taught_rows",
    "versions",
]

RECORDS = Path(__file__).parents[1] / "records"
ITEMS = {**dict.fromkeys(ROWS, "table2"), **dict.fromkeys(WIDER_ROWS, "wider")}
TITLES = {**ROWS, **WIDER_ROWS}
GRAPHS = ("texas", "cornell", "airports_brazil", "airports_europe", "disease", "chameleon_filtered", "airports_usa",
          "polblogs", "cora_ml", "citeseer", "chameleon", "airport", "actor", "amazon_computers")  # fmt: skip
PPNP = {"gcn-wider": 0.787, "appnp": 0.797}  # PPNP's paper on Pubmed, mean of 20 splits


@cache
def lines(name: str) -> list[Record]:
    """Records of a file with a line for each."""
    return [json.loads(line) for _, line in record_lines(RECORDS / f"{name}.jsonl")]


@cache
def plan_records(item: str, **options: Any) -> dict[Cell, list[Record]]:
    """The runs of an item's table, by cell."""
    return reproduce.plan(item, [], RECORDS, **options).records()


def markdown(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table as Markdown."""
    return Table([*columns], [[str(value) for value in row] for row in rows]).markdown()


def reproduced(item: str) -> str:
    """The table that `kappagcn reproduce ITEM` prints."""
    return reproduce.plan(item, [], RECORDS).table().markdown()


def signed(value: Estimate | float) -> str:
    """A difference with its sign."""
    mean = value.mean if isinstance(value, Estimate) else value
    return (("+" if mean > 0 else "") + (str(value) if isinstance(value, Estimate) else f"{value:.3f}")).replace(
        "-", "−"
    )


def versions(item: str) -> str:
    """Versions and machine of an item's records."""
    runs = [run for of_cell in plan_records(item).values() for run in of_cell]
    about = runs[0]["versions"].items()
    return ", ".join(f"{name} {version}" for name, version in about if version) + f"; {runs[0]['machine']}"


def hours(item: str) -> float:
    """Time of all runs of an item, of one core."""
    return sum(run.get("seconds") or 0 for runs in plan_records(item).values() for run in runs) / 3600


def gain(ours: Mapping[Any, float], theirs: Mapping[Any, float]) -> Estimate:
    """Mean difference over the runs, by split or seed, that both have."""
    return bootstrapped([ours[run] - theirs[run] for run in sorted(ours.keys() & theirs.keys())])


# Node classification


def runs_of(row: str, dataset: str) -> list[Record]:
    """Runs of a row of Table 2, of those beside it, or of these with self-training."""
    plain = row.removesuffix(", self-training")
    item = "self-training" if plain != row else ITEMS[row]
    return plan_records(item)[Cell(dataset, plain)]


def accuracies(runs: Sequence[Record]) -> dict[Any, float]:
    """Test accuracy by split and run."""
    return {(run["split"], run["run"]): run["test"]["accuracy"] for run in runs if "test" in run}


def title(row: str) -> str:
    plain = row.removesuffix(", self-training")
    return TITLES[plain] + row.removeprefix(plain)


def cell_accuracy(row: str, dataset: str) -> str:
    """Mean accuracy on test nodes with its interval."""
    return str(accuracy(runs_of(row, dataset)) or "not run")


TAUGHT = tuple(f"{row}, self-training" for row in WIDER_ROWS)


def nodes(*rows: str) -> str:
    """The README's table: accuracy of networks beside the paper's, with the best of each column in bold."""
    shown = rows or (*ROWS, *WIDER_ROWS, *TAUGHT)
    means = {(row, d): accuracy(runs_of(row, d)) for row in shown for d in DATASETS}
    best = {d: max(means[row, d].mean for row in shown if means[row, d]) for d in DATASETS}
    table = []
    for row in shown:
        cells = []
        for d in DATASETS:
            ours = means[row, d]
            mark = "**" if ours is not None and ours.mean == best[d] else ""
            cells.append("–" if ours is None else f"{mark}{ours}{mark}")
            if row in ROWS:
                cells.append("{:.3f} ± {:.3f}".format(*paper()["accuracy"][row][d]))
            else:
                cells.append("–")
        table.append([title(row), *cells])
    return markdown(["", *(head for d in DATASETS.values() for head in (d, "paper"))], table)


def taught_rows() -> str:
    """Accuracy of the rows with self-training."""
    return markdown(["", *DATASETS.values()], [[title(r), *(cell_accuracy(r, d) for d in DATASETS)] for r in TAUGHT])


def nodes_beside(kind: str) -> str:
    """Paired differences: "curved" rows of Table 2 to GCN, "wider" rows to flat ones, "taught" rows to both."""
    flat = [*FLAT_ROW.items()]
    pairs = {
        "curved": [(row, "gcn") for row in CURVED],
        "wider": flat,
        "taught": [(row, row.removesuffix(", self-training")) for row in TAUGHT]
        + [(f"{one}, self-training", f"{other}, self-training") for one, other in flat],
    }[kind]

    def cell(one: str, other: str, dataset: str) -> str:
        ours, theirs = runs_of(one, dataset), runs_of(other, dataset)
        return signed(gain(accuracies(ours), accuracies(theirs))) if ours and theirs else "not run"

    rows = [[f"{title(a)} − {title(b)}", *(cell(a, b, d) for d in DATASETS)] for a, b in pairs]
    return markdown(["", *DATASETS.values()], rows)


def dropped(row: str, dataset: str) -> str:
    """The lowest accuracy of a cell, and its median."""
    scores = [run["test"]["accuracy"] for run in runs_of(row, dataset)]
    return f"{min(scores):.3f}; median {statistics.median(scores):.3f}"


def spread_of_splits(dataset: str) -> tuple[float, float]:
    """Lowest and highest mean over networks of a split's accuracy, HGCN aside."""
    runs = [run for row in ROWS if row != "hgcn" for run in runs_of(row, dataset)]
    numbers = {run["split"] for run in runs}
    means = [statistics.mean(r["test"]["accuracy"] for r in runs if r["split"] == n) for n in numbers]
    return min(means), max(means)


def earlier_search() -> str:
    """Rows of Pubmed with the settings of an earlier search, whose records stay."""
    plan = reproduce.plan("wider", ["pubmed"], RECORDS)
    words = []
    for cell, experiment in plan.experiments():
        same = [r for r in plan.file.records() if r["experiment"]["dataset"] == "pubmed" and _is_of(r, cell.row)]
        before = [r for r in same if Job.from_record(r).experiment != experiment]
        if before:
            words.append(f"{TITLES[cell.row]} {accuracy(before)}")
    return ", ".join(words)


def _is_of(run: Record, row: str) -> bool:
    model, curved = run["experiment"]["model"], not run["experiment"]["space"].startswith("E")
    return {"gcn-wider": "gcn", "kappa-gcn": "kappa-gcn"}.get(row, "appnp") == model and curved == row.startswith(
        "kappa"
    )


def ppnp_splits() -> str:
    """Pubmed on all 20 splits of PPNP, one run each."""
    runs = plan_records("wider", splits=20, runs=1)
    rows = []
    for row in WIDER_ROWS:
        own = runs[Cell("pubmed", row)]
        first = [run for run in own if run["split"] < reproduce.SPLITS]
        rows.append([TITLES[row], accuracy(first), accuracy(own), PPNP.get(row, "")])
    return markdown(["", "first 5 splits", "all 20 splits", "PPNP's paper, 20 splits"], rows)


def rounds() -> str:
    """Accuracy on validation nodes, and what rounds of self-training add."""
    rows = []
    for dataset, row in dict.fromkeys((r["dataset"], r["candidate"]) for r in lines("taught")):
        own = [r["accuracy"] for r in by_candidate("taught", dataset)[row].values()]
        if len(own) > 1:
            gains = [signed(bootstrapped([a[k] - a[0] for a in own])) for k in range(1, len(own[0]))]
            rows.append([DATASETS[dataset], WIDER_ROWS[row], len(own), bootstrapped([a[0] for a in own]), *gains])
    return markdown(["dataset", "network", "splits", "without", "1 round", "2 rounds", "3 rounds"], rows)


# Benchmarks of the classifier's defaults


def by_candidate(name: str, dataset: str) -> dict[str, dict[int, Record]]:
    """Runs of a dataset by candidate and split."""
    runs: dict[str, dict[int, Record]] = {}
    for run in lines(name):
        if run["dataset"] == dataset:
            runs.setdefault(run["candidate"], {})[run["split"]] = run
    return runs


def paired(name: str, dataset: str, one: str, other: str) -> Estimate:
    """Mean difference of two candidates' accuracy on the splits that both have."""
    runs = by_candidate(name, dataset)
    return gain(*({i: run["accuracy"] for i, run in runs[candidate].items()} for candidate in (one, other)))


def curvature_pays() -> str:
    """The classifier with κ learned, κ = 0, GCN and MLP on labelled graphs."""
    names = ("learned κ", "κ = 0", "GCN", "MLP")
    rows = []
    for graph in GRAPHS:
        runs = by_candidate("curvature_pays", graph)
        means = [bootstrapped([r["accuracy"] for r in runs[name].values()]) for name in names]
        gains = [signed(paired("curvature_pays", graph, "learned κ", other)) for other in ("κ = 0", "GCN")]
        kappa = bootstrapped([r["curvatures"][0] for r in runs["learned κ"].values()])
        rows.append([graph, len(runs["learned κ"]), *means, *gains, str(kappa).replace("-", "−")])
    heads = ["", "splits", *names, "learned κ − (κ = 0)", "learned κ − GCN", "κ at the end"]
    return markdown(heads, rows)


def sides(other: str) -> str:
    """The graphs on which learned κ is ahead of a candidate, and behind it, by more than the interval."""
    gains = {graph: paired("curvature_pays", graph, "learned κ", other) for graph in GRAPHS}
    ahead = [f"{g} {signed(e)}" for g, e in gains.items() if e.mean > (e.interval or 0)]
    behind = [f"{g} {signed(e)}" for g, e in gains.items() if -e.mean > (e.interval or 0)]
    return f"ahead on {', '.join(ahead) or 'none'}; behind on {', '.join(behind) or 'none'}"


def candidates() -> str:
    """Mean accuracy on validation nodes of each candidate for the defaults."""
    names = list(dict.fromkeys(run["candidate"] for run in lines("defaults")))
    rows = []
    for graph in dict.fromkeys(run["dataset"] for run in lines("defaults")):
        runs = by_candidate("defaults", graph)
        cells = [statistics.mean(r["accuracy"] for r in runs[n].values()) if n in runs else None for n in names]
        rows.append([graph, *("" if mean is None else f"{mean:.3f}" for mean in cells)])
    return markdown(["", *names], rows)


def own_features() -> str:
    """The rule for own features where few nodes train, less the MLP."""
    rows = []
    for graph in dict.fromkeys(run["dataset"] for run in lines("own_features")):
        runs = by_candidate("own_features", graph)
        means = [f"{statistics.mean(r['accuracy'] for r in runs[name].values()):.3f}" for name in ("MLP", "default")]
        rows.append([graph, len(runs["default"]), *means, signed(paired("own_features", graph, "default", "MLP"))])
    return markdown(["", "partitions", "MLP", "by the rule", "by the rule − MLP"], rows)


# Links


def links_beside() -> str:
    """The best κ-GCN row beside the published values, and its paired difference to GCN."""
    runs, rows = plan_records("links"), []
    for dataset, name in LINK_DATASETS.items():
        best = max(CURVED, key=lambda row: links.auc(runs[Cell(dataset, row)]).mean)
        own = runs[Cell(dataset, best)]
        less_gcn = gain(aucs(own), aucs(runs[Cell(dataset, "gcn")]))
        low, high = less_gcn.bounds or (less_gcn.mean, less_gcn.mean)
        verdict = "better" if low > 0 else "worse" if high < 0 else "no difference"
        published = links.PUBLISHED[dataset]
        rows.append(
            [name, LINK_ROWS[best][2], links.short(links.auc(own)), *published, f"{_tenths(less_gcn)}: {verdict}"]
        )
    return markdown(["", "best κ-GCN", "ROC AUC", "HGCN published", "best published", "less our GCN"], rows)


def aucs(runs: Sequence[Record]) -> dict[Any, float]:
    """Test AUC in per cent by seed."""
    return {run["seed"]: 100 * run["test"]["roc_auc"] for run in runs if "test" in run}


def _tenths(difference: Estimate) -> str:
    text = links.short(difference)
    return text if text.startswith("−") else f"+{text}"


def link_scores(*rows: str) -> str:
    """ROC AUC of some rows, and the published values."""
    table = reproduce.plan("links", [], RECORDS).table()
    names = {LINK_ROWS[row][2] for row in rows}
    return markdown(table.columns, [row for row in table.rows if row[0] in names or row[0].endswith("published")])


def link_differences() -> str:
    """Paired differences to our GCN."""
    runs = plan_records("links")
    rows = [
        [name, *(_tenths(gain(aucs(runs[Cell(d, row)]), aucs(runs[Cell(d, "gcn")]))) for d in LINK_DATASETS)]
        for row, (_, _, name) in LINK_ROWS.items()
        if row != "gcn"
    ]
    return markdown(["", *LINK_DATASETS.values()], rows)


def baselines() -> str:
    """Simple scores on the same test pairs, means over seeds."""
    runs = {d: {r["seed"]: r["baselines"] for r in plan_records("links")[Cell(d, "gcn")]} for d in LINK_DATASETS}
    names = next(iter(runs["airport"].values()))
    rows = [
        [name, *(f"{statistics.mean(100 * b[name]['roc_auc'] for b in of.values()):.1f}" for of in runs.values())]
        for name in names
    ]
    return markdown(["", *LINK_DATASETS.values()], rows)


# Embeddings


def _best(cells: Sequence[Sequence[float | None]]) -> list[list[str]]:
    """Numbers with four digits, the least of each column in bold."""
    least = [min(v for v in column if v is not None) for column in zip(*cells, strict=True)]
    return [
        ["" if v is None else f"**{v:.4f}**" if v == low else f"{v:.4f}" for v, low in zip(row, least, strict=True)]
        for row in cells
    ]


def distortion(*rows: str) -> str:
    """Table 1, or some of its rows: from both starts, and the paper's value, a column each, for each graph."""
    shown = rows or tuple(table1.ROWS)
    runs = plan_records("table1")

    def value(graph: str, row: str, variant: str) -> float | None:
        run = table1.record_of_variant(runs[Cell(graph, row)], variant)
        return None if run is None else run.get("distortion")

    cells = [
        [
            number
            for graph in table1.GRAPHS
            for number in (value(graph, row, "graph"), value(graph, row, "paper"), paper()["distortion"][row][graph])
        ]
        for row in shown
    ]
    heads = [
        word for name in ("Tree", "Torus", "Sphere") for word in (f"{name}, from the graph", "paper's start", "paper")
    ]
    table = [[table1.ROWS[row][0], *cells] for row, cells in zip(shown, _best(cells), strict=True)]
    return markdown(["", *heads], table)


def embeddings(graph: str, row: str, variant: str) -> float:
    """The distortion of one cell of Table 1."""
    run = table1.record_of_variant(plan_records("table1")[Cell(graph, row)], variant)
    assert run is not None
    return float(run["distortion"])


def fitting() -> str:
    """The network and free points in the plane and in the geometry that fits, with other measures."""
    rows = []
    for graph, name in table1.GRAPHS.items():
        for row in ("E10-linear", table1.FITS[graph]):
            for variant, (how, _) in table1.VARIANTS.items():
                run = table1.record_of_variant(plan_records("table1")[Cell(graph, row)], variant)
                if run is not None and "failed" not in run:
                    worst = run["worst_distortion"]
                    text = f"{worst:.2f}" if worst is not None and worst < 1e9 else "∞"
                    ms = f"{run['seconds'] / run['epochs'] * 1000:.0f} ms"
                    space, epochs = table1.ROWS[row][1]["space"], f"{run['embedding']['epochs']:,}"
                    rows.append([name, space, how, f"{run['distortion']:.5f}", text, f"{run['map']:.3f}", epochs, ms])
    return markdown(["graph", "space", "how", "average", "worst", "precision", "epochs", "epoch"], rows)


def slopes() -> Mapping[str, float]:
    """The sweep of curvatures: distortion at both ends, at 0 and in the plane, and slopes beside 0."""
    (runs,) = plan_records("sweep").values()
    by_space = {run["embedding"]["space"]: run["distortion"] for run in runs if "distortion" in run}
    left, zero, right = (by_space[f"U10({kappa})"] for kappa in (-0.004, 0.0, 0.004))
    ends = {"low": by_space["U10(-5.0)"], "high": by_space["U10(5.0)"], "flat": by_space["E10"], "zero": zero}
    return {**ends, "left": (zero - left) / 0.004, "right": (right - zero) / 0.004}


# Accuracy


def accuracy_errors(keep: Callable[[Record], bool] | str, what: str, system: str = "kappagcn") -> float:
    """Largest error of an operation in float32, or of the rows that a function picks; NaN where there is none."""
    results = json.loads((RECORDS / "accuracy.json").read_text())["results"]
    if isinstance(keep, str):
        case = keep
        picked = [r for r in results if r["case"] == case and r["dtype"] == "float32"]
    else:
        picked = [r for r in results if keep(r)]
    return max((r[system][what] for r in picked if system in r), default=float("nan"))


# Benchmarks with tables of their own


def quality(part: str, measure: str) -> str:
    """Embeddings with the defaults; bold where the value that was asked for, or published, is reached."""
    rows = []
    for run in json.loads((RECORDS / "embedding_quality.json").read_text())["results"]:
        if run["part"] != part:
            continue
        target, value = run["target"], run[measure]
        met = target is not None and (value >= target if measure == "map" else value <= target)
        name = run["graph"] + (f" (seed {run['seed']})" if run["seed"] else "")
        name += f", `{run['objective']}`" if part == "lengths" else ""
        shown = f"**{value:.4f}**" if met else f"{value:.4f}"
        asked = "" if target is None else f"{target:.4g}"
        times = (run["seconds"], run.get("cpu_seconds", ""))
        rows.append([name, run["space"], shown, asked, run["learned_space"], run["epochs"], *times])
    heads = ["graph", "space", measure, "asked or published", "learned space", "epochs", "seconds", "of processor"]
    return markdown(heads, rows)


def drop_in() -> str:
    """Mean and standard deviation of test accuracy, with nothing but the class of the layer changed."""
    tests: dict[tuple[str, str], dict[str, list[float]]] = {}
    for run in json.loads((RECORDS / "drop_in.json").read_text())["results"]:
        tests.setdefault((run["graph"], run["features"]), {}).setdefault(run["layer"], []).append(run["test"])
    names = ("H16", "S16", "default", "GCNConv")
    rows = []
    for where, by_layer in tests.items():
        if all(len(by_layer.get(name, ())) > 1 for name in names):
            cells = [by_layer[name] for name in names]
            rows.append([*where, *(f"{statistics.mean(c):.3f} ± {statistics.stdev(c):.3f}" for c in cells)])
    return markdown(["graph", "features", *names], rows)
