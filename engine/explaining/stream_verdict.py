"""The verdict on a placement of a stream: how many times one device's throughput it has, and what bounds it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.explaining.model_error import ModelError, error_of
from engine.explaining.verdict import (
    Bottleneck,
    VerdictKind,
    baseline_to_json,
    best_of_baselines,
    gains_over,
    kind_of_verdict,
    link_bottleneck,
    shortage_words,
)
from engine.number_words import counted, part_words, percent_words
from engine.problem import PlacementProblem
from engine.problem.trivial import one_device_placements
from engine.simulator.streams.batch import SimulatedBatch
from engine.simulator.streams.figures import US_IN_A_SECOND


@dataclass(frozen=True, slots=True)
class StreamVerdict:
    """The verdict on a placement of a stream, with its figures."""

    kind: VerdictKind
    sentence: str
    error: ModelError
    one_device_batch_us: float | None
    """the batch on the best single device; None where the graph fits none"""
    gain: float | None
    """by what part of one device's batch the placement's is shorter; None where none fits"""
    gain_low: float | None
    gain_high: float | None
    bottleneck: Bottleneck | None
    """`share`: of the period of the device or link with the greatest load, that is of the batch's steady state"""

    def to_json(self, baselines: Mapping[str, float | None]) -> dict[str, Json]:
        """The field `verdict` of docs/formats/reports.md; `baselines`: method → period."""
        return {
            "kind": str(self.kind),
            "sentence": self.sentence,
            "estimate": self.error.kind,
            "one_device_us": self.one_device_batch_us,
            "best_baseline": baseline_to_json(best_of_baselines(baselines)),
            "gain": self.gain,
            "gain_low": self.gain_low,
            "gain_high": self.gain_high,
            "bottleneck": None if self.bottleneck is None else self.bottleneck.to_json(),
            "trade": None,
            "one_device_trade": None,
            "trade_sentence": "",
        }


def stream_verdict_of(
    problem: PlacementProblem, placement: NDArray[np.int32], batch: SimulatedBatch, samples: int = 0, refusal: str = ""
) -> StreamVerdict:
    """The verdict on `placement` [groups], whose `batch` is simulated, of micro-batches of `samples` (0: not known).

    `refusal`: why none can fit in memory.
    """
    simulator = problem.simulator
    device_of_op = placement[simulator.group_of_op]
    error = error_of(problem.costs, problem.op_time_us[device_of_op, np.arange(len(device_of_op))])
    alone_us = best_one_device_batch_us(problem)
    gain, low, high = gains_over(batch.batch_time_us, alone_us, error)
    missing = batch.peak_bytes - problem.memory_bytes
    used = len(np.unique(placement))
    kind = kind_of_verdict(used, bool((missing > 0).any()), low, fits_one=alone_us is not None)
    bottleneck = _bottleneck(problem, placement, batch)
    if refusal:
        sentence = f"No placement fits in memory: {refusal}."
    elif kind is VerdictKind.INFEASIBLE:
        needs = shortage_words(missing, problem.cluster)
        sentence = f"No placement was found whose batch fits in memory: the closest needs {needs}."
    elif kind is VerdictKind.SPLIT:
        sentence = _split_sentence(used, rate_words(batch, samples), batch.batch_time_us, alone_us, error, bottleneck)
    else:
        sentence = _one_device_sentence(used, gain)
    return StreamVerdict(kind, sentence, error, alone_us, gain, low, high, bottleneck)


def best_one_device_batch_us(problem: PlacementProblem) -> float | None:
    """The batch on the best single device, in µs; None where it fits none. Charged to no budget."""
    batches = [problem.simulator.batch(placement) for placement in one_device_placements(problem)]
    fitting = [batch.batch_time_us for batch in batches if (batch.peak_bytes <= problem.memory_bytes).all()]
    return min(fitting, default=None)


def _bottleneck(problem: PlacementProblem, placement: NDArray[np.int32], batch: SimulatedBatch) -> Bottleneck | None:
    """The device or link with the greatest load, and the share of the batch in which it is busy."""
    cluster, micro_batches = problem.cluster, len(batch.start_us)
    loads = problem.simulator.loads(placement)
    if batch.batch_time_us <= 0:
        return None
    device = int(loads.device_us.argmax())
    sender, receiver = (int(index) for index in np.unravel_index(int(loads.link_us.argmax()), loads.link_us.shape))
    load_us = max(loads.device_us[device], loads.link_us[sender, receiver])
    share = min(1.0, float(load_us) * micro_batches / batch.batch_time_us)
    if loads.device_us[device] < load_us:
        return link_bottleneck(cluster, sender, receiver, share)
    return Bottleneck("device", cluster.devices[device].name, share, cluster.devices[device].short_name)


def rate_words(batch: SimulatedBatch, samples: int) -> str:
    """`96 samples a second, in 12 micro-batches`; without the samples of a micro-batch, its micro-batches a second."""
    rate = len(batch.start_us) * US_IN_A_SECOND / batch.batch_time_us
    if not samples:
        return f"{rate:.3g} micro-batches a second"
    return f"{samples * rate:.3g} samples a second, in {rate:.3g} micro-batches"


def _split_sentence(
    used: int,
    rate: str,
    batch_us: float,
    alone_us: float | None,
    error: ModelError,
    bottleneck: Bottleneck | None,
) -> str:
    if alone_us is None:
        times = "the graph fits on no single device"
    else:
        ratio = alone_us / batch_us
        times = f"{ratio:.2f} times as many as one device"
        if not error.is_exact:
            times += f" ({ratio / error.greatest:.2f} to {ratio / error.least:.2f})"
    holds = ""
    if bottleneck is not None:
        holds = f"; {bottleneck.words} bounds it, busy {part_words(bottleneck.share)} of a batch"
    return f"Split over {counted(used, 'device')}: {rate}, {times}{holds}."


def _one_device_sentence(used: int, gain: float | None) -> str:
    if used == 1:
        return "Splitting the stream does not pay here: all ops are on one device."
    if gain is not None and gain < 0:
        return (
            f"Splitting the stream does not pay here: a batch takes {percent_words(-gain)} longer than on one device."
        )
    return "Splitting the stream does not pay here: the gain is within the error of the estimate."
