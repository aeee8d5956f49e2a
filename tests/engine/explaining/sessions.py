"""Sessions of random graphs, and placements drawn for them."""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.parsing import parse_cluster
from engine.explaining.session import Session
from engine.prepared import PreparedGraph
from engine.zoo.random_graphs import random_graph
from experiments.problems import regrouped


def prepared_of(seed: int, ops: int = 120, groups: int = 24) -> PreparedGraph:
    return regrouped(random_graph("series-parallel", ops, np.random.default_rng(seed)), groups)


def session_of(seed: int, cluster: str = "4xK80+cpu") -> Session:
    return Session(prepared_of(seed), parse_cluster(cluster))


def drawn(session: Session, rng: np.random.Generator) -> NDArray[np.int32]:
    """[groups] a placement where each group may be."""
    chances = session.allowed * rng.random(session.allowed.shape)
    return np.asarray(chances.argmax(axis=1), dtype=np.int32)
