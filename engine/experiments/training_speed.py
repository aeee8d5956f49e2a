"""How fast Placeto trains: episodes a second of each preset, beside the published code's own figure."""

import time

from engine import api
from engine.events import Episode
from engine.experiments.learning_curve import CLUSTER, GRAPH, prepared_graph

EVALUATIONS = {"fast": 1000, "paper": 2000}
PUBLISHED_SECONDS = 20.0
"""an episode of the published code on an Inception graph of 100 groups, 2 devices, intermediate rewards (two cores)"""
WARM_UP_EVALUATIONS = 40


def run_benchmark() -> str:
    """Train each preset on the zoo's Inception-V3 and return a table."""
    prepared = prepared_graph(lambda _: None)
    rows = [_row(prepared, preset) for preset in EVALUATIONS]
    head = [
        f"{GRAPH}, {prepared.grouping.group_count} groups, {CLUSTER}; simulation, network and learning together.",
        "Yardstick run beside: preset `paper`, the published form. The published code itself (repaired) once took "
        f"{PUBLISHED_SECONDS:g} s an episode on such a graph and machine; it is not run here.",
        f"{'preset':8}{'episodes':>9}{'seconds':>9}{'episodes/s':>12}{'evaluations/s':>15}{'x published':>13}",
    ]
    return "\n".join([*head, *rows])


def _row(prepared: api.PreparedGraph, preset: str) -> str:
    _train(prepared, preset, WARM_UP_EVALUATIONS)  # compiles, or loads what is compiled
    started = time.perf_counter()
    episodes = _train(prepared, preset, EVALUATIONS[preset])
    seconds = time.perf_counter() - started
    rate = episodes / seconds
    return (
        f"{preset:8}{episodes:9}{seconds:9.1f}{rate:12.1f}{EVALUATIONS[preset] / seconds:15.0f}"
        f"{rate * PUBLISHED_SECONDS:13.0f}"
    )


def _train(prepared: api.PreparedGraph, preset: str, evaluations: int) -> int:
    """Episodes of one run."""
    count = 0

    def hear(item: api.NumberedEvent | api.Checkpoint) -> None:
        nonlocal count
        count += isinstance(item, api.NumberedEvent) and isinstance(item.event, Episode)

    request = api.RunRequest(
        api.parse_cluster(CLUSTER), "placeto", api.Budget(evaluations), seed=0, settings={"preset": preset}
    )
    api.place(prepared, request, hear, lambda: False)
    return count
