"""`kappagcn predict` for runs of `kappagcn link`: probabilities of pairs, or the most probable missing links."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from kappagcn.cli.output import make_folder, refuse, say

DEFAULT_TOP = 10


def predict_links(
    run: Path, pairs: Path | None, top: int | None, out: Path | None, *, header: bool | None = None, as_json: bool
) -> None:
    """Print pairs of nodes with the probability of a link, as CSV or JSON, or write them to ``out/links.csv``."""
    from kappagcn.links.predictor import KappaGCNLinkPredictor

    if pairs is not None and top is not None:
        raise refuse("expected --pairs or --top, found both.")
    predictor = KappaGCNLinkPredictor.load(run / "model.safetensors")
    rows = _top(predictor, top or DEFAULT_TOP) if pairs is None else _pairs(predictor, pairs, header)
    if caution := _caution(run):
        say(caution)
    if out is not None:
        from kappagcn.io_atomic import atomic_write

        with atomic_write(make_folder(out) / "links.csv") as file:
            file.write(_csv(rows).encode())
        say(f"{len(rows)} pairs: {out / 'links.csv'}")
    if as_json:
        keys = ("source", "target", "probability")
        print(json.dumps({"links": [dict(zip(keys, row, strict=True)) for row in rows]}, ensure_ascii=False))
    elif out is None:
        print(_csv(rows), end="")


def _caution(run: Path) -> str | None:
    """A warning if the test edges of the run do not show that its probabilities are useful."""
    from kappagcn.run_folder import read_json

    path = run / "summary.json"
    words = str(read_json(path, "the summary of a run").get("verdict", "")) if path.exists() else ""
    doubtful = words.startswith(("not better than chance", "too few test edges", "no test edges"))
    return f"Do not rely on these: {words}" if doubtful else None


def _top(predictor: Any, count: int) -> list[tuple[str, str, float]]:
    return [(str(link.source), str(link.target), link.probability) for link in predictor.top_links(count)]


def _pairs(predictor: Any, path: Path, header: bool | None) -> list[tuple[str, str, float]]:
    from kappagcn.graphs.io.edges import read_pairs

    names = list(predictor.node_index())
    numbers = read_pairs(path, predictor.node_index(), header=header).pairs
    loops = numbers[0, numbers[0] == numbers[1]].tolist()
    if loops:
        raise refuse(
            f"{path}: expected two different nodes in each pair, found {names[loops[0]]!r} paired with itself."
        )
    probabilities = predictor.predict_proba(numbers.t()).tolist()
    ends = numbers.t().tolist()
    return [(names[i], names[j], p) for (i, j), p in zip(ends, probabilities, strict=True)]


def _csv(rows: list[tuple[str, str, float]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["source", "target", "probability"])
    writer.writerows((source, target, f"{p:.6f}") for source, target, p in rows)
    return text.getvalue()
