"""One run of a method on a problem with a budget: its improvements as they came, and what is kept of them.

Seconds are those of this process's time, all of its threads together. A run with a budget of seconds counts what it
found until then, with `GRACE` for the end of a piece of work. A method that ends by itself before its evaluations are
spent gets no run with seconds: its improvements say what it had by then.
"""

import hashlib
import time
import zlib
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import InfeasibleError, PlacetoError, SettingsError, shortened
from engine.events import Episode, FromPlacer, Json
from engine.placers.placer import Placer
from engine.placers.registry import PLACERS, make_placer, settings_of
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem, RunContext
from experiments.benchmark.own_method import OwnMethod, OwnMethodError
from experiments.grid import Measurement

GRACE = 0.05
"""share of the seconds by which an improvement may be late"""
WARM_UP = Budget(10, 1.0)
"""of a method's first run in a process, whose seconds would otherwise go into loading compiled code"""
WITHOUT_EVALUATIONS = ("milp",)
"""methods that spend their time on something else than evaluations, and so are compared in seconds alone"""
WITH = "+"
"""between a method and the policy that it begins from"""
FILE_DIGITS = 12
DIGITS = 9
"""of the times that are kept"""
Improvement = tuple[int, float, float]
"""evaluations, seconds, and step time or period in µs"""


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file that somebody gave, such as a trained policy."""

    name: str
    """without its folder"""
    content: bytes

    @staticmethod
    def read(path: Path) -> "GivenFile":
        """The file at `path`. Raises SettingsError where there is none."""
        if not path.is_file():
            raise SettingsError("there is no such file", where=shortened(str(path)), field="policy")
        return GivenFile(path.name, path.read_bytes())

    @property
    def digest(self) -> str:
        """Digits that differ where the content does."""
        return hashlib.sha256(self.content).hexdigest()[:FILE_DIGITS]


@dataclass(frozen=True, slots=True)
class BenchmarkMethod:
    """A method of the registry, perhaps with a trained policy, or one of somebody's own."""

    base: str
    """the registry's name, or that of one's own method"""
    own: OwnMethod | None = None
    policy: GivenFile | None = None

    @property
    def name(self) -> str:
        """In keys and tables."""
        return self.base if self.policy is None else f"{self.base}{WITH}{self.policy.name}"

    @property
    def label(self) -> str:
        """For people."""
        label = PLACERS[self.base].label if self.own is None else self.base
        return label if self.policy is None else f"{label} with {self.policy.name}"

    @property
    def kind(self) -> str:
        """That of the registry, or `own`."""
        return PLACERS[self.base].kind if self.own is None else "own"

    @property
    def deterministic(self) -> bool:
        """Whether every seed gives the same placements."""
        return self.own is None and PLACERS[self.base].deterministic

    def make(self) -> Placer:
        """A placer with its default settings. Raises SettingsError."""
        if self.own is not None:
            return self.own.make()
        policy = None if self.policy is None else TrainedPolicy.from_bytes(self.policy.content, self.policy.name)
        return make_placer(self.base, {}, policy)

    def settings(self) -> dict[str, Json]:
        """The settings that it runs with, which are its defaults."""
        return settings_of(self.make())

    def file(self) -> dict[str, Json]:
        """What else a result depends on: the digest of one's own file, or of the policy's."""
        digest = self.own.digest if self.own else self.policy.digest if self.policy else None
        return {} if digest is None else {"file": digest}

    def place(self, problem: PlacementProblem, seed: int) -> None:
        """Run it. Raises PlacetoError where it refuses the problem, OwnMethodError for a mistake in one's own file."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        if self.own is None:
            self.make().place(problem, rng, lambda: False)
        else:
            self.own.run(problem, rng)


def run_key(problem: str, method: BenchmarkMethod, budget: Budget, seed: int) -> Measurement:
    """What a row measures; `problem` is the problem's key."""
    seconds: dict[str, Json] = {"seconds": budget.seconds}
    spent: dict[str, Json] = {"evaluations": budget.evaluations} if budget.seconds is None else seconds
    return {"problem": problem, "method": method.name, "seed": seed, **spent, **method.file()}


def in_seconds(seconds: float) -> Budget:
    """The budget of a run at equal seconds."""
    return Budget(MOST_EVALUATIONS, seconds)


@dataclass(frozen=True, slots=True)
class MethodRun:
    """What a run found, with the problem whose ledger has its answer."""

    problem: PlacementProblem
    row: dict[str, Json]


def warm_up(problem: PlacementProblem, method: BenchmarkMethod) -> None:
    """Let the method run shortly, so that loading does not count in its seconds."""
    carried_out(problem, method, WARM_UP, 0)


def carried_out(problem: PlacementProblem, method: BenchmarkMethod, budget: Budget, seed: int) -> MethodRun:
    """Run `method` on `problem` with `budget`. Raises OwnMethodError for a mistake in one's own file."""
    improvements: list[Improvement] = []

    def heard(event: FromPlacer) -> None:
        best_us = improvements[-1][2] if improvements else inf
        if isinstance(event, Episode) and event.feasible and event.step_time_us < best_us:
            improvements.append((event.evaluations, event.elapsed_seconds, event.step_time_us))

    context = RunContext.of(budget, clock=time.process_time, emit=heard)
    run_problem = problem.in_context(context)
    said: dict[str, Json] = {}
    context.begin()
    try:
        method.place(run_problem, seed)
    except OwnMethodError:
        raise
    except InfeasibleError as error:
        said = {"infeasible": str(error)}
    except PlacetoError as error:
        said = {"refused": str(error)}
    ledger = run_problem.ledger
    seconds = ledger.elapsed_seconds
    _require_whole(improvements, ledger.best_step_time_us, ledger.used, seconds)
    row: dict[str, Any] = {
        "evaluations": ledger.used,
        "seconds": round(seconds, 4),
        "found": [[number, round(at, 4), float(f"{time_us:.{DIGITS}g}")] for number, at, time_us in improvements],
        **said,
    }
    return MethodRun(run_problem, row)


def _require_whole(improvements: list[Improvement], best_us: float | None, used: int, seconds: float) -> None:
    """Add the ledger's best where the method reported no episode of it, as one may that calls `evaluate` alone."""
    if best_us is not None and (not improvements or best_us < improvements[-1][2]):
        improvements.append((used, seconds, best_us))


def ended_by_itself(row: dict[str, Any], budget: Budget) -> bool:
    """Whether a run at equal evaluations ended before they were spent, so that seconds change nothing."""
    return budget.seconds is None and "refused" not in row and row["evaluations"] < budget.evaluations


def best_within(row: dict[str, Any], evaluations: int | None = None, seconds: float | None = None) -> float | None:
    """The best that the run of `row` had after so many evaluations, or seconds; None before the first."""
    best_us: float | None = None
    for number, at, time_us in row["found"]:
        if (evaluations is None or number <= evaluations) and (seconds is None or at <= seconds * (1 + GRACE)):
            best_us = time_us
    return best_us
