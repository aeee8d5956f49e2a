"""The paper's Figure 9: one method's learning curves with simulated and with measured rewards, on the measured axis.

Both trainings evaluate on two processes of this machine whatever they try; one learns from these step times, the other
from simulated ones. `python -m experiments measured_rewards` writes docs/results/measured_rewards.{md,png}. Measured
step times stay in docs/results/kept/measured_rewards.jsonl one by one, so a second call continues; a quiet machine is
needed. Source: Addanki et al., NeurIPS 2019, appendix A.5.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine import VERSION, api
from engine.measuring.fidelity import spearman
from engine.problem.step_timer import StepTimer
from engine.run import Run
from engine.simulator import Simulator
from experiments.fidelity import GRAPHS, built, calibrated
from experiments.fidelity import NAME as CALIBRATED
from experiments.pages import ReportLine, table_of_figures, write_page

COMMAND = "python -m experiments measured_rewards"
NAME = "measured_rewards"
GRAPH = GRAPHS[0]
METHOD, EVALUATIONS, SEED = "post", 300, 0
STEPS = 3
PART = 10
"""the last tenth of the evaluations is compared"""
SMOOTHED = 20
"""evaluations of a point of a curve"""
LEARNS_FROM = ("simulated", "measured")
DIGITS = 16

Measure = Callable[[NDArray[np.int32]], NDArray[np.float64]]
"""[placements, ops] devices → [placements] measured step times in µs"""


@dataclass(slots=True)
class Training:
    """A timer that measures every placement, and says what the method learns from; it keeps what it saw."""

    measure: Measure
    simulator: Simulator
    learns_from_measured: bool
    kept: Path
    name: str
    measured_us: list[float] = field(default_factory=list)
    """of each evaluation, in order"""
    simulated_us: list[float] = field(default_factory=list)

    def step_time_us(self, device_of_op: NDArray[np.int32]) -> NDArray[np.float64]:
        """See `StepTimer`. A placement whose time is kept is not measured again."""
        known = _kept_times(self.kept)
        keys = [f"{self.name} {hashlib.sha256(row.tobytes()).hexdigest()[:DIGITS]}" for row in device_of_op]
        missing = list({key: index for index, key in enumerate(keys) if key not in known}.values())
        if missing:
            times = self.measure(device_of_op[missing]).tolist()
            new = {keys[index]: time_us for index, time_us in zip(missing, times, strict=True)}
            _keep(self.kept, new)
            known |= new
        measured_us = np.array([known[key] for key in keys])
        simulated_us = self.simulator.evaluate(device_of_op).step_time_us
        self.measured_us += measured_us.tolist()
        self.simulated_us += simulated_us.tolist()
        return measured_us if self.learns_from_measured else simulated_us

    @property
    def answer_us(self) -> list[float]:
        """[evaluations] the measured step time of what the method would answer with after each of them."""
        learned_from = self.measured_us if self.learns_from_measured else self.simulated_us
        answer, answers = 0, []
        for index, time_us in enumerate(learned_from):
            answer = index if time_us < learned_from[answer] else answer
            answers.append(self.measured_us[answer])
        return answers


def _kept_times(path: Path) -> dict[str, float]:
    if not path.exists():
        return {}
    return {key: time_us for line in path.read_text().splitlines() for key, time_us in json.loads(line).items()}


def _keep(path: Path, times: dict[str, float]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write("".join(json.dumps({key: time_us}) + "\n" for key, time_us in times.items()))


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/measured_rewards.{md,png}, and return the page."""
    kept = folder / "kept"
    (kept / CALIBRATED).mkdir(parents=True, exist_ok=True)
    machine = calibrated(kept / CALIBRATED, report)
    cluster, path = api.parse_cluster(machine), built(GRAPH, report)
    prepared = api.prepare(path, ".pb", lambda *_: None, api.Limits())
    graph = api.GraphToMeasure(path, ".pb", api.ReadingOptions(), api.MEASURING_LIMITS, cluster, STEPS)

    def measure(device_of_op: NDArray[np.int32]) -> NDArray[np.float64]:
        order = graph.order(prepared.graph.op_names, cast(list[api.Json], device_of_op.tolist()))
        return np.median(graph.visit(order, range(len(device_of_op)), NAME), axis=1)

    trainings = [
        trained(prepared, cluster, measure, learns_from, kept / f"{NAME}.jsonl", report) for learns_from in LEARNS_FROM
    ]
    draw(trainings, folder / f"{NAME}.png")
    return write_page(folder, NAME, page(trainings, machine))


def trained(
    prepared: api.PreparedGraph,
    cluster: api.Cluster,
    measure: Measure,
    learns_from: str,
    kept: Path,
    report: ReportLine,
) -> Training:
    """One training over all evaluations."""
    training = Training(
        measure, Simulator(prepared.graph, prepared.costs, cluster), learns_from == "measured", kept, learns_from
    )
    timer: StepTimer = training

    def heard(_event: api.Emitted) -> None:
        done = len(training.measured_us)
        if done % SMOOTHED == 0:
            report(f"rewards {learns_from}: {done} of {EVALUATIONS} evaluations")

    request = api.RunRequest(cluster, METHOD, api.Budget(EVALUATIONS), SEED, baselines=(), robustness=False)
    Run(prepared, request, heard, lambda: False, timer=timer).execute(None)
    return training


def page(trainings: Sequence[Training], machine: str) -> str:
    """The table with what was done above."""
    calibration = api.parse_cluster(machine).calibration
    assert calibration is not None
    one_device_us = min(trainings[0].measured_us[: api.parse_cluster(machine).device_count])
    rows = []
    for training in trainings:
        last = len(training.measured_us) // PART
        order = spearman(np.array(training.measured_us), np.array(training.simulated_us))
        rows.append(
            [
                training.name,
                f"{fmean(training.measured_us[:last]) / one_device_us:.3f}",
                f"{fmean(training.measured_us[-last:]) / one_device_us:.3f}",
                f"{training.answer_us[-1] / one_device_us:.3f}",
                f"{min(training.measured_us) / one_device_us:.3f}",
                "" if order is None else f"{order:.2f}",
            ]
        )
    head = ("rewards", "first tenth", "last tenth", "answer", "best measured", "Spearman with simulated")
    table = "\n".join(table_of_figures(head, rows))
    return f"""# Learning from measured step times

`{COMMAND}`; Placeto Explorer {VERSION}; {calibration.machine}, calibrated on {calibration.date}. {METHOD}, seed {SEED},
{EVALUATIONS} evaluations of {GRAPH.words} on two processes of one thread; each placement is run for {STEPS} steps, of
which the median counts. Both trainings measure what they try; one learns from simulated step times instead. Figures are
measured, as shares of one device ({one_device_us / 1e6:.3f} s): means over the first and the last tenth of the
evaluations, the placement that the method answers with, and the best that it met.

{table}

![Measured step times of both trainings over their evaluations]({NAME}.png)
"""


def draw(trainings: Sequence[Training], path: Path) -> None:
    """Means of `SMOOTHED` evaluations, and the answer so far, of each training."""
    import matplotlib as mpl  # imported here, since a server never draws

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for number, training in enumerate(trainings):
        words, milliseconds = f"{training.name} rewards", np.array(training.measured_us) / 1e3
        smooth = np.convolve(milliseconds, np.ones(SMOOTHED) / SMOOTHED, mode="valid")
        axes.plot(np.arange(len(smooth)) + SMOOTHED, smooth, f"C{number}", label=f"{words}, mean of {SMOOTHED}")
        answer = np.array(training.answer_us) / 1e3
        axes.plot(np.arange(len(answer)) + 1, answer, f"C{number}--", label=f"{words}, answer so far")
    axes.set(xlabel="evaluations", ylabel="measured step, ms", title=f"{METHOD} on {GRAPH.words}, two processes")
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
