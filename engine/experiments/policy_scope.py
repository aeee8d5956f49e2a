"""What an experiment with trained policies covers: one dataclass, a sentence a field."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from engine import VERSION
from engine.errors import SettingsError
from engine.events import Json
from engine.families.catalogue import FAMILIES
from engine.setting_ranges import require_fields, require_ranges

DIGITS = 12
"""of a digest in a file's name"""
SHORT_SECONDS, MIDDLE_SECONDS = 1.0, 10.0
"""of the searches that are compared with: after proposals, and alone"""

_WHOLE = {"seeds": (1, 1000), "train_graphs": (1, 700), "graphs": (1, 300), "processes": (1, 1000)}


@dataclass(frozen=True, slots=True)
class Scope:
    """The defaults are the whole experiment; each can be made less, and the page says what it ran with."""

    families: str = ",".join(FAMILIES)
    """names, with commas"""
    clusters: str = "2xK80,4xK80,8xV100,2xV100+2xK80"
    """shorthands, with commas: 2, 4 and 8 devices, and unequal ones"""
    seeds: int = 5
    """policies trained from other random numbers, for each family"""
    train_seconds: float = 3000.0
    """of the processor, for each training"""
    train_graphs: int = 22
    """of each family, the first ones of its split; 32 members have 22, and for more than these more are drawn"""
    graphs: int = 10
    """held out of each family, the first ones of its split"""
    samples: int = 16
    """passes by chance beside the greedy one"""
    search_seconds: float = 60.0
    """of the processor, for the search that all is compared with"""
    slow_methods: bool = True
    """whether m-SCT, whose linear programme takes long on large graphs, and Scotch are compared, too"""
    rnn_seconds: float = 600.0
    """of training of an RNN for each family and each cluster; 0 for none"""
    processes: int = 2
    """at once"""
    cache: str = ".cache/families"
    """folder of the families' graphs"""
    work: str = ".cache/policies"
    """folder of what has been made already: a second call goes on from there"""

    def __post_init__(self) -> None:
        for name in self.family_names:
            if name not in FAMILIES:
                raise SettingsError(name, where="families", allowed=", ".join(FAMILIES), field="settings")
        require_ranges(self, _WHOLE, {})

    @property
    def family_names(self) -> tuple[str, ...]:
        """In their order."""
        return tuple(self.families.split(","))

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """In their order."""
        return tuple(self.clusters.split(","))

    def key(self, *fields: str) -> str:
        """A digest of the version and `fields`: of what a file in the work folder depends on."""
        known = [VERSION, *([field, getattr(self, field)] for field in fields)]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:DIGITS]

    def told(self, *, with_rnn: bool = False) -> str:
        """For the page: what it ran with."""
        rnn = f"; the RNN has {self.rnn_seconds:g} s of training for each family and cluster" * with_rnn
        return (
            f"seeds 0 to {self.seeds - 1}, {self.train_seconds:g} s of training for each policy on "
            f"{self.train_graphs} graphs of a family on {self.clusters.replace(',', ', ')}; {self.graphs} held-out "
            f"graphs of each family; {self.samples} sampled passes; the search has {self.search_seconds:g} s{rnn}; "
            "all seconds are of one core's time"
        )


def make_scope(settings: Mapping[str, Json]) -> Scope:
    """`settings` over the whole experiment's. Raises SettingsError."""
    require_fields("the experiment", Scope, settings)
    return Scope(**settings)  # type: ignore[arg-type]  # the dataclass checks its values itself
