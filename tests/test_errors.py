"""Errors: one base class, messages that say where a run stands."""

import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from kappagcn import errors

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_errors_have_one_base_and_warnings_are_warnings(kind):
    assert issubclass(kind, Warning if kind.__name__.endswith("Warning") else errors.KappaGCNError)
    assert kind.__doc__


def test_a_diverged_run_names_the_epoch_the_value_and_the_checkpoint():
    error = errors.DivergedError("loss", float("inf"), 7)
    assert str(error).startswith("epoch 7: expected a finite loss, found inf. The network holds the state of epoch 6.")
    error.saved_at(Path("run/checkpoint.safetensors"))
    assert str(error).endswith("It is saved in run/checkpoint.safetensors.")


def test_a_failed_embedding_is_compared_with_one_place_for_all_points():
    error = errors.EmbeddingFailedError("D_avg", 1.25, 1.0, "H2")
    assert "in H2 that is better than all points at one place (D_avg 1), found 1.25" in str(error)


def test_a_lost_worker_is_reported_where_it_says():
    assert errors.WorkerLostError("worker 1 is gone").report_here
    assert not errors.WorkerLostError("worker 1 is gone", report_here=False).report_here


def test_errors_of_files_travel_between_processes():
    error = pickle.loads(pickle.dumps(errors.GraphFileError("edges.csv, line 3: expected two nodes.")))
    assert str(error) == "edges.csv, line 3: expected two nodes."


def test_values_are_described_by_dtype_and_shape():
    assert errors.described(torch.zeros(2, 3)) == "float32 of shape (2, 3)"
    assert errors.described(np.arange(4)) == "int64 of shape (4,)"
    assert errors.described("nodes") == "str"
