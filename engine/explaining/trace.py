"""An explained step as a Chrome trace: that of the timeline, and why each device idles."""

from engine.events import Json
from engine.explaining.idle import IdleCause
from engine.explaining.session import Explanation, Session
from engine.explaining.tables import activity_name
from engine.simulator.timeline import NOT_WAITED, timeline_to_trace

IDLE_PROCESS = 4
WORDS = {
    IdleCause.INPUT: "idle: another device computes what it needs",
    IdleCause.LINK: "idle: what it needs is on a link, or waits for one",
    IdleCause.ORDER: "idle: what it needs stands in the queue of another device",
    IdleCause.END: "idle: no further op in this step",
}


def explained_trace(session: Session, explanation: Explanation) -> Json:
    """The trace of `simulate --trace` with one more process: a track of idle times for each device."""
    prepared, names = session.prepared, session.short_names.of_op
    trace = timeline_to_trace(explanation.timeline, prepared.graph, prepared.costs, session.cluster, names)
    assert isinstance(trace, dict) and isinstance(trace["traceEvents"], list)
    return trace | {"traceEvents": [*trace["traceEvents"], *_idle_events(session, explanation)]}


def _idle_events(session: Session, explanation: Explanation) -> list[Json]:
    events: list[Json] = [
        {"ph": "M", "pid": IDLE_PROCESS, "name": "process_name", "args": {"name": "idle"}},
        {"ph": "M", "pid": IDLE_PROCESS, "name": "process_sort_index", "args": {"sort_index": IDLE_PROCESS}},
    ]
    for index, device in enumerate(session.cluster.devices):
        named: Json = {"name": device.name}
        events.append({"ph": "M", "pid": IDLE_PROCESS, "tid": index, "name": "thread_name", "args": named})
    idle = explanation.idle
    for device, start_us, end_us, cause, activity, waits in zip(
        idle.device.tolist(),
        idle.start_us.tolist(),
        idle.end_us.tolist(),
        idle.cause.tolist(),
        idle.activity.tolist(),
        idle.waits_us.tolist(),
        strict=True,
    ):
        details: dict[str, Json] = {f"{kind.name.lower()}_us": waits[kind] for kind in IdleCause if waits[kind] > 0}
        if activity != NOT_WAITED:
            details["mostly"] = activity_name(session, explanation, activity)
        events.append(
            {
                "ph": "X",
                "pid": IDLE_PROCESS,
                "tid": device,
                "name": WORDS[IdleCause(cause)],
                "ts": start_us,
                "dur": end_us - start_us,
                "args": details,
            }
        )
    return events
