"""Figures from the times of a calibration's trials, round by round. All arrays are [rounds].

A figure is the median of its rounds, with the least and the greatest of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.calibration import MeasuredFigure
from engine.clusters.own_kinds import EFFICIENCIES_OF_TYPES
from engine.clusters.shares import Efficiency
from engine.errors import SettingsError
from engine.measuring.calibrating import trials
from engine.measuring.calibrating.trials import AT_ONCE, COPIES, HOPS, LARGE_BYTES, LINK_BYTES, SMALL_BYTES, OpSize

Times = Mapping[str, NDArray[np.float64]]
"""trial → the fastest step in µs of each round"""
Rounds = NDArray[np.float64]
LEAST_US = 1e-3
"""a difference of two times that is below this, or negative, counts as this"""


@dataclass(frozen=True, slots=True)
class TrialWork:
    """The work of one op of `trials.OPS`, by the engine's closed forms."""

    operations: float
    moved_bytes: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """What a device reaches: figures round by round."""

    peak_gflops: Rounds
    bandwidth_bytes_per_us: Rounds
    efficiency: Rounds
    """the geometric mean over all ops of the time by peak and bandwidth over the measured time"""
    efficiency_of_op: Mapping[str, Rounds]


def figure(rounds: Rounds, how: str) -> MeasuredFigure:
    """The median of the rounds with their range."""
    return MeasuredFigure(float(np.median(rounds)), float(rounds.min()), float(rounds.max()), how)


def op_overhead_us(times: Times) -> Rounds:
    """What an op without work costs beside its neighbours in a chain."""
    chains = times[trials.overhead(trials.MANY_OPS)] - times[trials.overhead(trials.FEW_OPS)]
    return _positive(chains / (trials.MANY_OPS - trials.FEW_OPS))


def hop_us(times: Times, size: int) -> Rounds:
    """What a transfer of `size` bytes adds to a chain: the mean of both directions."""
    remote, local = (times[trials.there_and_back(size, local=local)] for local in (False, True))
    return _positive((remote - local) / HOPS)


def link(times: Times) -> tuple[Rounds, Rounds]:
    """(latency in µs, bandwidth in bytes per µs) that fit the hops of all sizes best, in relative error."""
    found = [_line(LINK_BYTES, [float(hop_us(times, size)[at]) for size in LINK_BYTES]) for at in _rounds(times)]
    return np.array([latency for latency, _ in found]), np.array([bandwidth for _, bandwidth in found])


def _line(sizes: Sequence[int], times_us: Sequence[float]) -> tuple[float, float]:
    """(a, b) of time = a + size / b with a ≥ 0, by least squares of relative errors."""
    size, time = np.array(sizes, dtype=np.float64), np.array(times_us)
    columns = np.stack([1 / time, size / time], axis=1)
    (latency, per_byte), *_ = np.linalg.lstsq(columns, np.ones(len(time)))
    if latency < 0:
        latency, per_byte = 0.0, float((size / time).sum() / np.square(size / time).sum())
    return float(latency), 1.0 / max(float(per_byte), 1e-12)


def further_transfer_us(times: Times, size: int) -> Rounds:
    """What each further tensor of `size` bytes costs that is sent at once with others the same way."""
    many, one = (times[trials.sent_at_once(size, count)] for count in (AT_ONCE, 1))
    return _positive((many - one) / (AT_ONCE - 1))


def waiting_share(times: Times) -> Rounds:
    """Share of a large transfer's time by which another the same way delays it: 0 if they share nothing, 1 if all."""
    return further_transfer_us(times, LARGE_BYTES) / hop_us(times, LARGE_BYTES)


def opposite_share(times: Times) -> Rounds:
    """The same for transfers that go the other way at once."""
    count = trials.OVERLAPPED_TRANSFERS
    forth, back, both = (
        times[trials.sent_at_once(LARGE_BYTES, count, **way)] for way in ({}, {"back": True}, {"both": True})
    )
    return (both - np.maximum(forth, back)) / np.minimum(forth, back)


def overlap_share(times: Times, at: str) -> Rounds:
    """Share of transfers and computation on the `sender` or the `receiver` that go on at once: 1 if all, 0 if none."""
    computing, beside = (times[trials.computing(at, alone=alone)] for alone in (True, False))
    sending = times[trials.TRANSFERS_ALONE]
    return (computing + sending - beside) / np.minimum(computing, sending)


def op_us(times: Times, op: OpSize) -> Rounds:
    """The time of one op, without what a step costs."""
    many, one = (times[trials.op_trial(op.name, copies)] for copies in (COPIES, 1))
    return _positive((many - one) / (COPIES - 1))


def roofline(times: Times, work: Mapping[str, TrialWork], ops: Sequence[OpSize] = trials.OPS) -> Roofline:
    """What the fastest matrix product and the fastest pass over much memory reach, and what share of both each op does.

    Much: tensors of the largest size, which caches do not hold.
    """
    measured_us = {op.name: op_us(times, op) for op in ops}
    largest = max(op.shape for op in ops if op.type in trials.STREAMING)
    peak = _fastest({op.name: work[op.name].operations / measured_us[op.name] for op in ops if op.type == "MatMul"})
    bandwidth = _fastest(
        {
            op.name: work[op.name].moved_bytes / measured_us[op.name]
            for op in ops
            if op.type in trials.STREAMING and op.shape == largest
        }
    )
    by_roofline = {
        name: work[name].operations / np.median(peak) + work[name].moved_bytes / np.median(bandwidth)
        for name in measured_us
    }
    efficiency_of_op = {name: by_roofline[name] / us for name, us in measured_us.items() if by_roofline[name] > 0}
    efficiency: Rounds = np.exp(np.mean([np.log(each) for each in efficiency_of_op.values()], axis=0))
    return Roofline(peak / 1e3, bandwidth, np.minimum(efficiency, 1.0), efficiency_of_op)


def efficiency_of_types(
    efficiency_of_op: Mapping[str, Rounds], ops: Sequence[OpSize] = trials.OPS
) -> dict[str, Efficiency]:
    """Op type → the geometric mean over its sizes of what it reaches in the median of the rounds.

    It stays within what a cluster may say: an op may take so little that the scatter of steps hides it.
    """
    found: dict[str, list[float]] = {}
    for op in ops:
        if op.name in efficiency_of_op:
            found.setdefault(op.type, []).append(float(np.log(np.median(efficiency_of_op[op.name]))))
    return {
        type_: Efficiency.of_both(float(np.exp(np.mean(logs)).clip(*EFFICIENCIES_OF_TYPES)))
        for type_, logs in found.items()
    }


def _fastest(rates: Mapping[str, Rounds]) -> Rounds:
    """The rounds of the op with the greatest median: a single round may be off by far."""
    return max(rates.values(), key=lambda rounds: float(np.median(rounds)))


def noise(times: Times) -> Rounds:
    """By how much each round of one and the same computation took longer than its fastest round."""
    rounds = times[trials.computing("sender", alone=True)]
    slower: Rounds = rounds / rounds.min() - 1.0
    return slower


def require_low(noise: float, most_noise: float) -> None:
    """Raise SettingsError if one computation differed by more than `most_noise`, a share, between rounds."""
    if noise > most_noise:
        raise SettingsError(
            f"the machine was busy with other work: one computation took up to {100 * noise:.0f} % longer than before",
            where="calibrate",
            allowed=f"at most {100 * most_noise:.0f} %, on an idle machine",
        )


def step_us(times: Times) -> tuple[Rounds, Rounds]:
    """What a step costs beside its ops: on one device, and with a tensor of a few bytes to another."""
    chain = times[trials.overhead(trials.FEW_OPS)] - trials.FEW_OPS * op_overhead_us(times)
    return _positive(chain), times[trials.sent_at_once(SMALL_BYTES, 1)]


def _positive(times_us: Rounds) -> Rounds:
    return np.maximum(times_us, LEAST_US)


def _rounds(times: Times) -> range:
    return range(len(next(iter(times.values()))))
