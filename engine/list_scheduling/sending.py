"""How long a flow takes from device to device, and its bus or channel rests, compiled: as often as it is sent."""

from engine.list_scheduling.tasks import Tasks
from engine.simulator.compiled import inlined


@inlined
def transfer_time(tasks: Tasks, flow: int, source: int, device: int) -> float:
    """In µs."""
    links = tasks.links
    once_us = links.latency_us[source, device] + tasks.flow_bytes[flow] / links.bandwidth_bytes_per_us[source, device]
    return float(tasks.flow_trips[flow] * once_us)


@inlined
def rest_time(tasks: Tasks, flow: int) -> float:
    """In µs."""
    return float(tasks.flow_trips[flow] * tasks.links.rest_us)
