"""What explains the difference between a measured and a simulated step: devices, op types, ops, links, transfers.

All figures are sums over the spans of both steps: the rows of a table with its rest add up to the step's totals, and
the parts of a device's time to the step time.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.measuring.step_record import Sent, Spans, StepRecord, covered_us

ROWS = 30
"""most rows of a table"""
ADDED = "added by TensorFlow"
"""in place of an op type"""


def difference(
    measured: StepRecord,
    simulated: StepRecord,
    devices: Sequence[str],
    op_names: Sequence[str],
    op_types: Sequence[str],
) -> dict[str, Json]:
    """The field `difference` of a report of `measure` (docs/formats.md), for one traced step."""
    names, types = [*op_names, *measured.added], [*op_types, *[ADDED] * len(measured.added)]
    type_names, type_of_op = np.unique(types, return_inverse=True)
    count = len(devices)

    def of_type(key: int) -> dict[str, Json]:
        return {"type": str(type_names[key // count]), "device": devices[key % count]}

    def of_op(key: int) -> dict[str, Json]:
        return {"op": names[key // count], "type": types[key // count], "device": devices[key % count]}

    def of_link(key: int) -> dict[str, Json]:
        return {"source": devices[key // count], "target": devices[key % count]}

    def of_sent(key: int) -> dict[str, Json]:
        return {"op": names[key // count], "target": devices[key % count]}

    ran, sent = (measured.ran, simulated.ran), (measured.sent, simulated.sent)
    links = [each.source * count + each.device for each in sent]
    return {
        "traced_step_time_us": measured.step_time_us,
        "simulated_step_time_us": simulated.step_time_us,
        "devices": [_device_row(measured, simulated, device, name) for device, name in enumerate(devices)],
        "op_types": _table(ran, [type_of_op[each.op] * count + each.device for each in ran], of_type),
        "ops": _table(ran, [each.op * count + each.device for each in ran], of_op),
        "links": _table(sent, links, lambda key: of_link(key) | _covered(sent, links, key)),
        "transfers": _table(sent, [each.op * count + each.device for each in sent], of_sent),
    }


def _device_row(measured: StepRecord, simulated: StepRecord, device: int, name: str) -> dict[str, Json]:
    return {
        "device": name,
        "measured": dict(parts_of(measured, device)),
        "simulated": dict(parts_of(simulated, device)),
    }


def parts_of(step: StepRecord, device: int) -> dict[str, float]:
    """The parts of a device's time, which add up to the step time.

    `busy_us` ops ran; `resting_us` between ops of the simulation; `receiving_us` nothing ran, and bytes were on their
    way to the device; `waiting_us` nothing of all this, between the step's first and last span of any device;
    `outside_us` before and after these.
    """
    ran, sent = step.ran.on(device), step.sent.on(device)
    rest_end_us = ran.end_us + step.rest_after_us[step.ran.device == device]
    busy_us = covered_us(ran.start_us, ran.end_us)
    occupied_us = covered_us(ran.start_us, rest_end_us)
    in_use_us = covered_us(np.concatenate((ran.start_us, sent.start_us)), np.concatenate((rest_end_us, sent.end_us)))
    inside_us = _inside_us(step)
    return {
        "busy_us": busy_us,
        "resting_us": occupied_us - busy_us,
        "receiving_us": in_use_us - occupied_us,
        "waiting_us": inside_us - in_use_us,
        "outside_us": step.step_time_us - inside_us,
    }


def _inside_us(step: StepRecord) -> float:
    """From the first span to the end of the last one, rests included."""
    starts = np.concatenate((step.ran.start_us, step.sent.start_us))
    ends = np.concatenate((step.ran.end_us + step.rest_after_us, step.sent.end_us))
    return float(ends.max() - starts.min()) if len(starts) else 0.0


def _table(
    spans: Sequence[Spans], keys: Sequence[NDArray[np.int64]], describe: Callable[[int], Mapping[str, Json]]
) -> dict[str, Json]:
    """`rows`, those with the largest differences of time first, and `rest`, the sums of the others.

    `spans` and `keys` are those of the measured and of the simulated step; spans of one key are a row.
    """
    distinct, place = np.unique(np.concatenate(keys), return_inverse=True)
    places = np.split(place, [len(keys[0])])
    sums: dict[str, NDArray[np.float64]] = {}
    for side, of_side, at in zip(("measured", "simulated"), spans, places, strict=True):
        for name, values in _columns(of_side).items():
            sums[f"{side}_{name}"] = np.bincount(at, values, len(distinct)).astype(np.float64)
    apart_us = sums["measured_us"] - sums["simulated_us"]
    order = np.argsort(-np.abs(apart_us), kind="stable")
    shown, others = order[:ROWS], order[ROWS:]
    return {
        "rows": [{**describe(int(distinct[row])), **_figures(sums, [row])} for row in shown.tolist()],
        "rest": {"rows": len(others), **_figures(sums, others.tolist())},
    }


def _columns(spans: Spans) -> dict[str, NDArray[np.float64]]:
    columns = {"us": spans.time_us, "count": np.ones(len(spans.op))}
    return columns | {"bytes": spans.bytes.astype(np.float64)} if isinstance(spans, Sent) else columns


def _figures(sums: Mapping[str, NDArray[np.float64]], rows: Sequence[int]) -> dict[str, Json]:
    """The sums over some rows."""
    found = {name: float(values[rows].sum()) for name, values in sums.items()}
    figures: dict[str, Json] = {name: value if name.endswith("_us") else round(value) for name, value in found.items()}
    return figures | {"difference_us": found["measured_us"] - found["simulated_us"]}


def _covered(sent: Sequence[Sent], links: Sequence[NDArray[np.int64]], link: int) -> dict[str, Json]:
    """The time in which at least one transfer of a link was under way."""
    measured_us, simulated_us = (
        covered_us(each.start_us[of == link], each.end_us[of == link]) for each, of in zip(sent, links, strict=True)
    )
    return {"measured_covered_us": measured_us, "simulated_covered_us": simulated_us}
