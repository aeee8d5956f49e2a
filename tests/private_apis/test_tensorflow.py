"""What engine and experiments use of TensorFlow and Keras below the names that these libraries promise."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.eager import context
from tensorflow.python.framework import errors_impl, kernels, op_def_registry, ops, tensor_util
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tensorflow.python.grappler import tf_optimizer
from tensorflow.python.training import py_checkpoint_reader

from engine.costs.tensorflow.grappler import item_of, require_importable, work_of
from engine.errors import CostError


@pytest.fixture(scope="module")
def product() -> tf.compat.v1.GraphDef:
    """The product of two constant matrices: op `c`."""
    with tf.Graph().as_default() as graph:
        a = tf.constant(np.ones((2, 3), np.float32), name="a")
        b = tf.constant(np.ones((3, 4), np.float32), name="b")
        tf.matmul(a, b, name="c")
    return graph.as_graph_def()


def test_a_graph_is_imported_without_a_python_object_for_each_op(product: tf.compat.v1.GraphDef) -> None:
    """If it fails, no graph of TensorFlow can be read: TF_GraphImportGraphDefWithResults, Graph._c_graph."""
    require_importable(product.SerializeToString())
    odd = tf.compat.v1.GraphDef.FromString(product.SerializeToString())
    odd.node[-1].attr["T"].type = 7
    with pytest.raises(CostError, match="TensorFlow refuses the graph"):
        require_importable(odd.SerializeToString())


def test_grappler_counts_the_operations_of_a_product(product: tf.compat.v1.GraphDef) -> None:
    """If it fails, no op of a graph of TensorFlow has an estimated time: grappler's Cluster and Item."""
    work = work_of(item_of(meta_graph_pb2.MetaGraphDef(graph_def=product)), ["c"])
    assert work.operations.tolist() == [2 * 2 * 3 * 4]
    assert work.moved_bytes.tolist() == [4 * (2 * 3 + 3 * 4 + 2 * 4)]


def test_grappler_inlines_functions() -> None:
    """If it fails, no graph with functions can be read: tf_optimizer.OptimizeGraph."""
    with tf.Graph().as_default() as graph:
        called = tf.function(lambda value: value * value, input_signature=[tf.TensorSpec([2], tf.float32)])
        tf.identity(called(tf.ones([2])), name="out")
    whole = meta_graph_pb2.MetaGraphDef(graph_def=graph.as_graph_def())
    assert len(whole.graph_def.library.function) == 1
    whole.collection_def["train_op"].node_list.value.append("out")
    config = config_pb2.ConfigProto()
    rewriting = config.graph_options.rewrite_options
    rewriting.optimizers.append("function")
    rewriting.function_optimization = rewriter_config_pb2.RewriterConfig.ON
    rewriting.min_graph_nodes = -1
    assert "Mul" in {node.op for node in tf_optimizer.OptimizeGraph(config, whole, verbose=False).node}


def test_an_op_is_made_from_a_node_and_its_inputs(product: tf.compat.v1.GraphDef) -> None:
    """If it fails, shapes that depend on values are unknown: ops.Operation.from_node_def, MakeNdarray."""
    by_name = {node.name: node for node in product.node}
    with tf.Graph().as_default() as graph:
        inputs = [ops.Operation.from_node_def(by_name[name], graph, []).outputs[0] for name in ("a", "b")]
        [output] = ops.Operation.from_node_def(by_name["c"], graph, inputs).outputs
    assert output.shape == (2, 4)
    assert tensor_util.MakeNdarray(by_name["a"].attr["value"].tensor).tolist() == [[1, 1, 1]] * 2


def test_the_registered_ops_and_kernels_are_listed() -> None:
    """If it fails, the tables of ops and kernels cannot be renewed for another TensorFlow, nor custom ops be known."""
    listed = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    assert "MatMul" in {op.name for op in listed.op}
    assert op_def_registry.get("MatMul").name == "MatMul"
    assert op_def_registry.get("NoSuchOp") is None
    assert ("MatMul", "CPU") in {(each.op, each.device_type) for each in kernels.get_all_registered_kernels().kernel}


def test_a_saved_variable_is_read_by_its_name(tmp_path: Path) -> None:
    """If it fails, no SavedModel keeps its variables when it is placed: py_checkpoint_reader, errors_impl."""
    path = tf.train.Checkpoint(weight=tf.Variable([1.0, 2.0])).write(str(tmp_path / "saved"))
    reader = py_checkpoint_reader.NewCheckpointReader(path)
    [name] = [name for name in reader.get_variable_to_shape_map() if name.startswith("weight/")]
    assert reader.get_tensor(name).tolist() == [1, 2]
    assert errors_impl.OpError is tf.errors.OpError


def test_variables_become_constants_and_executed_graphs_are_recorded() -> None:
    """If it fails, the suite of Keras models writes no graph, and placed SavedModels cannot be compared as executed."""
    weight = tf.Variable(2.0)
    step = tf.function(lambda value: value * weight, input_signature=[tf.TensorSpec([], tf.float32)])
    frozen = convert_variables_to_constants_v2(step.get_concrete_function())
    assert "ReadVariableOp" not in {node.op for node in frozen.graph.as_graph_def().node}
    context.enable_graph_collection()
    try:
        context.export_run_metadata()
        assert step(3.0) == 6
        assert context.export_run_metadata().partition_graphs
    finally:
        context.disable_graph_collection()


def test_types_say_that_they_are_references_and_layers_list_those_within() -> None:
    """If it fails, experiments fetch variables of TensorFlow 1, or do not count the layers within a layer."""
    with tf.Graph().as_default():
        reference = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, container="", shared_name="")
        assert reference.dtype._is_ref_dtype
        assert not tf.identity(reference).dtype._is_ref_dtype
    inner = keras.layers.Dense(1)
    assert inner in keras.Sequential([keras.Input((2,)), keras.Sequential([inner])])._flatten_layers()


def test_the_output_of_an_embedding_holds_its_mask() -> None:
    """If it fails, the experiments' arithmetic takes a masked LSTM for one that cuDNN can run."""
    output = keras.layers.Embedding(3, 2, mask_zero=True)(tf.constant([[1, 0]]))
    assert output._keras_mask.numpy().tolist() == [[True, False]]
