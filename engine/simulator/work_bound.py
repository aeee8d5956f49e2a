"""A lower bound of the step time from the work that must be done, on unequal devices.

However the ops are placed, no device is occupied longer than the step takes. Give each device of kind k a price λ_k, so
that all prices sum to 1; then the step takes at least Σ over ops of min over kinds of λ_k · occupation. This is the
dual of dividing the work as if ops could be cut anywhere; the best prices give exactly the time of that division.

The same holds for a part of the ops: if none of them can start before h, and after each of them the step goes on for at
least q, they are all done within step − h − q.

Source: Fernandez and Bussell, "Bounds on the number of processors and time for multiprocessor optimal schedules", IEEE
Transactions on Computers 22 (1973), for equal processors.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

THRESHOLDS = 256
"""number of values of h, and of q, that are tried"""
PRICE_ROUNDS = 3
SEARCH_STEPS = 40
GOLDEN = (5**0.5 - 1) / 2


def work_bound_us(
    occupied_us: NDArray[np.float64],
    devices: NDArray[np.int64],
    before_us: NDArray[np.float64],
    after_us: NDArray[np.float64],
) -> float:
    """A lower bound of the step time in µs from the work of all ops, and of those in the middle of the step.

    `occupied_us` [kinds, ops]: how long an op and its rest occupy a device, infinite where it cannot run; `devices`
    [kinds]: their number; `before_us` and `after_us` [ops]: the least time from the step's begin to the op's start, and
    from the end of its occupation to the step's end.
    """
    work_us = _priced(occupied_us, _best_prices(occupied_us, devices))
    earliest = np.quantile(before_us, np.linspace(0, 1, THRESHOLDS), method="lower")
    latest = np.quantile(after_us, np.linspace(0, 1, THRESHOLDS), method="lower")
    inside = np.zeros((THRESHOLDS, THRESHOLDS))
    rows = np.searchsorted(earliest, before_us, side="right") - 1
    columns = np.searchsorted(latest, after_us, side="right") - 1
    np.add.at(inside, (rows, columns), work_us)
    inside = inside[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    bounds = earliest[:, np.newaxis] + latest + inside
    return float(bounds.max(where=inside > 0, initial=0.0))


def shared_work_us(occupied_us: NDArray[np.float64], devices: NDArray[np.int64]) -> float:
    """The time in µs of all work, shared as if ops could be cut anywhere; `occupied_us` and `devices` as above."""
    return float(_priced(occupied_us, _best_prices(occupied_us, devices)).sum())


def _priced(occupied_us: NDArray[np.float64], prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """[ops] the price of each op on the kind where it is cheapest."""
    priced = np.full(occupied_us.shape, np.inf)
    np.multiply(occupied_us, prices[:, np.newaxis], out=priced, where=np.isfinite(occupied_us))
    return np.asarray(priced.min(axis=0))


def _best_prices(occupied_us: NDArray[np.float64], devices: NDArray[np.int64]) -> NDArray[np.float64]:
    """[kinds] prices near the best, found by sharing each pair's budget anew in turn. Any prices give a valid bound."""
    prices = np.full(len(devices), 1 / devices.sum())
    for _ in range(PRICE_ROUNDS if len(devices) > 2 else 1):
        for one, other in itertools.combinations(range(len(devices)), 2):
            prices = _share_budget(occupied_us, devices, prices, one, other)
    return prices


def _share_budget(
    occupied_us: NDArray[np.float64], devices: NDArray[np.int64], prices: NDArray[np.float64], one: int, other: int
) -> NDArray[np.float64]:
    """Share the budget of `one` and `other` anew by a golden-section search: work is concave in the share of `one`."""
    budget = prices[one] * devices[one] + prices[other] * devices[other]

    def with_share(share: float) -> NDArray[np.float64]:
        shared = prices.copy()
        shared[one], shared[other] = share * budget / devices[one], (1 - share) * budget / devices[other]
        return shared

    def work_us(share: float) -> float:
        return float(_priced(occupied_us, with_share(share)).sum())

    low, high = 0.0, 1.0
    for _ in range(SEARCH_STEPS):
        third, two_thirds = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if work_us(third) < work_us(two_thirds):
            low = third
        else:
            high = two_thirds
    return with_share((low + high) / 2)
