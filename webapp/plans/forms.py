"""The form that starts a search for plans."""

from functools import cached_property
from typing import Any

from django import forms

from engine import api
from webapp.form_errors import add_to_form
from webapp.graphs.models import Graph
from webapp.graphs.placeable import MOST_OPS
from webapp.graphs.prepared import prepared_of
from webapp.plans.models import PlanSearch
from webapp.runs import first_values
from webapp.runs.forms import PIPELINES, USUAL, DevicesForm

FIRST_BATCH = 64
FIRST_SECONDS = 60.0
LEAST_SECONDS, MOST_SECONDS = 0.1, 3600.0
MOST_BATCH = 10_000_000
MOST_READINGS_OFFERED = 200
"""graphs that may be a second reading, the newest first"""
ALGORITHMS = [
    (str(api.Algorithm.FASTEST), "ring or tree, whichever is faster"),
    (str(api.Algorithm.RING), "ring"),
    (str(api.Algorithm.TREE), "tree"),
]


class PlanForm(DevicesForm):
    """Second reading, devices, batch, seconds, rules. Valid fields make `request`, for the engine."""

    batch = forms.IntegerField(
        label="Batch",
        initial=FIRST_BATCH,
        min_value=1,
        max_value=MOST_BATCH,
        help_text="Samples, of all replicas together.",
    )
    seconds = forms.FloatField(
        label="Seconds of the search",
        initial=FIRST_SECONDS,
        min_value=LEAST_SECONDS,
        max_value=MOST_SECONDS,
        help_text="It ends earlier once nothing is left to try.",
    )
    second = forms.ChoiceField(
        label="Second reading",
        required=False,
        help_text="The same step recorded or read at another batch: micro-batches may then have any size.",
        error_messages={
            "invalid_choice": "The chosen graph has been deleted, or has other ops; allowed: one of the list, or none."
        },
    )
    pipeline = forms.ChoiceField(
        label="Pipeline",
        choices=PIPELINES,
        required=False,
        help_text="Usual: 1f1b for a graph with a backward pass, else inference.",
    )
    algorithm = forms.ChoiceField(
        label="All-reduce", choices=ALGORITHMS, required=False, help_text="How replicas add up their gradients."
    )
    recompute = forms.BooleanField(
        label="Recompute: stages run again before their backward pass, which takes time and saves memory",
        required=False,
    )
    contiguous = forms.BooleanField(
        label="Contiguous stages: a device runs one part of each pass, as PyTorch's pipelining requires", required=False
    )
    shards_optimizer = forms.BooleanField(
        label="Shard the optimizer: each replica keeps and updates its part of the state alone (ZeRO-1)", required=False
    )

    request: api.PlanRequest

    def __init__(self, *args: Any, graph: Graph, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._graph = graph
        self._seconds = {str(other.id): other for other in other_readings(graph)}
        names = [(key, other.name) for key, other in self._seconds.items()]
        self._choices("second", [("", "none: micro-batches have the size that was read"), *names])

    @property
    def second_row(self) -> Graph | None:
        """The chosen second reading of a valid form."""
        return self._seconds.get(self.cleaned_data.get("second", ""))

    @cached_property
    def has_second_readings(self) -> bool:
        """Whether any graph could be a second reading."""
        return bool(self._seconds)

    def clean(self) -> dict[str, Any]:
        """Make `request`; the engine's sentences go to the fields."""
        super().clean()
        cluster = self.chosen_cluster()
        if not self._graph.is_ready:
            self.add_error(None, "This graph has not been read yet; plans can be searched once it is ready.")
        if self.errors or cluster is None:
            return self.cleaned_data
        data = self.cleaned_data
        try:
            first = prepared_of(self._graph)
            rules = self._rules(first)
            self.request = api.PlanRequest(
                cluster, data["batch"], rules, data["seconds"], drop_devices=data["drop_devices"]
            )
            if (self._graph.op_count or 0) <= MOST_OPS:
                self._require_plannable(first)
        except api.PlacetoError as error:
            add_to_form(self, error, "second" if self.second_row is not None else "batch")
        return data

    def _rules(self, first: api.PreparedGraph) -> api.PlanRules:
        data = self.cleaned_data
        asked = data["pipeline"] or USUAL
        pipeline = api.usual_pipeline(first.graph) if asked == USUAL else api.pipeline_of(asked)
        recompute = api.Recompute.STAGES if data["recompute"] else api.Recompute.NONE
        algorithm = api.Algorithm(data["algorithm"] or api.Algorithm.FASTEST)
        rules = api.PlanRules(pipeline, recompute, data["shards_optimizer"], algorithm, data["contiguous"])
        api.require_stream(first.graph, rules.stream(1))
        return rules

    def _require_plannable(self, first: api.PreparedGraph) -> None:
        """Refuse what the search would: readings of two models, constraints, a batch that cannot be divided."""
        second = self.second_row
        readings = [first] if second is None else [first, prepared_of(second)]
        api.require_plannable(api.model_by_batch(readings), self.request)


def other_readings(graph: Graph) -> list[Graph]:
    """The graphs of the project that could be the same step at another batch, by their number of ops."""
    rows = Graph.objects.filter(project=graph.project_id, status=Graph.READY, op_count=graph.op_count, sized=None)
    return list(rows.exclude(id=graph.id).defer("summary")[:MOST_READINGS_OFFERED])


def first_values_of_search(search: PlanSearch) -> dict[str, Any]:
    """All fields of the form, so that it starts as `search` did."""
    assert isinstance(search.plan_rules, dict)
    rules = search.plan_rules
    return {
        "cluster": first_values.devices_of(search),
        "second": "" if search.second_id is None else str(search.second_id),
        "batch": search.batch,
        "seconds": search.seconds,
        "drop_devices": search.drop_devices,
        "pipeline": rules["pipeline"],
        "recompute": rules["recompute"] == api.Recompute.STAGES,
        "contiguous": rules["contiguous"],
        "shards_optimizer": rules["shards_optimizer"],
        "algorithm": rules["algorithm"],
    }
