"""What a recording says of its ops beside their costs, by which a profiler's trace is matched to them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

TensorShapes: TypeAlias = tuple[tuple[int, ...], ...]
"""the lengths of the tensors that an op is given; those of one number are left out"""


@dataclass(frozen=True, slots=True)
class RecordedCalls:
    """The calls of ops and modules in a recorded step."""

    shapes: tuple[TensorShapes | None, ...]
    """[ops] None for ops without work, and in recordings that lack them"""
    modules: Mapping[str, str]
    """path of a module → name of its class, in the order of the first calls"""

    def instances(self) -> dict[str, str]:
        """Path → the name that a profiler gives to the module: its class, and its number among those of the class."""
        counts: Counter[str] = Counter()
        names = {}
        for path, class_name in self.modules.items():
            names[path] = f"{class_name}_{counts[class_name]}"
            counts[class_name] += 1
        return names
