"""One step of a model, run on fake tensors and recorded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import torch

from placeto.building import edges_of, escaped, give_paths, joined, names_of, nodes_of, path_of, shapes_of
from placeto.errors import RecordingError
from placeto.ops import BUFFER, INPUT, PARAMETER, STATE, Op, Output
from placeto.pytorch.devices import one_device
from placeto.pytorch.failures import told
from placeto.pytorch.faking import Fakes, leaves_of
from placeto.pytorch.modules import Modules
from placeto.pytorch.optimizers import made_optimizer
from placeto.pytorch.tape import Tape, tensors_in
from placeto.pytorch.unwrapping import unwrapped
from placeto.recording import Recording
from placeto.units import colocation_labels
from placeto.work.memory import tensor_bytes
from placeto.work.products import PRODUCTS


def record_step(
    model: torch.nn.Module,
    inputs: Any,
    loss: Callable[..., Any] | None,
    optimizer: Any,
    batch: int | None,
    no_split: Collection[str] | None,
    accumulate: int,
    after: Any,
    name: str | None,
) -> Recording:
    """See `placeto.record`."""
    model = unwrapped(model)
    whole = _kept_whole(model, no_split)
    step = _Step(model, loss, optimizer, accumulate)
    step.run(inputs, after)
    return step.recording(name or type(model).__name__, batch, whole)


class _Step:
    """A model, what is to be run of it, and what was recorded."""

    def __init__(
        self, model: torch.nn.Module, loss: Callable[..., Any] | None, optimizer: Any, accumulate: int
    ) -> None:
        self.model = model
        self.loss = loss
        self.optimizer = optimizer
        self.accumulate = accumulate
        self.trains = loss is not None or optimizer is not None
        self.fakes = Fakes()
        self.modules = Modules(model)
        self.tape = Tape(self.fakes, self.modules)
        self.loss_path = next(path for path in _loss_paths() if path not in self.modules.classes)
        self.optimizer_name: str | None = None
        self.other_names: list[tuple[Op, str]] = []

    def run(self, inputs: Any, after: Any) -> None:
        """Runs the step.

        Raises:
            RecordingError: It cannot be run without the data.
        """
        with self.fakes.swapped_in(self.model):
            arguments, keywords = self.fakes.inside(_arguments(inputs))
            self._add_owned()
            self._add_inputs(arguments, keywords)
            with told(self.modules, self.tape), self.modules.followed(), one_device(), self.fakes.mode:
                if after is not None:
                    name = "cache" if "cache" in _parameter_names(self.model.forward) else "past_key_values"
                    keywords = {**keywords, name: self._cache_after(name, self.fakes.inside(_arguments(after)))}
                if self.trains:
                    self._train(arguments, keywords)
                else:
                    with torch.no_grad(), self.tape:
                        returned = self.model(*arguments, **keywords)
                    self._hold(returned)

    def _hold(self, returned: Any) -> None:
        """What the model returns is there when the step ends, though no op reads it."""
        for tensor in tensors_in(_leaves(returned), []):
            output = self.tape.holder(tensor)
            if output is not None:
                number, place = _root(self.tape.ops, output)
                if self.tape.ops[number].buffers[place] is None:
                    self.tape.ops[number].buffers[place] = "step"

    def _train(self, arguments: Any, keywords: Any) -> None:
        with torch.enable_grad():
            for _ in range(self.accumulate):
                self.tape.begin("forward")
                with self.tape:
                    loss = self._loss_of(self.model(*arguments, **keywords))
                    self.tape.begin("backward")
                    loss.backward()  # type: ignore[no-untyped-call]
                del loss
        self._place_gradients()
        if self.optimizer is not None:
            optimizer, self.tape.launches_together = made_optimizer(self.optimizer, self.model, self.fakes)
            self.optimizer_name = type(optimizer).__name__
            self.tape.begin("optimizer")
            with self.tape:
                self.tape.paused = True
                optimizer.step()  # makes its state, which a step finds made
                self.tape.paused = False
                self._add_state(optimizer)
                optimizer.step()
            optimizer.zero_grad()
        for parameter in self.model.parameters():
            parameter.grad = None

    def _loss_of(self, out: Any) -> torch.Tensor:
        if self.loss is not None:
            with self.modules.called(self.loss_path):
                loss = self.loss(out)
        elif isinstance(out, torch.Tensor):
            loss = out
        elif isinstance(out, Mapping) and "loss" in out:
            loss = out["loss"]
        else:
            loss = getattr(out, "loss", None)
        if not isinstance(loss, torch.Tensor):
            what = "loss(output) gives" if self.loss is not None else "without loss= the model gives .loss; here it is"
            raise RecordingError(f"a training step needs a loss that is a tensor: {what} {type(loss).__name__}")
        if loss.numel() != 1:
            raise RecordingError(f"the loss is one number; this one has the shape {tuple(loss.shape)}")
        if not loss.requires_grad:
            raise RecordingError("no parameter takes part in the loss with requires_grad: there is nothing to train")
        return loss

    def _add_owned(self) -> None:
        """Parameters and buffers, each once, at the first name that it has."""
        for kind, named in ((PARAMETER, self.model.named_parameters()), (BUFFER, self.model.named_buffers())):
            for dotted, tensor in named:
                owner, _, own_name = dotted.rpartition(".")
                path = path_of(owner) if owner else ""
                op = Op(kind, path, name=joined(path, escaped(own_name)))
                op.parameters = tensor.numel() if kind == PARAMETER else 0
                self.modules.parameter_paths[id(tensor)] = path
                self.tape.add_source(tensor, op, persistent=True)
        self.other_names = list(self._other_names())

    def _other_names(self) -> Iterator[tuple[Op, str]]:
        """An op for each further name of a tied weight, which takes no memory as a view does, and its first name."""
        for kind, named in (
            (PARAMETER, self.model.named_parameters(remove_duplicate=False)),
            (BUFFER, self.model.named_buffers(remove_duplicate=False)),
        ):
            first_names: dict[int, str] = {}
            for dotted, tensor in named:
                owner, _, own_name = dotted.rpartition(".")
                path = path_of(owner) if owner else ""
                name = joined(path, escaped(own_name))
                first = first_names.setdefault(id(tensor), name)
                if first != name:
                    yield Op(kind, path, name=name, output_bytes=[tensor_bytes(tensor)]), first

    def _add_other_names(self) -> None:
        """Those in modules that did not run, and so have no other op: a placement needs a device there too."""
        ops = self.tape.ops
        running = {op.path for op in ops}
        numbers = {op.name: number for number, op in enumerate(ops) if op.type in (PARAMETER, BUFFER)}
        for op, first in self.other_names:
            if op.path not in running:
                op.sources = [(numbers[first], 0)]
                op.buffers = [(numbers[first], 0)]
                ops.append(op)

    def _add_inputs(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        names = _parameter_names(self.model.forward)
        names += [f"input_{place}" for place in range(len(names), len(arguments))]
        for name, value in (*zip(names, arguments, strict=False), *keywords.items()):
            leaves = tensors_in(leaves_of(value), [])
            for number, tensor in enumerate(leaves):
                if self.tape.holder(tensor) is None:
                    whole = escaped(name) if len(leaves) == 1 else f"{escaped(name)}/{number}"
                    self.tape.add_source(tensor, Op(INPUT, None, name=whole), persistent=False)

    def _cache_after(self, name: str, call: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        """The keys and values that a call leaves; the recorded call finds them where it reads them."""
        with torch.no_grad():
            cache = getattr(self.model(*call[0], **call[1]), name, None)
        if cache is None:
            raise RecordingError(f"the call that after= describes gives no {name}")
        return cache

    def _add_state(self, optimizer: torch.optim.Optimizer) -> None:
        for dotted, parameter in self.model.named_parameters():
            path = self.modules.parameter_paths[id(parameter)]
            name = joined(path, escaped(dotted.rpartition(".")[2]))
            for key, value in optimizer.state.get(parameter, {}).items():
                leaves = tensors_in(torch.utils._pytree.tree_leaves(value), [])
                for number, tensor in enumerate(leaves):
                    if self.tape.holder(tensor) is None:
                        suffix = f".{escaped(str(key))}" + (f".{number}" if len(leaves) > 1 else "")
                        self.tape.add_source(tensor, Op(STATE, path, name=name + suffix), persistent=True)

    def _place_gradients(self) -> None:
        """Gradients belong to the modules of their parameters; without an optimizer they stay when the step ends."""
        ops = self.tape.ops
        for parameter in self.model.parameters():
            holder = None if parameter.grad is None else self.tape.holder(parameter.grad)
            if holder is None:
                continue
            if ops[holder[0]].path is None:
                ops[holder[0]].path = self.modules.parameter_paths[id(parameter)]
            if self.optimizer is None:
                _keep(ops, holder)

    def recording(self, name: str, batch: int | None, whole: Collection[str]) -> Recording:
        """What was recorded, with names and labels."""
        ops = self.tape.ops
        self._add_other_names()
        give_paths(ops)
        names = names_of(ops)
        paths = self.modules.classes
        kept_whole = [path for path, class_name in paths.items() if class_name in whole]
        shapes = shapes_of(ops)
        nodes = nodes_of(ops, names, colocation_labels(ops, kept_whole, paths), shapes)
        graph: dict[str, Any] = {"name": name, "framework": "torch", "torch": torch.__version__}
        if self.loss is not None:
            graph["beside"] = [self.loss_path]
        given = (("batch", batch), ("optimizer", self.optimizer_name))
        graph |= {key: value for key, value in given if value is not None}
        recording = Recording(graph, nodes, edges_of(ops, names), frozenset(PRODUCTS))
        graph["parameters"] = recording.parameters
        graph["flops"] = recording.flops()
        graph["without_formula"] = recording.without_formula
        graph["modules"] = {path: paths[path] for path in self.modules.called_paths}
        graph["input_shapes"] = list(shapes)
        return recording


def _keep(ops: list[Op], output: Output) -> None:
    """Makes the memory of an output one that lasts."""
    number, place = _root(ops, output)
    if ops[number].buffers[place] is None:
        ops[number].buffers[place] = "persistent"
        ops[number].persistent_bytes += ops[number].output_bytes[place]


def _root(ops: list[Op], output: Output) -> Output:
    """The output whose memory it is."""
    number, place = output
    while isinstance(buffer := ops[number].buffers[place], tuple):
        number, place = buffer
    return number, place


def _leaves(returned: Any, depth: int = 3) -> list[Any]:
    """What a model returns, and what objects in it hold, such as caches of keys and values."""
    found: list[Any] = []
    for leaf in leaves_of(returned):
        held = getattr(leaf, "__dict__", None)
        if isinstance(leaf, torch.Tensor) or not held or not depth:
            found.append(leaf)
        else:
            found += _leaves(list(held.values()), depth - 1)
    return found


def _loss_paths() -> Iterator[str]:
    yield "loss"
    number = 1
    while True:
        yield f"loss_{number}"
        number += 1


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A tensor is the one argument, a tuple or list all of them, a dict those by name."""
    if isinstance(inputs, Mapping):
        return (), {str(name): value for name, value in inputs.items()}
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), {}
    return (inputs,), {}


def _parameter_names(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]


def _kept_whole(model: torch.nn.Module, no_split: Collection[str] | None) -> set[str]:
    """Names of the classes whose modules are not split: those given, else those that the model and its parts name."""
    if no_split is not None:
        wanted = {no_split} if isinstance(no_split, str) else set(no_split)
        unknown = sorted(wanted - {type(module).__name__ for module in model.modules()})
        if unknown:
            raise RecordingError(f"no_split names {unknown[0]}, and the model has no module of that class")
        return wanted
    return {name for module in model.modules() for name in getattr(module, "_no_split_modules", None) or ()}
