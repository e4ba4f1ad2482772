"""A fitted classifier as a safetensors file, without its graph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import GraphError
from kappagcn.models import build_model
from kappagcn.training.checkpoint import load_state, loading, save_tensors, state_tensors


def save_classifier(classifier: Any, path: Path) -> Path:
    """Write a classifier that was fitted with features."""
    if not classifier.can_be_saved:
        raise GraphError("expected features: fitted without them, a classifier can predict for its own graph only.")
    about = {
        "classifier": classifier._params,
        "classes": classifier.classes_.tolist(),
        "settings": asdict(classifier._settings),
        "options": classifier.model_.options,
        "feature_names": classifier.feature_names_,
        "column_rules": classifier.column_rules_,
        "weight_unit": classifier._unit,
        "is_weighted": classifier._is_weighted,
    }
    tensors = state_tensors(classifier.model_)
    if classifier._statistics is not None:
        tensors |= {"features/mean": classifier._statistics[0], "features/spread": classifier._statistics[1]}
    return save_tensors(path, tensors, about)


def restore_classifier(kind: Any, path: Path) -> Any:
    """The classifier in a file that `save_classifier` wrote."""
    with loading(path, "a classifier") as (tensors, about):
        classifier = kind(**about["classifier"])
        model = build_model(about["settings"].get("model", "kappa-gcn"), **about["options"])
        load_state(model, tensors)
        settings = ClassificationSettings(**about["settings"])
        columns = settings.feature_norm == "columns"
        statistics = (tensors["features/mean"], tensors["features/spread"]) if columns else None
        classes = np.array(about["classes"])
        if len(classes) != about["options"]["num_classes"]:
            raise ValueError(f"{len(classes)} classes for a network of {about['options']['num_classes']}")
    classifier.classes_, classifier.model_, classifier.history_ = classes, model.eval(), []
    classifier._data, classifier._params, classifier.node_names_ = None, classifier.get_params(), None
    classifier._settings, classifier._statistics, classifier._own_features = settings, statistics, True
    classifier.feature_names_, classifier.column_rules_ = about.get("feature_names"), about.get("column_rules")
    classifier._unit, classifier._is_weighted = about.get("weight_unit", 1.0), about.get("is_weighted", False)
    return classifier
