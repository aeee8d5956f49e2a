"""What a choice of devices answers, as JSON and as lines for people."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from engine.clusters.cluster import Cluster, price_per_hour
from engine.clusters.one_more import with_one_more
from engine.errors import InfeasibleError
from engine.events import Json
from engine.plans.by_batch import ModelByBatch
from engine.plans.choice import Choosing, ClusterPart, TriedPart, kinds_words
from engine.plans.price import prices_of
from engine.plans.report import asked_to_json, plan_line, plan_to_json
from engine.plans.request import PlanRequest

Say = Callable[[str], None]


def cheapest_report(model: ModelByBatch, request: PlanRequest, reach: float, say: Say) -> dict[str, Json]:
    """The cheapest part of the request's cluster that reaches `reach` samples a second: docs/formats/plans.md.

    `say` is told of each part that was searched, for the request's seconds each. Raises as `Choosing.cheapest`.
    """
    tried = Choosing(model, request, say).cheapest(reach)
    rows = [_row(model, request.cluster, each) for each in tried]
    return {**asked_to_json(model, request), "reach": reach, "parts": rows}


def one_more_report(model: ModelByBatch, request: PlanRequest, kind: str, say: Say) -> dict[str, Json]:
    """What one more device of `kind` brings. Raises ClusterError as `with_one_more`, InfeasibleError where no plan fits
    even then."""
    wider = replace(request, cluster=with_one_more(request.cluster, kind))
    choosing = Choosing(model, wider, say)
    everything = tuple(range(wider.cluster.device_count))
    now, then = (choosing.tried(_part(wider.cluster, devices)) for devices in (everything[:-1], everything))
    if then.best is None:
        raise InfeasibleError("no plan fits in memory, with one more device either", advice="use larger devices")
    gain = _gain(now.samples_per_second, then.samples_per_second)
    rows: dict[str, Json] = {"now": _row(model, wider.cluster, now), "then": _row(model, wider.cluster, then)}
    return {**asked_to_json(model, wider), "kind": wider.cluster.devices[-1].kind, **rows, "gain": gain}


def _gain(now: float, then: float) -> float | None:
    """As a share; None where there was none, or a batch takes no time."""
    return then / now - 1 if now and max(now, then) < math.inf else None


def _part(cluster: Cluster, devices: tuple[int, ...]) -> ClusterPart:
    return ClusterPart(devices, price_per_hour(cluster.devices[device] for device in devices))


def _row(model: ModelByBatch, cluster: Cluster, tried: TriedPart) -> Json:
    """A part in JSON; the devices of its plan are numbered as its own."""
    part, best = tried.part, tried.best
    own = part.cluster(cluster)
    return {
        "devices": [*part.devices],
        "kinds": kinds_words(cluster, part.devices),
        "price_per_hour": part.price_per_hour,
        "most_per_second": tried.most_per_second if tried.most_per_second < math.inf else None,
        "plan": None if best is None else plan_to_json(model, best) | prices_of(own, best),
    }


def choice_lines(report: Mapping[str, Any]) -> list[str]:
    """The answer, and how it was found."""
    return _one_more_lines(report) if "kind" in report else _cheapest_lines(report)


def _cheapest_lines(report: Mapping[str, Any]) -> list[str]:
    parts = report["parts"]
    answer, known = parts[-1], parts[-1]["price_per_hour"] is not None
    bounded = sum(_is_bounded(part, report["reach"]) for part in parts)
    order = "in the order of price" if known else "in the order of the number of devices, since no device has a price"
    return [
        f"{answer['kinds']} reaches {report['reach']:g} samples a second: {_rate(answer)}{_price(answer)}",
        f"{len(parts)} parts of the cluster were tried {order}: {len(parts) - bounded} by plans, {bounded} by bounds",
        _plan_line(report, answer),
    ]


def _is_bounded(part: Mapping[str, Any], reach: float) -> bool:
    """Whether its bound left a part out."""
    return part["most_per_second"] is not None and part["most_per_second"] < reach


def _one_more_lines(report: Mapping[str, Any]) -> list[str]:
    now, then = report["now"], report["then"]
    return [
        f"now {now['kinds']}: {_rate(now)}{_price(now)}",
        f"with one more {report['kind']}, {then['kinds']}: {_rate(then)}{_price(then)}; {_more(report)}",
        _plan_line(report, then),
    ]


def _more(report: Mapping[str, Any]) -> str:
    """What one more device brings."""
    now, then, gain = report["now"]["plan"], report["then"]["plan"], report["gain"]
    if now is None:
        return "before, no plan fits in memory"
    if gain is None:
        return "a batch takes no time"
    return f"{then['samples_per_second'] - now['samples_per_second']:.4g} or {100 * gain:.1f} % more"


def _rate(row: Mapping[str, Any]) -> str:
    if row["plan"] is None:
        return "no plan fits in memory"
    rate = row["plan"]["samples_per_second"]
    return f"{'any' if rate is None else f'{rate:.4g}'} samples a second"


def _price(row: Mapping[str, Any]) -> str:
    if row["price_per_hour"] is None:
        return ""
    return f", {row['price_per_hour']:.4g} an hour"


def _plan_line(report: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    return plan_line(row["plan"], [report["devices"][device] for device in row["devices"]])
