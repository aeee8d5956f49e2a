"""Buffers that TensorFlow's kernels share: reads of variables, passed on, written into; and the peaks that follow."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest

from engine.child.parent import Limits, run_in_child
from engine.clusters.cluster import Cluster
from engine.costs.costs import OWN_BUFFER, PERSISTENT_BUFFER, STEP_BUFFER, Costs
from engine.costs.tensorflow.shared_buffers import (
    ANY_IN_PLACE,
    BINARY_IN_PLACE,
    FIRST_OR_SECOND_OF_THREE,
    UNARY_IN_PLACE,
)
from engine.graphs.graph import ComputationGraph
from engine.simulator import Simulator
from tests.engine.costs.in_child import estimated
from tests.engine.simulator.cases import cluster_of

pytestmark = pytest.mark.slow
MB = 10**6
FLOATS = 'attr { key: "T" value { type: DT_FLOAT } }'
DTYPE = 'attr { key: "dtype" value { type: DT_FLOAT } }'


def shape(*lengths: int) -> str:
    dims = " ".join(f"dim {{ size: {length} }}" for length in lengths)
    return f'attr {{ key: "shape" value {{ shape {{ {dims} }} }} }}'


def op(name: str, op_type: str, *inputs: str, attributes: str = FLOATS) -> str:
    taken = " ".join(f'input: "{text}"' for text in inputs)
    return f'node {{ name: "{name}" op: "{op_type}" {taken} {attributes} }}'


def variable(name: str, *lengths: int) -> str:
    handle = op(
        name,
        "VarHandleOp",
        attributes=f'{DTYPE} {shape(*lengths)} attr {{ key: "shared_name" value {{ s: "{name}" }} }}',
    )
    return "\n".join((handle, op(f"{name}/read", "ReadVariableOp", name, attributes=DTYPE)))


def feed(name: str, *lengths: int) -> str:
    return op(name, "Placeholder", attributes=f"{DTYPE} {shape(*lengths)}")


def costed(folder: Path, *nodes: str) -> tuple[ComputationGraph, Costs]:
    path = folder / "graph.pbtxt"
    path.write_text("\n".join(nodes))
    return estimated(path, ["CPU"], Limits())


def buffers(graph: ComputationGraph, costs: Costs) -> dict[str, str]:
    """The first output of each op → the op whose buffer it passes on, `own`, `variable` or `whole step`."""
    words = {OWN_BUFFER: "own", PERSISTENT_BUFFER: "variable", STEP_BUFFER: "whole step"}
    owner = np.repeat(np.arange(graph.op_count), np.diff(costs.output_offset))
    found = {}
    for name, first in zip(graph.op_names, costs.output_offset.tolist(), strict=False):
        buffer = int(costs.buffer_of_output[first])
        found[name] = words.get(buffer) or graph.op_names[owner[buffer]]
    return found


def peaks(graph: ComputationGraph, costs: Costs, cluster: Cluster, devices: list[int]) -> list[int]:
    simulator = Simulator(graph, costs, cluster)
    placement = np.array([devices], dtype=np.int32)
    answer = simulator.evaluate(placement).peak_bytes[0].tolist()
    assert simulator.timeline(placement[0]).peak_bytes.tolist() == answer
    assert [int(curve.bytes.max()) for curve in simulator.timeline(placement[0]).memory] == answer
    return [int(peak) for peak in answer]


def test_a_variable_and_its_reads_are_held_once(tmp_path: Path) -> None:
    """A weight of 40 MB, read and used three times, beside products of 8 kB."""
    products = [op(f"product{at}", "MatMul", "x", f"read{at}") for at in range(3)]
    reads = [op(f"read{at}", "ReadVariableOp", "w", attributes=DTYPE) for at in range(3)]
    graph, costs = costed(tmp_path, variable("w", 5000, 2000), *reads, feed("x", 1, 5000), *products)
    assert {name: buffers(graph, costs)[name] for name in ("w/read", "read0", "product0")} == {
        "w/read": "variable",
        "read0": "variable",
        "product0": "own",
    }
    [peak] = peaks(graph, costs, cluster_of(1), [0] * graph.op_count)
    assert 40 * MB <= peak <= 40.1 * MB


def test_on_another_device_a_read_weight_is_a_copy(tmp_path: Path) -> None:
    graph, costs = costed(
        tmp_path, variable("w", 5000, 2000), feed("x", 1, 5000), op("product", "MatMul", "x", "w/read")
    )
    devices = [int(name == "product") for name in graph.op_names]
    on_its_own, with_copy = peaks(graph, costs, cluster_of(2), devices)
    assert on_its_own == 40 * MB + 20_000
    assert 40 * MB <= with_copy <= 40.1 * MB


AXIS = (
    'node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } '
    'attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }'
)
LENGTHS = (
    'node { name: "lengths" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { '
    "tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 2000 } } } }"
)
INDEX_TYPE = 'attr { key: "index_type" value { type: DT_INT32 } }'
SHARING = (
    op("made", "Exp", "x"),
    op("seen", "Identity", "made"),
    op("of_seen", "Square", "seen"),
    op("also_of_seen", "Neg", "seen"),
    op("alone", "Exp", "x"),
    op("over_alone", "Neg", "alone"),
    op("needed_twice", "Exp", "x"),
    op("one", "Neg", "needed_twice"),
    op("other", "Abs", "needed_twice"),
    op("feed_seen", "Identity", "x"),
    op("of_feed", "Exp", "feed_seen"),
    op("second", "Exp", "x"),
    op("over_second", "Mul", "x", "second"),
    op("ref", "VariableV2", attributes=f"{DTYPE} {shape(1000)}"),
    op("ref_seen", "Identity", "ref"),
    op("of_ref", "Neg", "ref_seen"),
    op("yes", "Less", "x", "x"),
    op("chosen", "Exp", "x"),
    op("over_chosen", "SelectV2", "yes", "x", "chosen"),
    op("kept", "Exp", "x"),
    op("copied", "Snapshot", "kept"),
    op("of_kept", "Neg", "kept"),
    op("summed", "Exp", "x"),
    op("sum", "Cumsum", "summed", "axis"),
)
WANTED = {
    "seen": "made",
    "of_seen": "own",
    "over_alone": "alone",
    "one": "own",
    "other": "own",
    "feed_seen": "x",
    "of_feed": "own",
    "over_second": "second",
    "over_chosen": "chosen",
    "copied": "own",
    "ref": "variable",
    "ref_seen": "ref",
    "of_ref": "own",
    "sum": "own",
}


def test_what_shares_a_buffer(tmp_path: Path) -> None:
    found = buffers(*costed(tmp_path, feed("x", 1000), AXIS, *SHARING))
    assert {name: found[name] for name in WANTED} == WANTED


def test_the_kernels_share_what_is_said() -> None:
    """TensorFlow runs each op type of the tables; its output has the address of the input."""
    function = "tests.engine.costs.shared_buffers_in_child:share_in_child"
    _, texts = run_in_child(function, {}, Limits(), task="comparing", is_warm=True)
    free, used = cast(dict[str, list[bool]], texts["free"]), cast(dict[str, bool], texts["used"])
    assert [op_type for op_type, shared in free.items() if not all(shared)] == []
    assert len(free) == len(UNARY_IN_PLACE | BINARY_IN_PLACE | ANY_IN_PLACE | FIRST_OR_SECOND_OF_THREE)
    assert [op_type for op_type, shared in used.items() if not shared] == []
    assert {"Identity", "Reshape", "EnsureShape"} <= used.keys()


def test_what_is_passed_on_stays_until_its_last_user_has_ended(tmp_path: Path) -> None:
    """x → a → b = Identity(a) → c, and at the end a user of b: one buffer of 4 kB beside the feed's."""
    nodes = (
        op("a", "Cumsum", "x", "axis"),
        op("b", "Identity", "a"),
        op("c", "Sum", "b", "axis"),
        op("d", "Mul", "b", "c"),
    )
    graph, costs = costed(tmp_path, feed("x", 1000), AXIS, *nodes)
    [peak] = peaks(graph, costs, cluster_of(1), [0] * graph.op_count)
    assert 12_000 <= peak <= 12_016, "x all the time; at the end a, which c needed too, and d"
    devices = [int(name in ("b", "c", "d")) for name in graph.op_names]
    first, second = peaks(graph, costs, cluster_of(2), devices)
    assert 8000 <= first <= 8016
    assert 8000 <= second <= 8016, "the copy of a, which b passes on to c and d, and d"


def test_a_temporary_variable_is_held_from_its_op_on(tmp_path: Path) -> None:
    """TensorFlow 1 sums gradients in one: x, the temporary, which the sum and what destroys it share, and no more."""
    name = 'attr { key: "var_name" value { s: "t" } }'
    nodes = (
        op("temporary", "TemporaryVariable", attributes=f"{DTYPE} {shape(1000)} {name}"),
        op("assigned", "Assign", "temporary", "x"),
        op("added", "AssignAdd", "assigned", "x"),
        op("value", "DestroyTemporaryVariable", "added", attributes=f"{FLOATS} {name}"),
        op("negative", "Neg", "value"),
    )
    graph, costs = costed(tmp_path, feed("x", 1000), *nodes)
    found = buffers(graph, costs)
    assert [found[each] for each in ("temporary", "assigned", "added", "value")] == [
        "own",
        "temporary",
        "assigned",
        "added",
    ]
    assert peaks(graph, costs, cluster_of(1), [0] * graph.op_count) == [12_000], "the negative, too, at the end"


OPEN = 'attr { key: "shape" value { shape { unknown_rank: true } } }'
KNOWN = 'attr { key: "_output_shapes" value { list { shape { dim { size: 1000 } } } } }'
RESOURCE = 'attr { key: "T" value { type: DT_RESOURCE } }'


def test_a_variable_whose_readers_alone_show_its_shape_counts_once(tmp_path: Path) -> None:
    """Two handles of one variable of open shape, a fed handle, and a variable of TensorFlow 1."""
    shared = f'{DTYPE} {OPEN} attr {{ key: "shared_name" value {{ s: "w" }} }}'
    nodes = (
        op("w", "VarHandleOp", attributes=shared),
        op("again", "VarHandleOp", attributes=shared),
        op("argument", "_Arg", attributes=f'{RESOURCE} attr {{ key: "index" value {{ i: 0 }} }}'),
        op("passed", "Identity", "argument", attributes=RESOURCE),
        op("ref", "VariableV2", attributes=f"{DTYPE} {OPEN} {KNOWN}"),
        op("ref/read", "Identity", "ref", attributes=f"{FLOATS} {KNOWN}"),
        *(
            op(f"{handle}/read", "ReadVariableOp", handle, attributes=f"{DTYPE} {KNOWN}")
            for handle in ("w", "again", "passed")
        ),
        *(op(f"{handle}/used", "Neg", f"{handle}/read") for handle in ("w", "again", "passed")),
    )
    graph, costs = costed(tmp_path, *nodes)
    held = {name: size for name, size in zip(graph.op_names, costs.persistent_bytes.tolist(), strict=True) if size}
    assert held == {"w": 4000, "argument": 4000, "ref": 4000}


def test_a_fed_input_and_a_constant_are_there_during_the_whole_step(tmp_path: Path) -> None:
    """x, w → small → large, which is there alone at the end: x and w are, too, and on another device a copy is not."""
    weight = (
        f'node {{ name: "w" op: "Const" {DTYPE} attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT '
        "tensor_shape { dim { size: 1000 } } float_val: 1.5 } } } }"
    )
    nodes = (
        op("sum", "Mul", "x", "w"),
        op("small", "Sum", "sum", "axis"),
        op("large", "Fill", "lengths", "small", attributes=f"{FLOATS} {INDEX_TYPE}"),
        op("last", "Cumsum", "large", "axis"),
    )
    graph, costs = costed(tmp_path, feed("x", 1000), weight, AXIS, LENGTHS, *nodes)
    found = buffers(graph, costs)
    assert [found[each] for each in ("x", "w", "axis", "sum")] == ["whole step", "whole step", "whole step", "own"]
    [peak] = peaks(graph, costs, cluster_of(1), [0] * graph.op_count)
    assert peak == 4000 + 4000 + 2 * 8000 + 4 + 4, "x, w, large and last; the axis and the lengths"
    first, second = peaks(graph, costs, cluster_of(2), [int(name in ("large", "last")) for name in graph.op_names])
    assert (first, second) == (3 * 4000 + 3 * 4, 4 + 2 * 8000)


def test_a_stack_holds_nothing_more_of_what_is_there_during_the_whole_step(tmp_path: Path) -> None:
    """A fed input and what is computed from it are pushed: the stack's contents are the computed tensor alone."""
    stack = 'attr { key: "elem_type" value { type: DT_FLOAT } } attr { key: "stack_name" value { s: "s" } }'
    nodes = (
        op("stack", "StackV2", "axis", attributes=stack),
        op("push_fed", "StackPushV2", "stack", "x"),
        op("made", "Exp", "x"),
        op("push_made", "StackPushV2", "stack", "made"),
    )
    graph, costs = costed(tmp_path, feed("x", 1000), AXIS, *nodes)
    assert int(costs.contents_bytes[costs.output_offset[graph.op_names.index("stack")]]) == 4000
