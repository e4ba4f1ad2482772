"""A fitted classifier as a safetensors file, without its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kappagcn.classification.settings import ClassificationSettings
from kappagcn.errors import GraphError
from kappagcn.models import NodeClassifier, build_model
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
        model = build_model(about["settings"].get("model", "kappa-gcn"), **about["options"])
        load_state(model, tensors)
        settings = ClassificationSettings(**about["settings"])
        columns = settings.feature_norm == "columns"
        statistics = (tensors["features/mean"], tensors["features/spread"]) if columns else None
        classes = np.array(about["classes"])
        if len(classes) != about["options"]["num_classes"]:
            raise ValueError(f"{len(classes)} classes for a network of {about['options']['num_classes']}")
        return as_loaded(kind(**about["classifier"]), classes, model, settings, statistics, about)


def as_loaded(
    classifier: Any,
    classes: NDArray[Any],
    model: NodeClassifier,
    settings: ClassificationSettings,
    statistics: tuple[Tensor, Tensor] | None,
    about: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """A new classifier with a trained network, without a graph: it predicts for graphs with the same features."""
    fitted = type(classifier)(**classifier.get_params())
    fitted.classes_, fitted.model_, fitted.history_ = classes, model.eval(), []
    fitted._data, fitted._params, fitted.node_names_ = None, fitted.get_params(), None
    fitted._settings, fitted._statistics, fitted._own_features = settings, statistics, True
    fitted.feature_names_, fitted.column_rules_ = about.get("feature_names"), about.get("column_rules")
    fitted._unit, fitted._is_weighted = about.get("weight_unit", 1.0), about.get("is_weighted", False)
    return fitted
