"""The context of a search for plans: the verdict, a row for each plan, and what the chart needs."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import api
from webapp.http.user_errors import row_or_404
from webapp.plans.models import PlanReport, PlanSearch

MOST_SHOWN = 8
"""replicas or devices of a plan that its row shows at once; the others are in a fold"""


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """One replica of a plan."""

    number: int
    """from 0 on"""
    devices: str
    samples: int
    share: float
    """of the batch"""
    micro_batches: int
    micro_batch: int
    has_turns: bool
    """whether several devices take a stage in turn, which a run cannot show"""


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """The most memory that a plan takes of a device."""

    name: str
    peak_bytes: int
    usable_bytes: int


@dataclass(frozen=True, slots=True)
class CollectiveRow:
    """One collective of a plan."""

    devices: str
    total_bytes: int
    start_us: float
    end_us: float


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One plan of the table. A usual plan may have figures alone, without replicas."""

    key: str
    """as `webapp.plans.opening` takes it"""
    label: str
    is_usual: bool
    is_missing: bool
    """whether it fits in no way, or cannot be made"""
    batch_time_us: float | None = None
    rate: str = ""
    price: str = ""
    """what it costs, by the person's own prices; empty without them"""
    ahead: float | None = None
    """by which share the best plan has more samples a second"""
    replicas: Sequence[ReplicaRow] = ()
    """those with the larger shares first"""
    uses: Sequence[DeviceUse] = ()
    """of the devices that it uses, the fullest first"""
    collectives: Sequence[CollectiveRow] = ()
    is_extrapolated: bool = False

    @property
    def gap(self) -> float:
        """`ahead` without its sign."""
        return abs(self.ahead or 0.0)

    @property
    def first_replicas(self) -> Sequence[ReplicaRow]:
        """Those that are shown at once."""
        return self.replicas[:MOST_SHOWN]

    @property
    def other_replicas(self) -> Sequence[ReplicaRow]:
        """Those in the fold."""
        return self.replicas[MOST_SHOWN:]

    @property
    def first_uses(self) -> Sequence[DeviceUse]:
        """The fullest devices."""
        return self.uses[:MOST_SHOWN]

    @property
    def other_uses(self) -> Sequence[DeviceUse]:
        """Those in the fold."""
        return self.uses[MOST_SHOWN:]

    @property
    def collective_bytes(self) -> int:
        """Of all collectives."""
        return sum(each.total_bytes for each in self.collectives)


def search_or_404(search_id: uuid.UUID) -> PlanSearch:
    """The search with its graph and project; raises Http404 with a sentence."""
    rows = PlanSearch.objects.select_related("graph__project", "second").defer("graph__summary", "second__summary")
    return row_or_404(rows, search_id, "search for plans")


def report_of(search: PlanSearch) -> dict[str, Any] | None:
    """The report; None until there is one."""
    stored = PlanReport.objects.filter(search=search).first()
    report: dict[str, Any] | None = None
    if stored is not None:
        assert isinstance(stored.content, dict)
        report = stored.content
    return report


def context_of(search: PlanSearch) -> dict[str, object]:
    """Context: search, graph, project; of an ended search report, verdict, best and usual (rows); is_working,
    to_cancel; and plan_json and reported (both for json_script).
    """
    report = report_of(search)
    cluster = search.cluster_value
    names = [device.name.removeprefix("/device:") for device in cluster.devices]
    context: dict[str, object] = {
        "search": search,
        "graph": search.graph,
        "project": search.graph.project,
        "report": report,
        "is_working": not search.has_ended,
        "to_cancel": not search.has_ended and not search.cancel_requested,
        "plan_json": {
            "devices": names,
            "usable_bytes": [device.usable_bytes for device in cluster.devices],
            "usual": {**api.USUAL_PLANS},
        },
        "reported": [] if report is None else _figures(report),
    }
    if report is not None:
        best = [_row(str(index), "", plan, report, cluster) for index, plan in enumerate(report["plans"])]
        usual = [_usual_row(name, plan, report, cluster) for name, plan in report["usual"].items()]
        context |= {"verdict": api.plan_verdict(report), "best": best, "usual": usual}
    return context


def _figures(report: Mapping[str, Any]) -> list[dict[str, api.Json]]:
    """Of the usual plans that have any: what the chart shows of one that no event told."""
    keys = ("samples_per_second", "batch_time_us", "peak_bytes")
    return [
        {**{key: plan.get(key) for key in keys}, "usual": name}
        for name, plan in report["usual"].items()
        if plan is not None
    ]


def _usual_row(name: str, plan: Mapping[str, Any] | None, report: Mapping[str, Any], cluster: api.Cluster) -> PlanRow:
    label = api.USUAL_PLANS[name]
    if plan is None:
        return PlanRow(name, label, is_usual=True, is_missing=True)
    return _row(name, label, plan, report, cluster)


def _row(key: str, label: str, plan: Mapping[str, Any], report: Mapping[str, Any], cluster: api.Cluster) -> PlanRow:
    replicas = [_replica(number, row, report) for number, row in enumerate(plan.get("replicas", ()))]
    return PlanRow(
        key=key,
        label=label or f"Plan {int(key) + 1}",
        is_usual=bool(label),
        is_missing=False,
        batch_time_us=plan["batch_time_us"],
        rate=api.rate_words(plan["samples_per_second"]).removesuffix(" samples a second"),
        price="" if plan.get("price_per_million_samples") is None else api.price_words(plan),
        ahead=api.plan_ahead(report["plans"][0], plan),
        replicas=sorted(replicas, key=lambda replica: -replica.samples),
        uses=_uses(plan, cluster),
        collectives=[_collective(each, report["devices"]) for each in plan.get("reduced", ())],
        is_extrapolated=bool(plan.get("is_extrapolated")),
    )


def _replica(number: int, row: Mapping[str, Any], report: Mapping[str, Any]) -> ReplicaRow:
    samples = row["micro_batch"] * row["micro_batches"]
    devices = api.replica_words(row, report["devices"])
    share = samples / report["batch"]
    return ReplicaRow(
        number, devices, samples, share, row["micro_batches"], row["micro_batch"], has_turns=bool(row["turns"])
    )


def _uses(plan: Mapping[str, Any], cluster: api.Cluster) -> list[DeviceUse]:
    used = [
        DeviceUse(device.name.removeprefix("/device:"), peak, device.usable_bytes)
        for device, peak in zip(cluster.devices, plan.get("peak_bytes", ()), strict=False)
        if peak
    ]
    return sorted(used, key=lambda use: -use.peak_bytes / max(use.usable_bytes, 1))


def _collective(row: Mapping[str, Any], names: Sequence[str]) -> CollectiveRow:
    devices = ", ".join(names[device].removeprefix("/device:") for device in sorted(row["devices"]))
    return CollectiveRow(devices, row["bytes"], row["start_us"], row["end_us"])
