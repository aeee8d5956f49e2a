"""A row of each kind that has ended, and one that waits: what the API's tests ask about."""

import io
import json
import uuid
from dataclasses import dataclass
from pathlib import Path

from django.utils import timezone

from engine import api
from tests.engine.policies.small_policies import small_card, small_policy
from tests.webapp.graph_files import graphdef
from tests.webapp.run_rows import answered, compared, searched, started
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.graphs.models import Graph
from webapp.hooks import lifecycle as hooks
from webapp.hooks.models import Delivery, Webhook
from webapp.jobs.models import Event
from webapp.measuring.models import MeasuredPlacement, Profile, StepMeasurement
from webapp.policies import lifecycle
from webapp.policies.models import Policy
from webapp.policies.training_plan import TrainingPlan
from webapp.sharing.models import make_link
from webapp.uploads import receiving
from webapp.uploads.models import PartialUpload

REPORT: dict[str, api.Json] = {"placements": [{"step_time_us": 5.0}]}


@dataclass(frozen=True, slots=True)
class Cast:
    """Placeholder → id."""

    ended: dict[str, uuid.UUID]
    waiting: dict[str, uuid.UUID]
    groups: int
    """of the graph"""
    cpu_run_id: uuid.UUID
    """a run whose placement this machine can run"""


def cast_of(graph: Graph) -> Cast:
    """The rows, around a graph that is ready."""
    run, groups = answered(graph, last_seq=1, started_at=timezone.now(), finished_at=timezone.now())
    episode = {"type": "episode", "seq": 1, "version": 1, "episode": 1, "step_time_us": 5.0, "feasible": True}
    episode |= {"best_step_time_us": 3.0, "evaluations": 2, "elapsed_seconds": 0.5, "placement": [1] * groups}
    Event.objects.create(job_id=run.id, seq=1, type="episode", data=json.dumps(episode))
    policy = lifecycle.keep_file("kept", Policy.UPLOADED, small_policy().to_bytes(), small_card().to_json())
    ended = {
        "project_id": graph.project_id,
        "graph_id": graph.id,
        "run_id": run.id,
        "comparison_id": compared(graph, 2).id,
        "search_id": searched(graph, is_done=True).id,
        "policy_id": policy.id,
        "profile_id": _profile(graph).id,
        "measurement_id": _measurement(graph, run.cluster).id,
        "upload_id": complete_upload(graph).id,
        **_told(graph),
    }
    asked: dict[str, api.Json] = {"asked": [api.OpenInput("images", (-1, 224, -1, 3)).to_json()]}
    asking = Graph.objects.create(
        project=graph.project, name="open.pb", suffix=".pb", status=Graph.ASKING, summary=asked
    )
    comparison = Comparison.objects.create(graph=graph, cluster=run.cluster, methods=["random"], seeds=1, evaluations=9)
    ComparedRun.objects.create(comparison=comparison, run=started(graph))
    waiting = {
        **ended,
        "graph_id": asking.id,
        "run_id": started(graph).id,
        "comparison_id": comparison.id,
        "search_id": searched(graph, is_done=False).id,
        "policy_id": lifecycle.start_training("new", TrainingPlan((), (), (), ("2xK80",), 9.0, 0, 1)).id,
        "profile_id": Profile.objects.create(graph=asking).id,
        "measurement_id": StepMeasurement.objects.create(graph=asking, cluster=run.cluster, rounds=2, steps=2).id,
        "upload_id": receiving.begin(graph.project, "large.pb", 10, "").id,
    }
    cpu_run, _ = answered(graph, cluster=api.cluster_to_json(api.parse_cluster("2xCPU")))
    return Cast(ended, waiting, groups, cpu_run.id)


def complete_upload(graph: Graph) -> PartialUpload:
    """A file that has arrived whole."""
    content = graphdef()
    upload = receiving.begin(graph.project, "arrived.pb", len(content), "")
    receiving.receive(upload, 0, io.BytesIO(content).read)
    return upload


def _told(graph: Graph) -> dict[str, uuid.UUID]:
    """A link to the graph, a webhook of its project, and a delivery that has ended."""
    make_link(graph)
    hook = hooks.add(graph.project, Webhook(name="mine", target="https://hooks.example.org/x", events=["run.finished"]))
    delivery = hooks.send_test(hook)
    assert delivery is not None
    Delivery.objects.filter(id=delivery.id).update(status=Delivery.FAILED, tries=1)
    return {"link_id": graph.share_links.get().id, "hook_id": hook.id, "delivery_id": delivery.id}


def _profile(graph: Graph) -> Profile:
    profile = Profile.objects.create(graph=graph, status=Profile.DONE, finished_at=timezone.now())
    path: Path = profile.times_path
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"times")
    return profile


def _measurement(graph: Graph, cluster: api.Json) -> StepMeasurement:
    measurement = StepMeasurement.objects.create(
        graph=graph, cluster=cluster, rounds=2, steps=2, status=StepMeasurement.DONE, result=REPORT
    )
    MeasuredPlacement.objects.create(measurement=measurement, position=0, words="All on one", device_of_group=[0])
    return measurement
