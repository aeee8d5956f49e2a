"""The forms that make policies."""

import json
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings

from engine import api
from webapp.accounts.visitor import acting
from webapp.accounts_mode import OFF
from webapp.form_errors import add_to_form
from webapp.graphs.models import Graph
from webapp.graphs.readings import current
from webapp.policies.lifecycle import LONGEST_NAME, SUFFIX
from webapp.policies.training_plan import LEAST_SEARCH_SECONDS, LONGEST_SEARCH_SECONDS, PlannedGraph, TrainingPlan
from webapp.projects.access import editable_by
from webapp.projects.models import Project

MOST_GRAPHS = 200
"""the newest graphs, which the form offers"""
MOST_PLACES = 50
"""the newest projects, of which a visitor who trains chooses one"""
MOST_CLUSTERS = 16
LONGEST_SECONDS = 24 * 3600.0
GONE = "A chosen graph has been deleted or is no longer offered; choose from the list."


class PolicyUploadForm(forms.Form):
    """A policy's file."""

    file = forms.FileField(
        label="Policy file",
        allow_empty_file=True,  # refused with the engine's sentence
        help_text=f"A policy trained by Placeto ({SUFFIX}).",
        widget=forms.ClearableFileInput(attrs={"accept": SUFFIX}),
        error_messages={"required": f"No file was chosen; allowed: {SUFFIX}"},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if settings.ACCOUNTS != OFF:
            self.fields["project"] = forms.ModelChoiceField(
                label="Project",
                queryset=editable_by(acting()),  # the page writes them: Django renders a template for each
                empty_label=None,
                help_text="Its members may use the policy; its owners may publish it to everybody.",
            )

    @property
    def chosen_project(self) -> Project | None:
        """The project that the policy belongs to; None without accounts."""
        return self.cleaned_data.get("project")


def places_for_policies() -> list[Project]:
    """The projects to which the visitor may add a policy; none without accounts: policies then belong to no project."""
    return [] if settings.ACCOUNTS == OFF else list(editable_by(acting())[:MOST_PLACES])


@dataclass(frozen=True, slots=True)
class GraphChoice:
    """One graph in the form, whose check boxes the page writes: Django renders a template for each."""

    graph: Graph
    is_trained_on: bool
    is_held_out: bool


def _content(graph: Graph) -> tuple[str, str]:
    """A key, equal for graphs of the same file and options, whatever their names and groups."""
    known = graph.content_hash and not graph.has_times
    reading = graph.own_options.reading.to_json()
    return (graph.content_hash if known else str(graph.id)), json.dumps(reading, sort_keys=True)


class TrainForm(forms.Form):
    """Graphs, clusters and time of a training. Valid fields make `plan`, which the row stores."""

    name = forms.CharField(label="Name of the policy", max_length=LONGEST_NAME)
    families = forms.MultipleChoiceField(label="Families", required=False, widget=forms.CheckboxSelectMultiple)
    graphs = forms.MultipleChoiceField(label="Train on", required=False, widget=forms.CheckboxSelectMultiple)
    held_out = forms.MultipleChoiceField(label="Hold out", required=False, widget=forms.CheckboxSelectMultiple)
    clusters = forms.CharField(
        label="Clusters",
        initial="2xH100\n4xH100",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="One per line: a shorthand such as 4xV100+cpu, or cluster JSON. Every graph is used with each.",
    )
    seconds = forms.FloatField(
        label="Training time (s)",
        initial=600,
        help_text=f"Plus {LEAST_SEARCH_SECONDS:g} to {LONGEST_SEARCH_SECONDS:g} s of search on each held-out "
        "graph and cluster, to compare with, and the time to build a family the first time.",
    )
    seed = forms.IntegerField(label="Seed", min_value=0, max_value=api.MOST_SEED, initial=0)
    learners = forms.IntegerField(
        label="Processors",
        min_value=1,
        max_value=api.MOST_LEARNERS,
        initial=1,
        required=False,
        help_text="One learner trains on each, side by side, and their weights are averaged. Empty: one.",
    )

    plan: TrainingPlan

    def __init__(self, project: Project | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        ready = current(Graph.objects.filter(status=Graph.READY)).select_related("project")
        mine = ready if project is None else ready.filter(project=project)
        self._graphs = {str(graph.id): graph for graph in mine.defer("summary")[:MOST_GRAPHS]}
        choices = [(key, graph.name) for key, graph in self._graphs.items()]
        for name, offered in (("families", list(api.families().items())), ("graphs", choices), ("held_out", choices)):
            field = self.fields[name]
            assert isinstance(field, forms.MultipleChoiceField)
            field.choices = offered
        for name in ("graphs", "held_out"):
            self.fields[name].error_messages["invalid_choice"] = GONE

    def missing(self, plan: TrainingPlan) -> list[str]:
        """Names of the plan's graphs that the form no longer offers."""
        planned = {graph.id: graph for graph in (*plan.graphs, *plan.held_out)}
        return [graph.name for graph in planned.values() if str(graph.id) not in self._graphs]

    def graph_choices(self) -> list[GraphChoice]:
        """One row for each graph, with what is chosen for it."""
        train, held_out = (set(self[name].value() or ()) for name in ("graphs", "held_out"))
        return [GraphChoice(graph, key in train, key in held_out) for key, graph in self._graphs.items()]

    def words_on_a_cut(self) -> str:
        """A sentence if the form does not offer all graphs; else an empty string."""
        return f"The newest {MOST_GRAPHS} are offered." if len(self._graphs) >= MOST_GRAPHS else ""

    def words_on_families(self) -> str:
        """The numbers of graphs of a family."""
        splits = [member.split for member in api.family_members(next(iter(api.families())))]
        return f"{len(splits)} similar graphs each, {splits.count('test')} of them held out"

    def clean_name(self) -> str:
        """One printable line."""
        name: str = self.cleaned_data["name"]
        if not name.isprintable():
            raise forms.ValidationError("The name has characters that cannot be shown; allowed: printable ones.")
        return name

    def clean_seconds(self) -> float:
        """Seconds within the engine's range, and at most a day."""
        seconds: float = self.cleaned_data["seconds"]
        if not 1 <= seconds <= LONGEST_SECONDS:
            raise forms.ValidationError(f"{seconds:g} seconds; allowed: 1 to {LONGEST_SECONDS:g}.")
        return seconds

    def clean_clusters(self) -> tuple[str, ...]:
        """One text for each cluster, checked by the engine."""
        texts = [line.strip() for line in self.cleaned_data["clusters"].splitlines() if line.strip()]
        if len(texts) > MOST_CLUSTERS:
            raise forms.ValidationError(f"{len(texts)} clusters; allowed: at most {MOST_CLUSTERS}.")
        for number, text in enumerate(texts, start=1):
            try:
                api.parse_cluster(text)
            except api.ClusterError as error:
                raise forms.ValidationError(f"Cluster {number} of {len(texts)}, one a line: {error}") from None
        return tuple(dict.fromkeys(texts))

    def clean(self) -> dict[str, Any]:
        """Make `plan`."""
        super().clean()
        data = self.cleaned_data
        if not self.errors and not data["families"] and not data["graphs"]:
            self.add_error("families", "There is nothing to train on; choose a family, or a graph below.")
        learned = {_content(self._graphs[key]) for key in data.get("graphs", ())}
        both = [key for key in data.get("held_out", ()) if _content(self._graphs[key]) in learned]
        if both:
            names = ", ".join(sorted(self._graphs[key].name for key in both))
            self.add_error("held_out", f"{names}: trained on and held out; allowed: one of the two.")
        if not self.errors:
            graphs, held_out = self._planned("graphs"), self._planned("held_out")
            families = tuple(data["families"])
            self._check_counts(families, len(graphs), len(held_out))
            self.plan = TrainingPlan(
                families,
                graphs,
                held_out,
                data["clusters"],
                data["seconds"],
                data["seed"],
                data["learners"] or 1,
            )
        return data

    def _check_counts(self, families: tuple[str, ...], graphs: int, held_out: int) -> None:
        try:
            api.check_training_counts(families, graphs, held_out, len(self.cleaned_data["clusters"]))
        except api.SettingsError as error:
            add_to_form(self, error, "graphs")

    def _planned(self, name: str) -> tuple[PlannedGraph, ...]:
        chosen = [self._graphs[key] for key in self.cleaned_data[name]]
        return tuple(PlannedGraph(graph.id, graph.name) for graph in chosen)
