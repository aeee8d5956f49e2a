"""Which ops of a graph a step runs: not those that only initialise, save, restore, check or summarise."""

import numpy as np
import pytest

from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.step_ops import Beside, StepOps, step_ops

VARIABLE = ("w VariableV2", "w/start Const", "w/Assign Assign w w/start", "w/read Identity w")
FORWARD = (*VARIABLE, "x Placeholder", "y MatMul x w/read")
TRAINED = (*FORWARD, "grad MatMul x y", "update ApplyGradientDescent w y grad", "train NoOp ^update")
OLD_SAVER = (
    "save/Const Const",
    "save/keys Const",
    "save/SaveV2 SaveV2 save/Const save/keys save/keys w",
    "save/control_dependency Identity save/Const ^save/SaveV2",
    "save/RestoreV2 RestoreV2 save/Const save/keys save/keys",
    "save/Assign Assign w save/RestoreV2",
    "save/restore_all NoOp ^save/Assign",
)
SHARDED_SAVER = (
    "save/input Const",
    "save/Const PlaceholderWithDefault save/input",
    "save/ShardedFilename ShardedFilename save/Const save/input save/input",
    "save/SaveV2 SaveV2 save/ShardedFilename save/input save/input w",
    "save/control_dependency Identity save/ShardedFilename ^save/SaveV2",
    "save/prefixes Pack save/ShardedFilename ^save/control_dependency",
    "save/Merge MergeV2Checkpoints save/prefixes save/Const ^save/control_dependency",
    "save/Identity Identity save/Const ^save/control_dependency ^save/Merge",
    "save/RestoreV2 RestoreV2 save/Const save/input save/input",
    "save/Identity_1 Identity save/RestoreV2",
    "save/Assign AssignVariableOp w save/Identity_1",
    "save/restore_shard NoOp ^save/Assign",
    "save/restore_all NoOp ^save/restore_shard",
)
SUMMARIES = (
    "tag Const",
    "norm L2Loss w/read",
    "scalar ScalarSummary tag norm",
    "image HistogramSummary tag y",
    "all MergeSummary scalar image",
)
CHECKS = (
    "is IsVariableInitialized w",
    "not LogicalNot is",
    "names Const",
    "report BooleanMask names not",
)


def found(*lines: str) -> tuple[StepOps | None, set[str]]:
    """What is found in a graph of these ops, `name type inputs`, and the names of the ops beside the step."""
    nodes = []
    for line in lines:
        name, op_type, *inputs = line.split()
        nodes.append(
            f'node {{ name: "{name}" op: "{op_type}" {" ".join(f"""input: "{each}" """ for each in inputs)} }}'
        )
    graph = graph_of_messages(read_messages("\n".join(nodes).encode(), ".pbtxt"), "graph")
    step = step_ops(graph)
    if step is None:
        return None, set()
    return step, {name for name, runs in zip(graph.op_names, step.runs.tolist(), strict=True) if not runs}


def names(*lines: str) -> set[str]:
    return {line.split()[0] for line in lines}


LEFT_OUT: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "an initialiser": (TRAINED, {"w/start", "w/Assign"}),
    "initialisers and their group": ((*TRAINED, "init NoOp ^w/Assign"), {"w/start", "w/Assign", "init"}),
    "a saver": ((*TRAINED, *OLD_SAVER), {"w/start", "w/Assign", *names(*OLD_SAVER)}),
    "a sharded saver": ((*TRAINED, *SHARDED_SAVER), {"w/start", "w/Assign", *names(*SHARDED_SAVER)}),
    "summaries": ((*TRAINED, *SUMMARIES), {"w/start", "w/Assign", *names(*SUMMARIES)}),
    "checks of variables": ((*TRAINED, *CHECKS), {"w/start", "w/Assign", *names(*CHECKS)}),
    "tables": (
        (*FORWARD, "table HashTableV2", "keys Const", "fill InitializeTableV2 table keys keys", "tables NoOp ^fill"),
        {"w/start", "w/Assign", "table", "keys", "fill", "tables"},
    ),
    "a start that is another variable's": (
        (*TRAINED, "mean VariableV2", "mean/Assign Assign mean w/read", "use AssignSub mean y"),
        {"w/start", "w/Assign", "mean/Assign"},
    ),
    "reads that nothing takes": (
        ("v VarHandleOp", "v/Read/ReadVariableOp ReadVariableOp v", "r ReadVariableOp v", "x Const", "z Mul r x",
         "v/Assign AssignVariableOp v x"),
        {"v/Read/ReadVariableOp", "v/Assign"},
    ),
    "part of a group": ((*TRAINED, *SUMMARIES, "both NoOp ^all ^train"), {
        "w/start", "w/Assign", *names(*SUMMARIES), "both"
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_only_prepares_saves_or_reports_is_beside_the_step(name: str) -> None:
    lines, left_out = LEFT_OUT[name]
    assert found(*lines)[1] == left_out


WHOLE: dict[str, tuple[str, ...]] = {
    "inference": ("x Placeholder", "w Const", "y MatMul x w"),
    "initialisers alone": (*VARIABLE[:3], "init NoOp ^w/Assign"),
    "a saver alone": (VARIABLE[0], *OLD_SAVER),
    "summaries alone": ("tag Const", "x Placeholder", "scalar ScalarSummary tag x"),
    "a state that the step sets": ("w VariableV2", "x Placeholder", "y Neg x", "keep Assign w y"),
    "a hand-written update": ("w VariableV2", "g Neg w", "w2 Sub w g", "Assign Assign w w2"),
    "a restored value that the step takes": ("f Const", "r RestoreV2 f f f", "x Placeholder", "y Mul x r"),
    "a summary on which the step waits": (
        "tag Const", "x Placeholder", "scalar ScalarSummary tag x", "y Neg x ^scalar"
    ),
    "summaries that alone take the inputs": (
        "x Placeholder", "tag Const", "scalar ScalarSummary tag x", "w VariableV2", "one Const", "next AssignAdd w one"
    ),
    "a data pipeline": (
        "c Const", "d RangeDataset c c c", "i IteratorV2", "make MakeIterator d i", "next IteratorGetNext i"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_a_graph_that_does_nothing_else_and_what_the_step_needs_stays_whole(name: str) -> None:
    assert found(*WHOLE[name])[0] is None


def test_the_ops_beside_the_step_are_counted_by_what_they_are_for() -> None:
    step, _ = found(*TRAINED, *OLD_SAVER, *SUMMARIES, "unused Identity w")
    assert step is not None
    expected = {Beside.INITIALISES: 2, Beside.SAVES: 7, Beside.SUMMARISES: 5, Beside.READS: 1}
    assert step.beside == expected
    assert sum(step.beside.values()) == (~step.runs).sum()


TYPES = (
    "Const",
    "Placeholder",
    "VariableV2",
    "Neg",
    "Identity",
    "Assign",
    "SaveV2",
    "RestoreV2",
    "ScalarSummary",
    "NoOp",
)


@pytest.mark.parametrize("seed", range(40))
def test_no_op_of_the_step_needs_one_beside_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines: list[str] = []
    for op in range(30):
        op_type = str(rng.choice(TYPES)) if op > 3 else TYPES[op]
        takes = {"Neg": 1, "Identity": 1, "Assign": 2, "SaveV2": 3, "RestoreV2": 3, "ScalarSummary": 2}.get(op_type, 0)
        if op_type == "SaveV2":
            takes = 4
        data = [f"n{rng.integers(op)}" for _ in range(takes)]
        data = [each if "NoOp" not in lines[int(each[1:])].split()[1] else "n0" for each in data]
        data = [each if lines[int(each[1:])].split()[1] not in ("SaveV2",) else "n1" for each in data]
        waits = [f"^n{rng.integers(op)}" for _ in range(int(rng.integers(3)))] if op and op_type != "Const" else []
        lines.append(" ".join([f"n{op}", op_type, *data, *waits]))
    step, left_out = found(*lines)
    assert (step is None) == (not left_out)
    for line in lines:
        name, _, *inputs = line.split()
        if name not in left_out:
            assert left_out.isdisjoint(each.lstrip("^") for each in inputs)
