"""The simulator: step time, memory and timeline of a placement, by compiled code."""

from engine.simulator.simulator import Evaluations, Simulator

__all__ = ["Evaluations", "Simulator"]
