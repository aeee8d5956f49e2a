"""More kinds of models as ONNX: quantised, recurrent, with experts, of ONNX Runtime's own operators."""

from collections.abc import Sequence
from typing import Any

from onnx import ModelProto, TensorProto, helper

from tests.engine.onnx.building import RUNTIME, Builder

INT8, UINT8, FLOAT16 = TensorProto.INT8, TensorProto.UINT8, TensorProto.FLOAT16
BLOCK = 32
"""elements of a block of a matrix of four bits"""


def llama(
    layers: int = 32,
    hidden: int = 4096,
    inner: int = 11008,
    heads: int = 32,
    groups: int = 32,
    words: int = 32000,
    *,
    bits: int = 16,
    most: int = 4096,
    element: int = FLOAT16,
    seed: int | None = None,
) -> ModelProto:
    """A decoder of half precision as ONNX Runtime's tools write it, its matrices of 16 or of 4 bits."""
    model = Builder(seed, element=element)
    each = hidden // heads
    tokens = model.input("input_ids", ["batch", "new"], TensorProto.INT64)
    lengths = model.input("seqlens_k", ["batch"], TensorProto.INT32)
    total = model.input("total_sequence_length", [], TensorProto.INT32)
    tables = model.weight(most, each // 2, name="cos_cache"), model.weight(most, each // 2, name="sin_cache")
    data = model.node("Gather", model.weight(words, hidden, name="embed"), tokens)

    def product(data: str, rows: int, columns: int) -> str:
        if bits == 16:
            return model.node("MatMul", data, model.weight(rows, columns))
        blocks = -(-rows // BLOCK)
        packed = packed_weight(model, columns, blocks, BLOCK // 2)
        scales = model.weight(columns * blocks, name="scales")
        attributes: dict[str, Any] = {"N": columns, "K": rows, "bits": 4, "block_size": BLOCK}
        return model.node("MatMulNBits", data, packed, scales, domain=RUNTIME, **attributes)

    def normalized(data: str) -> str:
        return model.node("SimplifiedLayerNormalization", data, model.weight(hidden), axis=-1, epsilon=1e-5)

    for layer in range(layers):
        model.scope = f"/model/layers.{layer}/attn/"
        past = [model.input(f"past.{layer}.{name}", ["batch", groups, "past", each]) for name in ("key", "value")]
        kept = data
        data = normalized(data)
        query, key, value = (product(data, hidden, count * each) for count in (heads, groups, groups))
        mixed = model.node(
            *("GroupQueryAttention", query, key, value, *past, lengths, total, *tables),
            outputs=3,
            domain=RUNTIME,
            num_heads=heads,
            kv_num_heads=groups,
            do_rotary=1,
        )
        data = model.node("Add", kept, product(mixed, hidden, hidden))
        model.scope = f"/model/layers.{layer}/mlp/"
        kept = data
        data = normalized(data)
        gate = product(data, hidden, inner)
        gate = model.node("Mul", model.node("Mul", gate, model.node("Sigmoid", gate)), product(data, hidden, inner))
        data = model.node("Add", kept, product(gate, inner, hidden))
    model.scope = "/lm_head/"
    return model.model(product(normalized(data), hidden, words), opsets={"": 17, RUNTIME: 1})


def packed_weight(model: Builder, *shape: int) -> str:
    """A weight of bytes."""
    element, model.element = model.element, UINT8
    name = model.weight(*shape, name="packed")
    model.element = element
    return name


def quantised(width: int = 64, side: int = 56, *, in_place: bool, seed: int | None = None) -> ModelProto:
    """A convolution and a product of bytes: as one op each, or between ops that quantise and dequantise."""
    model = Builder(seed)
    data = model.input("data", ["batch", width, side, side])
    scale, zero = constant(model, 0.05), constant(model, 128, UINT8)
    rows = constant(model, 0.01, shape=[width])
    no_shift = constant(model, 0, INT8, [width])
    model.element = INT8
    filters, matrix = model.weight(width, width, 3, 3), model.weight(width, 10)
    model.element = TensorProto.FLOAT
    data = model.node("QuantizeLinear", data, scale, zero)
    if in_place:
        data = model.node("QLinearConv", data, scale, zero, filters, rows, no_shift, scale, zero, pads=[1] * 4)
        data = model.node("DequantizeLinear", data, scale, zero)
    else:
        image = model.node("DequantizeLinear", data, scale, zero)
        filters = model.node("DequantizeLinear", filters, rows, no_shift, axis=0)
        data = model.node("Conv", image, filters, pads=[1] * 4)
    data = model.node("Flatten", model.node("GlobalAveragePool", data))
    data = model.node("QuantizeLinear", data, scale, zero)
    one = constant(model, 0, INT8)
    data = model.node("QLinearMatMul", data, scale, zero, matrix, constant(model, 0.02), one, scale, zero)
    return model.model(model.node("DequantizeLinear", data, scale, zero))


def constant(model: Builder, number: float, element: int = TensorProto.FLOAT, shape: Sequence[int] = ()) -> str:
    """An initialiser of one number again and again."""
    name = f"c{len(model.initialisers)}"
    count = shape[0] if shape else 1
    numbers = [number if element == TensorProto.FLOAT else int(number)] * count
    model.initialisers.append(helper.make_tensor(name, element, list(shape), numbers))
    return name


def recurrent(width: int = 256, state: int = 512, words: int = 1000, seed: int | None = None) -> ModelProto:
    """An LSTM in both directions, then a GRU, then a RNN, over [length, batch, width]."""
    model = Builder(seed)
    data = model.input("data", ["length", "batch", width])
    for op_type, gates, directions in (("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)):
        weights = [model.weight(directions, gates * state, each) for each in (width, state)]
        bias = model.weight(directions, 2 * gates * state)
        direction = "bidirectional" if directions == 2 else "forward"
        attributes: dict[str, Any] = {"hidden_size": state, "direction": direction}
        data = model.node(op_type, data, *weights, bias, outputs=2, **attributes)
        data = model.node("Transpose", data, perm=[0, 2, 1, 3])
        data = model.node("Reshape", data, model.integers([0, 0, directions * state]))
        width = directions * state
    return model.model(model.node("MatMul", data, model.weight(width, words)))


def u_net(width: int = 64, depth: int = 4, seed: int | None = None) -> ModelProto:
    """Convolutions down and up again: by transposed convolutions and by resizing, with what was beside."""
    model = Builder(seed)
    data = model.input("image", ["batch", 3, 32, 32])
    before, beside = 3, []
    for level in range(depth):
        after = width * 2**level
        weights = model.weight(after, before, 3, 3), model.weight(after)
        data = model.node("Relu", model.node("Conv", data, *weights, pads=[1] * 4))
        beside.append(data)
        data, before = model.node("MaxPool", data, kernel_shape=[2, 2], strides=[2, 2]), after
    for level in reversed(range(depth)):
        after = width * 2**level
        if level % 2:
            data = model.node("ConvTranspose", data, model.weight(before, after, 2, 2), strides=[2, 2])
        else:
            scales = constant_list(model, [1.0, 1.0, 2.0, 2.0])
            data = model.node("Resize", data, "", scales, mode="linear")
            data = model.node("Conv", data, model.weight(after, before, 1, 1))
        data = model.node("Concat", data, beside[level], axis=1)
        data = model.node("Conv", data, model.weight(after, 2 * after, 3, 3), pads=[1] * 4, group=1)
        data = model.node("InstanceNormalization", data, model.weight(after), model.weight(after))
        before = after
    return model.model(data)


def constant_list(model: Builder, numbers: list[float]) -> str:
    """An initialiser of floats that is in the file."""
    name = f"c{len(model.initialisers)}"
    model.initialisers.append(helper.make_tensor(name, TensorProto.FLOAT, [len(numbers)], numbers))
    return name


def recommender(tables: int = 26, rows: int = 100_000, width: int = 128, seed: int | None = None) -> ModelProto:
    """Rows of many tables and a few numbers, all products of pairs, and layers above."""
    model = Builder(seed)
    numbers = model.input("numbers", ["batch", 13])
    kept = [model.node("Relu", model.node("Gemm", numbers, model.weight(13, width), model.weight(width)))]
    for table in range(tables):
        model.scope = f"/table.{table}/"
        index = model.input(f"index.{table}", ["batch"], TensorProto.INT64)
        kept.append(model.node("Gather", model.weight(rows, width), index))
    model.scope = "/top/"
    stacked = [model.node("Unsqueeze", each, model.integers([1])) for each in kept]
    data = model.node("Concat", *stacked, axis=1)
    pairs = model.node("Einsum", data, data, equation="bij,bkj->bik")
    flat = model.node("Flatten", pairs)
    return model.model(model.node("Gemm", flat, model.weight((tables + 1) ** 2, 1), model.weight(1)))


def experts(count: int = 8, hidden: int = 4096, inner: int = 14336, seed: int | None = None) -> ModelProto:
    """A layer of experts as ONNX Runtime has it, with the product that chooses them."""
    model = Builder(seed, element=FLOAT16 if seed is None else TensorProto.FLOAT)
    data = model.input("data", ["rows", hidden])
    chances = model.node("MatMul", data, model.weight(hidden, count))
    first, second = model.weight(count, hidden, inner), model.weight(count, inner, hidden)
    return model.model(
        model.node("MoE", data, chances, first, "", second, domain=RUNTIME, k=2, activation_type="relu"),
        opsets={"": 17, RUNTIME: 1},
    )
