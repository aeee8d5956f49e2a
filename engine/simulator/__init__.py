"""The simulator: step time, memory and timeline of a placement, by compiled code."""

from engine.simulator.simulator import Evaluations, Simulator
from engine.simulator.timeline import Timeline, timeline_to_trace

__all__ = ["Evaluations", "Simulator", "Timeline", "timeline_to_trace"]
