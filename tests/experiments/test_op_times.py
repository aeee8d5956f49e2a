"""Predicted op times: on a made-up machine two efficiencies find what one cannot."""

import pytest

from engine import api
from engine.measuring.calibrating.checking import CHECKS
from engine.zoo import build_graph
from experiments import op_times
from experiments.op_times import CHECKED, TRACED, Error, error_of, errors, page, words_of
from tests.engine.measuring.calibrating.made_up_machine import machine_of, step_on_one, true_machine


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> api.PreparedGraph:
    path = tmp_path_factory.mktemp("zoo") / "tiny_cnn.pb"
    build_graph("tiny_cnn", path)
    return api.prepare(path, ".pb", lambda *_: None, api.Limits(), 16)


def test_the_error_is_that_of_the_whole_and_of_single_ops_beside_it(prepared: api.PreparedGraph) -> None:
    step = step_on_one(prepared, machine_of(0.4, {}))
    assert error_of(step, machine_of(0.8, {})) == pytest.approx(Error(2.0, 0.0), abs=1e-9)
    assert error_of(step, machine_of(0.8)).scatter > 0.01, "some types are wrong"


def test_two_efficiencies_predict_what_one_cannot(prepared: api.PreparedGraph) -> None:
    steps = {name: step_on_one(prepared, true_machine()) for name in ("cifar10, batch 1", "nmt", "cifar10, batch 2")}
    found = errors(steps, machine_of(), lambda graph, other: graph.split(",")[0] != other.split(",")[0])
    for one, two in found.values():
        assert two == pytest.approx(Error(1.0, 0.0), abs=0.01) and one.ratio == pytest.approx(1, rel=0.01)
        assert one.scatter > two.scatter + 0.01


def test_a_graph_learns_from_those_that_are_seen_alone(prepared: api.PreparedGraph) -> None:
    steps = {"slow": step_on_one(prepared, machine_of(0.2, {})), "fast": step_on_one(prepared, machine_of(0.8, {}))}
    found = errors(steps, machine_of(0.8, {}), lambda graph, other: graph != other)
    assert found["slow"][1].ratio == pytest.approx(4, rel=0.02) and found["fast"][1].ratio == pytest.approx(
        0.25, rel=0.02
    )


def test_the_page_has_a_table_of_families_and_one_of_what_a_calibration_has_not_seen(
    prepared: api.PreparedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len({words_of(graph) for graph in TRACED}) == len(TRACED) and len(CHECKED) == len(CHECKS)
    monkeypatch.setattr(op_times, "LEAST_US", 0.0)
    steps = {words_of(graph): step_on_one(prepared, true_machine()) for graph in TRACED}
    text = page(steps, machine_of())
    families, of_checks = text.split("## From")[1:]
    assert all(families.count(f"| {words_of(graph)} |") == 1 for graph in TRACED)
    assert [words_of(graph) in of_checks for graph in TRACED] == [graph not in CHECKED for graph in TRACED]
    assert families.count("off by, in the mean") == of_checks.count("off by, in the mean") == 1
