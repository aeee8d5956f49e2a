"""What searching at every level is worth beside one level: auto with levels, and in 128 groups, in 512, and in all.

`python -m experiments levels` writes docs/results/levels.md; a second call continues where the first stopped. The
single levels come first, and with them the list of the problems where one of them is ahead of 128 groups: what is
expected of the search over levels there is known before it runs. The best single level of each problem is chosen on
these seeds and compared on others. Last, a minute on some of the problems.
"""

from collections.abc import Iterator, Sequence
from math import expm1, log
from pathlib import Path
from statistics import fmean

from engine import VERSION
from engine.events import Json
from experiments.auto_check.cases import SHARED
from experiments.keeping.kept_results import KeptResults, Measurement
from experiments.keeping.statistics import mean_over, paired_mean
from experiments.leveled import ALL, GRAPHS_SEED, LEVELS, GraphOnCluster, measure_rounds
from experiments.pages import ReportLine, table_of_figures, write_page

COMMAND = "python -m experiments levels"
NAME = "levels"
UNEQUAL = "2xV100+2xK80"
CLUSTERS = ("2xK80", "4xK80", "8xK80", UNEQUAL)
GRAPHS = (
    "zoo/inception_v3",
    "zoo/inception_v3",
    "zoo/nasnet",
    "zoo/nasnet",
    "zoo/nmt",
    "zoo/nmt",
    "zoo/nmt_4_layers",
    "zoo/nmt_4_layers",
    "nmt/0",
    "nmt/1",
    "ptb/0",
    "ptb/1",
    "cifar10/0",
    "cifar10/1",
    "shared/bert_l-3_inference_ops",
    "shared/chain_mm",
    "random/series-parallel/1000",
    "random/layered/1000",
    "random/tree/5000",
    "random/butterfly/5000",
    "random/series-parallel/10000",
    "random/layered/10000",
    "random/tree/20000",
    "random/butterfly/20000",
)
"""of the zoo; held out of a family; of public benchmarks, where they have been put beside the checkout; random"""
EVALUATIONS, SECONDS, MORE_SECONDS = 20_000, 10.0, 60.0
BUDGETS = ("evaluations", "seconds")
MORE = "more seconds"
SEEDS = (0, 1, 2)
OTHER_SEEDS = (3, 4, 5)
"""on which the best single level, chosen on `SEEDS`, is compared"""
SINGLE: tuple[str, ...] = ("128", "512", ALL)
STATE_OF_SINGLE = "ba38b22cb238"
"""the state of the code that measured the single levels; what has changed since is the search through several, and
`checks` show it"""
CHECKED = "512"
WORTH = 0.03
"""a single level so much faster than 128 groups is worth choosing"""
LONG = (0, 2, 5, 7, 8, 11, 12, 20)
"""the problems that are also searched for `MORE_SECONDS`: each graph of the zoo, a graph a family, a random one"""


def problems() -> list[GraphOnCluster]:
    """The graphs, each on the next of `CLUSTERS`; those that are not on this machine are left out."""
    rotation = [GraphOnCluster(graph, CLUSTERS[index % len(CLUSTERS)]) for index, graph in enumerate(GRAPHS)]
    return [place for place in rotation if not place.graph.startswith("shared/") or SHARED.is_dir()]


def run(folder: Path, report: ReportLine) -> str:
    """Measure what `folder`/kept/levels.jsonl lacks, the single levels first, write the page, and return it."""
    kept = kept_in(folder)
    for place, wanted in _rounds(kept):
        orders = {f"{place.graph} on {place.cluster}, {key['column']}, {_budget_of(key)}": key for key in wanted}
        measure_rounds(kept, place.graph, orders, report)
        write_page(folder, NAME, page(kept))
    return write_page(folder, NAME, page(kept))


def kept_in(folder: Path) -> KeptResults:
    """What `folder` has of this state of the code, and the single levels that `STATE_OF_SINGLE` measured."""

    def also(key: Measurement, code: str) -> bool:
        return code == STATE_OF_SINGLE and key["column"] in SINGLE and key["seeds"] != [SEEDS[0]]

    return KeptResults(folder / "kept" / f"{NAME}.jsonl", also=also)


def checks(kept: KeptResults) -> tuple[int, int]:
    """How many problems have one seed of a single level measured again, and how many of these as before to the bit."""
    pairs = [(check_of(place), key_of(place, CHECKED, "evaluations")) for place in problems()]
    again = [kept[check][0] == kept[before][0] for check, before in pairs if check in kept and before in kept]
    return len(again), sum(again)


def check_of(place: GraphOnCluster) -> Measurement:
    """One seed of a single level, always measured by the present code."""
    return key_of(place, CHECKED, "evaluations", SEEDS[:1])


def _rounds(kept: KeptResults) -> Iterator[tuple[GraphOnCluster, list[Measurement]]]:
    """What is measured, problem by problem, in this order; what is compared depends on what `kept` has by then."""
    for place in problems():
        yield place, [key_of(place, column, budget) for column in SINGLE for budget in BUDGETS]
    for place in problems():
        yield place, [check_of(place)]
    for place in problems():
        yield place, [key_of(place, LEVELS, budget) for budget in BUDGETS]
    for place in problems():
        compared = [(column, budget) for budget in BUDGETS for column in (best_single(kept, place, budget), LEVELS)]
        yield place, [key_of(place, column, budget, OTHER_SEEDS) for column, budget in compared]
    for place in long_problems():
        yield place, [key_of(place, column, MORE) for column in (*SINGLE, LEVELS)]


def long_problems() -> list[GraphOnCluster]:
    """The problems that are also searched for `MORE_SECONDS`."""
    return [problems()[number] for number in LONG if number < len(problems())]


def key_of(place: GraphOnCluster, column: str, budget: str, seeds: Sequence[int] = SEEDS) -> Measurement:
    """What a child measures: some seeds of a column on a problem, in so many evaluations or processor seconds."""
    limits: dict[str, dict[str, Json]] = {
        "evaluations": {"evaluations": EVALUATIONS},
        "seconds": {"seconds": SECONDS},
        MORE: {"seconds": MORE_SECONDS},
    }
    return {**place._asdict(), "column": column, "seeds": list[Json](seeds), **limits[budget]}


def _budget_of(key: Measurement) -> str:
    return f"{key['seconds']:g} s" if "seconds" in key else f"{key['evaluations']:,} evaluations"


def best_single(kept: KeptResults, place: GraphOnCluster, budget: str) -> str:
    """The single level with the least mean step time over `SEEDS`, the first of equals."""
    return min(SINGLE, key=lambda column: fmean(_step_times_us(kept, place, column, budget)))


def page(kept: KeptResults) -> str:
    """The page with the problems whose single levels have been measured."""
    parts = [_HEAD]
    for budget, words in (
        ("evaluations", f"With {EVALUATIONS:,} evaluations"),
        ("seconds", f"In {SECONDS:g} s of one processor"),
        (MORE, f"In {MORE_SECONDS:g} s of one processor"),
    ):
        asked = long_problems() if budget == MORE else problems()
        known = [place for place in asked if all(key_of(place, column, budget) in kept for column in SINGLE)]
        parts += [f"## {words}", _table(kept, known, budget), _worth(kept, known, budget)]
        if budget != MORE:
            parts.append(_compared(kept, known, budget))
    keys = [key for key in _all_keys() if key in kept]
    made = kept.made(keys) if keys else "nothing measured yet"
    title = ["# Searching at every level", f"`{COMMAND}`; Placeto Explorer {VERSION}; {made}."]
    return "\n\n".join([*title, *parts, _checked(kept)]) + "\n"


def _checked(kept: KeptResults) -> str:
    again, same = checks(kept)
    text = [
        f"Single levels count as code {STATE_OF_SINGLE} measured them: only the search through several levels has",
        f"changed since. As a check, the present code repeats one seed in {CHECKED} groups: {same} of {again} problems",
        "give the same step time to the bit.",
    ]
    return "\n".join(["## Whether single levels have changed", "", *text])


def _all_keys() -> list[Measurement]:
    """Everything that could be measured."""
    columns = (*SINGLE, LEVELS)
    keys = [
        key_of(place, column, budget, seeds)
        for place in problems()
        for column in columns
        for budget in BUDGETS
        for seeds in (SEEDS, OTHER_SEEDS)
    ]
    return keys + [key_of(place, column, MORE) for place in long_problems() for column in columns]


_HEAD = f"""Auto, seeds {SEEDS[0]} to {SEEDS[-1]}, estimated costs: in 128 groups (`--groups 128`), in 512, with each
set of co-located ops as a group (`all`), and of these with all coarser levels. Figures are differences of the mean step
time to that in 128 groups, negative is faster, with the paired 95 % interval over the seeds for the search over levels.
Random graphs are of seed {GRAPHS_SEED}. Below each table: the best single level of each problem, chosen on these seeds,
and the search over levels beside it on seeds {OTHER_SEEDS[0]} to {OTHER_SEEDS[-1]}, which chose nothing."""


def _table(kept: KeptResults, known: Sequence[GraphOnCluster], budget: str) -> str:
    rows, logs = [], []
    for place in known:
        usual = _step_times_us(kept, place, SINGLE[0], budget)
        cells = [f"{place.graph}, {place.cluster}", f"{fmean(usual) / 1e6:.4f}"]
        cells += [f"{100 * _ahead(kept, place, column, budget):+.1f} %" for column in SINGLE[1:]]
        if key_of(place, LEVELS, budget) in kept:
            logs.append(_logs(_step_times_us(kept, place, LEVELS, budget), usual))
            cells.append(_as_percent(logs[-1]))
        rows.append([*cells, "–"][:5])
    if logs:
        rows.append(["mean", "", "", "", _mean_of_all(logs)])
    return "\n".join(table_of_figures(("graph, cluster", "128, s", "512", "all", "levels"), rows))


def _compared(kept: KeptResults, known: Sequence[GraphOnCluster], budget: str) -> str:
    """The search over levels beside the best single level, on seeds that did not choose it."""
    rows, logs = [], []
    for place in known:
        best = best_single(kept, place, budget)
        keys = [key_of(place, column, budget, OTHER_SEEDS) for column in (LEVELS, best)]
        if all(key in kept for key in keys):
            logs.append(_logs(*[kept[key] for key in keys]))
            rows.append([f"{place.graph}, {place.cluster}", best, _as_percent(logs[-1])])
    if logs:
        rows.append(["mean", "", _mean_of_all(logs)])
    head = ("graph, cluster", "best single level", "levels beside it")
    return "\n".join(table_of_figures(head, rows or [["none measured yet", "", ""]]))


def _logs(times_us: Sequence[float], others_us: Sequence[float]) -> list[float]:
    return [log(one / other) for one, other in zip(times_us, others_us, strict=True)]


def _as_percent(logs: Sequence[float]) -> str:
    return paired_mean([expm1(each) for each in logs]).as_percent()


def _mean_of_all(logs: Sequence[Sequence[float]]) -> str:
    mean = mean_over(logs)
    low, high = (f"{100 * expm1(bound):.1f}" for bound in (mean.low, mean.high))
    return f"{100 * expm1(mean.mean):+.1f} % ({low} to {high})"


def _worth(kept: KeptResults, known: Sequence[GraphOnCluster], budget: str) -> str:
    """The problems where a single level is worth choosing."""
    named = [f"- {place.graph}, {place.cluster}" for place in known if min(_others(kept, place, budget)) <= -WORTH]
    head = f"A single level is at least {WORTH:.0%} ahead of 128 groups on {len(named)} of {len(known)} problems:"
    return "\n".join([head, "", *(named or ["none"])])


def _others(kept: KeptResults, place: GraphOnCluster, budget: str) -> list[float]:
    return [_ahead(kept, place, column, budget) for column in SINGLE[1:]]


def _ahead(kept: KeptResults, place: GraphOnCluster, column: str, budget: str) -> float:
    """The mean step time of a column over that in 128 groups, less 1."""
    return (
        fmean(_step_times_us(kept, place, column, budget)) / fmean(_step_times_us(kept, place, SINGLE[0], budget)) - 1
    )


def _step_times_us(kept: KeptResults, place: GraphOnCluster, column: str, budget: str) -> list[float]:
    found: list[float] = kept[key_of(place, column, budget)]
    return found
