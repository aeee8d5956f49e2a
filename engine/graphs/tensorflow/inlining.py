"""Replaces function calls of a GraphDef by the functions' ops, with TensorFlow's own inliner; importing this loads it.

Only Grappler's function optimizer runs: PartitionedCall and the like become the ops of their function, functional If,
Case and While become Switch, Merge, Enter and so on, as in TensorFlow's runtime before a step.
Functions that only other ops name (a dataset's map) stay functions. Nothing of the graph is run.
Source: tensorflow/core/grappler/optimizers/function_optimizer.cc; tensorflow/python/framework/convert_to_constants.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
from tensorflow.python.framework import errors_impl
from tensorflow.python.grappler import tf_optimizer

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.compiled_calls import is_compiled_as_one
from engine.graphs.tensorflow.function_calls import calls_of, is_call
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import FUNCTIONAL_CONTROL_FLOW
from engine.graphs.tensorflow.pruning import keep_together, pruned, with_called_functions

BLOCKS_INLINING = ("_noinline", "api_implements")
"""attributes of functions that block inlining: one for the profiler, one for another optimizer"""
TYPES_SHOWN = 5


def inline(
    messages: GraphMessages, fetches: Sequence[str], *, keeps_all: bool = False
) -> tuple[GraphMessages, list[str]]:
    """The inlined graph, reduced to the ops that the fetches need, if there are any, and sentences on the changes.

    `keeps_all`: the other ops stay, too. Raises GraphError.
    """
    calls = calls_of(messages)
    kept = list(dict.fromkeys([*_last(messages.nodes), *fetches])) if keeps_all else []
    inlined = _restored(_inlined(messages, kept), messages) if kept else inlined_messages(messages, fetches)
    return inlined, _notes(messages, calls, inlined)


def inlined_messages(messages: GraphMessages, fetches: Sequence[str]) -> GraphMessages:
    """The inlined graph, reduced to the ops that the `fetches` need; all of it if there are none.

    Raises GraphError.
    """
    inlined = _restored(_inlined(messages, fetches or _last(messages.nodes)), messages)
    return pruned(inlined, fetches) if fetches else inlined


def _last(nodes: Sequence[Message]) -> list[str]:
    """The names of the nodes that nobody consumes; as fetches they keep their names."""
    consumed = {text.lstrip("^").partition(":")[0] for node in nodes for text in node.input}
    return [node.name for node in nodes if node.name not in consumed] or [nodes[-1].name]


def _inlined(messages: GraphMessages, fetches: Sequence[str]) -> Message:
    """The GraphDef from TensorFlow's inliner."""
    graph = type(messages.rest)()
    graph.CopyFrom(messages.rest)
    graph.node.extend(messages.nodes)
    _let_inline(graph)
    before: set[str] = set()
    graph = _optimized(graph, fetches)
    while (left := _calls_left(graph)) and left != before:
        _let_consumers_wait(graph, left)
        before = left
        graph = _optimized(graph, fetches)
    return graph


def _optimized(graph: Message, fetches: Sequence[str]) -> Message:
    """The result of one pass of Grappler's function optimizer over `graph`. Raises GraphError."""
    meta_graph = meta_graph_pb2.MetaGraphDef(graph_def=graph)
    meta_graph.collection_def["train_op"].node_list.value.extend(fetches)
    config = config_pb2.ConfigProto()
    rewriting = config.graph_options.rewrite_options
    rewriting.optimizers.append("function")
    rewriting.function_optimization = rewriter_config_pb2.RewriterConfig.ON
    rewriting.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.ONE
    rewriting.min_graph_nodes = -1  # also small graphs
    rewriting.fail_on_optimizer_errors = True
    rewriting.meta_optimizer_timeout_ms = -1  # the child has its own limit
    try:
        return tf_optimizer.OptimizeGraph(config, meta_graph, verbose=False)
    except (errors_impl.OpError, ValueError, TypeError) as refusal:
        lines = str(refusal).strip().splitlines() or [type(refusal).__name__]
        what = f"TensorFlow cannot inline the functions: {shortened(lines[0], 300)}"
        raise GraphError(what, field="file") from None


def _let_inline(graph: Message) -> None:
    """Remove attributes that block the inlining of calls, and the shapes of feeds.

    The inliner would make a tensor of each feed's shape, however large.
    """
    functions = {function.signature.name: function for function in graph.library.function}
    bodies = [graph.node, *(function.node_def for function in graph.library.function)]
    for body in bodies:
        for node in body:
            if node.op in FUNCTIONAL_CONTROL_FLOW and is_call(node, functions):
                node.attr["_lower_using_switch_merge"].b = True
    for function in functions.values():
        for key in BLOCKS_INLINING:
            if key in function.attr:
                del function.attr[key]
    for node in graph.node:
        if node.op == "Placeholder":
            node.attr["shape"].shape.Clear()
            node.attr["shape"].shape.unknown_rank = True


def _calls_left(graph: Message) -> set[str]:
    """The names of calls that can be inlined and are still in the graph."""
    functions = {function.signature.name: function for function in graph.library.function}
    return {node.name for node in graph.node if is_call(node, functions)}


def _let_consumers_wait(graph: Message, calls: set[str]) -> None:
    """Add a control edge from each of the `calls` to the nodes that take data from it.

    Such a consumer waits for the whole call anyway while it is one op. The inliner skips a call that has side effects
    and no outgoing control edge: once inlined, the side effects might never happen.
    """
    for node in graph.node:
        sources = {text.partition(":")[0] for text in node.input} & calls
        node.input.extend(f"^{name}" for name in sorted(sources) if f"^{name}" not in node.input)


def _restored(graph: Message, messages: GraphMessages) -> GraphMessages:
    """The unchanged nodes of the file in its order, then the new ones by name; the functions unchanged."""
    original = {node.name: node for node in messages.nodes}
    made: dict[str, Message] = {node.name: node for node in graph.node}
    nodes: list[Message] = []
    for name, node in original.items():
        if name in made:
            nodes.append(_as_it_was(made.pop(name), node))
    nodes += (made[name] for name in sorted(made))
    keep_together(nodes, original.keys() - {node.name for node in nodes})
    return GraphMessages(nodes, with_called_functions(nodes, messages.rest))


def _as_it_was(made: Message, original: Message) -> Message:
    """The file's own node with its new inputs; for a former call the node that the inliner made of it."""
    if made.op == original.op:
        kept = type(original)()
        kept.CopyFrom(original)
        kept.input[:] = made.input
        return kept
    if "_output_shapes" in original.attr:
        made.attr["_output_shapes"].CopyFrom(original.attr["_output_shapes"])
    return made


def _notes(messages: GraphMessages, calls: Sequence[Message], inlined: GraphMessages) -> list[str]:
    """Sentences on the calls that were inlined and on those that were not."""
    functions = {function.signature.name: function for function in inlined.rest.library.function}
    left = {node.name: node.op for node in inlined.nodes if is_call(node, functions) or is_compiled_as_one(node)}
    replaced = [call.op for call in calls if call.name not in left]
    before, after = len(messages.nodes), len(inlined.nodes)
    notes = []
    if replaced:
        notes.append(
            f"TensorFlow's own inliner has put the ops of functions in the place of their calls ({_types(replaced)}): "
            f"{before} ops became {after}; the placed graph is written in this form."
        )
    if left:
        notes.append(
            "TensorFlow does not inline these calls, so each stays one op, whose cost is that of all ops in it: "
            f"{_types(list(left.values()))}."
        )
    return notes


def _types(ops: Sequence[str]) -> str:
    """The op types with their counts, such as `2 While, 1 If`, the most frequent first."""
    counted: Mapping[str, int] = Counter(ops)
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{count} {shortened(op)}" for op, count in ordered[:TYPES_SHOWN]]
    return ", ".join(shown + ["…"] * (len(ordered) > TYPES_SHOWN))
