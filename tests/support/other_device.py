"""Tensors that say they are on a GPU and are not, for tests of code that mixes devices, with no GPU."""

from typing import Any

import torch
from torch.utils._pytree import tree_map


class OnGpu(torch.Tensor):
    """A tensor whose device is ``cuda``; what is computed of it is too, until ``.to("cpu")``."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, real: torch.Tensor) -> "OnGpu":
        """Wrap ``real``, a tensor on the CPU."""
        made = torch.Tensor._make_wrapper_subclass(cls, real.shape, dtype=real.dtype, device="cuda")
        made.held = real
        return made

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute on the CPU."""
        unwrapped = tree_map(lambda each: each.held if isinstance(each, cls) else each, (args, kwargs or {}))
        result = function(*unwrapped[0], **unwrapped[1])
        if function is torch.ops.aten._to_copy.default and torch.device(unwrapped[1]["device"]).type == "cpu":
            return result
        return tree_map(lambda each: cls(each) if isinstance(each, torch.Tensor) else each, result)
