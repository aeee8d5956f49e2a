"""The ways to divide a cluster's devices into replicas, up to the exchange of devices that are alike.

All ways for up to `MOST_FREE` devices, with some of them left out or none. For more, what is regular: each class of
devices that are alike forms replicas of one size or is left out, or classes share all replicas equally. Classes that
look alike, such as the devices of equal hosts, form replicas of the same size.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster

MOST_FREE = 6
ReplicaShape = tuple[int, ...]
"""[classes] the devices of each that a replica has"""
Division = tuple[ReplicaShape, ...]
"""the replicas, sorted"""


def classes_of_devices(cluster: Cluster) -> list[list[int]]:
    """The devices, by classes that are alike: of one kind and memory, and with the same links to all others."""
    classes: list[list[int]] = []
    for device in range(cluster.device_count):
        own = next((members for members in classes if _can_swap(cluster, members[0], device)), None)
        if own is None:
            classes.append([device])
        else:
            own.append(device)
    return classes


def _can_swap(cluster: Cluster, one: int, other: int) -> bool:
    a, b = cluster.devices[one], cluster.devices[other]
    if (a.kind, a.usable_bytes) != (b.kind, b.usable_bytes):
        return False
    return all(_same_links(matrix, one, other) for matrix in (cluster.bandwidth_bytes_per_us, cluster.latency_us))


def _same_links(matrix: NDArray[np.float64], one: int, other: int) -> bool:
    rest = np.ones(len(matrix), bool)
    rest[[one, other]] = False
    return bool(
        np.array_equal(matrix[one, rest], matrix[other, rest])
        and np.array_equal(matrix[rest, one], matrix[rest, other])
        and matrix[one, other] == matrix[other, one]
    )


def families_of_classes(cluster: Cluster, classes: list[list[int]]) -> list[int]:
    """[classes] the family of each: classes of as many devices of one kind, such as those of equal hosts."""
    looks = [
        (cluster.devices[members[0]].kind, cluster.devices[members[0]].usable_bytes, len(members))
        for members in classes
    ]
    return [looks.index(look) for look in looks]


def divisions(sizes: ReplicaShape, families: Sequence[int] = ()) -> list[Division]:
    """The divisions of classes of these sizes, each once, those with the most devices first.

    `families` is [classes]; without it each class is a family of its own.
    """
    of_classes = families or range(len(sizes))
    found = set(_free(sizes) if sum(sizes) <= MOST_FREE else _regular(sizes, of_classes))
    return sorted(found, key=lambda division: (-sum(map(sum, division)), len(division), division))


def _free(sizes: ReplicaShape) -> Iterator[Division]:
    """All divisions of all parts of the devices, none of them empty."""
    shapes = [shape for shape in itertools.product(*(range(size + 1) for size in sizes)) if any(shape)]

    def further(left: ReplicaShape, first: int) -> Iterator[Division]:
        yield ()
        for index in range(first, len(shapes)):
            rest = tuple(have - take for have, take in zip(left, shapes[index], strict=True))
            if min(rest) >= 0:
                for others in further(rest, index):
                    yield (shapes[index], *others)

    return (division for division in further(sizes, 0) if division)


def _regular(sizes: ReplicaShape, families: Sequence[int]) -> Iterator[Division]:
    """Divisions in which each class is used whole or left out, the first ones of a family first."""
    members = [[index for index, own in enumerate(families) if own == each] for each in sorted(set(families))]
    for counts in itertools.product(*(range(len(family) + 1) for family in members)):
        used = [family[:count] for family, count in zip(members, counts, strict=True) if count]
        if used:
            kept = tuple(size * any(index in family for family in used) for index, size in enumerate(sizes))
            yield from _of_equal_replicas(kept)
            yield from _of_families_alone(kept, used)


def _of_equal_replicas(sizes: ReplicaShape) -> Iterator[Division]:
    for count in range(1, min(size for size in sizes if size) + 1):
        if all(size % count == 0 for size in sizes):
            yield (tuple(size // count for size in sizes),) * count


def _of_families_alone(sizes: ReplicaShape, used: list[list[int]]) -> Iterator[Division]:
    """Each class forms replicas of its own, as large in all classes of a family."""
    for widths in itertools.product(*(_divisors(sizes[family[0]]) for family in used)):
        shapes = [
            tuple(width * (other == index) for other in range(len(sizes)))
            for family, width in zip(used, widths, strict=True)
            for index in family
            for _ in range(sizes[index] // width)
        ]
        yield tuple(sorted(shapes))


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def devices_of(division: Division, classes: list[list[int]]) -> list[tuple[int, ...]]:
    """[replicas] the devices of each, in the order of the cluster."""
    left = [list(members) for members in classes]
    return [
        tuple(sorted(left[index].pop(0) for index, count in enumerate(shape) for _ in range(count)))
        for shape in division
    ]
