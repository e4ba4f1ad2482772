"""Base of the estimators: the interface of scikit-learn, with the fields of the settings as arguments."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, fields
from typing import Any, Self

import sklearn.exceptions
from sklearn.base import BaseEstimator

from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError
from kappagcn.progress import line, reporting
from kappagcn.training.resources import resolve_device
from kappagcn.training.settings import Settings


class NotFittedError(ConfigError, sklearn.exceptions.NotFittedError):
    """An estimator that is used before `fit`; scikit-learn's error of that name too."""


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


class Estimator(BaseEstimator, Settings):
    """Base of the estimators, whose constructor takes the fields of their settings."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Describe the arguments in the docstring, before its attributes."""
        super().__init_subclass__(**options)
        if cls.__doc__ is not None and "    Attributes:\n" in cls.__doc__:
            arguments = (each for each in fields(cls) if each.default is not MISSING)
            lines = "".join(f"        {each.name}: {each.metadata['help']}\n" for each in arguments)
            cls.__doc__ = cls.__doc__.replace("    Attributes:\n", f"    Args:\n{lines}\n    Attributes:\n", 1)

    command: str | None = None  # command line that an instance was made by
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def check(self) -> None:
        """Refuse arguments that are wrong for any graph, or for this machine."""
        super().check()
        self.check_effects()
        resolve_device(self.device)

    @classmethod
    def from_settings(cls, settings: Settings, command: str | None = None) -> Self:
        """An estimator with these settings, which are checked; its runs record the command line that they are from."""
        estimator = cls(**asdict(settings))
        estimator.check()
        estimator.command = command
        return estimator

    def _fitted(self) -> Any:
        """The trained network."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"expected a {type(self).__name__} that was fitted, found a new one. Call fit first.")
        return self.model_

    @contextmanager
    def progress(
        self, what: str, communicator: Communicator, epochs: int | None = None
    ) -> Iterator[list[Callable[[dict[str, Any]], None]]]:
        """Callbacks for training that show its progress; none on ranks above 0, or if not verbose."""
        if not self.verbose or communicator.rank > 0:
            yield []
            return
        with reporting(what, epochs or self.epochs) as report:
            yield [report]

    def say(self, text: str, communicator: Communicator) -> None:
        """Print text on standard error, on rank 0 and if verbose."""
        if text and self.verbose and communicator.rank == 0:
            line(text)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments by name, as in scikit-learn."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change arguments; the next `fit` uses them."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ConfigError(f"expected {', '.join(self.get_params())}, found {name!r}.")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tags of an estimator of graphs: adjacency matrices may be sparse, and weights are positive."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy by pickling, since torch does not copy sparse tensors."""
        copy: Self = pickle.loads(pickle.dumps(self))
        memo[id(self)] = copy
        return copy

    def __repr__(self) -> str:
        values = ((each, getattr(self, each.name)) for each in fields(self))
        changed = (f"{each.name}={value!r}" for each, value in values if value != each.default)
        return f"{type(self).__name__}({', '.join(changed)})"
