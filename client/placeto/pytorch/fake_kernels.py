"""What ops give where PyTorch's own rule for fake tensors refuses what its kernels take, or knows too little."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes


def _grouped_product(first: Any, second: Any, offsets: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Its rule takes bfloat16 alone; the kernels take all floating-point numbers."""
    shape: tuple[int, ...]
    if first.dim() == 2 and second.dim() == 2:
        shape = (offsets.shape[0], first.shape[0], second.shape[1])
    elif first.dim() == 2 or second.dim() == 2:
        shape = (first.shape[-2], second.shape[-1])
    else:
        shape = (first.shape[0], first.shape[1], second.shape[2])
    return first.new_empty(shape, dtype=out_dtype or first.dtype)


_DRAWN = 0.5
"""what a single number from 0 to 1 is that a model draws: more than the share of layers that it leaves out at random"""

RULES: dict[str, Callable[..., Any]] = {"_grouped_mm": _grouped_product}
"""by the name of the aten op"""


def run(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """What the op gives."""
    rule = RULES.get(name)
    if rule is not None and args[0].dtype is not torch.bfloat16:
        return rule(*args, **kwargs)
    result = func(*args, **kwargs)
    if name == "rand" and result.numel() == 1:
        with _disable_current_modes():
            result.constant = torch.full(result.shape, _DRAWN, dtype=result.dtype)
    return result
