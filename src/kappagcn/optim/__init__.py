"""Parameters that are points of a space, and optimisers that move them within it.

Use them as `torch.nn.Parameter`, `torch.optim.Adam` and `torch.optim.SGD`. Ordinary parameters, curvatures among them,
may be in the same optimiser and are updated as in torch.
"""

from kappagcn.optim.optimizers import RiemannianAdam, RiemannianSGD
from kappagcn.optim.parameter import ManifoldParameter

__all__ = ["ManifoldParameter", "RiemannianAdam", "RiemannianSGD"]
