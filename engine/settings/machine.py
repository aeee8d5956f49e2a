"""Settings about the use of the machine, which several methods share."""

from engine.settings.fields import choice, number, whole


def torch_device(default: str) -> str:
    """The setting `torch_device`."""
    names = ("auto", "cpu", "cuda")
    known = (default, *(name for name in names if name != default))
    return choice(known, "where the network runs: `cpu`, `cuda`, or `auto` (CUDA if the machine has it)")


def torch_threads() -> int:
    """The setting `torch_threads`."""
    return whole(1, 1, 256, "threads of torch on the CPU; equal results need equal numbers of threads")


def checkpoint_seconds(default: float) -> float:
    """The setting `checkpoint_seconds`."""
    return number(
        default, 0.0, 3600.0, "least seconds between two saved states, from which an interrupted run continues"
    )
