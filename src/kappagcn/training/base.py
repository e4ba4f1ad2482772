"""Base of the estimators: the interface of scikit-learn, with the fields of the settings as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, fields
from typing import Any, Self

from sklearn.base import BaseEstimator

from kappagcn.distributed import Communicator
from kappagcn.errors import ConfigError
from kappagcn.progress import line, reporting
from kappagcn.training.devices import resolve_device
from kappagcn.training.settings import Settings
from kappagcn.training.sklearn_base import SparseCopies, graph_tags

__all__ = ["Estimator"]


class Estimator(SparseCopies, BaseEstimator, Settings):
    """Base of the estimators, whose constructor takes the fields of their settings."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Describe the arguments in the docstring, before its attributes."""
        super().__init_subclass__(**options)
        if cls.__doc__ is not None and "    Attributes:\n" in cls.__doc__:
            arguments = (each for each in fields(cls) if each.default is not MISSING)
            lines = "".join(f"        {each.name}: {each.metadata['help']}\n" for each in arguments)
            cls.__doc__ = cls.__doc__.replace("    Attributes:\n", f"    Args:\n{lines}\n    Attributes:\n", 1)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def check(self) -> None:
        """Refuse arguments that are wrong for any graph, or for this machine."""
        super().check()
        self.check_effects()
        resolve_device(self.device)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """An estimator with these settings, which are checked."""
        estimator = cls(**asdict(settings))
        estimator.check()
        return estimator

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
        """Tags that describe this estimator to scikit-learn."""
        return graph_tags(super().__sklearn_tags__())

    def __repr__(self) -> str:
        values = ((each, getattr(self, each.name)) for each in fields(self))
        changed = (f"{each.name}={value!r}" for each, value in values if value != each.default)
        return f"{type(self).__name__}({', '.join(changed)})"
