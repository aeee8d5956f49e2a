"""Counts in closed form beside slow ones: by loops over indices, or by the same layer written as plain products."""

import itertools
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.costs.arithmetic import COUNTS, HEAVY, TensorOf, moved_bytes_of, operations_of
from engine.costs.operations.traffic import TRAFFIC
from engine.costs.tensorflow.estimable import OF_UNKNOWN_ARITHMETIC
from engine.graphs.tensorflow.op_table import registered_ops
from engine.graphs.tensorflow.wire import bytes_field

FLOAT, HALF, WHOLE, RESOURCE, VARIANT = 1, 19, 3, 20, 21
Shape = tuple[int, ...]


def node(op_type: str, **attributes: Any) -> Any:
    """What a NodeDef is to us."""
    return SimpleNamespace(op=op_type, attr={key: attribute(value) for key, value in attributes.items()})


def attribute(value: Any) -> Any:
    """What an AttrValue is to us."""
    numbers = [each for each in value if isinstance(each, int)] if isinstance(value, list) else []
    return SimpleNamespace(
        b=value if isinstance(value, bool) else False,
        i=value if isinstance(value, int) else 0,
        s=value if isinstance(value, bytes) else b"",
        list=SimpleNamespace(i=numbers),
    )


def tensors(shapes: Sequence[Shape | None]) -> list[TensorOf | None]:
    return [None if shape is None else TensorOf(FLOAT, shape) for shape in shapes]


def count(op_type: str, inputs: Sequence[Shape | None], *outputs: Shape | None, **attributes: Any) -> int | None:
    """Operations of floats of those shapes."""
    return operations_of(node(op_type, **attributes), tensors(inputs), tensors(outputs))


lengths = st.integers(1, 4)


@st.composite
def convolutions(draw: st.DrawFn, axes: int) -> tuple[Shape, Shape, Shape, bytes]:
    """Image, filter and result in the order of the axes, and that order."""
    groups, of_group, per_group = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    image, weights, result = [], [], []
    same = draw(st.booleans())
    for _ in range(axes):
        taps, stride, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
        reach = (taps - 1) * dilation + 1
        length = draw(st.integers(reach, reach + 2))
        image.append(length)
        weights.append(taps)
        result.append(-(-length // stride) if same else (length - reach) // stride + 1)
    batch, channels = draw(st.integers(1, 2)), groups * per_group
    first = draw(st.booleans())
    order = {2: b"NCHW" if first else b"NHWC", 3: b"NCDHW" if first else b"NDHWC"}[axes]
    return (
        ordered(batch, image, groups * of_group, first),
        (*weights, of_group, channels),
        ordered(batch, result, channels, first),
        order,
    )


def ordered(batch: int, positions: list[int], channels: int, channels_first: bool) -> Shape:
    return (batch, channels, *positions) if channels_first else (batch, *positions, channels)


def counted_convolution(weights: Shape, result: Shape) -> int:
    """A multiplication and an addition for each element of the result, each tap and each channel of its group."""
    found = 0
    for _ in itertools.product(*map(range, result)):
        for _ in itertools.product(*map(range, weights[:-1])):
            found += 2
    return found


@settings(max_examples=40, deadline=None)
@given(st.one_of(convolutions(axes=2), convolutions(axes=3)))
def test_a_convolution_and_its_gradients_take_each_tap_of_each_element(
    case: tuple[Shape, Shape, Shape, bytes],
) -> None:
    image, weights, result, order = case
    expected = counted_convolution(weights, result)
    dimensions = f"{len(image) - 2}D"
    form = {"data_format": order}
    assert count(f"Conv{dimensions}", [image, weights], result, **form) == expected
    generic = b"CHANNELS_FIRST" if order.startswith(b"NC") else b"CHANNELS_LAST"
    assert count("Conv", [image, weights], result, data_format=generic) == expected
    assert count(f"Conv{dimensions}BackpropInputV2", [image, weights, result], image, **form) == expected
    assert count(f"Conv{dimensions}BackpropFilterV2", [image, weights, result], weights, **form) == expected
    if dimensions == "2D":
        for op_type in ("_FusedConv2D", "_MklNativeFusedConv2D", "QuantizedConv2DWithBias", "_MklQuantizedConv2D"):
            assert count(op_type, [image, weights, (weights[-1],)], result, **form) == expected
        assert count("Conv2DBackpropInput", [(4,), weights, result], None, **form) == expected
        assert count("Conv2DBackpropFilter", [image, (4,), result], weights, **form) == expected


@settings(max_examples=30, deadline=None)
@given(st.tuples(*[lengths] * 7))
def test_a_depthwise_convolution_takes_the_taps_of_one_channel(case: tuple[int, ...]) -> None:
    batch, height, width, channels, multiplier, tall, wide = case
    image, result = (batch, 9, 9, channels), (batch, height, width, channels * multiplier)
    weights = (tall, wide, channels, multiplier)
    expected = sum(2 for _ in itertools.product(*map(range, (*result, tall, wide))))
    assert count("DepthwiseConv2dNative", [image, weights], result) == expected
    assert count("_FusedDepthwiseConv2dNative", [image, weights, (1,)], result) == expected
    assert count("QuantizedDepthwiseConv2D", [image, weights], result) == expected
    assert count("DepthwiseConv2dNativeBackpropInput", [(4,), weights, result], image) == expected
    assert count("DepthwiseConv2dNativeBackpropFilter", [image, (4,), result], weights) == expected
    grouped = (tall, wide, 1, channels * multiplier)
    assert count("Conv2D", [image, grouped], result) == expected


def test_a_numbered_convolution_finds_the_channels_of_its_result() -> None:
    """XLA's filter [out, height, width, in] and result [batch, out, height, width]; TensorFlow's uniform one alike."""
    expected = counted_convolution((3, 5, 4, 6), (2, 6, 7, 9))
    inputs = [(2, 4, 7, 9), (6, 3, 5, 4)]
    numbers = bytes([3 << 3, 3])  # axis 0 is left out, as all zeros are
    assert count("XlaConvV2", inputs, (2, 6, 7, 9), dimension_numbers=numbers) == expected
    last = [(2, 4, 7, 9), (3, 5, 4, 6)]
    assert count("XlaConv", last, (2, 6, 7, 9), dimension_numbers=bytes([4 << 3, 3])) == expected
    assert count("UniformQuantizedConvolution", inputs, (2, 6, 7, 9)) == expected
    assert count("XlaConv", last, (2, 6, 7, 9), dimension_numbers=b"\x20") is None
    assert count("XlaConv", last, (2, 6, 7, 9), dimension_numbers=bytes([4 << 3, 9])) is None


def counted_product(batch: Shape, rows: int, inner: int, columns: int) -> int:
    return sum(2 for _ in itertools.product(*map(range, (*batch, rows, inner, columns))))


@settings(max_examples=40, deadline=None)
@given(st.tuples(lengths, lengths, lengths), st.booleans(), st.booleans())
def test_a_product_takes_each_inner_index_of_each_element(
    sizes: tuple[int, int, int], flip_left: bool, flip_right: bool
) -> None:
    rows, inner, columns = sizes
    left = (inner, rows) if flip_left else (rows, inner)
    right = (columns, inner) if flip_right else (inner, columns)
    expected = counted_product((), rows, inner, columns)
    for op_type in ("MatMul", "_FusedMatMul", "SparseMatMul", "QuantizedMatMulWithBias", "_QuantizedMatMul"):
        found = count(op_type, [left, right], (rows, columns), transpose_a=flip_left, transpose_b=flip_right)
        assert found == expected
    for op_type in ("BatchMatMul", "BatchMatMulV3", "_MklFusedBatchMatMulV2"):
        assert count(op_type, [left, right], None, adj_x=flip_left, adj_y=flip_right) == expected
    longer = (columns, inner + 1) if flip_right else (inner + 1, columns)
    assert count("MatMul", [left, longer], None, transpose_a=flip_left, transpose_b=flip_right) is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("LRB"), lengths), max_size=3), st.integers(0, 3), lengths)
def test_batches_of_products_are_broadcast(batch: list[tuple[str, int]], dropped: int, rows: int) -> None:
    """Each axis of the batch is in the left operand, in the right one, or in both; leading ones are left out of one."""
    left = tuple(length if side in "LB" else 1 for side, length in batch)
    right = tuple(length if side in "RB" else 1 for side, length in batch)
    while dropped and right and right[0] == 1:
        right, dropped = right[1:], dropped - 1
    expected = counted_product(tuple(length for _, length in batch), rows, 2, 3)
    assert count("BatchMatMulV2", [(*left, rows, 2), (*right, 2, 3)], None) == expected
    assert count("BatchMatMulV2", [(*right, rows, 2), (*left, 2, 3)], None) == expected


def test_a_sparse_matrix_takes_a_multiply_add_for_each_value_and_column() -> None:
    inputs = [(17, 2), (17,), (2,), (50, 13)]
    assert count("SparseTensorDenseMatMul", inputs, (100, 13)) == 2 * 17 * 13
    inputs = [(17, 2), (17,), (2,), (13, 50)]
    assert count("SparseTensorDenseMatMul", inputs, (100, 13), adjoint_b=True) == 2 * 17 * 13


def test_a_numbered_product_finds_what_is_contracted() -> None:
    """Two axes of the left operand with two of the right one, a batch beside; packed numbers or one by one."""
    expected = counted_product((2,), 7, 11 * 3, 13)
    packed = bytes_field(1, bytes([2, 3])) + bytes_field(2, bytes([1, 2])) + bytes_field(3, b"\x00")
    single = bytes([1 << 3, 2, 1 << 3, 3, 2 << 3, 1, 2 << 3, 2])
    inputs = [(2, 7, 11, 3), (2, 11, 3, 13)]
    for message in (packed, single):
        assert count("XlaDotV2", inputs, (2, 7, 13), dimension_numbers=message) == expected
    assert count("XlaDot", inputs, (2, 7, 13), dimension_numbers=bytes([1 << 3, 9, 2 << 3, 9])) is None
    assert count("XlaDot", inputs, (2, 7, 13), dimension_numbers=bytes_field(1, b"\xff")) is None


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, list[Shape], dict[str, int]]:
    """An equation of one or two operands, their shapes, the length of each label."""
    length_of = {label: draw(st.integers(1, 3)) for label in "abcD"}
    operands = draw(st.lists(st.text("abcD", max_size=3), min_size=1, max_size=2))
    used = sorted(set("".join(operands)))
    result = "".join(draw(st.permutations(used))[: draw(st.integers(0, len(used)))])
    shapes = [tuple(length_of[label] for label in operand) for operand in operands]
    return f"{','.join(operands)}->{result}", shapes, {label: length_of[label] for label in used}


@settings(max_examples=100, deadline=None)
@given(equations())
def test_an_equation_takes_what_each_assignment_of_its_labels_takes(
    case: tuple[str, list[Shape], dict[str, int]],
) -> None:
    equation, shapes, length_of = case
    operands, _, result = equation.partition("->")
    expected = 0
    for _ in itertools.product(*(range(length) for length in length_of.values())):
        expected += "," in operands  # a multiplication
        expected += set(result) != set(length_of)  # an addition
    assert count("Einsum", shapes, None, equation=equation.encode()) == expected


@pytest.mark.parametrize(
    ("equation", "first", "second", "expected"),
    [
        ("...ij,jk->...ik", (2, 3, 4, 5), (5, 6), 2 * 2 * 3 * 4 * 5 * 6),
        ("...ij,...jk->...ik", (2, 1, 4, 5), (3, 5, 6), 2 * 2 * 3 * 4 * 5 * 6),
        (" b ... d , d e -> b ... e ", (2, 3, 4, 5), (5, 6), 2 * 2 * 3 * 4 * 5 * 6),
        ("...,...->...", (2, 3), (3,), 6),
        ("...i,...i->", (2, 3), (2, 3), 12),
    ],
)
def test_an_ellipsis_stands_for_axes_that_are_broadcast(
    equation: str, first: Shape, second: Shape, expected: int
) -> None:
    assert count("Einsum", [first, second], None, equation=equation.encode()) == expected


@pytest.mark.parametrize(
    "equation", [b"", b"ij,jk", b"ij,jk,kl->il", b"ij,jk->im", b"i....,jk->ik", b"i1,1k->ik", b"ijj,jk->ik", b"\xff->"]
)
def test_an_equation_that_does_not_fit_has_no_count(equation: bytes) -> None:
    assert count("Einsum", [(2, 3), (3, 4)], (2, 4), equation=equation) is None


def of_step(rows: int, inner: int, columns: int) -> int:
    found = count("MatMul", [(rows, inner), (inner, columns)], None)
    assert found is not None
    return found


@settings(max_examples=30, deadline=None)
@given(st.tuples(lengths, lengths, lengths, lengths))
def test_a_layer_of_one_op_takes_what_its_steps_take_as_products(case: tuple[int, int, int, int]) -> None:
    steps, batch, features, units = case
    state = (batch, units)
    step = of_step(batch, features + units, 4 * units)
    weights = (features + units, 4 * units)
    layer = [(), (steps, batch, features), state, state, weights]
    assert count("BlockLSTM", layer) == count("BlockLSTMV2", layer) == steps * step
    assert count("BlockLSTMGrad", layer) == 2 * steps * step
    assert count("LSTMBlockCell", [(batch, features), state, state, weights]) == step
    gated = of_step(batch, features + units, 2 * units) + of_step(batch, features + units, units)
    cell = [(batch, features), state, (features + units, 2 * units), (features + units, units)]
    assert count("GRUBlockCell", cell) == count("GRUBlockCellGrad", cell) == gated


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(lengths, lengths, lengths, lengths, lengths),
    st.sampled_from([(b"lstm", 4), (b"gru", 3), (b"rnn_tanh", 1)]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2),
)
def test_the_library_s_layers_take_what_their_steps_take_as_products(
    sizes: tuple[int, int, int, int, int], kind: tuple[bytes, int], both_ways: bool, time_first: bool, projected: int
) -> None:
    steps, batch, features, units, layers = sizes
    mode, gates = kind
    directions = 2 if both_ways else 1
    width = projected or units
    expected = 0
    for layer in range(layers):
        comes_in = features if layer == 0 else directions * width
        of_cell = of_step(batch, comes_in + width, gates * units)
        if projected:
            of_cell += of_step(batch, units, width)
        expected += directions * steps * of_cell
    cells = layers * directions
    inputs: list[Shape] = [(steps, batch, features), (cells, batch, width), (cells, batch, units), (10**6,)]
    if not time_first:
        inputs[:3] = [(shape[1], shape[0], shape[2]) for shape in inputs[:3]]
    settings_of = {
        "rnn_mode": mode,
        "direction": b"bidirectional" if both_ways else b"unidirectional",
        "time_major": time_first,
        "num_proj": projected,
    }
    assert count("CudnnRNNV3", inputs, **settings_of) == expected
    assert count("CudnnRNNBackpropV3", inputs, **settings_of) == 2 * expected
    assert count("CudnnRNNV3", [*inputs[:3], (0,)], **settings_of) is None


def test_eliminations_lead_as_their_loops_do() -> None:
    """Loops over a matrix of 60 rows, whose lower terms are less than a tenth."""
    rows = 60
    lower_upper = sum(2 * (rows - step - 1) ** 2 for step in range(rows))
    symmetric = sum(2 * (rows - column) for step in range(rows) for column in range(step + 1, rows))
    substitution = sum(2 * step for step in range(rows))
    square = (3, rows, rows)
    assert count("Lu", [square]) == pytest.approx(3 * lower_upper, rel=0.1)
    assert count("MatrixDeterminant", [square]) == count("Lu", [square])
    assert count("Cholesky", [square]) == pytest.approx(3 * symmetric, rel=0.1)
    assert count("MatrixTriangularSolve", [square, (3, rows, 5)]) == pytest.approx(3 * 5 * substitution, rel=0.1)
    solved = count("MatrixSolve", [square, (3, rows, 5)])
    assert solved == pytest.approx(3 * (lower_upper + 2 * 5 * substitution), rel=0.1)
    assert count("MatrixSolve", [square, (3, rows + 1, 5)]) is None
    assert count("Cholesky", [(rows, rows + 1)]) is None


def test_decompositions_count_from_the_longer_side_and_with_what_is_asked_for() -> None:
    for op_type in ("Qr", "Svd", "MatrixSolveLs"):
        first = count(op_type, [(2, 30, 10), (2, 30, 1)])
        assert first is not None and first > 0
        assert count(op_type, [(2, 10, 30), (2, 10, 1)]) == first
        assert count(op_type, [(4, 30, 10), (4, 30, 1)]) == 2 * first
    reflections = sum(4 * (30 - step) * (10 - step) for step in range(10))
    assert count("Qr", [(30, 10)]) == pytest.approx(2 * reflections, rel=0.15)
    full, thin = (count("Qr", [(30, 10)], full_matrices=each) for each in (True, False))
    assert full is not None and thin is not None and full > thin
    values, vectors = (count("SelfAdjointEigV2", [(9, 9)], compute_v=each) for each in (False, True))
    assert (values, vectors) == (4 * 9**3 // 3, 9 * 9**3)
    values, vectors = (count("Svd", [(9, 9)], compute_uv=each) for each in (False, True))
    assert values is not None and vectors is not None and values < vectors


def halved(length: int) -> int:
    """Operations of a transform that halves until one is left: a step multiplies by a root, adds and subtracts."""
    return 0 if length == 1 else 2 * halved(length // 2) + length // 2 * (6 + 2 + 2)


def test_a_transform_takes_what_halving_takes() -> None:
    assert count("FFT", [(3, 64)], (3, 64)) == 3 * halved(64)
    assert count("IFFT2D", [(3, 16, 32)], (3, 16, 32)) == 3 * (16 * halved(32) + 32 * halved(16))
    assert count("RFFT", [(3, 64)], (3, 33)) == count("IRFFT", [(3, 33)], (3, 64)) == 3 * halved(64) // 2
    odd = count("RFFT", [(3, 63)], (3, 32))
    assert odd == count("IRFFT", [(3, 32)], (3, 63)) == math.floor(5 * 3 * 63 * math.log2(63)) // 2
    assert count("FFT", [()], ()) is None


def test_sorts_and_suppressed_boxes() -> None:
    assert count("TopKV2", [(5, 64), ()], (5, 3), (5, 3)) == 5 * 64 * 6
    assert count("NonMaxSuppressionV3", [(7, 4), (7,)]) == 49
    assert count("CombinedNonMaxSuppression", [(2, 7, 1, 4), (2, 7, 3)]) == 2 * 3 * 49


def test_a_sum_over_rows_that_are_looked_up_takes_an_addition_an_element() -> None:
    inputs = [(1000, 8), (5,), (5,)]
    assert count("SparseSegmentSum", inputs, (2, 8)) == 40
    moved = moved_bytes_of(node("SparseSegmentSum"), tensors(inputs), tensors([(2, 8)]))
    assert moved == 4 * (5 * 8 + 5 + 5 + 2 * 8)


def test_a_lookup_reads_only_what_it_gives() -> None:
    table, indices, rows = TensorOf(HALF, (10**6, 8)), TensorOf(WHOLE, (5,)), TensorOf(HALF, (5, 8))
    for op_type in ("GatherV2", "Gather", "GatherNd"):
        assert moved_bytes_of(node(op_type), [table, indices], [rows]) == 4 * 5 + 2 * 2 * 40
        assert operations_of(node(op_type), [table, indices], [rows]) == 0
    handle = TensorOf(RESOURCE, ())
    assert moved_bytes_of(node("ResourceGather"), [handle, indices], [rows]) == 4 * 5 + 2 * 2 * 40
    assert moved_bytes_of(node("ResourceScatterAdd"), [handle, indices, rows], []) == 4 * 5 + 3 * 2 * 40


def test_other_ops_read_and_write_every_tensor_that_is_known() -> None:
    tensor, handle = TensorOf(FLOAT, (3, 4)), TensorOf(VARIANT, ())
    assert moved_bytes_of(node("MatMul"), [tensor, None], [tensor]) == 96
    for op_type in ("TensorListSetItem", "TensorListPushBack"):  # a list holds its elements by reference
        assert moved_bytes_of(node(op_type), [handle, None, tensor], [handle]) == 0
    for op_type in ("TensorListGetItem", "TensorListPopBack"):
        assert moved_bytes_of(node(op_type), [handle, None, None], [tensor]) == 0
    assert moved_bytes_of(node("TensorListStack"), [handle, None], [tensor]) == 96
    array, places, flow = TensorOf(RESOURCE, ()), TensorOf(WHOLE, (3,)), TensorOf(FLOAT, ())
    for op_type in ("StackPushV2", "TensorArrayWriteV3"):
        assert moved_bytes_of(node(op_type), [array, None, tensor, flow], [flow]) == 0
    assert moved_bytes_of(node("TensorArrayReadV3"), [array, None, flow], [tensor]) == 0
    assert moved_bytes_of(node("TensorArrayGatherV3"), [array, places, flow], [tensor]) == 96
    assert moved_bytes_of(node("TensorArrayScatterV3"), [array, places, tensor, flow], [flow]) == 96
    assert moved_bytes_of(node("Reshape"), [tensor, None], [tensor]) == 0


def test_types_are_registered_and_all_of_unknown_arithmetic_is_counted() -> None:
    optimized = {op_type for op_type in COUNTS if op_type.startswith("_Mkl")}
    only_optimized = {op_type.removeprefix("_Mkl").removeprefix("Native") for op_type in optimized}
    assert COUNTS.keys() - optimized - only_optimized <= registered_ops().keys()
    assert TRAFFIC.keys() <= registered_ops().keys()
    assert COUNTS.keys() >= OF_UNKNOWN_ARITHMETIC
    heavy_words = ("Conv", "MatMul", "Einsum")
    no_product = ("ToCooTensor", "SparseCore", "SparseCsr", "SparseMatrix")  # a handle's shape says nothing
    named = {op_type for op_type in registered_ops() if any(word in op_type for word in heavy_words)}
    others = {op_type for op_type in named if any(word in op_type for word in (*no_product, "Convert"))}
    assert named - others - HEAVY == {"TridiagonalMatMul", "__MklDummyConv2DBackpropFilterWithBias"} | {
        *("__MklDummyConv2DWithBias", "__MklDummyPadWithConv2D", "__MklDummyPadWithFusedConv2D")
    }


wild_lengths = st.one_of(st.integers(0, 5), st.sampled_from([2**31, 2**63 - 1]))
wild_shapes = st.one_of(st.none(), st.lists(wild_lengths, max_size=6).map(tuple))
wild_values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.binary(max_size=8),
    st.sampled_from([b"NHWC", b"NCHW", b"lstm", b"skip_input", b"ab,bc->ac", b"...a,a->..."]),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
)
KEYS = (
    *("data_format", "batch_dims", "transpose_a", "adj_x", "adjoint_b", "equation", "dimension_numbers", "rnn_mode"),
    *("direction", "num_proj", "input_mode", "time_major", "full_matrices", "compute_uv", "ksize", "depth_radius"),
)


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(sorted(COUNTS)),
    st.dictionaries(st.sampled_from(KEYS), wild_values, max_size=4),
    st.lists(wild_shapes, max_size=6),
    st.lists(wild_shapes, max_size=3),
)
def test_nothing_that_a_file_claims_raises(
    op_type: str, attributes: dict[str, Any], inputs: list[Shape | None], outputs: list[Shape | None]
) -> None:
    found = count(op_type, inputs, *outputs, **attributes)
    assert found is None or found >= 0
    assert moved_bytes_of(node(op_type, **attributes), tensors(inputs), tensors(outputs)) >= 0


def test_heavy_ops_of_unknown_shapes_have_no_count() -> None:
    for op_type in HEAVY:
        assert count(op_type, [None] * 5, None) is None
        assert count(op_type, []) is None


def test_an_unknown_type_has_no_count() -> None:
    assert count("Mystery", [(3, 4)], (3, 4)) is None


def test_huge_shapes_are_counted_exactly() -> None:
    huge = 2**62
    assert count("MatMul", [(huge, huge), (huge, huge)], (huge, huge)) == 2 * huge**3
