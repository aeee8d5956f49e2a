"""Graphs of one heavy op, and what TensorFlow's estimator and we make of each. In a child alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from engine.child.parent import ReportProgress, Results
from engine.costs.arithmetic import ELEMENT_BYTES, TensorOf, moved_bytes_of, operations_of
from engine.costs.tensorflow import grappler
from engine.costs.tensorflow.estimating import estimate
from engine.costs.tensorflow.placeholders import replace_feeds
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import REFS_FROM
from engine.graphs.tensorflow.wire import bytes_field

RAW = tf.raw_ops
Tensor = Any
ODD = {"strides": [1, 2, 3, 1], "padding": "VALID", "dilations": [1, 2, 1, 1]}
PLAIN = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def fed(*shape: int, dtype: Any = tf.float32) -> Tensor:
    """Something of that shape."""
    return tf.compat.v1.placeholder(dtype, shape)


def internal(op_type: str, inputs: list[Tensor], attributes: Mapping[str, Any]) -> Tensor:
    """An op that only TensorFlow's optimizer makes."""
    graph = tf.compat.v1.get_default_graph()
    values = {}
    for key, value in attributes.items():
        values[key] = tf.compat.v1.AttrValue()
        if isinstance(value, bool):
            values[key].b = value
        elif isinstance(value, int):
            values[key].i = value
        elif isinstance(value, bytes):
            values[key].s = value
        elif isinstance(value, str):
            values[key].s = value.encode()
        elif isinstance(value, tf.DType):
            values[key].type = value.as_datatype_enum
        elif value and isinstance(value[0], str):
            values[key].list.s.extend(each.encode() for each in value)
        elif value and isinstance(value[0], tf.DType):
            values[key].list.type.extend(each.as_datatype_enum for each in value)
        else:
            values[key].list.i.extend(value)
            values[key].list.SetInParent()
    return graph._create_op_internal(op_type, inputs, None, name="fused", attrs=values).outputs[0]


def float_attributes(**others: Any) -> dict[str, Any]:
    """Those attributes, of an op on floats."""
    return {"T": tf.float32} | others


def fused_convolution(op_type: str, *fused: str, channels: int = 6) -> Tensor:
    """A convolution that goes on with what is `fused`."""
    inputs = [fed(2, 9, 11, 4), fed(3, 5, 4, channels), fed(channels)]
    attributes = float_attributes(fused_ops=list(fused), num_args=1, **PLAIN)
    if op_type == "_FusedConv2D":
        attributes |= {"TArgs": [tf.float32], "num_host_args": 0}
    return internal(op_type, inputs, attributes)


def sizes_of(sizes: list[int]) -> Tensor:
    """A constant that the shapes follow from."""
    return tf.constant(sizes, tf.int32)


def quantized(*shape: int) -> Tensor:
    """Something of bytes."""
    return fed(*shape, dtype=tf.quint8)


XLA_TYPES = {"LhsT": tf.float32, "RhsT": tf.float32, "preferred_element_type": tf.float32}
XLA_PRODUCT = bytes_field(1, b"\x02") + bytes_field(2, b"\x02") + bytes_field(3, b"\x00") + bytes_field(4, b"\x00")
"""DotDimensionNumbers: axis 2 of both is contracted, axis 0 of both is a batch"""

CASES: dict[str, Callable[[], Any]] = {
    "conv same": lambda: RAW.Conv2D(input=fed(2, 9, 11, 4), filter=fed(3, 5, 4, 6), **PLAIN),
    "conv valid odd": lambda: RAW.Conv2D(input=fed(2, 19, 23, 4), filter=fed(3, 5, 4, 6), **ODD),
    "conv strided": lambda: RAW.Conv2D(
        input=fed(2, 19, 23, 4), filter=fed(3, 5, 4, 6), strides=[1, 2, 3, 1], padding="VALID"
    ),
    "conv strided same": lambda: RAW.Conv2D(
        input=fed(2, 19, 23, 4), filter=fed(3, 5, 4, 6), strides=[1, 2, 3, 1], padding="SAME"
    ),
    "conv dilated same": lambda: RAW.Conv2D(
        input=fed(2, 19, 23, 4), filter=fed(3, 5, 4, 6), strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 3, 1]
    ),
    "conv dilated valid": lambda: RAW.Conv2D(
        input=fed(2, 19, 23, 4), filter=fed(3, 5, 4, 6), strides=[1, 1, 1, 1], padding="VALID", dilations=[1, 2, 3, 1]
    ),
    "conv explicit padding": lambda: RAW.Conv2D(
        input=fed(2, 9, 11, 4),
        filter=fed(3, 5, 4, 6),
        strides=[1, 1, 1, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 3, 4, 1, 0, 0, 0],
    ),
    "conv grouped": lambda: RAW.Conv2D(input=fed(2, 9, 11, 8), filter=fed(3, 5, 4, 6), **PLAIN),
    "conv grouped to one": lambda: RAW.Conv2D(input=fed(2, 9, 11, 8), filter=fed(3, 5, 1, 8), **PLAIN),
    "conv half": lambda: RAW.Conv2D(
        input=fed(2, 9, 11, 4, dtype=tf.half), filter=fed(3, 5, 4, 6, dtype=tf.half), **PLAIN
    ),
    "conv channels first": lambda: RAW.Conv2D(
        input=fed(2, 4, 19, 23), filter=fed(3, 5, 4, 6), strides=[1, 1, 2, 3], padding="VALID", data_format="NCHW"
    ),
    "conv channels first grouped": lambda: RAW.Conv2D(
        input=fed(2, 8, 19, 23), filter=fed(3, 5, 4, 6), strides=[1, 1, 2, 3], padding="VALID", data_format="NCHW"
    ),
    "conv empty": lambda: RAW.Conv2D(input=fed(0, 9, 11, 4), filter=fed(3, 5, 4, 6), **PLAIN),
    "generic": lambda: RAW.Conv(input=fed(2, 9, 11, 4), filter=fed(3, 5, 4, 6), **PLAIN),
    "generic grouped": lambda: RAW.Conv(input=fed(2, 9, 11, 8), filter=fed(3, 5, 4, 6), groups=2, **PLAIN),
    "conv 3-D": lambda: RAW.Conv3D(
        input=fed(2, 7, 9, 11, 4), filter=fed(3, 3, 5, 4, 6), strides=[1, 1, 2, 3, 1], padding="SAME"
    ),
    "input gradient": lambda: RAW.Conv2DBackpropInput(
        input_sizes=sizes_of([2, 19, 23, 4]),
        filter=fed(3, 5, 4, 6),
        out_backprop=fed(2, 10, 8, 6),
        strides=[1, 2, 3, 1],
        padding="SAME",
    ),
    "input gradient valid": lambda: RAW.Conv2DBackpropInput(
        input_sizes=sizes_of([2, 19, 23, 4]),
        filter=fed(3, 5, 4, 6),
        out_backprop=fed(2, 9, 7, 6),
        strides=[1, 2, 3, 1],
        padding="VALID",
    ),
    "input gradient dilated": lambda: RAW.Conv2DBackpropInput(
        input_sizes=sizes_of([2, 19, 23, 4]),
        filter=fed(3, 5, 4, 6),
        out_backprop=fed(2, 15, 11, 6),
        strides=[1, 1, 1, 1],
        padding="VALID",
        dilations=[1, 2, 3, 1],
    ),
    "input gradient grouped": lambda: RAW.Conv2DBackpropInput(
        input_sizes=sizes_of([2, 19, 23, 8]),
        filter=fed(3, 5, 4, 6),
        out_backprop=fed(2, 19, 23, 6),
        **PLAIN,
    ),
    "input gradient channels first": lambda: RAW.Conv2DBackpropInput(
        input_sizes=sizes_of([2, 4, 19, 23]),
        filter=fed(3, 5, 4, 6),
        out_backprop=fed(2, 6, 10, 8),
        strides=[1, 1, 2, 3],
        padding="SAME",
        data_format="NCHW",
    ),
    "input gradient of sizes that are fed": lambda: RAW.Conv2DBackpropInput(
        input_sizes=fed(4, dtype=tf.int32),
        filter=fed(3, 5, 4, 6),
        out_backprop=fed(2, 10, 8, 6),
        strides=[1, 2, 3, 1],
        padding="SAME",
    ),
    "input gradient v2": lambda: RAW.Conv2DBackpropInputV2(
        input=fed(2, 19, 23, 4),
        filter=fed(3, 5, 4, 6),
        out_backprop=fed(2, 10, 8, 6),
        strides=[1, 2, 3, 1],
        padding="SAME",
    ),
    "input gradient 3-D": lambda: RAW.Conv3DBackpropInputV2(
        input_sizes=sizes_of([2, 7, 9, 11, 4]),
        filter=fed(3, 3, 5, 4, 6),
        out_backprop=fed(2, 7, 5, 4, 6),
        strides=[1, 1, 2, 3, 1],
        padding="SAME",
    ),
    "filter gradient": lambda: RAW.Conv2DBackpropFilter(
        input=fed(2, 19, 23, 4),
        filter_sizes=sizes_of([3, 5, 4, 6]),
        out_backprop=fed(2, 10, 8, 6),
        strides=[1, 2, 3, 1],
        padding="SAME",
    ),
    "filter gradient valid": lambda: RAW.Conv2DBackpropFilter(
        input=fed(2, 19, 23, 4),
        filter_sizes=sizes_of([3, 5, 4, 6]),
        out_backprop=fed(2, 9, 7, 6),
        strides=[1, 2, 3, 1],
        padding="VALID",
    ),
    "filter gradient dilated": lambda: RAW.Conv2DBackpropFilter(
        input=fed(2, 19, 23, 4),
        filter_sizes=sizes_of([3, 5, 4, 6]),
        out_backprop=fed(2, 15, 11, 6),
        strides=[1, 1, 1, 1],
        padding="VALID",
        dilations=[1, 2, 3, 1],
    ),
    "filter gradient grouped": lambda: RAW.Conv2DBackpropFilter(
        input=fed(2, 19, 23, 8), filter_sizes=sizes_of([3, 5, 4, 6]), out_backprop=fed(2, 19, 23, 6), **PLAIN
    ),
    "filter gradient v2": lambda: RAW.Conv2DBackpropFilterV2(
        input=fed(2, 19, 23, 4),
        filter=fed(3, 5, 4, 6),
        out_backprop=fed(2, 10, 8, 6),
        strides=[1, 2, 3, 1],
        padding="SAME",
    ),
    "filter gradient 3-D": lambda: RAW.Conv3DBackpropFilterV2(
        input=fed(2, 7, 9, 11, 4),
        filter_sizes=sizes_of([3, 3, 5, 4, 6]),
        out_backprop=fed(2, 7, 5, 4, 6),
        strides=[1, 1, 2, 3, 1],
        padding="SAME",
    ),
    "depthwise": lambda: RAW.DepthwiseConv2dNative(input=fed(2, 9, 11, 4), filter=fed(3, 5, 4, 3), **PLAIN),
    "depthwise valid": lambda: RAW.DepthwiseConv2dNative(
        input=fed(2, 19, 23, 4), filter=fed(3, 5, 4, 3), strides=[1, 2, 2, 1], padding="VALID"
    ),
    "depthwise dilated": lambda: RAW.DepthwiseConv2dNative(
        input=fed(2, 19, 23, 4), filter=fed(3, 5, 4, 3), strides=[1, 1, 1, 1], padding="VALID", dilations=[1, 3, 3, 1]
    ),
    "depthwise channels first": lambda: RAW.DepthwiseConv2dNative(
        input=fed(2, 4, 19, 23), filter=fed(3, 5, 4, 1), strides=[1, 1, 2, 2], padding="SAME", data_format="NCHW"
    ),
    "depthwise input gradient": lambda: RAW.DepthwiseConv2dNativeBackpropInput(
        input_sizes=sizes_of([2, 19, 23, 4]),
        filter=fed(3, 5, 4, 3),
        out_backprop=fed(2, 10, 12, 12),
        strides=[1, 2, 2, 1],
        padding="SAME",
    ),
    "depthwise filter gradient": lambda: RAW.DepthwiseConv2dNativeBackpropFilter(
        input=fed(2, 19, 23, 4),
        filter_sizes=sizes_of([3, 5, 4, 3]),
        out_backprop=fed(2, 10, 12, 12),
        strides=[1, 2, 2, 1],
        padding="SAME",
    ),
    "fused convolution": lambda: fused_convolution("_FusedConv2D", "BiasAdd", "Relu"),
    "fused depthwise": lambda: fused_convolution("_FusedDepthwiseConv2dNative", "BiasAdd", "Relu", channels=1),
    "product": lambda: RAW.MatMul(a=fed(7, 11), b=fed(11, 13)),
    "product transposed": lambda: RAW.MatMul(a=fed(11, 7), b=fed(13, 11), transpose_a=True, transpose_b=True),
    "product half": lambda: RAW.MatMul(a=fed(7, 11, dtype=tf.bfloat16), b=fed(11, 13, dtype=tf.bfloat16)),
    "product of one row": lambda: RAW.MatMul(a=fed(1, 11), b=fed(11, 1)),
    "product empty": lambda: RAW.MatMul(a=fed(0, 11), b=fed(11, 13)),
    "fused product": lambda: internal(
        "_FusedMatMul",
        [fed(7, 11), fed(11, 13), fed(13)],
        float_attributes(fused_ops=["BiasAdd", "Relu"], num_args=1),
    ),
    "sparse product": lambda: RAW.SparseMatMul(a=fed(7, 11), b=fed(11, 13), a_is_sparse=True),
    "sparse tensor's product": lambda: RAW.SparseTensorDenseMatMul(
        a_indices=fed(17, 2, dtype=tf.int64), a_values=fed(17), a_shape=tf.constant([100, 50], tf.int64), b=fed(50, 13)
    ),
    "sparse tensor's product adjoint": lambda: RAW.SparseTensorDenseMatMul(
        a_indices=fed(17, 2, dtype=tf.int64),
        a_values=fed(17),
        a_shape=tf.constant([50, 100], tf.int64),
        b=fed(13, 50),
        adjoint_a=True,
        adjoint_b=True,
    ),
    "batch": lambda: RAW.BatchMatMul(x=fed(2, 3, 7, 11), y=fed(2, 3, 11, 13)),
    "batch adjoint": lambda: RAW.BatchMatMulV2(x=fed(2, 3, 11, 7), y=fed(2, 3, 13, 11), adj_x=True, adj_y=True),
    "batch broadcast": lambda: RAW.BatchMatMulV2(x=fed(2, 1, 7, 11), y=fed(5, 11, 13)),
    "batch broadcast longer right": lambda: RAW.BatchMatMulV2(x=fed(7, 11), y=fed(3, 5, 11, 13)),
    "batch broadcast longer left": lambda: RAW.BatchMatMulV2(x=fed(3, 5, 7, 11), y=fed(11, 13)),
    "batch broadcast both": lambda: RAW.BatchMatMulV2(x=fed(3, 1, 7, 11), y=fed(1, 5, 11, 13)),
    "batch half": lambda: RAW.BatchMatMulV2(x=fed(2, 3, 7, 11, dtype=tf.half), y=fed(2, 3, 11, 13, dtype=tf.half)),
    "batch v3": lambda: RAW.BatchMatMulV3(x=fed(2, 3, 7, 11), y=fed(2, 3, 11, 13), Tout=tf.float32),
    "quantised product": lambda: RAW.QuantizedMatMul(
        a=quantized(7, 11),
        b=quantized(11, 13),
        min_a=fed(),
        max_a=fed(),
        min_b=fed(),
        max_b=fed(),
        Toutput=tf.qint32,
    ),
    "quantised convolution": lambda: RAW.QuantizedConv2D(
        input=quantized(2, 9, 11, 4),
        filter=quantized(3, 5, 4, 6),
        min_input=fed(),
        max_input=fed(),
        min_filter=fed(),
        max_filter=fed(),
        **PLAIN,
    ),
    "input gradient grouped to one": lambda: RAW.Conv2DBackpropInput(
        input_sizes=sizes_of([2, 9, 11, 8]), filter=fed(3, 5, 1, 8), out_backprop=fed(2, 9, 11, 8), **PLAIN
    ),
    "filter gradient grouped to one": lambda: RAW.Conv2DBackpropFilter(
        input=fed(2, 9, 11, 8), filter_sizes=sizes_of([3, 5, 1, 8]), out_backprop=fed(2, 9, 11, 8), **PLAIN
    ),
    "depthwise input gradient dilated": lambda: RAW.DepthwiseConv2dNativeBackpropInput(
        input_sizes=sizes_of([2, 19, 23, 4]),
        filter=fed(3, 5, 4, 3),
        out_backprop=fed(2, 13, 11, 12),
        strides=[1, 1, 1, 1],
        padding="VALID",
        dilations=[1, 3, 3, 1],
    ),
    "depthwise filter gradient dilated": lambda: RAW.DepthwiseConv2dNativeBackpropFilter(
        input=fed(2, 19, 23, 4),
        filter_sizes=sizes_of([3, 5, 4, 3]),
        out_backprop=fed(2, 13, 11, 12),
        strides=[1, 1, 1, 1],
        padding="VALID",
        dilations=[1, 3, 3, 1],
    ),
    "padded convolution": lambda: RAW.FusedPadConv2D(
        input=fed(2, 9, 11, 4),
        paddings=tf.constant([[0, 0], [1, 2], [3, 4], [0, 0]]),
        filter=fed(3, 5, 4, 6),
        mode="REFLECT",
        strides=[1, 1, 1, 1],
        padding="VALID",
    ),
    "resized convolution": lambda: RAW.FusedResizeAndPadConv2D(
        input=fed(2, 9, 11, 4),
        size=sizes_of([12, 15]),
        paddings=tf.constant([[0, 0], [1, 2], [3, 4], [0, 0]]),
        filter=fed(3, 5, 4, 6),
        mode="REFLECT",
        strides=[1, 1, 1, 1],
        padding="VALID",
    ),
    "sparse product transposed": lambda: RAW.SparseMatMul(
        a=fed(11, 7), b=fed(13, 11), transpose_a=True, transpose_b=True
    ),
    "quantised product transposed": lambda: RAW.QuantizedMatMul(
        a=quantized(11, 7),
        b=quantized(13, 11),
        min_a=fed(),
        max_a=fed(),
        min_b=fed(),
        max_b=fed(),
        Toutput=tf.qint32,
        transpose_a=True,
        transpose_b=True,
    ),
    "batch adjoint of old": lambda: RAW.BatchMatMul(x=fed(2, 3, 11, 7), y=fed(2, 3, 13, 11), adj_x=True, adj_y=True),
    "batch empty": lambda: RAW.BatchMatMulV2(x=fed(0, 7, 11), y=fed(0, 11, 13)),
    "XLA's product": lambda: internal(
        "XlaDotV2",
        [fed(2, 7, 11), fed(2, 13, 11)],
        XLA_TYPES | {"dimension_numbers": XLA_PRODUCT, "precision_config": b""},
    ),
    "XLA's einsum": lambda: internal("XlaEinsum", [fed(7, 11), fed(11, 13)], float_attributes(equation="ij,jk->ik")),
    "XLA's einsum outer": lambda: internal("XlaEinsum", [fed(7), fed(11)], float_attributes(equation="i,j->ij")),
    "library's LSTM": lambda: RAW.CudnnRNN(
        input=fed(7, 5, 3), input_h=fed(4, 5, 6), input_c=fed(4, 5, 6), params=fed(4000), direction="bidirectional"
    ),
    "library's GRU": lambda: RAW.CudnnRNNV3(
        input=fed(5, 7, 3),
        input_h=fed(5, 2, 6),
        input_c=fed(5, 2, 6),
        params=fed(4000),
        sequence_lengths=fed(5, dtype=tf.int32),
        rnn_mode="gru",
        time_major=False,
    ),
    "LSTM in a block": lambda: RAW.BlockLSTM(
        seq_len_max=fed(dtype=tf.int64),
        x=fed(7, 5, 3),
        cs_prev=fed(5, 6),
        h_prev=fed(5, 6),
        w=fed(9, 24),
        wci=fed(6),
        wcf=fed(6),
        wco=fed(6),
        b=fed(24),
    ),
    "LSTM cell": lambda: RAW.LSTMBlockCell(
        x=fed(5, 3),
        cs_prev=fed(5, 6),
        h_prev=fed(5, 6),
        w=fed(9, 24),
        wci=fed(6),
        wcf=fed(6),
        wco=fed(6),
        b=fed(24),
    ),
    "GRU cell": lambda: RAW.GRUBlockCell(
        x=fed(5, 3), h_prev=fed(5, 6), w_ru=fed(9, 12), w_c=fed(9, 6), b_ru=fed(12), b_c=fed(6)
    ),
    "einsum": lambda: RAW.Einsum(inputs=[fed(7, 11), fed(11, 13)], equation="ij,jk->ik"),
    "einsum batch": lambda: RAW.Einsum(inputs=[fed(2, 3, 7, 11), fed(2, 3, 11, 13)], equation="abij,abjk->abik"),
    "einsum attention": lambda: RAW.Einsum(inputs=[fed(2, 7, 3, 5), fed(2, 9, 3, 5)], equation="aecd,abcd->acbe"),
    "einsum projection": lambda: RAW.Einsum(inputs=[fed(2, 7, 12), fed(12, 3, 5)], equation="abc,cde->abde"),
    "einsum two contracted": lambda: RAW.Einsum(inputs=[fed(2, 7, 3, 5), fed(3, 5, 12)], equation="abcd,cde->abe"),
    "einsum outer": lambda: RAW.Einsum(inputs=[fed(7), fed(11)], equation="i,j->ij"),
    "einsum element by element": lambda: RAW.Einsum(inputs=[fed(7, 11), fed(7, 11)], equation="ij,ij->ij"),
    "einsum inner": lambda: RAW.Einsum(inputs=[fed(11), fed(11)], equation="i,i->"),
    "einsum ellipsis": lambda: RAW.Einsum(inputs=[fed(2, 3, 7, 11), fed(11, 13)], equation="...ij,jk->...ik"),
    "einsum ellipsis broadcast": lambda: RAW.Einsum(
        inputs=[fed(2, 1, 7, 11), fed(3, 11, 13)], equation="...ij,...jk->...ik"
    ),
    "einsum sum of one side": lambda: RAW.Einsum(inputs=[fed(7, 11), fed(11, 13)], equation="ij,jk->k"),
    "einsum of one": lambda: RAW.Einsum(inputs=[fed(7, 11)], equation="ij->i"),
    "einsum transpose": lambda: RAW.Einsum(inputs=[fed(7, 11)], equation="ij->ji"),
    "einsum vector": lambda: RAW.Einsum(inputs=[fed(2, 7, 11), fed(11)], equation="bij,j->bi"),
    "einsum half": lambda: RAW.Einsum(
        inputs=[fed(2, 7, 12, dtype=tf.half), fed(12, 3, 5, dtype=tf.half)], equation="abc,cde->abde"
    ),
}


def compare_in_child(_order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Operations of each case, theirs and ours, bytes likewise, and the FLOPs of the graph as it is read.

    -1 where there is no answer. And TensorFlow's sizes of elements.
    """
    rows = [_compared(build, folder, report_progress) for build in CASES.values()]
    numbers: NDArray[np.int64] = np.array([row[1:] for row in rows], dtype=np.int64).T
    sizes = {str(number): tf.dtypes.as_dtype(number).size for number in ELEMENT_BYTES}
    keys = ("theirs", "ours", "their_bytes", "our_bytes", "read")
    texts: dict[str, Json] = {"names": list(CASES), "types": [row[0] for row in rows], "sizes": dict(sizes)}
    return dict(zip(keys, numbers, strict=True)), texts


def _compared(
    build: Callable[[], Any], folder: Path, report_progress: ReportProgress
) -> tuple[str, int, int, int, int, int]:
    """Type, operations by the estimator and by us, bytes by both, operations as read."""
    with tf.Graph().as_default() as graph:
        result = build()
        operation = (result[0] if isinstance(result, list | tuple) else result).op
        meta_graph = tf.compat.v1.MetaGraphDef(graph_def=graph.as_graph_def())
    read = _read(meta_graph.graph_def, operation.name, folder / "graph.pb", report_progress)
    node = next(node for node in graph.as_graph_def().node if node.name == operation.name)
    replace_feeds(meta_graph.graph_def)
    item = grappler.item_of(meta_graph)
    properties = item.GetOpProperties()
    work = grappler.work_of(item, [operation.name])
    inputs = [_tensor(properties[tensor.op.name][tensor.value_index]) for tensor in operation.inputs]
    outputs = [_tensor(each) for each in properties[operation.name]]
    ours = operations_of(node, inputs, outputs)
    moved = moved_bytes_of(node, inputs, outputs)
    theirs, their_bytes = int(work.operations[0]), int(work.moved_bytes[0])
    return operation.type, theirs, -1 if ours is None else ours, their_bytes, moved, read


def _read(graph: Message, name: str, path: Path, report_progress: ReportProgress) -> int:
    """FLOPs of op `name` where an uploaded file is read; -1 where they are unknown."""
    path.write_bytes(graph.SerializeToString())
    messages = read_messages(path.read_bytes(), ".pb")
    costs = estimate(messages, ReadingOptions(), ["K80"], report_progress).costs
    op = [node.name for node in messages.nodes].index(name)
    return -1 if costs.unknown[op] else int(costs.flops[op])


def _tensor(properties: Message) -> TensorOf | None:
    """As the estimator has inferred it."""
    lengths = tuple(dimension.size for dimension in properties.shape.dim)
    known = not properties.shape.unknown_rank and all(length >= 0 for length in lengths)
    return TensorOf(properties.dtype % REFS_FROM, lengths) if known else None
