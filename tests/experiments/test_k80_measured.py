"""The fit of the kind K80-measured, and that the catalogue has what the command wrote."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.clusters.device_kinds import CATALOGUE
from engine.clusters.parsing import parse_cluster
from engine.simulator import Simulator
from experiments.k80_measured import KIND, PAPER_SECONDS, PLAIN, OneDeviceWork, cell, fit, work_of
from tests.engine.placers.small_problems import one_group_an_op
from tests.engine.simulator.cases import Op, graph_of

WRITTEN = json.loads((Path(__file__).parents[2] / "docs" / "results" / "k80_measured.json").read_text())


def test_the_fit_gives_back_the_seconds_that_it_was_given() -> None:
    works = [OneDeviceWork(700_000.0, 2_000), OneDeviceWork(200_000.0, 5_000)]
    efficiency, rest_us = fit(works, [1.5, 1.2])
    seconds = [(work.work_us / efficiency + rest_us * work.ops) / 1e6 for work in works]
    assert seconds == pytest.approx([1.5, 1.2])


def test_the_catalogue_has_the_fitted_figures() -> None:
    kind = CATALOGUE[KIND]
    assert kind.efficiency == pytest.approx(WRITTEN["efficiency"], rel=1e-4)
    assert kind.op_rest_us == pytest.approx(WRITTEN["op_rest_us"], rel=1e-3)
    for name, row in WRITTEN["fitted_to"].items():
        assert row["simulated_seconds"] == pytest.approx(PAPER_SECONDS[name], rel=1e-3)
        again = (row["work_us"] / kind.efficiency + kind.op_rest_us * row["ops"]) / 1e6
        assert again == pytest.approx(row["simulated_seconds"], rel=1e-9)


def test_everything_else_of_the_kind_is_the_k80s() -> None:
    kind, plain = CATALOGUE[KIND], CATALOGUE[PLAIN]
    for name in ("peak_gflops", "peak_gflops_by_type", "memory_bandwidth_bytes_per_us", "memory_bytes", "host"):
        assert getattr(kind, name) == getattr(plain, name)
    mixed = parse_cluster("2xK80+1xk80-MEASURED+cpu")
    assert mixed.op_rests_us.tolist() == [5.7, 5.7, kind.op_rest_us, 5.7]


def test_nmt_fits_no_single_device_nor_the_experts_placement_but_others() -> None:
    fits = {(row["graph"], row["method"]): row["feasible"] for row in WRITTEN["nmt"]}
    for graph in ("nmt", "nmt_4_layers"):
        assert not fits[graph, "single_device"]
        assert not fits[graph, "human_expert"]
        assert fits[graph, "local_search"]


def test_a_step_on_one_device_is_the_work_and_the_rests() -> None:
    graph, costs = graph_of([Op("a", time_us=4), Op("b", ["a"], time_us=0), Op("c", ["b"], time_us=6)])
    assert work_of(api.PreparedGraph(graph, costs, one_group_an_op(graph, costs))) == OneDeviceWork(10.0, 2)
    step = Simulator(graph, costs, parse_cluster(PLAIN)).evaluate(np.zeros((1, 3), dtype=np.int32))
    assert step.step_time_us[0] == pytest.approx(10 + 2 * 5.7)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (api.Outcome("post", 0, 2e6, feasible=True, peak_bytes=(3 * 10**9, 4 * 10**9)), "2 s, 4.0 GB"),
        (api.Outcome("post", 0, 2e6), "out of memory"),
    ],
)
def test_cells(outcome: api.Outcome, text: str) -> None:
    assert cell(outcome) == text
