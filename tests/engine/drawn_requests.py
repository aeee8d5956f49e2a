"""Requests of all kinds, drawn."""

import numpy as np

from engine.clusters.cluster import Contention, MemoryModel
from engine.graphs.constraints import Constraints
from engine.graphs.grouping.nesting import SPLIT, SplitPlacement
from engine.placers.registry import PLACERS
from engine.problem import Budget
from engine.run.request import BASELINES, GivenPolicy, RunRequest
from engine.search.preference import Preference
from tests.engine.placers.small_problems import small_cluster
from tests.engine.policies.small_policies import small_policy

POLICY = GivenPolicy(small_policy().to_bytes())
WORDS = (
    "fastest",
    "simplest",
    "simplest=0%",
    "simplest=2.5%",
    "simplest=0.0001%",
    "simplest=0.000003%",
    "simplest=100%",
)


def drawn_request(seed: int) -> RunRequest:
    """Any request that a person may make; each field differs from its default in some of the draws."""
    rng = np.random.default_rng(seed)
    devices = int(rng.integers(1, 5))
    cluster = small_cluster(
        devices,
        cpu=bool(rng.integers(2)),
        memory_bytes=int(rng.integers(1, 10**12)),
        latency_us=float(rng.random()),
        contention=list(Contention)[rng.integers(4)],
        memory_model=list(MemoryModel)[rng.integers(2)],
    )
    methods = [name for name, row in PLACERS.items() if not row.streams_only]
    method = methods[rng.integers(len(methods))]
    presets = [{}, {"preset": "paper"}] if method == "placeto" else [{}]
    placement = [int(device) for device in rng.integers(SPLIT, devices, 6)]
    starts = [None, SplitPlacement(placement, [[0, SPLIT], [int(rng.integers(devices))]])]
    return RunRequest(
        cluster,
        method,
        Budget(int(rng.integers(1, 10**8)), [None, float(rng.random() + 1e-9), 3][rng.integers(3)]),
        int(rng.integers(2**63 - 1)),
        presets[rng.integers(len(presets))],
        drop_devices=bool(rng.integers(2)),
        baselines=[BASELINES, (), ("random",)][rng.integers(3)],
        policy=POLICY if PLACERS[method].takes_policy and not rng.integers(3) else None,
        start=starts[rng.integers(2)],
        pins={group: placement[group] for group in range(6) if not rng.integers(3)},
        robust=bool(rng.integers(2)),
        robustness=bool(rng.integers(2)),
        prefer=Preference.of_words(WORDS[rng.integers(len(WORDS))]),
        constraints=_drawn_constraints(rng, keeps_apart=PLACERS[method].keeps_apart),
    )


def _drawn_constraints(rng: np.random.Generator, *, keeps_apart: bool) -> Constraints:
    if rng.integers(2):
        return Constraints()
    return Constraints((("a*", "two words"),), (("a", 'b"'),) * keeps_apart, (("a", "GPU:0"),))
