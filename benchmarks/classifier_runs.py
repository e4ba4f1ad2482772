"""Runs of `KappaGCNClassifier` with its defaults on datasets, a line of JSON for each, none done twice."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from kappagcn.classification.classifier import KappaGCNClassifier
from kappagcn.classification.evaluation import final_evaluation
from kappagcn.graphs.datasets.graph_dataset import GraphDataset, load_benchmark
from kappagcn.paper.machine import made_by
from kappagcn.paper.runs import record_lines
from kappagcn.training.labelled import read_labels

RECORDS = Path(__file__).parents[1] / "records"


class Runs:
    """Records of runs by dataset, candidate and split.

    `purpose` is "validation" to choose by: test nodes are then never looked at. Where a dataset is published with its
    splits, the validation nodes of "validation" runs are those that stop training.
    """

    def __init__(self, name: str, candidates: dict[str, dict[str, Any]], purpose: str) -> None:
        self.path, self.candidates, self.purpose = RECORDS / f"{name}.jsonl", candidates, purpose

    def records(self) -> list[dict[str, Any]]:
        """All records of the candidates."""
        records = (json.loads(line) for _, line in record_lines(self.path))
        return [record for record in records if record["candidate"] in self.candidates]

    def run(self, datasets: list[str], splits: int, data: str | None, names: list[str] | None = None) -> None:
        """Do what is missing, split by split; all candidates, or those of these names."""
        finished = {(each["dataset"], each["candidate"], each["split"]) for each in self.records()}
        for dataset in datasets:
            benchmark = load_benchmark(dataset, data)
            for number in range(splits):
                for name in names or self.candidates:
                    if (dataset, name, number) not in finished:
                        record = self._run(benchmark, number, name)
                        with self.path.open("a") as file:
                            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def _run(self, benchmark: GraphDataset, number: int, name: str) -> dict[str, Any]:
        public = benchmark.entry is not None and benchmark.entry.split == "public"
        split = benchmark.numbered_split(number, "test" if public else self.purpose)
        data = benchmark[0]
        classifier = KappaGCNClassifier(**self.candidates[name], random_state=number, verbose=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.fit_split(data, read_labels(data), split)
        result = classifier.result_.record()
        if self.purpose == "test":
            accuracy = final_evaluation(classifier.model_, classifier._data, split)["accuracy"]
        else:
            accuracy = result["stopping_accuracy"] if public else result["validation_accuracy"]
        return {
            "dataset": benchmark.name,
            "candidate": name,
            "split": number,
            "split_name": split.name,
            "accuracy": accuracy,
            "curvatures": classifier.curvatures_,
            "epochs": result["epochs"],
            "seconds": result["seconds"],
            **made_by(),
        }

    def by_candidate(self, dataset: str) -> dict[str, dict[int, dict[str, Any]]]:
        """Records of a dataset by candidate and split."""
        own: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in self.candidates}
        for record in self.records():
            if record["dataset"] == dataset:
                own[record["candidate"]][record["split"]] = record
        return own
