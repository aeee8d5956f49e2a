"""Traits: a problem in a few numbers, their ranges in a policy's training, and how far a problem lies outside of these.

A trait above its range is `times` the most that the policy has seen; of one below, the least that the policy has seen
is `times` the trait. A problem is far from the training if one of its traits is more than `FAR_TIMES` outside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.placeto.seeing.features import GroupGraph, longest_ways

FAR_TIMES = 2.0
TRAITS: dict[str, str] = {
    "groups": "groups",
    "devices": "devices",
    "edges_per_group": "edges a group",
    "device_ratio": "times as long on the slowest device as on the fastest",
    "link_ratio": "times as long on the slowest link as on the fastest",
    "computing_per_transfer": "times as long to run a group as to send what it passes on",
    "memory_needed": "of all memory for everything that a step holds",
    "backward_share": "of the work in the backward pass",
    "parallelism": "groups that could run at the same time",
}
"""name → what it counts, in words"""
NAMES: dict[str, str] = {
    "groups": "groups",
    "devices": "devices",
    "edges_per_group": "edges of each group",
    "device_ratio": "time on the slowest device over that on the fastest",
    "link_ratio": "time on the slowest link over that on the fastest",
    "computing_per_transfer": "time to run a group over the time to send its outputs",
    "memory_needed": "share of all memory that a step holds",
    "backward_share": "share of the work in the backward pass",
    "parallelism": "groups that could run at the same time",
}
"""name → what it is, before its values"""
LEAST = 0.01
"""what is smaller counts as this: a share of memory of a thousandth is no other problem than one of a hundredth"""
MOST = 1e6
Ranges = dict[str, tuple[float, float]]
"""name of a trait → its least and its most"""


@dataclass(frozen=True, slots=True)
class Beyond:
    """A trait of a problem that lies outside of its range in the training."""

    trait: str
    value: float
    least: float
    most: float

    @property
    def times(self) -> float:
        """How far it is outside of its range; above 1."""
        return max(self.value / self.most, self.least / self.value)

    @property
    def sentence(self) -> str:
        """The difference in words."""
        name, seen = NAMES[self.trait], _range(self.least, self.most)
        return f"{name[0].upper()}{name[1:]}: {seen} in its training, {_figure(self.value)} here."


def traits_of(graph: GroupGraph) -> dict[str, float]:
    """Each trait of a problem, from `LEAST` to `MOST`."""
    groups, devices = graph.group_count, graph.device_count
    fastest = np.where(graph.allowed, graph.time_us, np.inf).min(axis=1)
    before, after = longest_ways(graph, fastest, np.zeros(len(graph.edge_source)))
    device_us, links = graph.time_us.sum(axis=0), graph.us_per_byte[~np.eye(devices, dtype=bool)]
    sent_us = (graph.edge_bytes.sum() + graph.feedback_bytes.sum()) * graph.mean_us_per_byte
    held = graph.persistent_bytes.sum() + graph.output_bytes.sum()
    values = {
        "groups": groups,
        "devices": devices,
        "edges_per_group": len(graph.edge_source) / groups,
        "device_ratio": _ratio(device_us.max(), device_us.min()),
        "link_ratio": _ratio(links.max(), links.min()) if len(links) else 1.0,
        "computing_per_transfer": _ratio(float(fastest.sum()), sent_us),
        "memory_needed": _ratio(held, graph.memory_bytes.sum()),
        "backward_share": _ratio(graph.backward_us.sum(), graph.time_us.sum()),
        "parallelism": _ratio(float(fastest.sum()), float((before + after).max())),
    }
    return {name: float(np.clip(values[name], LEAST, MOST)) for name in TRAITS}


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else MOST


def widened(ranges: Ranges, traits: Mapping[str, float]) -> Ranges:
    """`ranges` with `traits` inside."""
    return {
        name: (min(value, ranges.get(name, (value,))[0]), max(value, ranges.get(name, (value,))[-1]))
        for name, value in traits.items()
    }


def beyond(ranges: Ranges, traits: Mapping[str, float]) -> list[Beyond]:
    """The traits that lie outside of `ranges`, the furthest first; none for a policy that does not know its ranges."""
    outside = [
        Beyond(name, traits[name], least, most)
        for name, (least, most) in ranges.items()
        if not least <= traits[name] <= most
    ]
    return sorted(outside, key=lambda each: -each.times)


def is_far(outside: list[Beyond]) -> bool:
    """Whether one of them is more than `FAR_TIMES` outside of its range."""
    return any(each.times > FAR_TIMES for each in outside)


def ranges_words(ranges: Mapping[str, Sequence[float]]) -> list[str]:
    """Each range in words, such as `2 to 16 devices`; `ranges` as on a card, perhaps of a version with other traits."""
    return [_range_words(name, *ends) for name, ends in ranges.items() if name in TRAITS]


def _range_words(trait: str, least: float, most: float) -> str:
    return f"{_range(least, most)} {TRAITS[trait]}"


def _range(least: float, most: float) -> str:
    return _figure(least) if least == most else f"{_figure(least)} to {_figure(most)}"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 or value == int(value) else f"{value:.2g}"
