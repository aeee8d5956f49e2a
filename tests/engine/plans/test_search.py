"""The search beside all plans of small cases."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest

from engine.clusters.cluster import Contention, part_of_cluster
from engine.errors import GraphError, InfeasibleError, SettingsError
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER
from engine.plans import all_plans
from engine.plans.by_batch import ModelByBatch, model_by_batch
from engine.plans.plan import Plan, PlanRules, Replica
from engine.plans.request import PlanRequest
from engine.plans.search import PlanSearch
from engine.plans.simulated import PlanSimulator
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.drawn_plans import all_divided, drawn_case, model_of_ops, one_gradient
from tests.engine.simulator.cases import Op, cluster_of, graph_of

CASES = 40
RULES = PlanRules(Pipeline.ONE_F_ONE_B)


@functools.cache
def best_of_all_us(seed: int) -> float:
    """The shortest batch of all plans of a drawn case."""
    model, cluster, batch = drawn_case(seed)
    simulator = PlanSimulator(model, cluster, RULES)
    return min(simulator.simulate(plan).batch_time_us for plan in all_divided(model, cluster, batch))


@pytest.mark.parametrize("part", range(4))
def test_the_search_finds_the_best_of_all_plans(part: int) -> None:
    for seed in range(part, CASES, 4):
        model, cluster, batch = drawn_case(seed)
        found = PlanSearch(model, PlanRequest(cluster, batch, RULES, seconds=60)).run()
        assert found.not_reached == 0
        assert found.best[0].batch_time_us == pytest.approx(best_of_all_us(seed)), seed


def test_where_plans_are_many_the_search_is_near_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Placements that are the best for the passes alone: the best plan in most cases, and near it in all."""
    monkeypatch.setattr(all_plans, "MOST_PLANS", 0)
    ahead = []
    for seed in range(CASES):
        model, cluster, batch = drawn_case(seed)
        found = PlanSearch(model, PlanRequest(cluster, batch, RULES, seconds=60)).run()
        ahead.append(found.best[0].batch_time_us / best_of_all_us(seed))
    assert min(ahead) >= 1 - 1e-9
    assert max(ahead) < 1.2 and sum(each < 1 + 1e-9 for each in ahead) >= 0.8 * len(ahead)


def test_no_plan_is_faster_than_its_bound() -> None:
    for seed in range(10):
        model, cluster, batch = drawn_case(seed)
        search = PlanSearch(model, PlanRequest(cluster, batch, RULES, seconds=60))
        simulator = PlanSimulator(model, cluster, RULES)
        bounds = {candidate.division: search._times.bound_us(candidate) for candidate in search._candidates()}
        for plan in itertools.islice(all_divided(model, cluster, batch), 0, None, 37):
            devices = [set(replica.devices) for replica in plan.replicas]
            division = tuple(sorted(tuple(len(own.intersection(each)) for each in search._classes) for own in devices))
            assert simulator.simulate(plan).batch_time_us >= bounds[division] * (1 - 1e-9)


def test_a_plan_is_never_behind_its_starts() -> None:
    model, cluster, batch = drawn_case(3)
    simulator = PlanSimulator(model, cluster, RULES)
    start = min(all_divided(model, cluster, batch), key=lambda plan: simulator.simulate(plan).batch_time_us)
    found = PlanSearch(model, PlanRequest(cluster, batch, RULES, seconds=1e-6)).run([start])
    assert found.best[0].batch_time_us == simulator.simulate(start).batch_time_us and found.not_reached > 0


def test_the_faster_card_takes_larger_micro_batches() -> None:
    """Two micro-batches each, of sizes with which a card of half the speed ends with the other."""
    ops = [Op("f", (), 30.0), Op("b", ["f"], 60.0, (8,)), Op("u", ["b"], 1.0)]
    graph, one = graph_of(ops)
    graph = dataclasses.replace(graph, phase=np.array([FORWARD, BACKWARD, OPTIMIZER], np.uint8))
    one = dataclasses.replace(one, kinds=("GPU", "CPU"), time_us=np.array([[30.0, 60.0, 1.0], [60.0, 120.0, 2.0]]))
    three = dataclasses.replace(one, time_us=one.time_us * [3.0, 3.0, 1.0])
    cluster = cluster_of(2, Contention.PAIR, bandwidth_bytes_per_us=1e4, latency_us=1.0, op_rest_us=0.0)
    slow = dataclasses.replace(cluster.devices[1], kind="CPU")
    cluster = dataclasses.replace(cluster, devices=(cluster.devices[0], slow))
    search = PlanSearch(model_of_ops(graph, one, three), PlanRequest(cluster, 12, RULES, seconds=60))
    (candidate,) = [each for each in search._candidates() if len(each.division) == 2 and each.micro_batch == 3]
    (plan,) = search._uneven(candidate)
    assert sorted((replica.devices, replica.micro_batch, replica.micro_batches) for replica in plan.replicas) == [
        ((0,), 4, 2),
        ((1,), 2, 2),
    ]
    best = search.run([plan]).best[0]
    assert best.batch_time_us <= 8 * 90.0 + 2 * (1.0 + 4 / 1e4) + 2.0 + 1e-6


def test_what_cannot_be_planned_is_refused() -> None:
    model, cluster = one_gradient(1)
    two = part_of_cluster(cluster, np.arange(2))
    small = dataclasses.replace(two, devices=tuple(dataclasses.replace(each, memory_bytes=10) for each in two.devices))
    with pytest.raises(InfeasibleError, match="no plan fits in memory"):
        PlanSearch(model, PlanRequest(small, 4, RULES, seconds=5)).run()
    only = ModelByBatch(model.readings[1:], (3,))
    with pytest.raises(SettingsError, match="cannot be divided into micro-batches of 3"):
        PlanSearch(only, PlanRequest(cluster, 4, RULES)).run()
    ruled = dataclasses.replace(model.prepared.graph, constraints=("apart forward backward",))
    with pytest.raises(SettingsError, match="plans do not keep the constraints of a file"):
        PlanSearch(
            ModelByBatch((dataclasses.replace(model.prepared, graph=ruled),), (1,)), PlanRequest(cluster, 4, RULES)
        )
    with pytest.raises(SettingsError, match="0 samples"):
        PlanRequest(cluster, 0, RULES)
    with pytest.raises(SettingsError, match="0 seconds"):
        PlanRequest(cluster, 1, RULES, seconds=0)


def test_readings_say_their_samples_and_are_of_one_model() -> None:
    model, _ = one_gradient(1)
    prepared = model.prepared
    with pytest.raises(GraphError, match="of how many samples"):
        model_by_batch([prepared])
    four, eight = (
        dataclasses.replace(prepared, origin=dataclasses.replace(prepared.origin, samples=samples))
        for samples in (4, 8)
    )
    with pytest.raises(GraphError, match="both readings are of 4 samples"):
        model_by_batch([four, four])
    assert model_by_batch([eight, four]).samples == (4, 8)
    renamed = dataclasses.replace(eight.graph, op_names=("other", *eight.graph.op_names[1:]))
    with pytest.raises(GraphError, match="not of one model"):
        model_by_batch([four, dataclasses.replace(eight, graph=renamed)])


def test_costs_lie_on_the_line_through_both_readings() -> None:
    model, _ = one_gradient(1)
    small = model.prepared.costs
    large = dataclasses.replace(small, time_us=small.time_us * 3, output_bytes=small.output_bytes * 5)
    line = model_of_ops(model.prepared.graph, small, large)
    assert np.allclose(line.costs(2).time_us, small.time_us * 2)
    assert line.costs(5).output_bytes.tolist() == (small.output_bytes * 9).tolist()
    assert line.costs(3) is large and line.costs(1) is small
    assert line.is_extrapolated(5) and not line.is_extrapolated(2)


def test_a_division_whose_devices_take_turns_at_one_long_op_is_not_left_out() -> None:
    """One op of 40 µs among 55: no placement of it alone beats 40 µs a micro-batch, three devices in turn do."""
    ops = [Op("f", (), 15.0), Op("b", ["f"], 40.0, (10**6,)), Op("u", ("b:0",), 0.0)]
    graph, costs = graph_of(ops)
    graph = dataclasses.replace(graph, phase=np.array([FORWARD, BACKWARD, OPTIMIZER], np.uint8))
    cluster = cluster_of(3, Contention.PAIR, bandwidth_bytes_per_us=1e5, latency_us=1.0, op_rest_us=0.0)
    model = ModelByBatch((model_of_ops(graph, costs, costs).prepared,), (1,))
    search = PlanSearch(model, PlanRequest(cluster, 12, RULES, seconds=5))
    turned = Plan((Replica((0, 1, 2), np.zeros(3, np.int32), 1, 12, ((0, 1, 2),)),))
    bounds = {candidate.division: search._times.bound_us(candidate) for candidate in search._candidates()}
    assert PlanSimulator(model, cluster, RULES).simulate(turned).batch_time_us >= bounds[((3,),)]


def test_unlike_replicas_with_micro_batches_of_their_own_sizes_keep_the_bound() -> None:
    ops = [Op("f", (), 30.0), Op("b", ["f"], 60.0, (8,)), Op("u", ["b"], 1.0)]
    graph, one = graph_of(ops)
    graph = dataclasses.replace(graph, phase=np.array([FORWARD, BACKWARD, OPTIMIZER], np.uint8))
    one = dataclasses.replace(one, kinds=("GPU", "CPU"), time_us=np.array([[30.0, 60.0, 1.0], [60.0, 120.0, 2.0]]))
    three = dataclasses.replace(one, time_us=one.time_us * 1.5)
    cluster = cluster_of(2, Contention.PAIR, bandwidth_bytes_per_us=1e4, latency_us=1.0, op_rest_us=0.0)
    slow = dataclasses.replace(cluster.devices[1], kind="CPU")
    cluster = dataclasses.replace(cluster, devices=(cluster.devices[0], slow))
    model = model_of_ops(graph, one, three)
    search = PlanSearch(model, PlanRequest(cluster, 12, RULES, seconds=5))
    alone = np.zeros(3, np.int32)
    uneven = Plan((Replica((0,), alone, 8, 1), Replica((1,), alone, 4, 1)))
    found_us = PlanSimulator(model, cluster, RULES).simulate(uneven).batch_time_us
    for candidate in search._candidates():
        if candidate.division == ((0, 1), (1, 0)):
            assert search._times.bound_us(candidate) <= found_us


def test_a_plan_that_fits_is_looked_for_no_longer_than_quick_plans_take() -> None:
    model, cluster, batch = drawn_case(5)
    full = tuple(dataclasses.replace(device, memory_bytes=1) for device in cluster.devices)
    request = PlanRequest(dataclasses.replace(cluster, devices=full), batch, RULES, seconds=1e-6)
    with pytest.raises(InfeasibleError, match="no plan fits in memory"):
        PlanSearch(model, request).run()


@pytest.mark.parametrize("rules", [PlanRules(Pipeline.INFERENCE)])
def test_rules_that_do_not_fit_the_graph_are_refused(rules: PlanRules) -> None:
    model, cluster, batch = drawn_case(3)
    with pytest.raises(SettingsError, match="the graph has a backward pass"):
        PlanSearch(model, PlanRequest(cluster, batch, rules))


def test_a_file_that_fixes_ops_to_devices_is_refused_unless_they_are_dropped() -> None:
    model, cluster, batch = drawn_case(3)
    graph = dataclasses.replace(model.prepared.graph, devices=("/device:GPU:0", *model.prepared.graph.devices[1:]))
    fixed = ModelByBatch((dataclasses.replace(model.prepared, graph=graph),), (1,))
    with pytest.raises(SettingsError, match="fixes ops to devices"):
        PlanSearch(fixed, PlanRequest(cluster, batch, RULES))
    assert PlanSearch(fixed, PlanRequest(cluster, batch, RULES, seconds=5, drop_devices=True)).run().best
