"""How many micro-batches each replica takes, so that the last one ends as early as it can."""

import heapq
from collections.abc import Sequence


def shares_of(first_us: Sequence[float], further_us: Sequence[float], micro_batches: int) -> list[int]:
    """[replicas] micro-batches of each, at least one, `micro_batches` in all, which are no fewer than the replicas.

    A replica takes `first_us` for its first and `further_us` for each further one. The greatest of the times is as
    small as it can be: each micro-batch goes where it ends first.
    """
    shares = [1] * len(first_us)
    ends = [(first + further, index) for index, (first, further) in enumerate(zip(first_us, further_us, strict=True))]
    heapq.heapify(ends)
    for _ in range(micro_batches - len(shares)):
        end_us, index = heapq.heappop(ends)
        shares[index] += 1
        heapq.heappush(ends, (end_us + further_us[index], index))
    return shares
