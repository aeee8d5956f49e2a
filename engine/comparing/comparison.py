"""Runs methods × seeds in child processes on all cores; it stores finished runs, and a second call continues."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from engine.clusters.cluster import Cluster
from engine.comparing.child import outcome_in_child
from engine.comparing.grid import GoOn, fill
from engine.comparing.listener import SINGLE_DEVICE
from engine.comparing.outcome import Outcome
from engine.comparing.work_folder import WorkFolder, made_work_folder
from engine.errors import PlacetoError, SettingsError
from engine.events import Json
from engine.graphs.constraints import Constraints
from engine.placers.registry import PLACERS, make_placer, policy_takers
from engine.prepared import PreparedGraph
from engine.problem import Budget
from engine.run.problem import require_placeable
from engine.run.request import GivenPolicy, RunRequest, require_apart, require_contiguous
from engine.search.preference import Preference
from engine.simulator.streams.stream import Stream

MOST_SEEDS = 1000


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """The methods, seeds, cluster and budget of a comparison."""

    cluster: Cluster
    methods: tuple[str, ...]
    budget: Budget
    """budget of each method and seed"""
    seeds: int
    """each method runs with the seeds 0 to `seeds` − 1, a deterministic one with seed 0 only"""
    settings: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """settings of each method, over its defaults"""
    drop_devices: bool = False
    """whether to ignore the devices that the file fixes"""
    policy: GivenPolicy | None = None
    """a trained policy, given to the methods that take one"""
    prefer: Preference = field(default_factory=Preference)
    """how much slower the simplest placement of a row may be than the row's own"""
    stream: Stream | None = None
    """the stream of micro-batches whose throughput is compared; None: step times are"""
    constraints: Constraints = field(default_factory=Constraints)
    """rules that all placements keep, beside those of the graph's file"""

    def __post_init__(self) -> None:
        if not 1 <= self.seeds <= MOST_SEEDS:
            raise SettingsError(f"{self.seeds}", where="seeds", allowed=f"1 to {MOST_SEEDS}", field="seeds")
        if not self.methods:
            raise SettingsError("no method is given", where="methods", allowed="at least one method", field="methods")
        policy = None if self.policy is None else self.policy.trained
        for method in self.methods:
            if self.methods.count(method) > 1:
                what = f"{method} is listed twice"
                raise SettingsError(what, where="methods", allowed="each method once", field="methods")
            taken = policy if self.takes_policy(method) else None
            make_placer(method, self.settings.get(method, {}), taken)  # refuses wrong settings before any work
            require_contiguous(method, self.stream)
            require_apart(method, self.constraints)
        for method in self.settings:
            if method not in self.methods:
                allowed = ", ".join(self.methods)
                raise SettingsError(f"{method} is not compared", where="settings", allowed=allowed, field="settings")

        if policy is not None and not any(map(self.takes_policy, self.methods)):
            allowed = f"one of the methods {', '.join(policy_takers())} among those compared"
            raise SettingsError("no method takes it", where="policy", allowed=allowed, field="policy")

    def takes_policy(self, method: str) -> bool:
        """Whether `method` begins from `policy`."""
        return self.policy is not None and PLACERS[method].takes_policy

    def run_request(self, method: str, seed: int) -> RunRequest:
        """The request of one run of the comparison, which compares with one device alone."""
        return RunRequest(
            self.cluster,
            method,
            self.budget,
            seed,
            self.settings.get(method, {}),
            self.drop_devices,
            (SINGLE_DEVICE,),
            self.policy if self.takes_policy(method) else None,
            robustness=False,
            prefer=self.prefer,
            stream=self.stream,
            constraints=self.constraints,
        )

    def members(self) -> list[tuple[str, int]]:
        """The pairs of method and seed, the methods in their order; a deterministic method has one seed."""
        return [
            (method, seed)
            for method in self.methods
            for seed in range(1 if PLACERS[method].deterministic else self.seeds)
        ]


@dataclass(slots=True)
class Standing:
    """The progress of a comparison."""

    done: int
    total: int
    running: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """method and seed → evaluations used, evaluations in the budget"""


ReportStanding: TypeAlias = Callable[[Standing], None]
"""called when a run ends and from time to time before, never twice at once"""


class Comparison:
    """Carries out one `ComparisonRequest`; `execute` may be called once."""

    def __init__(
        self,
        prepared: PreparedGraph,
        request: ComparisonRequest,
        folder: Path,
        report_standing: ReportStanding,
        processes: int = 0,
    ) -> None:
        """`processes` run at once; 0: one a core.

        Raises GraphError for a graph that no method could place, SettingsError for constraints that cannot be kept.
        """
        self._request, self._report_standing = request, report_standing
        require_placeable(prepared, request.cluster, drop_devices=request.drop_devices, constraints=request.constraints)
        for method in request.methods:
            require_apart(method, Constraints.of_lines(prepared.graph.constraints))
        self._processes = processes or os.cpu_count() or 1
        self._work: WorkFolder = made_work_folder(folder)
        self._graph = self._work.keep_graph(prepared.to_bytes())
        self._policy = None if request.policy is None else self._work.keep_policy(request.policy)
        self._standing = Standing(0, len(request.members()))
        self._guard = threading.Lock()
        """guards `_standing` and `_report_standing`"""

    def execute(self) -> list[Outcome]:
        """Run what is missing and return all outcomes, in the order of `ComparisonRequest.members`."""
        keys = {
            member: self._work.key(self._graph, self._request.run_request(*member))
            for member in self._request.members()
        }
        self._standing.done = sum(key in self._work for key in keys.values())
        outcomes = fill(keys, self._work, self._carry_out, self._processes, instead=self._failed)
        return list(outcomes.values())

    def _carry_out(self, members: Sequence[tuple[str, int]], go_on: GoOn) -> Iterator[Outcome]:
        for method, seed in members:
            request = self._request.run_request(method, seed)

            def report_progress(_stage: str, done: int, total: int, member: tuple[str, int] = (method, seed)) -> None:
                go_on()
                with self._guard:
                    self._standing.running[member] = (done, total)
                    self._report_standing(self._standing)

            report_progress(method, 0, request.budget.evaluations)
            policy = self._policy if request.policy else None
            yield outcome_in_child(self._graph, request, policy, report_progress)
            self._note_end((method, seed))

    def _failed(self, member: tuple[str, int], error: PlacetoError) -> Outcome:
        """The outcome of a run whose child crashed or ran out of memory or time."""
        self._note_end(member)
        method, seed = member
        return Outcome(method, seed, reason=str(error))

    def _note_end(self, member: tuple[str, int]) -> None:
        with self._guard:
            del self._standing.running[member]
            self._standing.done += 1
            self._report_standing(self._standing)
