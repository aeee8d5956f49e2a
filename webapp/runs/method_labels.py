"""Methods in words."""

from collections.abc import Iterable

from engine import api


def method_labels() -> dict[str, str]:
    """Name → label for people, of every method of the registry."""
    return {method.name: method.label for method in api.methods()}


def methods_by_kind(*, marks_streams: bool = False) -> list[tuple[str, list[tuple[str, str]]]]:
    """[(kind, [(name, label)])], the recommended ones first, as a form's grouped choices.

    With `marks_streams` those for streams alone are there too, and their labels say so.
    """
    methods = [method for method in api.methods() if marks_streams or not method.streams_only]
    marks = {method.name: " (throughput only)" for method in methods if method.streams_only}
    labels = [(method.kind, (method.name, method.label + marks.get(method.name, ""))) for method in methods]
    return [(kind, [label for of, label in labels if of == kind]) for kind in api.KINDS]


def methods_from_a_start() -> list[tuple[str, list[tuple[str, str]]]]:
    """[(what they do with a placement that a run begins from, [(name, label)])], as a form's grouped choices."""
    methods = api.methods()
    return [
        (words, [(method.name, method.label) for method in methods if method.searches_from_start is searches])
        for words, searches in (("Search from there", True), ("Evaluate it, then go their own way", False))
    ]


def presets_in_words(presets: Iterable[str]) -> str:
    """What each preset stands for, in a sentence."""
    words = "; ".join(f"{preset}: {api.PRESET_WORDS[preset]}" for preset in presets)
    return f"{words}." if words else ""
