"""What splitting a graph trades: the critical chain's time by kind, beside that of one device."""

import dataclasses
from dataclasses import dataclass

from engine.clusters.cluster import Cluster
from engine.events import Json
from engine.explaining.chain import Cause, chain_of
from engine.number_words import time_words
from engine.simulator import Timeline

LEAST_PART = 0.005
"""of one device's step: smaller parts are not named"""


@dataclass(frozen=True, slots=True)
class Trade:
    """What the critical chain spends its time on; the sum is the step time."""

    computing_us: float
    transfers_us: float
    """bytes on a link, its latency and its rests"""
    waiting_us: float
    """an op or a transfer is ready, but others run first on its device or link"""
    resting_us: float
    """a device rests after an op, such as for the launch of the next one"""

    @property
    def step_time_us(self) -> float:
        """The sum of its parts."""
        return self.computing_us + self.transfers_us + self.waiting_us + self.resting_us

    def to_json(self) -> dict[str, Json]:
        """The fields `trade` and `one_device_trade` of docs/formats/reports.md."""
        return dataclasses.asdict(self)


def trade_of(timeline: Timeline, cluster: Cluster) -> Trade:
    """The parts of a step's critical chain."""
    sums_us = chain_of(timeline, cluster).sum_us()
    return Trade(
        computing_us=float(sums_us[Cause.COMPUTE]),
        transfers_us=float(sums_us[Cause.TRANSFER] + sums_us[Cause.LINK]),
        waiting_us=float(sums_us[Cause.QUEUE]),
        resting_us=float(sums_us[Cause.REST]),
    )


def trade_sentence(trade: Trade, one_device: Trade) -> str:
    """What a faster placement saves, and what it pays for that.

    `It saves 105 ms of the 735 ms on one device: 173 ms less waiting for the device, for 68.0 ms more transfers.`
    """
    whole_us = one_device.step_time_us
    saved_us = {
        "waiting for the device": one_device.waiting_us - trade.waiting_us,
        "computing": one_device.computing_us - trade.computing_us,
        "launching ops": one_device.resting_us - trade.resting_us,
        "transfers": one_device.transfers_us - trade.transfers_us,
    }
    named = sorted(saved_us.items(), key=lambda part: -abs(part[1]))
    less = [f"{time_words(us)} less {name}" for name, us in named if us > LEAST_PART * whole_us]
    more = [f"{time_words(-us)} more {name}" for name, us in named if -us > LEAST_PART * whole_us]
    parts = ", for ".join(" and ".join(words) for words in (less, more) if words)
    head = f"It saves {time_words(whole_us - trade.step_time_us)} of the {time_words(whole_us)} on one device"
    return f"{head}: {parts}." if less else f"{head}."
