"""The human expert: what it reads from names, where it puts that, and where it says that it has no rule."""

from collections.abc import Sequence

import numpy as np
import pytest

from engine.clusters.parsing import parse_cluster
from engine.costs.costs import Costs, CostSource
from engine.errors import InfeasibleError
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.placers.human_expert import HumanExpert, own_name, read_branches, read_layers
from engine.problem import Budget, PlacementProblem, RunContext
from tests.engine.placers.small_problems import one_group_an_op


def graph_of(names: Sequence[str], edges: Sequence[tuple[str, str]] = ()) -> ComputationGraph:
    """Ops in a topological order, edges in the order of the file."""
    index = {name: op for op, name in enumerate(names)}
    pairs = sorted(((index[source], index[target]) for source, target in edges), key=lambda pair: pair[::-1])
    return ComputationGraph(
        name="named",
        op_names=tuple(names),
        op_types=("",) * len(names),
        edge_source=np.array([pair[0] for pair in pairs], np.int32),
        edge_target=np.array([pair[1] for pair in pairs], np.int32),
        edge_output=np.zeros(len(pairs), np.int32),
        devices=("",) * len(names),
        colocation=((),) * len(names),
        back_edges=np.zeros((0, 2), np.int32),
    )


def devices_of(
    graph: ComputationGraph,
    cluster: str,
    *,
    times: dict[str, float] | None = None,
    groups: Sequence[int] | None = None,
) -> dict[str, int]:
    """The expert's device of each op; an op takes 100 µs unless `times` says otherwise."""
    ops = graph.op_count
    costs = Costs(
        kinds=("GPU", "CPU"),
        time_us=np.array([[(times or {}).get(name, 100.0) for name in graph.op_names]] * 2),
        output_offset=np.arange(ops + 1, dtype=np.int64),
        output_bytes=np.full(ops, 1000, np.int64),
        persistent_bytes=np.zeros(ops, np.int64),
        temporary_bytes=np.zeros(ops, np.int64),
        source=np.full(ops, CostSource.GIVEN, np.uint8),
    )
    grouping = one_group_an_op(graph, costs)
    if groups is not None:
        grouping = Grouping(
            names=tuple(f"group_{group}" for group in range(max(groups) + 1)),
            group_of_op=np.array(groups, np.int32),
            edge_source=np.empty(0, np.int32),
            edge_target=np.empty(0, np.int32),
            edge_bytes=np.empty(0, np.int64),
            feedback_edges=np.zeros((0, 2), np.int32),
        )
    machine = parse_cluster(cluster)
    allowed = np.ones((grouping.group_count, machine.device_count), dtype=bool)
    problem = PlacementProblem(graph, costs, grouping, machine, allowed, RunContext.of(Budget(10)))
    HumanExpert().place(problem, np.random.default_rng(0), lambda: False)
    placement = problem.ledger.answer()
    device_of_op = placement[grouping.group_of_op]
    return dict(zip(graph.op_names, (int(device) for device in device_of_op), strict=True))


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("mixed_0/branch_1/conv", "mixed_0/branch_1/conv"),
        ("gradients/mixed_0/branch_1/conv_grad/mul", "mixed_0/branch_1/conv_grad/mul"),
        ("training/gradients_2/decoder/layer_1/x_grad", "decoder/layer_1/x_grad"),
        ("gradient_tape/model/lstm_1/MatMul", "model/lstm_1/MatMul"),
        ("optimizer/update_decoder/layer_1/weights/Apply", "decoder/layer_1/weights/Apply"),
        ("mixed_0/branch_1/batch_norm/update_mean", "mixed_0/branch_1/batch_norm/update_mean"),
    ],
)
def test_the_name_of_what_an_op_belongs_to(name: str, own: str) -> None:
    assert own_name(name) == own


@pytest.mark.parametrize(
    ("names", "layers"),
    [
        (["encoder/layer_0/step_0/matmul", "encoder/layer_1/step_0/matmul"], [0, 1]),
        (["encoder/layer_0/backward/step_3/gates", "optimizer/update_decoder/layer_3/weights/Apply"], [0, 1]),
        (["rnn/multi_rnn_cell/cell_0/lstm_cell/MatMul", "rnn/multi_rnn_cell/cell_2/lstm_cell/MatMul"], [0, 1]),
        (["multi_rnn_cell/cell_0_attention/x", "multi_rnn_cell/cell_1/x"], [1, 1]),
        (["model/lstm/while/MatMul", "model/lstm_1/while/MatMul", "model/lstm_2/MatMul"], [0, 1, 2]),
        (["bidirectional_lstm/x", "gradient_tape/model/lstm_1/y"], [0, 1]),
        (["lstm_1/x", "lstm_2/x", "softmax/x", "attention/step_1/y", "total_loss/z"], [0, 1, 1, 1, 1]),
        (["encoder/embedding/lookup", "lstm_1/x", "lstm_2/x"], [0, 0, 1]),
    ],
)
def test_the_layers_in_names(names: list[str], layers: list[int]) -> None:
    read = read_layers(graph_of(names))
    assert read is not None and read.layer_of_op.tolist() == layers


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b"],
        ["bert/encoder/layer_0/attention/self/query/MatMul", "bert/encoder/layer_1/output/dense"],
        ["mixed_0/branch_0/conv", "mixed_0/branch_1/conv"],
        ["algorithm/step", "lstms/x", "layer_one/step_1"],
    ],
)
def test_names_without_layers(names: list[str]) -> None:
    assert read_layers(graph_of(names)) is None


@pytest.mark.parametrize(
    ("names", "branches"),
    [
        (["mixed_0/branch_0/conv", "mixed_0/branch_1/conv", "mixed_1/branch_0/conv"], [0, 1, -1]),
        (
            ["InceptionV3/Mixed_5b/Branch_0/Conv", "InceptionV3/Mixed_5b/Branch_1/Conv", "InceptionV3/Logits"],
            [0, 1, -1],
        ),
        (["mixed/branch1x1/conv", "mixed/branch5x5/conv", "mixed/branch_pool/pool"], [0, 1, 2]),
        (["mixed_3/tower/conv", "mixed_3/tower_1/conv", "mixed_3/tower_2/conv"], [0, 1, 2]),
        (["cell_0/comb_iter_0/left", "cell_0/comb_iter_1/left", "cell_0/comb_iter_10/left"], [0, 1, 2]),
        (["stem/cell_0/branch_0/x", "stem/cell_0/branch_1/x", "cell_0/branch_0/x", "cell_0/branch_1/x"], [2, 3, 0, 1]),
        (["cell_0/branch_0/x", "cell_0/branch_1/x", "gradients/cell_0/branch_1/x_grad/mul"], [0, 1, 1]),
        (["a/branch_1/x", "b/branch_2/x"], None),
        (["branches/x", "branching/y", "x/branch/y"], None),
    ],
)
def test_the_branches_in_names(names: list[str], branches: list[int] | None) -> None:
    read = read_branches(graph_of(names))
    assert (None if read is None else read.branch_of_op.tolist()) == branches


def test_what_takes_from_one_branch_alone_belongs_to_it() -> None:
    names = [
        "shape",
        "block/branch_0/conv",
        "block/branch_1/conv",
        "decay/Loss_0",
        "decay/Loss_1",
        "block/concat",
        "next",
    ]
    edges = [
        ("shape", "block/branch_1/conv"),
        ("block/branch_0/conv", "decay/Loss_0"),
        ("block/branch_1/conv", "decay/Loss_1"),
        ("block/branch_0/conv", "block/concat"),
        ("block/branch_1/conv", "block/concat"),
        ("block/concat", "next"),
    ]
    read = read_branches(graph_of(names, edges))
    assert read is not None and read.branch_of_op.tolist() == [1, 0, 1, 0, 1, -1, -1]


def translation(layers: int) -> ComputationGraph:
    lstm = [f"{side}/layer_{layer}/step_0/cell" for side in ("encoder", "decoder") for layer in range(layers)]
    return graph_of(["encoder/embedding/lookup", *lstm, "attention/scores", "softmax/logits"])


def test_each_layer_has_a_device_and_the_last_has_attention_and_softmax() -> None:
    placed = devices_of(translation(3), "4xK80")
    for side in ("encoder", "decoder"):
        assert [placed[f"{side}/layer_{layer}/step_0/cell"] for layer in range(3)] == [0, 1, 2]
    assert placed["encoder/embedding/lookup"] == 0
    assert placed["attention/scores"] == placed["softmax/logits"] == 2


def test_with_more_layers_than_devices_neighbours_share_one() -> None:
    placed = devices_of(translation(4), "2xK80")
    assert [placed[f"encoder/layer_{layer}/step_0/cell"] for layer in range(4)] == [0, 0, 1, 1]


def test_the_longest_branch_of_a_block_goes_first() -> None:
    names = [f"{block}/branch_{branch}/conv" for block in ("a", "b") for branch in range(4)]
    times = {"a/branch_3/conv": 250.0, "b/branch_1/conv": 900.0}
    placed = devices_of(graph_of(["stem", *names]), "2xK80", times=times)
    assert [placed[f"a/branch_{branch}/conv"] for branch in range(4)] == [1, 1, 1, 0]
    assert [placed[f"b/branch_{branch}/conv"] for branch in range(4)] == [1, 0, 1, 1]
    assert placed["stem"] == 0


def test_with_enough_devices_each_branch_has_its_own_and_the_cpu_none() -> None:
    names = [f"a/branch_{branch}/conv" for branch in range(4)]
    placed = devices_of(graph_of(names), "4xK80+cpu")
    assert sorted(placed.values()) == [0, 1, 2, 3]


def test_a_group_goes_where_most_of_its_time_belongs() -> None:
    names = ["lstm_0/x", "lstm_1/x", "lstm_1/y", "lstm_0/z"]
    placed = devices_of(graph_of(names), "2xK80", times={"lstm_1/x": 300.0, "lstm_1/y": 10.0}, groups=[0, 0, 1, 1])
    assert list(placed.values()) == [1, 1, 0, 0]


def test_a_group_that_belongs_nowhere_goes_to_its_neighbours() -> None:
    names = ["lstm_0/x", "lstm_1/x", "sum", "after"]
    edges = [("lstm_0/x", "sum"), ("lstm_1/x", "sum"), ("sum", "after"), ("lstm_1/x", "after")]
    placed = devices_of(graph_of(names, edges), "2xK80")
    assert placed["after"] in (0, 1) and placed["sum"] in (0, 1)


def test_a_graph_of_neither_kind_has_no_rule() -> None:
    with pytest.raises(InfeasibleError) as caught:
        devices_of(graph_of(["matmul", "add"]), "2xK80")
    assert str(caught.value) == (
        "human_expert: no rule for this graph: its names show neither LSTM layers nor branches of a block; "
        "allowed: names such as layer_0/step_1, lstm_1, multi_rnn_cell/cell_1, or mixed_0/branch_1"
    )
    assert caught.value.exit_status == 3
