"""The settings of the experiments with the published networks: one dataclass, a sentence for each field."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.events import Json
from engine.settings.fields import require_allowed, switch, text, whole
from engine.settings.making import make_settings
from engine.zoo.families.catalogue import FAMILIES
from experiments.policies.scope import ExperimentScope, make_scope, require_families


@dataclass(frozen=True, slots=True)
class PublishedScope:
    """The defaults are the whole experiment; smaller values make it shorter, and the page shows them."""

    families: str = text(
        "nmt,ptb,cifar10", "names, with commas; the paper's three", ", ".join(FAMILIES), require_families
    )
    cluster: str = text(
        "2xK80-measured",
        "shorthand of the cluster on which everything is trained and tested; with plain K80s a second device gains so "
        "little that policies stay on one",
    )
    seeds: int = whole(3, 1, 1000, "trainings of each network on each family")
    episodes: int = whole(5000, 1, 1_000_000, "of each training on a family")
    checkpoints: int = whole(5, 1, 1000, "greedy passes over the test graphs in each training, evenly spaced")
    train_graphs: int = whole(22, 1, 700, "of each family, the first ones of its split")
    graphs: int = whole(10, 1, 300, "held out of each family, the first ones of its split")
    groups: int = whole(
        0, 0, 4096, "most groups of a graph; 0: those of its family. Work grows with the square of their number"
    )
    differences: bool = switch(False, "only for `ablations`: whether the differences of docs/placeto.md are tried too")
    curve_episodes: int = whole(2000, 1, 1_000_000, "only for `ablations`: episodes with each of the two rewards")
    optimised_graphs: int = whole(5, 1, 300, "only for `figure5`: test graphs of each family that are trained on")
    optimised_episodes: int = whole(2000, 1, 1_000_000, "only for `figure5`: episodes on each of these graphs")
    auto_evaluations: int = whole(2000, 1, 10_000_000, "only for `figure5`: evaluations of the method auto")
    processes: int = whole(2, 1, 1000, "at once")

    def __post_init__(self) -> None:
        require_allowed(self)

    @property
    def family_names(self) -> tuple[str, ...]:
        """The families, in their order."""
        return tuple(self.families.split(","))

    def of_policies(self) -> ExperimentScope:
        """The graphs of this scope, as the experiments with policies ask for them."""
        return make_scope({"families": self.families, "train_graphs": self.train_graphs, "graphs": self.graphs})

    def words(self) -> str:
        """What both pages say of the scale."""
        groups = f"at most {self.groups} groups" if self.groups else "the families' groups"
        return (
            f"seeds 0 to {self.seeds - 1}; {self.episodes:,} episodes of training on {self.train_graphs} graphs of "
            f"each family; {self.graphs} test graphs of each; {groups}; {self.cluster}"
        )


def make_published_scope(settings: Mapping[str, Json]) -> PublishedScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", PublishedScope, settings)
