"""Which module an op belongs to, in the forward pass and in the backward pass."""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from placeto.building import path_of
from placeto.ops import ModuleCall

_next_number = torch.autograd._get_sequence_nr  # type: ignore[attr-defined]
_running_node = torch._C._current_autograd_node


class Modules:
    """The calls that run, and the modules in whose calls autograd's nodes were made.

    Autograd numbers its nodes as the forward pass makes them. What is noted is from which number on which module ran;
    the number of a node that runs in the backward pass then gives its module.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.paths: dict[int, str] = {}
        """by the identity of the module; one that has several names has the first"""
        self.classes: dict[str, str] = {}
        """the name of the class of each path's module"""
        for dotted, module in model.named_modules():
            path = path_of(dotted) if dotted else ""
            self.paths[id(module)] = path
            self.classes[path] = type(module).__name__
        self.parameter_paths: dict[int, str] = {}
        """the owner's path, by the identity of the parameter"""
        self.latest: str | None = None
        """of the op that ran last"""
        self.called_paths: dict[str, None] = {}
        """of the modules that were called, in the order of their first calls"""
        self._calls: list[ModuleCall] = []
        self._numbers: list[int] = [-1]
        self._paths: list[str | None] = [None]

    def path_in(self, trace: TracebackType | None) -> str | None:
        """Of the innermost module whose method is in a traceback."""
        path = None
        while trace is not None:
            path = self.paths.get(id(trace.tb_frame.f_locals.get("self")), path)
            trace = trace.tb_next
        return path

    @property
    def call(self) -> ModuleCall | None:
        """The innermost call that runs."""
        return self._calls[-1] if self._calls else None

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Notes the calls of all modules."""
        hooks = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @contextmanager
    def called(self, path: str) -> Iterator[None]:
        """As if a module of this path ran: the loss."""
        self._push(path)
        try:
            yield
        finally:
            self._pop()

    def _enter(self, module: torch.nn.Module, _arguments: Any) -> None:
        above = self.call
        path = self.paths.get(id(module))
        if path is not None:
            self.called_paths.setdefault(path)
        self._push(path if path is not None else above.path if above else "")

    def _leave(self, _module: torch.nn.Module, _arguments: Any, _result: Any) -> None:
        self._pop()

    def _push(self, path: str) -> None:
        above = self.call
        self._calls.append(ModuleCall(path, above, above.depth + 1 if above else 0))
        self._note()

    def _pop(self) -> None:
        self._calls.pop()
        self._note()

    def _note(self) -> None:
        number = _next_number()
        path = self._calls[-1].path if self._calls else None
        if self._numbers[-1] == number:
            self._paths[-1] = path
        else:
            self._numbers.append(number)
            self._paths.append(path)

    def path_now(self) -> str | None:
        """Of the op that runs now: of the running call, else of the node of autograd that runs."""
        if self._calls:
            return self._calls[-1].path
        node: Any = _running_node()
        if node is None:
            return None
        variable = getattr(node, "variable", None)
        if variable is not None and id(variable) in self.parameter_paths:
            return self.parameter_paths[id(variable)]
        return self._paths[bisect_right(self._numbers, node._sequence_nr()) - 1]
