"""Settings of how a method uses the machine, which several methods have."""

from engine.settings.fields import choice, number, whole


def torch_device(default: str) -> str:
    """The setting `torch_device`."""
    names = ("auto", "cpu", "cuda")
    known = (default, *(name for name in names if name != default))
    return choice(known, "where the network runs: `cpu`, `cuda`, or `auto` (CUDA where there is one)")


def torch_threads() -> int:
    """The setting `torch_threads`."""
    return whole(1, 1, 256, "threads of torch on the CPU; the same answer needs the same number")


def checkpoint_seconds(default: float) -> float:
    """The setting `checkpoint_seconds`."""
    return number(default, 0.0, 3600.0, "least time between two states kept for going on after an interruption")
