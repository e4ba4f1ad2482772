"""Settings in files, runs as records, the paper's tables from them, and a classifier for one line of code."""

from kappagcn.experiments.cells import DATASETS, ROWS, Cell, cells
from kappagcn.experiments.classifier import KappaGCNClassifier
from kappagcn.experiments.config import Experiment, FeatureConfig, load_experiment, save_experiment
from kappagcn.experiments.defaults import default_experiment
from kappagcn.experiments.protocol import Benchmark, load_benchmark
from kappagcn.experiments.runs import Job, RecordFile, run, run_all
from kappagcn.experiments.searching import search, settings
from kappagcn.experiments.tables import Estimate, Table, accuracy_table, bootstrapped, curvature_table

__all__ = [
    "DATASETS",
    "ROWS",
    "Benchmark",
    "Cell",
    "Estimate",
    "Experiment",
    "FeatureConfig",
    "Job",
    "KappaGCNClassifier",
    "RecordFile",
    "Table",
    "accuracy_table",
    "bootstrapped",
    "cells",
    "curvature_table",
    "default_experiment",
    "load_benchmark",
    "load_experiment",
    "run",
    "run_all",
    "save_experiment",
    "search",
    "settings",
]
