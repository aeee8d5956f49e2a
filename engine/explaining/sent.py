"""An explanation as one blob of arrays and JSON, as docs/formats.md describes it: what a browser draws."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.explaining.chain import Cause
from engine.explaining.holding import ByteClass, Peak
from engine.explaining.idle import IdleCause
from engine.explaining.session import Explanation, Session
from engine.files.tensor_file import pack_tensors
from engine.flat_view import edges_of_ops
from engine.simulator.timeline import MemoryCurve, Timeline

MOST_HOLDINGS_SENT = 200
"""the largest at each device's peak"""


def explanation_to_bytes(session: Session, explanation: Explanation) -> bytes:
    """The blob. Integers are 32 bits wide, bytes and times are floats: JavaScript has no others."""
    timeline = explanation.timeline
    arrays = {
        **_ops(explanation),
        **_transfers(timeline),
        **_chain(explanation),
        **_idle(explanation),
        **_curves(timeline.memory),
        **_peaks(explanation),
        **_cuts(session, timeline.device_of_op),
    }
    return pack_tensors({name: _narrow(array) for name, array in arrays.items()}, _texts(session, explanation))


def _narrow(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return array.astype(np.int32) if array.dtype.kind == "i" else array


def _ops(explanation: Explanation) -> dict[str, NDArray[np.generic]]:
    timeline = explanation.timeline
    ops = len(timeline.device_of_op)
    return {
        "op.device": timeline.device_of_op,
        "op.start_us": timeline.start_us,
        "op.end_us": timeline.end_us,
        "op.slack_us": explanation.slack_us[:ops],
        "op.peak_share": _peak_shares(explanation),
        "waited_for": timeline.waited_for,
    }


def _peak_shares(explanation: Explanation) -> NDArray[np.float64]:
    """[ops] the share of each op's bytes in what its devices hold at their peaks, the sum over the devices."""
    holdings = explanation.timeline.holdings
    shares = np.zeros(len(explanation.timeline.device_of_op))
    for peak in explanation.peaks:
        held = int(peak.bytes_of_class.sum())
        if held:
            np.add.at(shares, holdings.op[peak.holdings], holdings.bytes[peak.holdings] / held)
    return shares


def _transfers(timeline: Timeline) -> dict[str, NDArray[np.generic]]:
    transfers = timeline.transfers
    return {
        "transfer.op": transfers.op,
        "transfer.output": transfers.output,
        "transfer.source": transfers.source,
        "transfer.channel": transfers.channel,
        "transfer.start_us": transfers.start_us,
        "transfer.end_us": transfers.end_us,
        "transfer.bytes": transfers.bytes.astype(np.float64),
        "transfer.trips": transfers.trips.astype(np.float64),
        "transfer.first_destination": transfers.destination_offset,
        "transfer.destinations": transfers.destinations,
    }


def _chain(explanation: Explanation) -> dict[str, NDArray[np.generic]]:
    chain = explanation.chain
    return {
        "chain.activity": chain.activity,
        "chain.behind": chain.behind,
        "chain.cause": chain.cause,
        "chain.start_us": chain.start_us,
        "chain.end_us": chain.end_us,
    }


def _idle(explanation: Explanation) -> dict[str, NDArray[np.generic]]:
    idle = explanation.idle
    return {
        "idle.device": idle.device,
        "idle.start_us": idle.start_us,
        "idle.end_us": idle.end_us,
        "idle.before_op": idle.before_op,
        "idle.cause": idle.cause,
        "idle.activity": idle.activity,
        "idle.waits_us": idle.waits_us,
    }


def _curves(memory: Sequence[MemoryCurve]) -> dict[str, NDArray[np.generic]]:
    """The curves one after the other."""
    return {
        "memory.first": np.cumsum([0, *(len(curve.time_us) for curve in memory)]),
        "memory.time_us": np.concatenate([curve.time_us for curve in memory]),
        "memory.bytes": np.concatenate([curve.bytes for curve in memory]).astype(np.float64),
    }


def _peaks(explanation: Explanation) -> dict[str, NDArray[np.generic]]:
    """The largest holdings at each device's peak, device by device."""
    holdings = explanation.timeline.holdings
    shown = [peak.holdings[:MOST_HOLDINGS_SENT] for peak in explanation.peaks]
    every = np.concatenate(shown) if shown else np.empty(0, dtype=np.int64)
    until = [explanation.holders.until(holding) for holding in every.tolist()]
    return {
        "peak.first": np.cumsum([0, *map(len, shown)]),
        "peak.op": holdings.op[every],
        "peak.output": holdings.output[every],
        "peak.class": explanation.class_of_holding[every],
        "peak.bytes": holdings.bytes[every].astype(np.float64),
        "peak.until": np.array(until, dtype=np.int32),
    }


def _cuts(session: Session, device_of_op: NDArray[np.int32]) -> dict[str, NDArray[np.generic]]:
    """The pairs of ops with an edge and two devices: the boundaries between devices, inside of split groups too."""
    source, target, sizes = edges_of_ops(session.prepared)
    is_cut = device_of_op[source] != device_of_op[target]
    return {
        "cut.source": source[is_cut],
        "cut.target": target[is_cut],
        "cut.bytes": sizes[is_cut].astype(np.float64),
    }


def _texts(session: Session, explanation: Explanation) -> dict[str, Json]:
    timeline, bounds = explanation.timeline, session.lower_bounds
    return {
        "version": 1,
        "step_time_us": timeline.step_time_us,
        "lower_bound_us": bounds.largest_us,
        "bounds_us": {"path": bounds.path_us, "work": bounds.work_us, "memory": bounds.memory_us},
        "devices": [device.name for device in session.cluster.devices],
        "memory_bytes": session.cluster.usable_bytes.tolist(),
        "busy_us": timeline.busy_us.tolist(),
        "rest_us": timeline.rest_us.tolist(),
        "sending_us": timeline.sending_us.tolist(),
        "contention": session.cluster.contention.value,
        "causes": _names(Cause),
        "cause_us": explanation.chain.sum_us().tolist(),
        "idle_causes": _names(IdleCause),
        "byte_classes": _names(ByteClass),
        "peaks": [_peak(peak) for peak in explanation.peaks],
    }


def _names(enumeration: type[Cause] | type[IdleCause] | type[ByteClass]) -> list[Json]:
    return [member.name.lower() for member in enumeration]


def _peak(peak: Peak) -> Json:
    return {
        "time_us": peak.time_us,
        "bytes": int(peak.bytes_of_class.sum()),
        "bytes_of_class": peak.bytes_of_class.tolist(),
        "holdings": len(peak.holdings),
    }
