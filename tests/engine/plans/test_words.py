"""What a search has found in words, and a replica as a run."""

from typing import Any

import numpy as np
import pytest

from engine.plans.plan import Plan, PlanRules, Replica
from engine.plans.replica_run import replica_request
from engine.plans.request import PlanRequest
from engine.plans.search import require_plannable
from engine.plans.simulated import PlanSimulator
from engine.plans.words import plan_ahead, plan_verdict, plan_words, rate_words, replica_devices, replica_words
from engine.run.run import Run
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.drawn_plans import all_divided, drawn_case, one_gradient

NAMES = [f"/device:GPU:{index}" for index in range(8)]
RULES = PlanRules(Pipeline.ONE_F_ONE_B)


def row(devices: list[int], micro_batches: int, micro_batch: int = 4) -> dict[str, Any]:
    """A replica that uses all of its devices."""
    placed: dict[str, Any] = {"device_of_group": devices, "turns": []}
    return {"devices": devices, "micro_batch": micro_batch, "micro_batches": micro_batches, **placed}


def plan(batch_time_us: float, *replicas: dict[str, Any]) -> dict[str, Any]:
    """A plan of 64 samples."""
    return {"batch_time_us": batch_time_us, "samples_per_second": 64e6 / batch_time_us, "replicas": [*replicas]}


def report(best: dict[str, Any], **usual: dict[str, Any] | None) -> dict[str, Any]:
    """A report with these plans."""
    return {"plans": [best], "usual": usual, "devices": NAMES}


TWO = plan(1e5, row([1], 6), row([0], 10))


def test_the_larger_share_is_said_first_with_the_batch() -> None:
    assert plan_words(TWO, NAMES) == "2 replicas: GPU:0 takes 40 of 64 samples, GPU:1 takes 24"
    assert plan_words(plan(1.0, row([0, 2], 16)), NAMES) == "1 replica: GPU:0 + GPU:2 takes 64 of 64 samples"


def test_replicas_that_are_alike_are_said_together_and_many_are_counted() -> None:
    alike = plan(1.0, row([0], 5), row([1], 5), row([2], 3), row([3], 3))
    expected = "4 replicas: GPU:0 and GPU:1 take 20 of 64 samples each, GPU:2 and GPU:3 take 12 each"
    assert plan_words(alike, NAMES) == expected
    many = plan(1.0, *(row([index], 2) for index in range(8)))
    assert plan_words(many, NAMES) == "8 replicas of one device take 8 of 64 samples each"
    pairs = plan(1.0, row([0], 6), *(row([2 * index + 1, 2 * index + 2], 2) for index in range(5)))
    expected = "6 replicas: GPU:0 takes 24 of 64 samples, 5 replicas of 2 devices take 8 each"
    assert plan_words(pairs, [*NAMES, "/device:GPU:8", "/device:GPU:9", "/device:GPU:10"]) == expected


def test_devices_that_take_stages_in_turn_are_alternatives() -> None:
    staged = {**row([0, 1, 2], 16), "device_of_group": [0, 1, 1], "turns": [[0, 2]]}
    assert replica_words(staged, NAMES) == "(GPU:0 or GPU:2 in turn) + GPU:1"
    assert plan_words(plan(1.0, staged), NAMES) == "1 replica: (GPU:0 or GPU:2 in turn) + GPU:1 takes 64 of 64 samples"
    many = plan(1.0, row([3], 6), *([{**staged, "micro_batches": 2}] * 5))
    assert plan_words(many, NAMES).endswith("5 replicas of 3 devices, stages in turn, take 8 each")


def test_a_device_that_a_replica_leaves_idle_is_not_named() -> None:
    idle = {**row([0, 1], 4), "device_of_group": [1, 1]}
    assert replica_devices(idle, NAMES) == ["GPU:1"]
    assert replica_devices({"devices": [0, 1]}, NAMES) == ["GPU:0", "GPU:1"]


def test_the_verdict_stands_beside_the_best_usual_plan() -> None:
    equal = plan(1.2e5, row([0], 8), row([1], 8))
    verdict = plan_verdict(report(TWO, data_parallel=equal, equal_layers=plan(2e5, row([0, 1], 16))))
    assert verdict.startswith("640 samples a second, 20 % more than the best usual plan (a replica on each GPU, equal")
    assert verdict.endswith("2 replicas: GPU:0 takes 40 of 64 samples, GPU:1 takes 24.")


def test_the_verdict_says_where_a_usual_plan_is_as_good_or_there_is_none() -> None:
    verdict = plan_verdict(report(TWO, data_parallel=TWO, equal_layers=None))
    assert verdict.startswith("Nothing that was found is faster than a usual plan, a replica on each GPU, equal shares")
    assert plan_verdict(report(TWO, data_parallel=None)).endswith(
        "None of the usual plans fits in memory or can be made."
    )


def test_an_estimate_is_no_plan_to_be_ahead_of() -> None:
    usual = {"data_parallel": plan(1.2e5, row([0], 16)), "sharded": plan(1.1e5)}
    verdict = plan_verdict(report(TWO, **usual))
    assert "20 % more than the best usual plan (a replica on each GPU" in verdict and "Not simulated" not in verdict
    usual["sharded"] = plan(0.8e5)
    expected = " Not simulated, but faster: all weights sharded, equal shares (FSDP), estimated, 800 "
    assert plan_verdict(report(TWO, **usual)) == verdict + expected + "samples a second."


def test_rates_have_four_digits_or_all_of_their_thousands() -> None:
    assert rate_words(314.62) == "314.6 samples a second" and rate_words(12345.6) == "12,346 samples a second"
    assert rate_words(None) == "any number of samples a second"
    assert plan_ahead({"batch_time_us": 0.0}, TWO) is None


@pytest.mark.parametrize("seed", range(8))
def test_a_replica_as_a_run_takes_the_time_that_it_has_in_the_plan(seed: int) -> None:
    """The run's answer is the replica's placement on its devices, and its batch that of the replica by itself."""
    model, cluster, batch = drawn_case(seed)
    request = PlanRequest(cluster, batch, RULES)
    chosen = next(each for each in all_divided(model, cluster, batch) if len(each.replicas[-1].devices) > 1)
    replica = chosen.replicas[-1]
    alone = PlanSimulator(model, cluster, RULES).simulate(Plan((replica,)))
    asked = replica_request(request, replica.to_json())
    answer = Run(model.at(replica.micro_batch), asked, lambda _: None, lambda: False).execute(None)
    assert answer["device_of_group"] == replica.placement.tolist() and answer["evaluations"] == 1
    assert answer["batch_time_us"] == pytest.approx(alone.batch_time_us)


def test_a_graph_at_a_size_says_its_samples() -> None:
    model, _ = one_gradient(1)
    assert model.at(2).origin.samples == 2
    assert np.array_equal(model.at(1).costs.time_us, model.readings[0].costs.time_us)


def test_what_can_be_planned_is_not_refused() -> None:
    model, cluster, batch = drawn_case(2)
    require_plannable(model, PlanRequest(cluster, batch, RULES))
    short = Replica((0,), np.zeros(2, np.int32), 3, 2).in_short()
    assert short == {"devices": [0], "micro_batch": 3, "micro_batches": 2, "turns": []}
