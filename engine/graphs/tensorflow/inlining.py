"""Replaces function calls of a GraphDef by the functions' ops, with TensorFlow's own inliner; importing this loads it.

Only Grappler's function optimizer runs: PartitionedCall and the like become the ops of their function, functional If,
Case and While become Switch, Merge, Enter and so on, as in TensorFlow's runtime before a step.
Functions that only other ops name (a dataset's map) stay functions. Nothing of the graph is run.
Source: tensorflow/core/grappler/optimizers/function_optimizer.cc; tensorflow/python/framework/convert_to_constants.py.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
from tensorflow.python.framework import errors_impl, op_def_registry
from tensorflow.python.grappler import tf_optimizer

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.compiled_calls import is_compiled_as_one
from engine.graphs.tensorflow.custom_ops import put_back, replace_custom_ops
from engine.graphs.tensorflow.function_calls import calls_of, is_call
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import ENTERS, FUNCTIONAL_CONTROL_FLOW, MERGES, SWITCHES
from engine.graphs.tensorflow.pruning import functions_of, keep_together, pruned, with_called_functions

NO_INLINING = "_noinline"
BLOCKS_INLINING = (NO_INLINING, "api_implements")
"""attributes of functions that block inlining: one for the profiler, one for another optimizer"""
LOWERED = "_lower_using_switch_merge"
"""attribute of functional If, Case and While: whether they become Switch, Merge, Enter and so on"""
NO_SPECIALISING = "_nospecialize"
"""attribute of functions: a call that is not inlined keeps its function, its inputs and its outputs"""
V1_CONTROL_FLOW = ENTERS | MERGES | SWITCHES
TYPES_SHOWN = 5


def inline(
    messages: GraphMessages, fetches: Sequence[str], *, keeps_all: bool = False
) -> tuple[GraphMessages, list[str]]:
    """The inlined graph, reduced to the ops that the fetches need, if there are any, and sentences on the changes.

    `keeps_all`: the other ops stay, too. Raises GraphError.
    """
    calls = calls_of(messages)
    kept = list(dict.fromkeys([*_last(messages.nodes), *fetches])) if keeps_all else []
    if kept:
        graph, unordered = _inlined(messages, kept)
        inlined = _restored(graph, messages)
    else:
        inlined, unordered = _inlined_messages(messages, fetches)
    return inlined, _notes(messages, calls, inlined, unordered)


def inlined_messages(messages: GraphMessages, fetches: Sequence[str]) -> GraphMessages:
    """The inlined graph, reduced to the ops that the `fetches` need; all of it if there are none.

    Raises GraphError.
    """
    return _inlined_messages(messages, fetches)[0]


def _inlined_messages(messages: GraphMessages, fetches: Sequence[str]) -> tuple[GraphMessages, set[str]]:
    """The inlined graph as in `inlined_messages`, and the types of custom ops whose functions cannot be inlined."""
    graph, unordered = _inlined(messages, fetches or _last(messages.nodes))
    inlined = _restored(graph, messages)
    return pruned(inlined, fetches) if fetches else inlined, unordered


def _last(nodes: Sequence[Message]) -> list[str]:
    """The names of the nodes that nobody consumes; as fetches they keep their names."""
    consumed = {producer_of(text) for node in nodes for text in node.input}
    return [node.name for node in nodes if node.name not in consumed] or [nodes[-1].name]


def _inlined(messages: GraphMessages, fetches: Sequence[str]) -> tuple[Message, set[str]]:
    """The GraphDef from TensorFlow's inliner, and the types as in `_inlined_messages`."""
    graph, unordered = _made_ready(messages)
    library: Message = None
    before: set[str] = set()
    graph = _optimized(graph, fetches)
    while left := _calls_left(graph):
        if left != before:
            _let_consumers_wait(graph, left)
        else:
            library = library or _made_ready(messages)[0].library
            if not _let_calls_wait(graph, left, library):
                break
        before = left
        graph = _optimized(graph, fetches)
    put_back(graph.node)
    for node in graph.node:
        if node.op in FUNCTIONAL_CONTROL_FLOW:
            node.attr[LOWERED].b = True
    return graph, set(unordered.values())


def _made_ready(messages: GraphMessages) -> tuple[Message, dict[str, str]]:
    """The GraphDef that the inliner gets, and the functions that it must leave, as in `replace_custom_ops`."""
    graph = type(messages.rest)()
    graph.CopyFrom(messages.rest)
    graph.node.extend(messages.nodes)
    unordered = replace_custom_ops(graph, messages.definitions)
    _let_inline(graph, unordered)
    return graph, unordered


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


def _let_inline(graph: Message, kept: Collection[str]) -> None:
    """Remove attributes that block the inlining of calls, and the shapes of feeds; leave other calls as they are.

    The inliner would make a tensor of each feed's shape, however large. A call that it does not inline would get a new
    function, without the inputs that are constants and the outputs that nobody takes. Calls of the functions `kept` are
    not inlined.
    """
    functions = {function.signature.name: function for function in graph.library.function}
    bodies = [graph.node, *(function.node_def for function in graph.library.function)]
    for body in bodies:
        for node in body:
            if node.op in FUNCTIONAL_CONTROL_FLOW and is_call(node, functions):
                node.attr["_lower_using_switch_merge"].b = not any(
                    name in kept for name in functions_of(node, functions)
                )
    for function in functions.values():
        for key in BLOCKS_INLINING:
            if key in function.attr:
                del function.attr[key]
        if function.signature.name in kept:
            function.attr[NO_INLINING].b = True
        function.attr[NO_SPECIALISING].b = True
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


def _let_calls_wait(graph: Message, calls: set[str], library: Message) -> bool:
    """Let the functions that the `calls` call end after all their ops with side effects; whether that is new for any.

    A call that is one op waits for these ops. The inliner skips a function that does not name them as control outputs,
    such as a pruned one. Ops in loops and branches of Switch and Merge cannot be named: they may not run at all.
    `library` has the functions before the inliner changed them. They are changed here, and become the graph's.
    """
    called = with_called_functions([node for node in graph.node if node.name in calls], type(graph)(library=library))
    wanted = {function.signature.name for function in called.library.function}
    is_new = False
    for function in library.function:
        for name in _unawaited(function) if function.signature.name in wanted else ():
            function.signature.control_output.append(name)
            function.control_ret[name] = name
            is_new = True
    if is_new:
        graph.library.CopyFrom(library)
    return is_new


def _unawaited(function: Message) -> list[str]:
    """The names of the ops with side effects that the function may end before."""
    if any(node.op in V1_CONTROL_FLOW for node in function.node_def):
        return []
    node_of_name = {node.name: node for node in function.node_def}
    awaited: set[str] = set()
    waiting = list(function.control_ret.values())
    while waiting:
        name = waiting.pop()
        if name in node_of_name and name not in awaited:
            awaited.add(name)
            waiting += (producer_of(text) for text in node_of_name[name].input)
    taken = {*function.signature.control_output, *function.control_ret}
    return [name for name, node in node_of_name.items() if name not in awaited | taken and _has_side_effects(node)]


def _has_side_effects(node: Message) -> bool:
    definition = op_def_registry.get(node.op)
    return definition is not None and definition.is_stateful


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
    return replace(messages, nodes=nodes, rest=with_called_functions(nodes, messages.rest))


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


def _notes(
    messages: GraphMessages, calls: Sequence[Message], inlined: GraphMessages, unordered: Collection[str]
) -> list[str]:
    """Sentences on the calls that were inlined and on those that were not."""
    functions = {function.signature.name: function for function in inlined.rest.library.function}
    left = {node.name: node.op for node in inlined.nodes if is_call(node, functions) or is_compiled_as_one(node)}
    replaced = [call.op for call in calls if call.name not in left]
    before, after = len(messages.nodes), len(inlined.nodes)
    notes = []
    if replaced:
        notes.append(
            f"Calls of functions are replaced by the functions' ops, as TensorFlow's inliner does it "
            f"({_types(replaced)}): {before:,} ops became {after:,}. The placed graph is written in this form."
        )
    if left:
        notes.append(
            "TensorFlow does not inline these calls, so each stays one op, whose cost is that of all ops in it: "
            f"{_types(list(left.values()))}."
        )
    if left and unordered:
        more = ", …" * (len(unordered) > TYPES_SHOWN)
        notes.append(
            "The file does not define these custom ops, so the order of their outputs is unknown, and their functions "
            f"are not inlined: {', '.join(map(shortened, sorted(unordered)[:TYPES_SHOWN]))}{more}."
        )
    return notes


def _types(ops: Sequence[str]) -> str:
    """The op types with their counts, such as `2 While, 1 If`, the most frequent first."""
    counted: Mapping[str, int] = Counter(ops)
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{count} {shortened(op)}" for op, count in ordered[:TYPES_SHOWN]]
    return ", ".join(shown + ["…"] * (len(ordered) > TYPES_SHOWN))
