"""A classifier over the splits of a graph, in one run folder that can be resumed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn.classification.baselines import verdict
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.evaluation import covered, mean_accuracy, paired_difference, run_metrics, run_record
from kappagcn.distributed import Communicator
from kappagcn.errors import GraphError, PrecisionWarning
from kappagcn.graphs import BUILT_IN, TEST_SEEDS, Split, catalogue, random_split
from kappagcn.graphs.datasets.graph_dataset import load_benchmark
from kappagcn.run_folder import Embedded
from kappagcn.training.checkpoint import fingerprint
from kappagcn.training.labelled import read_labels
from kappagcn.training.node_arrays import as_text, graph_arrays, node_columns
from kappagcn.training.split_runs import Record, Report, SplitRun, SplitRuns

Baselines = Callable[[], dict[str, list[Record]]]
METRICS = ("accuracy", "balanced_accuracy", "macro_f1", "auc")


def load_labelled(name: str, root: str | Path | None = None) -> Data | None:
    """A built-in graph with labels, with features prepared as for the paper's tables; None for other names."""
    if name not in BUILT_IN and name not in catalogue():
        return None
    return load_benchmark(name, root)[0].clone()


def splits_of(graph: str, data: Data, count: int, root: str | Path | None = None) -> list[Split]:
    """Splits for reported results: the dataset's own, the masks of a file, or stratified random ones with fixed seeds.

    Args:
        graph: A built-in name or a path.
        data: The graph, with labels.
        count: Number of splits.
        root: Folder in which datasets are looked for first.

    >>> from kappagcn.graphs import disease
    >>> splits_of("disease", disease(), 2)[0]
    Split(random 2144199730: 600 train, 100 stopping, 100 validation, 200 test)
    """
    if data.get("y") is None:
        raise GraphError(
            f"{graph}: expected a graph with labels to learn from, found none. Name them with --labels "
            "FILE, or --nodes FILE --label COLUMN."
        )
    if graph in BUILT_IN or graph in catalogue():
        return [load_benchmark(graph, root).numbered_split(number) for number in range(count)]
    if data.get("train_mask") is not None:
        masks = data.train_mask.shape[1] if data.train_mask.dim() == 2 else 1
        if count > masks:
            own = "1 split, the one of its masks" if masks == 1 else f"at most {masks} splits, those of its masks"
            raise GraphError(f"{graph}: expected {own}, found {count} asked for.")
        return [Split.from_masks(data, number) for number in range(count)]
    return [random_split(data.y, seed) for seed in TEST_SEEDS[:count]]


def classify(
    classifier: KappaGCNClassifier,
    data: Data,
    splits: Sequence[Split],
    folder: Path,
    *,
    runs: int = 1,
    resume: bool = False,
    report: Report | None = None,
    group: ProcessGroup | Communicator | None = None,
    baselines: Baselines | None = None,
) -> Record:
    """Train on every split, evaluate on its test nodes, and keep the run with the best stopping accuracy.

    The seed of a run is that of the classifier, which is not fitted itself, plus 1000 times the number of the split
    plus the number of the run. See `SplitRuns` for the other arguments; on ranks above 0 the summary is empty.
    `baselines` is called on rank 0 after training for records of baselines on the same splits (`baselines.compare`).
    """
    split_runs = [
        SplitRun(split, classifier.run_seed(1000 * number + run), {"split": number, "run": run})
        for number, split in enumerate(splits)
        for run in range(runs)
    ]
    data_hash = fingerprint(data.edge_index, data.get("edge_weight"), data.get("x"), data.y)
    classifier_runs = ClassifierRuns(classifier, data, split_runs, folder, group)
    classifier_runs.baselines = baselines
    return classifier_runs.run({"runs": runs, "data": data_hash}, resume=resume, report=report)


class ClassifierRuns(SplitRuns[KappaGCNClassifier, Split]):
    """Runs of a classifier on the splits of a graph, of which that with the best stopping accuracy is kept."""

    kind = "classifier"
    baselines: Baselines | None = None

    def train(self, estimator: KappaGCNClassifier, split: Split, **run: Any) -> KappaGCNClassifier:
        """Fit a classifier to a split."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)  # one warning for all runs
            return estimator.fit_split(self.data, read_labels(self.data), split, **run)

    def record(self, fitted: KappaGCNClassifier, split_run: SplitRun[Split]) -> Record:
        """Metrics of a run, and which test nodes are right."""
        split, test = split_run.split, {}
        if len(split.final_test_nodes()):
            assert fitted._data is not None
            test = {"test": run_metrics(fitted.scores(), fitted._data, split)}
        return test | run_record(fitted.result_)

    def is_complete(self, record: Record) -> bool:
        """Whether a record has what the summary reads, and the marks of its test nodes."""
        names = {"stopping_accuracy", "stopping_loss", "seconds", "capped_rows"}
        return names <= record.keys() and "correct" in record.get("test", {"correct": ""})

    def score(self, record: Record) -> tuple[float, ...]:
        """Stopping accuracy; of equal ones the run with the lowest stopping loss is better."""
        return record["stopping_accuracy"], -record["stopping_loss"]

    def results(self, fitted: KappaGCNClassifier, best: SplitRun[Split], records: list[Record]) -> Record:
        """Test metrics beside those of baselines, with intervals and a verdict."""
        if fitted.can_be_saved:
            fitted.save(self.folder / "model.safetensors")
        else:
            self.copy_file(best, "model.safetensors")
        capped = max(record["capped_rows"] for record in records)
        if capped:
            warnings.warn(
                f"up to {capped} of {self.data.num_nodes} rows lie farther out than {fitted.space} resolves in single "
                "precision and were taken as just inside. Smaller features (feature_scale) keep them in.",
                PrecisionWarning,
                stacklevel=2,
            )
        is_tested = all("test" in record for record in records)
        baselines = self.baselines() if self.baselines is not None and is_tested else {}
        tested = [set(split_run.split.final_test_nodes().tolist()) for split_run in self.runs]
        return {
            **_measured(records, baselines, tested, len({record["split"] for record in records})),
            "runs": len(records),
            "test_nodes": len(best.split.final_test_nodes()),
            "features": fitted.can_be_saved,
            "kept": best.numbers,
            "curvature_intervals": _intervals(fitted, records) if fitted.intervals else None,
            "records": [_without_marks(record) for record in records],
        }

    def arrays(self, fitted: KappaGCNClassifier, split: Split) -> Embedded:
        """Points, classes, probabilities, and the role of each node."""
        parts = np.zeros(self.data.num_nodes, np.uint8)
        for i, nodes in enumerate((split.train, split.stopping, split.validation, split.final_test_nodes()), 1):
            parts[nodes.numpy()] = i  # index into PARTS
        return Embedded(
            tangent=fitted.tangent(),
            points=fitted.embed(),
            dims=np.array(fitted.dims_),
            curvatures=np.array(fitted.curvatures_),
            labels=fitted.labels_,
            class_names=as_text(fitted.classes_),
            probabilities=fitted.predict_proba(),
            parts=parts,
            **graph_arrays(self.data),
            **node_columns(self.data),
        )


def _measured(records: list[Record], baselines: dict[str, list[Record]], tested: list[set[int]], splits: int) -> Record:
    """Test metrics with the interval of the accuracy, baselines, paired differences to them, and the verdict."""
    tests, nodes = [r["test"] for r in records if "test" in r], [t for t in tested if t]
    if not tests:
        return {"accuracy": None, "interval": None, **_means([], METRICS[1:]), "baselines": {}, "verdict": None}
    accuracy, means = mean_accuracy(tests, nodes), _means(tests, METRICS[1:])
    compared = {name: _means(rows, METRICS) for name, rows in baselines.items()}
    differences = {name: paired_difference(tests, rows, nodes) for name, rows in baselines.items()}
    accuracies = {name: float(np.mean([row["accuracy"] for row in rows])) for name, rows in baselines.items()}
    return {
        "accuracy": accuracy.mean,
        "interval": np.clip(accuracy.bounds or [], 0, 1).tolist(),
        "interval_covers": covered(splits, len(tests)),
        **means,
        "baselines": compared,
        "differences": {name: {"mean": each.mean, "interval": each.bounds} for name, each in differences.items()},
        "verdict": verdict(accuracy.mean, accuracies, differences, means["auc"], len(nodes[0])) if baselines else None,
    }


def _intervals(fitted: KappaGCNClassifier, records: list[Record]) -> list[dict[str, Any] | None] | None:
    """Intervals of the curvatures, which are not local where all of several runs ended inside; None before the end."""
    if fitted.result_.stopped_by == "epochs":
        return None
    intervals: list[dict[str, Any] | None] = []
    for place, interval in enumerate(fitted.curvature_intervals()):
        ends = [record["curvatures"][-len(fitted.curvatures_) :][place] for record in records if record["curvatures"]]
        if interval is None:
            intervals.append(None)
        else:
            agree = len(ends) > 1 and all(map(interval.holds, ends))
            intervals.append(replace(interval, local=not agree).as_dict())
    return intervals


def _without_marks(record: Record) -> Record:
    """A record without the marks of its test nodes, which stay in the folder of the run."""
    test = {name: value for name, value in record.get("test", {}).items() if name != "correct"}
    return {**record, "test": test} if test else record


def _means(records: Sequence[Record], names: Sequence[str]) -> dict[str, float | None]:
    """Means of metrics over the records that have them; None where no record has the metric."""
    values = {name: [record[name] for record in records if record.get(name) is not None] for name in names}
    return {name: float(np.mean(numbers)) if numbers else None for name, numbers in values.items()}
