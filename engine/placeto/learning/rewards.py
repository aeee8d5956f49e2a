"""Rewards from step times, returns from rewards, and the return baseline. Closed forms, no simulator."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BYTES_PER_GB = 1e9
US_PER_SECOND = 1e6


@dataclass(frozen=True, slots=True)
class PenalisedTime:
    """ρ' = min(ρ + c · max over devices of missing memory, cap), in units of the reward.

    Published: missing memory in GB, c = 2 s per GB, cap = 10 s, one threshold for all devices. Here each device has its
    own memory; with a reference time as the unit, missing memory counts as a share of the device's memory.
    Source: Addanki et al. 2019 and published code.
    """

    unit_us: float
    penalty: float
    """units per GB, or per device memory"""
    cap: float
    """units"""
    per_device_memory: bool

    def penalised(
        self, step_time_us: NDArray[np.float64], peak_bytes: NDArray[np.int64], memory_bytes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """[batch] ρ' of `step_time_us` [batch] and `peak_bytes` [batch, devices]; `memory_bytes` is [devices]."""
        penalised = step_time_us / self.unit_us + self.of_memory(peak_bytes, memory_bytes)
        return np.asarray(np.minimum(penalised, self.cap))

    def of_memory(self, peak_bytes: NDArray[np.int64], memory_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """[batch] the penalty for missing memory alone, before the cap; arguments as in `penalised`."""
        missing = np.maximum(peak_bytes - memory_bytes, 0).astype(np.float64)
        amount = missing / np.maximum(memory_bytes, 1) if self.per_device_memory else missing / BYTES_PER_GB
        return np.asarray(self.penalty * amount.max(axis=1))


def terminal_returns(end: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """[batch, steps] from ρ' at the end [batch]: the only reward is −ρ' at the end, so every step's return is −ρ'."""
    return np.repeat(-end[:, None], steps, axis=1)


def intermediate_returns(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """[batch, steps] from ρ' of all states [batch, steps + 1]: rewards ρ'_t − ρ'_{t+1} add up to ρ'_t − ρ'_end."""
    return states[:, :-1] - states[:, -1:]


class ReturnBaseline:
    """b_t: the mean return at step t over the last episodes of one graph. Source: Addanki et al. 2019, section 2.

    The first batch has no earlier episodes; it is its own baseline.
    """

    def __init__(self, episodes: int, steps: int) -> None:
        self.window = np.zeros((0, steps))
        """[episodes so far, at most `episodes`; steps] the last returns"""
        self._episodes = episodes

    def advantages(self, returns: NDArray[np.float64], *, normalise: bool) -> NDArray[np.float64]:
        """[batch, steps] `returns` minus the baseline; `normalise` divides by their deviation and clips at 4 of it."""
        known = self.window if len(self.window) else returns
        advantages = returns - known.mean(axis=0)
        if not normalise:
            return np.asarray(advantages)
        latest = np.concatenate([self.window, returns])[-self._episodes :]
        deviation = float((latest - latest.mean(axis=0)).std())
        return np.asarray((advantages / (deviation + 1e-4)).clip(-4.0, 4.0))

    def add(self, returns: NDArray[np.float64]) -> None:
        """Add the `returns` [batch, steps] of new episodes."""
        self.window = np.concatenate([self.window, returns])[-self._episodes :]
