"""Which members, ops or groups, must not share a device: a rule has parts, and no device has members of two parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import InfeasibleError

NO_PART = -1
NEAR_STEPS, MOST_STEPS = 2, 200_000
"""devices tried for each member to stay near a placement, and in all, until it is given up"""


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """The members of all rules, rule by rule. Arrays are read-only."""

    rule: NDArray[np.int32]
    """[members]"""
    part: NDArray[np.int32]
    """[members] the part of its rule to which each belongs"""
    member: NDArray[np.int32]
    """[members] the number of the op or group"""

    @staticmethod
    def of(rules: Sequence[Sequence[NDArray[np.integer]]]) -> "Apart":
        """`rules`: the members of each part of each."""
        rows = [
            np.stack((np.full(len(members), rule), np.full(len(members), part), members))
            for rule, parts in enumerate(rules)
            for part, members in enumerate(parts)
        ]
        joined = np.concatenate(rows, axis=1) if rows else np.empty((3, 0))
        return Apart(*joined.astype(np.int32))

    def __post_init__(self) -> None:
        for array in (self.rule, self.part, self.member):
            array.setflags(write=False)

    def __bool__(self) -> bool:
        """Whether there are rules."""
        return len(self.rule) > 0

    def of_groups(self, group_of_member: NDArray[np.integer]) -> "Apart":
        """The same rules for the groups that hold the members, `group_of_member` [numbers of members]."""
        if not self:
            return self
        rows = np.stack((self.rule, self.part, group_of_member[self.member]), axis=1)
        return Apart(*(np.ascontiguousarray(row) for row in np.unique(rows, axis=0).T.astype(np.int32)))

    def clashes(self, class_of_member: NDArray[np.integer]) -> Iterator[tuple[int, int, int]]:
        """Rule and two members of different parts of it, for those that are of one class [numbers of members]."""
        first: dict[tuple[int, int], tuple[int, int]] = {}
        classes = class_of_member[self.member].tolist()
        for rule, part, member, its in zip(
            self.rule.tolist(), self.part.tolist(), self.member.tolist(), classes, strict=True
        ):
            known_part, known = first.setdefault((rule, its), (part, member))
            if known_part != part:
                yield rule, known, member

    def keeps(self, placements: NDArray[np.integer], devices: int) -> NDArray[np.bool_]:
        """[batch] whether each of `placements` [batch, members] obeys all rules."""
        if not self:
            return np.ones(len(placements), dtype=bool)
        shape = (len(placements), int(self.rule.max()) + 1, devices)
        place = np.arange(len(placements))[:, None], self.rule[None, :], placements[:, self.member]
        least, most = np.full(shape, np.iinfo(np.int32).max, dtype=np.int32), np.full(shape, NO_PART, dtype=np.int32)
        parts = np.broadcast_to(self.part, place[2].shape)
        np.minimum.at(least, place, parts)
        np.maximum.at(most, place, parts)
        return np.asarray(((most == NO_PART) | (least == most)).all(axis=(1, 2)))

    def kept(
        self, placement: NDArray[np.integer], allowed: NDArray[np.bool_], order: Sequence[int]
    ) -> NDArray[np.int32]:
        """[numbers of members] a placement near `placement` that obeys all rules; itself, if it does.

        Members go to devices where they may be by `allowed` [numbers of members, devices], their own first, then in
        `order`. Raises InfeasibleError where no such placement exists, or the search for one takes too long.
        """
        found = np.array(placement, dtype=np.int32)
        if self:
            search = _Keeping(self, found, allowed, order)
            members, devices = search.found()
            found[members] = devices
        return found

    def in_turn(self, allowed: NDArray[np.bool_], order: Sequence[int]) -> NDArray[np.int32] | None:
        """[numbers of members] a placement of everything, number by number, on the devices of `order`: on the first as
        long as it may be there by `allowed` [numbers of members, devices] and the rules, then on the next, and so on.

        None where the devices do not suffice.
        """
        parts = self._parts_of_members()
        owner: dict[tuple[int, int], int] = {}
        found, left = np.empty(len(allowed), dtype=np.int32), list(order)
        for number in range(len(allowed)):
            its = parts.get(number, [])
            while left and not (
                allowed[number, left[0]] and all(owner.get((rule, left[0]), part) == part for rule, part in its)
            ):
                del left[0]
            if not left:
                return None
            found[number] = left[0]
            owner.update(((rule, left[0]), part) for rule, part in its)
        return found

    def _parts_of_members(self) -> dict[int, list[tuple[int, int]]]:
        """Member → the rules and their parts to which it belongs."""
        parts: dict[int, list[tuple[int, int]]] = {}
        for rule, part, member in zip(self.rule.tolist(), self.part.tolist(), self.member.tolist(), strict=True):
            parts.setdefault(member, []).append((rule, part))
        return parts


class _Keeping:
    """A search, member by member, for devices that obey the rules."""

    def __init__(
        self, apart: Apart, placement: NDArray[np.int32], allowed: NDArray[np.bool_], order: Sequence[int]
    ) -> None:
        numbers = np.unique(apart.member)
        few_first = np.argsort(allowed[numbers].sum(axis=1), kind="stable")
        self._members: list[int] = numbers[few_first].tolist()
        self._parts = apart._parts_of_members()
        self._devices = {
            member: [device for device in dict.fromkeys([int(placement[member]), *order]) if allowed[member, device]]
            for member in self._members
        }

    def found(self) -> tuple[list[int], list[int]]:
        """The members and their devices. Raises InfeasibleError."""
        near = self._searched(NEAR_STEPS * len(self._members) * max(map(len, self._devices.values())), gathers=False)
        devices = near or self._searched(MOST_STEPS, gathers=True)
        if devices is None:
            raise InfeasibleError(
                "no placement was found that keeps apart what the constraints say",
                advice="use more devices, or fewer constraints",
            )
        return self._members, devices

    def _searched(self, steps: int, *, gathers: bool) -> list[int] | None:
        """[members] devices; None where there are none, or more `steps` are needed. `gathers`: a part's members go to a
        device that the part has before they go to their own."""
        owner: dict[tuple[int, int], tuple[int, int]] = {}
        """rule and device → part, number of its members there"""
        chosen: list[int] = []
        choices = [iter(self._choices(0, owner, gathers=gathers))]
        while len(chosen) < len(self._members):
            steps -= 1
            device = next(choices[-1], None)
            if steps < 0:
                return None
            if device is not None:
                self._put(len(chosen), device, owner)
                chosen.append(device)
                if len(chosen) < len(self._members):
                    choices.append(iter(self._choices(len(chosen), owner, gathers=gathers)))
                continue
            choices.pop()
            if not choices:
                return None
            self._take_back(len(chosen) - 1, chosen.pop(), owner)
        return chosen

    def _choices(self, index: int, owner: dict[tuple[int, int], tuple[int, int]], *, gathers: bool) -> list[int]:
        """The devices where a member may be beside those that are placed."""
        member = self._members[index]
        parts = self._parts[member]
        open_devices = [
            device
            for device in self._devices[member]
            if all(owner.get((rule, device), (part, 0))[0] == part for rule, part in parts)
        ]
        if gathers:
            open_devices.sort(key=lambda device: -sum((rule, device) in owner for rule, _ in parts))
        return open_devices

    def _put(self, index: int, device: int, owner: dict[tuple[int, int], tuple[int, int]]) -> None:
        for rule, part in self._parts[self._members[index]]:
            owner[rule, device] = part, owner.get((rule, device), (part, 0))[1] + 1

    def _take_back(self, index: int, device: int, owner: dict[tuple[int, int], tuple[int, int]]) -> None:
        for rule, part in self._parts[self._members[index]]:
            count = owner[rule, device][1] - 1
            owner[rule, device] = part, count
            if count == 0:
                del owner[rule, device]


NOTHING_APART = Apart.of([])
