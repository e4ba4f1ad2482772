"""A link predictor over splits of a graph's edges, in one run folder that can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn.distributed import Communicator
from kappagcn.graphs import EdgeSplit, edge_split, save_edge_split
from kappagcn.graphs.negatives import pair_keys
from kappagcn.links.metrics import baseline_metrics, baseline_test_scores, best_baseline, link_metrics, verdict
from kappagcn.links.predictor import KappaGCNLinkPredictor
from kappagcn.run_folder import Embedded, Links, save_links
from kappagcn.training.checkpoint import fingerprint
from kappagcn.training.estimate import over_splits, roc_auc
from kappagcn.training.node_arrays import graph_arrays
from kappagcn.training.split_runs import Record, Report, SplitRun, SplitRuns

Array = NDArray[Any]
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
    report: Report | None = None,
    group: ProcessGroup | Communicator | None = None,
) -> Record:
    """Train on every split, evaluate on its test pairs beside simple scores, keep the run of the best validation AUC.

    The number of the split is added to the seed of the predictor, which is not fitted itself. See `SplitRuns` for the
    other arguments; on ranks above 0 the summary is empty.
    """
    runs = [SplitRun(split, predictor.run_seed(number), {"split": number}) for number, split in enumerate(splits)]
    about = {"data": fingerprint(data.edge_index, data.get("edge_weight"), data.get("x"))}
    return LinkRuns(predictor, data, runs, folder, group).run(about, resume=resume, report=report)


class LinkRuns(SplitRuns[KappaGCNLinkPredictor, EdgeSplit]):
    """Runs of a link predictor on splits of the edges, of which that with the best validation AUC is kept."""

    kind = "link_predictor"

    def train(self, estimator: KappaGCNLinkPredictor, split: EdgeSplit, **run: Any) -> KappaGCNLinkPredictor:
        """Fit a predictor to a split."""
        return estimator.fit_split(self.data, split, **run)

    def record(self, fitted: KappaGCNLinkPredictor, split_run: SplitRun[EdgeSplit]) -> Record:
        """Metrics of a run and of simple scores; the split goes into the folder of the run."""
        result, split = fitted.result_, split_run.split
        record: Record = {
            "validation_auc": result.best["validation_auc"],
            "epochs": result.epochs,
            "best_epoch": result.best_epoch,
            "stopped_by": result.stopped_by,
            "seconds": round(result.seconds, 2),
            "curvatures": fitted.curvatures_,
        }
        if split.final_test_pairs().edges.shape[1]:
            record |= {"test": fitted.evaluate(), "baselines": baseline_metrics(self.data, split)}
        save_edge_split(split, self.folder_of(split_run) / "split.npz")
        return record

    def score(self, record: Record) -> tuple[float, ...]:
        """Validation AUC."""
        return (record["validation_auc"],)

    def results(self, fitted: KappaGCNLinkPredictor, best: SplitRun[EdgeSplit], records: list[Record]) -> Record:
        """Test metrics beside those of simple scores, with intervals and a verdict."""
        count = best.split.final_test_pairs().edges.shape[1]
        edges, others = fitted.test_scores() if count else (np.empty(0), np.empty(0))
        links = fitted.top_links(SHOWN)
        sources, targets = [
            np.array([str(getattr(link, end)) for link in links], np.str_) for end in ("source", "target")
        ]
        probabilities = np.array([link.probability for link in links])
        fitted.save(self.folder / "model.safetensors")
        self.copy_file(best, "split.npz")
        save_links(self.folder / "links.npz", Links(edges, others, sources, targets, probabilities))
        measured = self._measured([record for record in records if "test" in record], (edges, others))
        return {"test_pairs": 2 * count, "kept": best.numbers["split"], **measured}

    def _measured(self, tested: list[Record], scores: tuple[Array, Array]) -> Record:
        """Metrics with 95 % intervals, over splits or by resampling the test pairs of one; baselines; a verdict."""
        if not tested:
            return {"roc_auc": None, "metrics": {}, "intervals": {}, "baselines": {}, "verdict": "no test edges."}
        splits, names = [split_run.split for split_run in self.runs], list(tested[0]["test"])
        metrics = {name: float(np.mean([record["test"][name] for record in tested])) for name in names}
        baselines = {
            name: {metric: float(np.mean([r["baselines"][name][metric] for r in tested])) for metric in names}
            for name in tested[0]["baselines"]
        }
        best = best_baseline(baselines)
        if len(tested) > 1:
            intervals, gap = _over_splits(tested, splits, names, best)
        else:
            simple = baseline_test_scores(best, self.data, splits[0])
            intervals, gap = _over_pairs(scores, simple, names)
        test_edges = sum(split.final_test_pairs().edges.shape[1] for split in splits)
        return {
            "roc_auc": metrics["roc_auc"],
            "metrics": metrics,
            "intervals": intervals,
            "baselines": baselines,
            "difference": {"baseline": best, "interval": gap},
            "verdict": verdict(intervals["roc_auc"], gap, best, baselines[best]["roc_auc"], test_edges),
        }

    def arrays(self, fitted: KappaGCNLinkPredictor, split: EdgeSplit) -> Embedded:
        """Points of the nodes."""
        vectors, manifold = fitted.tangent(), fitted.model_.manifold
        return Embedded(
            tangent=vectors,
            points=fitted.embed(),
            dims=np.array(getattr(manifold, "dims", [vectors.shape[1]])),
            curvatures=np.array(fitted.curvatures_),
            **graph_arrays(self.data),
        )


def _over_splits(
    tested: list[Record], splits: Sequence[EdgeSplit], names: list[str], best: str
) -> tuple[dict[str, list[float]], list[float]]:
    """Intervals of the means over splits, and of the difference of the AUC to that of the best baseline."""
    tests = [set(pair_keys(split.final_test_pairs().edges, split.num_nodes).tolist()) for split in splits]
    means = {name: over_splits([record["test"][name] for record in tested], tests) for name in names}
    gaps = [record["test"]["roc_auc"] - record["baselines"][best]["roc_auc"] for record in tested]
    within = {name: np.clip(mean.bounds or [], 0, 1).tolist() for name, mean in means.items()}
    return within, over_splits(gaps, tests).bounds or []


def _over_pairs(
    scores: tuple[Array, Array], simple: tuple[Array, Array], names: list[str]
) -> tuple[dict[str, list[float]], list[float]]:
    """Intervals as in `_over_splits`, by resampling the test pairs of one split; run and baseline share the draws."""
    from scipy.stats import bootstrap  # takes half a second to import

    def measured(edges: Array, others: Array) -> Array:
        metrics = link_metrics(scores[0][edges], scores[1][others])
        gap = metrics["roc_auc"] - roc_auc(simple[0][edges], simple[1][others])
        return np.array([*(metrics[name] for name in names), gap])

    places = [np.arange(len(side)) for side in scores]
    draws = max(FEWEST, min(RESAMPLES, DRAWN // sum(map(len, places))))
    options: dict[str, Any] = {"n_resamples": draws, "batch": 1, "vectorized": False, "method": "percentile"}
    ends = [measured(*places)] * 2  # of a single test edge
    if min(map(len, places)) > 1:
        ends = bootstrap(places, measured, rng=np.random.default_rng(0), **options).confidence_interval
    bounds = np.stack(ends, 1).tolist()
    return dict(zip(names, bounds, strict=False)), bounds[-1]
