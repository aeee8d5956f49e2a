"""The engine's public interface. Importing it loads neither torch nor tensorflow.

Everything that touches an untrusted file or TensorFlow runs in a bounded child process (`Limits`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine import VERSION
from engine.block_view import BlockView
from engine.child.machine_memory import machine_memory_bytes
from engine.child.own_memory import is_out_of_memory, limited_memory
from engine.child.parent import Limits, Pulse, ReportProgress, kills_for_memory, no_pulse
from engine.child.sandbox import missing as missing_of_sandbox
from engine.child.warm import end_warm
from engine.clusters.calibration import MeasuredFigure
from engine.clusters.cluster import MOST_DEVICES, MOST_MEMORY_BYTES, Cluster, Device, with_prices, with_reserve
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.device_kinds import CATALOGUE
from engine.clusters.link_choices import LINK_CHOICES, choices_of_kind
from engine.clusters.parsing import cluster_text, parse_cluster
from engine.clusters.shorthand import Shorthand, shorthand_of
from engine.comparing.comparison import Comparison, ComparisonRequest, ReportStanding, Standing
from engine.comparing.figure_file import figure_file as comparison_figure
from engine.comparing.listener import Listener as ComparisonListener
from engine.comparing.outcome import Outcome
from engine.comparing.report import LABELS
from engine.comparing.report import draw_outcomes as draw_comparison
from engine.comparing.report import report_of as comparison_report
from engine.comparing.summary import MethodSummary, summaries_of
from engine.comparing.summary import markdown_of as comparison_markdown
from engine.comparing.summary import verdict_sentence_of as comparison_verdict
from engine.costs.costs import CostSource
from engine.costs.source_words import simulated_words
from engine.errors import (
    ChildError,
    ChildKilledError,
    ClusterError,
    CostError,
    GraphError,
    InfeasibleError,
    LimitError,
    PlacementError,
    PlacetoError,
    SettingsError,
    shortened,
)
from engine.events import (
    Baseline,
    Checkpoint,
    Emit,
    Emitted,
    Episode,
    Event,
    Finished,
    Json,
    LearnedPolicy,
    NumberedEvent,
    PlanFound,
    Progress,
    ShouldStop,
    Started,
    Update,
)
from engine.explaining.decisions import EpisodeDecisions, obstacle
from engine.explaining.gains import Gains
from engine.explaining.judging import judgement
from engine.explaining.model_explorer import device_node_data, model_explorer_graph, time_node_data
from engine.explaining.sent import explanation_to_bytes
from engine.explaining.session import Explanation, GivenPlacement, Session
from engine.explaining.tables import chain_csv, groups_csv
from engine.explaining.trace import explained_trace
from engine.files.csv_text import csv_text
from engine.flat_view import MOST_DRAWN, flat_view_to_bytes, require_drawable
from engine.formats.digraph import digraph
from engine.formats.format import OFFLOAD, Format, require_offload
from engine.formats.loading_lines import LOADED_FORMATS, loading_lines
from engine.formats.modules.files import (
    MODULE_FILES,
    ModuleFile,
    module_file_of,
    module_file_text,
    require_module_file,
)
from engine.formats.open_inputs import OpenInput
from engine.formats.reading import AUTO_GROUPS, Groups, check_run_metadata, check_upload, keep_warm, prepare
from engine.formats.reading import STEPS as READING_STEPS
from engine.formats.registry import CONVERSIONS, FORMATS, suffix_of, unknown_suffix
from engine.formats.writing import require_saved_model, write_placed
from engine.graphs.constraints import Constraints
from engine.graphs.grouping.nesting import SPLIT, SplitPlacement
from engine.graphs.origin import NO_SIGNATURE, NO_VARIABLES, OPEN_TRIPS, SIZES_FROM, TRIPS_FROM
from engine.graphs.reading_options import (
    MOST_DIMENSION,
    OPEN_LENGTH,
    ReadingOptions,
    shape_words,
    tags_of_text,
    tags_text,
)
from engine.measuring.calibrating.calibration import require_idle
from engine.measuring.calibrating.machine import calibrate
from engine.measuring.device_process import most_processes
from engine.measuring.many import GraphToMeasure, measure_many
from engine.measuring.measurement import measure
from engine.measuring.profiling import MEASURING_LIMITS, profile
from engine.measuring.real_rewards import RealRewards, WhatToMeasure
from engine.number_words import bytes_words, counted, part_words, percent_words, time_words
from engine.placement_files import (
    MOST_PLACEMENT_BYTES,
    apply,
    devices_to_json,
    pins_of_names,
    placement_of_names,
    placement_of_report,
    placement_to_json,
    read_placement,
    simplest_of_report,
    simulate,
    trace,
)
from engine.placers.registry import KINDS, PLACERS, PRESET_WORDS, Method, make_method_settings
from engine.placeto.kept_policy import KeptPolicy
from engine.plans.by_batch import ModelByBatch, model_by_batch, samples_of
from engine.plans.choice_report import cheapest_report as cheapest
from engine.plans.choice_report import choice_lines
from engine.plans.choice_report import one_more_report as one_more
from engine.plans.collectives import Algorithm
from engine.plans.plan import PlanRules
from engine.plans.replica_files import GRAPHDEF, SAVED_MODEL, PlacedSource, usual_placed, write_replica_files
from engine.plans.replica_run import replica_request
from engine.plans.report import found_line as found_plan_line
from engine.plans.report import plan_lines, price_words
from engine.plans.report import plan_report as plan
from engine.plans.request import PlanRequest
from engine.plans.search import require_plannable
from engine.plans.strategy_script import write_strategy
from engine.plans.usual import WORDS as USUAL_PLANS
from engine.plans.words import plan_ahead, plan_verdict, plan_words, rate_words, replica_words
from engine.policies.card import HeldOut, PolicyCard
from engine.policies.expectations import ExpectedGap, expected_gaps
from engine.policies.fitting import PolicyFit, policy_fit
from engine.policies.settings import (
    MOST_LEARNERS,
    ChangedSetting,
    PolicyTrainingSettings,
    changed_settings,
    make_training_settings,
)
from engine.policies.trained_policy import MOST_POLICY_BYTES, POLICY_VERSION, TrainedPolicy
from engine.policies.training_problem import TrainingProgress
from engine.policies.traits import ranges_words
from engine.policies.upload import check_policy
from engine.policy_training import (
    TrainRequest,
    check_counts,
    check_training,
    learned_until,
    train,
    training_identity,
)
from engine.prepared import PreparedGraph
from engine.problem import MOST_EVALUATIONS, Budget
from engine.problem.memory_floor import require_room_for_variables
from engine.run.problem import require_can_split, require_measurable, require_placeable
from engine.run.request import BASELINES, TRIVIAL_BASELINES, GivenPolicy, RunRequest
from engine.run.run import Run
from engine.search.preference import Preference
from engine.settings.listing import MakeSettings, Setting, list_settings, settings_schema
from engine.settings.seeds import MOST_SEED
from engine.simulator.streams.passes import require_stream, usual_pipeline
from engine.simulator.streams.stream import (
    MOST_MICRO_BATCHES,
    Objective,
    Pipeline,
    Recompute,
    Stream,
    pipeline_of,
    recompute_of,
)
from engine.zoo import BUILD_LIMITS, ZOO, build_graph
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.family import PreparedFamily, build_family, prepared_family
from engine.zoo.families.members import DEFAULT_COUNT as FAMILY_COUNT
from engine.zoo.families.members import Member
from engine.zoo.families.members import members as family_members


@dataclass(frozen=True, slots=True)
class KindInfo:
    """A device kind of the catalogue, for forms."""

    name: str
    device_class: str
    memory_bytes: int
    links: tuple[str, ...]
    """names of the choices of links that several of it can have: all for a CPU, which has no link of its own"""


def methods() -> list[Method]:
    """All placers, in the order of the registry."""
    return list(PLACERS.values())


def what_has_settings() -> dict[str, MakeSettings]:
    """Method, `training` or sample → the function that makes its settings, for `list_settings`."""
    return {
        **{method: partial(make_method_settings, method) for method in PLACERS},
        "training": make_training_settings,
        **{name: model.settings for name, model in ZOO.items()},
    }


def device_kinds() -> list[KindInfo]:
    """All device kinds, in the order of the catalogue."""
    return [
        KindInfo(kind.name, kind.device_class, kind.memory_bytes, choices_of_kind(kind)) for kind in CATALOGUE.values()
    ]


def link_choices() -> dict[str, str]:
    """The links that a shorthand may name after an `@`: name → label."""
    return {name: choice.label for name, choice in LINK_CHOICES.items()}


def samples() -> dict[str, str]:
    """The graphs that `build` can make: name → label."""
    return {name: model.label for name, model in ZOO.items()}


def families() -> dict[str, str]:
    """The families that `build_family` and `prepared_family` can make, 32 graphs each: name → label."""
    return {name: family.label for name, family in FAMILIES.items()}


def build(
    name: str,
    destination: Path,
    report_progress: ReportProgress,
    settings: Mapping[str, Json] | None = None,
    pulse: Pulse = no_pulse,
) -> int:
    """Build a graph of the zoo with TensorFlow, as a binary GraphDef, and return its number of ops.

    `settings` are those of the model (`engine/zoo/settings.py`): `batch`, `inference`, and so on. `pulse` is called
    several times a second; what it raises ends the child. Raises SettingsError.
    """
    return build_graph(name, destination, report_progress, settings or {}, pulse=pulse)


def check_training_counts(families: Sequence[str], graphs: int, held_out: int, clusters: int) -> None:
    """Raise SettingsError if `families` and the numbers of other graphs are too many for the number of clusters."""
    splits = [member.split for family in families for member in family_members(family)]
    check_counts(graphs + splits.count("train"), held_out + splits.count("test"), clusters)


def place(
    prepared: PreparedGraph,
    request: RunRequest,
    emit: Emit,
    should_stop: ShouldStop,
    checkpoint: bytes | None = None,
    *,
    rewards: RealRewards | None = None,
) -> dict[str, Json]:
    """Run one placer and return its report (also emitted as `Finished`, unless `should_stop` ended it).

    With `checkpoint` the run continues from there, and so do the numbers of its events; without, they begin at 1.
    With `rewards` it measures on this machine's devices, which executes the graph; the report has `measured`. Raises
    InfeasibleError if no feasible placement was evaluated, after the events that show this; with `rewards` also as
    `measure_many`.
    """
    timer = None if rewards is None else rewards.timer
    return Run(prepared, request, emit, should_stop, timer=timer, choose=rewards).execute(checkpoint)


def read_policy(blob: bytes, where: str) -> TrainedPolicy:
    """The trained policy in a file's bytes; `where` names the file in errors. Raises SettingsError."""
    return TrainedPolicy.from_bytes(blob, where)


def zero_shot_evaluations(cluster: Cluster) -> int:
    """The evaluations that a policy's greedy pass needs: one a device, which every run makes, and one for the pass."""
    return cluster.device_count + 1


def compare(
    prepared: PreparedGraph,
    request: ComparisonRequest,
    folder: Path,
    report_standing: ReportStanding,
    processes: int = 0,
) -> list[Outcome]:
    """Run methods × seeds in `processes` children at once (0: one a core); `folder` stores the finished runs.

    A second call with the same folder continues. A method's own failure becomes its outcome's reason; an error that any
    method would meet is raised, such as an op that no device of the cluster can run.
    """
    return Comparison(prepared, request, folder, report_standing, processes).execute()


def comparison_summaries(outcomes: Sequence[Outcome]) -> list[MethodSummary]:
    """One summary a method over its seeds, for the table and the figure."""
    return summaries_of(outcomes, LABELS)


__all__ = [
    "AUTO_GROUPS",
    "BASELINES",
    "BUILD_LIMITS",
    "CONVERSIONS",
    "FAMILY_COUNT",
    "FORMATS",
    "GRAPHDEF",
    "KINDS",
    "LOADED_FORMATS",
    "MEASURING_LIMITS",
    "MODULE_FILES",
    "MOST_DEVICES",
    "MOST_DIMENSION",
    "MOST_DRAWN",
    "MOST_EVALUATIONS",
    "MOST_LEARNERS",
    "MOST_MEMORY_BYTES",
    "MOST_MICRO_BATCHES",
    "MOST_PLACEMENT_BYTES",
    "MOST_POLICY_BYTES",
    "MOST_SEED",
    "NO_SIGNATURE",
    "NO_VARIABLES",
    "OFFLOAD",
    "OPEN_LENGTH",
    "OPEN_TRIPS",
    "POLICY_VERSION",
    "PRESET_WORDS",
    "READING_STEPS",
    "SAVED_MODEL",
    "SIZES_FROM",
    "SPLIT",
    "TRIPS_FROM",
    "TRIVIAL_BASELINES",
    "USUAL_PLANS",
    "VERSION",
    "Algorithm",
    "Baseline",
    "BlockView",
    "Budget",
    "ChangedSetting",
    "Checkpoint",
    "ChildError",
    "ChildKilledError",
    "Cluster",
    "ClusterError",
    "ComparisonListener",
    "ComparisonRequest",
    "Constraints",
    "CostError",
    "CostSource",
    "Device",
    "Emit",
    "Emitted",
    "Episode",
    "EpisodeDecisions",
    "Event",
    "ExpectedGap",
    "Explanation",
    "Finished",
    "Format",
    "Gains",
    "GivenPlacement",
    "GivenPolicy",
    "GraphError",
    "GraphToMeasure",
    "Groups",
    "HeldOut",
    "InfeasibleError",
    "Json",
    "KeptPolicy",
    "KindInfo",
    "LearnedPolicy",
    "LimitError",
    "Limits",
    "MakeSettings",
    "MeasuredFigure",
    "Member",
    "Method",
    "MethodSummary",
    "ModelByBatch",
    "ModuleFile",
    "NumberedEvent",
    "Objective",
    "OpenInput",
    "Outcome",
    "Pipeline",
    "PlacedSource",
    "PlacementError",
    "PlacetoError",
    "PlanFound",
    "PlanRequest",
    "PlanRules",
    "PolicyCard",
    "PolicyFit",
    "PolicyTrainingSettings",
    "Preference",
    "PreparedFamily",
    "PreparedGraph",
    "Progress",
    "ReadingOptions",
    "RealRewards",
    "Recompute",
    "ReportProgress",
    "RunRequest",
    "Session",
    "Setting",
    "SettingsError",
    "Shorthand",
    "ShouldStop",
    "SplitPlacement",
    "Standing",
    "Started",
    "Stream",
    "TrainRequest",
    "TrainedPolicy",
    "TrainingProgress",
    "Update",
    "WhatToMeasure",
    "apply",
    "build",
    "build_family",
    "bytes_words",
    "calibrate",
    "chain_csv",
    "changed_settings",
    "cheapest",
    "check_policy",
    "check_run_metadata",
    "check_training",
    "check_training_counts",
    "check_upload",
    "choice_lines",
    "cluster_text",
    "cluster_to_json",
    "compare",
    "comparison_figure",
    "comparison_markdown",
    "comparison_report",
    "comparison_summaries",
    "comparison_verdict",
    "counted",
    "csv_text",
    "device_kinds",
    "device_node_data",
    "devices_to_json",
    "digraph",
    "draw_comparison",
    "end_warm",
    "expected_gaps",
    "explained_trace",
    "explanation_to_bytes",
    "families",
    "family_members",
    "flat_view_to_bytes",
    "found_plan_line",
    "groups_csv",
    "is_out_of_memory",
    "judgement",
    "keep_warm",
    "kills_for_memory",
    "learned_until",
    "limited_memory",
    "link_choices",
    "list_settings",
    "loading_lines",
    "machine_memory_bytes",
    "measure",
    "measure_many",
    "methods",
    "missing_of_sandbox",
    "model_by_batch",
    "model_explorer_graph",
    "module_file_of",
    "module_file_text",
    "most_processes",
    "obstacle",
    "one_more",
    "parse_cluster",
    "part_words",
    "percent_words",
    "pins_of_names",
    "pipeline_of",
    "place",
    "placement_of_names",
    "placement_of_report",
    "placement_to_json",
    "plan",
    "plan_ahead",
    "plan_lines",
    "plan_verdict",
    "plan_words",
    "policy_fit",
    "prepare",
    "prepared_family",
    "price_words",
    "profile",
    "ranges_words",
    "rate_words",
    "read_placement",
    "read_policy",
    "recompute_of",
    "replica_request",
    "replica_words",
    "require_can_split",
    "require_drawable",
    "require_idle",
    "require_measurable",
    "require_module_file",
    "require_offload",
    "require_placeable",
    "require_plannable",
    "require_room_for_variables",
    "require_saved_model",
    "require_stream",
    "samples",
    "samples_of",
    "settings_schema",
    "shape_words",
    "shortened",
    "shorthand_of",
    "simplest_of_report",
    "simulate",
    "simulated_words",
    "suffix_of",
    "tags_of_text",
    "tags_text",
    "time_node_data",
    "time_words",
    "trace",
    "train",
    "training_identity",
    "unknown_suffix",
    "usual_pipeline",
    "usual_placed",
    "what_has_settings",
    "with_prices",
    "with_reserve",
    "write_placed",
    "write_replica_files",
    "write_strategy",
    "zero_shot_evaluations",
]
