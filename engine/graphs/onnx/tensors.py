"""Tensors of an ONNX file: their types, lengths and bytes, and the content of small ones. No data file is opened."""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from engine.errors import GraphError, shortened

Content: TypeAlias = NDArray[np.generic]
MOST_CONTENT = 1024
"""elements of a tensor whose content is kept"""
MOST_BYTES = 10**15
"""bytes of one tensor, and of all initialisers together"""
MOST_RANK = 64
"""lengths of a tensor"""
BITS: dict[int, int] = {
    **dict.fromkeys((TensorProto.FLOAT, TensorProto.INT32, TensorProto.UINT32), 32),
    **dict.fromkeys((TensorProto.DOUBLE, TensorProto.INT64, TensorProto.UINT64, TensorProto.COMPLEX64), 64),
    **dict.fromkeys((TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT16, TensorProto.UINT16), 16),
    **dict.fromkeys((TensorProto.INT8, TensorProto.UINT8, TensorProto.BOOL), 8),
    **dict.fromkeys((TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2), 8),
    **dict.fromkeys((TensorProto.FLOAT8E5M2FNUZ, TensorProto.FLOAT8E8M0), 8),
    **dict.fromkeys((TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1), 4),
    **dict.fromkeys((25, 26), 2),
    **dict.fromkeys((27, 28), 6),
    TensorProto.COMPLEX128: 128,
}
"""element type → bits of an element; a text has none"""
FLOATS = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16})
SMALL_FLOATS = frozenset({*range(17, 21), 23, 24, 27, 28})
"""floating-point types of 8 bits and fewer"""
SMALL_INTEGERS = frozenset({TensorProto.INT8, TensorProto.UINT8, TensorProto.INT4, TensorProto.UINT4, 25, 26})
"""types in which quantised weights are"""
_PLAIN: dict[int, tuple[np.dtype[Any], str]] = {
    TensorProto.FLOAT: (np.dtype("<f4"), "float_data"),
    TensorProto.DOUBLE: (np.dtype("<f8"), "double_data"),
    TensorProto.INT32: (np.dtype("<i4"), "int32_data"),
    TensorProto.INT64: (np.dtype("<i8"), "int64_data"),
    TensorProto.BOOL: (np.dtype("?"), "int32_data"),
}
"""element type → its type in NumPy and the field with its numbers, of those whose content is read"""


@dataclass(frozen=True, slots=True)
class OnnxTensor:
    """An initialiser or constant."""

    type: int
    """its TensorProto.DataType"""
    shape: tuple[int, ...]
    content: Content | None
    """of a small one whose numbers are in the file itself"""
    bytes: int

    @property
    def elements(self) -> int:
        return int(math.prod(self.shape))


def bytes_of(element_type: int, elements: int) -> int:
    """Bytes of so many elements, those of a byte's parts packed; 0 for texts."""
    return -(-elements * BITS.get(element_type, 0) // 8)


def tensor_of(tensor: TensorProto, shape: tuple[int, ...] | None = None) -> OnnxTensor:
    """What the file says of `tensor`; of a sparse one with its own `shape`. Raises GraphError."""
    shape = tuple(tensor.dims) if shape is None else shape
    where = shortened(tensor.name)
    if len(shape) > MOST_RANK:
        what = f"the initialiser has {len(shape)} lengths"
        raise GraphError(what, where=where, allowed=f"at most {MOST_RANK}", field="file")
    if any(length < 0 for length in shape):
        what = f"a length of the initialiser is negative: [{shortened(', '.join(map(str, shape)))}]"
        raise GraphError(what, where=where, allowed="lengths from 0", field="file")
    if tensor.data_type not in BITS and tensor.data_type != TensorProto.STRING:
        what = f"the initialiser has the element type {tensor.data_type}"
        raise GraphError(what, where=where, allowed="an element type of ONNX", field="file")
    size = bytes_of(tensor.data_type, math.prod(shape))
    if size > MOST_BYTES:
        what = "the initialiser has too many bytes"
        raise GraphError(what, where=where, allowed=f"at most {MOST_BYTES}", field="file")
    return OnnxTensor(tensor.data_type, shape, _content(tensor, shape), size)


def _content(tensor: TensorProto, shape: tuple[int, ...]) -> Content | None:
    """The numbers of a small tensor; None where the file itself does not hold exactly as many."""
    elements = math.prod(shape)
    if elements > MOST_CONTENT or tensor.data_type not in _PLAIN or tensor.data_location == TensorProto.EXTERNAL:
        return None
    dtype, key = _PLAIN[tensor.data_type]
    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) != elements * dtype.itemsize:
            return None
        return np.asarray(np.frombuffer(tensor.raw_data, dtype=dtype).reshape(shape))
    numbers = getattr(tensor, key)
    return np.asarray(np.array(numbers, dtype=dtype).reshape(shape)) if len(numbers) == elements else None
