"""The compiled simulator and its slow twin agree to the bit, on 10,000 drawn graphs, clusters and placements."""

import dataclasses

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import floats

from engine.simulator import Simulator
from tests.engine.simulator import slow_memory
from tests.engine.simulator.cases import Case, cases
from tests.engine.simulator.slow_twin import SlowTwin


@settings(max_examples=1250, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(placements=8))
def test_step_times_and_peaks_are_the_slow_twins(case: Case) -> None:
    twin = SlowTwin(case.graph, case.costs, case.cluster)
    answer = Simulator(case.graph, case.costs, case.cluster).evaluate(case.placements)
    for index, placement in enumerate(case.placements):
        step = twin.simulate(placement)
        assert answer.step_time_us[index] == step.now
        assert answer.peak_bytes[index].tolist() == slow_memory.peaks(step)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(most_ops=40, most_devices=4, placements=2))
def test_timelines_are_the_slow_twins(case: Case) -> None:
    twin = SlowTwin(case.graph, case.costs, case.cluster)
    simulator = Simulator(case.graph, case.costs, case.cluster)
    for placement in case.placements:
        step, timeline = twin.simulate(placement), simulator.timeline(placement)
        transfers = timeline.transfers
        assert timeline.step_time_us == step.now
        assert timeline.start_us.tolist() == step.start
        assert timeline.end_us.tolist() == step.end
        ends = transfers.destination_offset
        assert sorted(
            zip(
                transfers.op.tolist(),
                transfers.output.tolist(),
                transfers.source.tolist(),
                [transfers.destinations[ends[i] : ends[i + 1]].tolist() for i in range(len(transfers))],
                transfers.start_us.tolist(),
                transfers.end_us.tolist(),
                transfers.bytes.tolist(),
                transfers.trips.tolist(),
                strict=True,
            )
        ) == sorted(
            (
                sent.producer,
                sent.output,
                sent.source,
                sorted(sent.destinations),
                sent.start_us,
                sent.end_us,
                twin.bytes_of(sent.producer, sent.output),
                sent.trips,
            )
            for sent in step.transfers
        )
        if timeline.memory and case.cluster.memory_model == "full":
            for curve, (_, levels) in zip(timeline.memory, enumerate(slow_memory.curves(step)), strict=True):
                changes = [(0.0, 0), *levels]
                assert _steps(list(zip(curve.time_us.tolist(), curve.bytes.tolist(), strict=True))) == _steps(changes)


def _steps(curve: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Without the points at which the level stays; the last of several at one time counts."""
    steps: list[tuple[float, int]] = []
    for time, level in curve:
        if steps and steps[-1][0] == time:
            steps.pop()
        if not steps or steps[-1][1] != level:
            steps.append((time, level))
    return steps


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(most_ops=40, most_devices=4, placements=2), factor=floats(0.5, 2.0))
def test_a_simulator_with_other_times_and_links_is_a_new_one(case: Case, factor: float) -> None:
    costs = dataclasses.replace(case.costs, time_us=case.costs.time_us * factor)
    links = {name: getattr(case.cluster, name) / factor for name in ("bandwidth_bytes_per_us", "latency_us")}
    cluster = dataclasses.replace(case.cluster, **links)
    simulator = Simulator(case.graph, case.costs, case.cluster)
    before = simulator.evaluate(case.placements)
    varied, expected = simulator.with_times(costs, cluster), Simulator(case.graph, costs, cluster)
    for one, other in ((varied.evaluate, expected.evaluate), (simulator.evaluate, lambda _: before)):
        answer, wanted = one(case.placements), other(case.placements)
        assert answer.step_time_us.tolist() == wanted.step_time_us.tolist()
        assert answer.peak_bytes.tolist() == wanted.peak_bytes.tolist()
    assert varied.timeline(case.placements[0]).end_us.tolist() == expected.timeline(case.placements[0]).end_us.tolist()
