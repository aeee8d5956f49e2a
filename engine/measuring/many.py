"""Measures many placements of one graph, round by round, so that what changes on the machine meets all alike.

In a round each placement is run once, in an order drawn anew, and the first of them twice: two measurements of the same
placement show the noise. A round is a child of its own and is kept in a file at once, so a second call continues.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from engine.child.parent import Limits, ReportProgress, child_results, no_progress, require_size
from engine.clusters.cluster import Cluster
from engine.errors import PlacementError, SettingsError
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.formats.reading import order_of, prepare
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.fidelity import MeasuredSteps, fidelity
from engine.measuring.profiling import require_graphdef, require_steps
from engine.placement_files import simulate

MEASURING = "measuring placements"
MOST_PLACEMENTS, MOST_ROUNDS = 500, 100
WARM_UP_STEPS = 2
NOISE_SHARE = 0.5
"""most that two measurements of one placement may differ, of what placements differ from each other"""
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
) -> dict[str, Json]:
    """Run the graph in `path` under each of `placements`, JSON {op: device}, and compare with the simulated steps.

    They are simulated on `cluster`, whose devices must be this machine's; CPUs are a process each. `kept` is the file
    of the finished rounds; one that belongs to other placements is refused. Returns `placements`, one object for each
    with `step_time_us` (the median of its steps), `fastest_us`, `rounds_us` (medians) and `simulated_step_time_us`;
    `noise` and `spread`, see `MeasuredSteps`; and `fidelity`, see `fidelity.fidelity`. Raises GraphError,
    PlacementError, ClusterError, LimitError, and SettingsError: also where the noise is more than half of the spread,
    so that the measurements say nothing of the order of the placements; the rounds stay.
    """
    require_steps(steps, None)
    require_graphdef(suffix)
    _require_counts(len(placements), rounds)
    require_size(path, limits)
    prepared = prepare(path, suffix, report_progress, limits, groups=None, options=options, run_metadata=run_metadata)
    reports = cast(list[dict[str, float]], simulate(prepared, cluster, list(placements)))
    names, processes = [device.name for device in cluster.devices], all(device.is_cpu for device in cluster.devices)
    order = order_of(path, suffix, options, limits)
    order |= {"devices": [*names], "steps": steps, "threads": 1, "processes": processes}
    order |= {"placements": _devices_of_ops(prepared.graph.op_names, placements, names)}
    order |= {"ops": [*prepared.graph.op_names]}
    digest = _digest(order)
    made = _kept_rounds(kept, digest)
    for number in range(len(made), rounds):
        visits = _order_of_visits(len(placements), number)
        with child_results(
            f"{__name__}_in_child:round_in_child",
            order | {"visits": list(visits)},
            limits,
            task=MEASURING,
            report_progress=partial(_report_round, report_progress, f"round {number + 1} of {rounds}"),
            with_gpus=not processes,
            own_network=processes,
        ) as ((arrays, _), _):
            made.append([[int(visit), *times] for visit, times in zip(visits, arrays["wall_us"].tolist(), strict=True)])
        _keep(kept, digest, made)
    measured = MeasuredSteps.of_rounds(made[:rounds], len(placements))
    _require_telling(measured)
    simulated_us = np.array([report["step_time_us"] for report in reports])
    return {
        "placements": [
            {
                "step_time_us": float(np.median(measured.times_us[index])),
                "fastest_us": float(measured.times_us[index].min()),
                "rounds_us": [float(median) for median in np.median(measured.times_us[index], axis=1)],
                "simulated_step_time_us": float(simulated_us[index]),
            }
            for index in range(len(placements))
        ],
        "rounds": rounds,
        "steps": steps,
        "noise": measured.noise,
        "spread": measured.spread,
        "fidelity": fidelity(measured, simulated_us),
        "sources": prepared.summary()["sources"],
    }


def _report_round(report_progress: ReportProgress, words: str, _stage: str, done: int, total: int) -> None:
    report_progress(words, done, total)


def _require_counts(placements: int, rounds: int) -> None:
    if not 2 <= placements <= MOST_PLACEMENTS:
        allowed = f"a list of 2 to {MOST_PLACEMENTS} placements"
        raise PlacementError(f"{placements} placements", where="placement", allowed=allowed)
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


def _require_telling(measured: MeasuredSteps) -> None:
    """Raise SettingsError where two measurements of one placement differ like those of two placements."""
    if measured.noise > NOISE_SHARE * measured.spread:
        raise SettingsError(
            f"the machine is too noisy to tell these placements apart: one placement differs from itself by "
            f"{100 * measured.noise:.1f} %, the placements from each other by {100 * measured.spread:.1f} %",
            where="measure",
            allowed=f"at most {NOISE_SHARE:g} of it; measure on an idle machine, or more rounds and steps",
        )


def _digest(order: Mapping[str, Json]) -> str:
    """Digits that differ where graph, placements, devices or steps do."""
    content = Path(cast(str, order["path"])).read_bytes()
    decides = {key: value for key, value in order.items() if key != "path"}
    return hashlib.sha256(content + json.dumps(decides, sort_keys=True).encode()).hexdigest()[:DIGITS]


def _kept_rounds(path: Path, digest: str) -> list[list[list[float]]]:
    """[rounds][visits] the number of the placement and its step times. Raises SettingsError for another's file."""
    if not path.exists():
        return []
    try:
        kept = json.loads(path.read_text())
        belongs = kept["of"] == digest
    except (ValueError, KeyError, TypeError):
        belongs = False
    if not belongs:
        what = f"{path.name} holds rounds of another graph, of other placements, devices or steps"
        raise SettingsError(what, where="--kept", allowed="a new file, or the one of this measurement")
    rounds: list[list[list[float]]] = kept["rounds"]
    return rounds


def _keep(path: Path, digest: str, rounds: list[list[list[float]]]) -> None:
    write_whole(path, (json.dumps({"of": digest, "rounds": rounds}) + "\n").encode())
