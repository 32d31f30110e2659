"""A device that is none: tensors on it are computed on the CPU, and none meets one of the host, as on a GPU.

torch.utils.backend_registration, ``_setup_privateuseone_for_python_backend``: a device for the whole process, so this
module is for a process of its own.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.nested._internal.nested_tensor import NestedTensor
from torch.overrides import TorchFunctionMode
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

NAME = "gpu"
# What takes tensors of both: copies, and places of rows, which a GPU reads from the host.
TAKES_BOTH = ("aten::_to_copy", "aten::copy_", "aten::index", "aten::index_put_")


class Backend(backend_registration._DummyBackendModule):
    """What torch asks the device itself."""

    def synchronize(self, *_: Any) -> None:
        """Wait for nothing."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """Return what autocast may compute in."""
        return [torch.bfloat16]


backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=Backend())


class OnDevice(torch.Tensor):
    """A tensor on the device; ``held`` is where its numbers are."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> "OnDevice":
        """Say that ``held``, a tensor of the host, is on the device."""
        layout = {"strides": held.stride(), "storage_offset": held.storage_offset(), "dtype": held.dtype}
        made = torch.Tensor._make_wrapper_subclass(cls, held.shape, device=torch.device(NAME, 0), **layout)
        made.held = held
        return made

    def tolist(self) -> Any:
        """Return the numbers, which torch gives of its own classes alone."""
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute on the CPU."""
        return compute(function, args, kwargs or {})


def compute(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Compute an operation of torch's; what comes out is where its arguments are, or where it is asked for.

    Raises:
        RuntimeError: arguments are on both devices, but for single numbers.
    """
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    if any(isinstance(each, NestedTensor) for each in tensors):
        return NotImplemented  # it comes again with the tensors that these are made of
    on_device = any(isinstance(each, OnDevice) for each in tensors)
    name = function._schema.name
    if on_device and any(each.dim() and not isinstance(each, OnDevice) for each in tensors) and name not in TAKES_BOTH:
        raise RuntimeError(f"{name}: tensors of two devices")
    args, kwargs = tree_map(lambda each: each.held if isinstance(each, OnDevice) else each, (args, kwargs))
    if kwargs.get("device") is not None:
        on_device = torch.device(kwargs["device"]).type == NAME
        kwargs["device"] = torch.device("cpu")
    found = function(*args, **kwargs)
    if function._schema.is_mutable and isinstance(found, torch.Tensor):
        return tensors[0]
    return (
        tree_map(lambda each: OnDevice(each) if isinstance(each, torch.Tensor) else each, found) if on_device else found
    )


class _Made(TorchDispatchMode):
    """Tensors that are made on the device, or sent there."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(function, args, kwargs or {})


class _MadeOfNumbers(TorchFunctionMode):
    """``torch.tensor``, which asks no mode but this one."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is torch.tensor and torch.device(kwargs.get("device") or "cpu").type == NAME:
            return OnDevice(torch.tensor(*args, **kwargs | {"device": "cpu"}))
        return function(*args, **kwargs)


@contextlib.contextmanager
def device() -> Iterator[None]:
    """Have torch know the device."""
    with _MadeOfNumbers(), _Made():
        yield


def moved(model: torch.nn.Module) -> torch.nn.Module:
    """Put a model's weights and buffers on the device; those that are shared stay so."""
    shared: dict[torch.nn.Parameter, torch.nn.Parameter] = {}
    for module in model.modules():
        for name, weight in list(module.named_parameters(recurse=False)):
            if weight not in shared:
                shared[weight] = torch.nn.Parameter(OnDevice(weight.detach()), weight.requires_grad)
            module.register_parameter(name, shared[weight])
        for name, buffer in list(module.named_buffers(recurse=False)):
            module.register_buffer(name, OnDevice(buffer), persistent=name not in module._non_persistent_buffers_set)
    return model
