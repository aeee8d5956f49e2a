"""How tests let the method place: without auto, which would try every placement of a small problem."""

import numpy as np

from engine.placers.milp.placer import Milp
from engine.problem import PlacementProblem


def place_alone(problem: PlacementProblem, nodes: int = 2000) -> None:
    Milp(start_share=0.0, nodes=nodes).place(problem, np.random.default_rng(0), lambda: False)
