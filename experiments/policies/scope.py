"""The settings of an experiment with trained policies: one dataclass, a sentence for each field."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from engine.errors import SettingsError
from engine.events import Json
from engine.policies.settings import PolicyTrainingSettings, make_training_settings
from engine.policies.trained_policy import POLICY_VERSION
from engine.settings.fields import declarations, mapping, number, refused, require_allowed, switch, text, whole
from engine.settings.making import make_settings
from engine.zoo.families.catalogue import FAMILIES
from experiments.folders import ROOT
from experiments.keeping.yardstick import YARDSTICK
from experiments.policies.held_out import require_open

DIGITS = 12
"""of a digest in a file's name"""
SHORT_SECONDS, MIDDLE_SECONDS = 1.0, 10.0
"""of the searches beside the long one: with a policy's proposals, and alone"""

SEEDS_ALLOWED = "integers from 0, with commas"
_OF_FAMILY = ("train_seconds", "train_graphs")
"""settings that the policies of one family can change"""


def require_families(name: str, families: str) -> None:
    """Raise SettingsError unless `families`, of setting `name`, are names of families, with commas."""
    for family in families.split(","):
        if family not in FAMILIES:
            raise SettingsError(family, where=name, allowed=", ".join(FAMILIES), field="settings")


def _require_seeds(name: str, seeds: str) -> None:
    """Raise SettingsError unless `seeds`, of setting `name`, are integers from 0, with commas."""
    if not all(each.isascii() and each.isdigit() for each in seeds.split(",")):
        raise SettingsError(seeds, where=name, allowed=SEEDS_ALLOWED, field="settings")


@dataclass(frozen=True, slots=True)
class ExperimentScope:
    """The defaults are the whole experiment; smaller values make it shorter, and the page shows them."""

    families: str = text(",".join(FAMILIES), "names, with commas", ", ".join(FAMILIES), require_families)
    clusters: str = text(
        "2xK80,4xK80,8xV100,2xV100+2xK80", "shorthands, with commas: 2, 4 and 8 devices, and unequal ones"
    )
    seeds: int = whole(5, 1, 1000, "policies for each family, trained with different random numbers")
    train_seconds: float = number(3000.0, 1e-3, 1e7, "of the processor, for each training")
    train_graphs: int = whole(
        22,
        1,
        700,
        "of each family, the first ones of its split; 32 members have 22, a larger number draws more",
    )
    of_family: Mapping[str, dict[str, int | float]] = mapping(
        f"{' and '.join(_OF_FAMILY)} of families that are covered",
        "`train_seconds` and `train_graphs` of the policies of one family, if they differ",
    )
    graphs: int = whole(10, 1, 300, "held out of each family, the first ones of its split")
    test_seeds: str = text(
        "0,1",
        "seeds of the held-out graphs, with commas; ptb and cifar10 alone have others than 0",
        SEEDS_ALLOWED,
        _require_seeds,
    )
    unseal: bool = switch(False, "whether the sealed seed 2 may be among them, once, at the end")
    samples: int = whole(16, 0, 4096, "sampled passes beside the greedy one")
    search_seconds: float = number(
        60.0, 1e-3, 1e7, "of the processor, for the search that is the reference of all gaps"
    )
    slow_methods: bool = switch(
        True, "whether m-SCT, whose linear programme takes long on large graphs, and Scotch are compared too"
    )
    rnn_seconds: float = number(600.0, 0.0, 1e7, "of training of an RNN for each family and each cluster; 0 for none")
    processes: int = whole(2, 1, 1000, "at once")
    cache: str = text(".cache/families", "folder of the families' graphs")
    yardstick: str = text(
        str(YARDSTICK.relative_to(ROOT)), "file of the best known placements, to which all that is found is offered"
    )
    work: str = text(".cache/policies", "folder of finished work: a second call continues from there")

    def __post_init__(self) -> None:
        require_allowed(self)
        for seed in self.test_seed_numbers:
            require_open(seed, unseal=self.unseal)
        if not _is_of_families(self.of_family, self.family_names):
            raise refused("of_family", self.of_family, declarations(ExperimentScope)["of_family"].allowed)
        for name in self.of_family:
            self.of((name,))

    @property
    def family_names(self) -> tuple[str, ...]:
        """The families, in their order."""
        return tuple(self.families.split(","))

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """The clusters, in their order."""
        return tuple(self.clusters.split(","))

    @property
    def test_seed_numbers(self) -> tuple[int, ...]:
        """The seeds of the held-out graphs, in their order."""
        return tuple(map(int, self.test_seeds.split(",")))

    def of(self, families: tuple[str, ...]) -> "ExperimentScope":
        """The scope of the policies of `families`: a single family may have its own settings."""
        changes = self.of_family.get(families[0], {}) if len(families) == 1 else {}
        return dataclasses.replace(self, of_family={}, **changes)  # type: ignore[arg-type]  # ranges are checked

    def training_settings(self) -> PolicyTrainingSettings:
        """The defaults, on the CPU, for the seconds of this scope."""
        return make_training_settings({"seconds": float(self.train_seconds), "torch_device": "cpu"})

    def key(self, *fields: str) -> str:
        """A digest of `fields`."""
        return digest([[name, _number_or_text(getattr(self, name))] for name in fields])

    def training_key(self, families: tuple[str, ...], *fields: str) -> str:
        """The same for what depends on a training on `families`, with all of the training's settings."""
        scope = self.of(families)
        key = scope.key("clusters", "train_graphs", *fields)
        return digest([key, POLICY_VERSION, asdict(scope.training_settings())])

    def words(self, *, with_rnn: bool = False) -> str:
        """The settings in words, for the page."""
        rnn = f"; the RNN has {self.rnn_seconds:g} s of training for each family and cluster" * with_rnn
        others = "".join(
            f" ({family}: {self.of((family,)).train_seconds:g} s on {self.of((family,)).train_graphs} graphs)"
            for family in self.of_family
        )
        return (
            f"seeds 0 to {self.seeds - 1}, {self.train_seconds:g} s of training for each policy on "
            f"{self.train_graphs} graphs of a family on {self.clusters.replace(',', ', ')}{others}; "
            f"{self.graphs} held-out graphs of each family and seed; {self.samples} sampled passes; the search has "
            f"{self.search_seconds:g} s{rnn}; all seconds are of one core's time"
        )


def _is_of_families(value: object, families: tuple[str, ...]) -> bool:
    return isinstance(value, dict) and all(
        name in families and isinstance(changes, dict) and changes.keys() <= set(_OF_FAMILY)
        for name, changes in value.items()
    )


def _number_or_text(value: str | float) -> str | float:
    """60 and 60.0 as the same number."""
    return value if isinstance(value, str) else float(value)


def digest(known: Json) -> str:
    """A digest of a JSON value, for a file's name."""
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:DIGITS]


def make_scope(settings: Mapping[str, Json]) -> ExperimentScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", ExperimentScope, settings)


def without_variants(settings: Mapping[str, Json]) -> dict[str, Json]:
    """These settings with families that are no variant of another one of them. Raises SettingsError."""
    names = make_scope(settings).family_names
    own = [name for name in names if FAMILIES[name].variant_of not in names]
    return {**settings, "families": ",".join(own)}
