"""Plans as the slow twin, which copies the graph of each replica, simulates them."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, Contention, part_of_cluster
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER
from engine.plans.by_batch import ModelByBatch
from engine.plans.collectives import Algorithm
from engine.plans.optimizer_tail import updated_us
from engine.plans.plan import Plan, PlanRules, Replica
from engine.plans.simulated import PlanSimulator, SimulatedPlan
from engine.simulator.streams.batch import SimulatedBatch
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.drawn_plans import drawn_plan, drawn_plan_with_turns, model_of_ops, one_gradient
from tests.engine.plans.slow_plan import SlowPlan, slow_plan
from tests.engine.simulator.cases import Op, graph_of

DRAWN = 300


@pytest.mark.parametrize("part", range(4))
def test_a_plan_is_as_its_slow_twin(part: int) -> None:
    reduced = 0
    for seed in range(part, DRAWN, 4):
        model, cluster, plan, pipeline = drawn_plan(seed)
        simulated, all_passes, twin = simulated_and_twin(model, cluster, plan, pipeline)
        assert_passes_end_as(all_passes, twin)
        assert [each.bucket.total_bytes for each in simulated.reduced] == [total for _, _, total in twin.reduced], seed
        assert [(each.start_us, each.end_us) for each in simulated.reduced] == [
            pytest.approx((start, end)) for start, end, _ in twin.reduced
        ], seed
        assert simulated.batch_time_us == pytest.approx(twin.batch_us), seed
        reduced += len(simulated.reduced)
    assert reduced > 30


def simulated_and_twin(
    model: ModelByBatch, cluster: Cluster, plan: Plan, pipeline: Pipeline
) -> tuple[SimulatedPlan, list[SimulatedBatch], SlowPlan]:
    """A plan with the passes of its replicas, and its twin."""
    simulator = PlanSimulator(model, cluster, PlanRules(pipeline, algorithm=Algorithm.RING))
    simulated, all_passes = simulator.simulate(plan), [simulator.batch(replica) for replica in plan.replicas]
    costs_of = [model.costs(replica.micro_batch) for replica in plan.replicas]
    return simulated, all_passes, slow_plan(simulated, all_passes, costs_of, cluster)


def assert_passes_end_as(all_passes: list[SimulatedBatch], twin: SlowPlan) -> None:
    """The last micro-batch of each route ends as in the twin."""
    copies = iter(twin.passes_end_us)
    for batch in all_passes:
        routes = len(batch.routes)
        for route in range(routes):
            ends = next(copies)
            assert {op: float(batch.end_us[route::routes, op].max()) for op in ends} == pytest.approx(ends)


@pytest.mark.parametrize("part", range(4))
def test_stages_that_devices_take_in_turn_are_as_their_slow_twin(part: int) -> None:
    reduced = routes = 0
    for seed in range(part, DRAWN, 4):
        model, cluster, plan, pipeline = drawn_plan_with_turns(seed)
        simulated, all_passes, twin = simulated_and_twin(model, cluster, plan, pipeline)
        assert_passes_end_as(all_passes, twin)
        assert [(each.start_us, each.end_us) for each in simulated.reduced] == [
            pytest.approx((start, end)) for start, end, _ in twin.reduced
        ], seed
        assert simulated.batch_time_us == pytest.approx(twin.batch_us), seed
        reduced += len(simulated.reduced)
        routes += sum(len(replica.routes) for replica in simulated.replicas)
    assert reduced > 30
    assert routes > DRAWN // 2


def test_gradients_that_are_added_up_in_no_time_leave_each_replica_its_batch_in_a_stream() -> None:
    """What ends a batch, with the optimizer's ops in it, is what the simulator of streams finds."""
    seen = 0
    for seed in range(100):
        model, cluster, plan, pipeline = drawn_plan(seed)
        if cluster.contention in (Contention.SENDER, Contention.HOST):
            continue
        simulator = PlanSimulator(model, cluster, PlanRules(pipeline))
        for replica in plan.replicas:
            alone = simulator.replica(replica)
            part = part_of_cluster(cluster, np.array(replica.devices))
            batch, late = simulator.batch(replica), alone.late
            of_graph = batch.graph, batch.costs, part, batch.device_of_op
            ends_us = updated_us(late, *of_graph, alone.ready_us[0], alone.free_us)
            rests_us = part.op_rests_us[batch.device_of_op] * batch.costs.rests_of_op()
            rested_us = batch.end_us.max(axis=0) + rests_us * (batch.end_us[-1] > batch.start_us[-1])
            assert float(ends_us.max()) == pytest.approx(float(rested_us.max())), seed
            seen += len(late.ops) > 0
    assert seen > 50


def data_parallel(devices: int, micro_batches: int = 2) -> Plan:
    alone = np.zeros(5, np.int32)
    return Plan(tuple(Replica((device,), alone, 1, micro_batches) for device in range(devices)))


@pytest.mark.parametrize("devices", [2, 3, 4])
@pytest.mark.parametrize("shards", [False, True])
def test_data_parallel_by_closed_form(devices: int, shards: bool) -> None:
    """Two micro-batches, the ring, the update; with ZeRO-1 half the ring, one part of the update, half the ring."""
    model, cluster = one_gradient(1, state=6000)
    rules = PlanRules(Pipeline.ONE_F_ONE_B, shards_optimizer=shards, algorithm=Algorithm.RING)
    simulated = PlanSimulator(model, cluster, rules).simulate(data_parallel(devices))
    ring_us = 2 * (devices - 1) * (5.0 + 1e6 / devices / 1000.0)
    assert simulated.batch_time_us == pytest.approx(60.0 + ring_us + 30.0 / (devices if shards else 1))
    plain = PlanSimulator(model, cluster, PlanRules(Pipeline.ONE_F_ONE_B)).simulate(data_parallel(devices))
    saved = 6000 - 6000 // devices if shards else 0
    assert (plain.peak_bytes - simulated.peak_bytes).tolist() == [saved] * devices + [0] * (4 - devices)


def test_a_ring_overlaps_with_what_runs_behind_its_gradients() -> None:
    """The last layer's gradients are added up while the first layer's backward pass runs."""
    ops = [
        Op("f1", (), 10.0, (0,)),
        Op("f2", ["f1"], 10.0, (0,)),
        Op("b2", ["f2"], 20.0, (40 * 10**6,)),
        Op("b1", ["b2"], 50_000.0, (40 * 10**6,)),
        Op("u2", ["b2"], 1.0, (0,)),
        Op("u1", ["b1"], 1.0, (0,)),
    ]
    graph, costs = graph_of(ops)
    phases = [FORWARD, FORWARD, BACKWARD, BACKWARD, OPTIMIZER, OPTIMIZER]
    model = model_of_ops(dataclasses.replace(graph, phase=np.array(phases, np.uint8)), costs, costs)
    cluster = one_gradient(1)[1]
    alone = np.zeros(6, np.int32)
    plan = Plan(tuple(Replica((device,), alone, 1, 1) for device in range(2)))
    simulated = PlanSimulator(model, cluster, PlanRules(Pipeline.ONE_F_ONE_B)).simulate(plan)
    ring_us = 2 * (5.0 + 20_000.0)
    assert [each.start_us for each in simulated.reduced] == [40.0, 50_040.0]
    assert simulated.batch_time_us == pytest.approx(50_040.0 + ring_us + 1.0)


def test_each_replica_runs_its_own_share() -> None:
    model, cluster = one_gradient(0)
    uneven = Plan(tuple(Replica((device,), np.zeros(5, np.int32), 1, count) for device, count in enumerate((3, 1))))
    simulated = PlanSimulator(model, cluster, PlanRules(Pipeline.ONE_F_ONE_B)).simulate(uneven)
    assert uneven.samples == 4
    assert simulated.end_us[:2].tolist() == [120.0, 60.0]


def turned(devices: int, micro_batches: int) -> Plan:
    """All groups on devices that take turns."""
    own = tuple(range(devices))
    return Plan((Replica(own, np.zeros(5, np.int32), 1, micro_batches, (own,)),))


@pytest.mark.parametrize("devices", [2, 3, 4])
@pytest.mark.parametrize("contention", [Contention.PAIR, Contention.HOST, Contention.SENDER])
def test_devices_that_take_turns_at_all_stages_are_replicas(devices: int, contention: Contention) -> None:
    """In time and in memory, when each takes as many."""
    model, cluster = one_gradient(1, state=6000)
    cluster = dataclasses.replace(cluster, contention=contention)
    simulator = PlanSimulator(model, cluster, PlanRules(Pipeline.ONE_F_ONE_B))
    alike, replicas = simulator.simulate(turned(devices, 2 * devices)), simulator.simulate(data_parallel(devices))
    assert alike.batch_time_us == pytest.approx(replicas.batch_time_us)
    assert alike.peak_bytes.tolist() == replicas.peak_bytes.tolist()


def test_a_slow_stage_of_two_devices_keeps_up_with_a_fast_one() -> None:
    """Passes of 10 + 20 µs on two devices and of 5 + 10 µs on one: each micro-batch takes 15 µs more of all three."""
    ops = [
        Op("slow", (), 10.0, (0,)),
        Op("fast", ["slow"], 5.0, (0,)),
        Op("of fast", ["fast"], 10.0, (0,)),
        Op("of slow", ["of fast"], 20.0, (0,)),
    ]
    graph, costs = graph_of(ops)
    phases = np.array([FORWARD, FORWARD, BACKWARD, BACKWARD], np.uint8)
    model = model_of_ops(dataclasses.replace(graph, phase=phases), costs, costs)
    cluster = dataclasses.replace(one_gradient(1)[1], latency_us=np.zeros((4, 4)))
    simulator = PlanSimulator(model, cluster, PlanRules(Pipeline.ONE_F_ONE_B))

    def batch_us(turns: tuple[tuple[int, ...], ...], micro_batches: int) -> float:
        placement = np.array([0, 2, 2, 0], np.int32)
        plan = Plan((Replica((0, 1, 2), placement, 1, micro_batches, turns),))
        return simulator.simulate(plan).batch_time_us

    assert (batch_us(((0, 1),), 64) - batch_us(((0, 1),), 32)) / 32 == pytest.approx(15.0)
    assert (batch_us((), 64) - batch_us((), 32)) / 32 == pytest.approx(30.0)
