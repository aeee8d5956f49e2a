"""Measures many placements of one graph, round by round, so that what changes on the machine meets all alike.

In a round each placement is run once, in an order drawn anew, and the first of them twice, which shows the noise of a
single round. A round is a child of its own and is kept in a file at once, so a second call continues.
"""

import dataclasses
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, Pulse, ReportProgress, child_results, no_progress, no_pulse, require_size
from engine.clusters.cluster import Cluster
from engine.errors import NoisyMachineError, PlacementError, SettingsError, TimeLimitError, shortened
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.formats.reading import order_of, prepare
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.fidelity import MeasuredSteps, fidelity
from engine.measuring.profiling import require_graphdef, require_steps
from engine.measuring.this_machine import machine_words, notes_on_machine, tensorflow_version
from engine.number_words import counted
from engine.placement_files import simulate

MEASURING = "measuring placements"
MOST_PLACEMENTS, MOST_ROUNDS = 500, 100
WARM_UP_STEPS = 2
MOST_ROUND_SECONDS = 3600.0
"""of one child, so that a long measurement ends, or makes way for others, at least so often"""
NOISE_SHARE = 0.5
"""most that the step time of a placement may scatter, of what placements differ from each other"""
DIGITS = 16


def measure_many(
    path: Path,
    suffix: str,
    placements: Sequence[Json],
    options: ReadingOptions,
    limits: Limits,
    report_progress: ReportProgress = no_progress,
    *,
    cluster: Cluster,
    kept: Path,
    rounds: int = 3,
    steps: int = 5,
    run_metadata: Path | None = None,
    pulse: Pulse = no_pulse,
) -> dict[str, Json]:
    """Run the graph in `path` under each of `placements`, JSON {op: device}, and compare with the simulated steps.

    They are simulated on `cluster`, whose devices must be this machine's; CPUs are a process each. `kept` is the file
    of the finished rounds; one that belongs to other placements or another machine is refused. `pulse` is called
    several times a second; what it raises ends the child. Returns `placements`, one object for each
    with `step_time_us` (the median of its steps), `fastest_us`, `rounds_us` (medians) and `simulated_step_time_us`;
    `noise`, `step_time_noise` and `spread`, see `MeasuredSteps`; `fidelity`, see `fidelity.fidelity`; and `notes`,
    sentences for people. Raises GraphError, PlacementError, ClusterError, LimitError, SettingsError, and
    NoisyMachineError where the noise of a step time is more than half of the spread, so that the measurements say
    nothing of the order of the placements. A further call for more rounds goes on from these, one for as many measures
    them all anew.
    """
    _require_counts(len(placements), rounds)
    graph = GraphToMeasure(path, suffix, options, limits, cluster, steps)
    prepared = prepare(
        path, suffix, report_progress, limits, None, options=options, run_metadata=run_metadata, pulse=pulse
    )
    reports = cast(list[dict[str, float]], simulate(prepared, cluster, list(placements)))
    order = graph.order(prepared.graph.op_names, _devices_of_ops(prepared.graph.op_names, placements, graph.names))
    identity = _identity(order)
    made = _kept_rounds(kept, identity)
    if len(made) >= rounds and not _shows_differences(MeasuredSteps.of_rounds(made[:rounds], len(placements))):
        made = []  # the machine was too noisy then
    for number in range(len(made), rounds):
        made.append(graph.round(order, number, rounds, report_progress, pulse))
        _keep(kept, identity, made)
    measured = MeasuredSteps.of_rounds(made[:rounds], len(placements))
    _require_differences(measured)
    simulated_us = np.array([report["step_time_us"] for report in reports])
    return {
        "placements": [*measured_placements(measured, simulated_us)],
        "rounds": rounds,
        "steps": steps,
        "noise": measured.noise,
        "step_time_noise": measured.step_time_noise,
        "spread": measured.spread,
        "fidelity": fidelity(measured, simulated_us),
        "sources": prepared.summary()["sources"],
        "notes": [*notes_on_machine(cluster.calibration)],
    }


@dataclass(frozen=True, slots=True)
class GraphToMeasure:
    """A graph that is run on this machine's devices under placements. Raises GraphError and the like for a bad file."""

    path: Path
    suffix: str
    options: ReadingOptions
    limits: Limits
    """of the child that runs one round, or one batch; their seconds are those from one step to the next, and the whole
    may take `MOST_ROUND_SECONDS`"""
    cluster: Cluster
    """whose devices must be this machine's; if all are CPUs each is a process of its own"""
    steps: int
    """measured each time, after `WARM_UP_STEPS`"""

    def __post_init__(self) -> None:
        require_steps(self.steps, None)
        require_graphdef(self.suffix)
        require_size(self.path, self.limits)

    @property
    def names(self) -> list[str]:
        """The devices' names."""
        return [device.name for device in self.cluster.devices]

    @property
    def processes(self) -> bool:
        """Whether each device is a process of its own."""
        return all(device.is_cpu for device in self.cluster.devices)

    def order(self, op_names: Sequence[str], device_of_op: Sequence[Json]) -> dict[str, Json]:
        """What a child gets for placements, `device_of_op` [placements][ops]: the numbers of devices."""
        order = order_of(self.path, self.suffix, self.options, self.limits)
        order |= {"devices": [*self.names], "steps": self.steps, "threads": 1, "processes": self.processes}
        return order | {"placements": [*device_of_op], "ops": [*op_names]}

    def visit(
        self,
        order: Mapping[str, Json],
        visits: Sequence[int],
        words: str,
        report_progress: ReportProgress = no_progress,
        pulse: Pulse = no_pulse,
    ) -> NDArray[np.float64]:
        """[visits, steps] step times in µs of the placements of `order` by their numbers.

        Progress is reported with `words`. Raises as `measure_many`.
        """
        deadline = Deadline(self.limits.seconds, MOST_ROUND_SECONDS, pulse)

        def heard(_stage: str, done: int, total: int) -> None:
            deadline.begin_step()
            report_progress(words, done, total)

        with child_results(
            f"{__name__}_in_child:round_in_child",
            {**order, "visits": list(visits)},
            dataclasses.replace(self.limits, seconds=MOST_ROUND_SECONDS + self.limits.seconds),
            task=MEASURING,
            report_progress=heard,
            pulse=deadline.pulse,
            with_gpus=not self.processes,
            own_network=self.processes,
        ) as ((arrays, _), _):
            wall_us: NDArray[np.float64] = arrays["wall_us"].astype(np.float64)
            return wall_us

    def round(
        self,
        order: Mapping[str, Json],
        number: int,
        rounds: int,
        report_progress: ReportProgress = no_progress,
        pulse: Pulse = no_pulse,
    ) -> list[list[float]]:
        """[visits] the number of a placement and its step times: the first placement twice, the others once."""
        visits = _order_of_visits(len(cast(list[Json], order["placements"])), number)
        wall_us = self.visit(order, visits, f"round {number + 1} of {rounds}", report_progress, pulse)
        return [[int(visit), *times] for visit, times in zip(visits, wall_us.tolist(), strict=True)]

    def measured(
        self,
        op_names: Sequence[str],
        device_of_op: NDArray[np.int32],
        rounds: int,
        report_progress: ReportProgress = no_progress,
        pulse: Pulse = no_pulse,
    ) -> MeasuredSteps:
        """The step times of `device_of_op` [placements, ops] over this many rounds, none of them kept."""
        order = self.order(op_names, cast(list[Json], device_of_op.tolist()))
        made = [self.round(order, number, rounds, report_progress, pulse) for number in range(rounds)]
        return MeasuredSteps.of_rounds(made, len(device_of_op))


class Deadline:
    """Ends a child that takes too long from one sign of progress to the next, or as a whole."""

    def __init__(self, step_seconds: float, round_seconds: float, pulse: Pulse) -> None:
        self._step_seconds, self._round_seconds, self._pulse = step_seconds, round_seconds, pulse
        self._round_ends_at = time.monotonic() + round_seconds
        self.begin_step()

    def begin_step(self) -> None:
        """There was a sign of progress."""
        self._step_ends_at = time.monotonic() + self._step_seconds

    def pulse(self) -> None:
        """Raise TimeLimitError when a step or the whole is over, or what the caller's own pulse raises."""
        self._pulse()
        now = time.monotonic()
        if now > self._step_ends_at:
            raise TimeLimitError(
                "a step took too long", where="measure", allowed=f"at most {self._step_seconds:g} seconds"
            )
        if now > self._round_ends_at:
            allowed = f"at most {self._round_seconds:g} seconds: fewer placements or steps, or a smaller graph"
            raise TimeLimitError("a round over all placements took too long", where="measure", allowed=allowed)


def measured_placements(measured: MeasuredSteps, simulated_us: NDArray[np.float64]) -> list[dict[str, Json]]:
    """The rows of a report: see `measure_many`."""
    return [
        {
            "step_time_us": float(np.median(times_us)),
            "fastest_us": float(times_us.min()),
            "rounds_us": [float(median) for median in np.median(times_us, axis=1)],
            "simulated_step_time_us": float(simulated),
        }
        for times_us, simulated in zip(measured.times_us, simulated_us, strict=True)
    ]


def _require_counts(placements: int, rounds: int) -> None:
    if not 2 <= placements <= MOST_PLACEMENTS:
        allowed = f"a list of 2 to {MOST_PLACEMENTS} placements"
        raise PlacementError(f"{placements} placements", where="placement", allowed=allowed)
    require_rounds(rounds)


def require_rounds(rounds: int) -> None:
    """Raise SettingsError for too few or too many."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise SettingsError(f"{rounds}", where="rounds", allowed=f"1 to {MOST_ROUNDS}", field="rounds")


def _devices_of_ops(ops: Sequence[str], placements: Sequence[Json], names: Sequence[str]) -> list[Json]:
    """[placements][ops] the number of each op's device; the placements were simulated, so they are whole."""
    number = {name: index for index, name in enumerate(names)}
    return [[number[placement[op]] for op in ops] for placement in cast(Sequence[Mapping[str, str]], placements)]


def _order_of_visits(placements: int, number: int) -> list[int]:
    """The placements in the order of a round: the first one twice, the others once."""
    rng = np.random.default_rng(number)
    return [0, *rng.permutation(np.arange(1, placements)).tolist(), 0]


def _shows_differences(measured: MeasuredSteps) -> bool:
    """Whether the step time of a placement scatters less than placements differ."""
    return measured.step_time_noise <= NOISE_SHARE * measured.spread


def _require_differences(measured: MeasuredSteps) -> None:
    """Raise NoisyMachineError where the measurements say nothing of the order of the placements."""
    if not _shows_differences(measured):
        rounds = counted(measured.times_us.shape[1], "round")
        raise NoisyMachineError(
            f"the machine is too noisy to tell these placements apart: the step time of a placement, over "
            f"{rounds}, scatters by {100 * measured.step_time_noise:.1f} %, the placements differ from each other by "
            f"{100 * measured.spread:.1f} %",
            where="measure",
            advice="measure more rounds, or on an idle machine",
            allowed=f"the first at most {NOISE_SHARE:g} of the second",
        )


def _identity(order: Mapping[str, Json]) -> dict[str, Json]:
    """What a file of rounds says of itself: rounds belong together where all of it is equal.

    `of`: digits that differ where graph, placements, devices or steps do.
    """
    content = Path(cast(str, order["path"])).read_bytes()
    decides = {key: value for key, value in order.items() if key != "path"}
    digest = hashlib.sha256(content + json.dumps(decides, sort_keys=True).encode()).hexdigest()[:DIGITS]
    here: dict[str, Json] = {"machine": machine_words(), "tensorflow": tensorflow_version()}
    return {"of": digest, **here, "warm_up_steps": WARM_UP_STEPS}


def _kept_rounds(path: Path, identity: Mapping[str, Json]) -> list[list[list[float]]]:
    """[rounds][visits] the number of the placement and its step times. Raises SettingsError for another's file."""
    if not path.exists():
        return []
    try:
        kept = dict(json.loads(path.read_text()))
    except (ValueError, TypeError):
        kept = {}
    rounds: list[list[list[float]]] = kept.pop("rounds", [])
    if kept == identity:
        return rounds
    machine = kept.get("machine", identity["machine"])
    what = f"{path.name} holds rounds of another graph, of other placements, devices or steps, or of another TensorFlow"
    if machine != identity["machine"]:
        what = f"{path.name} holds rounds of {shortened(str(machine))}; this machine is {identity['machine']}"
    raise SettingsError(what, where="--kept", allowed="a new file, or the one of this measurement")


def _keep(path: Path, identity: Mapping[str, Json], rounds: list[list[list[float]]]) -> None:
    write_whole(path, (json.dumps({**identity, "rounds": rounds}) + "\n").encode())
