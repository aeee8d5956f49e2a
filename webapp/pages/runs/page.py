"""A run for its page and for scripts."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.urls import reverse

from engine import api
from webapp.example.opening import LONGEST_SECONDS, is_example
from webapp.http.user_errors import row_or_404
from webapp.pages.runs.downloads import NAMES, loading_of, module_files_of, stem_of
from webapp.runs.baselines import BASELINES
from webapp.runs.forms import FASTEST
from webapp.runs.method_labels import method_labels, methods_from_a_start
from webapp.runs.models import Answer, Run

OF_SOME = (
    *("stream", "period_us", "batch_time_us", "micro_batches_per_second", "samples_per_second", "stages"),
    *("is_contiguous", "proof"),
)
"""fields that only some reports have, those of a stream or with a proof, and that the page shows"""


def run_or_404(run_id: uuid.UUID | str) -> Run:
    """The run with its graph and project; raises Http404 with a sentence."""
    return row_or_404(Run.objects.select_related("graph__project"), run_id, "run")


def run_to_json(run: Run) -> dict[str, object]:
    """The run for scripts: its request, its state, and the addresses of the rest."""
    summary = run.graph.summary
    groups = summary["groups"] if isinstance(summary, dict) else None
    return {**run_fields(run), "result": result_of(run), "groups": groups, "urls": _urls(run)}


def run_fields(run: Run) -> dict[str, object]:
    """Its request and its state, which lists show too."""
    return {
        "id": str(run.id),
        "status": run.status,
        "cancel_requested": run.cancel_requested,
        "method": run.method,
        "settings": run.settings,
        "evaluations": run.evaluations,
        "evaluations_used": run.evaluations_used,
        "best_step_time_us": run.best_step_time_us,
        "seed": run.seed,
        "seconds": run.seconds,
        "policy": _policy(run),
        "drop_devices": run.drop_devices,
        "prefer": run.prefer,
        **({} if run.stream is None else {"stream": run.stream}),
        **({"constraints": run.constraints} if run.constraints else {}),
        "cluster": run.cluster,
        "devices": _devices(run.cluster),
        "last_seq": run.last_seq,
        **({"kept_events": run.kept_events} if run.is_thinned else {}),
        **({"name": run.name} if run.name else {}),
        "attempts": run.attempts,
        "error": run.error,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }


def result_of(run: Run) -> dict[str, api.Json] | None:
    """The verdict on the answer, and the figures of it, of its batch in a stream, of the simplest one; what is proven.

    None before they are known.
    """
    answer = Answer.objects.filter(run=run).first()
    report = answer.report if answer is not None and isinstance(answer.report, dict) else {}
    simplest = report.get("simplest")
    if not isinstance(simplest, dict):
        return None
    figures = {key: value for key, value in simplest.items() if key not in ("device_of_group", "parts")}
    kept = ("step_time_us", "devices_used", "crossing_edges", "verdict", "prefer")
    of_some = {key: report[key] for key in OF_SOME if key in report}
    return {**{key: report[key] for key in kept}, "simplest": figures, **of_some}


def offers_simplest_first(result: Mapping[str, Any] | None) -> bool:
    """Whether the simplest placement is offered before the fastest: asked for, or no slower as far as anybody knows."""
    return result is not None and (result["prefer"] != FASTEST or result["simplest"]["within_error"])


def has_two_placements(result: Mapping[str, Any] | None) -> bool:
    """Whether the simplest placement is simpler than the fastest one."""
    counts = ("devices_used", "crossing_edges")
    return result is not None and any(result["simplest"][each] != result[each] for each in counts)


def _policy(run: Run) -> dict[str, object] | None:
    """The trained policy that it starts from; the id is None once the policy has been deleted."""
    if not run.policy_digest:
        return None
    return {"id": run.policy_id, "name": run.policy_name, "digest": run.policy_digest}


def run_context(run: Run) -> dict[str, object]:
    """Context of its page: run, result (`result_of`), has_two_placements, simplest_first, is_example, example_seconds,
    graph, project, policy_fit, methods_from_a_start, method_labels and run_json (both for json_script), baseline_names,
    download_stem (of names of files), module_files (name and words), loading and loading_simplest (`loading_of`),
    version.
    """
    run_json = run_to_json(run)
    result: Any = run_json["result"]
    return {
        "run": run,
        "result": result,
        "has_two_placements": has_two_placements(result),
        "simplest_first": has_two_placements(result) and offers_simplest_first(result),
        "is_example": is_example(run),
        "example_seconds": LONGEST_SECONDS,
        "graph": run.graph,
        "project": run.graph.project,
        "policy_fit": policy_fit(run),
        "method_labels": method_labels(),
        "methods_from_a_start": methods_from_a_start(),
        "baseline_names": [method_labels().get(name, name) for name in BASELINES],
        "download_stem": stem_of(run.graph),
        "module_files": module_files_of(run.graph),
        "loading": loading_of(run, simplest=False),
        "loading_simplest": loading_of(run, simplest=True),
        "run_json": run_json,
        "version": api.VERSION,
    }


def policy_fit(run: Run) -> str:
    """How close its policy's training was to this graph and cluster, in sentences; empty without a policy.

    A card that this version cannot read gives a sentence, not an error: the page still shows the run.
    """
    policy = run.policy if run.policy_id else None
    if policy is None or policy.digest != run.policy_digest:
        return ""
    try:
        card = api.PolicyCard.from_json(policy.known, policy.name)
    except api.SettingsError:
        return "How close its training was is unknown: this version cannot read the policy’s card."
    fit = api.policy_fit(card, run.graph.name, run.cluster_value).sentences
    return " ".join([fit, *_beyond(run)])


def _beyond(run: Run) -> list[str]:
    """The report's sentences on what lies outside of the training, and one if the run left the policy out."""
    answer = Answer.objects.filter(run=run).first()
    report = answer.report if answer is not None and isinstance(answer.report, dict) else {}
    sentences = report.get("policy_beyond") or []
    assert isinstance(sentences, list)
    return [*map(str, sentences), *["So the run left the policy out."] * bool(report.get("policy_left_out"))]


def _devices(cluster: api.Json) -> list[dict[str, api.Json]]:
    assert isinstance(cluster, dict) and isinstance(cluster["devices"], list)
    own = cluster.get("kinds", {})
    assert isinstance(own, dict)
    classes = {kind.name: kind.device_class for kind in api.device_kinds()} | {
        name: str(kind["class"]) for name, kind in own.items() if isinstance(kind, dict)
    }
    devices = []
    for device in cluster["devices"]:
        assert isinstance(device, dict) and isinstance(device["kind"], str)
        kind = device["kind"]
        memory: dict[str, api.Json] = {key: device[key] for key in ("memory_bytes", "reserved_bytes") if key in device}
        devices.append({"name": device["name"], "kind": kind, "class": classes.get(kind, kind), **memory})
    return devices


def _urls(run: Run) -> dict[str, object]:
    names = ("detail", "json", "events", "stream", "cancel", "delete")
    urls: dict[str, object] = {name: reverse(f"runs:{name}", args=[run.id]) for name in names}
    urls["graph"] = reverse("explorer:graph_of_run", args=[run.id])
    urls["downloads"] = {name: reverse("runs:download", args=[run.id, name]) for name in NAMES}
    return urls
