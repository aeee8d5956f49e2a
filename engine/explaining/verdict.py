"""The verdict on a placement: whether splitting the graph pays, by how much, and what holds the step back."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_CHANNELS, Cluster, Contention
from engine.events import Json
from engine.explaining.change import change_sentence
from engine.explaining.model_error import ModelError, error_of
from engine.explaining.trade import Trade, trade_of, trade_sentence
from engine.number_words import LEAST_GAP, bytes_words, counted, part_words, percent_words
from engine.placers.registry import PLACERS
from engine.problem import PlacementProblem
from engine.problem.trivial import one_device_placements
from engine.simulator import Timeline
from engine.simulator.bound import lower_bounds


class VerdictKind(StrEnum):
    """What to do with the graph on this cluster."""

    SPLIT = "split"
    """more than one device: faster by more than the estimate's error, or the graph fits no single device"""
    ONE_DEVICE = "one_device"
    """no placement was found that is faster by more than the estimate's error"""
    INFEASIBLE = "infeasible"
    """no placement was found that fits in memory"""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The device or link that is occupied for the largest part of the step."""

    kind: str
    """`device` or `link`"""
    name: str
    """the device's name; of a link those of its sender and its receiver, of a bus that of its sender"""
    share: float
    """of the step in which it runs ops, rests or sends; of a link, in which it is occupied by transfers"""
    words: str
    """its name for people"""

    def to_json(self) -> dict[str, Json]:
        """The field `bottleneck` of docs/formats/reports.md."""
        return {"kind": self.kind, "name": self.name, "share": self.share}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict, with its figures."""

    kind: VerdictKind
    sentence: str
    """the verdict in words: the only place that makes them"""
    error: ModelError
    one_device_us: float | None
    """the best single device; None where the graph fits none"""
    best_baseline: dict[str, Json] | None
    """{method, step_time_us} of the fastest baseline; None without one"""
    gain: float | None
    """by what part of one device's step the placement's is shorter; negative: longer; None where none fits"""
    gain_low: float | None
    gain_high: float | None
    bottleneck: Bottleneck | None
    """None where nothing runs"""
    trade: Trade
    one_device_trade: Trade | None
    """of the best single device; None where the graph fits none"""
    trade_sentence: str
    """what a split that pays saves, and what it pays for that; where splitting does not pay, what would change that"""

    def to_json(self) -> dict[str, Json]:
        """The field `verdict` of docs/formats.md."""
        bottleneck, alone = self.bottleneck, self.one_device_trade
        return {
            "kind": str(self.kind),
            "sentence": self.sentence,
            "estimate": self.error.kind,
            "one_device_us": self.one_device_us,
            "best_baseline": self.best_baseline,
            "gain": self.gain,
            "gain_low": self.gain_low,
            "gain_high": self.gain_high,
            "bottleneck": None if bottleneck is None else bottleneck.to_json(),
            "trade": self.trade.to_json(),
            "one_device_trade": None if alone is None else alone.to_json(),
            "trade_sentence": self.trade_sentence,
        }


def verdict_of(
    problem: PlacementProblem, placement: NDArray[np.int32], baselines: Mapping[str, float | None], refusal: str = ""
) -> Verdict:
    """The verdict on `placement` [groups], a run's answer, beside one device and `baselines`: method → step time.

    `refusal`: why no placement can fit in memory, where that is known.
    """
    simulator, cluster = problem.simulator, problem.cluster
    timeline = simulator.timeline(placement)
    trade = trade_of(timeline, cluster)
    device_of_op = placement[simulator.group_of_op]
    error = error_of(problem.costs, problem.op_time_us[device_of_op, np.arange(len(device_of_op))])
    alone = _best_one_device(problem)
    one_device_us = None if alone is None else alone.step_time_us
    one_device = None if alone is None else trade_of(alone, cluster)
    gains = gain, low, high = gains_over(timeline.step_time_us, one_device_us, error)
    missing = problem.simulator.evaluate(placement[None, :]).peak_bytes[0] - problem.memory_bytes
    used = len(np.unique(placement))
    kind = kind_of_verdict(used, bool((missing > 0).any()), low, fits_one=one_device_us is not None)
    bottleneck = bottleneck_of(timeline, cluster)
    best_baseline = best_of_baselines(baselines)
    if refusal:
        sentence = f"No placement fits in memory: {refusal}."
    elif kind is VerdictKind.INFEASIBLE:
        needs = shortage_words(missing, cluster)
        sentence = f"No placement was found that fits in memory: the closest needs {needs}."
    elif kind is VerdictKind.SPLIT:
        sentence = _split_sentence(used, gains, error, bottleneck)
    elif cluster.device_count == 1:
        sentence = "The cluster has one device: there is nothing to split over."
    else:
        other = None
        if best_baseline is not None:
            method, step_us = best_baseline
            other = PLACERS[method].label, gains_over(step_us, one_device_us, error)
        sentence = _one_device_sentence(used, gain, other, error)
    return Verdict(
        kind=kind,
        sentence=sentence,
        error=error,
        one_device_us=one_device_us,
        best_baseline=baseline_to_json(best_baseline),
        gain=gain,
        gain_low=low,
        gain_high=high,
        bottleneck=bottleneck,
        trade=trade,
        one_device_trade=one_device,
        trade_sentence=_trade_sentence(problem, kind, trade, alone, one_device),
    )


def best_of_baselines(baselines: Mapping[str, float | None]) -> tuple[str, float] | None:
    """The method with the least time of `baselines`, method → time in µs, and its time; None without any."""
    known = [(time_us, method) for method, time_us in baselines.items() if time_us is not None]
    time_us, method = min(known, key=lambda pair: pair[0], default=(0.0, ""))
    return (method, time_us) if known else None


def baseline_to_json(best: tuple[str, float] | None) -> dict[str, Json] | None:
    """The field `best_baseline` of docs/formats/reports.md."""
    return None if best is None else {"method": best[0], "step_time_us": best[1]}


def _trade_sentence(
    problem: PlacementProblem, kind: VerdictKind, trade: Trade, alone: Timeline | None, one_device: Trade | None
) -> str:
    if alone is None or one_device is None:
        return ""
    if kind is VerdictKind.SPLIT:
        return trade_sentence(trade, one_device)
    if kind is VerdictKind.INFEASIBLE or problem.cluster.device_count == 1:
        return ""
    path_us = lower_bounds(problem.graph, problem.costs, problem.cluster).path_us
    return change_sentence(alone.step_time_us, float(alone.rest_us.sum()), path_us)


def _best_one_device(problem: PlacementProblem) -> Timeline | None:
    """The step on the best single device; None where the graph fits none. Charged to no budget."""
    placements = one_device_placements(problem)
    evaluations = problem.simulator.evaluate(placements)
    fitting = np.flatnonzero(problem.feasible(evaluations))
    if not len(fitting):
        return None
    return problem.simulator.timeline(placements[fitting[evaluations.step_time_us[fitting].argmin()]])


def kind_of_verdict(used: int, lacks_memory: bool, gain_low: float | None, *, fits_one: bool) -> VerdictKind:
    """The kind for a placement on `used` devices whose gain over one device is at least `gain_low`."""
    if lacks_memory:
        return VerdictKind.INFEASIBLE
    if used == 1 or (fits_one and (gain_low is None or gain_low < LEAST_GAP)):
        return VerdictKind.ONE_DEVICE
    return VerdictKind.SPLIT


def bottleneck_of(timeline: Timeline, cluster: Cluster) -> Bottleneck | None:
    """The most occupied device or link of a step; None for a step without time."""
    if timeline.step_time_us <= 0:
        return None
    occupied_us = timeline.busy_us + timeline.rest_us + timeline.sending_us
    device = int(occupied_us.argmax())
    its = cluster.devices[device]
    share = min(1.0, float(occupied_us[device] / timeline.step_time_us))
    found = Bottleneck("device", its.name, share, its.short_name)
    link = _busiest_link(timeline, cluster)
    return link if link is not None and link.share > found.share else found


def _busiest_link(timeline: Timeline, cluster: Cluster) -> Bottleneck | None:
    """None where transfers do not wait for each other, or there are none."""
    transfers = timeline.transfers
    if cluster.contention in NO_CHANNELS or not len(transfers):
        return None
    channels, index = np.unique(transfers.channel, return_inverse=True)
    until_us = np.minimum(timeline.free_us[len(timeline.last_input) :], timeline.step_time_us)
    occupied_us = np.bincount(index, until_us - transfers.start_us, len(channels))
    busiest = int(occupied_us.argmax())
    transfer = int(np.flatnonzero(index == busiest)[0])
    share = min(1.0, float(occupied_us[busiest] / timeline.step_time_us))
    receiver = int(transfers.destinations[transfers.destination_offset[transfer]])
    return link_bottleneck(cluster, int(transfers.source[transfer]), receiver, share)


def link_bottleneck(cluster: Cluster, source: int, target: int, share: float) -> Bottleneck:
    """The bus of the device `source`, or its link to the device `target`, as the bottleneck."""
    sender, receiver = cluster.devices[source], cluster.devices[target]
    if cluster.contention is Contention.BUS:
        return Bottleneck("link", sender.name, share, f"the outgoing bus of {sender.short_name}")
    words = f"the link from {sender.short_name} to {receiver.short_name}"
    return Bottleneck("link", f"{sender.name} {receiver.name}", share, words)


GainWithInterval = tuple[float | None, float | None, float | None]
"""gain, low, high"""


def gains_over(step_time_us: float, one_device_us: float | None, error: ModelError) -> GainWithInterval:
    """The gain of a step over one device, with its interval; None where the graph fits no device, or takes no time."""
    if not one_device_us:
        return None, None, None
    ratio = step_time_us / one_device_us
    return 1 - ratio, 1 - ratio * error.greatest, 1 - ratio * error.least


def _split_sentence(used: int, gains: GainWithInterval, error: ModelError, bottleneck: Bottleneck | None) -> str:
    holds = ""
    if bottleneck is not None:
        holds = f"; {bottleneck.words} is the bottleneck, busy {part_words(bottleneck.share)} of the step"
    return f"Split over {counted(used, 'device')}: {_gain_words(gains, error)}{holds}."


def _one_device_sentence(
    used: int, gain: float | None, other: tuple[str, GainWithInterval] | None, error: ModelError
) -> str:
    """`other`: label and gains of the fastest baseline, which may be faster than the answer of a weak method."""
    name, gains = other or ("", (None, None, None))
    its_gain, its_low, _ = gains
    if its_gain is not None and its_low is not None and its_gain > (gain or 0.0) and its_low >= LEAST_GAP:
        return f"The baseline {name} is {_gain_words(gains, error)}; this run found nothing as fast."
    if gain is not None and gain <= -LEAST_GAP:
        if used == 1:
            return f"All ops are on one device, {percent_words(-gain)} slower than on the best one."
        return f"Splitting does not pay here: this placement is {percent_words(-gain)} slower than one device."
    most = max(gain or 0.0, its_gain or 0.0)
    if most < LEAST_GAP:
        return "Splitting does not pay here: no placement was found that is faster than one device."
    return f"Splitting does not pay here: {percent_words(most)} is within the error of the estimate."


def _gain_words(gains: GainWithInterval, error: ModelError) -> str:
    gain, low, high = gains
    if gain is None or low is None or high is None:
        return "the graph fits on no single device"
    words = f"{percent_words(gain)} faster than one device"
    if error.is_exact:
        return f"{words} by the times that the file gives"
    return f"{words} ({percent_words(low).removesuffix(' %')} to {percent_words(high)})"


def shortage_words(missing: NDArray[np.int64], cluster: Cluster) -> str:
    """What a placement misses: `2.34 GiB more than the 1.00 GiB of GPU 0`; `missing` [devices] bytes."""
    worst = int(np.argmax(missing))
    device = cluster.devices[worst]
    more = bytes_words(int(missing[worst]))
    room = f"{bytes_words(device.usable_bytes)} of {device.short_name}"
    if device.reserved_bytes:
        room += f", which has {bytes_words(device.memory_bytes)} with {bytes_words(device.reserved_bytes)} reserved"
    return f"{more} more than the {room}"
