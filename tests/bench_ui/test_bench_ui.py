"""What `python -m tests.bench_ui` says of its figures, and the graphs that it measures with."""

import math
from typing import Any

import networkx

from tests.bench_ui.browser import motion_of
from tests.bench_ui.cases import CASES
from tests.bench_ui.figures import MEBIBYTE, Figures, Goal, Motion, missed, table
from tests.bench_ui.material import MATERIAL, training_step


def a_page(**motions: Motion) -> dict[str, Any]:
    figures = Figures("a page", Goal(1000, 30), [900.0, 1400.0, 950.0], [3.0 * MEBIBYTE])
    figures.motions = {name: [motion] for name, motion in motions.items()}
    return figures.to_json()


def test_frames_are_counted_between_their_beginnings() -> None:
    assert motion_of([0.0, 10.0, 20.0, 220.0]) == Motion(3000 / 220, 200.0)
    assert motion_of([5.0]) == Motion(0.0, math.inf), "one frame is no motion"


def test_medians_are_compared_with_the_goals() -> None:
    row = a_page(pan=Motion(30.0, 250.0), zoom=Motion(29.9, 251.0))
    assert row["open_ms"] == 950.0
    assert missed(row) == [
        "a page, zoom: 29.9 frames a second, goal 30",
        "a page, zoom: the longest frame takes 251 ms, goal 250 ms",
    ]
    late = Figures("late", Goal(1000, None), [1001.0], [1.0], {"pan": [Motion(1.0, 999.0)]})
    assert missed(late.to_json()) == ["late: opens in 1001 ms, goal 1000 ms"], "without a goal nothing moves too slowly"
    assert missed(Figures("gone", Goal(), fault="not drawn").to_json()) == ["gone: not drawn"]


def test_the_table_has_ratios_to_the_empty_page() -> None:
    empty = Figures("empty page", Goal(), [100.0], [MEBIBYTE]).to_json()
    lines = table([empty, a_page(pan=Motion(41.25, 60.0), zoom=Motion(20.0, 70.0))]).splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines]
    assert cells[2][:5] == ["empty page", "0.10", "1.0", "1.0", "1.0"]
    assert cells[3] == ["a page", "0.95", "9.5", "3.0", "3.0", "pan", "41.2", "60 (most 60)"]
    assert cells[4][-3:] == ["zoom", "20.0", "70 (most 70)"]


def test_each_page_has_its_material_and_the_graphs_are_acyclic_steps_of_their_size() -> None:
    assert {case.material for case in CASES.values()} == {"", *MATERIAL}
    graph = training_step(2000)
    names = [node["id"] for node in graph["nodes"]]
    assert len(set(names)) == len(names)
    assert abs(len(names) - 2000) < 10
    edges = [(edge["source"], edge["target"]) for edge in graph["edges"]]
    drawn = networkx.DiGraph(edges)
    assert set(drawn) == set(names)
    assert networkx.is_directed_acyclic_graph(drawn)
    assert drawn.out_degree("learning_rate") == sum(name.startswith("update/") for name in names)
