"""The engine's request of a run, and the rows that store it: the one place that knows both."""

from collections.abc import Sequence

from django.conf import settings

from engine import api
from webapp.accounts import quotas
from webapp.accounts_mode import OFF
from webapp.graphs.models import Graph
from webapp.policies.models import Policy, PolicyFile
from webapp.policies.offered import policies_of
from webapp.runs.baselines import BASELINES
from webapp.runs.models import Run, RunStart

COLUMNS = (
    *("cluster", "method", "evaluations", "seconds", "seed", "settings", "drop_devices", "prefer"),
    *("stream", "constraints"),
)
"""of a run's row: fields of its request's JSON; without a stream, or constraints, that has no field for them"""


def new_run(graph: Graph, request: api.RunRequest, policy: Policy | None = None) -> Run:
    """A run that is not stored yet."""
    asked = request.to_json()
    return Run(
        graph=graph,
        policy=policy,
        policy_name="" if policy is None else policy.name,
        policy_digest="" if policy is None else policy.digest,
        **{name: asked.get(name) for name in COLUMNS},
    )


def request_of(run: Run) -> api.RunRequest:
    """The whole request, with its policy and its start. Raises SettingsError if its policy has been deleted."""
    asked: dict[str, api.Json] = {name: getattr(run, name) for name in COLUMNS}
    asked |= {"baselines": [*BASELINES], "policy": run.policy_digest or None}
    start = RunStart.objects.filter(run=run).first()
    if start is not None:
        pins: dict[str, api.Json] = {str(group): device for group, device in start.pins.items()}
        asked |= {"start": {"device_of_group": start.device_of_group, "parts": start.parts}, "pins": pins}
    return api.RunRequest.from_json(asked, _policy_of(run))


def _policy_of(run: Run) -> api.GivenPolicy | None:
    if not run.policy_digest:
        return None
    found = policies_of(run.project).filter(runs=run, digest=run.policy_digest)
    file = PolicyFile.objects.filter(policy__in=found).first()
    if file is None:
        gone = "it has been deleted"
        if settings.ACCOUNTS != OFF:
            gone += ", or is not published any more"
        raise api.SettingsError(gone, where=run.policy_name, allowed="an existing policy")
    return api.GivenPolicy(bytes(file.blob))


def of_stream(run: Run) -> dict[str, api.Json]:
    """What filters the runs whose step times are of the same kind: times of a step, or periods of the same stream."""
    return {"stream__isnull": True} if run.stream is None else {"stream": run.stream}


def request_from(
    run: Run, method: str, evaluations: int, start: api.SplitPlacement, pinned_groups: Sequence[int]
) -> api.RunRequest:
    """A request to go on from `start` where `run` is, with its seed, stream and constraints, by another method."""
    pins = {group: start.device_of_group[group] for group in sorted(set(pinned_groups))}
    return api.RunRequest(
        run.cluster_value,
        method,
        api.Budget(evaluations, quotas.seconds_a_run()),
        run.seed,
        drop_devices=run.drop_devices,
        start=start,
        pins=pins,
        stream=None if run.stream is None else api.Stream.from_json(run.stream),
        constraints=run.rules,
    )


def new_start(request: api.RunRequest, words: str, from_run: Run | None, from_token: str) -> RunStart:
    """The start of `request`, which has one, as a row that is not stored yet."""
    start = request.start
    assert start is not None
    return RunStart(
        device_of_group=[*start.device_of_group],
        parts=[[*part] for part in start.parts],
        pinned_groups=[*request.pins],
        words=words,
        from_run=from_run,
        from_token=from_token,
    )
