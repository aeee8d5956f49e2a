"""The settings of the yardstick's searches: one dataclass, a sentence for each field."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.events import Json
from engine.placers.registry import PLACERS
from engine.settings.fields import number, refused, require_allowed, switch, text, whole
from engine.settings.making import make_settings
from engine.zoo.families.catalogue import FAMILIES
from experiments.policies.held_out import SEALED_SEED, family_and_seed, require_open, sets_of
from experiments.policies.problems import ZOO
from experiments.policies.scope import ExperimentScope

SETS = (ZOO, *(name for _, name in sets_of(FAMILIES, (0, 1))))
"""all sets of problems: the rows of Table 1, and the families' test graphs"""


def _require_sets(name: str, sets: str) -> None:
    """Raise SettingsError unless `sets`, of setting `name`, are names of sets, with commas."""
    sealed = dict(sets_of(FAMILIES, (SEALED_SEED,))).values()
    for each in sets.split(","):
        if each not in (*SETS, *sealed):
            raise refused(name, each, ", ".join(SETS))


def _require_methods(name: str, methods: str) -> None:
    """Raise SettingsError unless `methods`, of setting `name`, are names of methods, with commas."""
    for method in methods.split(","):
        if method not in PLACERS:
            raise refused(name, method, ", ".join(PLACERS))


@dataclass(frozen=True, slots=True)
class YardstickScope:
    """The defaults are the whole experiment; smaller values make it shorter."""

    sets: str = text(",".join(SETS), "sets of problems, with commas", ", ".join(SETS), _require_sets)
    clusters: str = text("2xK80,4xK80,8xV100,2xV100+2xK80", "shorthands, with commas, for the families' graphs")
    graphs: int = whole(10, 1, 300, "of each family's test graphs, the first ones")
    methods: str = text("auto,local_search", "with commas; the seeds take them in turn", "methods", _require_methods)
    seeds: int = whole(4, 0, 1000, "searches of each problem")
    seconds: float = number(20.0, 1e-3, 1e7, "of the processor, for each of them")
    long_problems: int = whole(12, 0, 1000, "problems, spread over all of them, that have long searches too")
    long_seeds: int = whole(8, 0, 1000, "long searches of each of these")
    long_seconds: float = number(60.0, 1e-3, 1e7, "of the processor, for each of them")
    search: bool = switch(True, "whether missing searches are made; without, only the page is written")
    processes: int = whole(1, 1, 1000, "at once")
    unseal: bool = switch(False, "whether sets of the sealed seed 2 may be among them")
    cache: str = text(".cache/families", "folder of the families' graphs")
    work: str = text(".cache/policies", "folder of the zoo's graphs")

    def __post_init__(self) -> None:
        require_allowed(self)
        for name in self.sets.split(","):
            if name != ZOO:
                require_open(family_and_seed(name)[1], unseal=self.unseal)

    @property
    def of_policies(self) -> ExperimentScope:
        """The scope by which the experiments with policies find the same graphs."""
        return ExperimentScope(graphs=self.graphs, unseal=self.unseal, cache=self.cache, work=self.work)


def make_yardstick_scope(settings: Mapping[str, Json]) -> YardstickScope:
    """The scope with these `settings`. Raises SettingsError."""
    return make_settings("the yardstick", YardstickScope, settings)
