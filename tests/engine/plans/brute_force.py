"""`python -m tests.engine.plans.brute_force CASES LAYERS DEVICES`: the search beside all plans of drawn cases.

It prints in how many of them the search finds the best of all plans, and each in which it does not.
"""

import sys

from engine.plans.plan import PlanRules
from engine.plans.request import PlanRequest
from engine.plans.search import PlanSearch
from engine.plans.simulated import PlanSimulator
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.drawn_plans import all_divided, drawn_case

RULES = PlanRules(Pipeline.ONE_F_ONE_B)
SECONDS = 600.0


def main(cases: int, most_layers: int, most_devices: int) -> None:
    """Try the cases, which are numbered from 0."""
    equal = 0
    for seed in range(cases):
        model, cluster, batch = drawn_case(seed, most_layers, most_devices)
        simulator = PlanSimulator(model, cluster, RULES)
        best_us = min(simulator.simulate(plan).batch_time_us for plan in all_divided(model, cluster, batch))
        found = PlanSearch(model, PlanRequest(cluster, batch, RULES, SECONDS)).run().best[0].batch_time_us
        equal += abs(found / best_us - 1) < 1e-9
        if found / best_us - 1 >= 1e-9:
            print(f"case {seed}: {100 * (found / best_us - 1):.2f} % behind")
        print(f"{equal} of {seed + 1}", file=sys.stderr, flush=True)
    print(f"the best of all plans in {equal} of {cases} cases of up to {most_layers} layers, {most_devices} devices")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
