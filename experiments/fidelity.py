"""Simulated beside measured: many placements of three graphs, run by two processes of this machine.

`python -m experiments fidelity` writes docs/results/fidelity.{md,png}. It calibrates the machine first, then runs 60
placements of each graph: random ones, some along a search, and those of methods. Simulated step times are those of an
uncalibrated cluster, of the calibrated one, and of that with measured op times. Finished parts stay in
docs/results/kept/fidelity, so a second call continues; a quiet machine is needed. That folder holds one machine's
measurements: another machine writes the page from whole ones, and else refuses. Source of the question: Addanki et al.,
NeurIPS 2019, appendix A.5.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import VERSION, api
from engine.clusters.calibration import Calibration
from engine.errors import NoisyMachineError, SettingsError
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.this_machine import is_of_this_machine, machine_words
from engine.problem import Budget
from experiments.best_found import ledger_of_run
from experiments.explained import CHOSEN, Report, explained, tables
from experiments.folders import CACHE
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.problems import problem_on
from experiments.sensitivity import placements_of_a_search

COMMAND = "python -m experiments fidelity"
NAME = "fidelity"
WORK = CACHE / "fidelity"
UNCALIBRATED = "2xCPU"
RANDOM, ALONG = 20, 20
METHODS = {"single_device": 1, "human_expert": 1, "m_topo": 1, "m_etf": 1, "m_sct": 1, "heft": 1}
"""method → seeds"""
SEARCHES = {"scotch": 4, "brkga": 3, "local_search": 4, "auto": 3}
"""the same, of methods that draw"""
EVALUATIONS = 2000
ROUNDS, STEPS = 3, 5
PROFILED_STEPS = 10


@dataclass(frozen=True, slots=True)
class MeasuredGraph:
    """A graph of the zoo, at a size whose ops take some ms on one thread of a processor."""

    name: str
    settings: Mapping[str, api.Json]

    @property
    def words(self) -> str:
        """Its name with its settings."""
        return ", ".join([self.name, *(f"{name} {value}" for name, value in self.settings.items())])

    @property
    def stem(self) -> str:
        """Of its files."""
        return self.words.replace(", ", "-").replace(" ", "_")


GRAPHS = (
    MeasuredGraph("inception_v3", {"batch": 4}),
    MeasuredGraph("nmt", {"batch": 32, "steps": 8, "units": 512, "vocabulary": 8000}),
    MeasuredGraph("nasnet", {"batch": 4}),
)


@dataclass(frozen=True, slots=True)
class Costing:
    """Costs and links with which steps are simulated."""

    words: str
    cluster: str
    profiled: bool


def run(folder: Path, report: ReportLine) -> str:
    """Calibrate and measure what is missing, write `folder`/fidelity.{md,png}, and return the page.

    Raises SettingsError where something is missing and the kept measurements are another machine's.
    """
    kept = folder / "kept" / NAME
    kept.mkdir(parents=True, exist_ok=True)
    machine = calibrated(kept, report)
    if not all(reports_of(graph, kept) and is_traced(graph, kept) for graph in GRAPHS):
        require_this_machine(machine, kept)
    found: dict[str, dict[str, dict[str, Any] | str]] = {}
    parts: list[str] = []
    for graph in GRAPHS:
        found[graph.words] = measured(graph, machine, kept, report)
        parts += tables(graph.words, traced(graph, machine, kept, report))
        write_page(folder, NAME, page(found, machine, parts))
    draw(found, folder / f"{NAME}.png")
    return page(found, machine, parts)


def calibrated(kept: Path, report: ReportLine) -> str:
    """The JSON of the calibrated cluster, measured once."""
    path = kept / "machine.json"
    if not path.exists():
        report("calibrating this machine")
        path.write_text(json.dumps(api.cluster_to_json(api.calibrate(lambda *_: None)), indent=1) + "\n")
    return path.read_text()


def calibration_of(machine: str) -> Calibration:
    """What the JSON of the calibrated cluster says of its machine."""
    calibration = api.parse_cluster(machine).calibration
    assert calibration is not None
    return calibration


def require_this_machine(machine: str, kept: Path) -> None:
    """Raise SettingsError where the measurements in `kept` are another machine's, so that no two are mixed."""
    calibration = calibration_of(machine)
    if not is_of_this_machine(calibration):
        what = f"it holds measurements of {calibration.machine}; this machine is {machine_words()}"
        raise SettingsError(what, where=str(kept), advice="remove this folder to measure this machine")


def reports_of(graph: MeasuredGraph, kept: Path) -> dict[str, dict[str, Any] | str]:
    """What `measured` has kept; nothing if it has not ended."""
    path = _reports_file(graph, kept)
    found: dict[str, dict[str, Any] | str] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _reports_file(graph: MeasuredGraph, kept: Path) -> Path:
    return kept / f"{graph.stem}.reports_of_{ROUNDS}x{STEPS}.json"


def is_traced(graph: MeasuredGraph, kept: Path) -> bool:
    """Whether the reports of all placements that are traced are kept."""
    placed, explanations = (kept / f"{graph.stem}.{name}.json" for name in ("placements", "explained"))
    if not (placed.exists() and explanations.exists()):
        return False
    count, found = len(json.loads(placed.read_text())), json.loads(explanations.read_text())
    return all(words in found for place, words in CHOSEN.items() if place < count)


def traced(graph: MeasuredGraph, machine: str, kept: Path, report: ReportLine) -> dict[str, Report]:
    """Words → report of each placement that is traced; the graph is read only where one is missing."""
    file = kept / f"{graph.stem}.explained.json"
    if is_traced(graph, kept):
        found: dict[str, Report] = json.loads(file.read_text())
        return found
    path = built(graph, report)
    placements = placements_of(path, machine, kept / f"{graph.stem}.placements.json", report)
    return explained(path, placements, machine, file, report)


def costings(machine: str) -> tuple[Costing, ...]:
    """The three ways in which steps are simulated."""
    return (
        Costing("before calibration", UNCALIBRATED, profiled=False),
        Costing("calibrated", machine, profiled=False),
        Costing("calibrated, measured op times", machine, profiled=True),
    )


def measured(graph: MeasuredGraph, machine: str, kept: Path, report: ReportLine) -> dict[str, dict[str, Any] | str]:
    """Costing → the report of `api.measure_many`, or the line that says why there is none; kept at the end.

    On the machine itself a graph that was refused as too noisy is measured anew.
    """
    made = reports_of(graph, kept)
    refused = any(isinstance(each, str) for each in made.values())
    if made and not (refused and is_of_this_machine(calibration_of(machine))):
        return made
    path = built(graph, report)
    stem, profile = graph.stem, path.with_suffix(".profile.pb")
    if not profile.exists():
        report(f"profiling {graph.words}")
        options, limits = ReadingOptions(), api.MEASURING_LIMITS
        api.profile(path, ".pb", profile, options, limits, lambda *_: None, steps=PROFILED_STEPS, threads=1)
    placements = placements_of(path, machine, kept / f"{stem}.placements.json", report)
    found: dict[str, dict[str, Any] | str] = {}
    for costing in costings(machine):
        report(f"{graph.words}, {costing.words}")
        try:
            found[costing.words] = api.measure_many(
                path,
                ".pb",
                placements,
                ReadingOptions(),
                api.MEASURING_LIMITS,
                lambda stage, done, total: report(f"{stage}: {done} of {total}") if done == 0 else None,
                cluster=api.parse_cluster(costing.cluster),
                kept=kept / f"{stem}.rounds.json",
                rounds=ROUNDS,
                steps=STEPS,
                run_metadata=profile if costing.profiled else None,
            )
        except NoisyMachineError as error:  # the page says so
            found[costing.words] = str(error)
            break
    _reports_file(graph, kept).write_text(json.dumps(found) + "\n")
    return found


def built(graph: MeasuredGraph, report: ReportLine) -> Path:
    """The graph's file, built once."""
    WORK.mkdir(parents=True, exist_ok=True)
    path = WORK / f"{graph.stem}.pb"
    if not path.exists():
        report(f"building {graph.words}")
        api.build(graph.name, path, lambda *_: None, graph.settings)
    return path


def placements_of(path: Path, machine: str, kept: Path, report: ReportLine) -> list[api.Json]:
    """{op: device} of each placement; made once, so that kept rounds stay valid."""
    prepared, cluster = api.prepare(path, ".pb", lambda *_: None, api.Limits()), api.parse_cluster(machine)
    if not kept.exists():
        report(f"placing {path.stem}")
        kept.write_text(json.dumps(chosen(prepared, machine).tolist()) + "\n")
    groups = np.array(json.loads(kept.read_text()), dtype=np.int32)
    of_ops = groups[:, prepared.grouping.group_of_op]
    return [dict(api.devices_to_json(prepared, cluster, devices)) for devices in of_ops]


def chosen(prepared: api.PreparedGraph, machine: str) -> NDArray[np.int32]:
    """[placements, groups] random ones with every share of the second device, some along a search, and methods'."""
    groups, rng = prepared.grouping.group_count, np.random.default_rng(0)
    shares = np.linspace(0.025, 0.975, RANDOM)
    random = (rng.random((RANDOM, groups)) < shares[:, None]).astype(np.int32)
    along = placements_of_a_search(prepared, api.parse_cluster(machine))
    along = along[np.linspace(0, len(along) - 1, ALONG).round().astype(int)]
    found = []
    for method, seeds in (METHODS | SEARCHES).items():
        for seed in range(seeds):
            problem = problem_on(prepared, machine, EVALUATIONS)
            ledger = ledger_of_run(problem, Budget(EVALUATIONS), method, np.random.default_rng(seed))
            if ledger is not None and ledger.best_placement is not None:
                found.append(ledger.best_placement)
    return np.concatenate([random, along, np.array(found, dtype=np.int32)])


HEAD = (
    "graph, simulated with",
    "noise",
    "spread",
    "Spearman",
    "reachable",
    "Kendall, fastest 20",
    "pairs in order",
    "top-1 regret",
    "regret, cross-checked",
    "median ratio",
    "ratios",
)


def page(found: Mapping[str, Mapping[str, dict[str, Any] | str]], machine: str, parts: Sequence[str]) -> str:
    """The whole page; `parts` are the lines that explain the differences."""
    calibration = calibration_of(machine)
    rows, refused = [], []
    for graph, reports in found.items():
        for words, report in reports.items():
            if isinstance(report, str):
                refused.append(f"- {graph}: {report}")
                break
            rows.append([f"{graph}: {words}", *_cells(report)])
    return "\n".join(
        [
            "# Simulated beside measured",
            "",
            f"`{COMMAND}`; Placeto Explorer {VERSION}; {calibration.machine}, calibrated on {calibration.date}. Two",
            f"processes of one thread, joined by gRPC; {ROUNDS} rounds of {STEPS} steps of each placement. Placements:",
            f"{RANDOM} random, {ALONG} along a search, and those of {', '.join(METHODS | SEARCHES)}.",
            "",
            '"Noise" is the deviation of a placement in one round, "spread" that of the placements. "Reachable" is the',
            "correlation of the mean of all rounds with the truth, by how far rounds agree (Spearman and Brown, 1910).",
            '"Pairs in order" counts pairs that differ by more than twice the noise. "Regret, cross-checked" compares',
            "the simulated fastest in each round with the fastest by the other rounds, ± its standard error. Ratios",
            "are measured over simulated. [measuring.md](../measuring.md) explains each figure.",
            "",
            *table_of_figures(HEAD, rows),
            "",
            *refused,
            "",
            "![Measured over simulated step times of each placement](fidelity.png)",
            "",
            *parts,
        ]
    )


def _cells(report: dict[str, Any]) -> list[str]:
    of = report["fidelity"]
    return [
        f"{report['noise']:.1%}",
        f"{report['spread']:.1%}",
        _figure(of["spearman"]),
        _figure(of["reachable_spearman"]),
        _figure(of["kendall_fastest"]),
        "" if of["ordered_pairs"] is None else f"{of['ordered_pairs']:.1%} of {of['pairs']:,}",
        f"{of['top_1_regret']:.1%}",
        _regret(of["top_1_regret_cross_checked"], of["top_1_regret_error"]),
        f"{of['median_ratio']:.2f}",
        f"{of['least_ratio']:.2f} to {of['greatest_ratio']:.2f}",
    ]


def _regret(regret: float | None, error: float | None) -> str:
    """With its standard error; empty where there is a single round."""
    if regret is None:
        return ""
    return f"{regret:.1%}" if error is None else f"{regret:.1%} ± {error:.1%}"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def draw(found: Mapping[str, Mapping[str, dict[str, Any] | str]], path: Path) -> None:
    """A panel for each graph: measured over simulated step times, with the line on which they are equal."""
    import matplotlib as mpl  # imported here, since a server never draws

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(found), figsize=(5 * len(found), 4), layout="constrained", squeeze=False)
    for panel, (graph, reports) in zip(axes[0], found.items(), strict=True):
        for words, report in reports.items():
            if not isinstance(report, str):
                rows = report["placements"]
                simulated = [row["simulated_step_time_us"] / 1e3 for row in rows]
                panel.scatter(simulated, [row["step_time_us"] / 1e3 for row in rows], s=8, label=words)
        if panel.collections:
            panel.axline((0, 0), slope=1, color="grey", linewidth=0.8)
            panel.set(title=graph, xlabel="simulated step, ms")
        else:
            panel.set(title=graph, xticks=(), yticks=())
            panel.text(0.5, 0.5, "refused: too noisy", transform=panel.transAxes, ha="center")
    axes[0][0].set(ylabel="measured step, ms")
    if axes[0][0].get_legend_handles_labels()[0]:
        axes[0][0].legend(fontsize="small")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
