"""A classifier over the splits of a graph, in one run folder that can be resumed."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn._version import __version__
from kappagcn.classification.accuracy import covered, mean_accuracy, paired_difference, run_metrics
from kappagcn.classification.baselines import verdict
from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.distributed import Communicator
from kappagcn.embedding.arrays import node_columns
from kappagcn.errors import CheckpointError, GraphError, PrecisionWarning, SplitError
from kappagcn.graphs import BUILT_IN, TEST_SEEDS, Split, catalogue, random_split
from kappagcn.graphs.datasets.benchmark import load_benchmark
from kappagcn.run_folder import Embedded, read_json, save_embedded, save_json, should_resume, writing
from kappagcn.training.checkpoint import fingerprint
from kappagcn.training.edge_weights import weights_of_runs
from kappagcn.training.labelled import read_labels
from kappagcn.training.provenance import provenance
from kappagcn.training.run_lock import locked

__all__ = ["classify", "load_labelled", "splits_of"]

Record = dict[str, Any]
METRICS = ("accuracy", "balanced_accuracy", "macro_f1", "auc")


def load_labelled(name: str, root: str | Path | None = None) -> Data | None:
    """A built-in graph with labels, with features prepared as for the paper's tables; None for other names."""
    if name not in BUILT_IN and name not in catalogue():
        return None
    benchmark = load_benchmark(name, root)
    data = benchmark.data.clone()
    if not benchmark.has_features:
        data.x = None
    return data


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
        return [load_benchmark(graph, root).split(number) for number in range(count)]
    if data.get("train_mask") is not None:
        masks = data.train_mask.shape[1] if data.train_mask.dim() == 2 else 1
        if count > masks:
            own = "1 split, the one of its masks" if masks == 1 else f"at most {masks} splits, those of its masks"
            raise SplitError(f"{graph}: expected {own}, found {count} asked for.")
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
    report: Callable[[Record, int, int], None] | None = None,
    group: ProcessGroup | Communicator | None = None,
    baselines: Callable[[], dict[str, list[Record]]] | None = None,
) -> Record:
    """Train on every split, evaluate on its test nodes, and keep the run with the best stopping accuracy.

    The seed of a run is that of the classifier plus 1000 times the number of the split plus the number of the run.

    Args:
        classifier: Classifier with the settings; it is not fitted itself.
        data: The graph with its labels.
        splits: Nodes for training, stopping, validation and testing.
        folder: Run folder.
        runs: Number of runs on each split.
        resume: Continue the runs in `folder`, if there are any.
        report: Called with each finished run's record, the number of finished runs and the number of all.
        group: Process group of torch.distributed to train with. Rank 0 writes and returns the summary, other ranks an
            empty one. None to work in this process alone.
        baselines: Called on rank 0 after training for records of baselines on the same splits (`baselines.compare`).
    """
    about = {
        "kappagcn": __version__,
        "classifier": {
            name: value for name, value in classifier.get_params().items() if name not in ("verbose", "intervals")
        },
        "splits": [split.name for split in splits],
        "runs": runs,
        "data": fingerprint(data.edge_index, data.get("edge_weight"), data.get("x"), data.y),
    }
    communicator = Communicator.of(group)
    validation = _CrossValidation(classifier, data, read_labels(data), folder, communicator)
    split_runs = [SplitRun(number, split, run) for number, split in enumerate(splits) for run in range(runs)]
    with locked(folder, communicator):
        communicator.run_on_rank0(lambda: _start(folder, about, resume=resume))
        return _run_splits(validation, split_runs, report, baselines)


def _run_splits(
    validation: _CrossValidation,
    split_runs: list[SplitRun],
    report: Callable[[Record, int, int], None] | None,
    baselines: Callable[[], dict[str, list[Record]]] | None,
) -> Record:
    """The summary of all runs, or on ranks above 0 an empty one."""
    classifier, data, communicator = validation.classifier, validation.data, validation.communicator
    records: list[Record] = []
    best, best_fit = 0, None
    for done, split_run in enumerate(split_runs, 1):
        record, fitted = validation.run(split_run)
        records.append(record)
        if communicator.run_on_rank0(lambda: _best(records)) == done - 1:
            best, best_fit = done - 1, fitted
        if report is not None and communicator.rank == 0:
            report(record, done, len(split_runs))
    fitted = best_fit or validation.fit(split_runs[best])  # a finished run is not trained again
    if communicator.rank > 0:
        return {}
    capped = max(record["capped_rows"] for record in records)
    if capped:
        warnings.warn(
            f"up to {capped} of {data.num_nodes} rows lie farther out than {classifier.space} resolves in single "
            "precision and were taken as just inside. Smaller features (feature_scale) keep them in.",
            PrecisionWarning,
            stacklevel=2,
        )
    compared = baselines() if baselines is not None and all("test" in record for record in records) else {}
    tested = [set(split_run.split.final_test_nodes().tolist()) for split_run in split_runs]
    return validation.finish(fitted, split_runs[best], records, compared, tested)


def _start(folder: Path, about: Record, *, resume: bool) -> None:
    if not should_resume(folder, about, resume=resume):
        save_json(folder / "config.json", about)


def _best(records: list[Record]) -> int:
    """Index of the run with the best stopping accuracy, ties broken by the lowest stopping loss."""
    return max(range(len(records)), key=lambda i: (records[i]["stopping_accuracy"], -records[i]["stopping_loss"]))


class SplitRun(NamedTuple):
    """One run on a split: number of the split, the split, number of the run."""

    number: int
    split: Split
    run: int


@dataclass(frozen=True)
class _CrossValidation:
    """Runs of a classifier on the splits of a graph."""

    classifier: KappaGCNClassifier
    data: Data
    labels: NDArray[Any]
    folder: Path
    communicator: Communicator

    def _run_folder(self, split_run: SplitRun) -> Path:
        return self.folder / "runs" / f"split{split_run.number}-run{split_run.run}"

    def fit(self, split_run: SplitRun) -> KappaGCNClassifier:
        """Train on a split, or resume the run in its folder."""
        seed = self.classifier.run_seed(1000 * split_run.number + split_run.run)
        fitted = type(self.classifier)(**{**self.classifier.get_params(), "random_state": seed})
        options: dict[str, Any] = {"folder": self._run_folder(split_run), "resume": True, "group": self.communicator}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)  # one warning for all runs
            return fitted.fit_split(self.data, self.labels, split_run.split, **options)

    def run(self, split_run: SplitRun) -> tuple[Record, KappaGCNClassifier | None]:
        """The record of a run, and its classifier, which is None for a run that was finished before.

        On ranks above 0 the record of a new run is empty.
        """
        path = self._run_folder(split_run) / "record.json"
        finished: Record | None = self.communicator.run_on_rank0(lambda: _read_record(path))
        if finished is not None:
            return finished, None
        fitted = self.fit(split_run)
        if self.communicator.rank > 0:
            return {}, fitted
        number, split, run = split_run
        record: Record = {"split": number, "split_name": split.name, "run": run, "seed": fitted.random_state}
        if len(split.final_test_nodes()):
            assert fitted._data is not None
            record["test"] = run_metrics(fitted.scores(), fitted._data, split)
        record |= {"edge_weights": fitted.edge_weights_} | fitted.result_.record()
        save_json(path, record)
        return record, fitted

    def finish(
        self,
        fitted: KappaGCNClassifier,
        best: SplitRun,
        records: list[Record],
        baselines: dict[str, list[Record]],
        tested: list[set[int]],
    ) -> Record:
        """Write network, metrics and arrays of the best run, and the summary of all runs."""
        names = ["metrics.jsonl"]
        if fitted.can_be_saved:
            fitted.save(self.folder / "model.safetensors")
        else:
            names.append("model.safetensors")
        for name in names:
            with writing(self.folder / name) as target, (self._run_folder(best) / name).open("rb") as source:
                shutil.copyfileobj(source, target)
        save_embedded(self.folder / "embedding.npz", _embedded(fitted, self.data, best.split))
        splits = len({record["split"] for record in records})
        summary: Record = {
            "graph": str(self.data.get("name") or "graph"),
            "model": fitted.model,
            "space": fitted.space,
            "learned_space": fitted.space_,
            **_measured(records, baselines, tested, splits),
            "splits": splits,
            "runs": len(records),
            "test_nodes": len(best.split.final_test_nodes()),
            "features": fitted.can_be_saved,
            "edge_weights": weights_of_runs([record.get("edge_weights") for record in records]),
            "kept": {"split": best.number, "run": best.run},
            "curvatures": fitted.curvatures_,
            "curvature_intervals": _intervals(fitted, records) if fitted.intervals else None,
            "epochs": fitted.result_.epochs,
            "best_epoch": fitted.result_.best_epoch,
            "seconds": round(sum(record["seconds"] for record in records), 2),
            "records": [_without_marks(record) for record in records],
        }
        save_json(self.folder / "summary.json", summary | provenance(self.classifier))
        return summary


def _measured(records: list[Record], baselines: dict[str, list[Record]], tested: list[set[int]], splits: int) -> Record:
    """Test metrics with the interval of the accuracy, baselines, paired differences to them, and the verdict."""
    tests, nodes = [r["test"] for r in records if "test" in r], [t for t in tested if t]
    if not tests:
        return {"accuracy": None, "interval": None, **_means([], METRICS[1:]), "baselines": {}, "verdict": None}
    accuracy, means = mean_accuracy(tests, nodes), _means(tests, METRICS[1:])
    compared = {name: _means(each, METRICS) for name, each in baselines.items()}
    differences = {name: paired_difference(tests, each, nodes) for name, each in baselines.items()}
    accuracies = {name: float(np.mean([each["accuracy"] for each in rows])) for name, rows in baselines.items()}
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
    values = {name: [each[name] for each in records if each.get(name) is not None] for name in names}
    return {name: float(np.mean(each)) if each else None for name, each in values.items()}


def _read_record(path: Path) -> Record | None:
    """The record of a finished run."""
    if not path.exists():
        return None
    record = read_json(path, "the record of a run")
    complete = {"stopping_accuracy", "stopping_loss", "seconds", "capped_rows"} <= set(record)
    if not complete or "correct" not in record.get("test", {"correct": ""}):
        raise CheckpointError(f"{path}: expected the record of a run, found another. Remove it to repeat the run.")
    return record


def _embedded(fitted: KappaGCNClassifier, data: Data, split: Split) -> Embedded:
    parts = np.zeros(data.num_nodes, np.uint8)
    for i, nodes in enumerate((split.train, split.stopping, split.validation, split.final_test_nodes()), 1):
        parts[nodes.numpy()] = i  # index into PARTS
    names = data.get("node_names")
    first, second = data.edge_index.numpy()
    return Embedded(
        tangent=fitted.tangent(),
        points=fitted.embed(),
        dims=np.array(fitted.dims_),
        curvatures=np.array(fitted.curvatures_),
        edges=np.stack([first, second], 1)[first < second],
        names=None if names is None else np.array([str(name) for name in names]),
        labels=fitted.labels_,
        class_names=np.array([str(name) for name in fitted.classes_]),
        probabilities=fitted.predict_proba(),
        parts=parts,
        **node_columns(data),
    )
