"""The experiment on published workloads: both spellings of a small file, its page, and the published optima."""

import json
import re
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

from engine import api
from engine.errors import GraphError, SettingsError
from engine.events import Json
from engine.placers.pipeline_dp.placer import PipelineDp
from experiments.auto_check.cases import SHARED
from experiments.folders import ROOT
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
    assert "It is at most 1% on 1 of 1 with Pipeline DP, contiguous, and on 1 of 1 with MILP, free." in first
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


DOPPLER = "5\n0, 3, \n0, 0, 1, \n1, 2, 2, \n20000000000,40000000000\n10000000000,5000000000,formation\n30000000000,1\n"
"""three nodes and two inputs: 2, 1 and 3 µs, whose outputs take 4, 0.5 and nearly no µs"""


def test_a_file_of_doppler_is_a_workload_of_four_devices_or_eight(tmp_path: Path) -> None:
    for name in ("block.txt", "8gpu_block.txt"):
        (tmp_path / name).write_text(DOPPLER)
    (tmp_path / "README.txt").write_text("112 nodes\n")
    for_eight, for_four = workloads_in(tmp_path)
    assert for_four.name == f"{tmp_path.name} block"
    assert (for_eight.cluster.device_count, for_four.cluster.device_count) == (8, 4)
    problem = for_four.problem(contiguous=True)
    placement = placement_of_nodes(for_four, problem, {0: 0, 1: 0, 2: 1})
    assert problem.times_of(placement[None]).step_time_us[0] == pytest.approx(3.0 + 4.0 + 0.5)
    assert period_of(for_four, ONE_DEVICE, 1.0) == pytest.approx(6.0)
    assert period_of(for_four, "pipeline_dp, contiguous", 1.0) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("5\n0, 3\n0\n1\n", "bad.txt: has 4 lines; allowed: 4 lines of the graph, then one a node"),
        ("5\n0, 3\n0\n1\n1,1\n1,1\n", "bad.txt: 5 nodes, 2 of them inputs, have 2 lines of costs; allowed: 3 lines"),
        ("2\n0\n0, 0\n0\n1,1\n", "bad.txt: 2 edges start, and 1 end"),
        ("2\n0\n0\n7\n1,1\n", "bad.txt: an edge has node 7; allowed: 0 to 0"),
        ("2\n0\na\n0\n1,1\n", "bad.txt: line 3 has other than numbers; allowed: numbers with commas"),
        (
            "2\n0\n\n\n1;1\n",
            "bad.txt, line 5: '1;1' is no cost of a node; allowed: FLOPs,bytes or FLOPs,bytes,kind",
        ),
    ],
)
def test_a_text_that_is_nearly_a_file_of_doppler_is_refused_in_a_sentence(
    tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(GraphError) as refused:
        list(workloads_in(tmp_path))
    assert str(refused.value) == sentence


def test_pickles_are_refused_unopened(tmp_path: Path) -> None:
    (tmp_path / "v_10_alpha_0.1.pkl").write_bytes(b"not opened")
    with pytest.raises(GraphError, match="this is a pickle, which would run what its author wrote; allowed: JSON"):
        list(workloads_in(tmp_path))


def test_the_page_s_few_lines_write_a_graph_of_giph_with_its_network(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "formats" / "published_workloads.md").read_text()
    (code,) = re.findall(r"^```python giph\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # our own page
    graph = networkx.DiGraph()
    for node, compute in enumerate((100.0, 60.0, 80.0)):
        graph.add_node(node, compute=compute, h_constraint=node % 2)
    graph.add_edge(0, 1, bytes=50.0)
    graph.add_edge(1, 2, bytes=10.0)
    comm_speed = np.array([[0.0, 0.1], [0.1, 0.0]])
    network = {"speed": np.array([4.0, 2.0]), "delay": 30 * (1 - np.eye(2)), "comm_speed": comm_speed}
    names["write"](graph, network | {"device_constraints": {0: [0], 1: [0, 1]}}, tmp_path / "v3")
    cluster = api.parse_cluster((tmp_path / "v3.cluster.json").read_text())
    prepared = api.prepare(tmp_path / "v3.graph.json", ".json", lambda *_: None, api.Limits())
    apart: dict[str, Json] = {"0": "/device:GPU:0", "1": "/device:GPU:1", "2": "/device:GPU:0"}
    (report,) = api.simulate(prepared, cluster, [apart])
    assert isinstance(report, dict)
    assert report["step_time_us"] == pytest.approx(100 / 4 + 30 + 5 + 60 / 2 + 30 + 1 + 80 / 4)
    (report,) = api.simulate(prepared, cluster, [apart | {"1": "/device:GPU:0"}])
    assert isinstance(report, dict) and "GPU:0" in str(report["breaks"])
