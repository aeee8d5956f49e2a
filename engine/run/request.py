"""What a person asks of a run, and its JSON."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from engine.clusters.cluster import Cluster
from engine.clusters.cluster_json import cluster_of_json, cluster_to_json
from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.files.json_text import shown
from engine.graphs.constraints import FIELD as CONSTRAINTS_FIELD
from engine.graphs.constraints import Constraints
from engine.graphs.grouping.nesting import SplitPlacement
from engine.placers.placer import Placer
from engine.placers.registry import PLACERS, make_placer
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import Budget
from engine.search.preference import Preference
from engine.settings.seeds import require_seed
from engine.simulator.streams.stream import Stream, is_contiguous

BASELINES = ("single_device", "cpu_only", "random")
TRIVIAL_BASELINES = ("single_device", "cpu_only")
"""trivial methods: a run of one of them evaluates only its own placements"""


@dataclass(frozen=True, slots=True)
class GivenPolicy:
    """The file of a trained policy, read once. Raises SettingsError, naming `where`, if it is not a policy's file."""

    blob: bytes
    """the file's content"""
    where: str = field(default="policy", compare=False)
    """names the file in errors"""
    trained: TrainedPolicy = field(init=False, repr=False, compare=False)
    """what the file holds"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trained", TrainedPolicy.from_bytes(self.blob, self.where))

    @property
    def digest(self) -> str:
        """The SHA-256 of the file, which names it."""
        return hashlib.sha256(self.blob).hexdigest()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One placer on one graph and cluster."""

    cluster: Cluster
    method: str
    budget: Budget
    seed: int
    settings: Mapping[str, Json] = field(default_factory=dict)
    drop_devices: bool = False
    """whether to ignore the devices that the file fixes"""
    baselines: tuple[str, ...] = BASELINES
    """methods to evaluate for comparison before the run begins"""
    policy: GivenPolicy | None = None
    """a trained policy to begin from, for a method that takes one"""
    start: SplitPlacement | None = None
    """a placement that is evaluated first: the answer is never worse, and searches begin there"""
    pins: Mapping[int, int] = field(default_factory=dict)
    """group → the only device where it may go; `SPLIT`: its parts stay where the start has them"""
    robust: bool = False
    """whether the answer is the good placement with the least mean regret under varied costs, not the fastest one"""
    robustness: bool = True
    """whether the report has the answer's robustness; what is `robust` always has it"""
    prefer: Preference = field(default_factory=Preference)
    """which of the run's two placements is written, and how much slower the simplest one may be"""
    stream: Stream | None = None
    """the stream of micro-batches whose throughput is to be great; None: the step time is to be small"""
    constraints: Constraints = field(default_factory=Constraints)
    """rules that its placements keep, beside those of the graph's file"""
    placer: Placer = field(init=False, repr=False, compare=False)
    """the method with its settings and the policy; a run places with a copy, since a placer keeps its state"""

    def __post_init__(self) -> None:
        require_seed(self.seed)
        require_contiguous(self.method, self.stream)
        require_apart(self.method, self.constraints)
        if self.robust and self.stream is not None:
            what = "the regret of steps says nothing of a stream"
            raise SettingsError(what, where="robust", allowed="objective step_time", field="robust")
        policy = None if self.policy is None else self.policy.trained
        made = make_placer(self.method, self.settings, policy)  # refuses wrong settings before any work
        object.__setattr__(self, "placer", made)

    def to_json(self) -> dict[str, Json]:
        """All that is asked as JSON. The file of a policy goes beside it: `policy` is its SHA-256."""
        start: Json = None
        if self.start is not None:
            parts: list[Json] = [[*part] for part in self.start.parts]
            start = {"device_of_group": [*self.start.device_of_group], "parts": parts}
        return {
            "cluster": cluster_to_json(self.cluster),
            "method": self.method,
            "evaluations": self.budget.evaluations,
            "seconds": self.budget.seconds,
            "seed": self.seed,
            "settings": dict(self.settings),
            "drop_devices": self.drop_devices,
            "baselines": list(self.baselines),
            "policy": None if self.policy is None else self.policy.digest,
            "start": start,
            "pins": {str(group): device for group, device in self.pins.items()},
            "robust": self.robust,
            "robustness": self.robustness,
            "prefer": self.prefer.words,
            **({} if self.stream is None else {"stream": self.stream.to_json()}),
            **({"constraints": self.constraints.to_json()} if self.constraints else {}),
        }

    @staticmethod
    def from_json(value: Json, policy: GivenPolicy | None = None) -> "RunRequest":
        """The inverse of `to_json`, with its policy. Optional fields may be missing.

        Raises SettingsError for an unknown, missing or wrong field and for another policy, and as a new request does.
        """
        asked = _fields_of(value)
        if asked.get("policy") != (None if policy is None else policy.digest):
            allowed = "the file with the SHA-256 that the request names"
            raise SettingsError("this is another policy, or none", where="request.policy", allowed=allowed)
        optional = ("settings", "drop_devices", "robust", "robustness")
        named: dict[str, Any] = {name: asked[name] for name in optional if name in asked}
        if "baselines" in asked:
            named["baselines"] = tuple(asked["baselines"])
        if "prefer" in asked:
            named["prefer"] = Preference.of_words(asked["prefer"])
        if asked.get("start") is not None:
            named["start"] = SplitPlacement(**asked["start"])
        if "pins" in asked:
            named["pins"] = {int(group): device for group, device in asked["pins"].items()}
        if asked.get("stream") is not None:
            named["stream"] = Stream.from_json(asked["stream"])
        if asked.get("constraints") is not None:
            named["constraints"] = Constraints.from_json(asked["constraints"])
        budget = Budget(asked["evaluations"], asked.get("seconds"))
        cluster = cluster_of_json(asked["cluster"])
        return RunRequest(cluster, asked["method"], budget, asked["seed"], policy=policy, **named)


def require_contiguous(method: str, stream: Stream | None) -> None:
    """Raise SettingsError if `method` places streams alone and there is none, or cannot keep its stages contiguous."""
    row = PLACERS.get(method)
    if row is None:
        return
    if stream is None and row.streams_only:
        what = f"{method} splits a stream of micro-batches"
        raise SettingsError(what, where="method", allowed="objective throughput", field="method")
    if is_contiguous(stream) and not row.keeps_contiguous:
        able = ", ".join(name for name, each in PLACERS.items() if each.keeps_contiguous)
        what = f"{method} cannot keep stages contiguous"
        raise SettingsError(what, where="method", allowed=able, field="method")


def require_apart(method: str, constraints: Constraints) -> None:
    """Raise SettingsError if `method` cannot keep ops apart, where `constraints` say so."""
    row = PLACERS.get(method)
    if row is None or row.keeps_apart or not constraints.apart:
        return
    able = ", ".join(name for name, each in PLACERS.items() if each.keeps_apart)
    line = Constraints(apart=constraints.apart[:1]).lines[0]
    what = f"{method} cannot keep ops apart, as `{shortened(line)}` says"
    raise SettingsError(what, where=CONSTRAINTS_FIELD, allowed=f"the methods {able}", field="method")


def _is(*types: type) -> Callable[[Json], bool]:
    """Whether a value is of one of `types`, where true and false are no integers."""
    return lambda value: isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _are(is_one: Callable[[Json], bool]) -> Callable[[Json], bool]:
    """Whether a value is a list of such items."""
    return lambda value: isinstance(value, list) and all(map(is_one, value))


def _is_start(value: Json) -> bool:
    if not isinstance(value, dict) or value.keys() != {"device_of_group", "parts"}:
        return False
    return _are(_is(int))(value["device_of_group"]) and _are(_are(_is(int)))(value["parts"])


def _are_pins(value: Json) -> bool:
    return isinstance(value, dict) and all(
        group.isascii() and group.isdecimal() and len(group) < 10 and _is(int)(device)
        for group, device in value.items()
    )


_FIELDS: Mapping[str, tuple[Callable[[Json], bool], str]] = {
    "cluster": (_is(dict), "cluster JSON"),
    "method": (_is(str), "the name of a method"),
    "evaluations": (_is(int), "an integer"),
    "seconds": (_is(int, float, NoneType), "a number, or null"),
    "seed": (_is(int), "an integer"),
    "settings": (_is(dict), "an object"),
    "drop_devices": (_is(bool), "true or false"),
    "baselines": (_are(_is(str)), "a list of methods"),
    "policy": (_is(str, NoneType), "the SHA-256 of a policy's file, or null"),
    "start": (lambda value: value is None or _is_start(value), "an object with device_of_group and parts, or null"),
    "pins": (_are_pins, "an object {group: device}"),
    "robust": (_is(bool), "true or false"),
    "robustness": (_is(bool), "true or false"),
    "prefer": (_is(str), "a preference in words"),
    "stream": (_is(dict, NoneType), "an object, or null"),
    "constraints": (lambda value: value is None or _are(_is(str))(value), "a list of rules, or null"),
}
"""field of a request's JSON → whether it may have a value, and the allowed ones in words"""
_REQUIRED = ("cluster", "method", "evaluations", "seed")


def _fields_of(value: Json) -> dict[str, Any]:
    """The fields of a request's JSON, each of its type. Raises SettingsError."""
    if not isinstance(value, dict):
        raise SettingsError(shown(value), where="request", allowed="an object")
    for name in [*value, *(name for name in _REQUIRED if name not in value)]:
        if name not in _FIELDS:
            what = f"the field {shortened(name)} is not known"
            raise SettingsError(what, where="request", allowed=", ".join(_FIELDS))
        is_allowed, allowed = _FIELDS[name]
        if not is_allowed(value.get(name)):
            raise SettingsError(shown(value.get(name)), where=f"request.{name}", allowed=allowed)
    return value
