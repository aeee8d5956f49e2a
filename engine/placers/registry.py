"""All placers, one row each, imported on first use. A new method is one file and one row here."""

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from engine.errors import SettingsError
from engine.events import Json
from engine.placers import memory
from engine.placers.memory import MemoryNeed
from engine.placers.placer import Placer, PolicyPlacer
from engine.placers.sequence.settings import HierarchicalSettings, RnnSettings
from engine.placeto.settings import PlacetoSettings
from engine.policies.trained_policy import OF_A_TRAINING, TrainedPolicy
from engine.settings.making import make_settings, presets_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


RECOMMENDED, BASELINES, SHIPPED, SCHEDULERS, SEARCH, LEARNED = KINDS = (
    "Recommended",
    "Baselines",
    "Shipped elsewhere",
    "List schedulers",
    "Search",
    "Learned",
)
PRESET_WORDS = {
    "fast": "our settings, which reach a good placement in a fraction of the time",
    "paper": "the settings of the paper, many times slower",
}
"""preset → what it stands for, wherever a method has it"""


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the registry, used by forms, documents and `python -m engine methods`."""

    name: str
    label: str
    path: str
    """dotted path of its class"""
    kind: str
    """one of `KINDS`, by which forms group the methods"""
    does: str
    """what it does, in a few words for people, without the final stop"""
    presets: tuple[str, ...] = ()
    """names for the setting `preset`, the default first; empty where the method has none"""
    deterministic: bool = False
    """whether every seed gives the same placements, so that a comparison runs it with one seed"""
    takes_policy: bool = False
    """whether a run of it may begin from a trained policy"""
    leaves_out_policies: bool = False
    """whether it leaves out a policy whose training was far from the problem"""
    searches_levels: bool = False
    """whether it moves groups of all levels; any other method places those that people see"""
    searches_from_start: bool = False
    """whether a run that begins from a placement searches from there; any other method evaluates it and goes its way"""
    evaluates_in_compiled_code: bool = False
    """whether it evaluates inside compiled code, which can only simulate: its rewards cannot be measured"""
    streams_only: bool = False
    """whether it makes the period of a stream small, and refuses a problem whose objective is the step time"""
    keeps_contiguous: bool = False
    """whether it makes contiguous stages alone where a stream asks for them"""
    keeps_apart: bool = False
    """whether it keeps apart what constraints say; all other constraints every method keeps"""
    memory: MemoryNeed = memory.EVERY_RUN
    """what a run of it takes"""

    @property
    def policy_preset(self) -> str:
        """The preset with which it can begin from a policy; empty if it has no presets or takes no policy."""
        return str(OF_A_TRAINING["preset"]) if self.presets and self.takes_policy else ""


PLACERS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "auto",
            "Auto",
            "engine.placers.auto:Auto",
            RECOMMENDED,
            "tries one device, whole loops on devices of their own, the list schedulers, the human expert and Scotch, "
            "then every placement if there are few enough, else local search from the best",
            takes_policy=True,
            leaves_out_policies=True,
            keeps_contiguous=True,
            keeps_apart=True,
            searches_levels=True,
            searches_from_start=True,
            evaluates_in_compiled_code=True,
        ),
        Method(
            "placeto",
            "Placeto",
            "engine.placers.placeto:Placeto",
            RECOMMENDED,
            "learns, by reinforcement, a policy over graph embeddings that places one group after the "
            "other; a trained policy places at once, then learns on",
            presets_of(PlacetoSettings),
            takes_policy=True,
            searches_from_start=True,
            memory=memory.PLACETO,
        ),
        Method(
            "single_device",
            "Single device",
            "engine.placers.single_device:SingleDevice",
            BASELINES,
            "puts everything on one device, each in turn",
            keeps_contiguous=True,
            keeps_apart=True,
            deterministic=True,
        ),
        Method(
            "cpu_only",
            "CPU only",
            "engine.placers.cpu_only:CpuOnly",
            BASELINES,
            "puts everything on a CPU, except ops that no CPU can run or that are fixed",
            keeps_contiguous=True,
            keeps_apart=True,
            deterministic=True,
        ),
        Method(
            "random",
            "Random",
            "engine.placers.random:Random",
            BASELINES,
            "draws a random device for each group, anew for each evaluation",
            keeps_apart=True,
            memory=memory.RANDOM,
        ),
        Method(
            "m_topo",
            "m-TOPO",
            "engine.placers.m_topo:MTopo",
            SCHEDULERS,
            "fills one device after the other in topological order",
            keeps_apart=True,
            deterministic=True,
        ),
        Method(
            "m_etf",
            "m-ETF",
            "engine.placers.m_etf:MEtf",
            SCHEDULERS,
            "repeatedly places the op that can start earliest, among devices with room",
            keeps_apart=True,
            deterministic=True,
        ),
        Method(
            "m_sct",
            "m-SCT",
            "engine.placers.m_sct:MSct",
            SCHEDULERS,
            "finds favourite children by a linear programme, then m-ETF, in which a device waits for its "
            "favourite child",
            keeps_apart=True,
            deterministic=True,
        ),
        Method(
            "heft",
            "HEFT",
            "engine.placers.heft:Heft",
            SCHEDULERS,
            "takes the ops by upward rank and puts each on the device on which it finishes first",
            keeps_apart=True,
            deterministic=True,
        ),
        Method(
            "scotch",
            "Scotch",
            "engine.placers.scotch:Scotch",
            BASELINES,
            "maps the weighted graph of groups onto the devices by recursive bipartitioning, with the Scotch library",
            keeps_apart=True,
        ),
        Method(
            "human_expert",
            "Human expert",
            "engine.placers.human_expert:HumanExpert",
            BASELINES,
            "spreads LSTM layers, or the parallel branches of a block, over the devices, as an engineer "
            "would from the ops' names",
            deterministic=True,
        ),
        Method(
            "accelerate_auto",
            "Accelerate auto",
            "engine.placers.shipped.accelerate:AccelerateAuto",
            SHIPPED,
            'fills equal shares of the weights in order, as device_map="auto" and "balanced" of Hugging Face do',
            deterministic=True,
        ),
        Method(
            "accelerate_sequential",
            "Accelerate sequential",
            "engine.placers.shipped.accelerate:AccelerateSequential",
            SHIPPED,
            'fills one device after the other with weights, as device_map="sequential" of Hugging Face does',
            deterministic=True,
        ),
        Method(
            "even_layers",
            "Even layers",
            "engine.placers.shipped.even_layers:EvenLayers",
            SHIPPED,
            "gives each device the same number of layers, as vLLM, torchtitan and Megatron do by default",
            deterministic=True,
        ),
        Method(
            "balanced_parameters",
            "Balanced parameters",
            "engine.placers.shipped.balanced_parameters:BalancedParameters",
            SHIPPED,
            "divides the layers in order so that the most weights of a device are as few as can be, as DeepSpeed does",
            deterministic=True,
        ),
        Method(
            "capacity_greedy",
            "Capacity greedy",
            "engine.placers.shipped.capacity_greedy:CapacityGreedy",
            SHIPPED,
            "fills each device to its memory in the order of the ops, as ONNX Runtime and OpenVINO do",
            deterministic=True,
        ),
        Method(
            "post",
            "Post",
            "engine.placers.post:Post",
            LEARNED,
            "learns independent choices, one for each group, by cross-entropy minimisation and proximal "
            "policy optimisation",
            memory=memory.POST,
        ),
        Method(
            "brkga",
            "BRKGA",
            "engine.placers.brkga:Brkga",
            SEARCH,
            "breeds placements by a genetic algorithm over random keys",
            keeps_apart=True,
            searches_from_start=True,
            memory=memory.BRKGA,
        ),
        Method(
            "regal",
            "REGAL",
            "engine.placers.regal.placer:Regal",
            LEARNED,
            "trains a graph network, with half of the budget, to propose where that genetic algorithm draws its keys",
            keeps_apart=True,
            memory=memory.REGAL,
        ),
        Method(
            "spotlight",
            "Spotlight",
            "engine.placers.spotlight.placer:Spotlight",
            LEARNED,
            "learns a decision process of one stage for each group by proximal policy optimisation",
            memory=memory.SPOTLIGHT,
        ),
        Method(
            "rnn",
            "RNN",
            "engine.placers.sequence.rnn:Rnn",
            LEARNED,
            "learns a sequence-to-sequence network that reads the groups and decides one device after the other",
            presets_of(RnnSettings),
            memory=memory.RNN,
        ),
        Method(
            "hierarchical",
            "Hierarchical",
            "engine.placers.sequence.hierarchical:Hierarchical",
            LEARNED,
            "learns to group the groups, and such a network over these super-groups",
            presets_of(HierarchicalSettings),
            memory=memory.HIERARCHICAL,
        ),
        Method(
            "local_search",
            "Local search",
            "engine.placers.local_search:LocalSearchPlacer",
            SEARCH,
            "anneals in compiled code, with most of its moves on the chain that the step waits for",
            keeps_apart=True,
            searches_levels=True,
            searches_from_start=True,
            evaluates_in_compiled_code=True,
        ),
        Method(
            "pipeline_dp",
            "Pipeline DP",
            "engine.placers.pipeline_dp.placer:PipelineDp",
            SEARCH,
            "finds the contiguous split with the least period, by dynamic programming over the sets of groups that can "
            "come first",
            deterministic=True,
            keeps_contiguous=True,
            streams_only=True,
            memory=memory.PIPELINE_DP,
        ),
        Method(
            "milp",
            "MILP",
            "engine.placers.milp.placer:Milp",
            SEARCH,
            "solves a mixed-integer programme with HiGHS from auto's best placement, and proves how far the answer is "
            "from the optimum; for some 60 groups",
            keeps_contiguous=True,
            keeps_apart=True,
            searches_from_start=True,
            evaluates_in_compiled_code=True,
            memory=memory.MILP,
        ),
        Method(
            "exhaustive",
            "Exhaustive",
            "engine.placers.exhaustive:Exhaustive",
            SEARCH,
            "evaluates every placement; placements that differ only in the numbers of equal devices once",
            keeps_apart=True,
            deterministic=True,
            evaluates_in_compiled_code=True,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class _NoSettings:
    """The settings of a placer that has none."""


def policy_takers() -> list[str]:
    """The methods that can begin from a trained policy."""
    return [method.name for method in PLACERS.values() if method.takes_policy]


def placer_class(name: str) -> type[Placer]:
    """The class of method `name`. Raises SettingsError for a name that is not in `PLACERS`."""
    if name not in PLACERS:
        raise SettingsError(f"there is no method {name!r}", where="method", allowed=", ".join(PLACERS), field="method")
    module, _, attribute = PLACERS[name].path.partition(":")
    return cast(type[Placer], getattr(importlib.import_module(module), attribute))


def make_placer(name: str, settings: Mapping[str, Json], policy: TrainedPolicy | None = None) -> Placer:
    """A placer of method `name` with `settings` over its defaults, which begins from `policy` if one is given.

    Raises SettingsError for an unknown name or setting, or a policy that the method does not take.
    """
    made: Any = placer_class(name)
    takes_fields = dataclasses.is_dataclass(made)
    placer = cast(Placer, make_settings(name, made, settings) if takes_fields else made(**settings))
    if policy is not None:
        if not PLACERS[name].takes_policy:
            allowed = f"none, or one of the methods {', '.join(policy_takers())}"
            raise SettingsError(f"{name} takes no policy", where="policy", allowed=allowed, field="policy")
        cast(PolicyPlacer, placer).use_policy(policy)
    return placer


def make_method_settings(name: str, given: Mapping[str, Json]) -> "DataclassInstance":
    """The settings with which method `name` would run. Raises SettingsError as `make_placer`."""
    return settings_dataclass_of(make_placer(name, given))


def settings_of(placer: Placer) -> dict[str, Json]:
    """The settings that `placer` runs with, defaults included; they are stored with every result."""
    return dataclasses.asdict(settings_dataclass_of(placer))


def settings_dataclass_of(placer: Placer) -> "DataclassInstance":
    """The dataclass of the settings that `placer` runs with: the placer itself, or its attribute `settings`."""
    settings: object = placer if dataclasses.is_dataclass(placer) else getattr(placer, "settings", None)
    if not dataclasses.is_dataclass(settings) or isinstance(settings, type):
        return _NoSettings()
    return settings
