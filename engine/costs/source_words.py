"""Where op times come from, in a few words: the one phrase for pages, tables and reports."""

from collections import Counter
from collections.abc import Iterable, Mapping

from engine.costs.costs import Costs, CostSource
from engine.number_words import part_words

SOURCE_WORDS = {
    "measured": "measured",
    "estimated": "estimated from operations and bytes",
    "given": "given in the file",
    "bounded": "estimated at the largest possible sizes",
    "unknown": "unknown, a lower bound",
}
"""name of a `CostSource` → its words"""


def sources_of(costs: Costs) -> dict[str, int]:
    """The ops by the source of their times: its name in lower case → ops, without empty ones."""
    return _counted(costs.source.tolist())


def sources_in_groups(costs: Costs, group_of_op: Iterable[int], groups: int) -> list[str]:
    """[groups] the sources of the ops' times: `estimated`, or `estimated 12, measured 3` where they differ."""
    members: list[list[int]] = [[] for _ in range(groups)]
    for group, source in zip(group_of_op, costs.source.tolist(), strict=True):
        members[group].append(source)
    return [_in_a_group(_counted(sources)) for sources in members]


def _in_a_group(sources: Mapping[str, int]) -> str:
    return next(iter(sources)) if len(sources) == 1 else ", ".join(f"{name} {ops}" for name, ops in sources.items())


def _counted(sources: Iterable[int]) -> dict[str, int]:
    counts = Counter(sources)
    return {source.name.lower(): counts[source] for source in CostSource if counts[source]}


def simulated_words(sources: Mapping[str, int]) -> str:
    """How step times were found: `simulated, op times 93 % estimated from operations and bytes, 7 % measured`.

    `sources`: name of a `CostSource` in lower case → ops.
    """
    total = sum(sources.values())
    found = [(count, SOURCE_WORDS[name]) for name, count in sources.items() if count]
    if not found:
        return "simulated"
    if len(found) == 1:
        return f"simulated, op times {found[0][1]}"
    shares = [f"{part_words(count / total)} {words}" for count, words in sorted(found, key=lambda row: -row[0])]
    return f"simulated, op times {', '.join(shares)}"
