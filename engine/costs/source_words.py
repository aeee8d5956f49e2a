"""Where op times come from, in a few words: the one phrase for pages, tables and reports."""

from collections.abc import Mapping

from engine.number_words import part_words

SOURCE_WORDS = {
    "measured": "measured",
    "estimated": "estimated by Grappler",
    "given": "given in the file",
    "bounded": "estimated at the largest possible sizes",
    "unknown": "unknown, counted as zero",
}
"""name of a `CostSource` → its words"""


def simulated_words(sources: Mapping[str, int]) -> str:
    """How step times were found: `simulated, op times 93 % estimated by Grappler, 7 % measured`.

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
