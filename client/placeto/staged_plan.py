"""A plan as processes carry it out: replicas, each of stages that follow each other along the model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placeto.errors import PlanError

FORMAT = 1
"""of the report"""
PIPELINES = ("1f1b", "gpipe")
"""the rules' pipelines that PyTorch's schedules run"""


@dataclass(frozen=True, slots=True)
class StagedReplica:
    """One replica."""

    ranks: tuple[int, ...]
    """[stages] the process of each"""
    begins: tuple[str, ...]
    """[stages - 1] the path of the module with which each stage after the first begins"""
    micro_batch: int
    """samples"""
    micro_batches: int

    @property
    def samples(self) -> int:
        """Of its share of a batch."""
        return self.micro_batch * self.micro_batches


@dataclass(frozen=True, slots=True)
class StagedPlan:
    """All replicas of a plan. A process's number is the place of its device among those that the plan uses."""

    replicas: tuple[StagedReplica, ...]
    pipeline: str
    device_type: str
    """`cuda` or `cpu`"""

    @property
    def processes(self) -> int:
        """One a stage of each replica."""
        return sum(len(replica.ranks) for replica in self.replicas)

    @property
    def batch(self) -> int:
        """Samples of all replicas together."""
        return sum(replica.samples for replica in self.replicas)

    @property
    def is_regular(self) -> bool:
        """Whether all replicas have the same stages."""
        return len({replica.begins for replica in self.replicas}) == 1

    def place_of(self, rank: int) -> tuple[int, int]:
        """The replica and the stage of a process."""
        return next(
            (number, replica.ranks.index(rank)) for number, replica in enumerate(self.replicas) if rank in replica.ranks
        )

    def rows_of(self, number: int) -> slice:
        """The samples of a batch that go to a replica."""
        first = sum(replica.samples for replica in self.replicas[:number])
        return slice(first, first + self.replicas[number].samples)


def read_plan(report: Mapping[str, Any] | str | Path, number: int, on_cpu: bool) -> StagedPlan:
    """The plan at place `number` of those that `plan --report` has written.

    Raises:
        PlanError: There is none, or PyTorch cannot carry it out.
    """
    values = _read(Path(report)) if isinstance(report, (str, Path)) else report
    try:
        _require_form(values["format"])
        plans, rules = values["plans"], values["rules"]
        if not 0 <= number < len(plans):
            raise PlanError(f"there is no plan {number}: the report has {len(plans)}, from 0")
        _require_rules(rules)
        return _staged(plans[number]["replicas"], rules["pipeline"], values["devices"], on_cpu)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise PlanError(f"this is no report of plans: {type(error).__name__} {error}") from error


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise PlanError(f"{path}: not JSON: {error}") from error


def _require_form(found: object) -> None:
    if found != FORMAT:
        raise PlanError(f"a report of form {found} is not read: only {FORMAT}")


def _require_rules(rules: Mapping[str, Any]) -> None:
    if rules["pipeline"] not in PIPELINES:
        raise PlanError(f"pipeline {rules['pipeline']!r} is not carried out: plan with {' or '.join(PIPELINES)}")
    if rules["recompute"] != "none":
        raise PlanError("recomputation is not carried out: plan without --recompute")
    if rules["shards_optimizer"]:
        raise PlanError("an optimizer in parts is not carried out: plan without --shard-optimizer")


def _staged(rows: Sequence[Mapping[str, Any]], pipeline: str, names: Sequence[str], on_cpu: bool) -> StagedPlan:
    stages_of = [_stages(number, row) for number, row in enumerate(rows)]
    used = sorted(stage["device"] for stages in stages_of for stage in stages)
    rank_of_device = {device: rank for rank, device in enumerate(used)}
    replicas = tuple(
        StagedReplica(
            tuple(rank_of_device[stage["device"]] for stage in stages),
            tuple(stage["modules"][0] for stage in stages[1:]),
            row["micro_batch"],
            row["micro_batches"],
        )
        for stages, row in zip(stages_of, rows)  # noqa: B905  # Python 3.10 has both, of one length
    )
    for number, replica in enumerate(replicas):
        _require_enough(number, replica, pipeline)
    return StagedPlan(replicas, pipeline, "cpu" if on_cpu else _device_type([names[device] for device in used]))


def _device_type(used: Sequence[str]) -> str:
    """That of all devices with these names. Raises PlanError for GPUs beside CPUs."""
    cpus = sum("CPU" in name for name in used)
    if 0 < cpus < len(used):
        raise PlanError(
            "the plan uses GPUs and CPUs, which are not carried out together: plan on GPUs alone, or take on_cpu=True"
        )
    return "cpu" if cpus else "cuda"


def _stages(number: int, row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    if any(row.get("turns", ())):
        raise PlanError(f"replica {number} has a stage on several devices that take turns, which is not carried out")
    if row["stages"] is None:
        raise PlanError(f"replica {number} has no stages along the model: {row['no_stages']}")
    stages: Sequence[Mapping[str, Any]] = row["stages"]
    return stages


def _require_enough(number: int, replica: StagedReplica, pipeline: str) -> None:
    stages = len(replica.ranks)
    if pipeline == "1f1b" and replica.micro_batches < stages:
        raise PlanError(
            f"replica {number} has {replica.micro_batches} micro-batches for {stages} stages; PyTorch's 1F1B wants as "
            "many at least: plan with --pipeline gpipe, or a larger batch"
        )
