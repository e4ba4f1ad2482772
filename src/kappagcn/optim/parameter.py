"""ManifoldParameter: points of a space as a parameter of a module."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from kappagcn.errors import GeometryError
from kappagcn.geometry.manifold import Manifold


class ManifoldParameter(nn.Parameter):
    """Points (..., D) as a `torch.nn.Parameter` that knows its space, for `RiemannianAdam` and `RiemannianSGD`.

    Operations on it return ordinary tensors. Copies, pickles, ``module.to``, ``module.to_empty`` and
    ``module.load_state_dict``, also with ``assign=True``, keep the space; register the space in the module too, so that
    its curvature is converted and, where it is trainable, trained. A plain parameter of the same shape that a module
    gets in its place is on the space too.

    Args:
        data: Points of the space; refused if they are outside, see `kappagcn.geometry.project`.
        manifold: The space of the points.
        requires_grad: Whether the points are trained.

    >>> import torch
    >>> from kappagcn.geometry import Stereographic
    >>> points = ManifoldParameter(torch.zeros(4, 2), manifold=Stereographic(-1.0))
    >>> points.shape, points.requires_grad, points.manifold.curvature.value
    (torch.Size([4, 2]), True, -1.0)
    """

    manifold: Manifold

    def __new__(cls, data: Tensor, manifold: Manifold, requires_grad: bool = True) -> ManifoldParameter:
        """Check the points and wrap them."""
        if not isinstance(manifold, Manifold):
            raise GeometryError(
                f"manifold: expected a Stereographic or a ProductManifold, found {type(manifold).__name__}; convert a "
                f"geoopt manifold with kappagcn.geometry.from_geoopt."
            )
        ok, reason = (True, "") if data.is_meta else manifold.check_point(data)
        if not ok:
            raise GeometryError(f"data: expected points of the space; {reason}")
        return cls._from(data.detach(), manifold, requires_grad)

    @classmethod
    def _from(cls, data: Tensor, manifold: Manifold, requires_grad: bool) -> ManifoldParameter:
        """Copy without a check of the values, because κ may have changed since they were checked."""
        parameter: ManifoldParameter = torch.Tensor._make_subclass(cls, data, requires_grad)
        parameter.manifold = manifold
        return parameter

    @torch.no_grad()
    def project_(self) -> ManifoldParameter:
        """Move points that a change of κ left outside into the space, in place; see `kappagcn.geometry.project`."""
        self.copy_(self.manifold.project(self))
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ManifoldParameter:
        if id(self) not in memo:
            data = self.data.clone(memory_format=torch.preserve_format)
            memo[id(self)] = self._from(data, copy.deepcopy(self.manifold, memo), self.requires_grad)
        duplicate: ManifoldParameter = memo[id(self)]
        return duplicate

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self)._from, (self.data, self.manifold, self.requires_grad)

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Parameter on {self.manifold} containing:\n{self.data!r}"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Results are ordinary tensors, except where a module replaces its parameters to or from the meta device.

        There ``module._apply`` wraps the result of `torch.Tensor.to` or `torch.empty_like` by ``nn.Parameter``, which
        keeps a class whose ``detach`` does.
        """
        result = Tensor.__torch_function__(func, (), args, kwargs or {})
        if func not in REPLACING or not isinstance(args[0], ManifoldParameter):
            return result
        source: ManifoldParameter = args[0]
        if func is torch.Tensor.detach:
            return cls._from(result, source.manifold, False) if vars(source).pop("is_replacing", False) else result
        if source.is_meta == result.is_meta:
            return result
        replacing = cls._from(result, source.manifold, False)
        vars(replacing)["is_replacing"] = True
        return replacing


REPLACING = (torch.Tensor.to, torch.empty_like, torch.Tensor.detach)


def _keep_space(module: nn.Module, name: str, parameter: Any) -> Any:
    """The plain parameter that takes the place of points of a space, on that space; None to leave it as it is."""
    points = getattr(module, name, None)
    if type(parameter) is not nn.Parameter or not isinstance(points, ManifoldParameter):
        return None
    if parameter.shape != points.shape:
        return None
    return ManifoldParameter._from(parameter.data, points.manifold, parameter.requires_grad)


register_module_parameter_registration_hook(_keep_space)
