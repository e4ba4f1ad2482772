"""A link predictor over splits of a graph's edges, in one run folder that can be resumed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn._version import __version__
from kappagcn.distributed import Communicator
from kappagcn.graphs import EdgeSplit, edge_split, save_edge_split
from kappagcn.graphs.negatives import pair_keys
from kappagcn.links.baselines import baseline_metrics, baseline_test_scores, best_baseline, verdict
from kappagcn.links.metrics import link_metrics, roc_auc
from kappagcn.links.predictor import KappaGCNLinkPredictor
from kappagcn.run_folder import Embedded, Links, read_json, save_embedded, save_json, save_links, should_resume, writing
from kappagcn.training.checkpoint import fingerprint
from kappagcn.training.edge_weights import weights_of_runs
from kappagcn.training.estimate import over_splits
from kappagcn.training.run_lock import locked

__all__ = ["link_splits", "predict_links"]

Array = NDArray[Any]
Record = dict[str, Any]
SHOWN = 100  # most probable missing links that a run folder keeps
RESAMPLES = 200  # times that test pairs are drawn for an interval
DRAWN = 2 * 10**7  # pairs drawn in all, from which test pairs are drawn fewer times, but FEWEST
FEWEST = 40


def link_splits(predictor: KappaGCNLinkPredictor, data: Data, count: int) -> list[EdgeSplit]:
    """Random splits, whose seeds are that of the predictor and the numbers after it."""
    shares = {"validation": predictor.validation, "test": predictor.test}
    return [edge_split(data, predictor.run_seed(number), **shares) for number in range(count)]


def predict_links(
    predictor: KappaGCNLinkPredictor,
    data: Data,
    splits: Sequence[EdgeSplit],
    folder: Path,
    *,
    resume: bool = False,
    report: Callable[[Record, int, int], None] | None = None,
    group: ProcessGroup | Communicator | None = None,
) -> Record:
    """Train on every split, evaluate on its test pairs beside simple scores, keep the run of the best validation AUC.

    Args:
        predictor: Predictor with the settings; the number of the split is added to its seed.
        data: The graph.
        splits: Edges for training, validation and test.
        folder: Run folder.
        resume: Continue the runs in `folder`, if there are any.
        report: Called with each finished run's record, the number of finished runs and the number of all.
        group: Process group of torch.distributed to train with. Rank 0 writes and returns the summary, other ranks an
            empty one.
    """
    communicator = Communicator.of(group)
    about = {
        "kappagcn": __version__,
        "link_predictor": {name: value for name, value in predictor.get_params().items() if name != "verbose"},
        "splits": [split.name for split in splits],
        "data": fingerprint(data.edge_index, data.get("edge_weight"), data.get("x")),
    }
    with locked(folder, communicator):
        communicator.run_on_rank0(lambda: _start(folder, about, resume=resume))
        return _run_splits(predictor, data, splits, folder, communicator, report)


def _run_splits(
    predictor: KappaGCNLinkPredictor,
    data: Data,
    splits: Sequence[EdgeSplit],
    folder: Path,
    communicator: Communicator,
    report: Callable[[Record, int, int], None] | None,
) -> Record:
    """The summary of all runs, or on ranks above 0 an empty one."""
    records: list[Record] = []
    best, kept = -1, None
    for number, split in enumerate(splits):
        run = folder / "runs" / f"split{number}"
        record: Record | None = communicator.run_on_rank0(partial(_finished, run))
        fitted = None
        if record is None:
            fitted = _fit(predictor, data, split, number, run, communicator)
            record = communicator.run_on_rank0(partial(_record, number, split, fitted, data, run))
        records.append(record)
        if best < 0 or record["validation_auc"] > records[best]["validation_auc"]:
            best, kept = number, fitted
        if report is not None and communicator.rank == 0:
            report(record, number + 1, len(splits))
    if kept is None:  # a finished run is not trained again
        kept = _fit(predictor, data, splits[best], best, folder / "runs" / f"split{best}", communicator)
    return _finish(kept, data, splits, records, best, folder) if communicator.rank == 0 else {}


def _start(folder: Path, about: Record, *, resume: bool) -> None:
    if not should_resume(folder, about, resume=resume):
        save_json(folder / "config.json", about)


def _finished(run: Path) -> Record | None:
    path = run / "record.json"
    return read_json(path, "the record of a run") if path.exists() else None


def _fit(
    predictor: KappaGCNLinkPredictor,
    data: Data,
    split: EdgeSplit,
    number: int,
    run: Path,
    communicator: Communicator,
) -> KappaGCNLinkPredictor:
    seed = predictor.run_seed(number)
    fitted = type(predictor)(**{**predictor.get_params(), "random_state": seed})
    return fitted.fit_split(data, split, folder=run, resume=True, group=communicator)


def _record(number: int, split: EdgeSplit, fitted: KappaGCNLinkPredictor, data: Data, run: Path) -> Record:
    """The record of a run, which also keeps its split."""
    result = fitted.result_
    record: Record = {
        "split": number,
        "split_name": split.name,
        "seed": fitted.random_state,
        "validation_auc": result.best["validation_auc"],
        "epochs": result.epochs,
        "best_epoch": result.best_epoch,
        "stopped_by": result.stopped_by,
        "seconds": round(result.seconds, 2),
        "curvatures": fitted.curvatures_,
        "edge_weights": fitted.edge_weights_,
    }
    if split.final_test_pairs().edges.shape[1]:
        record |= {"test": fitted.evaluate(), "baselines": baseline_metrics(data, split)}
    save_edge_split(split, run / "split.npz")
    save_json(run / "record.json", record)
    return record


def _finish(
    fitted: KappaGCNLinkPredictor,
    data: Data,
    splits: Sequence[EdgeSplit],
    records: list[Record],
    best: int,
    folder: Path,
) -> Record:
    """Write predictor, metrics and arrays of the best run, and the summary of all runs."""
    fitted.save(folder / "model.safetensors")
    run = folder / "runs" / f"split{best}"
    for name in ("metrics.jsonl", "split.npz"):
        with writing(folder / name) as target, (run / name).open("rb") as source:
            shutil.copyfileobj(source, target)
    save_embedded(folder / "embedding.npz", _embedded(fitted, data))
    links = fitted.top_links(SHOWN)
    tested = [record for record in records if "test" in record]
    split = splits[best]
    edges, others = fitted.test_scores() if tested else (np.empty(0), np.empty(0))
    sources, targets = (np.array([str(getattr(link, end)) for link in links], np.str_) for end in ("source", "target"))
    probabilities = np.array([link.probability for link in links])
    save_links(folder / "links.npz", Links(edges, others, sources, targets, probabilities))
    summary: Record = {
        "graph": str(data.get("name") or "graph"),
        "space": fitted.space,
        "learned_space": fitted.space_,
        "model": fitted.model,
        "splits": len(records),
        "edge_weights": weights_of_runs([record.get("edge_weights") for record in records]),
        "test_pairs": 2 * split.final_test_pairs().edges.shape[1],
        "kept": best,
        "curvatures": fitted.curvatures_,
        "epochs": fitted.result_.epochs,
        "best_epoch": fitted.result_.best_epoch,
        "seconds": round(sum(record["seconds"] for record in records), 2),
        **_measured(tested, data, splits, edges, others),
        "records": records,
    }
    save_json(folder / "summary.json", summary)
    return summary


def _measured(tested: list[Record], data: Data, splits: Sequence[EdgeSplit], edges: Array, others: Array) -> Record:
    """Metrics with their 95 % intervals: over splits, or by resampling the test pairs of one; baselines; a verdict."""
    if not tested:
        return {"roc_auc": None, "metrics": {}, "intervals": {}, "baselines": {}, "verdict": "no test edges."}
    names = list(tested[0]["test"])
    metrics = {name: float(np.mean([record["test"][name] for record in tested])) for name in names}
    baselines = {
        name: {metric: float(np.mean([r["baselines"][name][metric] for r in tested])) for metric in names}
        for name in tested[0]["baselines"]
    }
    best = best_baseline(baselines)
    if len(tested) > 1:
        intervals, gap = _over_splits(tested, splits, names, best)
    else:
        intervals, gap = _over_pairs(edges, others, names, baseline_test_scores(best, data, splits[0]))
    test_edges = sum(split.final_test_pairs().edges.shape[1] for split in splits)
    return {
        "roc_auc": metrics["roc_auc"],
        "metrics": metrics,
        "intervals": intervals,
        "baselines": baselines,
        "difference": {"baseline": best, "interval": gap},
        "verdict": verdict(intervals["roc_auc"], gap, best, baselines[best]["roc_auc"], test_edges),
    }


def _over_splits(
    tested: list[Record], splits: Sequence[EdgeSplit], names: list[str], best: str
) -> tuple[dict[str, list[float]], list[float]]:
    """Intervals of the means over splits, and of the difference of the AUC to that of the best baseline."""
    tests = [set(pair_keys(split.final_test_pairs().edges, split.num_nodes).tolist()) for split in splits]
    values = {name: [record["test"][name] for record in tested] for name in names}
    intervals = {name: over_splits(each, tests).bounds or [] for name, each in values.items()}
    gaps = [record["test"]["roc_auc"] - record["baselines"][best]["roc_auc"] for record in tested]
    within = {name: np.clip(each, 0, 1).tolist() for name, each in intervals.items()}
    return within, over_splits(gaps, tests).bounds or []


def _over_pairs(
    edges: Array, others: Array, names: list[str], simple: tuple[Array, Array]
) -> tuple[dict[str, list[float]], list[float]]:
    """Intervals as in `_over_splits`, by resampling the test pairs of one split; run and baseline share the draws."""
    rng = np.random.default_rng(0)
    draws, gaps = [], []
    for _ in range(max(FEWEST, min(RESAMPLES, DRAWN // (len(edges) + len(others))))):
        drawn, missing = rng.integers(len(edges), size=len(edges)), rng.integers(len(others), size=len(others))
        draws.append(link_metrics(edges[drawn], others[missing]))
        gaps.append(draws[-1]["roc_auc"] - roc_auc(simple[0][drawn], simple[1][missing]))
    intervals = {name: np.percentile([draw[name] for draw in draws], [2.5, 97.5]).tolist() for name in names}
    return intervals, np.percentile(gaps, [2.5, 97.5]).tolist()


def _embedded(fitted: KappaGCNLinkPredictor, data: Data) -> Embedded:
    manifold: Any = fitted.model_.manifold
    names = data.get("node_names")
    first, second = data.edge_index.numpy()
    vectors = fitted.tangent()
    return Embedded(
        tangent=vectors,
        points=fitted.embed(),
        dims=np.array(getattr(manifold, "dims", [vectors.shape[1]])),
        curvatures=np.array(fitted.curvatures_),
        edges=np.stack([first, second], 1)[first < second],
        names=None if names is None else np.array([str(name) for name in names]),
    )
