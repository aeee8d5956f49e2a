"""What a search for plans is asked for."""

import math
from dataclasses import dataclass

from engine.clusters.cluster import Cluster
from engine.errors import SettingsError
from engine.plans.plan import PlanRules


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a search is asked for."""

    cluster: Cluster
    batch: int
    """samples of a batch, of all replicas together"""
    rules: PlanRules
    seconds: float = 60.0
    seed: int = 0
    method: str = "auto"
    """finds the placements of a replica's stream"""
    drop_devices: bool = False
    """whether to ignore the devices that the file fixes"""

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise SettingsError(f"{self.batch} samples", where="batch", allowed="an integer from 1", field="batch")
        if not 0 < self.seconds < math.inf:
            what, allowed = f"{self.seconds} seconds", "a number above 0"
            raise SettingsError(what, where="seconds", allowed=allowed, field="seconds")
