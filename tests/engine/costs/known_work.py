"""Costs of three ops whose work is known, as a reading makes them."""

import numpy as np

from engine.clusters.device_kinds import CATALOGUE, COSTED_KINDS, FLOAT_TYPES, FloatType
from engine.costs.costs import Costs, CostSource, time_by_peaks_us

FLOPS = np.array([4_000_000, 8_000_000, 0], dtype=np.int64)
MOVED = np.array([240_000, 0, 480_000], dtype=np.int64)
TYPES = np.array(
    [FLOAT_TYPES.index(each) for each in (FloatType.FLOAT32, FloatType.FLOAT16, FloatType.FLOAT64)], dtype=np.uint8
)


def estimated(at_peaks: bool = True) -> Costs:
    """Costs of the three ops, by default as in readings of earlier versions: at the peaks."""
    return Costs(
        kinds=COSTED_KINDS,
        time_us=np.array([time_by_peaks_us(FLOPS, MOVED, TYPES, CATALOGUE[kind]) for kind in COSTED_KINDS]),
        output_offset=np.arange(4),
        output_bytes=np.ones(3, dtype=np.int64),
        persistent_bytes=np.zeros(3, dtype=np.int64),
        temporary_bytes=np.zeros(3, dtype=np.int64),
        source=np.full(3, CostSource.ESTIMATED, dtype=np.uint8),
        flops=FLOPS,
        trips=np.array([1, 3, 1]),
        moved_bytes=MOVED,
        float_type=TYPES,
        at_peaks=at_peaks,
    )
