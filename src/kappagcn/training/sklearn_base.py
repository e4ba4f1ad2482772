"""What the estimators share with scikit-learn beside its base classes."""

from __future__ import annotations

import pickle
from typing import Any, Self

import sklearn.exceptions

from kappagcn.errors import ConfigError

__all__ = ["EXPECTED_FAILED_CHECKS", "NotFittedError", "SparseCopies", "graph_tags"]


class NotFittedError(ConfigError, sklearn.exceptions.NotFittedError):
    """An estimator that is used before `fit`; scikit-learn's error of that name too."""


class SparseCopies:
    """Deep copies of an estimator by pickling, since torch does not copy sparse tensors."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copy: Self = pickle.loads(pickle.dumps(self))
        memo[id(self)] = copy
        return copy


def graph_tags(tags: Any) -> Any:
    """Tags of an estimator whose input is a graph: sparse and dense adjacency matrices, weights that are positive."""
    tags.input_tags.sparse = True
    tags.input_tags.positive_only = True
    return tags


# Checks of scikit-learn's `check_estimator` that feed tables of samples, which are no graphs: pass this dict as its
# `expected_failed_checks`.
EXPECTED_FAILED_CHECKS = dict.fromkeys(
    (
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_classifiers_one_label",
        "check_classifiers_regression_target",
        "check_classifiers_train",
        "check_complex_data",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimator_sparse_tag",
        "check_estimators_dtypes",
        "check_estimators_empty_data_messages",
        "check_estimators_fit_returns_self",
        "check_estimators_nan_inf",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_requires_y_none",
        "check_supervised_y_2d",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
    ),
    "the input is a graph: a square adjacency matrix or edges, and no table with a row for each sample",
)
