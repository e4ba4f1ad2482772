"""Reproduction of arXiv:1911.05076: the search for settings, runs as records, tables and figures made from them."""

from kappagcn.paper.cells import DATASETS, ROWS, Cell, cells
from kappagcn.paper.classification import Experiment, Job, load_settings, run, save_settings
from kappagcn.paper.runs import RecordFile, run_all
from kappagcn.paper.searching import settings
from kappagcn.paper.tables import Table, accuracy_table, curvature_table

__all__ = [
    "DATASETS",
    "ROWS",
    "Cell",
    "Experiment",
    "Job",
    "RecordFile",
    "Table",
    "accuracy_table",
    "cells",
    "curvature_table",
    "load_settings",
    "run",
    "run_all",
    "save_settings",
    "settings",
]
