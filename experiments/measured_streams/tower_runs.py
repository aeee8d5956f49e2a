"""One tower on so many processes: its splits, their batches as they run, and as they are simulated."""

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine import api
from engine.clusters.calibration import MeasuredFigure
from engine.clusters.cluster import Cluster
from engine.formats.modules.stages import BEGINNING, SPLIT_SPEC, devices_of_split, split_spec_of
from engine.graphs.graph import OPTIMIZER
from engine.measuring.fidelity import MeasuredSteps
from engine.run.run import Run
from engine.simulator import Simulator
from experiments.measured_streams.calibrated import cluster_of
from experiments.measured_streams.running import of_all_ranks
from experiments.measured_streams.towers import TOWERS

PIPELINES = ("gpipe", "1f1b")
MICRO_BATCHES = 8
PROFILED_STEPS = 20
ROUNDS, BATCHES = 5, 2
DRAWN, SEED = 10, 0
OURS, EXACT, EQUAL, ALONE, DRAW = "auto", "pipeline_dp", "equal layers", "one process", "drawn"
EVALUATIONS = 2000
SECONDS = 1800.0
SplitSpec = dict[str, str]
"""{module: how}, as our export has it"""


@dataclass(frozen=True, slots=True)
class RunTower:
    """What was measured of a tower on so many processes, and simulated with its measured op times."""

    names: list[list[str]]
    """[splits]"""
    splits: list[SplitSpec]
    """the first is empty: one process"""
    batch_us: list[list[list[list[float]]]]
    """[pipelines][splits][rounds][batches]"""
    processor_us: list[list[list[float]]]
    """[pipelines][splits][processes] the median processor time of a batch"""
    simulated_us: list[list[float]]
    """[pipelines][splits]"""
    passes_us: list[float]
    """untraced passes of one micro-batch, in a process while the others do the same"""
    ops_us: float
    """the sum of the measured op times of both passes"""
    op_rest_us: float

    def fastest_us(self, pipeline: int) -> NDArray[np.float64]:
        """[splits, rounds] the fastest batch of each visit, with one of `PIPELINES`."""
        fastest: NDArray[np.float64] = np.array(self.batch_us[pipeline]).min(axis=2)
        return fastest

    def measured(self, pipeline: int) -> MeasuredSteps:
        """The fastest batches of visits, in the place of steps."""
        by_round = self.fastest_us(pipeline).T
        rounds = [[[float(split), time] for split, time in enumerate(times.tolist())] for times in by_round]
        return MeasuredSteps.of_rounds([[*visits, visits[0]] for visits in rounds], len(self.splits))

    def split_named(self, name: str) -> int:
        """The first split of that name."""
        return next(split for split, names in enumerate(self.names) if name in names)

    def drawn(self) -> list[int]:
        """The splits that were drawn."""
        return [split for split, names in enumerate(self.names) if DRAW in names]


def measured_tower(tower: str, processes: int, link: Mapping[str, MeasuredFigure]) -> RunTower:
    """Record and profile `tower`, find its splits, run and simulate them."""
    with tempfile.TemporaryDirectory() as name:
        recording, traces = (
            Path(name) / "step.json.gz",
            [str(Path(name) / f"{rank}.json.gz") for rank in range(processes)],
        )
        arguments: dict[str, api.Json] = {
            "tower": tower,
            "steps": PROFILED_STEPS,
            "recording": str(recording),
            "traces": [*traces],
        }
        passes_us = of_all_ranks("profile", arguments, processes, SECONDS)[0]
        prepared = api.prepare(
            recording, api.suffix_of(recording.name), lambda *_: None, api.Limits(), run_metadata=Path(traces[0])
        )
    ops_us, rest_us = _ops_and_rest(prepared, passes_us)
    cluster = cluster_of(processes, link, rest_us)
    names, splits = _splits(prepared, cluster, len(TOWERS[tower].layers()))
    batch_us, processor_us = _batches(tower, processes, splits)
    return RunTower(
        names=names,
        splits=splits,
        batch_us=batch_us,
        processor_us=processor_us,
        simulated_us=[_simulated(prepared, cluster, splits, name) for name in PIPELINES],
        passes_us=passes_us,
        ops_us=ops_us,
        op_rest_us=rest_us,
    )


def stream_of(pipeline: str) -> api.Stream:
    return api.Stream(MICRO_BATCHES, api.pipeline_of(pipeline), contiguous=True)


def _ops_and_rest(prepared: api.PreparedGraph, passes_us: Sequence[float]) -> tuple[float, float]:
    """The sum of the op times of both passes, and what an op costs beside: the rest of the fastest untraced passes."""
    costs, of_passes = prepared.costs, prepared.graph.phase != OPTIMIZER
    times_us = costs.op_time_in_step_us()[costs.kinds.index("CPU")] * of_passes
    ops_us = float(times_us.sum())
    return ops_us, max(0.0, (min(passes_us) - ops_us) / int((times_us > 0).sum()))


def _splits(prepared: api.PreparedGraph, cluster: Cluster, layers: int) -> tuple[list[list[str]], list[SplitSpec]]:
    """Splits with their names, each once: one process, equal layers, our answers, and drawn ones."""
    count = cluster.device_count
    even = [layers * stage // count for stage in range(1, count)]
    named: list[tuple[str, SplitSpec]] = [(ALONE, {}), (EQUAL, _at(even))]
    for method in (OURS, EXACT):
        named += [(f"{method}, {name}", _answer(prepared, cluster, method, stream_of(name))) for name in PIPELINES]
    cuts = list(combinations(range(1, layers), count - 1))
    for chosen in random.Random(SEED).sample(cuts, DRAWN):  # noqa: S311  # no secret
        named.append((DRAW, _at(chosen)))
    names: dict[tuple[str, ...], list[str]] = {}
    for name, split in named:
        names.setdefault(tuple(split), []).append(name)
    return list(names.values()), [dict.fromkeys(points, BEGINNING) for points in names]


def _at(layers: Sequence[int]) -> SplitSpec:
    """The split whose stages begin with these layers."""
    return {f"layers.{layer}": BEGINNING for layer in layers}


def _answer(prepared: api.PreparedGraph, cluster: Cluster, method: str, stream: api.Stream) -> SplitSpec:
    """The exported split of a method's answer."""
    request = api.RunRequest(
        cluster, method, api.Budget(EVALUATIONS), SEED, baselines=(), robustness=False, stream=stream
    )
    report = Run(prepared, request, lambda _: None, lambda: False).execute(None)
    device_of_op = prepared.device_of_op(api.placement_of_report(report))
    return cast(SplitSpec, split_spec_of(prepared, cluster, device_of_op)[SPLIT_SPEC])


def _batches(
    tower: str, processes: int, splits: Sequence[SplitSpec]
) -> tuple[list[list[list[list[float]]]], list[list[list[float]]]]:
    """`batch_us` and `processor_us` of `RunTower`."""
    arguments: dict[str, api.Json] = {
        "tower": tower,
        "micro_batches": MICRO_BATCHES,
        "splits": [dict(split) for split in splits],
        "pipelines": [*PIPELINES],
        "rounds": ROUNDS,
        "batches": BATCHES,
    }
    spans = np.array(of_all_ranks("batches", arguments, processes, SECONDS))
    # [processes, rounds, splits, pipelines, batches, begin and end and processor time]
    spans = spans.reshape(processes, ROUNDS, len(splits), len(PIPELINES), BATCHES, 3)
    took_us = (spans[..., 1].max(axis=0) - spans[..., 0].min(axis=0)) * 1e6
    busy_us = np.median(spans[..., 2], axis=(1, 4)) * 1e6
    return took_us.transpose(2, 1, 0, 3).tolist(), busy_us.transpose(2, 1, 0).tolist()


def _simulated(
    prepared: api.PreparedGraph, cluster: Cluster, splits: Sequence[SplitSpec], pipeline: str
) -> list[float]:
    """[splits] the simulated batch times in µs."""
    simulator = Simulator(prepared.graph, prepared.costs, cluster, stream=stream_of(pipeline))
    devices = [devices_of_split(prepared, cluster, {SPLIT_SPEC: dict(split)}) for split in splits]
    return [simulator.batch(device_of_op).batch_time_us for device_of_op in devices]
