"""Modules on their devices, and their inputs with them."""

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from placeto.errors import PlacementError


def move(model: torch.nn.Module, placement: Mapping[str, Any]) -> None:
    """See `placeto.apply`."""
    devices = {path: _device(path, value) for path, value in placement.items()}
    _check_paths(model, devices)
    modules = dict(model.named_modules())
    of_modules = {path: _nearest(devices, path) for path in modules}
    moved: dict[int, torch.Tensor] = {}
    plan = [
        (tensors, name, _for_tensor(devices, path, name))
        for path, module in modules.items()
        for tensors in (module._parameters, module._buffers)
        for name, tensor in tensors.items()
        if tensor is not None
    ]  # all of it before anything moves: a weight without a device leaves the model as it was
    for tensors, name, device in plan:
        tensors[name] = _moved(tensors[name], device, moved)
    callers = _Callers(modules, of_modules)
    for path, module in modules.items():
        there = of_modules[path]
        if there is not None and _is_called(module) and callers.are_elsewhere(path):
            bound = path in devices or any(True for _ in module.state_dict(keep_vars=True))
            module.register_forward_pre_hook(_InputsTo(there, bound), prepend=True, with_kwargs=True)


def _is_called(module: torch.nn.Module) -> bool:
    """Lists and dicts of modules are not."""
    return type(module).forward is not torch.nn.Module.forward


class _InputsTo:
    """Moves the tensors with which a module is called.

    A module that holds nothing and is not named itself runs where its inputs are, if they are together: a dropout that
    only passes its input on would else take it away from who made it for whom.
    """

    def __init__(self, device: torch.device, bound: bool) -> None:
        self.device = device
        self.bound = bound

    def __call__(self, _module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        """The arguments on the device."""
        if not self.bound:
            tensors = (value for value in pytree.tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor))
            if len({tensor.device for tensor in tensors}) <= 1:
                return None
        return pytree.tree_map_only(torch.Tensor, self._there, (args, kwargs))

    def _there(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor if tensor.device == self.device else tensor.to(self.device)


def _device(path: str, value: Any) -> torch.device:
    try:
        device = torch.device("cuda", value) if isinstance(value, int) else torch.device(value)
    except (RuntimeError, TypeError) as error:
        raise PlacementError(f"{path!r}: {value!r} is no device of PyTorch") from error
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if (device.index or 0) >= count:
            raise PlacementError(f"{path!r}: {device} is not there; PyTorch sees {count} GPUs here")
        device = torch.device("cuda", device.index or 0)
    return device


def _check_paths(model: torch.nn.Module, devices: Mapping[str, torch.device]) -> None:
    known = {name for name, _ in model.named_modules(remove_duplicate=False)}
    known |= {name for name, _ in model.named_parameters(remove_duplicate=False)}
    known |= {name for name, _ in model.named_buffers(remove_duplicate=False)}
    for path in devices:
        if path not in known:
            raise PlacementError(f"the model has no module or parameter {path!r}")


def _nearest(devices: Mapping[str, torch.device], path: str) -> torch.device | None:
    """The device of the longest path that is this one or holds it."""
    while path:
        if path in devices:
            return devices[path]
        path = path.rpartition(".")[0]
    return devices.get("")


def _for_tensor(devices: Mapping[str, torch.device], path: str, name: str) -> torch.device:
    whole = f"{path}.{name}" if path else name
    device = _nearest(devices, whole)
    if device is None:
        raise PlacementError(f"the placement gives no device for {whole!r}")
    return device


def _moved(tensor: torch.Tensor, device: torch.device, moved: dict[int, torch.Tensor]) -> torch.Tensor:
    """The tensor on its device; one that has two names moves once, and goes by its first."""
    if id(tensor) in moved:
        return moved[id(tensor)]
    with torch.no_grad():
        there = tensor.to(device)
    result = there
    if isinstance(tensor, torch.nn.Parameter):
        if torch._has_compatible_shallow_copy_type(tensor, there):
            tensor.data = there
        result = tensor if tensor.device == there.device else torch.nn.Parameter(there, tensor.requires_grad)
    moved[id(tensor)] = moved[id(result)] = result
    return result


class _Callers:
    """Which modules are called by one that runs, or calls, anything on another device."""

    def __init__(self, modules: Mapping[str, torch.nn.Module], devices: Mapping[str, torch.device | None]) -> None:
        self._modules = modules
        self._within: dict[str, set[torch.device | None]] = {path: set() for path in modules}
        for path, device in devices.items():
            self._within[path].add(device)
            while path:
                path = path.rpartition(".")[0]
                if path in self._within:
                    self._within[path].add(device)

    def are_elsewhere(self, path: str) -> bool:
        """Who calls the model itself is unknown. A list of modules is not called: what holds it calls its modules."""
        while path:
            path = path.rpartition(".")[0]
            caller = self._modules.get(path)
            if caller is not None and _is_called(caller):
                return len(self._within[path]) > 1
        return True
