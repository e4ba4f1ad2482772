"""Arguments as attributes, in scikit-learn's manner, without needing it."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from kappagcn.errors import TrainingError

__all__ = ["Estimator"]

Self = TypeVar("Self", bound="Estimator")


class Estimator:
    """What the constructor takes can be read, changed and printed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self: Self, **params: Any) -> Self:
        """Change arguments; the next `fit` uses them."""
        for name, value in params.items():
            if name not in self.get_params():
                raise TrainingError(f"expected {', '.join(self.get_params())}, found {name!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        plain = {name: p.default for name, p in inspect.signature(type(self)).parameters.items()}
        changed = (f"{name}={value!r}" for name, value in self.get_params().items() if value != plain[name])
        return f"{type(self).__name__}({', '.join(changed)})"
