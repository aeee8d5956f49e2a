"""Layers of recurrent nets as loops, for tests."""

from tests.engine.simulator.unrolled import LoopedGraph, LoopedOp


def recurrent_layer(name: str, given: str, trips: int, time_us: float = 10.0) -> LoopedGraph:
    """A layer of a recurrent net as a loop: a state and a counter; what is given is used in every trip."""
    loop = (f"{name}/while",)
    looks = frozenset(loop)
    counted = [f"{name}/{part}" for part in ("count", "merge", "switch", "more", "next")]
    state = [f"{name}/{part}_state" for part in ("enter", "merge", "switch", "next")]
    ops = [
        LoopedOp(f"{name}/zero", "Const", ()),
        LoopedOp(counted[0], "Enter", (f"{name}/zero",)),
        LoopedOp(state[0], "Enter", (f"{name}/zero",)),
        LoopedOp(f"{name}/inputs", "Enter", (given,)),
        LoopedOp(counted[1], "Merge", (counted[0], counted[4]), loop, looks),
        LoopedOp(f"{name}/less", "Less", (counted[1],), loop, looks),
        LoopedOp(f"{name}/cond", "LoopCond", (f"{name}/less",), loop, looks),
        LoopedOp(counted[2], "Switch", (counted[1], f"{name}/cond"), loop, looks),
        LoopedOp(counted[3], "Add", (counted[2],), loop),
        LoopedOp(counted[4], "NextIteration", (counted[3],), loop),
        LoopedOp(state[1], "Merge", (state[0], state[3]), loop, looks),
        LoopedOp(state[2], "Switch", (state[1], f"{name}/cond"), loop, looks),
        LoopedOp(f"{name}/recurrent", "MatMul", (state[2],), loop, time_us=time_us),
        LoopedOp(f"{name}/input", "MatMul", (f"{name}/inputs", counted[2]), loop, time_us=time_us),
        LoopedOp(f"{name}/sum", "Add", (f"{name}/recurrent", f"{name}/input"), loop, time_us=1.0),
        LoopedOp(state[3], "NextIteration", (f"{name}/sum",), loop),
        LoopedOp(f"{name}/exit", "Exit", (state[2],), bytes=100),
    ]
    return LoopedGraph(ops, {loop[0]: trips})


def joined(*parts: LoopedGraph) -> LoopedGraph:
    """The parts as one graph, behind an op `start`."""
    ops = [LoopedOp("start", "Const", ())] + [op for part in parts for op in part.ops]
    return LoopedGraph(ops, {loop: trips for part in parts for loop, trips in part.trips.items()})
