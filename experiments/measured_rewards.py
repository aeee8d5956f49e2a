"""The paper's Figure 9: one method's learning curves with simulated and with measured rewards, on the measured axis.

Both trainings evaluate on two processes of this machine whatever they try; one learns from these step times, the other
from simulated ones. The best of many single measurements is a lucky one, so both answers are measured again at the end,
in rounds with one device; one device is also timed before and after each training, which shows whether the machine
changes. `python -m experiments measured_rewards` writes docs/results/measured_rewards.{md,png}. Measured step times
stay in docs/results/kept/measured_rewards one by one, beside the calibration that comes first, so a second call
continues; another machine is refused, and a quiet one is needed. Source: Addanki et al., NeurIPS 2019, appendix A.5.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine import VERSION, api
from engine.comparing.grid import GoOn, fill
from engine.measuring.fidelity import MeasuredSteps, spearman
from engine.measuring.this_machine import machine_words
from engine.problem.step_timer import StepTimer
from engine.run.run import Run
from engine.simulator import Simulator
from experiments.fidelity import GRAPHS, built, calibrated, calibration_of, require_this_machine
from experiments.grid import KeptResults, Measurement, measure_cells_here, of_any_code
from experiments.pages import ReportLine, table_of_figures, write_page

COMMAND = "python -m experiments measured_rewards"
NAME = "measured_rewards"
GRAPH = GRAPHS[1]
METHOD, EVALUATIONS, SEED = "post", 300, 0
STEPS = 3
ROUNDS = 5
"""in which both answers and one device are measured together"""
PART = 10
"""the last tenth of the evaluations is compared"""
SMOOTHED = 20
"""evaluations of a point of a curve"""
LEARNS_FROM = ("simulated", "measured")
DIGITS = 16

Measure = Callable[[NDArray[np.int32]], NDArray[np.float64]]
"""[placements, ops] devices → [placements] measured step times in µs"""


@dataclass(frozen=True, slots=True)
class KeptTimes:
    """Measured step times in a file, by all that decides them: each is measured once."""

    kept: KeptResults
    measure: Measure

    def step_time_us(self, device_of_op: NDArray[np.int32], name: str) -> NDArray[np.float64]:
        """[placements] of `device_of_op` [placements, ops]; `name` says what they are measured for."""
        words = [self.words(row, name) for row in device_of_op]
        cells = {text: key_of(text) for text in words}

        def measure(missing: Sequence[str], _go_on: GoOn) -> list[float]:
            times: list[float] = self.measure(device_of_op[[words.index(text) for text in missing]]).tolist()
            return times

        times_us = fill(cells, self.kept, measure, 1, together=lambda _: name)
        return np.array([times_us[text] for text in words])

    def words(self, device_of_op: NDArray[np.int32], name: str) -> str:
        """Of one placement [ops], or of several."""
        digest = hashlib.sha256(device_of_op.tobytes()).hexdigest()[:DIGITS]
        return f"{machine_words()}; {GRAPH.words}; {STEPS} steps; {METHOD}; {name}; {digest}"


def key_of(words: str) -> Measurement:
    """The key of what `KeptTimes.words` says."""
    return {"measured": words}


@dataclass(slots=True)
class Training:
    """A timer that measures every placement, and says what the method learns from; it keeps what it saw."""

    times: KeptTimes
    simulator: Simulator
    learns_from_measured: bool
    name: str
    measured_us: list[float] = field(default_factory=list)
    """of each evaluation, in order"""
    simulated_us: list[float] = field(default_factory=list)
    placements: list[NDArray[np.int32]] = field(default_factory=list)
    """[ops] of each evaluation"""
    one_device_us: list[float] = field(default_factory=list)
    """measured before the training and after it"""

    def step_time_us(self, device_of_op: NDArray[np.int32]) -> NDArray[np.float64]:
        """See `StepTimer`. A placement whose time is kept is not measured again."""
        measured_us = self.times.step_time_us(device_of_op, self.name)
        simulated_us = self.simulator.evaluate(device_of_op).step_time_us
        self.measured_us += measured_us.tolist()
        self.simulated_us += simulated_us.tolist()
        self.placements += list(device_of_op)
        return measured_us if self.learns_from_measured else simulated_us

    def time_one_device(self) -> None:
        """Measure the placement with all ops on the first device."""
        name = f"{self.name}, one device after {len(self.measured_us)} evaluations"
        self.one_device_us += self.times.step_time_us(self.one_device[None, :], name).tolist()

    @property
    def one_device(self) -> NDArray[np.int32]:
        """[ops] all on the first device."""
        return np.zeros(self.simulator.graph.op_count, dtype=np.int32)

    @property
    def answers(self) -> list[int]:
        """[evaluations] the number of the evaluation that the method would answer with after each of them."""
        learned_from = self.measured_us if self.learns_from_measured else self.simulated_us
        answer, answers = 0, []
        for index, time_us in enumerate(learned_from):
            answer = index if time_us < learned_from[answer] else answer
            answers.append(answer)
        return answers

    @property
    def answer_us(self) -> list[float]:
        """[evaluations] the measured step time of `answers`."""
        return [self.measured_us[answer] for answer in self.answers]

    @property
    def answer(self) -> NDArray[np.int32]:
        """[ops] the placement that the method answers with at the end."""
        return self.placements[self.answers[-1]]


@dataclass(frozen=True, slots=True)
class ComparedAnswers:
    """Step times of the trainings' answers and of one device, measured together."""

    answers_us: list[float]
    """[trainings]"""
    one_device_us: float
    noise: float
    """of one of them, as a share"""

    def share(self, training: int) -> float:
        """The step time of a training's answer, of that on one device."""
        return self.answers_us[training] / self.one_device_us

    def share_noise(self, training: int) -> float:
        """The deviation of `share`, which both step times make."""
        return self.share(training) * math.sqrt(2) * self.noise

    def to_json(self) -> dict[str, api.Json]:
        return {"answers_us": [*self.answers_us], "one_device_us": self.one_device_us, "noise": self.noise}


def compared(
    trainings: Sequence[Training],
    times: KeptTimes,
    measured: Callable[[NDArray[np.int32]], MeasuredSteps],
    report: ReportLine,
) -> ComparedAnswers:
    """The answers of `trainings` and one device in rounds over all of them, measured once."""
    device_of_op = np.stack([*(training.answer for training in trainings), trainings[0].one_device])
    words = times.words(device_of_op, f"answers and one device, {ROUNDS} rounds")

    def measure(_: str) -> dict[str, api.Json]:
        steps = measured(device_of_op)
        *answers_us, one_device_us = steps.step_time_us.tolist()
        return ComparedAnswers(answers_us, one_device_us, steps.step_time_noise).to_json()

    found = measure_cells_here(times.kept, {"the answers again": key_of(words)}, measure, report)
    return ComparedAnswers(**found["the answers again"])


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/measured_rewards.{md,png}, and return the page."""
    kept = folder / "kept" / NAME
    kept.mkdir(parents=True, exist_ok=True)
    machine = calibrated(kept, report)
    require_this_machine(machine, kept)
    cluster, path = api.parse_cluster(machine), built(GRAPH, report)
    prepared = api.prepare(path, ".pb", lambda *_: None, api.Limits())
    graph = api.GraphToMeasure(path, ".pb", api.ReadingOptions(), api.MEASURING_LIMITS, cluster, STEPS)

    def measure(device_of_op: NDArray[np.int32]) -> NDArray[np.float64]:
        order = graph.order(prepared.graph.op_names, cast(list[api.Json], device_of_op.tolist()))
        return np.median(graph.visit(order, range(len(device_of_op)), NAME), axis=1)

    def measured(device_of_op: NDArray[np.int32]) -> MeasuredSteps:
        return graph.measured(prepared.graph.op_names, device_of_op, ROUNDS)

    times = KeptTimes(KeptResults(kept / "step_times.jsonl", also=of_any_code), measure)
    trainings = [trained(prepared, cluster, times, learns_from, report) for learns_from in LEARNS_FROM]
    found = compared(trainings, times, measured, report)
    draw(trainings, folder / f"{NAME}.png")
    return write_page(folder, NAME, page(trainings, found, machine))


def trained(
    prepared: api.PreparedGraph, cluster: api.Cluster, times: KeptTimes, learns_from: str, report: ReportLine
) -> Training:
    """One training over all evaluations, between two times of one device."""
    simulator = Simulator(prepared.graph, prepared.costs, cluster)
    training = Training(times, simulator, learns_from == "measured", learns_from)
    timer: StepTimer = training

    def heard(_event: api.Emitted) -> None:
        done = len(training.measured_us)
        if done % SMOOTHED == 0:
            report(f"rewards {learns_from}: {done} of {EVALUATIONS} evaluations")

    training.time_one_device()
    request = api.RunRequest(cluster, METHOD, api.Budget(EVALUATIONS), SEED, baselines=(), robustness=False)
    Run(prepared, request, heard, lambda: False, timer=timer).execute(None)
    training.time_one_device()
    return training


HEAD = (
    "rewards",
    "first tenth",
    "last tenth",
    "answer, measured again",
    "answer, as it was met",
    "best met",
    "one device, before",
    "after",
    "Spearman with simulated",
)


def page(trainings: Sequence[Training], found: ComparedAnswers, machine: str) -> str:
    """The table with what was done above."""
    calibration, rows = calibration_of(machine), []
    for number, training in enumerate(trainings):
        last = len(training.measured_us) // PART
        order = spearman(np.array(training.measured_us), np.array(training.simulated_us))
        first_tenth, last_tenth = (fmean(part) for part in (training.measured_us[:last], training.measured_us[-last:]))
        met = (training.answer_us[-1], min(training.measured_us), *training.one_device_us)
        rows.append(
            [
                training.name,
                *(f"{time_us / found.one_device_us:.3f}" for time_us in (first_tenth, last_tenth)),
                f"{found.share(number):.3f} ± {found.share_noise(number):.3f}",
                *(f"{time_us / found.one_device_us:.3f}" for time_us in met),
                "" if order is None else f"{order:.2f}",
            ]
        )
    table = "\n".join(table_of_figures(HEAD, rows))
    return f"""# Learning from measured step times

`{COMMAND}`; Placeto Explorer {VERSION}; {calibration.machine}, calibrated on {calibration.date}. {METHOD}, seed {SEED},
{EVALUATIONS} evaluations of {GRAPH.words} on two processes of one thread; each placement is run for {STEPS} steps, of
which the median counts. Both trainings measure what they try; one learns from simulated step times instead. Figures are
measured, as shares of one device: means over the first and the last tenth of the evaluations; the placement that the
method answers with; the best that it met. The answer of measured rewards and the best are the least of many single
measurements, so lucky ones. What to compare is "measured again": after both trainings both answers and one device were
run together in {ROUNDS} rounds of {STEPS} steps, in which one device took {found.one_device_us / 1e6:.3f} s; ± is one
deviation. One device before and after a training shows how far the machine changed meanwhile.

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
