"""The one pretended device: what a model asks of GPUs happens on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_CPU = torch.device("cpu")


@contextmanager
def one_device() -> Iterator[None]:
    """While it lasts all is on the pretended device, also what autocast is told of others."""
    plain = torch.autocast.__init__

    def on_it(self: torch.autocast, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        if dtype is None and device_type != "cpu":
            dtype = torch.get_autocast_dtype(device_type)
        plain(self, "cpu", dtype, *args, **kwargs)

    torch.autocast.__init__ = on_it  # type: ignore[method-assign]
    try:
        with _OneDevice():
            yield
    finally:
        torch.autocast.__init__ = plain  # type: ignore[method-assign]


class _OneDevice(TorchFunctionMode):
    """Sends what a model makes or moves to the pretended device; no GPU is touched.

    Where PyTorch's way depends on the device, that of GPUs is taken: dropout is one op that keeps a mask of bytes, and
    dropout inside of attention is left out, since the kernels of GPUs have it within them. On the CPU PyTorch would
    take a long way, which keeps masks of floats and all scores.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs a function of PyTorch."""
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is not None:
            kwargs["device"] = _CPU
        return _CHANGED.get(getattr(func, "__name__", ""), _unchanged)(func, args, kwargs)


def _unchanged(func: Any, args: Any, kwargs: Any) -> Any:
    return func(*args, **kwargs)


def _attention(func: Any, args: Any, kwargs: Any) -> Any:
    kwargs.pop("dropout_p", None)
    return func(*args[:4], *((0.0, *args[5:]) if len(args) > 4 else ()), **kwargs)


def _many_headed_attention(func: Any, args: Any, kwargs: Any) -> Any:
    """Its dropout is that of attention where it need not give the scores."""
    return func(*args[:9], *(args[9:10] if kwargs.get("need_weights", True) else (0.0,)), *args[10:], **kwargs)


def _dropout(func: Any, args: Any, kwargs: Any) -> Any:
    """Of `torch.nn.functional.dropout(input, p, training, inplace)`, and of `torch.dropout(input, p, train)`."""
    values = dict(zip(("input", "p", "training", "inplace"), args, strict=False)) | kwargs
    trains = values.get("training", values.get("train", True))
    if not trains or values.get("inplace") or not 0 < values.get("p", 0.5) < 1:
        return func(*args, **kwargs)
    return torch.native_dropout(values["input"], values.get("p", 0.5), True)[0]


def _to(func: Any, args: Any, kwargs: Any) -> Any:
    if args[1:] and isinstance(args[1], (torch.device, str, int)):
        args = (args[0], _CPU, *args[2:])
    return func(*args, **kwargs)


def _cuda(func: Any, args: Any, kwargs: Any) -> Any:
    return args[0] if args and isinstance(args[0], torch.Tensor) else func(*args, **kwargs)


_CHANGED = {
    "scaled_dot_product_attention": _attention,
    "multi_head_attention_forward": _many_headed_attention,
    "dropout": _dropout,
    "to": _to,
    "cuda": _cuda,
}
"""by the name of the function"""
