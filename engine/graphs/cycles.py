"""Finds a cycle, so that an error can name it."""

from engine.graphs.ordering import Pairs, strong_components


def a_cycle(pairs: Pairs, count: int) -> list[int]:
    """The nodes of one cycle in the direction of its edges, from its lowest node on; empty if there is none."""
    component = strong_components(pairs, count)
    inside = pairs[component[pairs[:, 0]] == component[pairs[:, 1]]]
    if not len(inside):
        return []
    successor = dict(reversed(inside.tolist()))
    node = int(inside[0, 0])
    walked: dict[int, None] = {}
    while node not in walked:  # every node of a component has a successor in it
        walked[node] = None
        node = successor[node]
    cycle = list(walked)[list(walked).index(node) :]
    lowest = cycle.index(min(cycle))
    return cycle[lowest:] + cycle[:lowest]
