"""All that a project can have, each kind of row once, named so that a page that shows it can be told."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone

from engine import api
from tests.engine.policies.small_policies import small_card, small_policy
from tests.webapp.graph_files import graphdef
from tests.webapp.run_rows import answered, compared
from tests.webapp.scripted_engine import CLUSTER
from webapp.accounts.visitor import THE_PERSON, Visitor, acting_as
from webapp.graphs.models import Graph, PreparedBlob
from webapp.hooks.models import Delivery, Webhook
from webapp.jobs.models import Event
from webapp.measuring.models import Profile, StepMeasurement
from webapp.placements.models import Placement
from webapp.plans.models import PlanReport, PlanSearch
from webapp.policies import lifecycle
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.sharing.models import Shared, ShareLink, make_link
from webapp.uploads.models import PartialUpload

DELIVERED: dict[str, Any] = {"event": "run.done", "key": "once", "body": "{}"}


@dataclass(frozen=True, slots=True)
class Belongings:
    """The rows of one project."""

    project: Project
    graph: Graph
    run: Run
    comparison: Any
    search: PlanSearch
    policy: Policy
    placement: Placement
    measurement: StepMeasurement
    profile: Profile
    upload: PartialUpload
    hook: Webhook
    delivery: Delivery
    link: ShareLink
    """to the run"""
    tokens: Mapping[str, str]
    """of links: `run`, `comparison`, `graph`, `search`"""

    @property
    def groups(self) -> int:
        """Of the graph."""
        return _groups_of(self.run)

    def ids(self) -> dict[str, UUID]:
        """Placeholder of addresses → id."""
        return {
            "project_id": self.project.id,
            "graph_id": self.graph.id,
            "run_id": self.run.id,
            "other_id": self.comparison.compared_runs.values_list("run_id", flat=True)[0],
            "comparison_id": self.comparison.id,
            "search_id": self.search.id,
            "policy_id": self.policy.id,
            "placement_id": self.placement.id,
            "measurement_id": self.measurement.id,
            "profile_id": self.profile.id,
            "upload_id": self.upload.id,
            "hook_id": self.hook.id,
            "delivery_id": self.delivery.id,
            "link_id": self.link.id,
        }


def belongings_of(project: Project, blob: bytes, marker: str, visitor: Visitor = THE_PERSON) -> Belongings:
    """One ended row of each kind; `marker` is in each of their names. `visitor`: who has started them."""
    with acting_as(visitor):
        graph = graph_of(project, blob, marker)
        run = run_of(graph, marker)
        comparison = compared(graph, 2)
        comparison.name = f"{marker} comparison"
        comparison.save(update_fields=["name"])
        search = search_of(graph, marker)
        policy = policy_of(project, marker)
        hook = Webhook.objects.create(
            project=project, name=f"{marker} hook", target=f"https://{marker.lower()}.example.org/x", secret_salt="salt"
        )
        shared: dict[str, Shared] = {"run": run, "comparison": comparison, "graph": graph, "search": search}
        tokens = {kind: make_link(row) for kind, row in shared.items()}
        return Belongings(
            project=project,
            graph=graph,
            run=run,
            comparison=comparison,
            search=search,
            policy=policy,
            placement=placement_of(run, marker),
            measurement=StepMeasurement.objects.create(graph=graph, cluster=CLUSTER, rounds=2, steps=2),
            profile=profile_of(graph),
            upload=PartialUpload.objects.create(project=project, name=f"{marker} upload.pb", total_bytes=9),
            hook=hook,
            delivery=Delivery.objects.create(webhook=hook, status=Delivery.DONE, **DELIVERED),
            link=run.share_links.get(),
            tokens=tokens,
        )


def graph_of(project: Project, blob: bytes, marker: str) -> Graph:
    """A graph that is ready, with its file."""
    graph = Graph.objects.create(
        project=project, name=f"{marker} graph.pb", suffix=".pb", status=Graph.READY, summary={"groups": 3, "ops": 3}
    )
    graph.source_path.parent.mkdir(exist_ok=True)
    graph.source_path.write_bytes(graphdef())
    view = json.dumps(api.PreparedGraph.from_bytes(blob).view())
    PreparedBlob.objects.create(graph=graph, blob=blob, view=view)
    return graph


def run_of(graph: Graph, marker: str) -> Run:
    """A run that has ended, with one episode."""
    now = timezone.now()
    run, groups = answered(graph, name=f"{marker} run", last_seq=1, started_at=now, finished_at=now)
    episode = {"type": "episode", "seq": 1, "version": 1, "episode": 1, "step_time_us": 5.0, "feasible": True}
    episode |= {"best_step_time_us": 3.0, "evaluations": 2, "elapsed_seconds": 0.5, "placement": [1] * groups}
    Event.objects.create(job_id=run.id, seq=1, type="episode", data=json.dumps(episode))
    return run


def search_of(graph: Graph, marker: str) -> PlanSearch:
    """A search for plans that has ended, with its report."""
    rules: api.Json = {**api.PlanRules(api.Pipeline.INFERENCE).to_json()}
    named: Any = {"name": f"{marker} plans", "cluster": CLUSTER, "batch": 2, "seconds": 1.0, "plan_rules": rules}
    search = PlanSearch.objects.create(graph=graph, status=PlanSearch.DONE, **named)
    placed: dict[str, api.Json] = {"device_of_group": [0], "turns": []}
    replica: api.Json = {"devices": [0], "micro_batch": 1, "micro_batches": 2, **placed}
    figures: dict[str, api.Json] = {"batch_time_us": 2.0, "samples_per_second": 1e6, "peak_bytes": [9, 0]}
    plan: api.Json = {**figures, "replicas": [replica], "reduced": [], "is_extrapolated": False}
    counts: dict[str, api.Json] = {"simulated": 1, "left_out": 1, "not_reached": 0, "wall_seconds": 0.1}
    devices: api.Json = ["/device:GPU:0", "/device:GPU:1"]
    rest: dict[str, api.Json] = {"batch": 2, "stopped": False, "devices": devices, "usual": {"data_parallel": plan}}
    PlanReport.objects.create(search=search, content={**counts, **rest, "plans": [plan]})
    return search


def policy_of(project: Project | None, marker: str) -> Policy:
    """A policy with its file."""
    blob = small_policy().to_bytes()
    return lifecycle.keep_file(f"{marker} policy", Policy.UPLOADED, blob, small_card().to_json(), None, project)


def placement_of(run: Run, marker: str) -> Placement:
    """A placement that was kept on the page of the run."""
    groups = _groups_of(run)
    columns: Any = {"name": f"{marker} placement", "origin": Placement.HAND, "cluster": run.cluster, "run": run}
    columns |= {"device_of_group": [1] * groups, "step_time_us": 4.0, "missing_bytes": 0, "peak_bytes": [0, 9]}
    return Placement.objects.create(graph=run.graph, **columns)


def _groups_of(run: Run) -> int:
    placed = run.answer.device_of_group
    assert isinstance(placed, list)
    return len(placed)


def profile_of(graph: Graph) -> Profile:
    """A profile that has ended, with its file."""
    profile = Profile.objects.create(graph=graph, status=Profile.DONE, finished_at=timezone.now())
    profile.times_path.parent.mkdir(exist_ok=True)
    profile.times_path.write_bytes(b"times")
    return profile
