"""A model without its weights: fake tensors in place of its own, for as long as a step is recorded."""

import copy
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

_KNOWN_LARGEST = 64
"""elements of an integer buffer whose values the step may read"""
_POSITIONS = frozenset(getattr(torch.ops.aten.arange, name) for name in ("default", "start", "start_step"))
_COMPUTED_LARGEST = 65_536
"""elements of a tensor that is computed from known values, and whose values the step may read"""


class _Mode(FakeTensorMode):  # type: ignore[no-untyped-call]
    """Fake tensors that know values which follow from numbers alone: sizes of images, masks drawn by numpy."""

    def may_turn_const(self, t: torch.Tensor) -> bool:
        """Whether the values are kept of a tensor that was computed from known values alone."""
        small = t.numel() <= _COMPUTED_LARGEST and t.layout is torch.strided and t.device.type == "cpu"
        return super().may_turn_const(t) or (small and not self.is_our_fake(t))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs the op; positions (`arange`) are known values."""
        result: Any = super().__torch_dispatch__(func, types, args, kwargs)
        if func not in _POSITIONS or result.is_floating_point() or result.numel() > _COMPUTED_LARGEST:
            return result
        with _disable_current_modes():
            return self.with_values(func(*args, **{**(kwargs or {}), "device": "cpu"}))

    def with_values(self, tensor: torch.Tensor) -> torch.Tensor:
        """A fake of this tensor that knows its values."""
        fake: torch.Tensor = self.fake_tensor_converter.from_real_tensor(self, tensor, make_constant=True)
        return fake


class Fakes:
    """Fake tensors on one pretended device, one for each tensor that is given."""

    def __init__(self) -> None:
        self.mode = _Mode(allow_non_fake_inputs=True)
        self._fakes: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def owns(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor is one of these fakes, or was computed from them."""
        return isinstance(tensor, FakeTensor) and tensor.fake_mode is self.mode

    def known(self, tensor: torch.Tensor) -> bool:
        """Whether this tensor already has a fake."""
        return id(tensor) in self._fakes

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake of a tensor: same shape, strides and type."""
        if self.owns(tensor):
            return tensor
        if id(tensor) not in self._fakes:
            self._fakes[id(tensor)] = (
                tensor,
                self._made(tensor),
            )  # kept, so that no other has its identity
        return self._fakes[id(tensor)][1]

    def _made(self, tensor: torch.Tensor) -> torch.Tensor:
        if _has_small_known_values(tensor):
            with torch.no_grad(), _disable_current_modes():
                values = tensor.detach().clone()  # with the modes it would be a fake too, and have no values
            return self.mode.with_values(values)
        with torch.no_grad(), self.mode:
            if tensor.layout is torch.strided:
                fake = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
            else:
                fake = self.mode.from_tensor(tensor, static_shapes=True)
            if isinstance(tensor, torch.nn.Parameter):
                return torch.nn.Parameter(fake, requires_grad=tensor.requires_grad)
        if tensor.is_leaf and tensor.requires_grad:
            fake.requires_grad_()
        return fake

    def _known_fake(self, value: Any) -> Any:
        """The fake of a parameter or buffer of the model; anything else as it is."""
        return self.of(value) if isinstance(value, torch.Tensor) and self.known(value) else value

    def inside(self, values: Any) -> Any:
        """Lists, tuples, dicts and dataclasses with the fakes of the tensors in them."""
        return pytree.tree_map(self._inside_leaf, values)

    def _inside_leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return self.of(leaf)
        if not _is_dataclass(leaf):
            return leaf
        made = copy.copy(leaf)
        for field in dataclasses.fields(leaf):
            object.__setattr__(made, field.name, self.inside(getattr(leaf, field.name)))
        return made

    @contextmanager
    def swapped_in(self, model: torch.nn.Module) -> Iterator[None]:
        """The model with fake parameters, buffers and other tensors; as it was before when the block ends."""
        before = [(module, dict(module.__dict__)) for module in model.modules()]
        for _, attributes in before:
            for name in ("_parameters", "_buffers", "_modules"):
                attributes[name] = attributes[name], dict(attributes[name])
        try:
            for module, _ in before:
                self._swap(module)
            yield
        finally:
            for module, attributes in before:
                for name in ("_parameters", "_buffers", "_modules"):
                    own, content = attributes[name]
                    own.clear()
                    own.update(content)
                    attributes[name] = own
                module.__dict__.clear()
                module.__dict__.update(attributes)

    def _swap(self, module: torch.nn.Module) -> None:
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    tensors[name] = self.of(tensor)  # type: ignore[assignment]
        for name, child in module._modules.items():
            module._modules[name] = getattr(child, "_orig_mod", child)
        module.__dict__["_compiled_call_impl"] = None
        for name, value in module.__dict__.items():
            if isinstance(value, torch.Tensor):
                module.__dict__[name] = self._known_fake(value)
            elif type(value) in (list, tuple) and any(isinstance(item, torch.Tensor) for item in value):
                module.__dict__[name] = type(value)(map(self._known_fake, value))


def leaves_of(values: Any) -> list[Any]:
    """What lies in lists, tuples, dicts and dataclasses."""
    found: list[Any] = []
    for leaf in pytree.tree_leaves(values):
        if _is_dataclass(leaf):
            found += leaves_of([getattr(leaf, field.name) for field in dataclasses.fields(leaf)])
        else:
            found.append(leaf)
    return found


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _has_small_known_values(tensor: torch.Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and not isinstance(tensor, FakeTensor)
        and not tensor.is_floating_point()
        and not tensor.is_complex()
        and tensor.layout is torch.strided
        and tensor.numel() <= _KNOWN_LARGEST
    )
