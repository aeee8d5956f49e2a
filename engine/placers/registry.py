"""All placers: name → (label, dotted path), imported on first use. A new method is one file and one line here."""

import dataclasses
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from engine.errors import SettingsError
from engine.events import Json
from engine.placers.placer import Placer, PolicyPlacer
from engine.placers.sequence.settings import PRESETS as SEQUENCE_PRESETS
from engine.placeto.settings import PRESETS as PLACETO_PRESETS
from engine.policies.trained_policy import TrainedPolicy
from engine.settings.ranges import require_fields

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PLACERS: dict[str, tuple[str, str]] = {
    "auto": ("Auto", "engine.placers.auto:Auto"),
    "placeto": ("Placeto", "engine.placers.placeto:Placeto"),
    "single_device": ("Single device", "engine.placers.single_device:SingleDevice"),
    "cpu_only": ("CPU only", "engine.placers.cpu_only:CpuOnly"),
    "random": ("Random", "engine.placers.random:Random"),
    "m_topo": ("m-TOPO", "engine.placers.m_topo:MTopo"),
    "m_etf": ("m-ETF", "engine.placers.m_etf:MEtf"),
    "m_sct": ("m-SCT", "engine.placers.m_sct:MSct"),
    "heft": ("HEFT", "engine.placers.heft:Heft"),
    "scotch": ("Scotch", "engine.placers.scotch:Scotch"),
    "human_expert": ("Human expert", "engine.placers.human_expert:HumanExpert"),
    "post": ("Post", "engine.placers.post:Post"),
    "brkga": ("BRKGA", "engine.placers.brkga:Brkga"),
    "regal": ("REGAL", "engine.placers.regal.placer:Regal"),
    "spotlight": ("Spotlight", "engine.placers.spotlight.placer:Spotlight"),
    "rnn": ("RNN", "engine.placers.sequence.rnn:Rnn"),
    "hierarchical": ("Hierarchical", "engine.placers.sequence.hierarchical:Hierarchical"),
    "local_search": ("Local search", "engine.placers.local_search:LocalSearch"),
    "exhaustive": ("Exhaustive", "engine.placers.exhaustive:Exhaustive"),
}

PRESETS: dict[str, tuple[str, ...]] = {
    "placeto": tuple(PLACETO_PRESETS),
    "rnn": tuple(SEQUENCE_PRESETS),
    "hierarchical": tuple(SEQUENCE_PRESETS),
}
"""names for the setting `preset`, the default first"""

DETERMINISTIC = frozenset(
    {"single_device", "cpu_only", "m_topo", "m_etf", "m_sct", "heft", "human_expert", "exhaustive"}
)
"""methods that draw nothing at random: with every seed the same placements, so a comparison runs them with one"""


TAKE_A_POLICY = ("placeto", "auto")
"""methods that can begin from a trained policy"""


@dataclasses.dataclass(frozen=True, slots=True)
class _NoSettings:
    """Of a placer without any."""


def placer_class(name: str) -> type[Placer]:
    """The class of method `name`. Raises SettingsError for a name that is not in `PLACERS`."""
    if name not in PLACERS:
        raise SettingsError(f"there is no method {name!r}", where="method", allowed=", ".join(PLACERS), field="method")
    module, _, attribute = PLACERS[name][1].partition(":")
    return cast(type[Placer], getattr(importlib.import_module(module), attribute))


def make_placer(name: str, settings: Mapping[str, Json], policy: TrainedPolicy | None = None) -> Placer:
    """A placer of method `name`, `settings` over its defaults, that begins from `policy`.

    Raises SettingsError for an unknown name or setting, or a policy that the method does not take.
    """
    made: Any = placer_class(name)
    if dataclasses.is_dataclass(made):
        require_fields(name, made, settings)
    placer = cast(Placer, made(**settings))
    if policy is not None:
        if name not in TAKE_A_POLICY:
            allowed = f"none, or one of the methods {', '.join(TAKE_A_POLICY)}"
            raise SettingsError(f"{name} takes no policy", where="policy", allowed=allowed, field="policy")
        cast(PolicyPlacer, placer).use_policy(policy)
    return placer


def make_method_settings(name: str, given: Mapping[str, Json]) -> "DataclassInstance":
    """The settings with which method `name` would run. Raises SettingsError as `make_placer`."""
    return settings_dataclass_of(make_placer(name, given))


def settings_of(placer: Placer) -> dict[str, Json]:
    """The settings that `placer` runs with, defaults included: stored with every result."""
    return dataclasses.asdict(settings_dataclass_of(placer))


def settings_dataclass_of(placer: Placer) -> "DataclassInstance":
    """The same as they were made: the placer itself, or what it keeps as `settings`."""
    settings: object = placer if dataclasses.is_dataclass(placer) else getattr(placer, "settings", None)
    if not dataclasses.is_dataclass(settings) or isinstance(settings, type):
        return _NoSettings()
    return settings
