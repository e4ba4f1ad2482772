"""A device that is not there: tensors say that they are on it, hold values on the CPU, and refuse to meet CPU tensors.

As on a GPU: a CPU tensor without axes may be an operand, CPU numbers of rows may index a tensor of the device, and
everything else has to be moved. The device stays registered, so tests use it in a process of its own.
"""

from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

aten = torch.ops.aten
DEVICE = torch.device("privateuseone", 0)  # torch's name for a device that it does not know
COPIES = {aten.copy_.default, aten.copy.default, aten._copy_from.default}
INDEXED = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}
WAITS = {aten._local_scalar_dense, aten.nonzero, aten.equal, aten._unique2, aten._coalesce, aten.masked_select}
waits = Counter()  # how often the CPU had to wait for values


class _Backend(_DummyBackendModule):
    def is_available(self):
        return True

    def _is_in_bad_fork(self):
        return False

    def manual_seed_all(self, seed):
        """The CPU's random numbers are used."""

    def get_amp_supported_dtype(self):
        return [torch.bfloat16, torch.float16]


def register():
    """Make the device known to torch, once in a process."""
    _setup_privateuseone_for_python_backend("pretend", _Backend())


class Placed(torch.Tensor):
    """A tensor on the device."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner):
        options = {"dtype": inner.dtype, "device": DEVICE}
        if inner.layout == torch.strided:
            options |= {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
        else:
            options["dispatch_layout"] = True
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, **options)

    def __init__(self, inner):
        self.inner = inner

    def __repr__(self):
        return f"Placed({self.inner})"

    def tolist(self):
        waits["tolist"] += 1
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return _run(function, args, kwargs or {})


class PretendDevice(TorchDispatchMode):
    """The context in which tensors can be made on the device and moved to it."""

    def __enter__(self):
        torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(…, device=…) by a copy from the CPU
        return super().__enter__()

    def __exit__(self, *error):
        torch._C._set_only_lift_cpu_tensors(False)
        return super().__exit__(*error)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return _run(function, args, kwargs or {})


def _is_own(device):
    return isinstance(device, torch.device) and device.type == DEVICE.type


def _run(function, args, kwargs):
    """Run an operation on what is inside the tensors, and put its result where a device would have it."""
    if function is torch.ops.prim.layout.default:
        return args[0].inner.layout
    leaves, form = tree_flatten((args, kwargs))
    placed = [t for t in leaves if isinstance(t, Placed)]
    _refuse_strays(function, args, leaves, placed)
    masks = function.overloadpacket is aten.index and any(t is not None and t.dtype == torch.bool for t in args[1])
    if placed and (masks or function.overloadpacket in WAITS):
        waits[str(function)] += 1
    own = {id(t.inner): t for t in placed}
    inner = [t.inner if isinstance(t, Placed) else torch.device("cpu") if _is_own(t) else t for t in leaves]
    inner_args, inner_kwargs = tree_unflatten(inner, form)
    result = function(*inner_args, **inner_kwargs)
    if kwargs.get("device") is not None:
        here = _is_own(kwargs["device"])
    else:
        here = isinstance(args[0], Placed) if function in COPIES else bool(placed)
    return tree_map(lambda t: own.get(id(t), Placed(t) if here else t) if isinstance(t, torch.Tensor) else t, result)


def _refuse_strays(function, args, leaves, placed):
    strays = [t for t in leaves if isinstance(t, torch.Tensor) and not isinstance(t, Placed) and t.dim() > 0]
    if not placed or not strays or function in COPIES:
        return
    if function in INDEXED and isinstance(args[0], Placed) and all(not t.is_floating_point() for t in strays):
        return
    raise RuntimeError(f"{function}: expected tensors on one device, found one of {tuple(strays[0].shape)} on the CPU.")
