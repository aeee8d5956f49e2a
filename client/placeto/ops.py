"""A recorded op, before it has a name."""

from __future__ import annotations

from dataclasses import dataclass, field

Output = tuple[int, int]
"""an output of an op: the op's number, and which output"""
Buffer = Output | str | None
"""the memory of an output: its own, that of another op's output, `persistent`, or `step`: its own, there throughout"""
Shapes = tuple[tuple[int, ...], ...]
"""the lengths of tensors, those of one number left out"""

PARAMETER, BUFFER, STATE, INPUT, CONSTANT = "parameter", "buffer", "state", "input", "constant"
OWNED = frozenset((PARAMETER, BUFFER, STATE))
"""types of sources that belong to a module"""


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One running call of a module's forward."""

    path: str
    caller: ModuleCall | None
    depth: int

    def encloses(self, other: ModuleCall | None) -> bool:
        """Whether the other call is this one, or was made while it ran."""
        while other is not None and other.depth > self.depth:
            other = other.caller
        return other is self


@dataclass(slots=True)
class Op:
    """One aten op that ran, or a source of values."""

    type: str
    path: str | None
    """of its module, `/` between modules, empty for the model itself; None while it is not known"""
    phase: str | None = None
    call: ModuleCall | None = None
    """the call of a module in which it ran, in the forward pass"""
    name: str | None = None
    """its whole name, for a source"""
    sources: list[Output] = field(default_factory=list)
    """what it reads, each once"""
    controls: list[int] = field(default_factory=list)
    """the ops that it must not run before, and of which it reads nothing"""
    output_bytes: list[int] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    flops: int | None = 0
    bytes_accessed: int = 0
    dtype: str = "float32"
    input_shapes: Shapes | None = None
    """of the tensors that it is given, where it has work: by them a profiler's trace is matched"""
    persistent_bytes: int = 0
    parameters: int = 0
    launches: int = 1
    """kernels that a GPU launches for it; 0: they are another op's too"""
