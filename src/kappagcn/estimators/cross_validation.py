"""A classifier over the splits of a graph, all of it in one folder that survives a kill."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.distributed import ProcessGroup
from torch_geometric.data import Data

from kappagcn._version import __version__
from kappagcn.distributed import Communicator
from kappagcn.errors import CheckpointError, GraphError, PrecisionWarning, SplitError
from kappagcn.estimators.classifier import KappaGCNClassifier
from kappagcn.estimators.estimate import Estimate, bootstrapped
from kappagcn.estimators.labelled import read_labels
from kappagcn.graphs import BUILT_IN, TEST_SEEDS, Split, catalogue, random_split
from kappagcn.graphs.datasets.benchmark import load_benchmark
from kappagcn.io_atomic import atomic_write
from kappagcn.saved import PARTS, Embedded, save_embedded, save_json
from kappagcn.training import final_evaluation
from kappagcn.training.run_folder import fingerprint, should_resume

__all__ = ["classify", "labelled", "splits_of"]

Array = NDArray[Any]
Record = dict[str, Any]
UNTESTED = {"accuracy": None, "macro_f1": None}


class SplitRun(NamedTuple):
    """A run on a split: the split's number, the split, and the number of the run on it."""

    number: int
    split: Split
    run: int


def labelled(name: str, root: str | Path | None = None) -> Data | None:
    """A built-in graph with labels, its features as the tables take them; None for what is not built in."""
    if name not in BUILT_IN and name not in catalogue():
        return None
    benchmark = load_benchmark(name, root)
    data = benchmark.data.clone()
    if not benchmark.has_features:
        data.x = None
    return data


def splits_of(graph: str, data: Data, count: int, root: str | Path | None = None) -> list[Split]:
    """The splits to report: a dataset's own; the masks of a file; otherwise class by class at random, seeds fixed.

    Args:
        graph: A built-in name or a path.
        data: The graph, with labels.
        count: How many.
        root: Folder in which datasets are looked for first.

    >>> from kappagcn.graphs import disease
    >>> splits_of("disease", disease(), 2)[0]
    Split(random 2144199730: 600 train, 100 stopping, 100 validation, 200 test)
    """
    if data.get("y") is None:
        raise GraphError(f"{graph}: expected a graph with labels to learn from, found none. Name them with --labels.")
    if graph in BUILT_IN or graph in catalogue():
        return [load_benchmark(graph, root).split(number) for number in range(count)]
    if data.get("train_mask") is not None:
        if count > 1:
            raise SplitError(f"{graph}: expected 1 split, the one of its masks, found {count} asked for.")
        return [Split.from_masks(data)]
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
) -> Record:
    """Train on every split, evaluate on its test nodes, and keep the run whose stopping nodes came out best.

    Seeds are the classifier's plus 1000 times the number of the split plus that of the run.

    Args:
        classifier: The settings.
        data: The graph with its labels.
        splits: Nodes for training, stopping, validation and testing.
        folder: Where everything is kept.
        runs: So many on each split.
        resume: Go on with what is in `folder`, if there is something.
        report: Called with each finished run's record, how many are done and how many there are.
        group: Process group of torch.distributed to train with. Rank 0 writes and returns the summary, other ranks an
            empty one. None to work in this process alone.
    """
    about = {
        "kappagcn": __version__,
        "classifier": {name: value for name, value in classifier.get_params().items() if name != "verbose"},
        "splits": [split.name for split in splits],
        "runs": runs,
        "data": fingerprint(data.edge_index, data.get("edge_weight"), data.get("x"), data.y),
    }
    communicator = Communicator.of(group)
    communicator.run_on_rank0(lambda: _begin(folder, about, resume=resume))
    every = [SplitRun(number, split, run) for number, split in enumerate(splits) for run in range(runs)]
    labels = read_labels(data)
    records: list[Record] = []
    fitted: dict[int, KappaGCNClassifier] = {}
    for done, split_run in enumerate(every, 1):
        record, own = _one(classifier, data, labels, split_run, folder, communicator)
        records.append(record)
        if own is not None and communicator.run_on_rank0(lambda: _best(records)) == done - 1:
            fitted = {done - 1: own}  # the best so far, which need not be read back
        if report is not None and communicator.rank == 0:
            report(records[-1], done, len(every))
    place = communicator.run_on_rank0(lambda: _best(records))
    best = every[place]
    own = fitted.get(place) or _fitted(classifier, data, labels, best, folder, communicator)  # finished: only read back
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
    return _finish(own, data, best, records, folder)


def _best(records: list[Record]) -> int:
    """The place of the run whose stopping nodes came out best; test nodes have no say."""
    return max(range(len(records)), key=lambda i: (records[i]["stopping_accuracy"] or 0.0, -records[i]["best_loss"]))


def _begin(folder: Path, about: Record, *, resume: bool) -> None:
    if should_resume(folder, about, resume=resume):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise CheckpointError(f"{folder}: expected a folder to write in, found {problem.strerror}.") from None
    save_json(folder / "config.json", about)


def _fitted(
    classifier: KappaGCNClassifier,
    data: Data,
    labels: Array,
    split_run: SplitRun,
    folder: Path,
    communicator: Communicator,
) -> KappaGCNClassifier:
    seed = classifier.random_state + 1000 * split_run.number + split_run.run
    own = type(classifier)(**{**classifier.get_params(), "random_state": seed})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # said once, for all runs
        directory = _folder(folder, split_run)
        return own.fit_split(data, labels, split_run.split, folder=directory, resume=True, group=communicator)


def _folder(folder: Path, split_run: SplitRun) -> Path:
    return folder / "runs" / f"split{split_run.number}-run{split_run.run}"


def _known(path: Path) -> Record | None:
    """The record of a run that has been done."""
    if not path.exists():
        return None
    try:
        record: Record = json.loads(path.read_text())
        assert {"accuracy", "macro_f1", "stopping_accuracy", "best_loss", "seconds", "capped_rows"} <= set(record)
        return record
    except (OSError, ValueError, TypeError, AssertionError) as problem:
        raise CheckpointError(
            f"{path}: expected the record of a run, found {problem or 'another'}. Remove it; its run is done again."
        ) from None


def _one(
    classifier: KappaGCNClassifier,
    data: Data,
    labels: Array,
    split_run: SplitRun,
    folder: Path,
    communicator: Communicator,
) -> tuple[Record, KappaGCNClassifier | None]:
    """The record of a run and its classifier; None where the record was there. An empty record on ranks above 0."""
    path = _folder(folder, split_run) / "record.json"
    known: Record | None = communicator.run_on_rank0(lambda: _known(path))
    if known is not None:
        return known, None
    own = _fitted(classifier, data, labels, split_run, folder, communicator)
    if communicator.rank > 0:
        return {}, own
    assert own._data is not None
    best = own.result_.best
    split, tested = split_run.split, len(split_run.split.final_test_nodes()) > 0
    record = {
        "split": split_run.number,
        "split_name": split.name,
        "run": split_run.run,
        "seed": own.random_state,
        **(final_evaluation(own.model_, own._data, split, scores=own.scores()) if tested else UNTESTED),
        "stopping_accuracy": best.get("stopping_accuracy"),
        "best_loss": best.get("stopping_loss", best["train_loss"]),
        "epochs": own.result_.epochs,
        "best_epoch": own.result_.best_epoch,
        "seconds": round(own.result_.seconds, 2),
        "curvatures": own.curvatures_,
        "capped_rows": own.result_.capped_rows,
    }
    save_json(path, record)
    return record, own


def _finish(own: KappaGCNClassifier, data: Data, best: SplitRun, records: list[Record], folder: Path) -> Record:
    """The best run's network, points and probabilities beside what all runs came to."""
    kept = _folder(folder, best)
    if own.can_be_saved:
        own.save(folder / "model.safetensors")
    else:
        _copy(kept, folder, "model.safetensors")
    _copy(kept, folder, "metrics.jsonl")
    save_embedded(folder / "embedding.npz", _embedded(own, data, best.split))
    scores = [record["accuracy"] for record in records if record["accuracy"] is not None]
    mean = bootstrapped(scores) if scores else None
    summary: Record = {
        "graph": str(data.get("name") or "graph"),
        "space": own.space,
        "learned_space": own.space_,
        "accuracy": None if mean is None else mean.mean,
        "interval": _interval(mean),
        "macro_f1": float(np.mean([record["macro_f1"] for record in records])) if scores else None,
        "splits": len({record["split"] for record in records}),
        "runs": len(records),
        "test_nodes": len(best.split.final_test_nodes()),
        "features": own.can_be_saved,
        "kept": {"split": best.number, "run": best.run},
        "curvatures": own.curvatures_,
        "epochs": own.result_.epochs,
        "best_epoch": own.result_.best_epoch,
        "seconds": round(sum(record["seconds"] for record in records), 2),
        "records": records,
    }
    save_json(folder / "summary.json", summary)
    return summary


def _interval(mean: Estimate | None) -> list[float] | None:
    return None if mean is None or mean.interval is None else [mean.mean - mean.interval, mean.mean + mean.interval]


def _copy(kept: Path, folder: Path, name: str) -> None:
    try:
        with (kept / name).open("rb") as source, atomic_write(folder / name) as file:
            shutil.copyfileobj(source, file)
    except OSError as problem:
        raise CheckpointError(f"{folder / name}: cannot be written ({problem.strerror}).") from None


@torch.no_grad()
def _embedded(own: KappaGCNClassifier, data: Data, split: Split) -> Embedded:
    points, tangent = own.embed(), own.tangent()
    parts = np.zeros(len(points), np.uint8)
    nodes = (split.train, split.stopping, split.validation, split.final_test_nodes())
    for place, some in enumerate(nodes, 1):
        parts[some.numpy()] = place
    assert len(PARTS) == len(nodes) + 1
    manifold = own.model_.manifold
    assert manifold is not None
    first, second = data.edge_index.numpy()
    names = data.get("node_names")
    return Embedded(
        tangent=tangent,
        points=points,
        dims=np.array(manifold.dims),
        curvatures=np.array(own.curvatures_),
        edges=np.stack([first, second], 1)[first < second],
        names=None if names is None else np.array([str(name) for name in names]),
        labels=own.labels_,
        class_names=np.array([str(name) for name in own.classes_]),
        probabilities=own.predict_proba(),
        parts=parts,
    )
