"""Remarks for people on the devices that a file fixes, and on ops of loops that stay together."""

from collections import Counter

from engine.errors import shortened
from engine.graphs.device_string import DROP_DEVICES
from engine.graphs.graph import ComputationGraph
from engine.graphs.tensorflow.control_flow import MOST_IN_ORDER

ENTERS_SHOWN = 3


def notes_on_devices(graph: ComputationGraph) -> tuple[str, ...]:
    """A sentence for each kind of op that TensorFlow moves or keeps together without a word."""
    notes = []
    if graph.moved_ops:
        is_one = graph.moved_ops == 1
        uses = "variable that it uses" if is_one else "variables that they use"
        runs = "it with the variable" if is_one else "each with its variable"
        notes.append(f"{_fixed(graph.moved_ops)} to another device than the {uses}; TensorFlow runs {runs}.")
    if moved := graph.moved_in_control_flow:
        counted = sorted(Counter(moved).items())
        devices = ", ".join(f"{count} to {shortened(device)}" for device, count in counted)
        than, go = ("op", "it goes") if len(moved) == 1 else ("ops", "they go")
        runs = "it" if len(moved) == 1 else "them"
        notes.append(
            f"{_fixed(len(moved))} to another device than the {than} of a loop or condition with which TensorFlow runs "
            f"{runs}; {go} there: {devices}."
        )
    if graph.unfixed_ops:
        is_one = graph.unfixed_ops == 1
        runs = "it, or an op that must share its device" if is_one else "them, or an op that must share their device"
        counts = "It counts" if is_one else "They count"
        notes.append(
            f"{_fixed(graph.unfixed_ops)} to a device that cannot run {runs}. {counts} as not fixed, as with "
            f"TensorFlow's soft placement; {DROP_DEVICES} ignores all devices of the file."
        )
    if wide := graph.wide_enters:
        shown = ", ".join(map(shortened, wide[:ENTERS_SHOWN])) + ", …" * (len(wide) > ENTERS_SHOWN)
        notes.append(
            f"An Enter with more than {MOST_IN_ORDER} consumers stays with all of them on one device, because "
            f"TensorFlow may run it with any of them: {shown}."
        )
    return tuple(notes)


def _fixed(count: int) -> str:
    return "An op is fixed" if count == 1 else f"{count} ops are fixed"
