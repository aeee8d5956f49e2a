"""The experiment on published workloads: both spellings of a small file, its page, and the published optima."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import GraphError, SettingsError
from engine.events import Json
from engine.placers.pipeline_dp.placer import PipelineDp
from experiments.auto_check.cases import SHARED
from experiments.public_workloads.pipedream import pipedream_us
from experiments.public_workloads.table import EXPERT, ONE_DEVICE, PIPEDREAM, period_of, run
from experiments.public_workloads.workloads import PUBLISHED, placement_of_nodes, workloads_in

PIPEDREAM_US = {
    "layer_resnet50_inference": 39.40,
    "layer_resnet50_training": 83.67,
    "layer_gnmt_inference": 33.03,
    "operator_bert_l-3_inference": 37.46,
    "operator_bert_l-3_training": 122.99,
}
"""as published"""
CHAIN: dict[str, Any] = {
    "name": "chain",
    "accelerators": 2,
    "cpus": 1,
    "memory_bytes": 1e9,
    "contiguous_optimum": 5.25,
    "nodes": [
        {"id": 7, "cpu": 50.0, "accelerator": 5.0, "bytes": 10.0, "backward": False, "colocation": 1},
        {"id": 8, "cpu": 20.0, "accelerator": 2.0, "bytes": 10.0, "backward": False, "colocation": None},
        {"id": 9, "cpu": 30.0, "accelerator": 3.0, "bytes": 10.0, "backward": False, "colocation": 3},
    ],
    "edges": [{"source": 7, "target": 8, "cost": 0.25}, {"source": 8, "target": 9, "cost": 4.0}],
}
SPLIT = {"cpus": [{"nodes": []}], "fpgas": [{"nodes": [7, 8]}, {"nodes": [9]}]}


def published_spelling(content: dict[str, Any]) -> dict[str, Any]:
    """`content` with the published names."""

    def spelled(given: dict[str, Any], part: str) -> dict[str, Any]:
        return {PUBLISHED[part][name]: value for name, value in given.items() if name in PUBLISHED[part]}

    return spelled(content, "workload") | {
        "nodes": [spelled(node, "nodes") | {"supportedOnFpga": 1} for node in content["nodes"]],
        "edges": [spelled(edge, "edges") for edge in content["edges"]],
    }


def test_both_spellings_are_one_workload_and_an_expert_s_split_is_read(tmp_path: Path) -> None:
    (tmp_path / "plain.json").write_text(json.dumps(CHAIN))
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "chain.json").write_text(json.dumps(published_spelling(CHAIN)))
    (tmp_path / "below" / "chain_expert.json").write_text(json.dumps(SPLIT))
    (tmp_path / "other.json").write_text("[]")
    published, plain = workloads_in(tmp_path)
    assert (published.name, plain.name) == ("below chain", "chain")
    assert plain.expert is None and published.expert == {7: 0, 8: 0, 9: 1}
    for workload in (published, plain):
        assert period_of(workload, ONE_DEVICE, 1.0) == 10.0
        assert period_of(workload, "pipeline_dp, contiguous", 1.0) == pytest.approx(5.25)
        assert period_of(workload, PIPEDREAM, 1.0) == pytest.approx(5.25)
    assert period_of(published, EXPERT, 1.0) == pytest.approx(11.0)
    problem = published.problem(contiguous=True)
    placement = placement_of_nodes(published, problem, {7: 0, 8: 1, 9: 1})
    assert problem.times_of(placement[None]).step_time_us[0] == pytest.approx(5.25)


def test_the_page_has_what_was_measured_and_a_second_call_measures_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "chain.json").write_text(json.dumps(CHAIN))
    settings: dict[str, Json] = {"folder": str(data), "seconds": 0.05, "proof_seconds": 5.0}
    first = run(tmp_path, lambda _: None, settings)
    assert "| chain | Pipeline DP, contiguous | 5.2500 | 5.2500 | 0.00 |" in first
    assert "In 2 of 2 rows it is at most 1%." in first
    assert "finds 1 of 1 published optima" in first and "| chain | 3 |" in first
    heard: list[str] = []
    assert run(tmp_path, heard.append, settings) == first and heard == ["chain"]
    assert json.loads((tmp_path / "public_workloads.json").read_text())[0]["workload"] == "chain"


def test_what_is_no_workload_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no workload"):
        run(tmp_path, lambda _: None, {"folder": str(tmp_path)})
    with pytest.raises(SettingsError, match="is no folder"):
        run(tmp_path, lambda _: None, {"folder": str(tmp_path / "nowhere")})
    lacking = CHAIN | {"edges": [{"source": 7, "target": 8}]}
    (tmp_path / "lacking.json").write_text(json.dumps(lacking))
    with pytest.raises(GraphError, match="has no 'cost'"):
        list(workloads_in(tmp_path))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the public graphs are not beside the checkout")
def test_published_optima_and_the_published_rule() -> None:
    workloads = {each.name: each for each in workloads_in(SHARED)}
    assert workloads.keys() == PIPEDREAM_US.keys()
    for name, workload in workloads.items():
        problem = workload.problem(contiguous=True)
        PipelineDp().place(problem, np.random.default_rng(0), lambda: False)
        published_us = workload.published_us["contiguous_optimum"]
        assert problem.ledger.best_step_time_us == pytest.approx(published_us, rel=1e-3), name
        assert pipedream_us(problem) == pytest.approx(PIPEDREAM_US[name], abs=0.01), name
