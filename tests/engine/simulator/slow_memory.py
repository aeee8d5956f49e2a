"""The memory of a step of the slow twin: who holds how many bytes from when to when, summed up."""

from collections import defaultdict

from engine.clusters.cluster import MemoryModel
from tests.engine.simulator.slow_twin import TwinStep

FOREVER = float("inf")


def peaks(step: TwinStep) -> list[int]:
    """[devices] after the cluster's memory model."""
    if step.twin.cluster.memory_model == MemoryModel.OUTPUTS:
        return published_peaks(step)
    return [max(level for _, level in curve) for curve in curves(step)]


def published_peaks(step: TwinStep) -> list[int]:
    """An output occupies its producer's device from its start to its last consumer's last whole µs, both included."""
    twin = step.twin
    changes: list[tuple[float, int, int, int]] = []
    for op, device in enumerate(step.device_of_op):
        first = last = step.start[op]
        for edge in twin.edges_out[op]:
            consumer = twin.edges[edge][1]
            last = max(last, int(step.start[consumer]) + int(step.run_time[consumer]) - 1)
        changes.append((first, 0, sum(twin.outputs[op]), device))
        changes.append((last, 1, -sum(twin.outputs[op]), device))
    level = [0] * twin.cluster.device_count
    peak = list(level)
    for _, _, change, device in sorted(changes):
        level[device] += change
        peak[device] = max(peak[device], level[device])
    return peak


def curves(step: TwinStep) -> list[list[tuple[float, int]]]:
    """[devices] steps (from this time on, so many bytes) of the models `full` and `persistent`."""
    change: list[dict[float, int]] = [defaultdict(int) for _ in step.twin.device_names]
    if step.twin.cluster.memory_model == MemoryModel.PERSISTENT:
        held = [(device, 0.0, FOREVER, step.twin.persistent[op]) for op, device in enumerate(step.device_of_op)]
    else:
        held = [*held_at_home(step), *held_as_copies(step)]
    for device, start, end, size in held:
        change[device][start] += size
        change[device][end] -= size
    return [_levels(changes) for changes in change]


def held_at_home(step: TwinStep) -> list[tuple[int, float, float, int]]:
    """(device, from, until, bytes) of what an op holds on its own device."""
    twin = step.twin
    held = []
    for op, device in enumerate(step.device_of_op):
        held.append((device, 0.0, FOREVER, twin.persistent[op]))
        held.append((device, step.start[op], step.end[op], twin.temporary[op]))
        for output, size in enumerate(twin.outputs[op]):
            makes_it = (op, output) not in twin.no_buffer_of_its_own and (op, output) not in twin.passes_on
            size = size * makes_it + twin.contents[op, output]
            if size:
                held.append((device, step.start[op], until(step, op, output), size))
    return held


def until(step: TwinStep, op: int, output: int) -> float:
    """When the op, its transfers of the output, and all that needs it on its device have ended."""
    sent = [each.end_us for each in step.transfers if (each.producer, each.output) == (op, output)]
    here = step.device_of_op[op]
    return max([step.end[op], *sent, *(needed_until(step, op, output, here))])


def needed_until(step: TwinStep, op: int, output: int, device: int) -> list[float]:
    """When each consumer of the output on `device`, and what needs the consumer's outputs that share it, have ended."""
    twin = step.twin
    ends = []
    for edge in twin.edges_out[op]:
        _, consumer, taken = twin.edges[edge]
        if taken == output and step.device_of_op[consumer] == device:
            ends.append(step.end[consumer])
            shared = [mine for mine, source in twin.passes_on.items() if mine[0] == consumer and source == (op, output)]
            ends += [until(step, *mine) for mine in shared]
    return ends


def held_as_copies(step: TwinStep) -> list[tuple[int, float, float, int]]:
    """(device, from, until, bytes) of what was sent to the consumers' devices."""
    held = []
    for transfer in step.transfers:
        size = step.twin.bytes_of(transfer.producer, transfer.output)
        for device in {step.device_of_op[step.twin.edges[edge][1]] for edge in transfer.edges}:
            end = max(needed_until(step, transfer.producer, transfer.output, device))
            held.append((device, transfer.end_us, end, size))
    return held


def _levels(change: dict[float, int]) -> list[tuple[float, int]]:
    level, curve = 0, []
    for time in sorted(change):
        if time < FOREVER:
            level += change[time]
            curve.append((time, level))
    return curve or [(0.0, 0)]
