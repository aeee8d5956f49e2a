"""Every aten op that runs, with what it reads, writes and costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from placeto.ops import CONSTANT, OWNED, Op, Output
from placeto.pytorch.fake_kernels import run
from placeto.pytorch.faking import Fakes
from placeto.pytorch.modules import Modules
from placeto.work.light import light_flops
from placeto.work.memory import RESERVES, bytes_accessed, tensor_bytes
from placeto.work.products import PRODUCTS

_NOTE = "_placeto_note"
_SAME_TENSOR = frozenset(("detach", "detach_", "alias"))
"""ops that give the tensor that they are given"""
_LIFTS = frozenset(("lift_fresh", "lift_fresh_copy", "lift"))
"""ops that take in a tensor that the program itself has just made from numbers"""
_READ_VALUES = frozenset(("_local_scalar_dense", "is_nonzero", "equal"))
_DTYPES = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.complex64: "float32",
    torch.complex128: "float64",
    torch.int8: "int8",
    torch.uint8: "int8",
    **{getattr(torch, name): "float8" for name in dir(torch) if name.startswith("float8_")},
}


@dataclass(slots=True)
class _Memory:
    """A storage of PyTorch and who uses it."""

    reference: Any
    """keeps the address from being used again"""
    writer: Output
    """the output that holds its newest version"""
    version: int = 0
    readers: list[int] = field(default_factory=list)
    """the ops that have read the newest version"""


class _Signature:
    """What an op's schema says, found once."""

    def __init__(self, func: Any) -> None:
        namespace, _, name = func._schema.name.partition("::")
        self.name = name if namespace == "aten" else func._schema.name
        self.written: list[tuple[int, str]] = [
            (position, argument.name)
            for position, argument in enumerate(func._schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        if torch.Tag.inplace_view in func.tags:  # it changes the shape of its argument, and no value
            self.written = []
        self.pointwise = torch.Tag.pointwise in func.tags or _is_pointwise(self.name)
        infos = [returned.alias_info for returned in func._schema.returns]
        self.view = bool(infos) and all(info is not None and not info.is_write for info in infos)
        self.composite = _has_kernel(func, "CompositeImplicitAutograd") and not _has_kernel(func, "CPU")
        """whether the op runs as others on every device; one with a kernel on a CPU has one on GPUs too"""

    def writes(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> list[torch.Tensor]:
        """The tensors that the op changes."""
        found: list[torch.Tensor] = []
        for position, name in self.written:
            value = arguments[position] if position < len(arguments) else keywords.get(name)
            tensors_in((value,), found)
        return found


def _has_kernel(func: Any, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key))


def _is_pointwise(name: str) -> bool:
    """Whether the op of another name that this one is of, without `_foreach_` and `_`, is marked as element-wise."""
    packet = getattr(torch.ops.aten, name.removeprefix("_foreach_").removesuffix("_"), None)
    if packet is None:
        return False
    return any(torch.Tag.pointwise in getattr(packet, overload).tags for overload in packet.overloads())


def tensors_in(values: Iterable[Any], found: list[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors among values and in lists of them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            tensors_in(value, found)
    return found


def _value_or_one(func: Any, args: Any) -> Any:
    """A number that an optimizer reads of a tensor scales its update and shapes nothing: an unknown one is 1."""
    try:
        return func(*args)
    except DataDependentOutputException:
        return 1.0 if args[0].is_floating_point() else 1


class Tape(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the ops while it is the innermost mode above that of the fake tensors."""

    def __init__(self, fakes: Fakes, modules: Modules) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ops: list[Op] = []
        self.phase = "forward"
        self._waits = False
        self._started: set[int] = set()
        self._latest: int | None = None
        self.paused = False
        self.launches_together = False
        """whether the optimizer's ops share kernels with those of other parameters"""
        self._fakes = fakes
        self._modules = modules
        self._memories: dict[int, _Memory] = {}
        self._signatures: dict[Any, _Signature] = {}

    def begin(self, phase: str) -> None:
        """What runs from now on is of this phase.

        After the first forward pass, what reads nothing of its own pass waits for the op that ran before it: PyTorch
        records a checkpointed block again when the backward pass reaches it, and not as soon as its inputs are there.
        """
        self._waits = phase == "backward" or (phase == "forward" and self.phase == "backward")
        self.phase = phase
        self._started.clear()

    def add_source(self, tensor: torch.Tensor, op: Op, *, persistent: bool) -> None:
        """A source of values with one output: a parameter, an input."""
        size = tensor_bytes(tensor)
        op.output_bytes = [size]
        op.buffers = ["persistent" if persistent else None]
        op.persistent_bytes = size if persistent else 0
        self.ops.append(op)
        self._own(tensor, (len(self.ops) - 1, 0))

    def holder(self, tensor: torch.Tensor) -> Output | None:
        """The output that holds the newest version of a tensor."""
        memory = self._memories.get(_address(tensor))
        return None if memory is None else memory.writer

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs the op and notes it."""
        kwargs = kwargs or {}
        if self.phase == "optimizer" and func is torch.ops.aten._local_scalar_dense.default:
            return _value_or_one(func, args)
        if self.paused or func.namespace == "prim":
            return func(*args, **kwargs)
        signature = self._signatures.get(func)
        if signature is None:
            signature = self._signatures[func] = _Signature(func)
        if signature.composite:
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        reads = tensors_in((*args, *kwargs.values()), [])
        if all(map(self._fakes.owns, reads)):
            taken_in = signature.name in _LIFTS
            return func(*args, **kwargs) if taken_in else self._noted(func, signature, args, kwargs, reads)
        return self._with_real_tensors(func, signature, args, kwargs, reads)

    def _with_real_tensors(self, func: Any, signature: _Signature, args: Any, kwargs: Any, reads: Any) -> Any:
        """An op on tensors that are no fakes: what the model made of numbers, and what it holds beside its buffers."""
        if signature.name in _LIFTS:
            return self._lifted(func(*args, **kwargs))
        if signature.name in _READ_VALUES and not any(map(self._fakes.owns, reads)):
            with _disable_current_modes():
                return func(*args, **kwargs)
        args, kwargs = self._fakes.inside((args, kwargs))
        return self._noted(func, signature, args, kwargs, tensors_in((*args, *kwargs.values()), []))

    def _noted(self, func: Any, signature: _Signature, args: Any, kwargs: Any, reads: list[torch.Tensor]) -> Any:
        held = {_address(tensor): self._source(tensor) for tensor in reads}
        sources = list(dict.fromkeys(map(self._source, reads)))
        path = self._modules.latest = self._modules.path_now()
        result = run(signature.name, func, args, kwargs)
        results = tensors_in((result,), [])
        written = signature.writes(args, kwargs) if signature.written else []
        if signature.name in _SAME_TENSOR:
            self._note(results[0], held[_address(reads[0])])
            return result
        if not results and not written:
            return result
        op = Op(signature.name, path, self.phase, self._modules.call, sources=sources)
        if self.phase == "optimizer":
            op.path = op.path or self._path_of_sources(sources)
            op.launches = 0 if self.launches_together else 1
        self.ops.append(op)
        self._order(op, written)
        made = self._take_outputs(op, results, written, held)
        if made or written:
            self._wait(op)
        if made or written or not self._started.isdisjoint(source for source, _ in op.sources):
            self._started.add(len(self.ops) - 1)
        if (made or written) and not signature.view:
            self._cost(op, signature, (args, kwargs, result), (reads, written, made))
            self._note_readers(reads, written)
        return result

    def _lifted(self, tensor: torch.Tensor) -> torch.Tensor:
        path = self._modules.path_now()
        self.add_source(tensor, Op(CONSTANT, path, call=self._modules.call), persistent=False)
        return tensor

    def _source(self, tensor: torch.Tensor) -> Output:
        """The output to read for a tensor: that which made it, or which wrote its memory since."""
        memory = self._memories.get(_address(tensor))
        if memory is None:
            self.add_source(tensor, Op(CONSTANT, None), persistent=True)
            return len(self.ops) - 1, 0
        note = getattr(tensor, _NOTE, None)
        if note is not None and note[:2] == (_address(tensor), memory.version):
            source: Output = note[2]
            return source
        return memory.writer

    def _path_of_sources(self, sources: list[Output]) -> str | None:
        """For an op of the optimizer: the module of the parameter or the state that it reads, else of what it reads."""
        read = [self.ops[number] for number, _ in sources]
        read.sort(key=lambda op: op.type not in OWNED)
        return next((op.path for op in read if op.path is not None), None)

    def _order(self, op: Op, written: list[torch.Tensor]) -> None:
        """Who writes a storage comes after those who have read what it held."""
        direct = {source for source, _ in op.sources}
        before: set[int] = set()
        for address in {_address(tensor) for tensor in written}:
            memory = self._memories[address]
            before.update(memory.readers)
            memory.readers = []
            memory.version += 1
        op.controls = sorted(before - direct)

    def _wait(self, op: Op) -> None:
        """Lets an op that starts something in a pass wait for the one before it, and those of a module's backward pass
        run in turn: PyTorch launches all of them before another device can take what one of them gives."""
        before = {source for source, _ in op.sources}
        if self.phase == "backward" and self._latest is not None and self.ops[self._latest].path == op.path:
            op.controls = sorted({*op.controls, self._latest} - before)
        if self._waits and self._latest is not None and self._started.isdisjoint({*before, *op.controls}):
            op.controls = sorted({*op.controls, self._latest} - before)
        self._latest = len(self.ops) - 1

    def _take_outputs(
        self, op: Op, results: list[torch.Tensor], written: list[torch.Tensor], held: dict[int, Output]
    ) -> list[torch.Tensor]:
        """The outputs of an op: its results, and what it writes and does not give. Returns those with new memory."""
        number = len(self.ops) - 1
        given = {_address(tensor) for tensor in results}
        changed = {_address(tensor) for tensor in written}
        made: list[torch.Tensor] = []
        for tensor in (*results, *(tensor for tensor in written if _address(tensor) not in given)):
            address, output = _address(tensor), (number, len(op.buffers))
            if address in held:
                op.buffers.append(held[address])
                op.output_bytes.append(tensor_bytes(tensor))
                if address in changed:
                    self._memories[address].writer = output
                self._note(tensor, output)
            else:
                fresh = address not in self._memories
                op.buffers.append(None)
                op.output_bytes.append(_memory_bytes(tensor) if fresh else 0)
                if fresh:
                    self._memories[address] = _Memory(_reference(tensor), output)
                self._note(tensor, output)
                made.append(tensor)
        return made

    def _note_readers(self, reads: list[torch.Tensor], written: list[torch.Tensor]) -> None:
        number = len(self.ops) - 1
        for address in {_address(tensor) for tensor in reads} - {_address(tensor) for tensor in written}:
            self._memories[address].readers.append(number)

    def _own(self, tensor: torch.Tensor, output: Output) -> None:
        self._memories[_address(tensor)] = _Memory(_reference(tensor), output)
        self._note(tensor, output)

    def _note(self, tensor: torch.Tensor, output: Output) -> None:
        address = _address(tensor)
        setattr(tensor, _NOTE, (address, self._memories[address].version, output))

    def _cost(
        self,
        op: Op,
        signature: _Signature,
        call: tuple[Any, Any, Any],
        tensors: tuple[list[torch.Tensor], list[torch.Tensor], list[torch.Tensor]],
    ) -> None:
        args, kwargs, result = call
        reads, written, made = tensors
        if signature.name in PRODUCTS:
            op.flops = PRODUCTS[signature.name](args, kwargs, result)
        else:
            op.flops = light_flops(signature.name, signature.pointwise, args, kwargs, result)
        if signature.name in RESERVES:
            output, times = RESERVES[signature.name]
            op.output_bytes[output] = times * op.output_bytes[0]
        op.bytes_accessed = bytes_accessed(signature.name, reads, written, made)
        shapes = (tuple(tensor.shape) for tensor in reads)
        op.input_shapes = tuple(shape for shape in shapes if shape)
        if op.flops and signature.name in PRODUCTS and any(tensor.is_complex() for tensor in reads):
            op.flops *= 4  # a complex multiply-add is four real ones
        op.dtype = _arithmetic(reads, made)
        if op.dtype == "float32" and signature.name in PRODUCTS and _may_round(signature.name):
            op.dtype = "tensorfloat32"


def _may_round(product: str) -> bool:
    """Whether a GPU may round to TensorFloat-32 in this product, by PyTorch's own settings."""
    if "convolution" in product:
        return bool(torch.backends.cudnn.allow_tf32)
    return torch.get_float32_matmul_precision() != "highest"


def _arithmetic(reads: list[torch.Tensor], made: list[torch.Tensor]) -> str:
    """The type of the first floating-point number that is read, else made; else that of integers of 8 bits."""
    tensors = (*reads, *made)
    floating = next((tensor for tensor in tensors if tensor.is_floating_point() or tensor.is_complex()), None)
    if floating is not None:
        return _DTYPES.get(floating.dtype, "float32")
    return _DTYPES.get(tensors[0].dtype, "float32") if tensors else "float32"


def _address(tensor: torch.Tensor) -> int:
    """Of the tensor's storage; one without a storage, such as a sparse one, counts as one of its own."""
    if tensor.layout is not torch.strided:
        return -id(tensor)
    return int(tensor.untyped_storage()._cdata)


def _reference(tensor: torch.Tensor) -> Any:
    if tensor.layout is not torch.strided:
        return tensor
    return StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]


def _memory_bytes(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().nbytes()) if tensor.layout is torch.strided else tensor_bytes(tensor)
