"""An explained step as tables for spreadsheets: its groups, and its critical chain."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import CostSource
from engine.costs.source_words import sources_in_groups
from engine.explaining.chain import Cause
from engine.explaining.session import Explanation, GivenPlacement, Session
from engine.files.csv_text import CsvCell, csv_text
from engine.graphs.graph import CONTROL
from engine.graphs.grouping.nesting import SPLIT
from engine.simulator.timeline import NOT_WAITED

GROUP_COLUMNS = (
    "group",
    "name",
    "ops",
    "device",
    "time_us",
    "output_bytes",
    "persistent_bytes",
    "critical_us",
    "least_slack_us",
    "time_source",
    "short_name",
)
CHAIN_COLUMNS = (
    "start_us",
    "end_us",
    "time_us",
    "cause",
    "what",
    "name",
    "device",
    "bytes",
    "behind",
    "time_source",
    "short_name",
)


def groups_csv(session: Session, placement: GivenPlacement, explanation: Explanation) -> str:
    """A row a group: where it is, how long its ops run there, its bytes, its part of the critical chain."""
    prepared, timeline, chain = session.prepared, explanation.timeline, explanation.chain
    grouping, ops = prepared.grouping, session.op_count

    def sums(of_op: NDArray[np.generic]) -> NDArray[np.float64]:
        return np.bincount(grouping.group_of_op, of_op, grouping.group_count).astype(np.float64)

    computes = (chain.activity < ops) & (chain.cause == Cause.COMPUTE)
    critical_us = np.bincount(
        grouping.group_of_op[chain.activity[computes]],
        (chain.end_us - chain.start_us)[computes],
        grouping.group_count,
    )
    slack_us = np.full(grouping.group_count, np.inf)
    np.minimum.at(slack_us, grouping.group_of_op, explanation.slack_us[:ops])
    names = [device.name for device in session.cluster.devices]
    rows = zip(
        range(grouping.group_count),
        grouping.names,
        np.bincount(grouping.group_of_op, minlength=grouping.group_count).tolist(),
        ["split" if device == SPLIT else names[device] for device in placement.device_of_group.tolist()],
        sums(timeline.end_us - timeline.start_us).tolist(),
        sums(prepared.costs.bytes_of_op()).astype(np.int64).tolist(),
        sums(prepared.costs.persistent_bytes).astype(np.int64).tolist(),
        critical_us.tolist(),
        slack_us.tolist(),
        sources_in_groups(prepared.costs, grouping.group_of_op.tolist(), grouping.group_count),
        [session.short_names.of_op_named[name] for name in grouping.names],
        strict=True,
    )
    return csv_text(GROUP_COLUMNS, rows)


def chain_csv(session: Session, explanation: Explanation) -> str:
    """A row a segment of the critical chain, in order of time; their times add up to the step time."""
    return csv_text(CHAIN_COLUMNS, _chain_rows(session, explanation))


def _chain_rows(session: Session, explanation: Explanation) -> Iterator[list[CsvCell]]:
    chain, timeline = explanation.chain, explanation.timeline
    names = [device.name for device in session.cluster.devices]
    sources = [CostSource(source).name.lower() for source in session.prepared.costs.source.tolist()]
    short_names = session.short_names.of_op
    for activity, behind, cause, start_us, end_us in zip(
        chain.activity.tolist(),
        chain.behind.tolist(),
        chain.cause.tolist(),
        chain.start_us.tolist(),
        chain.end_us.tolist(),
        strict=True,
    ):
        transfer = activity - session.op_count
        device = timeline.device_of_op[activity] if transfer < 0 else timeline.transfers.source[transfer]
        yield [
            start_us,
            end_us,
            end_us - start_us,
            Cause(cause).name.lower(),
            "op" if transfer < 0 else "transfer",
            activity_name(session, explanation, activity),
            names[device],
            None if transfer < 0 else int(timeline.transfers.bytes[transfer]),
            None if behind == NOT_WAITED else activity_name(session, explanation, behind),
            sources[activity] if transfer < 0 and cause == Cause.COMPUTE else None,
            short_names[activity if transfer < 0 else int(timeline.transfers.op[transfer])],
        ]


def activity_name(session: Session, explanation: Explanation, activity: int) -> str:
    """An op's name; `op:output` for a transfer, `^op` for a signal."""
    ops, transfers = session.prepared.graph.op_names, explanation.timeline.transfers
    transfer = activity - session.op_count
    if transfer < 0:
        return ops[activity]
    name, output = ops[transfers.op[transfer]], int(transfers.output[transfer])
    return f"^{name}" if output == CONTROL else f"{name}:{output}"
