"""The third step of grouping: merge the group with the smallest cost into a neighbour, again and again.

Source: R. Addanki et al., Placeto, NeurIPS 2019, appendix on grouping. A `MergingRule` (rules.py) says what a group
costs, and which neighbour it belongs to. These choices, which the source leaves open, keep groups light enough to be
worth moving; `published` has no bound, so it has only the first of them, and the last for groups without a neighbour:

- Of the neighbours only those count that may be merged with the group: `Contraction.merged_position` checks on their
  neighbours that the group graph stays acyclic.
- A bound limits the weight of a group without its heaviest node. It starts at an equal share of the work and doubles
  only when no more groups can be merged within it.
- Groups with hardly any work (a variable, a cast) are merged first, whatever their bytes: alone on a device they only
  cost transfers.
- Where all neighbours are too heavy, or there are none (isolated ops, leaves of a star), groups that depend on the same
  group are collected into one. So are constants with many consumers.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.graphs.grouping.contraction import Contraction
from engine.graphs.grouping.joining import added_weight
from engine.graphs.grouping.rules import MergingRule

NEIGHBOURS_TRIED = 32
MOST_NEIGHBOURS = 24
"""neighbours of a group that may look for a partner; a group with more (a learning rate) would draw all into one"""
NEGLIGIBLE_PART = 32
"""a group that weighs less than this part of an equal share has hardly any work"""
MOST_LEFT_BY_MATCHING = 0.9
"""largest share of the groups left by a round of matching after which another follows within the same bound"""
DOUBLINGS_BEFORE_COLLECTING = 2
"""doublings with neighbours alone merged, until the bound is four equal shares"""


class WeightBound(NamedTuple):
    """The weights that may be merged in one round."""

    group_weight: int
    """largest weight of a group that looks for a partner"""
    added_weight: int
    """largest weight of the merged group without its heaviest node"""
    collects: bool = False
    """whether groups without a partner are collected"""
    apart: bool = False
    """whether groups that could run side by side stay apart"""


def merge(
    contraction: Contraction, groups: int, threshold_bytes: int | None, equal_share: int, rule: MergingRule
) -> None:
    """Merge by `rule` until `groups` remain, or until no group below `threshold_bytes` can be merged.

    More remain only where sites keep groups apart. `equal_share` is the weight that each of `groups` equal groups would
    have.
    """
    if rule.bounds_weight:
        _collect_constants(contraction, groups, equal_share // NEGLIGIBLE_PART)
    for bound in _bounds(contraction.total_weight, equal_share, rule):
        repeats = True
        while repeats and contraction.count > groups:
            before = contraction.count
            _Round(contraction, groups, threshold_bytes, bound, rule).run()
            repeats = rule.matches and contraction.count <= MOST_LEFT_BY_MATCHING * before


def _bounds(total: int, equal_share: int, rule: MergingRule) -> Iterator[WeightBound]:
    """The bound of each round; in the last one everything is light enough."""
    most_weight = total
    if rule.bounds_weight:
        most_weight = max(equal_share, 1)
        yield WeightBound(equal_share // NEGLIGIBLE_PART, equal_share)
        for apart in (True, False) if rule.keeps_branches else (False,):
            for doubling in range(DOUBLINGS_BEFORE_COLLECTING + 1):
                yield WeightBound(total, equal_share << doubling, apart=apart)
    while most_weight < total:
        yield WeightBound(total, most_weight, collects=True)
        most_weight *= 2
    yield WeightBound(total, total, collects=True)


def _collect_constants(contraction: Contraction, groups: int, negligible: int) -> None:
    """Merge, site by site, groups with no input, hardly any weight and many consumers, such as a learning rate."""
    opened: dict[int, int] = {}
    for group in contraction.groups():
        is_constant = not contraction.predecessors[group] and contraction.weight[group] <= negligible
        if is_constant and len(contraction.successors[group]) > MOST_NEIGHBOURS and contraction.count > groups:
            first = opened.setdefault(contraction.site[group], group)
            if first != group:
                opened[contraction.site[group]] = contraction.merge(first, group, contraction.position[first])


@dataclass(slots=True)
class _Round:
    """One walk over the groups, cheapest first, within one bound."""

    contraction: Contraction
    groups: int
    threshold_bytes: int | None
    bound: WeightBound
    rule: MergingRule
    collected: dict[tuple[int, int | None, int | None], int] = field(default_factory=dict)
    """(site, latest predecessor, earliest successor or None) → the group into which such groups are collected"""
    matched: set[int] = field(default_factory=set)
    """groups that are merged no more in this round"""

    def run(self) -> None:
        contraction = self.contraction
        heap = [self._entry(group) for group in contraction.groups()]
        heapq.heapify(heap)
        while heap and contraction.count > self.groups:
            entry = heapq.heappop(heap)
            group = entry[-1]
            if contraction.group_of(group) != group or group in self.matched or entry != self._entry(group):
                continue  # merged since
            if self.threshold_bytes is not None and contraction.output_bytes[group] >= self.threshold_bytes:
                continue
            is_heavy = contraction.weight[group] > self.bound.group_weight
            partner = None if is_heavy or self._is_hub(group) else self._partner(group)
            if partner is not None:
                merged = contraction.merge(group, *partner)
                if self.rule.matches:
                    self.matched.add(merged)
                else:
                    heapq.heappush(heap, self._entry(merged))

    def _is_hub(self, group: int) -> bool:
        """Whether the group has too many neighbours to look for a partner in this round."""
        contraction = self.contraction
        degree = len(contraction.successors[group]) + len(contraction.predecessors[group])
        return not self.bound.collects and degree > MOST_NEIGHBOURS

    def _entry(self, group: int) -> tuple[float, int, int, int]:
        """The group's key in the heap: least cost first, then fewest ops, then lowest position."""
        contraction = self.contraction
        return self.rule.cost(contraction, group), contraction.ops[group], contraction.position[group], group

    def _partner(self, group: int) -> tuple[int, int] | None:
        """The group to merge `group` with, and the position of the merged group."""
        contraction = self.contraction
        for other in self._closest(group):
            position = contraction.merged_position(group, other)
            if position is not None:
                return other, position
        for next_to in (contraction.earliest_successor(group), contraction.latest_predecessor(group)):
            if next_to is not None and self._fits(group, next_to):
                return next_to, contraction.position[next_to]
        isolated = not contraction.predecessors[group] and not contraction.successors[group]
        return self._collector(group) if self.bound.collects or isolated else None

    def _fits(self, group: int, other: int) -> bool:
        contraction = self.contraction
        if contraction.site[group] != contraction.site[other] or other in self.matched:
            return False
        if self.bound.apart and contraction.side_by_side(group, other):
            return False
        return added_weight(contraction, group, other) <= self.bound.added_weight

    def _closest(self, group: int) -> list[int]:
        """The neighbours with the most affinity to `group`; of equals the lightest, then the first."""
        contraction = self.contraction
        shared = contraction.predecessors[group] | contraction.successors[group]
        affinity = self.rule.affinity
        fitting = (other for other in shared if self._fits(group, other))
        return heapq.nsmallest(
            NEIGHBOURS_TRIED,
            fitting,
            key=lambda other: (
                -affinity(contraction, group, other, shared[other]),
                contraction.weight[other],
                contraction.position[other],
            ),
        )

    def _collector(self, group: int) -> tuple[int, int] | None:
        """The group that collects those with the neighbour of `group`, and the merged position; else None.

        After None `group` itself collects the next such groups.
        """
        contraction = self.contraction
        before = contraction.latest_predecessor(group)
        after = contraction.earliest_successor(group) if before is None else None
        key = (contraction.site[group], before, after)
        opened = self.collected.get(key)
        other = group if opened is None else contraction.group_of(opened)
        if other != group and self._fits(group, other):
            position = contraction.merged_position(group, other)
            if position is not None:
                return other, position
        self.collected[key] = group
        return None
