"""A simulated-annealing search that runs chunk by chunk and can go on from a saved state."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.files.archive import pack, unpack
from engine.problem import ChunkBest, PlacementProblem
from engine.search.annealing import WALK, Walk, anneal
from engine.search.chunk_result import chunk_best, new_chunk_result
from engine.search.few_devices import FEW_DEVICES
from engine.search.levels import level_shares, searched
from engine.search.moves import KINDS, Trial
from engine.search.neighbourhood import make_neighbourhood
from engine.search.random_numbers import new_random_state
from engine.simulator.records import records_of

SHARES = (1.0, 1.0, 3.0, 4.0, 1.0, 1.0, 8.0, 2.0, 5.0)
"""relative frequency of each kind of move, in the order of `moves.py`"""


SHORTEST_US = 1e-9
"""least heat, and least step time for the price: both must be above 0 even where nothing takes time"""
GROUPS_OF_A_CYCLE = 512
"""of the level whose moves are the unit of a cycle's length"""


class Annealer:
    """One walk over the placements of a problem."""

    def __init__(self, problem: PlacementProblem, rng: np.random.Generator, *, through_levels: bool = True) -> None:
        """A walk that moves groups of the problem and of its coarser levels, or of one level alone: see `searched`."""
        assert len(SHARES) == KINDS
        groups, ops = problem.group_count, problem.graph.op_count
        self._problem = problem
        self._neighbourhood = make_neighbourhood(problem, searched(problem, through_levels=through_levels))
        self._scratch, self._found = problem.simulator.new_scratch(), new_chunk_result(groups)
        self._walk = Walk(
            numbers=records_of(1, WALK),
            trial=Trial(
                placement=np.zeros(groups, np.int32),
                moved=np.zeros(groups, np.int32),
                chain=np.zeros(ops, np.int32),
                chain_length=np.zeros(1, np.int64),
                random=new_random_state(rng),
                region=np.zeros(groups, np.int32),
                choices=np.zeros(problem.device_count, np.bool_),
                is_in_use=np.zeros(problem.device_count, np.bool_),
                is_offered=np.zeros((2, problem.device_count), np.bool_),
                is_open=np.ones(problem.device_count, np.bool_),
                stretch=np.zeros(ops, np.int32),
                whole=np.zeros(1, np.bool_),
            ),
            before=np.zeros(ops, np.int32),
            shares=np.cumsum(SHARES),
            level_shares=np.ones(self._neighbourhood.levels),
        )

    @property
    def placement(self) -> NDArray[np.int32]:
        """[groups] the walk's current placement."""
        return self._walk.trial.placement

    @property
    def moves(self) -> int:
        """The number of moves of a single group: over all groups, the other devices where each may go.

        With levels it is that of the one with about `GROUPS_OF_A_CYCLE`: a search never tries all moves of single ops.
        A group has at most so many as on `FEW_DEVICES`: a search begins on those.
        """
        neighbourhood = self._neighbourhood
        level = int(np.abs(np.log(np.diff(neighbourhood.first_group) / GROUPS_OF_A_CYCLE)).argmin())
        groups = neighbourhood.movable[neighbourhood.first_movable[level] : neighbourhood.first_movable[level + 1]]
        unit = neighbourhood.members[neighbourhood.first_member[groups]]
        return int(np.clip(neighbourhood.allowed[unit].sum(axis=1) - 1, 0, FEW_DEVICES - 1).sum())

    def open(self, devices: NDArray[np.integer]) -> None:
        """Let moves choose only `devices` and those in use."""
        self._walk.trial.is_open[:] = False
        self._walk.trial.is_open[devices] = True

    def go_to(self, placement: NDArray[np.int32], step_time_us: float) -> None:
        """Restart the walk at `placement`, which is evaluated next.

        A missing byte is priced as if the largest device's memory cost `step_time_us`.
        """
        now = self._walk.numbers[0]
        now.fresh = True
        now.price_us = now.least_price_us = max(step_time_us, SHORTEST_US) / float(self._problem.memory_bytes.max())
        self._walk.trial.placement[:] = placement
        self._walk.trial.chain_length[0] = 0

    def never_stop(self) -> None:
        """Make every evaluation to its end from now on, to compare: the walk and its bests stay the same."""
        self._walk.numbers[0].never_stops = True

    def evaluate(self, count: int, first_heat_us: float, last_heat_us: float, share: float = 1.0) -> ChunkBest:
        """Make `count` evaluations while the heat falls from the first to the last; returns the chunk's best.

        `share` of the cycle is over: it decides the levels of the moves.
        """
        self._walk.level_shares[:] = level_shares(self._neighbourhood.levels, share)
        last_heat_us, first_heat_us = max(last_heat_us, SHORTEST_US), max(first_heat_us, SHORTEST_US)
        assert last_heat_us <= first_heat_us < math.inf
        tables = self._problem.simulator.tables
        anneal(tables, self._scratch, self._neighbourhood, self._walk, self._found, count, first_heat_us, last_heat_us)
        return dataclasses.replace(chunk_best(self._found), level_groups=self._level_groups(share))

    def _level_groups(self, share: float) -> int:
        """The number of groups of the level where most moves are when `share` of a cycle is over."""
        frequencies = np.diff(level_shares(self._neighbourhood.levels, share), prepend=0.0)
        level = int(frequencies.argmax())
        return int(np.diff(self._neighbourhood.first_group)[level])

    def state(self, texts: dict[str, Json]) -> bytes:
        """Everything that the next chunk depends on, and `texts` of the caller, packed as bytes."""
        trial = self._walk.trial
        arrays: dict[str, NDArray[np.generic]] = {
            "placement": trial.placement,
            "chain": trial.chain[: trial.chain_length[0]],
            "random": trial.random,
            "open": np.flatnonzero(trial.is_open),
        }
        now = self._walk.numbers[0]
        numbers: dict[str, Json] = {name: now[name].item() for name in WALK.names or ()}
        return pack(arrays, {"walk": numbers, "owner": texts})

    def restore(self, state: bytes) -> dict[str, Json]:
        """Set the walk to `state`; returns the caller's texts."""
        arrays, texts = unpack(state)
        trial, chain = self._walk.trial, arrays["chain"]
        trial.placement[:], trial.random[:] = arrays["placement"], arrays["random"]
        self.open(arrays["open"].astype(np.int64))
        trial.chain[: len(chain)], trial.chain_length[0] = chain, len(chain)
        numbers, owner = texts["walk"], texts["owner"]
        assert isinstance(numbers, dict) and isinstance(owner, dict)
        for name, value in numbers.items():
            self._walk.numbers[0][name] = value
        return owner
