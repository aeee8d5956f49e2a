"""Times of recorded ops from traces of torch.profiler."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import placeto
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile, schedule

from engine.costs.costs import CostSource
from engine.errors import CostError, GraphError
from engine.formats.node_link.reader import parsed
from tests.engine.costs.profiler_traces import (
    BACKWARD_THREAD,
    costed,
    kernel,
    launch,
    measured,
    node,
    op,
    recording,
    span,
    trace,
)

STEPS = 3


class Block(nn.Module):
    """Attention and a product, with dropout after both: on the CPU PyTorch runs them otherwise than on GPUs."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.all = nn.Linear(32, 96)
        self.out = nn.Linear(32, 32)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.all(self.norm(x)).view(2, 16, 3, 4, 8).permute(2, 0, 3, 1, 4)
        found = scaled_dot_product_attention(parts[0], parts[1], parts[2], dropout_p=0.1)
        result: Tensor = x + self.dropout(self.out(found.transpose(1, 2).reshape(2, 16, 32)))
        return result


class Picture(nn.Module):
    """Convolutions with norms."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3), nn.BatchNorm2d(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layers(x).mean((2, 3))
        return result


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "blocks": (lambda: nn.Sequential(Block(), Block()), lambda: torch.randn(2, 16, 32)),
    "pictures": (Picture, lambda: torch.randn(2, 3, 20, 20)),
}


def profiled(name: str, path: Path, *, trains: bool, marked: bool, **options: Any) -> tuple[bytes, bytes]:
    """The recording and the trace of a model, both of its step here."""
    torch.manual_seed(0)
    build, inputs = MODELS[name]
    model, x = build().train(trains), inputs()
    optimizer = torch.optim.AdamW(model.parameters())
    training: dict[str, Any] = {"loss": Tensor.sum, "optimizer": torch.optim.AdamW} if trains else {}
    placeto.record(model, x, **training).save(path / "step.json")

    def step() -> None:
        with torch.set_grad_enabled(trains):
            out = model(x)
        if trains:
            out.sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    step()
    when = schedule(wait=0, warmup=1, active=STEPS, repeat=1) if marked else None
    with profile(activities=[ProfilerActivity.CPU], schedule=when, **options) as profiler:
        for _ in range(STEPS + marked):
            step()
            profiler.step()
    profiler.export_chrome_trace(str(path / "trace.json"))
    return (path / "step.json").read_bytes(), (path / "trace.json").read_bytes()


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_real_trace_gives_the_recorded_ops_their_times(name: str, marked: bool, trains: bool, tmp_path: Path) -> None:
    recorded, times = profiled(name, tmp_path, trains=trains, marked=marked, record_shapes=True)
    found, costs = parsed(recorded), costed(recorded, times)
    has_work = (found.costs.flops > 0) | (found.costs.moved_bytes > 0)
    is_measured = costs.costs.source == CostSource.MEASURED
    assert not is_measured[~has_work].any(), "views take no time"
    lost = [found.graph.op_names[op] for op in (has_work & ~is_measured).nonzero()[0]]
    assert len(lost) <= 0.05 * has_work.sum(), lost
    beginning = f"{is_measured.sum()} of {has_work.sum()} recorded ops with work are in the trace (3 steps); they take "
    [note] = [note for note in costs.notes if note.startswith(beginning)]
    assert 0 < int(re.findall("([0-9]+) %", note)[0]) <= 100


def test_without_shapes_order_and_phase_are_left(tmp_path: Path) -> None:
    recorded, times = profiled("pictures", tmp_path, trains=True, marked=True)
    costs = costed(recorded, times)
    assert "The trace has no shapes of inputs, so ops are matched by type, phase and order alone." in costs.notes
    assert (costs.costs.source == CostSource.MEASURED).sum() > 50


def test_modules_of_a_real_trace_are_those_of_the_recording(tmp_path: Path) -> None:
    """Without the first block's ops, those of the second stay its own, though by order they are the first's."""
    options: dict[str, Any] = {"record_shapes": True, "with_stack": True}
    recorded, times = profiled("blocks", tmp_path, trains=False, marked=True, **options)
    whole = json.loads(times)
    called = [event for event in whole["traceEvents"] if event["name"] == "nn.Module: Block_0"]
    assert len(called) == STEPS
    ends = [(event["ts"], event["ts"] + event["dur"]) for event in called]
    kept = [
        event
        for event in whole["traceEvents"]
        if event.get("cat") != "cpu_op" or not any(start <= event["ts"] < end for start, end in ends)
    ]
    both = measured(recorded, times)
    second = measured(recorded, json.dumps({"traceEvents": kept}).encode())
    assert second == {name: time for name, time in both.items() if name.startswith("1/")}
    assert len(second) == 5 < len(both)


LINEAR = {"type": "addmm", "shapes": [[8], [4, 8], [8, 8]]}
LINEAR_DIMS = [[8], [4, 8], [8, 8], [], []]


def test_an_op_goes_to_its_module_where_the_trace_says_it() -> None:
    names = ("a/addmm", "b/addmm")
    recorded = recording(*({"id": name, **LINEAR} for name in names), modules={"": "Net", "a": "Linear", "b": "Linear"})
    event = op("aten::addmm", 12, 5, LINEAR_DIMS)
    assert measured(recorded, trace(event)) == {"a/addmm": 5}
    assert measured(recorded, trace(event, span("python_function", "nn.Module: Linear_1", 10, 10))) == {"b/addmm": 5}


def test_a_backward_op_goes_to_the_module_of_the_forward_op_that_made_its_node() -> None:
    gradient = {"type": "mm", "phase": "backward", "shapes": [[4, 8], [8, 8]]}
    recorded = recording(
        {"id": "a/backward_mm", **gradient}, {"id": "b/backward_mm", **gradient}, modules={"a": "Linear", "b": "Linear"}
    )
    events: list[Any] = [
        span("python_function", "nn.Module: Linear_1", 1, 5),
        op("aten::addmm", 2, 3, LINEAR_DIMS, **{"Sequence number": 40}),
        node("AddmmBackward0", 40, 20, 10),
        op("aten::mm", 22, 7, [[4, 8], [8, 8]], thread=BACKWARD_THREAD),
    ]
    assert measured(recorded, trace(*events)) == {"b/backward_mm": 7}


def test_phases_keep_equal_ops_apart() -> None:
    names = {"forward": "mul", "backward": "backward_mul", "optimizer": "optimizer_mul"}
    shape = {"type": "mul", "shapes": [[4]]}
    recorded = recording(*({"id": name, "phase": phase, **shape} for phase, name in names.items()))
    events: list[Any] = [
        span("user_annotation", "Optimizer.step#SGD.step", 30, 10),
        op("aten::mul_", 31, 3, [[4], []]),
        node("MulBackward0", 5, 20, 9, thread=1),
        op("aten::mul", 21, 2, [[4], []]),
        op("aten::mul", 1, 1, [[4], []]),
    ]
    assert measured(recorded, trace(*events)) == {"mul": 1, "backward_mul": 2, "optimizer_mul": 3}


def test_what_an_op_calls_counts_within_it_alone() -> None:
    recorded = recording(
        {"id": "copy", "type": "_to_copy", "shapes": [[4]]}, {"id": "write", "type": "copy_", "shapes": [[4], [4]]}
    )
    nested = [op("aten::to", 0, 20, [[4], []]), op("aten::_to_copy", 1, 18, [[4], []])]
    inner = op("aten::copy_", 3, 10, [[4], [4], []])
    assert measured(recorded, trace(*nested, inner)) == {"copy": 18}
    assert measured(recorded, trace(*nested, inner, op("aten::copy_", 30, 6, [[4], [4], []]))) == {
        "copy": 18,
        "write": 6,
    }


def test_the_median_of_the_marked_steps_counts() -> None:
    recorded = recording({"id": "mul", "type": "mul", "shapes": [[4]]})
    marks = [span("user_annotation", f"ProfilerStep#{step}", 100 * step, 90) for step in (1, 2, 3)]
    ops = [op("aten::mul", 100 * step + 5, dur, [[4]]) for step, dur in enumerate((80, 10, 30, 20, 70))]
    assert measured(recorded, trace(*marks, *ops)) == {"mul": 20}
    assert measured(recorded, trace(*ops[1:4])) == {"mul": 20}, "without marks steps are told by the number of ops"


GPU_STEP = [
    op("aten::linear", 0, 90, [[4, 8], [8, 8], [8]], **{"External id": 1}),
    op("aten::addmm", 10, 60, LINEAR_DIMS, **{"External id": 2}),
    op("aten::fill_", 20, 30, [[4, 8]], **{"External id": 3}),
]


def test_on_a_gpu_kernels_count_and_not_their_launches() -> None:
    """Those of an op and of all that it calls, by External id or by the launch of the same correlation."""
    recorded = recording({"id": "addmm", **LINEAR}, {"id": "mul", "type": "mul", "shapes": [[4]]})
    events: list[Any] = [
        *GPU_STEP,
        op("aten::mul", 100, 50, [[4]], **{"External id": 4}),
        kernel(400, External_id=2, correlation=71),
        launch(72, 3),
        kernel(30, correlation=72),
        kernel(8, "gpu_memset", External_id=3),
        kernel(10_000),
    ]
    assert measured(recorded, trace(*events), "GPU") == {"addmm": 438}, "what launches nothing keeps its estimate"
    assert measured(recorded, trace(*events), "CPU") == {}
    [line] = [note for note in costed(recorded, trace(*events)).notes if "with work" in note]
    assert line == (
        "1 of 2 recorded ops with work are in the trace (1 step); they take 438 µs a step, 100 % of the 438 µs of its "
        "ops."
    )


def test_times_on_a_gpu_count_on_the_kind_that_is_named() -> None:
    recorded, times = recording({"id": "addmm", **LINEAR}), trace(*GPU_STEP, kernel(400, External_id=2))
    costs = costed(recorded, times, "H100").costs
    times_us = dict(zip(costs.kinds, costs.time_us[:, 0].tolist(), strict=True))
    assert times_us["H100"] == 400
    assert times_us["K80"] < 1
    with pytest.raises(GraphError, match="nothing in it was measured on a CPU"):
        costed(recorded, times, "CPU")
    with pytest.raises(CostError, match="no such device kind"):
        costed(recorded, times, "Abacus")


def test_an_op_on_many_tensors_is_split_where_a_recording_has_one_for_each() -> None:
    update = {"type": "mul_", "phase": "optimizer"}
    recorded = recording({"id": "a", **update, "shapes": [[6]]}, {"id": "b", **update, "shapes": [[2]]})
    events: list[Any] = [
        span("user_annotation", "Optimizer.step#SGD.step", 0, 99),
        op("aten::_foreach_mul_", 1, 80, [[[6], [2]], []]),
    ]
    assert measured(recorded, trace(*events)) == {"a": 60, "b": 20}
    whole = recording({"id": "all", "type": "_foreach_mul_", "phase": "optimizer", "shapes": [[6], [2]]})
    assert measured(whole, trace(*events)) == {"all": 80}


def test_an_op_that_runs_as_several_is_found_by_its_caller_and_by_the_nodes_that_it_made() -> None:
    recorded = recording(
        {"id": "dropout", "type": "native_dropout", "shapes": [[4]]},
        {"id": "backward", "type": "native_dropout_backward", "phase": "backward", "shapes": [[4], [4]]},
        {"id": "mul", "type": "mul", "shapes": [[4]]},
        {"id": "backward_mul", "type": "mul", "phase": "backward", "shapes": [[4]]},
    )
    events: list[Any] = [
        op("aten::dropout", 1, 10, [[4], [], []], **{"Sequence number": 5}),
        op("aten::bernoulli_", 2, 3, [[4]], **{"Sequence number": 5}),
        op("aten::mul", 6, 2, [[4], [4]], **{"Sequence number": 5}),
        op("aten::mul", 12, 7, [[4]], **{"Sequence number": 6}),
        node("MulBackward0", 6, 30, 6),
        op("aten::mul", 31, 4, [[4]], thread=BACKWARD_THREAD),
        node("MulBackward0", 5, 40, 9),
        op("aten::mul", 42, 2, [[4], [4]], thread=BACKWARD_THREAD),
    ]
    found = measured(recorded, trace(*events))
    assert found == {"dropout": 10, "backward": pytest.approx(8.8), "mul": 7, "backward_mul": 4}


def test_what_is_on_one_side_alone_is_said() -> None:
    recorded = recording(
        {"id": "addmm", **LINEAR},
        {"id": "old", "type": "le", "shapes": [[4]]},
        {"id": "view", "type": "view", "flops": 0, "bytes_accessed": 0},
    )
    events: list[Any] = [
        op("aten::addmm", 0, 50, LINEAR_DIMS),
        op("aten::view", 60, 5, [[4]]),
        *(op("aten::<b>", 70 + 2 * number, 1, [[4]]) for number in range(3)),
        op("mine::twice", 80, 2, [[4]]),
    ]
    assert costed(recorded, trace(*events)).notes[1:] == (
        "1 of 2 recorded ops with work are in the trace (1 step); they take 50.0 µs a step, 83 % of the 60.0 µs of its "
        "ops.",
        "Recorded ops that are not in the trace keep their estimates: le × 1.",
        "Ops of the trace that were not recorded, 5.00 µs a step, the longest first: <b> × 3, mine::twice × 1.",
    )


def test_a_recording_of_an_older_client_has_no_shapes() -> None:
    recorded = recording({"id": "a/addmm", **LINEAR}, with_shapes=False)
    event = op("aten::addmm", 0, 50, LINEAR_DIMS)
    assert measured(recorded, trace(event)) == {"a/addmm": 50}
    assert "The recording has no shapes of inputs" in " ".join(costed(recorded, trace(event)).notes)


def test_an_op_too_short_for_the_clock_of_the_cpu_is_measured_too() -> None:
    recorded = recording({"id": "addmm", **LINEAR}, {"id": "mul", "type": "mul", "shapes": [[4]]})
    events = [op("aten::addmm", 0, 50, LINEAR_DIMS), op("aten::mul", 60, 0, [[4]])]
    assert measured(recorded, trace(*events)) == {"addmm": 50, "mul": 0}


def test_a_list_of_events_alone_is_a_trace_too() -> None:
    """Some tools that cut traces write them so."""
    recorded = recording({"id": "addmm", **LINEAR})
    content = json.dumps(json.loads(trace(op("aten::addmm", 0, 50, LINEAR_DIMS)))["traceEvents"]).encode()
    assert measured(recorded, content) == {"addmm": 50}
