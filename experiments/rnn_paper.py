"""The RNN's preset `paper` over the paper's own budget, beside `fast`: what it draws and finds in each tenth of it.

`python -m experiments rnn_paper` writes docs/results/rnn_paper.md; a second call continues where the first stopped.
Source of the budget: Addanki et al., NeurIPS 2019, Table 1, 7.8 K samples of the RNN on Inception-V3, two GPUs.
"""

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine import VERSION
from engine.events import EmitFromPlacer, FromPlacer, Json, PlacerState
from engine.files.archive import fields_of, from_fields
from engine.files.tensor_file import pack_tensors, unpack_tensors
from engine.files.whole_files import write_whole
from engine.placers.placer import resumable
from engine.placers.registry import make_placer
from engine.placers.sequence.settings import RnnSettings
from engine.problem import Budget, Ledger, LedgerState, PlacementProblem, RunContext
from engine.problem.learning import Learned
from engine.problem.reporter import Reporter, by_group, ignore
from engine.settings.making import make_settings
from engine.simulator import Evaluations
from experiments.best_found import best_one_device_us
from experiments.folders import CACHE
from experiments.grid import KeptResults, Measurement, measure_cells_here
from experiments.keeping.code_state import code_state
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.problems import CLUSTER, GRAPH, prepared_graph, problem_on

COMMAND = "python -m experiments rnn_paper"
EVALUATIONS = 7800
TENTHS = 10
PRESETS = ("paper", "fast")
SEED = 0
STATES = CACHE / "rnn_paper"
"""where a training's last state lies between two calls"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a method drew in a stretch of its evaluations."""

    mean_us: float
    """mean step time of the placements"""
    best_us: float
    """the least step time of those that fit"""
    best_at: int
    """its evaluation, from 1, counted over the whole run"""
    distinct: float
    """share of placements that differ from all others of the stretch"""
    entropy: float | None
    """mean entropy of a group's choices, in nat; None for a method that does not learn"""
    processor_seconds: float
    evaluations: int


@dataclass(slots=True)
class Heard:
    """What a method evaluates and learns."""

    placements: list[NDArray[np.int32]] = field(default_factory=list)
    """[groups] each"""
    step_time_us: list[float] = field(default_factory=list)
    """infinite for a placement that does not fit"""
    entropies: list[tuple[int, float]] = field(default_factory=list)
    """evaluations made before an update, and the entropy in it"""

    def drawn(self, first: int, begin: int, processor_seconds: float) -> Drawn:
        """The evaluations after the first `begin` of the run, of which this has heard those after `first`."""
        times_us = np.array(self.step_time_us[begin - first :])
        placements = np.array(self.placements[begin - first :])
        best = int(times_us.argmin())
        entropies = [entropy for used, entropy in self.entropies if used > begin]
        return Drawn(
            mean_us=float(times_us[np.isfinite(times_us)].mean()),
            best_us=float(times_us[best]),
            best_at=begin + best + 1,
            distinct=len(np.unique(placements, axis=0)) / len(placements),
            entropy=float(np.mean(entropies)) if entropies else None,
            processor_seconds=processor_seconds,
            evaluations=len(times_us),
        )


class HeardReporter(Reporter):
    """A reporter that remembers the entropy of each update."""

    def __init__(self, heard: Heard, ledger: Ledger, emit: EmitFromPlacer) -> None:
        super().__init__(ledger, emit, by_group)
        self._heard = heard

    def learned(self, learned: Learned) -> None:
        super().learned(learned)
        if learned.entropy is not None:
            self._heard.entropies.append((self._ledger.used, learned.entropy))


@dataclass(frozen=True, eq=False)
class HeardProblem(PlacementProblem):
    """A placement problem that remembers all that a method evaluates and learns on it."""

    heard: Heard = field(kw_only=True)

    def evaluate(self, placements: NDArray[np.int32]) -> Evaluations:
        evaluations = super().evaluate(placements)
        self.heard.placements.extend(placements)
        self.heard.step_time_us.extend(np.where(self.feasible(evaluations), evaluations.step_time_us, np.inf).tolist())
        return evaluations


def heard_problem(problem: PlacementProblem, evaluations: int, emit: EmitFromPlacer = ignore) -> HeardProblem:
    """`problem` with a ledger of so many evaluations, and a memory."""
    ledger, heard = Ledger(Budget(evaluations)), Heard()
    context = RunContext(ledger, HeardReporter(heard, ledger, emit))
    graph, costs, grouping = problem.graph, problem.costs, problem.grouping
    return HeardProblem(
        graph, costs, grouping, problem.cluster, problem.allowed, context, shared=problem.simulator, heard=heard
    )


def run(folder: Path, report: ReportLine) -> str:
    """Train with each preset, a tenth at a time, write `folder`/rnn_paper.md after each, and return the page."""
    kept = KeptResults(folder / "kept" / "rnn_paper.jsonl")
    problem = problem_on(prepared_graph(report), CLUSTER)
    at_random = {"random": _key("random", {})}
    measure_cells_here(kept, at_random, lambda _: dataclasses.asdict(drawn_at_random(problem, EVALUATIONS)), report)
    one_device_us = best_one_device_us(problem)
    for preset in PRESETS:
        for tenth in range(1, TENTHS + 1):
            cells = {(preset, tenth): _key("rnn", {"preset": preset}, tenth)}
            measure_cells_here(kept, cells, lambda cell: _tenth(problem, *cell), report)
            write_page(folder, "rnn_paper", page(kept, one_device_us))
    return write_page(folder, "rnn_paper", page(kept, one_device_us))


def _tenth(problem: PlacementProblem, preset: str, tenth: int) -> dict[str, Json]:
    """What is kept of a tenth."""
    return dataclasses.asdict(trained_tenth(problem, {"preset": preset}, tenth, EVALUATIONS, STATES))


def _key(method: str, settings: dict[str, Json], tenth: int | None = None) -> Measurement:
    key: dict[str, Json] = {"graph": GRAPH, "cluster": CLUSTER, "method": method, "settings": settings}
    return key | {"evaluations": EVALUATIONS, "seed": SEED} | ({} if tenth is None else {"tenth": tenth})


def drawn_at_random(problem: PlacementProblem, evaluations: int) -> Drawn:
    """What the method `random` draws in all of its evaluations."""
    heard = heard_problem(problem, evaluations)
    began = time.process_time()
    make_placer("random", {}).place(heard, np.random.default_rng(SEED), lambda: False)
    return heard.heard.drawn(0, 0, time.process_time() - began)


def trained_tenth(
    problem: PlacementProblem, settings: dict[str, Json], tenth: int, evaluations: int, folder: Path
) -> Drawn:
    """What the RNN draws in a tenth of its evaluations, to the next whole batch.

    It continues from the state in `folder` that the tenth before has left there, else it begins again.
    """
    begin, end = (whole_batches(number, evaluations, settings) for number in (tenth - 1, tenth))
    saved_at, saved = 0, b""

    def note(event: FromPlacer) -> None:
        nonlocal saved_at, saved
        if isinstance(event, PlacerState):
            saved_at, saved = heard.ledger.used, event.state

    heard = heard_problem(problem, evaluations, note)
    placer = resumable(make_placer("rnn", {**settings, "checkpoint_seconds": 0.0}))
    path = folder / f"{settings['preset']}-{evaluations}-{code_state()}.state"
    if path.exists():
        arrays, texts = unpack_tensors(path.read_bytes(), str(path))
        ledger = from_fields(LedgerState, arrays, texts)
        if ledger.used <= begin:
            heard.ledger.restore(ledger)
            placer.resume(arrays["placer"].tobytes())
    first = heard.ledger.used

    began = time.process_time()
    placer.place(heard, np.random.default_rng(SEED), lambda: saved_at >= end)
    seconds = time.process_time() - began
    folder.mkdir(parents=True, exist_ok=True)
    arrays, texts = fields_of(heard.ledger.state())
    write_whole(path, pack_tensors({"placer": np.frombuffer(saved, np.uint8), **arrays}, texts))
    return heard.heard.drawn(first, begin, seconds * (end - begin) / (end - first))


def whole_batches(tenths: int, evaluations: int, settings: dict[str, Json]) -> int:
    """The evaluations in this number of tenths, to the next whole batch."""
    batch = make_settings("rnn", RnnSettings, settings).batch_episodes
    return min(evaluations, -(-evaluations * tenths // (TENTHS * batch)) * batch)


def page(kept: KeptResults, one_device_us: float) -> str:
    """The page with the tenths that are known."""
    keys = {preset: [_key("rnn", {"preset": preset}, tenth) for tenth in range(1, TENTHS + 1)] for preset in PRESETS}
    known = {preset: [Drawn(**kept[key]) for key in of if key in kept] for preset, of in keys.items()}
    random = Drawn(**kept[_key("random", {})])
    all_keys = [_key("random", {}), *(key for of in keys.values() for key in of if key in kept)]
    tables = (_table_of(preset, tenths, one_device_us) for preset, tenths in known.items() if tenths)
    return f"""# The RNN as published, over the paper's budget

`{COMMAND}`; Placeto Explorer {VERSION}; {kept.made(all_keys)}.

{GRAPH}, {CLUSTER}, {EVALUATIONS:,} evaluations, seed {SEED}, one thread. Step times are simulated from estimated costs
and are shares of the best single device's ({one_device_us / 1e6:.4f} s). The RNN's answers here are its own: no single
device counts among them. Each tenth goes to the end of a batch.

{_summary(known, random, one_device_us)}

{chr(10).join(tables)}"""


def _summary(known: dict[str, list[Drawn]], random: Drawn, one_device_us: float) -> str:
    head = ("", "evaluations", "best", "found at evaluation", "processor ms an evaluation")
    rows = [_of_all(f"preset `{preset}`", tenths, one_device_us) for preset, tenths in known.items() if tenths]
    return "\n".join(table_of_figures(head, [*rows, _of_all("random", [random], one_device_us)]))


def _of_all(label: str, parts: Sequence[Drawn], one_device_us: float) -> list[str]:
    best = min(parts, key=lambda part: part.best_us)
    evaluations = sum(part.evaluations for part in parts)
    milliseconds = 1e3 * sum(part.processor_seconds for part in parts) / evaluations
    return [
        label,
        f"{evaluations:,}",
        f"{best.best_us / one_device_us:.3f}",
        f"{best.best_at:,}",
        f"{milliseconds:.1f}",
    ]


def _table_of(preset: str, tenths: Sequence[Drawn], one_device_us: float) -> str:
    head = ("tenth", "mean step", "best step", "distinct placements", "entropy, nat a group")
    rows = [
        [
            str(number),
            f"{drawn.mean_us / one_device_us:.3f}",
            f"{drawn.best_us / one_device_us:.3f}",
            f"{100 * drawn.distinct:.0f} %",
            "" if drawn.entropy is None else f"{drawn.entropy:.3f}",
        ]
        for number, drawn in enumerate(tenths, 1)
    ]
    bound = make_settings("rnn", RnnSettings, {"preset": preset}).tanh_constant
    words = f"The bound of {bound:g} on its scores leaves at least {least_entropy(bound):.3f} nat of entropy a group."
    return "\n".join([f"## Preset `{preset}`", "", words, "", *table_of_figures(head, rows), ""])


def least_entropy(tanh_constant: float) -> float:
    """The entropy in nat of a choice between two devices whose scores are at their bounds, without noise."""
    probability = 1.0 / (1.0 + math.exp(-2.0 * tanh_constant))
    return -sum(share * math.log(share) for share in (probability, 1.0 - probability))
